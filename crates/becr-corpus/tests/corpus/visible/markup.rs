//! HTML, and Markdown with HTML in it.

use super::{Case, Maker};

const INLINE: &[&str] = &[
    "b", "i", "code", "span", "em", "strong", "a", "kbd", "sub", "mark", "label",
];
const BLOCKS: &[&str] = &[
    "div",
    "p",
    "section",
    "blockquote",
    "ul",
    "table",
    "pre",
    "h2",
    "h3",
    "details",
    "article",
];
/// Elements that end a word without being a paragraph.
const CELLS: &[&str] = &[
    "td", "th", "li", "tr", "dt", "dd", "option", "summary", "button",
];
const ATTRIBUTES: &[&str] = &[
    "",
    " class=\"no\"",
    " title='a > b'",
    " href=\"x?a=1&b=2\" id=q",
];

/// A source and what is seen of it, grown together.
#[derive(Default)]
pub(super) struct Page {
    pub(super) source: String,
    pub(super) seen: String,
}

impl Page {
    fn both(&mut self, text: &str) {
        self.source.push_str(text);
        self.seen.push_str(text);
    }

    fn end_word(&mut self) {
        self.seen.push(' ');
    }

    pub(super) fn case(self) -> Case {
        Case {
            source: self.source.into_bytes(),
            seen: self.seen,
            ..Case::default()
        }
    }
}

/// Words and inline elements, some without white space between them.
fn line(maker: &mut Maker, page: &mut Page, depth: usize) {
    for _ in 0..1 + maker.below(4) {
        match maker.below(8) {
            0..3 => {
                let word = maker.word();
                page.both(&word);
            }
            3 => page.both(" "),
            4 if depth > 0 => {
                let (tag, attributes) = (maker.one(INLINE), maker.one(ATTRIBUTES));
                page.source.push_str(&format!("<{tag}{attributes}>"));
                line(maker, page, depth - 1);
                page.source.push_str(&format!("</{tag}>"));
            }
            5 => {
                page.source.push_str(maker.one(&["<br>", "<br/>", "<hr>"]));
                page.end_word();
            }
            6 => {
                // A comment does not even end a word.
                let word = maker.unseen();
                page.source.push_str(&format!("<!-- {word} -->"));
            }
            _ => {
                page.source
                    .push_str(maker.one(&["&nbsp;", "&#32;", " &amp; "]));
                page.end_word();
            }
        }
    }
}

/// What no reader sees.
fn hidden(maker: &mut Maker) -> String {
    let (a, b) = (maker.unseen(), maker.unseen());
    match maker.below(6) {
        0 => format!("<script>if (a < b) '{a}'; // <b>{b}</b></script>"),
        1 => format!("<style>.{a} {{ content: '<p>{b}' }}</style>"),
        2 => format!("<template><p>{a}</p><template>x{a}</template>{b}</template>"),
        3 => format!("<!-- {a}\n <p>{b}</p> -->"),
        4 => format!("<noscript><p>{a}</p>{b}</noscript>"),
        _ => format!("<svg><title>{a}</title></svg><!--{b}-->"),
    }
}

/// Block elements, nested; `newline` stands between them.
fn blocks(maker: &mut Maker, page: &mut Page, depth: usize, newline: &str) {
    for _ in 0..1 + maker.below(3) {
        match maker.below(6) {
            0 if depth > 0 => {
                let (tag, attributes) = (maker.one(BLOCKS), maker.one(ATTRIBUTES));
                page.source
                    .push_str(&format!("<{tag}{attributes}>{newline}"));
                page.end_word();
                blocks(maker, page, depth - 1, newline);
                page.source.push_str(&format!("</{tag}>{newline}"));
                page.end_word();
            }
            1 | 2 => {
                let tag = maker.one(CELLS);
                page.source.push_str(&format!("<{tag}>"));
                page.end_word();
                line(maker, page, 2);
                page.source.push_str(&format!("</{tag}>"));
                page.end_word();
            }
            3 => {
                page.source.push(' ');
                page.end_word();
                page.source.push_str(&hidden(maker));
                page.source.push_str(newline);
                page.source.push(' ');
            }
            _ => line(maker, page, 2),
        }
    }
}

/// The inside of a page's body.
pub(super) fn body(maker: &mut Maker) -> Page {
    let mut page = Page::default();
    let newline = maker.one(&["", "\n", "\n\n"]);
    blocks(maker, &mut page, 4, newline);
    page
}

