//! Word documents: a ZIP archive whose parts are XML. Headings, paragraphs and tables become text; pictures, comments and
//! footnotes are left out.

use std::convert::Infallible;
use std::io::{Cursor, Read};

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use crate::error::ErrorKind;
use crate::flow::Flow;

/// The document, and what is said about it.
const BODY: &str = "word/document.xml";
const PROPERTIES: &str = "docProps/core.xml";

/// Title and text; parts of over `limit` bytes are refused, however small they are packed.
pub(crate) fn read(bytes: &[u8], limit: usize) -> Result<(String, String), ErrorKind> {
    let damaged = |detail: String| ErrorKind::Damaged {
        what: "docx",
        detail,
    };
    let mut archive =
        zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| damaged(error.to_string()))?;
    let mut part = |name: &str| -> Result<String, ErrorKind> {
        let mut bytes = Vec::new();
        let file = archive.by_name(name);
        let file = file.map_err(|error| damaged(format!("{name}: {error}")))?;
        file.take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| damaged(format!("{name}: {error}")))?;
        match bytes.len() > limit {
            true => Err(ErrorKind::TooLong { limit }),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    };
    let body = part(BODY)?;
    // Not every program writes properties.
    let properties = part(PROPERTIES).unwrap_or_default();
    Ok((inside(&properties, b"dc:title"), inside(&body, b"w:t")))
}

/// The text inside of elements of a name, with the paragraphs, tabs and lines of a word processor.
fn inside(xml: &str, name: &[u8]) -> String {
    let mut flow = Flow::default();
    let mut is_inside = false;
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        match event {
            CallbackEvent::OpenStartTag { name: opened } => match opened {
                b"w:tab" => flow.break_word(),
                b"w:br" | b"w:cr" => flow.break_line(),
                opened => is_inside = opened == name,
            },
            CallbackEvent::EndTag { name: closed } => {
                is_inside = false;
                match closed {
                    b"w:p" => flow.break_paragraph(),
                    b"w:tc" => flow.break_word(),
                    _ => {}
                }
            }
            CallbackEvent::String { value } if is_inside => {
                flow.push(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None::<Infallible>
    });
    // XML has no elements whose content is read in another way.
    emitter.naively_switch_states(false);
    let Ok(()) = Tokenizer::new_with_emitter(xml, emitter).finish();
    flow.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn docx(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in parts {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(*name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn sample() -> Vec<u8> {
        docx(&[
            (
                PROPERTIES,
                "<cp:x><dc:title>Owls &amp; mice</dc:title></cp:x>",
            ),
            (
                BODY,
                "<?xml version=\"1.0\"?><w:document><w:body><w:p><w:r><w:t xml:space=\"preserve\">The </w:t></w:r>\
                 <w:r><w:t>owl</w:t><w:tab/><w:t>hunts</w:t></w:r></w:p><w:p/><w:p><w:r><w:instrText>PAGE</w:instrText>\
                 <w:t/></w:r><w:r><w:t>at night &lt;3</w:t></w:r></w:p></w:body></w:document>",
            ),
        ])
    }

    #[test]
    fn paragraphs_and_title() {
        let (title, text) = read(&sample(), 1 << 20).unwrap();
        assert_eq!(title, "Owls & mice");
        assert_eq!(text, "The owl hunts\n\nat night <3");
        assert!(matches!(
            read(&sample(), 40),
            Err(ErrorKind::TooLong { .. })
        ));
        for broken in [&b"no archive"[..], &docx(&[("x", "y")]), &sample()[..80]] {
            assert!(matches!(
                read(broken, 1 << 20),
                Err(ErrorKind::Damaged { .. })
            ));
        }
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_nothing(at in 0usize..700, byte in any::<u8>(), cut in 0usize..700) {
            let mut bytes = sample();
            let length = bytes.len();
            bytes[at % length] = byte;
            let _ = read(&bytes, 1 << 20);
            let _ = read(&bytes[..cut % length], 1 << 20);
        }
    }
}
