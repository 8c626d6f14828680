//! Markdown, as a reader of the rendered page would see it, with the HTML that stands in it.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::flow::Flow;
use crate::front_matter;
use crate::html::{COMMENT_END, piece};

/// Title and text of Markdown: the title of its front matter, else the first heading, and the rest without the marks.
pub(crate) fn markdown(source: &str) -> (String, String) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let mut reader = Reader::new(source);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        reader.see(event, range);
    }
    reader.finish()
}

struct Reader<'s> {
    source: &'s str,
    title: Flow,
    text: Flow,
    in_title: bool,
    in_metadata: bool,
    in_code: bool,
    /// How many images we are in: their words stand in for pictures, and a badge is no part of a title.
    images: usize,
    /// Lines of the block of HTML we are in. It is read as a whole: comments and scripts have several lines.
    block: Option<String>,
    /// Up to here, HTML that was not closed in its own block hides the source: a comment with a blank line in it.
    hidden_until: usize,
}

impl<'s> Reader<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            source,
            title: Flow::default(),
            text: Flow::default(),
            in_title: false,
            in_metadata: false,
            in_code: false,
            images: 0,
            block: None,
            hidden_until: 0,
        }
    }

    /// Where words go: to the title, or to the text.
    fn flow(&mut self) -> &mut Flow {
        match self.in_title && self.images == 0 {
            true => &mut self.title,
            false => &mut self.text,
        }
    }

    fn see(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Text(block) if self.in_metadata => {
                if let Some(stated) = front_matter::title(&block).filter(|_| self.title.is_empty())
                {
                    self.title.push(&stated);
                }
            }
            Event::Text(piece) | Event::Code(piece) => self.words(&piece, range),
            Event::Html(line) => {
                let line = self.seen(&line, &range).to_owned();
                if let Some(block) = &mut self.block {
                    block.push_str(&line);
                }
            }
            Event::InlineHtml(tag) => {
                let tag = self.seen(&tag, &range).to_owned();
                // What an inline tag hides ends in its paragraph: prose that mentions <script> hides nothing.
                let paragraph = self.source[range.end..].find("\n\n");
                let end = paragraph.map_or(self.source.len(), |at| range.end + at);
                self.html(&tag, range.end..end);
            }
            Event::SoftBreak => self.flow().break_word(),
            Event::HardBreak => self.flow().break_line(),
            Event::Rule => self.flow().break_paragraph(),
            Event::Start(tag) => self.start(&tag),
            Event::End(end) => self.end(end, range),
            _ => self.flow().break_word(),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::MetadataBlock(_) => self.in_metadata = true,
            Tag::Heading { .. } if self.title.is_empty() => {
                self.in_title = true;
                // Badges of the heading go there.
                self.text.break_paragraph();
            }
            Tag::Image { .. } => {
                self.flow().break_word();
                self.images += 1;
                self.text.break_word();
            }
            Tag::HtmlBlock => {
                self.flow().break_paragraph();
                self.block = Some(String::new());
            }
            tag => {
                self.in_code |= matches!(tag, Tag::CodeBlock(_));
                flow_break(self.flow(), &tag.to_end());
            }
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::MetadataBlock(_) => self.in_metadata = false,
            TagEnd::Heading(_) => {
                self.in_title = false;
                self.text.break_paragraph();
            }
            TagEnd::Image => {
                self.text.break_word();
                self.images = self.images.saturating_sub(1);
            }
            TagEnd::HtmlBlock => {
                if let Some(block) = self.block.take() {
                    self.html(&block, range.end..self.source.len());
                }
                self.flow().break_paragraph();
            }
            end => {
                self.in_code &= end != TagEnd::CodeBlock;
                flow_break(self.flow(), &end);
            }
        }
    }

    fn words(&mut self, piece: &str, range: Range<usize>) {
        let piece = self.seen(piece, &range).to_owned();
        match self.in_code {
            true => self.flow().push_lines(&piece),
            false => self.flow().push(&piece),
        }
    }

    /// What of a piece is not hidden.
    fn seen<'p>(&self, piece: &'p str, range: &Range<usize>) -> &'p str
    where
        's: 'p,
    {
        match self.hidden_until {
            until if range.start >= until => piece,
            until => self.source.get(until..range.end).unwrap_or_default(),
        }
    }

    /// Reads HTML. What it leaves open may be closed in a part of the source that follows, and hides what is between; where
    /// nothing closes it, it hides nothing.
    fn html(&mut self, html: &str, follows: Range<usize>) {
        let (is_title, is_titled) = (self.in_title, !self.title.is_empty());
        let (mut flow, mut heading) = (std::mem::take(self.flow()), Flow::default());
        let unclosed = piece(html, &mut flow, &mut heading);
        *self.flow() = flow;
        if !is_title && !is_titled {
            self.title.push(&heading.into_text());
        }
        let Some(mark) = unclosed else {
            return;
        };
        let end = find(&self.source[follows.clone()], &mark);
        if let Some(at) = end {
            let is_comment = mark == COMMENT_END;
            self.hidden_until = follows.start + at + if is_comment { mark.len() } else { 0 };
        }
    }

    fn finish(self) -> (String, String) {
        // Headings may have several lines, a title has one.
        let title = self.title.into_text();
        let words: Vec<&str> = title.split_whitespace().collect();
        (words.join(" "), self.text.into_text())
    }
}

