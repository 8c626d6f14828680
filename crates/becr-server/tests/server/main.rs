//! A real server on loopback, asked as clients ask it.

mod client;
mod errors;
mod load;
mod operation;
mod replaced;
mod rerank;
mod search;
mod setup;
mod upstream;
mod writing;

/// The description that is checked in is the one that is served. `BECR_WRITE_OPENAPI=1` writes it anew.
#[test]
fn the_description_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let current = becr_server::openapi();
    if std::env::var_os("BECR_WRITE_OPENAPI").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        kept, current,
        "BECR_WRITE_OPENAPI=1 cargo test --release --test server writes it anew"
    );
    let described: serde_json::Value = serde_json::from_str(&current).unwrap();
    // What the library can be asked for, every request that ranks can say.
    let options = serde_json::to_value(becr::RankOptions::default()).unwrap();
    for request in [
        "SearchRequest",
        "RerankRequest",
        "TextsRequest",
        "ExplainRequest",
    ] {
        for name in options.as_object().unwrap().keys() {
            let fields = &described["components"]["schemas"][request]["properties"];
            assert!(fields.get(name).is_some(), "{request} has no {name}");
        }
    }
    for path in [
        "/v1/rerank",
        "/v2/rerank",
        "/rerank",
        "/search",
        "/explain",
        "/documents",
        "/metrics",
    ] {
        assert!(described["paths"].get(path).is_some(), "{path}");
    }
}
