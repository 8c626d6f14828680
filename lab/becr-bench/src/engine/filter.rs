//! `--only KEY=VALUES`.

use super::work::Groups;
use std::str::FromStr;

/// What `--only` may name.
const KEYS: [&str; 6] = ["n", "layers", "bits", "groups", "implementation", "system"];

/// The values of `groups`.
const GROUPS: [&str; 2] = [Groups::Composed.name(), Groups::Single.name()];

/// Which values to keep, per key; a key that is not named keeps all.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    kept: Vec<(String, String)>,
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| format!("expected KEY=VALUES such as n=3,5, found `{text}`"))?;
        if !KEYS.contains(&key) {
            return Err(format!("no key `{key}`: choose one of {}", KEYS.join(", ")));
        }
        let values = values.split(',').map(str::trim);
        if ["n", "layers", "bits"].contains(&key)
            && let Some(wrong) = values.clone().find(|v| v.parse::<usize>().is_err())
        {
            return Err(format!("{key} is a number, found `{wrong}`"));
        }
        if key == "groups"
            && let Some(wrong) = values.clone().find(|v| !GROUPS.contains(v))
        {
            return Err(format!(
                "groups are {}, found `{wrong}`",
                GROUPS.join(" or ")
            ));
        }
        Ok(Self {
            kept: values.map(|v| (key.to_owned(), v.to_owned())).collect(),
        })
    }
}

impl Filter {
    /// All `--only` together.
    pub(super) fn all(filters: &[Self]) -> Self {
        Self {
            kept: filters.iter().flat_map(|f| f.kept.clone()).collect(),
        }
    }

    /// True if some values of `key` are named.
    pub(super) fn names(&self, key: &str) -> bool {
        self.kept.iter().any(|(k, _)| k == key)
    }

    /// True if `value` is wanted.
    pub(super) fn has(&self, key: &str, value: &str) -> bool {
        !self.names(key) || self.kept.iter().any(|(k, v)| k == key && v == value)
    }

    /// The wanted ones of `values`.
    pub(super) fn keep<'a>(
        &'a self,
        key: &'a str,
        values: &'a [usize],
    ) -> impl Iterator<Item = &'a usize> {
        values.iter().filter(move |v| self.has(key, &v.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_add_up_and_mistakes_are_named() {
        let filter = Filter::all(&["n=3,5".parse().unwrap(), "bits=256".parse().unwrap()]);
        assert_eq!(filter.keep("n", &[1, 3, 5]).collect::<Vec<_>>(), [&3, &5]);
        assert_eq!(filter.keep("layers", &[1, 5]).count(), 2);
        assert!(filter.has("bits", "256") && !filter.has("bits", "64"));
        assert!("m=3".parse::<Filter>().unwrap_err().contains("layers"));
        assert!("n".parse::<Filter>().is_err() && "n=three".parse::<Filter>().is_err());
        assert!(
            "groups=one"
                .parse::<Filter>()
                .unwrap_err()
                .contains("single")
        );
    }
}
