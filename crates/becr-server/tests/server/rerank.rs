//! Re-ranking: ids and texts, in the shapes that clients speak.

use crate::client::{get, post};
use crate::setup::{documents, serve, settings, shared};
use becr::{Candidate, Index, RankOptions};
use serde_json::{Value, json};

fn results(answer: &Value) -> Vec<(u64, f64, String)> {
    answer["results"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .iter()
        .map(|result| {
            let path = result["path"].as_str().unwrap().to_owned();
            (
                result["index"].as_u64().unwrap(),
                result["relevance_score"].as_f64().unwrap(),
                path,
            )
        })
        .collect()
}

#[test]
fn ids_are_ranked_from_the_index_and_unknown_ones_come_last() {
    let server = serve(settings(), shared());
    let ids = ["tea", "nobody", "bread", "river"];
    let body = json!({"query": "heavy crumb", "documents": ids.map(|id| json!({"id": id}))});
    let answer = post(server.address, "/v1/rerank", &body).json();
    let candidates = ids.map(Candidate::unscored);
    let index = Index::open(shared()).unwrap();
    let expected = index
        .rerank("heavy crumb", &candidates, &RankOptions::default())
        .unwrap();
    let places: Vec<u64> = expected
        .with_unknown()
        .map(|(place, _)| place as u64)
        .collect();
    let found = results(&answer);
    assert_eq!(
        found.iter().map(|(place, ..)| *place).collect::<Vec<_>>(),
        places
    );
    assert_eq!(found.last().unwrap(), &(1, 0.0, "unknown".to_owned()));
    assert!(found[..3].iter().all(|(_, _, path)| path == "index"));
    assert!(found.is_sorted_by(|a, b| a.1 > b.1));
    assert!(
        found
            .iter()
            .all(|(_, score, _)| (0.0..=1.0).contains(score))
    );
}

/// The record that an index keeps and the one that is made for a query are the same: so are the scores.
#[test]
fn a_text_scores_as_the_same_document_in_the_index() {
    let server = serve(settings(), shared());
    for query in [
        "dense crumb",
        "bank of a river",
        "hot oven steam",
        "zzyzx",
        "",
    ] {
        for mode in ["composed", "encoded"] {
            let ids: Vec<Value> = documents()
                .iter()
                .map(|document| json!({"id": document.id}))
                .collect();
            let texts: Vec<Value> = documents()
                .iter()
                .map(|document| json!({"title": document.title, "text": document.text}))
                .collect();
            let ask = |documents: Vec<Value>| {
                let body = json!({"query": query, "documents": documents, "mode": mode});
                post(server.address, "/v2/rerank", &body).json()
            };
            let (by_id, by_text) = (ask(ids), ask(texts));
            let score = |answer: &Value, place: u64| {
                let results = answer["results"].as_array().unwrap();
                let result = results
                    .iter()
                    .find(|result| result["index"] == place)
                    .unwrap();
                result["score"].as_f64().unwrap()
            };
            for place in 0..6 {
                let (id, text) = (score(&by_id, place), score(&by_text, place));
                assert!(
                    (id - text).abs() < 1e-4,
                    "{query} {mode} {place}: {id} {text}"
                );
            }
        }
    }
}

#[test]
fn words_that_no_document_has_are_matched_in_texts() {
    let server = serve(settings(), shared());
    let documents = ["the quokka eats leaves", "the wombat eats leaves"];
    for query in ["quokka", "quokkas"] {
        let body = json!({"query": query, "documents": documents});
        let answer = post(server.address, "/v1/rerank", &body).json();
        let found = results(&answer);
        assert_eq!(found[0].0, 0, "{query}: {answer}");
        assert!(found[0].1 > found[1].1);
    }
}

#[test]
fn texts_are_kept_and_answers_say_so() {
    let server = serve(settings(), shared());
    let body = json!({"query": "crumb", "documents": ["a light crumb", {"id": "bread"}, "cold tea", "a light crumb"]});
    let path = |answer: &Value, place: u64| {
        results(answer)
            .into_iter()
            .find(|(at, ..)| *at == place)
            .unwrap()
            .2
    };
    let first = post(server.address, "/v1/rerank", &body).json();
    let paths: Vec<String> = (0..4).map(|place| path(&first, place)).collect();
    assert_eq!(paths, ["encoded", "index", "encoded", "cached"]);
    assert!(first["usage"]["total_tokens"].as_u64() > Some(0));
    let second = post(server.address, "/v1/rerank", &body).json();
    let paths: Vec<String> = (0..4).map(|place| path(&second, place)).collect();
    assert_eq!(paths, ["cached", "index", "cached", "cached"]);
    assert_eq!(second["usage"]["total_tokens"], 0);
    let scores = |answer: &Value| {
        results(answer)
            .into_iter()
            .map(|(at, score, _)| (at, score))
            .collect::<Vec<_>>()
    };
    assert_eq!(scores(&first), scores(&second));
    let metrics = get(server.address, "/metrics").body;
    assert!(
        metrics.contains("becr_candidates_total{from=\"cached\"} 4"),
        "{metrics}"
    );
}

#[test]
fn shapes_of_cohere_and_jina() {
    let server = serve(settings(), shared());
    let body = json!({
        "model": "any", "query": "crumb", "top_n": 2, "return_documents": true,
        "documents": ["a light crumb", {"text": "cold tea"}, {"title": "T", "text": "crumbs"}],
        "max_chunks_per_doc": 10, "truncation": true,
    });
    let answer = post(server.address, "/v1/rerank", &body).json();
    assert_eq!(answer["results"].as_array().unwrap().len(), 2);
    assert_eq!(answer["meta"]["api_version"]["version"], "1");
    assert!(answer["id"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(
        answer["results"][0]["document"]["text"]
            .as_str()
            .unwrap()
            .contains("crumb")
    );
    let fields = json!({
        "query": "crumb", "rank_fields": ["heading", "body"],
        "documents": [{"heading": "Tea", "body": "cold"}, {"heading": "Bread", "body": "a light crumb"}],
    });
    let answer = post(server.address, "/v1/rerank", &fields).json();
    assert_eq!(answer["results"][0]["index"], 1);
    // An id that the index has wins over the text; one that it lacks is ranked by its text.
    let both = json!({"query": "crumb", "documents": [{"id": "bread", "text": "x"}, {"id": "new", "text": "crumb"}]});
    let found = results(&post(server.address, "/v2/rerank", &both).json());
    let path = |place| {
        found
            .iter()
            .find(|(at, ..)| *at == place)
            .unwrap()
            .2
            .as_str()
    };
    assert_eq!((path(0), path(1)), ("index", "encoded"));
}

#[test]
fn the_shape_of_text_embeddings_inference() {
    let server = serve(settings(), shared());
    let body = json!({"query": "crumb", "texts": ["cold tea", "a light crumb"], "return_text": true, "truncate": true});
    let answer = post(server.address, "/rerank", &body).json();
    assert_eq!(answer[0]["index"], 1);
    assert_eq!(answer[0]["text"], "a light crumb");
    let score = answer[0]["score"].as_f64().unwrap();
    let raw = json!({"query": "crumb", "texts": ["cold tea", "a light crumb"], "raw_scores": true});
    let raw = post(server.address, "/rerank", &raw).json();
    let raw_score = raw[0]["score"].as_f64().unwrap();
    assert!((1.0 / (1.0 + (-raw_score).exp()) - score).abs() < 1e-9);
    assert!(raw[0].get("text").is_none());
}

#[test]
fn texts_beyond_the_budget_are_refused() {
    let server = serve(
        becr_server::Settings {
            text_tokens: 10,
            ..settings()
        },
        shared(),
    );
    let body = json!({"query": "crumb", "documents": ["one two three four five six seven eight nine ten eleven"]});
    let answer = post(server.address, "/v2/rerank", &body);
    assert_eq!(answer.status, 422);
    assert!(
        answer.json()["message"]
            .as_str()
            .unwrap()
            .contains("at most 10"),
        "{}",
        answer.body
    );
    let small = json!({"query": "crumb", "documents": ["one two"]});
    assert_eq!(post(server.address, "/v2/rerank", &small).status, 200);
}

#[test]
fn another_engines_scores_and_features_are_taken() {
    let server = serve(settings(), shared());
    let ask = |first: f64, second: f64| {
        let body = json!({"query": "crumb", "documents": [
            {"id": "bread", "score": first, "features": {"clicks": 2}}, {"id": "rolls", "score": second}]});
        let answer = post(server.address, "/v2/rerank", &body).json();
        let found = results(&answer);
        found.iter().find(|(at, ..)| *at == 0).unwrap().1
    };
    assert!(ask(9.0, 1.0) > ask(1.0, 9.0));
}

/// Fields are ranked each once: a request cannot make its texts longer than it is itself.
#[test]
fn fields_that_repeat_are_refused() {
    let server = serve(settings(), shared());
    let repeated = json!({"query": "crumb", "rank_fields": ["text", "title", "text"],
        "documents": [{"title": "Bread", "text": "A crumb."}]});
    let answer = post(server.address, "/v2/rerank", &repeated);
    assert_eq!(answer.status, 422, "{}", answer.body);
    let told = answer.json();
    assert!(
        told["message"].as_str().unwrap().contains("\"text\""),
        "{}",
        answer.body
    );
}

/// Documents come back as they were sent, whatever else is in them, and numbers keep their digits.
#[test]
fn documents_come_back_as_they_were() {
    let server = serve(settings(), shared());
    let body = r#"{"return_documents": true, "documents": [
        {"z": [1.10, {"deep": null}], "text": "A \u0041 crumb.", "id": "nobody", "big": 123456789012345678901234567890},
        "A plain text."], "query": "crumb", "rank_fields": ["text", "summary"]}"#;
    let headers = [("Content-Type", "application/json")];
    let answer = crate::client::ask(server.address, "POST", "/v2/rerank", &headers, body);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let results = answer.json()["results"].clone();
    let of = |place: u64| {
        let mut rows = results.as_array().unwrap().iter();
        rows.find(|row| row["index"] == place).unwrap()["document"].clone()
    };
    assert_eq!(of(0)["text"], "A A crumb.");
    assert_eq!(of(0)["z"][1]["deep"], json!(null));
    assert_eq!(of(1), json!({"text": "A plain text."}));
}
