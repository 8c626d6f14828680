//! HTML to title and text, as a reader of the page would see it.

use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Error, Span, Tokenizer};

use crate::flow::Flow;

/// What is kept of a page.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page {
    /// Of `<title>`; empty if there is none.
    pub(crate) title: String,
    /// The first heading that has text; it is part of the text, too.
    pub(crate) heading: String,
    pub(crate) text: String,
}

/// Elements whose content no reader sees. Scripts and styles end at their own end tag whatever they hold.
const UNSEEN: [&[u8]; 7] = [
    b"script",
    b"style",
    b"noscript",
    b"template",
    b"iframe",
    b"noembed",
    b"noframes",
];

/// Elements inside a line: they do not end a word.
const INLINE: [&[u8]; 36] = [
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"blink", b"cite", b"code", b"data",
    b"del", b"dfn", b"em", b"font", b"i", b"ins", b"kbd", b"label", b"mark", b"nobr", b"output",
    b"q", b"s", b"samp", b"small", b"span", b"strike", b"strong", b"sub", b"sup", b"time", b"tt",
    b"u", b"var", b"wbr",
];

/// Elements that stand apart from what is before and after.
const PARAGRAPHS: [&[u8]; 15] = [
    b"p",
    b"div",
    b"ul",
    b"ol",
    b"dl",
    b"table",
    b"blockquote",
    b"pre",
    b"section",
    b"article",
    b"header",
    b"footer",
    b"main",
    b"figure",
    b"hr",
];

/// Reads a page, however broken.
pub(crate) fn page(html: &str) -> Page {
    let mut extractor = Extractor::default();
    extractor.read(html);
    extractor.finish()
}

/// Reads HTML that stands inside of other markup, such as a block of a Markdown file: its text goes on with `text`, its first
/// heading with `heading`. Returns the mark that ends an element or comment which hides text and is not closed yet.
pub(crate) fn piece(html: &str, text: &mut Flow, heading: &mut Flow) -> Option<String> {
    let mut extractor = Extractor {
        text: std::mem::take(text),
        heading: std::mem::take(heading),
        ..Extractor::default()
    };
    extractor.read(html);
    let unclosed = match (extractor.in_comment, extractor.in_title, extractor.unseen) {
        (true, _, _) => Some(COMMENT_END.to_owned()),
        (_, true, _) => Some("</title".to_owned()),
        (_, _, Some((name, _))) => Some(format!("</{}", String::from_utf8_lossy(&name))),
        _ => None,
    };
    (*text, *heading) = (extractor.text, extractor.heading);
    unclosed
}

/// What a comment ends with.
pub(crate) const COMMENT_END: &str = "-->";

/// A character reference (`&eacute;`, `&#233;`) decoded as HTML does; unknown ones come back as they are.
pub(crate) fn decode_reference(reference: &str) -> String {
    page(reference).text
}

#[derive(Default)]
struct Extractor {
    title: Flow,
    heading: Flow,
    text: Flow,
    /// The unseen element we are in, and how many of its name are open: templates nest.
    unseen: Option<(Vec<u8>, usize)>,
    in_title: bool,
    in_heading: bool,
    /// How many drawings are open: they have titles of their own, which are no page's.
    drawings: usize,
    /// The source ended inside of a comment.
    in_comment: bool,
}

impl Extractor {
    fn read(&mut self, html: &str) {
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
            self.see(&event);
            None::<Infallible>
        });
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
    }

    fn see(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(name),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.string(&String::from_utf8_lossy(value)),
            CallbackEvent::Error(Error::EofInComment) => self.in_comment = true,
            _ => {}
        }
    }

    fn open(&mut self, name: &[u8]) {
        self.break_word(name);
        match name {
            // Whatever was left open in the head is over where the body begins.
            b"body" => (self.unseen, self.in_title) = (None, false),
            b"svg" => self.drawings += 1,
            b"title" if self.unseen.is_none() && self.title.is_empty() && self.drawings == 0 => {
                self.in_title = true;
            }
            b"title" if self.unseen.is_none() => self.unseen = Some((name.to_vec(), 1)),
            _ if self.unseen.is_none() && UNSEEN.contains(&name) => {
                self.unseen = Some((name.to_vec(), 1));
            }
            _ if self.is_unseen(name) => {
                if let Some((_, open)) = &mut self.unseen {
                    *open += 1;
                }
            }
            _ if is_heading(name) => self.in_heading = self.heading.is_empty(),
            _ => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        self.break_word(name);
        if self.is_unseen(name) {
            self.unseen = match self.unseen.take() {
                Some((name, open)) if open > 1 => Some((name, open - 1)),
                _ => None,
            };
        }
        match name {
            b"title" => self.in_title = false,
            b"svg" => self.drawings = self.drawings.saturating_sub(1),
            b"head" => (self.unseen, self.in_title) = (None, false),
            _ if is_heading(name) => self.in_heading = false,
            _ => {}
        }
    }

    /// Whether the unseen element we are in has this name.
    fn is_unseen(&self, name: &[u8]) -> bool {
        self.unseen.as_ref().is_some_and(|(open, _)| open == name)
    }

    fn break_word(&mut self, name: &[u8]) {
        match name {
            name if INLINE.contains(&name) => return,
            name if PARAGRAPHS.contains(&name) || is_heading(name) => self.text.break_paragraph(),
            b"br" | b"li" | b"tr" | b"dt" | b"dd" => self.text.break_line(),
            _ => self.text.break_word(),
        }
        self.heading.break_word();
    }

    fn string(&mut self, value: &str) {
        if self.unseen.is_some() {
            return;
        }
        if self.in_title {
            self.title.push(value);
            return;
        }
        if self.in_heading {
            self.heading.push(value);
        }
        self.text.push(value);
    }

    fn finish(self) -> Page {
        Page {
            title: self.title.into_text(),
            heading: self.heading.into_text(),
            text: self.text.into_text(),
        }
    }
}

fn is_heading(name: &[u8]) -> bool {
    matches!(name, [b'h', b'1'..=b'6'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_a_reader_sees() {
        let html = "<!DOCTYPE html><html><head><title>Owls &amp; mice</title><style>p{}</style>\
            <script>if (a < b) document.write('<p>no</p>')</script></head>\
            <body><!-- no --><h1>The <i>owl</i></h1><p>H<sub>2</sub>O, caf&eacute;<br>next<td>cell</td><td>two</td>\
            <noscript>no</noscript><div>un<b>broken</b></div><svg><title>no</title></svg>";
        let page = page(html);
        assert_eq!(page.title, "Owls & mice");
        assert_eq!(page.heading, "The owl");
        assert_eq!(page.text, "The owl\n\nH2O, café\nnext cell two\n\nunbroken");
    }

    #[test]
    fn survives_tag_soup() {
        assert_eq!(page("a < b <p").text, "a < b");
        assert_eq!(page("<template>x<body>seen").text, "seen");
        let nested = "<template><template>x</template>y</template>seen";
        assert_eq!(page(nested).text, "seen");
        assert_eq!(page("<script>never closed <p>x").text, "");
        assert_eq!(page("").text, "");
        assert_eq!(
            page("<title>first</title><title>second</title>").title,
            "first"
        );
    }

    #[test]
    fn decodes_single_references() {
        assert_eq!(decode_reference("&eacute;"), "é");
        assert_eq!(decode_reference("&#8211;"), "–");
        assert_eq!(decode_reference("&nonsense;"), "&nonsense;");
    }
}