pub(super) fn html(maker: &mut Maker) -> Case {
    let mut page = Page::default();
    if maker.below(2) == 0 {
        let title = maker.word();
        let (a, b) = (maker.unseen(), maker.unseen());
        page.source = format!(
            "<!DOCTYPE html>\n<html><head><meta name=x content=\"{a}\"><title>{title}</title><script>{b}</script></head><body>"
        );
        page.seen = format!("{title} ");
    }
    let body = body(maker);
    page.source.push_str(&body.source);
    page.seen.push_str(&body.seen);
    page.case()
}

/// A paragraph of Markdown in one line: it begins with a word, so that it is nothing else.
fn paragraph(maker: &mut Maker, page: &mut Page) {
    let word = maker.word();
    page.both(&word);
    for _ in 0..maker.below(5) {
        let word = maker.word();
        match maker.below(9) {
            0 => page.both(&word),
            1 => page.both(&format!(" {word}")),
            // Inside of a word, marks do not end it.
            2 => {
                let mark = maker.one(&["*", "**", "`", "~~"]);
                // A mark beside another one would be a longer mark.
                if page.source.ends_with(['*', '`', '~']) {
                    page.both(" ");
                }
                page.source.push_str(&format!("{mark}{word}{mark}"));
                page.seen.push_str(&word);
            }
            3 => {
                page.source
                    .push_str(&format!(" [{word}](http://x.y/z \"no\")"));
                page.seen.push_str(&format!(" {word}"));
            }
            4 => {
                page.source.push_str(&format!("![{word}](x.png)"));
                page.seen.push_str(&format!(" {word} "));
            }
            5 => {
                page.both(&word);
                page.source.push_str(maker.one(&["\n", "  \n", "<br>"]));
                page.end_word();
                let word = maker.word();
                page.both(&word);
            }
            6 => {
                page.both(&word);
                line(maker, page, 2);
            }
            7 => {
                let tag = maker.one(CELLS);
                page.source.push_str(&format!("<{tag}>{word}</{tag}>"));
                page.seen.push_str(&format!(" {word} "));
            }
            _ => {
                let unseen = maker.unseen();
                page.source
                    .push_str(&format!(" <style>.{unseen}</style> {word}"));
                page.seen.push_str(&format!(" {word}"));
            }
        }
    }
}

/// A block of Markdown, or of HTML in it.
fn block(maker: &mut Maker, page: &mut Page) {
    let (a, b) = (maker.word(), maker.word());
    match maker.below(10) {
        0 => {
            page.source.push_str(maker.one(&["# ", "## ", "### "]));
            paragraph_in_line(maker, page);
        }
        1 => {
            page.source.push_str(&format!("- {a}\n- [ ] {b}\n  1. "));
            page.seen.push_str(&format!("{a} {b} "));
            paragraph_in_line(maker, page);
        }
        2 => {
            page.source
                .push_str(&format!("| {a} |\n|---|\n| **{b}** |"));
            page.seen.push_str(&format!("{a} {b}"));
        }
        3 => {
            page.source
                .push_str(&format!("```\n<!-- {a} -->\n  <td>{b}</td>\n```"));
            page.seen.push_str(&format!("{a} td {b}"));
        }
        4 => {
            page.source.push_str("> ");
            paragraph_in_line(maker, page);
        }
        5 => {
            let (c, d) = (maker.unseen(), maker.unseen());
            let hidden = match maker.below(4) {
                0 => format!("<!-- {c}\n\n# {d}\n-->"),
                1 => format!("<script>\n{c};\n\n{d}\n</script>"),
                2 => format!("<style>\n{c}\n\n{d}\n</style>"),
                // With a blank line in it, the block of HTML ends before the comment does.
                _ => format!("<div>\n<!-- {c}\n\n{d}\n\n- {c} -->\n</div>"),
            };
            page.source.push_str(&hidden);
        }
        6 | 7 => {
            page.source.push_str("<div>");
            blocks(maker, page, 3, "\n");
            page.source.push_str("</div>");
        }
        _ => paragraph(maker, page),
    }
    page.source.push_str("\n\n");
    page.seen.push(' ');
}

fn paragraph_in_line(maker: &mut Maker, page: &mut Page) {
    let mut inner = Page::default();
    paragraph(maker, &mut inner);
    page.source
        .push_str(&inner.source.replace("  \n", " ").replace('\n', " "));
    page.seen.push_str(&inner.seen);
}

pub(super) fn markdown(maker: &mut Maker) -> Case {
    let mut page = Page::default();
    if maker.below(3) == 0 {
        let title = maker.word();
        page.source = format!("---\ntitle: {title}\n---\n\n");
        page.seen = format!("{title} ");
    }
    for _ in 0..1 + maker.below(6) {
        block(maker, &mut page);
    }
    page.case()
}
