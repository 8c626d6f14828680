//! reStructuredText: it reads well as it stands and loses underlines and comments.

use crate::flow::Flow;

/// Title and text of reStructuredText: the first section title, and the rest without the lines that underline titles and
/// without comments. Directives stay as they are.
pub(crate) fn restructured(source: &str) -> (String, String) {
    let lines: Vec<&str> = source.lines().collect();
    let (mut title, mut text) = (String::new(), Flow::default());
    // The indentation of what a literal block belongs to, and of a comment. Both go on as long as lines are indented further.
    let (mut literal, mut comment) = (None, None);
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        if line.trim().is_empty() {
            text.break_paragraph();
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let is_inside = |block: Option<usize>| block.is_some_and(|outer| indent > outer);
        if is_inside(comment) {
            continue;
        }
        comment = None;
        if is_inside(literal) {
            text.push(line);
            text.break_line();
            continue;
        }
        literal = None;
        if is_comment(line.trim()) {
            // Two dots and nothing else, before an empty line, hide nothing.
            comment = (line.trim() != ".." || !next.trim().is_empty()).then_some(indent);
            text.break_paragraph();
        } else if is_adornment(line) {
            text.break_paragraph();
        } else if title.is_empty() && is_adornment(next) && !line.starts_with([' ', '.']) {
            title = line.split_whitespace().collect::<Vec<_>>().join(" ");
        } else {
            text.push_lines(line);
            text.break_line();
            literal = is_literal(line.trim()).then_some(indent);
        }
    }
    (title, text.into_text())
}

/// Whether the indented lines after this one are shown as they stand.
fn is_literal(line: &str) -> bool {
    let code = [
        "code",
        "code-block",
        "sourcecode",
        "literalinclude",
        "parsed-literal",
    ];
    match directive(line) {
        Some(name) => code.contains(&name),
        None => line.ends_with("::"),
    }
}

/// The name in `.. name:: …`.
fn directive(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix(".. ")?.trim_start().split_once("::")?;
    let name = match name.strip_prefix('|') {
        // A substitution: `.. |shown| replace:: text`.
        Some(rest) => rest.split_once("| ")?.1,
        None => name,
    };
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// Whether a line begins a comment: two dots, and nothing that gives them another meaning.
fn is_comment(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("..") else {
        return false;
    };
    let mark = rest.trim_start();
    let is_other = mark.starts_with('_') || mark.starts_with('[') || directive(line).is_some();
    rest.is_empty() || (rest.starts_with(' ') && !is_other)
}

/// A line of one mark repeated, as it stands under titles and between sections.
fn is_adornment(line: &str) -> bool {
    let line = line.trim_end();
    let first = line.chars().next().unwrap_or(' ');
    line.len() >= 3 && first.is_ascii_punctuation() && line.chars().all(|c| c == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn restructured_text_loses_underlines() {
        let source = "====\nOwls\n====\n\nThey hunt.\nMice.\n\nFood\n----\n.. note:: dusk\n";
        let expected = "They hunt.\nMice.\n\nFood\n\n.. note:: dusk";
        assert_eq!(restructured(source), ("Owls".into(), expected.into()));
        assert_eq!(restructured("words").0, "");
    }

    #[test]
    fn comments_are_not_seen_and_literal_text_is() {
        for (source, seen) in [
            (".. no\n   no\n\n   no\n\nseen", "seen"),
            ("..\n   no\n\nseen", "seen"),
            ("..\n\n   seen", "seen"),
            (
                "a::\n\n   .. seen\n   ----\n\nb",
                "a::\n\n.. seen\n----\n\nb",
            ),
            (
                ".. code-block:: rst\n\n   .. seen\n",
                ".. code-block:: rst\n\n.. seen",
            ),
            (
                ".. _target: x\n.. [1] note\n.. |a| replace:: b",
                ".. _target: x\n.. [1] note\n.. |a| replace:: b",
            ),
            ("...and so on", "...and so on"),
        ] {
            assert_eq!(restructured(source).1, seen, "{source}");
        }
    }

    proptest! {
        #[test]
        fn takes_anything(source in "(\\PC|\n|\\*|\\.\\. |::|   |:|=|-){0,60}") {
            restructured(&source);
        }
    }
}
