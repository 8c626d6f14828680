//! Files that are a document each: plain text, Markdown, HTML, Org, reStructuredText, Word, notebooks, letters, source code.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::charset::{decode_note, decode_page};
use crate::docx;
use crate::eml::letter;
use crate::error::{ErrorKind, Fault, Place};
use crate::html;
use crate::input::Input;
use crate::ipynb::notebook;
use crate::lines::LONGEST;
use crate::markdown::markdown;
use crate::org::org;
use crate::pdf;
use crate::records::{Content, Found, Records};
use crate::restructured::restructured;
use becr_basics::{Document, Folder};
use xxhash_rust::xxh3::xxh3_128;

/// The one document of a file.
pub(crate) struct Note {
    input: Option<Input>,
    id: String,
    path: PathBuf,
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
    /// Its path: another program reads it.
    Pdf,
    Notebook,
    Letter,
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
            "pdf" => Kind::Pdf,
            "ipynb" => Kind::Notebook,
            "eml" => Kind::Letter,
            "" | "txt" | "text" => Kind::Plain,
            _ => Kind::Source,
        };
        Self {
            input: Some(input),
            id,
            path: path.to_owned(),
            kind,
            limit: LONGEST,
        }
    }

    fn found(&self, mut input: Input) -> Result<Found, Fault> {
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
        let mut converted = None;
        let mut decoded = || match decode_note(&bytes) {
            Ok((text, from)) => {
                converted = from;
                Ok(text)
            }
            Err(at) => Err(whole(ErrorKind::NotText {
                byte: bytes.get(at).copied().unwrap_or_default(),
                at,
            })),
        };
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
            Kind::Notebook => notebook(&decoded()?).map_err(whole)?,
            Kind::Letter => letter(&bytes),
            Kind::Pdf => (String::new(), pdf::text(&self.path).map_err(whole)?),
            Kind::Docx => docx::read(&bytes, self.limit).map_err(whole)?,
            Kind::Plain => (String::new(), decoded()?.trim().to_owned()),
            Kind::Source => (name(&self.id).to_owned(), decoded()?.trim().to_owned()),
        };
        let title = if title.is_empty() {
            stem(&self.id).to_owned()
        } else {
            title
        };
        let text = with_path(text, &title, &self.id);
        Ok(Found {
            place: Place::File,
            content: Content::Document(Document {
                id: self.id.clone(),
                title,
                text,
                ..Document::default()
            }),
            converted,
            bytes: (!bytes.trim_ascii().is_empty()).then(|| xxh3_128(&bytes)),
        })
    }
}

impl Records for Note {
    fn next(&mut self) -> Option<Result<Found, Fault>> {
        let input = self.input.take()?;
        Some(self.found(input))
    }
}

/// The text, with the path as its last line where a word of the path is neither in the text nor in the title: who searches for
/// a word of a file's name finds the file.
fn with_path(mut text: String, title: &str, id: &str) -> String {
    let path = uncompressed(id);
    let named = path.strip_suffix(extension(id)).unwrap_or(path);
    let missing = {
        let known: HashSet<String> = words(title).chain(words(&text)).collect();
        words(named).any(|word| !known.contains(&word))
    };
    if missing {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(path);
    }
    text
}

/// Words in lower case, as far as this takes.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
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
    name(id)
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
}

fn uncompressed(name: &str) -> &str {
    [".gz", ".zst", ".Z"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_for_titles() {
        assert_eq!(stem("a/b.c/My note.v2.md"), "My note.v2");
        assert_eq!(stem("x.txt.gz"), "x");
        assert_eq!(extension("a/x.md.zst"), "md");
        assert_eq!(extension("a.b/readme"), "");
    }

    #[test]
    fn words_of_the_path_are_words_of_the_document() {
        for (text, title, id, expected) in [
            ("x", "Owls", "a/barn-owls.md", "x\n\na/barn-owls.md"),
            ("A barn.", "Owls", "a/barn_owls.md.gz", "A barn."),
            ("", "README", "README", ""),
            ("", "", "b.md", "b.md"),
            ("x", "Owls", "md.d/owls.md", "x\n\nmd.d/owls.md"),
        ] {
            assert_eq!(with_path(text.to_owned(), title, id), expected, "{id}");
        }
    }
}
