//! The worked example of `docs/ranking.md`: its tables are computed from the built-in sample by the formulas of that page,
//! compared with what it says, and their last column with what the program ranks.
//!
//! Where the default head changes, this writes the tables anew:
//!
//! ```text
//! BECR_WRITE_DOCS=1 cargo test --release -p becr --test ranking
//! ```
#![cfg(feature = "bundled")]

use becr::corpus::{Corpus, CorpusOptions};
use becr::{
    Build, Document, ExplainOptions, ExplainedDocument, FindBy, Index, QueryMode, SearchOptions,
};
use becr_text::lexical::Analyzer;
use becr_text::words::words;
use std::fmt::Write;

const QUERY: &str = "slow wifi upstairs";
const DEPTH: usize = 6;
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ranking.md");
const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../becr-cli/sample/corpus.jsonl"
);

/// What the sums of a candidate are made of, by the formulas of the page.
struct Row {
    id: String,
    bm25: f64,
    first: f64,
    log_sums: Vec<f64>,
    cosine: f64,
    words: f64,
    vector: f64,
    x: f64,
    deep: f64,
    choice: f64,
    likeness: f64,
    like: f64,
    score: f64,
}

#[test]
fn the_page_says_what_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let documents = sample();
    let build = Build::new().mode(QueryMode::Encoded);
    let path = folder.path().join("sample.becr");
    let (index, _) = build.run(path, documents.clone(), &()).unwrap();
    let head = index.ranker().unwrap().head().clone();

    let options = SearchOptions {
        k: DEPTH,
        depth: DEPTH,
        find_by: FindBy::Words,
        ..SearchOptions::default()
    };
    let found = index.search(QUERY, &options).unwrap().results;
    let mut by_first_stage: Vec<_> = found.iter().collect();
    by_first_stage.sort_by_key(|result| result.first_stage_rank);
    let ids: Vec<&str> = by_first_stage.iter().map(|one| one.id.as_str()).collect();
    let bm25: Vec<f64> = (by_first_stage.iter())
        .map(|one| f64::from(one.first_stage_score))
        .collect();
    let (explained, omegas) = explained(&index, &ids);

    let idf: Vec<(usize, f64)> = words(QUERY).map(|w| idf(&documents, &w.text)).collect();
    let total: f64 = idf.iter().map(|(_, idf)| idf).sum();
    let mut words_table = "| word | df | idf | ω |\n|---|---|---|---|\n".to_owned();
    for ((word, (df, idf)), omega) in words(QUERY).zip(&idf).zip(&omegas) {
        assert!((idf / total - omega).abs() < 1e-5, "{}", word.text);
        writeln!(
            words_table,
            "| {} | {df} | {idf:.3} | {omega:.3} |",
            word.text
        )
        .unwrap();
    }

    let rows = worked(&head, &ids, &bm25, &explained, &omegas);
    for row in &rows {
        let ranked = found.iter().find(|result| result.id == row.id).unwrap();
        let error = (row.score - f64::from(ranked.score)).abs();
        assert!(error < 1e-4, "{}: {} {}", row.id, row.score, ranked.score);
    }
    let documents = format!("N = {}.", documents.len());
    check(
        &documents,
        &[
            ("words", words_table),
            ("list", list_table(&rows)),
            ("deep", deep_table(&rows)),
            ("score", score_table(&rows)),
        ],
    );
}

fn sample() -> Vec<Document> {
    let corpus = Corpus::open(&[SAMPLE], &CorpusOptions::default()).unwrap();
    let document = |read: Result<becr::corpus::Document, _>| {
        let read = read.unwrap();
        Document::new(read.id, read.title, read.text)
    };
    corpus.map(document).collect()
}

