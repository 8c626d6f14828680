//! A tolerant reader of SGML-like text: tags, comments and text. What does not look like a tag is text.

use crate::flow::Flow;
use crate::html::decode_reference;

/// No tag of a collection is longer; past this a `<` is a less-than sign.
const LONGEST_TAG: usize = 1024;
/// The longest name of a character reference.
const LONGEST_REFERENCE: usize = 33;

/// A piece of marked-up text.
#[derive(Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Text(&'a str),
    /// An opening tag: its name as written, and what follows the name.
    Open(&'a str, &'a str),
    Close(&'a str),
}

/// Splits marked-up text into tokens with their byte offsets; comments and declarations are left out.
pub(crate) struct Markup<'a> {
    source: &'a str,
    at: usize,
    /// Set once no comment can end any more, so that a text full of `<!--` is not searched over and over.
    no_comment_end: bool,
}

impl<'a> Markup<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            at: 0,
            no_comment_end: false,
        }
    }

    /// Length of the comment or declaration that begins here.
    fn aside(&mut self) -> Option<usize> {
        let rest = &self.source[self.at..];
        if rest.starts_with("<!--") && !self.no_comment_end {
            if let Some(end) = memchr::memmem::find(&rest.as_bytes()[4..], b"-->") {
                return Some(4 + end + 3);
            }
            self.no_comment_end = true;
        }
        if rest.starts_with("<!") || rest.starts_with("<?") {
            tag_length(rest)
        } else {
            None
        }
    }

    /// The tag that begins here, and its length.
    fn tag(&self) -> Option<(Token<'a>, usize)> {
        let rest = &self.source[self.at..];
        let length = tag_length(rest)?;
        let inside = &rest[1..length - 1];
        let (closing, inside) = match inside.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, inside),
        };
        let end = inside
            .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.:".contains(c)))
            .unwrap_or(inside.len());
        let (name, rest) = inside.split_at(end);
        let follows_name =
            rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace() || c == '/');
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !follows_name {
            return None;
        }
        Some((
            if closing {
                Token::Close(name)
            } else {
                Token::Open(name, rest)
            },
            length,
        ))
    }
}

/// Length of `<…>` if it closes soon and holds no other `<`.
fn tag_length(rest: &str) -> Option<usize> {
    let bytes = &rest.as_bytes()[..rest.len().min(LONGEST_TAG)];
    let end = 1 + memchr::memchr2(b'<', b'>', bytes.strip_prefix(b"<")?)?;
    (bytes[end] == b'>').then_some(end + 1)
}

impl<'a> Iterator for Markup<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if start >= self.source.len() {
            return None;
        }
        if let Some(length) = self.aside() {
            self.at += length;
            return Some((start, Token::Text(" ")));
        }
        if let Some((token, length)) = self.tag() {
            self.at += length;
            return Some((start, token));
        }
        // Text goes on to the next `<`, which is always at a character boundary.
        let rest = &self.source.as_bytes()[start..];
        self.at += memchr::memchr(b'<', &rest[1..]).map_or(rest.len(), |end| end + 1);
        Some((start, Token::Text(&self.source[start..self.at])))
    }
}

/// The value of an attribute in what follows a tag's name, quoted or not.
pub(crate) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = attributes;
    loop {
        let (before, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            _ => after
                .split_once(|c: char| c.is_ascii_whitespace())
                .unwrap_or((after, "")),
        };
        if before
            .split_whitespace()
            .next_back()
            .is_some_and(|known| known.eq_ignore_ascii_case(name))
        {
            return Some(value);
        }
        rest = next;
    }
}

/// Adds text with its character references decoded.
pub(crate) fn push_decoded(flow: &mut Flow, text: &str) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        flow.push(&rest[..at]);
        rest = &rest[at..];
        let length = reference_length(rest);
        match &rest[..length] {
            // Names of the Federal Register's own document type: HTML has another `blank`, and no `hyph`.
            "&blank;" => flow.break_word(),
            "&hyph;" => flow.push("-"),
            "&" => flow.push("&"),
            reference => flow.push(&decode_reference(reference)),
        }
        rest = &rest[length..];
    }
    flow.push(rest);
}

/// Length of the character reference that begins with this `&`, or 1 if none does.
fn reference_length(rest: &str) -> usize {
    let name = &rest.as_bytes()[1..rest.len().min(LONGEST_REFERENCE)];
    match name
        .iter()
        .position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'#'))
    {
        Some(end) if end > 0 && name[end] == b';' => end + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(source: &str) -> Vec<Token<'_>> {
        Markup::new(source).map(|(_, token)| token).collect()
    }

    #[test]
    fn tells_tags_from_text() {
        use Token::{Close, Open, Text};
        assert_eq!(
            tokens("<P>a < b</P >"),
            [Open("P", ""), Text("a "), Text("< b"), Close("P")]
        );
        assert_eq!(tokens("<F P=102>x"), [Open("F", " P=102"), Text("x")]);
        assert_eq!(
            tokens("a<!-- <P> -->b<!x><?y?>"),
            [Text("a"), Text(" "), Text("b"), Text(" "), Text(" ")]
        );
        assert_eq!(tokens("<!-- open"), [Text("<!-- open")]);
        assert_eq!(tokens("1<2>0 <é>"), [Text("1"), Text("<2>0 "), Text("<é>")]);
    }

    #[test]
    fn finds_attributes() {
        assert_eq!(attribute(" number=\"12\" type='a b'", "number"), Some("12"));
        assert_eq!(attribute(" number=\"12\" type='a b'", "TYPE"), Some("a b"));
        assert_eq!(
            attribute(" a=\"x number=3\" number = 4", "number"),
            Some("4")
        );
        assert_eq!(attribute(" number", "number"), None);
    }

    #[test]
    fn decodes_references() {
        let mut flow = Flow::default();
        push_decoded(
            &mut flow,
            "R&D at AT&T&blank;a&amp;b &sect;&#167; non&hyph;profit &nosuch; &",
        );
        assert_eq!(flow.into_text(), "R&D at AT&T a&b §§ non-profit &nosuch; &");
    }

    proptest! {
        #[test]
        fn loses_no_text(source in "(<|>|!|-|--|/|P|é| |=|\"|&|;|a){0,60}") {
            let mut end = 0;
            for (at, token) in Markup::new(&source) {
                prop_assert!(at == 0 || at >= end);
                end = at;
                if let Token::Text(text) = token {
                    prop_assert!(text == " " || source[at..].starts_with(text));
                    push_decoded(&mut Flow::default(), text);
                }
            }
            attribute(&source, "a");
        }
    }
}
