//! Files that are a document each: plain text, Markdown, HTML, Org, reStructuredText, Word, source code.

use std::io::Read;
use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::charset::{decode_note, decode_page};
use crate::docx;
use crate::error::{ErrorKind, Fault, Place, not_utf8};
use crate::flow::Flow;
use crate::front_matter;
use crate::html;
use crate::input::Input;
use crate::lines::LONGEST;
use crate::plain_markup::{org, restructured};
use crate::records::{Content, Found, Records};
use becr_basics::{Document, Folder};

/// The one document of a file.
pub(crate) struct Note {
    input: Option<Input>,
    id: String,
    kind: Kind,
    limit: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Markdown,
    Html,
    Org,
    Restructured,
    Docx,
    /// Read as it stands; its title is its whole name, since the ending says much of it.
    Source,
}

impl Note {
    /// A file, and the folder it was found in if it was: the id is the path from there, behind
    /// the folder's name if it has one, else the file's name.
    pub(crate) fn new(input: Input, path: &Path, folder: Option<&Folder>) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let id = match folder {
            Some(folder) => folder.id(path.strip_prefix(&folder.path).unwrap_or(path)),
            None => name.to_string_lossy().into_owned(),
        };
        let kind = match extension(&id).to_ascii_lowercase().as_str() {
            "md" | "markdown" => Kind::Markdown,
            "html" | "htm" | "xhtml" => Kind::Html,
            "org" => Kind::Org,
            "rst" => Kind::Restructured,
            "docx" => Kind::Docx,
            "" | "txt" | "text" => Kind::Plain,
            _ => Kind::Source,
        };
        Self {
            input: Some(input),
            id,
            kind,
            limit: LONGEST,
        }
    }

    fn document(&self, mut input: Input) -> Result<Document, Fault> {
        let whole = |kind| Fault {
            place: Place::File,
            kind,
        };
        let mut bytes = Vec::new();
        if let Err(error) = input
            .by_ref()
            .take(self.limit as u64 + 1)
            .read_to_end(&mut bytes)
        {
            return Err(whole(input.explain(error)));
        }
        if bytes.len() > self.limit {
            return Err(whole(ErrorKind::TooLong { limit: self.limit }));
        }
        let decoded = || decode_note(&bytes).map_err(|error| bad_line(&bytes, error));
        let (title, text) = match self.kind {
            Kind::Html => {
                let page = html::page(&decode_page(&bytes, None));
                (
                    if page.title.is_empty() {
                        page.heading
                    } else {
                        page.title
                    },
                    page.text,
                )
            }
            Kind::Markdown => markdown(&decoded()?),
            Kind::Org => org(&decoded()?),
            Kind::Restructured => restructured(&decoded()?),
            Kind::Docx => docx::read(&bytes, self.limit).map_err(whole)?,
            Kind::Plain => (String::new(), decoded()?.trim().to_owned()),
            Kind::Source => (name(&self.id).to_owned(), decoded()?.trim().to_owned()),
        };
        let title = if title.is_empty() {
            stem(&self.id).to_owned()
        } else {
            title
        };
        Ok(Document {
            id: self.id.clone(),
            title,
            text,
            ..Document::default()
        })
    }
}

impl Records for Note {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        let input = self.input.take()?;
        let document = self.document(input);
        Some(document.map(|document| Found {
            place: Place::File,
            content: Content::Document(document),
        }))
    }
}

/// The file name without folders and compression suffix.
fn name(id: &str) -> &str {
    uncompressed(id.rsplit('/').next().unwrap_or(id))
}

/// The same without extension.
fn stem(id: &str) -> &str {
    let name = name(id);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn extension(id: &str) -> &str {
    uncompressed(id)
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
}

fn uncompressed(name: &str) -> &str {
    [".gz", ".zst", ".Z"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

/// Points at the line with the first bad byte.
fn bad_line(bytes: &[u8], error: std::str::Utf8Error) -> Fault {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let before = &bytes[..error.valid_up_to()];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let number = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
    let line = &bytes[line_start..];
    match std::str::from_utf8(line) {
        Err(in_line) => Fault::line(number, not_utf8(line, in_line)),
        Ok(_) => Fault::line(number, not_utf8(bytes, error)),
    }
}

/// Title and text of Markdown: the title of its front matter, else the first heading, and the rest without the marks.
fn markdown(source: &str) -> (String, String) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let (mut title, mut text) = (Flow::default(), Flow::default());
    let (mut in_title, mut in_metadata, mut in_code) = (false, false, false);
    for event in Parser::new_ext(source, options) {
        let titled = !title.is_empty();
        let flow = if in_title { &mut title } else { &mut text };
        match event {
            Event::Text(block) if in_metadata => {
                if let Some(stated) = front_matter::title(&block).filter(|_| !titled) {
                    title.push(&stated);
                }
            }
            Event::Text(piece) if in_code => flow.push_lines(&piece),
            Event::Text(piece) | Event::Code(piece) => flow.push(&piece),
            Event::Html(markup) | Event::InlineHtml(markup) => {
                // Block tags end words; inline ones hold no text of their own.
                flow.push(&html::page(&markup).text);
            }
            Event::SoftBreak => flow.break_word(),
            Event::HardBreak => flow.break_line(),
            Event::Rule => flow.break_paragraph(),
            Event::Start(Tag::MetadataBlock(_)) => in_metadata = true,
            Event::End(TagEnd::MetadataBlock(_)) => in_metadata = false,
            Event::Start(Tag::Heading { .. }) if !titled => in_title = true,
            Event::End(TagEnd::Heading(_)) => {
                in_title = false;
                text.break_paragraph();
            }
            Event::Start(tag) => {
                in_code |= matches!(tag, Tag::CodeBlock(_));
                flow_break(flow, &tag.to_end());
            }
            Event::End(end) => {
                in_code &= end != TagEnd::CodeBlock;
                flow_break(flow, &end);
            }
            _ => flow.break_word(),
        }
    }
    (title.into_text(), text.into_text())
}

/// What begins or ends with an element: a line, a paragraph, or nothing.
fn flow_break(flow: &mut Flow, end: &TagEnd) {
    match end {
        TagEnd::Emphasis
        | TagEnd::Strong
        | TagEnd::Strikethrough
        | TagEnd::Link
        | TagEnd::Image => {}
        TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead => flow.break_line(),
        TagEnd::TableCell => flow.break_word(),
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
    fn names_stand_in_for_titles() {
        assert_eq!(stem("a/b.c/My note.v2.md"), "My note.v2");
        assert_eq!(stem("x.txt.gz"), "x");
        assert_eq!(extension("a/x.md.zst"), "md");
        assert_eq!(extension("a.b/readme"), "b/readme");
    }

    proptest! {
        #[test]
        fn markdown_takes_anything(source in "(\\PC|#|\n|\\*|`|<|>|\\[|\\]|\\(|\\||-){0,80}") {
            markdown(&source);
        }
    }
}
