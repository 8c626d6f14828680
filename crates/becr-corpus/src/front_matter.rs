//! The title that a note states in a block before its text: YAML between `---`, TOML between `+++`.

/// The value of `title` in the lines of such a block. Titles are one-line strings, or folded over lines by YAML's `>` and `|`;
/// everything else in the block belongs to other programs.
pub(crate) fn title(block: &str) -> Option<String> {
    let mut lines = block.lines();
    let value = loop {
        if let Some(value) = value_of(lines.next()?) {
            break value;
        }
    };
    if matches!(value, ">" | "|" | ">-" | "|-" | ">+" | "|+") {
        let folded: Vec<&str> = lines
            .take_while(|line| line.starts_with([' ', '\t']))
            .map(str::trim)
            .collect();
        return some(&folded.join(" "));
    }
    some(&unquoted(value))
}

/// What stands behind `title:` or `title =` on a line that is not indented.
fn value_of(line: &str) -> Option<&str> {
    let rest = strip_key(line)?.trim_start();
    let value = rest.strip_prefix([':', '='])?;
    Some(value.trim())
}

fn strip_key(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(['"', '\'']);
    let (key, rest) = rest.split_at_checked("title".len())?;
    let rest = rest.trim_start_matches(['"', '\'']);
    key.eq_ignore_ascii_case("title").then_some(rest)
}

fn unquoted(value: &str) -> String {
    if value.starts_with('"') {
        // A string of JSON is one of YAML and of TOML; a comment may follow it.
        let mut strings = serde_json::Deserializer::from_str(value).into_iter::<String>();
        return match strings.next() {
            Some(Ok(string)) => string,
            _ => value.trim_matches('"').to_owned(),
        };
    }
    if let Some(rest) = value.strip_prefix('\'') {
        // Two quotes stand for one.
        let mut text = String::new();
        let mut rest = rest;
        while let Some((before, after)) = rest.split_once('\'') {
            text.push_str(before);
            match after.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    rest = after;
                }
                None => return text,
            }
        }
        return text + rest;
    }
    let plain = value.split_once(" #").map_or(value, |(plain, _)| plain);
    plain.trim().to_owned()
}

fn some(title: &str) -> Option<String> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn titles_of_yaml_and_toml() {
        for (block, expected) in [
            ("tags: x\ntitle: The barn owl\n", "The barn owl"),
            ("title:   'It''s an owl' # no\n", "It's an owl"),
            ("Title: \"An \\\"owl\\\": one\" # no", "An \"owl\": one"),
            ("\"title\" = \"Owls\"\ndate = 2024-01-01", "Owls"),
            ("title: C# notes", "C# notes"),
            ("title: plain # comment", "plain"),
            ("title: >-\n  two\n  lines\nx: y", "two lines"),
        ] {
            assert_eq!(title(block).as_deref(), Some(expected), "{block}");
        }
        for none in ["", "subtitle: x", "  title: nested", "title:", "titles: x"] {
            assert_eq!(title(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn takes_anything(rest in "(\\PC|\n|'|\"|#|:|=){0,40}") {
            title(&format!("title:{rest}"));
            title(&rest);
        }
    }
}