/// Where an ASCII mark stands, in any case.
fn find(text: &str, mark: &str) -> Option<usize> {
    let first = mark.as_bytes()[0];
    memchr::memchr_iter(first, text.as_bytes()).find(|&at| {
        let found = text.as_bytes().get(at..at + mark.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(mark.as_bytes()))
    })
}

/// What begins or ends with an element: a line, a paragraph, or nothing.
fn flow_break(flow: &mut Flow, end: &TagEnd) {
    match end {
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link => {}
        TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead => flow.break_line(),
        TagEnd::TableCell | TagEnd::Image => flow.break_word(),
        _ => flow.break_paragraph(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_loses_its_marks() {
        let (title, text) = markdown(
            "---\ntags: x\n---\n# The *owl*\n\nSee [the **barn**](http://x.y) un`broken`, ~~no~~\n- one\n- [ ] two\n\n\
             | a | b |\n|---|---|\n| c | d |\n\n## More\n```rust\nlet x = 1;\n  let y;\n```\n<b>bold</b> ![an owl](o.png)\n> quote",
        );
        assert_eq!(title, "The owl");
        assert_eq!(
            text,
            "See the barn unbroken, no\n\none\ntwo\n\na b\nc d\n\nMore\n\nlet x = 1;\nlet y;\n\nbold an owl\n\nquote"
        );
        let titled = markdown("---\ntitle: 'On owls'\n---\n\n# The barn\n\ntext");
        assert_eq!(titled, ("On owls".into(), "The barn\n\ntext".into()));
        let titled = markdown("+++\ntitle = \"On owls\"\n+++\ntext");
        assert_eq!(titled, ("On owls".into(), "text".into()));
    }

    #[test]
    fn words_of_html_are_kept_apart() {
        let table = "<table>\n<tr><td><code>ALPHACODE</code></td><td>Indicates</td></tr>\n</table>";
        assert_eq!(markdown(table).1, "ALPHACODE Indicates");
        assert_eq!(markdown("foo<br>bar").1, "foo\nbar");
        assert_eq!(
            markdown("a<td>b un<b>bro</b><!-- x -->ken").1,
            "a b unbroken"
        );
        assert_eq!(markdown("foo![bar](x.png)").1, "foo bar");
    }

    #[test]
    fn what_html_hides_is_hidden() {
        for (source, seen) in [
            ("a <!-- b --> c", "a c"),
            ("<!-- b\n\nb -->\n\nc", "c"),
            (
                "<div>\n<!-- b\n\nb\n\n# b\n\nb --> c\n</div>\n\nd",
                "c\n\nd",
            ),
            ("<style>\nb {}\n\nb\n</style>\n\nc", "c"),
            ("<div><script>\n\nb\n\n</script></div>\n\nc", "c"),
            ("a <style>b</style> c", "a c"),
            (
                "Use <script> here.\n\n`</script>` ends it.",
                "Use here.\n\n</script> ends it.",
            ),
        ] {
            assert_eq!(markdown(source), (String::new(), seen.into()), "{source}");
        }
    }

    #[test]
    fn titles_are_words_of_headings() {
        let badges = "# Serde &emsp; [![Build Status]][a] [![Latest Version](x)][b]\n\ntext\n\n[a]: x\n[b]: x\n[Build Status]: x";
        let (title, text) = markdown(badges);
        assert_eq!(title, "Serde");
        assert_eq!(text, "Build Status Latest Version\n\ntext");
        let (title, _) = markdown("# ![logo](x.png)\n\n## Owls\n\ntext");
        assert_eq!(title, "Owls");
        let (title, text) = markdown("<h1 align=center><img src=x><br>Owls</h1>\n\ntext");
        assert_eq!((title.as_str(), text.as_str()), ("Owls", "Owls\n\ntext"));
        assert_eq!(markdown("Barn  \nowls\n===\n").0, "Barn owls");
    }

    proptest! {
        #[test]
        fn markdown_takes_anything(source in "(\\PC|#|\n|\\*|`|<|>|<!--|-->|<script>|</script|\\[|\\]|\\(|\\||-|!){0,80}") {
            markdown(&source);
        }
    }
}
