//! Search, explanations, what is told of the server, and the page.

use crate::client::{get, post};
use crate::setup::{serve, serve_all, settings, shared};
use becr::{Index, QueryMode, RankOptions, SearchOptions};
use serde_json::{Value, json};

#[test]
fn a_search_is_the_librarys() {
    let server = serve(settings(), shared());
    for mode in [QueryMode::Composed, QueryMode::Encoded] {
        let options = SearchOptions {
            rank: Some(RankOptions {
                mode: Some(mode),
                ..RankOptions::default()
            }),
            ..SearchOptions::default()
        };
        let expected = Index::open(shared())
            .unwrap()
            .search("dense crumb", &options)
            .unwrap();
        let name = format!("{mode:?}").to_lowercase();
        let body = json!({"query": "dense crumb", "mode": name});
        let posted = post(server.address, "/search", &body).json();
        let got = get(
            server.address,
            &format!("/search?q=dense+crumb&mode={name}"),
        )
        .json();
        assert_eq!(posted["results"], got["results"]);
        assert_eq!(posted["mode"], name);
        let results = posted["results"].as_array().unwrap();
        assert_eq!(results.len(), expected.results.len());
        assert!(!results.is_empty());
        for (result, expected) in results.iter().zip(&expected.results) {
            assert_eq!(result["id"], expected.id);
            assert_eq!(result["first_stage_rank"], json!(expected.first_stage_rank));
            let score = result["score"].as_f64().unwrap();
            assert!((score - f64::from(expected.score)).abs() < 1e-4);
            let parts = &result["parts"];
            let sum: f64 = ["deep", "lexi", "others"]
                .iter()
                .map(|part| parts[part].as_f64().unwrap())
                .sum();
            assert!((sum - score).abs() < 1e-3);
            let relevance = result["relevance_score"].as_f64().unwrap();
            assert!((relevance - 1.0 / (1.0 + (-score).exp())).abs() < 1e-6);
        }
    }
}

/// The one-vector score and parts left out, in a body and in an address; contradictions are the library's to refuse.
#[test]
fn requests_say_how_to_rank_as_the_library_does() {
    let server = serve(settings(), shared());
    let options = SearchOptions {
        rank: Some(RankOptions {
            scorer: becr::Scorer::OneVector,
            weight: Some(0.5),
            without: [becr::Part::Lexi].into_iter().collect(),
            ..RankOptions::default()
        }),
        ..SearchOptions::default()
    };
    let index = Index::open(shared()).unwrap();
    let expected = index.search("dense crumb", &options).unwrap();
    let body = json!({
        "query": "dense crumb", "scorer": "one-vector", "weight": 0.5, "without": ["lexi"],
    });
    let posted = post(server.address, "/search", &body).json();
    let path = "/search?q=dense+crumb&scorer=one-vector&weight=0.5&without=lexi";
    let got = get(server.address, path).json();
    assert_eq!(posted["results"], got["results"]);
    let results = posted["results"].as_array().unwrap();
    assert_eq!(results.len(), expected.results.len());
    for (result, expected) in results.iter().zip(&expected.results) {
        assert_eq!(result["id"], expected.id);
        let score = result["score"].as_f64().unwrap();
        assert!((score - f64::from(expected.score)).abs() < 1e-5);
        assert_eq!(result["parts"]["lexi"], 0.0);
    }
    let all = get(
        server.address,
        "/search?q=dense+crumb&without=deep,lexi,others",
    )
    .json();
    assert!(all["results"][0]["score"] == 0.0, "{all}");
    for (path, told) in [
        ("/search?q=crumb&weight=0.5", "one-vector"),
        ("/search?q=crumb&scorer=best", "best"),
        (
            "/search?q=crumb&without=all",
            "there are deep, lexi, others",
        ),
    ] {
        let refused = get(server.address, path);
        assert_eq!(refused.status, 422, "{path}");
        assert!(
            refused.json().to_string().contains(told),
            "{path}: {}",
            refused.json()
        );
    }
}

