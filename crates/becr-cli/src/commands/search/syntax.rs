//! What other search engines read as commands, and this one does not.

use anyhow::bail;

/// Refuses phrases in quotes and words to leave out: the first stage keeps no positions, and to take them for plain words
/// would be the opposite of what was meant.
pub(crate) fn check(query: &str) -> anyhow::Result<()> {
    if let Some(phrase) = quoted(query) {
        bail!(
            "\"{phrase}\": phrases are not searched for; leave the quotes out, words that stand together count more anyway"
        );
    }
    let excludes = |word: &&str| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    if let Some(word) = query.split_whitespace().find(excludes) {
        bail!("{word}: words cannot be excluded; leave it out of the query");
    }
    Ok(())
}

/// The first phrase in double quotes.
fn quoted(query: &str) -> Option<&str> {
    let (_, rest) = query.split_once('"')?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_refused_and_text_is_not() {
        for query in ["\"dense crumb\" bread", "bread -rye", "a \"\" b"] {
            assert!(check(query).is_err(), "{query}");
        }
        for query in [
            "a 5\" pipe",
            "state-of-the-art",
            "minus -5 degrees",
            "a - b",
            "it's",
            "",
        ] {
            check(query).unwrap();
        }
    }
}
