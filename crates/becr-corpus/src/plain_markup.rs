//! Light markup that reads well as it stands: Org and reStructuredText lose little but their marks.

use crate::flow::Flow;

/// Title and text of an Org file: `#+TITLE`, else its first heading; the rest without stars, keywords and drawers.
pub(crate) fn org(source: &str) -> (String, String) {
    let (mut title, mut heading) = (Flow::default(), Flow::default());
    let mut text = Flow::default();
    let mut in_drawer = false;
    for line in source.lines() {
        let line = line.trim();
        if let Some(keyword) = line.strip_prefix("#+") {
            let (name, value) = keyword.split_once(':').unwrap_or((keyword, ""));
            if name.eq_ignore_ascii_case("title") {
                title.break_word();
                title.push(value);
            }
            text.break_paragraph();
        } else if is_drawer(line) {
            in_drawer = !line.eq_ignore_ascii_case(":END:");
        } else if in_drawer || line == "#" || line.starts_with("# ") {
            // Comments, and properties that programs keep.
        } else if line.is_empty() {
            text.break_paragraph();
        } else if let Some(named) = heading_of(line) {
            text.break_paragraph();
            if heading.is_empty() && title.is_empty() {
                push_links(&mut heading, named);
            } else {
                push_links(&mut text, named);
            }
            text.break_paragraph();
        } else {
            if line.starts_with(['-', '+', '|']) {
                text.break_line();
            }
            push_links(&mut text, line);
            text.break_word();
        }
    }
    let (title, heading) = (title.into_text(), heading.into_text());
    match title.is_empty() {
        true => (heading, text.into_text()),
        false if heading.is_empty() => (title, text.into_text()),
        // A title that came late: the heading before it is text.
        false => (title, format!("{heading}\n\n{}", text.into_text())),
    }
}

fn heading_of(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('*');
    (rest.len() < line.len()).then_some(rest)?.strip_prefix(' ')
}

/// `:PROPERTIES:`, `:LOGBOOK:` and the like, and the `:END:` of them.
fn is_drawer(line: &str) -> bool {
    let name = line
        .strip_prefix(':')
        .and_then(|rest| rest.strip_suffix(':'));
    name.is_some_and(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    })
}

/// Adds text with `[[target][words]]` shown as its words.
fn push_links(flow: &mut Flow, text: &str) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[[") {
        let Some((link, after)) = after.split_once("]]") else {
            break;
        };
        flow.push(before);
        flow.push(link.split_once("][").map_or(link, |(_, words)| words));
        rest = after;
    }
    flow.push(rest);
}

/// Title and text of reStructuredText: the first section title, and the rest without the lines that underline titles.
pub(crate) fn restructured(source: &str) -> (String, String) {
    let lines: Vec<&str> = source.lines().collect();
    let (mut title, mut text) = (String::new(), Flow::default());
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).copied().unwrap_or_default();
        if line.trim().is_empty() || is_adornment(line) {
            text.break_paragraph();
        } else if title.is_empty() && is_adornment(next) && !line.starts_with([' ', '.']) {
            title = line.split_whitespace().collect::<Vec<_>>().join(" ");
        } else {
            text.push_lines(line);
            text.break_line();
        }
    }
    (title, text.into_text())
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
    fn org_loses_its_marks() {
        let source = "#+TITLE: Barn owls\n#+AUTHOR: me\n\n* Food :owl:\n:PROPERTIES:\n:ID: 7\n:END:\n\
                      They hunt [[https://x.y][mice]]\nat night, see [[owls.org]].\n\n- one\n- two\n# a remark\n";
        let (title, text) = org(source);
        assert_eq!(title, "Barn owls");
        assert_eq!(
            text,
            "Food :owl:\n\nThey hunt mice at night, see owls.org.\n\n- one\n- two"
        );
        assert_eq!(org("* Owls\ntext"), ("Owls".into(), "text".into()));
        assert_eq!(org("plain *bold*").0, "");
    }

    #[test]
    fn restructured_text_loses_underlines() {
        let source = "====\nOwls\n====\n\nThey hunt.\nMice.\n\nFood\n----\n.. note:: dusk\n";
        let expected = "They hunt.\nMice.\n\nFood\n\n.. note:: dusk";
        assert_eq!(restructured(source), ("Owls".into(), expected.into()));
        assert_eq!(restructured("words").0, "");
    }

    proptest! {
        #[test]
        fn take_anything(source in "(\\PC|\n|\\*|\\[|\\]|#|:|=|-){0,60}") {
            org(&source);
            restructured(&source);
        }
    }
}
