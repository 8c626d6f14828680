//! Org, reStructuredText, Word, TREC SGML and WARC.

use std::io::{Cursor, Write};

use super::markup::body;
use super::{Case, Maker};

pub(super) fn warc(maker: &mut Maker) -> Case {
    let page = body(maker);
    // A page without a word is left out.
    let (word, unseen) = (maker.word(), maker.unseen());
    let body = format!(
        "HTTP/1.1 200 OK\r\nServer: {unseen}\r\n\r\n<p>{word}<p>{}",
        page.source
    );
    let length = body.len();
    Case {
        source: format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-TREC-ID: {unseen}\r\nContent-Length: {length}\r\n\r\n{body}\r\n\r\n"
        )
        .into_bytes(),
        seen: format!("{word} {}", page.seen),
        ..Case::default()
    }
}

pub(super) fn trec(maker: &mut Maker) -> Case {
    let (mut source, mut seen) = (String::new(), String::new());
    for id in 0..1 + maker.below(3) {
        let no = maker.unseen();
        source.push_str(&format!(
            "<DOC>\n<DOCNO> {id} </DOCNO>\n<PROFILE>{no}</PROFILE>\n"
        ));
        let title = maker.word();
        let tag = maker.one(&["HEADLINE", "TI", "HL", "TITLE"]);
        source.push_str(&format!("<{tag}>{title}</{tag}>\n<TEXT>\n"));
        seen.push_str(&format!("{title} "));
        for _ in 0..maker.below(6) {
            let (a, b) = (maker.word(), maker.word());
            match maker.below(5) {
                0 => {
                    source.push_str(&format!("<P>{a}</P><P>\n{b}</P>"));
                    seen.push_str(&format!(" {a} {b} "));
                }
                1 => {
                    let tag = maker.one(&["b", "I", "em", "SUP"]);
                    source.push_str(&format!("{a}<{tag}>{b}</{tag}>\n"));
                    seen.push_str(&format!("{a}{b} "));
                }
                2 => {
                    let no = maker.unseen();
                    source.push_str(&format!("{a} <!-- {no} -->\n{b}\n"));
                    seen.push_str(&format!("{a} {b} "));
                }
                3 => {
                    source.push_str(&format!("{a}&amp;{b}&blank;"));
                    seen.push_str(&format!("{a} {b} "));
                }
                _ => {
                    source.push_str(&format!("<TABLE><ROW>{a}<CELL>{b}</TABLE>"));
                    seen.push_str(&format!(" {a} {b} "));
                }
            }
        }
        source.push_str("</TEXT>\n</DOC>\n");
    }
    Case {
        source: source.into_bytes(),
        seen,
        ..Case::default()
    }
}

pub(super) fn org(maker: &mut Maker) -> Case {
    let (mut source, mut seen) = (String::new(), String::new());
    for _ in 0..1 + maker.below(8) {
        let (a, b) = (maker.word(), maker.word());
        seen.push_str(&format!(" {a} {b} "));
        source.push_str(&match maker.below(12) {
            0 => format!("* {a}\n** {b}\n"),
            1 => format!("#+TITLE: {a}\n{b}\n"),
            2 => format!("#+begin_src\n# {a}\n:LOGBOOK:\n* {b}\n#+end_src\n"),
            3 => format!(":NOTES:\n{a}\n:END:\n{b}\n"),
            4 => format!("| {a} | {b} |\n|---+---|\n"),
            5 => format!("#+CAPTION: {a}\n[[x:y][{b}]]\n"),
            6 => format!("- {a}\n  * {b}\n"),
            7 => {
                let no = maker.unseen();
                format!("{a}\n# {no}\n{b}\n#+PROPERTY: {no}\n")
            }
            8 => {
                let no = maker.unseen();
                format!("{a}\n:PROPERTIES:\n:X: {no}\n:END:\n{b}\n")
            }
            9 => {
                let no = maker.unseen();
                format!("{a}\n#+begin_comment\n{no}\n#+end_comment\n{b}\n")
            }
            // A drawer without an end is none.
            10 => format!("{a}\n:LOGBOOK:\n{b}\n* {a}\n"),
            _ => format!("{a} /{b}/ *{a}*\n"),
        });
        if maker.below(2) == 0 {
            source.push('\n');
        }
    }
    Case {
        source: source.into_bytes(),
        seen,
        ..Case::default()
    }
}

