//! `becr explain`: sums that hold, and text that is shown and not taken for anything else.

use crate::becr;
use crate::full::{index, run};
use crate::ranked::{head, json, ranked};
use serde_json::Value;
use std::fs;

fn sum(rows: &Value) -> f64 {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["contribution"].as_f64().unwrap()).sum()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(1.0)
}

#[test]
fn the_parts_add_up_to_the_score_of_the_search() {
    let folder = ranked();
    let search = ["search", "index", "river bank loan", "--json"];
    let found = json(&run(folder.path(), &search).stdout);
    for result in found["results"].as_array().unwrap() {
        let id = result["id"].as_str().unwrap();
        let arguments = ["explain", "index", "river bank loan", id, "--json"];
        let report = json(&run(folder.path(), &arguments).stdout);
        let document = &report["documents"][0];
        let explanation = &document["explanation"];
        let score = explanation["score"].as_f64().unwrap();
        assert!(close(score, result["score"].as_f64().unwrap()), "{id}");
        assert_eq!(document["rank"], result["rank"], "{id}");
        assert_eq!(document["first_stage_rank"], result["first_stage_rank"]);
        let part = |name: &str| explanation[name].as_f64().unwrap();
        assert!(close(score, part("deep") + part("lexi") + part("others")));
        let vector = explanation["document_vector"]["contribution"].as_f64();
        let deep = sum(&explanation["terms"]) + vector.unwrap();
        assert!(close(part("deep"), deep), "{id}");
        assert!(close(part("lexi"), sum(&explanation["lexical"])), "{id}");
        assert!(close(part("others"), sum(&explanation["features"])), "{id}");
        let term = &explanation["terms"][0];
        let cells: f64 = term["cells"].as_array().unwrap().iter().map(sum).sum();
        assert!(close(term["contribution"].as_f64().unwrap(), cells));
    }
}