/// In how many bodies the word's stem is, and its idf.
fn idf(documents: &[Document], word: &str) -> (usize, f64) {
    let analyzer = Analyzer::default();
    let stem = analyzer.stem(word);
    let has =
        |document: &&Document| words(&document.text).any(|word| analyzer.stem(&word.text) == stem);
    let (n, df) = (documents.len() as f64, documents.iter().filter(has).count());
    let rare = (n - df as f64 + 0.5) / (df as f64 + 0.5);
    (df, (1.0 + rare).ln())
}

/// The candidates taken apart, and ω of the query's words.
fn explained(index: &Index, ids: &[&str]) -> (Vec<ExplainedDocument>, Vec<f64>) {
    let options = ExplainOptions {
        depth: DEPTH,
        find_by: FindBy::Words,
        ..ExplainOptions::default()
    };
    let answer = index.explain(QUERY, ids, &options).unwrap();
    let omegas = answer.terms.iter().map(|term| f64::from(term.weight));
    let omegas = omegas.collect();
    (answer.documents, omegas)
}

/// The formulas of the page, in its order.
fn worked(
    head: &becr::Head,
    ids: &[&str],
    bm25: &[f64],
    explained: &[ExplainedDocument],
    omegas: &[f64],
) -> Vec<Row> {
    let (lowest, highest) = (
        bm25.iter().copied().fold(f64::INFINITY, f64::min),
        bm25.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    let alpha = f64::from(head.deep.alpha[0][0]);
    let feature = head.deep.document_vector.as_ref().unwrap();
    let (scale, feedback) = (head.deep.scale.unwrap(), head.feedback.unwrap());
    assert_eq!((scale.weight, feature.weight), (1.0, 1.0));
    let row = |(place, one): (usize, &ExplainedDocument)| {
        let why = &one.explanation;
        let log_sums: Vec<f64> = (why.terms.iter())
            .map(|term| f64::from(term.cells[0][0].log_sum))
            .collect();
        let cosine = f64::from(why.document_vector.as_ref().unwrap().value.unwrap());
        let weighted = omegas.iter().zip(&log_sums);
        let words: f64 = weighted.map(|(omega, sum)| omega * alpha * sum).sum();
        let vector = (cosine - f64::from(feature.mean)) / f64::from(feature.deviation);
        Row {
            id: ids[place].to_owned(),
            bm25: bm25[place],
            first: (bm25[place] - lowest) / (highest - lowest),
            log_sums,
            cosine,
            words,
            vector,
            x: words + vector,
            deep: 0.0,
            choice: 0.0,
            likeness: f64::from(why.feedback.as_ref().unwrap().value.unwrap()),
            like: 0.0,
            score: 0.0,
        }
    };
    let mut rows: Vec<Row> = explained.iter().enumerate().map(row).collect();
    let deep = z(&rows, |row| row.x);
    let cosines = z(&rows, |row| row.cosine);
    let likenesses = z(&rows, |row| row.likeness);
    for (at, row) in rows.iter_mut().enumerate() {
        row.deep = deep[at];
        row.choice = row.first + f64::from(feedback.vector) * cosines[at];
        row.like = likenesses[at];
        row.score = row.first + row.deep + f64::from(feedback.weight) * row.like;
    }
    rows
}

/// Mean and deviation of a column.
fn spread(rows: &[Row], of: impl Fn(&Row) -> f64) -> (f64, f64) {
    let count = rows.len() as f64;
    let mean = rows.iter().map(&of).sum::<f64>() / count;
    let squares: f64 = rows.iter().map(|row| (of(row) - mean).powi(2)).sum();
    (mean, (squares / count).sqrt())
}

fn z(rows: &[Row], of: impl Fn(&Row) -> f64) -> Vec<f64> {
    let (mean, deviation) = spread(rows, &of);
    rows.iter()
        .map(|row| (of(row) - mean) / deviation)
        .collect()
}

fn list_table(rows: &[Row]) -> String {
    let mut table = "| candidate | BM25 | first |".to_owned();
    words(QUERY).for_each(|word| write!(table, " L({}) |", word.text).unwrap());
    table += " cos |\n|---|---|---|---|---|---|---|\n";
    for row in rows {
        write!(table, "| {} | {:.3} | {:.3} |", row.id, row.bm25, row.first).unwrap();
        let sums = row.log_sums.iter();
        sums.for_each(|sum| write!(table, " {sum:.3} |").unwrap());
        writeln!(table, " {:.3} |", row.cosine).unwrap();
    }
    table
}

fn deep_table(rows: &[Row]) -> String {
    let mut table =
        "| candidate | Σ ω·0.198·L | (cos − 0.2893) / 0.1592 | x | deep |\n|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let Row {
            id,
            words,
            vector,
            x,
            deep,
            ..
        } = row;
        writeln!(
            table,
            "| {id} | {words:.3} | {vector:.3} | {x:.3} | {deep:.3} |"
        )
        .unwrap();
    }
    let (mean, deviation) = spread(rows, |row| row.x);
    writeln!(
        table,
        "\nThe mean of x is {mean:.3}, its deviation {deviation:.3}."
    )
    .unwrap();
    table
}

