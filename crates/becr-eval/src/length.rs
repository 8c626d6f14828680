//! Break-down by query length.

use crate::error::Error;
use crate::stats::{Estimate, estimate};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// Ascending ranges of query lengths in words, written `1,2,3,4-5,6+`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets(Vec<Bucket>);

/// One range of query lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    first: usize,
    /// `None` is open-ended.
    last: Option<usize>,
}

impl Buckets {
    /// The ranges in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[Bucket] {
        &self.0
    }

    /// The bucket of a query of `words` words, if one takes it.
    #[must_use]
    pub fn find(&self, words: usize) -> Option<usize> {
        self.0.iter().position(|bucket| {
            bucket.first <= words && bucket.last.is_none_or(|last| words <= last)
        })
    }

    /// The mean with its interval in each bucket; a query without a length belongs to none.
    #[must_use]
    pub fn estimates<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, f64)>,
        lengths: &HashMap<String, usize>,
        confidence: f64,
    ) -> Vec<Option<Estimate>> {
        let mut groups = vec![Vec::new(); self.0.len()];
        for (query, value) in values {
            if let Some(bucket) = lengths.get(query).and_then(|words| self.find(*words)) {
                groups[bucket].push(value);
            }
        }
        groups
            .iter()
            .map(|group| estimate(group, confidence))
            .collect()
    }
}

impl Default for Buckets {
    /// 1, 2, 3, 4, 5, 6+
    fn default() -> Self {
        let one = |words| Bucket {
            first: words,
            last: Some(words),
        };
        Self(
            (1..=5)
                .map(one)
                .chain([Bucket {
                    first: 6,
                    last: None,
                }])
                .collect(),
        )
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            None => write!(f, "{}+", self.first),
            Some(last) if last == self.first => write!(f, "{last}"),
            Some(last) => write!(f, "{}-{last}", self.first),
        }
    }
}

impl fmt::Display for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Buckets {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let error = |problem: String| Error::Buckets {
            text: text.to_owned(),
            problem,
        };
        let mut buckets: Vec<Bucket> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let bucket =
                parse_bucket(part).ok_or_else(|| error(format!("{part:?} is no length")))?;
            let follows = buckets
                .last()
                .is_none_or(|before| before.last.is_some_and(|l| l < bucket.first));
            if !follows {
                return Err(error(format!(
                    "{part:?} does not come after the length before it"
                )));
            }
            buckets.push(bucket);
        }
        Ok(Self(buckets))
    }
}

fn parse_bucket(text: &str) -> Option<Bucket> {
    let (first, last) = if let Some(first) = text.strip_suffix('+') {
        (first.parse().ok()?, None)
    } else if let Some((first, last)) = text.split_once('-') {
        (first.parse().ok()?, Some(last.parse().ok()?))
    } else {
        let words = text.parse().ok()?;
        (words, Some(words))
    };
    (last.is_none_or(|last| first <= last)).then_some(Bucket { first, last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn default_is_what_its_name_says() {
        assert_eq!(
            "1,2,3,4,5,6+".parse::<Buckets>().unwrap(),
            Buckets::default()
        );
        let buckets: Buckets = "2, 4-6, 9+".parse().unwrap();
        assert_eq!(buckets.to_string(), "2,4-6,9+");
        let found: Vec<_> = [0, 1, 2, 3, 4, 6, 7, 9, 1000]
            .map(|words| buckets.find(words))
            .into();
        assert_eq!(
            found,
            [
                None,
                None,
                Some(0),
                None,
                Some(1),
                Some(1),
                None,
                Some(2),
                Some(2)
            ]
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "2,1", "1-3,3", "5-4", "3+,4", "-1", "1,,2"] {
            assert!(text.parse::<Buckets>().is_err(), "{text}");
        }
    }

    #[test]
    fn estimates_by_bucket() {
        let lengths = HashMap::from([
            ("a".to_owned(), 1),
            ("b".to_owned(), 1),
            ("c".to_owned(), 7),
        ]);
        let values = [("a", 0.0), ("b", 1.0), ("c", 0.3), ("unknown", 9.0)];
        let found = Buckets::default().estimates(values, &lengths, 0.95);
        assert_eq!(found[0].map(|e| (e.n, e.mean)), Some((2, 0.5)));
        assert_eq!(found[1], None);
        assert_eq!(
            found[5],
            Some(Estimate {
                n: 1,
                mean: 0.3,
                half_width: None
            })
        );
    }

    proptest! {
        #[test]
        fn any_text_never_panics(text: String, like in "[0-9,+ -]{0,16}") {
            let _ = text.parse::<Buckets>();
            if let Ok(buckets) = like.parse::<Buckets>() {
                prop_assert_eq!(buckets.to_string().parse::<Buckets>().unwrap(), buckets);
            }
        }
    }
}