#[test]
fn the_difference_of_two_documents_adds_up() {
    let folder = ranked();
    let arguments = ["explain", "index", "river bank loan", "d3", "d17"];
    let report = json(&run(folder.path(), &[&arguments[..], &["--json"]].concat()).stdout);
    let score = |at: usize| {
        report["documents"][at]["explanation"]["score"]
            .as_f64()
            .unwrap()
    };
    let difference = report["difference"]["score"].as_f64().unwrap();
    assert!(close(difference, score(0) - score(1)));
    assert!(close(difference, sum(&report["difference"]["rows"])));
    let words: Vec<&str> = report["difference"]["words"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["word"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["river", "bank", "loan"]);
    let text = run(folder.path(), &[&arguments[..], &["--kernels"]].concat()).stdout;
    for expected in [
        "query  river bank loan",
        "S_deep by layer and kernel",
        "\"bank\" by layer and kernel",
        "part    ",
        "S_others",
        "nearest to \"river\": ",
        "first_stage",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours in a file");
    // Without --all the few largest reasons lead, largest first, and add up with the rest.
    let short = run(folder.path(), &arguments).stdout;
    for expected in [
        "words close to \"bank\"",
        "] scores ",
        "by word of the query",
        "than [d17]",
        "--all shows them",
    ] {
        assert!(short.contains(expected), "{expected}: {short}");
    }
    assert!(
        !short.contains("S_deep") && !short.contains("body_bm25"),
        "{short}"
    );
    let lead = short.lines().skip(2).take_while(|line| !line.is_empty());
    let values: Vec<f64> = lead
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    let (rest, told) = values.split_last().unwrap();
    assert!(told.is_sorted_by(|a, b| a.abs() >= b.abs()), "{short}");
    assert!(
        (told.iter().sum::<f64>() + rest - score(0)).abs() < 0.01,
        "{short}"
    );
}

#[test]
fn a_page_needs_nothing_else_and_escapes_what_it_shows() {
    let folder = ranked();
    let documents = "{\"id\": \"<x>\", \"title\": \"<script>alert(1)</script> river\", \
                     \"text\": \"river & bank \\\"quoted\\\" <img src=x> loan\"}\n\
                     {\"id\": \"y\", \"text\": \"money of the bank\"}\n";
    fs::write(folder.path().join("odd.jsonl"), documents).unwrap();
    index(folder.path(), "odd.jsonl", "odd", &[]);
    let query = "river <b>bank</b>";
    let arguments = ["explain", "odd", query, "<x>", "y", "--html", "why.html"];
    let outcome = run(folder.path(), &arguments);
    assert!(outcome.stderr.contains("why.html"), "{}", outcome.stderr);
    let page = fs::read_to_string(folder.path().join("why.html")).unwrap();
    for forbidden in [
        "<script>alert",
        "<img",
        "http:",
        "https:",
        "src=\"",
        "url(",
        "<b>bank",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for expected in [
        "&lt;",
        "&amp;",
        "prefers-color-scheme",
        "data-s=",
        "What makes &lt;x&gt; differ from y",
        "class=\"bar up\"",
        "smaller reasons",
        "words close to &quot;river&quot;",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn one_term_can_be_looked_at() {
    let folder = ranked();
    let explain = |term: &str| {
        let arguments = ["explain", "index", "River bank", "d3", "--term", term];
        becr(folder.path(), &arguments)
    };
    let outcome = explain("BANK");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let marked = "stand out by their similarity to \"bank\"\n";
    assert!(outcome.stdout.contains(marked), "{}", outcome.stdout);
    let outcome = explain("zebra");
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("its terms are river, bank"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn documents_that_are_odd() {
    let folder = ranked();
    let unknown = becr(folder.path(), &["explain", "index", "river", "nobody"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("no document \"nobody\""),
        "{}",
        unknown.stderr
    );
    // No document has the word: none is a candidate, every one can still be explained.
    let arguments = ["explain", "index", "unheard", "d3", "--json"];
    let report = json(&run(folder.path(), &arguments).stdout);
    assert_eq!(report["documents"][0]["rank"], Value::Null);
    for query in ["", "..."] {
        let text = run(folder.path(), &["explain", "index", query, "d3"]).stdout;
        assert!(text.contains("knows no word of the query"), "{text}");
    }
    index(folder.path(), "all.jsonl", "bare", &["--no-text"]);
    let text = run(folder.path(), &["explain", "bare", "river", "d3"]).stdout;
    assert!(text.contains("the index keeps no texts"), "{text}");
    // A head of another encoder is refused here too.
    let mut other = head(&folder.path().join("model"));
    other.encoder_id = "none".into();
    other.write(&folder.path().join("other.json")).unwrap();
    let arguments = ["explain", "index", "river", "d3", "--head", "other.json"];
    assert_eq!(becr(folder.path(), &arguments).code, Some(1));
}

#[test]
fn a_long_text_fits_a_screen() {
    let folder = ranked();
    let filler = "money of the loan\n".repeat(500);
    let text = format!("{filler}spring water quay\n{filler}");
    let document = serde_json::json!({"id": "long", "title": "Long", "text": text});
    fs::write(folder.path().join("long.jsonl"), format!("{document}\n")).unwrap();
    index(folder.path(), "long.jsonl", "long", &[]);
    let arguments = ["explain", "long", "quay", "long"];
    let short = run(folder.path(), &arguments).stdout;
    assert!(short.lines().count() < 40, "{short}");
    assert!(short.contains("words; --whole shows"), "{short}");
    let whole = run(folder.path(), &[&arguments[..], &["--whole"]].concat()).stdout;
    assert!(whole.lines().count() > 1000);
}

#[test]
fn nothing_is_composed_in_a_query_that_is_encoded() {
    let folder = ranked();
    let explain = |more: &[&str]| {
        let arguments = ["explain", "index", "river bank", "d3"];
        run(folder.path(), &[&arguments[..], more].concat()).stdout
    };
    let encoded = explain(&["--all", "--mode", "encoded"]);
    assert!(
        !encoded.contains("made of") && !encoded.contains("composed"),
        "{encoded}"
    );
    assert!(
        encoded.contains("meaning (S_deep)")
            && encoded.contains("what the text as a whole is about")
    );
    assert!(explain(&["--all", "--mode", "composed"]).contains("made of"));
    explain(&["--mode", "encoded", "--html", "why.html"]);
    let page = fs::read_to_string(folder.path().join("why.html")).unwrap();
    assert!(!page.contains("made of") && !page.contains("omposed"));
    assert!(page.contains("title=\"document_vector\"") && !page.contains(">document_vector<"));
    assert!(page.contains("among the candidates"));
}
