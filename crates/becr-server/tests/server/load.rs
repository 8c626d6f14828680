//! Many clients at once.

use crate::client::{get, post};
use crate::setup::{serve, settings, shared};
use serde_json::json;

#[test]
fn sixteen_clients_get_what_one_gets() {
    let server = serve(settings(), shared());
    let body = json!({"query": "dense crumb", "documents": [{"id": "bread"}, {"id": "tea"}, "a dense loaf"]});
    let expected = post(server.address, "/v2/rerank", &body).json();
    let scores = |answer: &serde_json::Value| -> Vec<(u64, f64)> {
        let results = answer["results"].as_array().unwrap().iter();
        results
            .map(|result| {
                (
                    result["index"].as_u64().unwrap(),
                    result["score"].as_f64().unwrap(),
                )
            })
            .collect()
    };
    let expected = scores(&expected);
    let searched = get(server.address, "/search?q=dense+crumb").json();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert_eq!(
                        scores(&post(server.address, "/v2/rerank", &body).json()),
                        expected
                    );
                    let found = get(server.address, "/search?q=dense+crumb").json();
                    assert_eq!(found["results"], searched["results"]);
                }
            });
        }
    });
}
