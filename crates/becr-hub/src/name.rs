//! The name of a model on the hub.

use crate::HubError;
use std::fmt;
use std::str::FromStr;

/// What tells a name from a directory.
pub const PREFIX: &str = "hf:";

/// `hf:owner/name` or `hf:owner/name@revision`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Owner and name, with a slash; the oldest models have no owner.
    pub repository: String,
    /// A branch, a tag or a commit.
    pub revision: String,
}

impl FromStr for Name {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let refuse = || HubError::Name(text.to_owned());
        let rest = text.strip_prefix(PREFIX).ok_or_else(refuse)?;
        let (repository, revision) = rest.split_once('@').unwrap_or((rest, "main"));
        let parts: Vec<&str> = repository.split('/').collect();
        // Both become paths, in addresses and in the cache.
        let fine =
            parts.len() <= 2 && parts.into_iter().all(is_part) && revision.split('/').all(is_word);
        match fine {
            true => Ok(Self {
                repository: repository.to_owned(),
                revision: revision.to_owned(),
            }),
            false => Err(refuse()),
        }
    }
}

/// Of an owner or a name. The cache writes `--` for the slash between them: with more of it, `a--b/c` and `a/b--c` would be
/// one folder, and so would `a-/b` and `a/-b`. The hub gives no such names.
fn is_part(text: &str) -> bool {
    is_word(text) && !text.contains("--") && !text.starts_with('-') && !text.ends_with('-')
}

/// Letters, digits, `-`, `_` and `.`, but not as `..`: safe in an address and as the name of a file.
pub(crate) fn is_word(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.chars().all(known) && !text.starts_with('.')
}

impl Name {
    /// Whether the revision is a commit, which never changes.
    pub(crate) fn is_commit(&self) -> bool {
        self.revision.len() == 40 && self.revision.chars().all(|c| c.is_ascii_hexdigit())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.repository)?;
        match self.revision.as_str() {
            "main" => Ok(()),
            revision => write!(f, "@{revision}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (text, repository, revision) in [
            ("hf:thenlper/gte-small", "thenlper/gte-small", "main"),
            ("hf:bert-base-uncased", "bert-base-uncased", "main"),
            ("hf:a/b_c.d@v1.0", "a/b_c.d", "v1.0"),
            ("hf:a/b@refs/pr/3", "a/b", "refs/pr/3"),
            ("hf:a/b@x--y", "a/b", "x--y"),
        ] {
            let name: Name = text.parse().unwrap();
            assert_eq!(
                (name.repository.as_str(), name.revision.as_str()),
                (repository, revision)
            );
            assert_eq!(name.to_string(), text);
        }
        let commit: Name = "hf:a/b@0123456789abcdef0123456789abcdef01234567"
            .parse()
            .unwrap();
        assert!(commit.is_commit());
        for bad in [
            "a/b",
            "hf:",
            "hf:/b",
            "hf:a/",
            "hf:a/b/c",
            "hf:a/b@",
            "hf:../b",
            "hf:a/b@../x",
            "hf:a b/c",
            "hf:a/b?x",
            "hf:a/b@x//y",
            "hf:a/.git",
            "hf:a--b",
            "hf:a--b/c",
            "hf:a/b--c",
            "hf:a-/b",
            "hf:a/-b",
        ] {
            let error = bad.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains("hf:owner/name"), "{error}");
        }
    }
}
