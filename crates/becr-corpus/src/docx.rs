//! Word documents: a ZIP archive whose parts are XML. Headings, paragraphs, tables, text boxes, formulas and notes become text;
//! pictures, comments, deleted and hidden text are left out, and so are headers and footers, which every page repeats.

use std::convert::Infallible;
use std::io::{Cursor, Read};

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use crate::error::ErrorKind;
use crate::flow::Flow;

/// The document, and what is said about it.
const BODY: &str = "word/document.xml";
const PROPERTIES: &str = "docProps/core.xml";
/// Notes at the foot of pages and at the end.
const NOTES: [&str; 2] = ["word/footnotes.xml", "word/endnotes.xml"];

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
    let mut text = Flow::default();
    add_inside(&mut text, &body, &SEEN);
    for notes in NOTES {
        // Most documents have none.
        if let Ok(notes) = part(notes) {
            text.break_paragraph();
            add_inside(&mut text, &notes, &SEEN);
        }
    }
    let mut title = Flow::default();
    add_inside(&mut title, &properties, &[b"dc:title"]);
    Ok((title.into_text(), text.into_text()))
}

/// Elements that hold text: of runs, and of formulas.
const SEEN: [&[u8]; 2] = [b"w:t", b"m:t"];

/// Adds the text inside of elements of some names, with the paragraphs, tabs and lines of a word processor.
fn add_inside(flow: &mut Flow, xml: &str, names: &[&[u8]]) {
    let (mut is_inside, mut is_hidden, mut in_hiding) = (false, false, false);
    // What older programs show in place of a drawing: the same text once more.
    let mut in_fallback = false;
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
        match event {
            CallbackEvent::OpenStartTag { name: opened } => {
                is_inside = names.contains(&opened);
                in_hiding = opened == b"w:vanish";
                match opened {
                    b"w:tab" => flow.break_word(),
                    b"w:br" | b"w:cr" => flow.break_line(),
                    // A text box stands in the middle of a run.
                    b"w:p" | b"m:omathpara" => flow.break_paragraph(),
                    b"w:tc" => flow.break_word(),
                    b"w:nobreakhyphen" => flow.push("-"),
                    b"w:r" => is_hidden = false,
                    b"w:vanish" => is_hidden = true,
                    b"mc:fallback" => in_fallback = true,
                    _ => {}
                }
            }
            CallbackEvent::AttributeValue { value } if in_hiding => {
                is_hidden = !matches!(value, b"0" | b"false" | b"off");
            }
            CallbackEvent::CloseStartTag { self_closing: true } => is_inside = false,
            CallbackEvent::EndTag { name: closed } => {
                is_inside = false;
                match closed {
                    b"w:p" => flow.break_paragraph(),
                    b"w:tc" => flow.break_word(),
                    b"w:r" => is_hidden = false,
                    b"mc:fallback" => in_fallback = false,
                    _ => {}
                }
            }
            CallbackEvent::String { value } if is_inside && !is_hidden && !in_fallback => {
                flow.push(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None::<Infallible>
    });
    // XML has no elements whose content is read in another way.
    emitter.naively_switch_states(false);
    let Ok(()) = Tokenizer::new_with_emitter(xml, emitter).finish();
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

    #[test]
    fn what_is_seen_and_what_is_not() {
        let body = "<w:p><w:r><w:t>un</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>no</w:t></w:r><w:r><w:rPr>\
                    <w:vanish w:val=\"0\"/></w:rPr><w:t>broken</w:t><w:noBreakHyphen/><w:delText>no</w:delText></w:r>\
                    <w:r><mc:AlternateContent><mc:Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></mc:Choice>\
                    <mc:Fallback><w:p><w:r><w:t>no</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:r>\
                    <m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></w:p>";
        let note = "<w:footnote><w:p><w:r><w:t>note</w:t></w:r></w:p></w:footnote>";
        let bytes = docx(&[(BODY, body), (NOTES[0], note), ("word/comments.xml", body)]);
        let (_, text) = read(&bytes, 1 << 20).unwrap();
        assert_eq!(text, "unbroken-\n\nbox\n\nx\n\nnote");
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