fn score_table(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut table = "| candidate | first + 0.8·z(cos) | mean cosine to the best others | like | first + deep + 0.2·like = S |\n\
                     |---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        writeln!(
            table,
            "| {} | {:.3} | {:.3} | {:.3} | {:.3} + {:.3} + {:.3} = **{:.3}** |",
            row.id,
            row.choice,
            row.likeness,
            row.like,
            row.first,
            row.deep,
            0.2 * row.like,
            row.score
        )
        .unwrap();
    }
    table
}

/// Compares the page's tables with these, or replaces them if that is asked for.
fn check(documents: &str, tables: &[(&str, String)]) {
    let page = std::fs::read_to_string(PAGE).expect("docs/ranking.md is there");
    let mut written = page.clone();
    let start = written
        .find("N = ")
        .expect("the page says how many documents there are");
    let end = start + written[start..].find('.').expect("a sentence ends");
    written.replace_range(start..=end, documents);
    for (name, table) in tables {
        let mark = format!("<!-- computed: {name} -->\n");
        let start = written.find(&mark).expect("the page has the table's mark") + mark.len();
        let end = start
            + written[start..]
                .find("<!-- end -->")
                .expect("the table ends");
        written.replace_range(start..end, &format!("\n{table}\n"));
    }
    if std::env::var_os("BECR_WRITE_DOCS").is_some() {
        std::fs::write(PAGE, &written).unwrap();
        return;
    }
    for (said, computed) in page.lines().zip(written.lines()) {
        assert!(
            is_same(said, computed),
            "docs/ranking.md says\n  {said}\nand computed is\n  {computed}\n(BECR_WRITE_DOCS=1 writes it anew)"
        );
    }
    assert_eq!(page.lines().count(), written.lines().count());
}

/// Word by word; numbers may differ by two units of their last digit, which processors round differently.
fn is_same(a: &str, b: &str) -> bool {
    let bare = |word: &str| {
        word.trim_matches('*')
            .trim_end_matches([',', '.'])
            .parse::<f64>()
    };
    let (mut left, mut right) = (a.split(' '), b.split(' '));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) => match (bare(a), bare(b)) {
                (Ok(x), Ok(y)) if (x - y).abs() < 2.5e-3 => {}
                _ if a == b => {}
                _ => return false,
            },
            _ => return false,
        }
    }
}

#[test]
fn a_wrong_number_is_seen() {
    assert!(is_same(
        "| a | 1.234 | **2.000** |",
        "| a | 1.235 | **2.001** |"
    ));
    assert!(!is_same("| a | 1.234 |", "| a | 1.244 |"));
    assert!(!is_same("| a | 1.234 |", "| b | 1.234 |"));
    assert!(!is_same("| a | 1.234 |", "| a | 1.234 | 2 |"));
    assert!(!is_same("df 7", "df 8"));
}
