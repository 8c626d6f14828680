//! Org: it reads well as it stands and loses little but its marks.

use crate::flow::Flow;

/// Keywords whose values stand on the page that Org makes of a file.
const SHOWN: [&str; 5] = ["title", "subtitle", "author", "date", "caption"];
/// Drawers for programs. What is in others stands on the page.
const UNSEEN_DRAWERS: [&str; 2] = ["properties", "logbook"];

/// The most lines of a drawer or comment: how far its end is looked for.
const LONGEST_HIDDEN: usize = 1000;

/// Title and text of an Org file: `#+TITLE`, else its first heading; the rest without stars, keywords, comments and the
/// drawers of programs.
pub(crate) fn org(source: &str) -> (String, String) {
    let mut reader = Reader::default();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(end) = reader.see(line, &lines) {
            // What is hidden ends at that line.
            lines.find(|line| end.is(line));
        }
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    title: Flow,
    heading: Flow,
    text: Flow,
    /// The block of code or of an example that we are in: nothing in it is markup.
    verbatim: Option<String>,
}

/// The line that hidden lines end with.
enum End {
    Drawer,
    Comment,
}

impl End {
    fn is(&self, line: &str) -> bool {
        let line = line.trim();
        match self {
            Self::Drawer => line.eq_ignore_ascii_case(":end:"),
            Self::Comment => line.eq_ignore_ascii_case("#+end_comment"),
        }
    }
}

impl Reader {
    /// Reads a line. Returns what ends the lines after it that are not to be seen, if there are such and `rest` has an end of
    /// them: nothing is lost behind a drawer that is none.
    fn see<'l>(
        &mut self,
        line: &str,
        rest: &(impl Iterator<Item = &'l str> + Clone),
    ) -> Option<End> {
        let named = heading_of(line);
        let line = line.trim();
        let closes = |end: &End| {
            let rest = rest.clone().take(LONGEST_HIDDEN);
            let mut section = rest.take_while(|line| heading_of(line).is_none());
            section.any(|line| end.is(line))
        };
        if let Some(end) = &self.verbatim {
            match line.eq_ignore_ascii_case(end) {
                true => {
                    self.verbatim = None;
                    self.text.break_paragraph();
                }
                false => {
                    self.text.push(line);
                    self.text.break_line();
                }
            }
            return None;
        }
        if let Some(keyword) = line.strip_prefix("#+") {
            return self.keyword(keyword, closes);
        }
        if let Some(name) = drawer(line) {
            self.text.break_paragraph();
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            let is_closed = closes(&End::Drawer);
            if is_closed && UNSEEN_DRAWERS.into_iter().any(is) {
                return Some(End::Drawer);
            }
            if is_closed || is("end") {
                return None;
            }
        }
        if line == "#" || line.starts_with("# ") {
            // A comment.
        } else if line.is_empty() {
            self.text.break_paragraph();
        } else if let Some(named) = named {
            self.text.break_paragraph();
            let is_first = self.heading.is_empty() && self.title.is_empty();
            push_links(
                if is_first {
                    &mut self.heading
                } else {
                    &mut self.text
                },
                named,
            );
            self.text.break_paragraph();
        } else {
            if line.starts_with(['-', '+', '|']) {
                self.text.break_line();
            }
            push_links(&mut self.text, line);
            self.text.break_word();
        }
        None
    }

    /// Reads `#+NAME: value` and `#+BEGIN_NAME`.
    fn keyword(&mut self, keyword: &str, closes: impl Fn(&End) -> bool) -> Option<End> {
        self.text.break_paragraph();
        let (name, value) = match keyword.split_once(':') {
            Some((name, value)) if !name.contains(' ') => (name, value),
            _ => (keyword, ""),
        };
        // A caption may have a short form: `#+CAPTION[short]: long`.
        let name = name.split('[').next().unwrap_or(name).to_ascii_lowercase();
        if name == "title" {
            self.title.break_word();
            push_links(&mut self.title, value);
        } else if SHOWN.contains(&name.as_str()) {
            push_links(&mut self.text, value);
            self.text.break_paragraph();
        }
        let block = name.split_whitespace().next()?.strip_prefix("begin_")?;
        if block == "comment" {
            return Some(End::Comment).filter(closes);
        }
        if matches!(block, "src" | "example") {
            self.verbatim = Some(format!("#+end_{block}"));
        }
        None
    }

    fn finish(self) -> (String, String) {
        let (title, heading) = (self.title.into_text(), self.heading.into_text());
        let text = self.text.into_text();
        match title.is_empty() {
            true => (heading, text),
            false if heading.is_empty() => (title, text),
            // A title that came late: the heading before it is text.
            false => (title, format!("{heading}\n\n{text}")),
        }
    }
}

/// The words of a heading. Stars stand at the beginning of its line.
fn heading_of(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('*');
    (rest.len() < line.len()).then_some(rest)?.strip_prefix(' ')
}

/// The name in `:PROPERTIES:`, `:NOTES:` and the like, and in the `:END:` of them.
fn drawer(line: &str) -> Option<&str> {
    let name = line.strip_prefix(':')?.strip_suffix(':')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
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
            "me\n\nFood :owl:\n\nThey hunt mice at night, see owls.org.\n\n- one\n- two"
        );
        assert_eq!(org("* Owls\ntext"), ("Owls".into(), "text".into()));
        assert_eq!(org("plain *bold*").0, "");
    }

    #[test]
    fn code_is_no_markup_and_comments_are_not_seen() {
        let code = "#+BEGIN_SRC sh\n# install\n* x\n#+END_SRC\n#+begin_comment\nno\n#+end_comment\n#+caption: An owl";
        assert_eq!(org(code).1, "# install\n* x\n\nAn owl");
    }

    #[test]
    fn a_drawer_that_is_none_hides_nothing() {
        assert_eq!(
            org(":LOGBOOK:\nseen").1,
            ":LOGBOOK:\n\nseen".replace("\n\n", " ")
        );
        assert_eq!(org(":NOTES:\nseen\n:END:\nmore").1, "seen\n\nmore");
        assert_eq!(org(":logbook:\nno\n:end:\nseen").1, "seen");
    }

    proptest! {
        #[test]
        fn takes_anything(source in "(\\PC|\n|\\*|\\[|\\]|#|:|=|-|#\\+begin_src\n|:END:\n){0,60}") {
            org(&source);
        }
    }
}