#[test]
fn passages_and_groups_come_with_a_search_unless_unwanted() {
    let server = serve(settings(), shared());
    let answer = get(server.address, "/search?query=dense%20crumb&mode=composed").json();
    let first = &answer["results"][0];
    let pieces = first["passage"]["pieces"].as_array().unwrap();
    let text: String = pieces
        .iter()
        .map(|piece| piece["text"].as_str().unwrap())
        .collect();
    assert!(text.contains("dense crumb"), "{text}");
    assert!(
        pieces
            .iter()
            .any(|piece| piece["text"] == "crumb" && piece["strength"].as_f64() > Some(0.3))
    );
    let groups = answer["groups"].as_array().unwrap();
    // The model has a mixer, which takes words alone: no pair is looked up.
    let words: Vec<&Value> = groups.iter().map(|group| &group["words"]).collect();
    assert_eq!(words, [&json!(["dense"]), &json!(["crumb"])]);
    assert!(groups.iter().all(|group| group["found"] == true));
    assert!(answer["timing"]["total"].as_f64() > Some(0.0));
    let bare = get(server.address, "/search?query=dense%20crumb&details=false").json();
    assert!(bare.get("groups").is_none() && bare["results"][0].get("passage").is_none());
    let words = get(server.address, "/search?query=dense%20crumb&rerank=false").json();
    assert!(words["results"][0].get("parts").is_none());
}

#[test]
fn explanations_sum_to_scores_and_differences() {
    let server = serve(settings(), shared());
    let body = json!({"query": "bank river", "documents": ["river", "loans"]});
    let answer = post(server.address, "/explain", &body).json();
    let sum = |rows: &Value| -> f64 {
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["contribution"].as_f64().unwrap())
            .sum()
    };
    let scores: Vec<f64> = answer["documents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|document| {
            let score = document["score"].as_f64().unwrap();
            assert!((sum(&document["rows"]) - score).abs() < 1e-6);
            score
        })
        .collect();
    let difference = &answer["difference"];
    assert!((difference["score"].as_f64().unwrap() - (scores[0] - scores[1])).abs() < 1e-9);
    assert!((sum(&difference["rows"]) - (scores[0] - scores[1])).abs() < 1e-6);
    assert_eq!(difference["words"][1]["word"], "river");
    assert!(difference["words"][1]["deep"].as_f64().unwrap() > 0.0);
    let text: String = answer["documents"][0]["text"]
        .as_array()
        .unwrap()
        .iter()
        .map(|piece| piece["text"].as_str().unwrap())
        .collect();
    assert!(text.starts_with("Where the river slows"));
    assert_eq!(answer["terms"][0]["word"], "bank");
    let got = get(server.address, "/explain?q=bank+river&id=river&other=loans").json();
    assert_eq!(got["difference"]["rows"], difference["rows"]);
}

#[test]
fn several_indexes_go_by_their_names() {
    let lexical = tempfile::tempdir().unwrap();
    let path = lexical.path().join("words.becr");
    let documents = [becr::Document::new("w", "Words", "only crumb words here")];
    becr::Build::new().lexical(&path, documents, &()).unwrap();
    let server = serve_all(settings(), &[("kitchen", shared()), ("words", &path)]);
    let info = get(server.address, "/info").json();
    assert_eq!(info["indexes"][0]["documents"], 6);
    assert_eq!(info["indexes"][1]["rankable"], false);
    // An index of words alone is searched by BM25, and cannot re-rank.
    let found = get(server.address, "/search?q=crumb&index=words").json();
    assert_eq!(found["results"][0]["id"], "w");
    let body = json!({"query": "crumb", "documents": [{"id": "w"}], "index": "words"});
    assert_eq!(post(server.address, "/v2/rerank", &body).status, 409);
    assert_eq!(
        get(server.address, "/search?q=crumb&index=other").status,
        404
    );
    // A client that must name a model chooses an index by it, or passes any name.
    let body = json!({"query": "crumb", "documents": ["a crumb"], "model": "rerank-v3.5"});
    assert_eq!(
        post(server.address, "/v2/rerank", &body).json()["model"],
        "kitchen"
    );
}

#[test]
fn the_page_comes_with_the_program_and_shows_markup_as_text() {
    let server = serve(settings(), shared());
    for (path, kind) in [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/app.js", "text/javascript"),
    ] {
        let answer = get(server.address, path);
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with(kind));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"));
        assert!(
            !answer.body.contains("http://") && !answer.body.contains("https://"),
            "{path} needs a network"
        );
    }
    let script = get(server.address, "/app.js").body;
    for way in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
    ] {
        assert!(!script.contains(way), "{way}");
    }
    let answer = get(server.address, "/search?q=markup");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(
        answer.json()["results"][0]["title"],
        "<img src=x onerror=alert(1)>"
    );
}
