use becr_corpus::{CorpusOptions, Format};

use crate::{Files, document, gzip, read, read_skipping};

/// Invented records in the manner of the four sub-collections.
const FT: &str = "<DOC>\n<DOCNO>FT911-1</DOCNO>\n<PROFILE>_AN-X</PROFILE>\n<DATE>910514\n</DATE>\n<HEADLINE>\nFT  14 MAY 91 / Mills &amp; co\n</HEADLINE>\n\
    <TEXT>\nGrain prices rose\nby 5 per cent.\n</TEXT>\n<PUB>The Paper</PUB>\n</DOC>\n";
const LATIMES: &str = "<DOC>\n<DOCNO> LA010189-0001 </DOCNO>\n<DOCID> 1 </DOCID>\n<HEADLINE>\n<P>\nOWLS RETURN; \n</P>\n<P>\nTO THE PIER\n</P>\n</HEADLINE>\n\
    <BYLINE>\n<P>\nBy A. Writer\n</P>\n</BYLINE>\n<TEXT>\n<P>\nOwls<P>nest.\n</P>\n</TEXT>\n</DOC>\n";
const FBIS: &str = "<DOC>\n<DOCNO> FBIS3-1 </DOCNO>\n<HT>  \"cr1\" </HT>\n<HEADER>\n<DATE1>  1 March 1994 </DATE1>\n\
    <H3> <TI>      Talks on Water </TI></H3>\n</HEADER>\n<TEXT>\nLanguage: <F P=105> English </F>\n  [Text] x < y and y > z. <H3>Kept</H3>\n</TEXT>\n</DOC>\n";
const FR94: &str = "<DOC>\n<DOCNO> FR940104-0-00001 </DOCNO>\n<PARENT> FR940104-0-00001 </PARENT>\n<TEXT>\n \n<!-- PJG FTAG 4700 -->\n\n<!-- PJG STAG 4700 <x> -->\n\
    <USDEPT>Department of Mills</USDEPT>\n<DOCTITLE>Rules for&blank;Grain; Part&hyph;Time</DOCTITLE>\nSee &sect; 1 of 7 CFR. It costs 3&cent;.\n</TEXT>\n</DOC>\n";

#[test]
fn the_four_styles_of_disks_4_and_5() {
    let outcome = read("trec", [FT, LATIMES, FBIS, FR94].concat().as_bytes());
    assert_eq!(outcome.error, None);
    assert_eq!(
        outcome.documents,
        [
            document(
                "FT911-1",
                "FT 14 MAY 91 / Mills & co",
                "Grain prices rose by 5 per cent."
            ),
            document("LA010189-0001", "OWLS RETURN; TO THE PIER", "Owls nest."),
            document(
                "FBIS3-1",
                "Talks on Water",
                "Language: English [Text] x < y and y > z. Kept"
            ),
            document(
                "FR940104-0-00001",
                "Rules for Grain; Part-Time",
                "Department of Mills See § 1 of 7 CFR. It costs 3¢."
            ),
        ]
    );
}

#[test]
fn latin_1_bytes_and_lower_case_tags_and_one_line_records() {
    let outcome = read("x.sgml", b"<doc><docno>1</docno><text>caf\xe9 \x93q\x94</text></doc><DOC><DOCNO>2</DOCNO><TEXT>b</TEXT></DOC>");
    assert_eq!(
        outcome.documents,
        [document("1", "", "café “q”"), document("2", "", "b")]
    );
}

#[test]
fn bad_records() {
    for (bad, message) in [
        (
            "<DOC>\n<TEXT>no id</TEXT>\n</DOC>\n",
            ":9: missing id: expected <DOCNO> in the <DOC> record",
        ),
        (
            "<DOC>\n<DOCNO>U</DOCNO>\n<TEXT>x\n",
            ":9: expected </DOC> before the next <DOC>, found an unclosed record",
        ),
        (FT, ":9: duplicate id \"FT911-1\""),
    ] {
        let short = "<DOC>\n<DOCNO>FT911-1</DOCNO>\n<TEXT>\na\n</TEXT>\n\n\n</DOC>\n";
        let content = format!("{short}{bad}{LATIMES}");
        let stopped = read("trec", content.as_bytes());
        assert!(
            stopped.error().starts_with(&format!("trec{message}")),
            "{}",
            stopped.error()
        );
        let skipped = read_skipping("trec", content.as_bytes());
        assert_eq!(skipped.ids(), ["FT911-1", "LA010189-0001"]);
        assert_eq!(skipped.report.total_faults(), 1);
    }
    let cut = format!("{FT}<DOC>\n<DOCNO>C</DOCNO>\n<TEXT>cut");
    assert!(
        read("trec", cut.as_bytes())
            .error()
            .contains("truncated: the file ends inside a <DOC> record")
    );
    assert_eq!(read_skipping("trec", cut.as_bytes()).ids(), ["FT911-1"]);
}

#[test]
fn a_folder_of_trec_files_is_told_by_content() {
    let la = gzip(LATIMES.as_bytes());
    let files = Files::new(&[
        ("disk/ft/ft911_1", FT.as_bytes()),
        ("disk/la/la010189", la.as_slice()),
        ("disk/fbis/fb396001", FBIS.as_bytes()),
        ("disk/readme.txt", b"About the disk"),
        ("disk/ft.dtd", b"<!ELEMENT x>"),
    ]);
    for format in [None, Some(Format::TrecSgml)] {
        let outcome = files.read(
            &["disk"],
            &CorpusOptions {
                format,
                ..CorpusOptions::default()
            },
        );
        assert_eq!(outcome.error, None);
        // Each file by its own kind: where the format is named, a text beside the collection is no document.
        let (notes, left_out) = match format {
            None => (&["readme.txt"][..], 1),
            Some(_) => (&[][..], 2),
        };
        let expected = [&["FBIS3-1", "FT911-1", "LA010189-0001"][..], notes].concat();
        assert_eq!(outcome.ids(), expected);
        assert_eq!(
            outcome.report.left_out["file of another kind in a folder"],
            left_out
        );
    }
}

#[test]
fn what_is_no_sgml_says_so() {
    let options = CorpusOptions {
        format: Some(Format::TrecSgml),
        ..CorpusOptions::default()
    };
    let outcome = Files::new(&[("x", b"\nhello\nthere\n")]).read(&["x"], &options);
    assert_eq!(
        outcome.error(),
        "x:1: expected <DOC> records, found \"hello\""
    );
    assert_eq!(
        Files::new(&[("x", b" \n")]).read(&["x"], &options).error,
        None
    );
}