pub(super) fn restructured(maker: &mut Maker) -> Case {
    let (mut source, mut seen) = (String::new(), String::new());
    for _ in 0..1 + maker.below(8) {
        let (a, b) = (maker.word(), maker.word());
        seen.push_str(&format!(" {a} {b} "));
        source.push_str(&match maker.below(8) {
            0 => format!("{a}\n=====\n\n{b}\n"),
            1 => format!("{a}::\n\n   .. {b}\n   ----\n"),
            2 => format!("- {a}\n- ``{b}``\n"),
            3 => {
                let no = maker.unseen();
                format!("{a}\n\n.. {no}\n   {no}\n\n     {no}\n\n{b}\n")
            }
            4 => {
                let no = maker.unseen();
                format!("{a}\n\n..\n   {no}\n\n{b}\n")
            }
            5 => format!(".. note:: {a}\n\n   {b}\n"),
            6 => format!(".. code-block:: text\n\n   .. {a}\n\n..\n\n   {b}\n"),
            _ => format!("+---+\n| {a} |\n+---+\n\n{b}\n"),
        });
        source.push('\n');
    }
    Case {
        source: source.into_bytes(),
        seen,
        ..Case::default()
    }
}

/// A paragraph of a Word document.
fn paragraph(maker: &mut Maker, seen: &mut String, depth: usize) -> String {
    let mut xml = String::from("<w:p><w:pPr><w:pStyle w:val=\"no\"/></w:pPr>");
    seen.push(' ');
    for _ in 0..maker.below(5) {
        let (word, no) = (maker.word(), maker.unseen());
        let text = format!("<w:t xml:space=\"preserve\">{word}</w:t>");
        match maker.below(8) {
            0 => {
                xml.push_str(&format!(
                    "<w:r><w:rPr><w:vanish/></w:rPr><w:t>{no}</w:t></w:r>"
                ));
                continue;
            }
            1 => {
                xml.push_str(&format!(
                    "<w:del><w:r><w:delText>{no}</w:delText></w:r></w:del>"
                ));
                continue;
            }
            2 => {
                xml.push_str(&format!(
                    "<w:r><w:instrText> PAGE {no} </w:instrText></w:r>"
                ));
                continue;
            }
            3 if depth > 0 => {
                let inner = paragraph(maker, seen, depth - 1);
                let same = format!("<w:p><w:r><w:t>{no}</w:t></w:r></w:p>");
                xml.push_str(&format!(
                    "<w:r><mc:AlternateContent><mc:Choice>{inner}</mc:Choice><mc:Fallback>{same}</mc:Fallback></mc:AlternateContent></w:r>"
                ));
                continue;
            }
            4 => {
                xml.push_str(&format!("<w:r><w:tab/>{text}<w:br/></w:r>"));
                seen.push_str(&format!(" {word} "));
                continue;
            }
            5 => xml.push_str(&format!(
                "<w:hyperlink r:id=\"no\"><w:r>{text}</w:r></w:hyperlink>"
            )),
            _ => xml.push_str(&format!("<w:r><w:rPr><w:b/></w:rPr>{text}</w:r>")),
        }
        seen.push_str(&word);
    }
    seen.push(' ');
    xml + "</w:p>"
}

pub(super) fn docx(maker: &mut Maker) -> Case {
    let (mut body, mut seen) = (String::from("<w:body>"), String::new());
    for _ in 0..1 + maker.below(4) {
        match maker.below(3) {
            0 => {
                let (a, b) = (
                    paragraph(maker, &mut seen, 1),
                    paragraph(maker, &mut seen, 1),
                );
                body.push_str(&format!(
                    "<w:tbl><w:tr><w:tc>{a}</w:tc><w:tc>{b}</w:tc></w:tr></w:tbl>"
                ));
            }
            _ => body.push_str(&paragraph(maker, &mut seen, 1)),
        }
    }
    let (title, note, comment) = (maker.word(), maker.word(), maker.unseen());
    seen.push_str(&format!(" {title} {note}"));
    let run = |word: &str| format!("<w:p><w:r><w:t>{word}</w:t></w:r></w:p>");
    let parts = [
        ("word/document.xml", body + "</w:body>"),
        (
            "docProps/core.xml",
            format!("<cp:x><dc:title>{title}</dc:title></cp:x>"),
        ),
        ("word/footnotes.xml", run(&note)),
        ("word/comments.xml", run(&comment)),
    ];
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, xml) in parts {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(name, options).unwrap();
        archive.write_all(xml.as_bytes()).unwrap();
    }
    Case {
        source: archive.finish().unwrap().into_inner(),
        seen,
        ..Case::default()
    }
}
