//! Re-ranks what another search engine found.
//!
//! ```text
//! cargo run --release -p becr --example rerank_candidates
//! ```

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use becr::{Build, Candidate, Document, RankOptions};
use std::error::Error;

const DOCUMENTS: [(&str, &str, &str); 3] = [
    (
        "cat",
        "Jaguar",
        "The jaguar is a large cat of the Americas that hunts at night.",
    ),
    (
        "car",
        "Jaguar",
        "Jaguar has made luxury cars in Coventry for decades.",
    ),
    (
        "panther",
        "Panther",
        "A panther is a leopard or jaguar with black fur.",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    // Once, offline: BECR's own index of the documents that the other engine has, by the same ids.
    let documents = DOCUMENTS.map(|(id, title, text)| Document::new(id, title, text));
    let place = tempfile::tempdir()?;
    let (index, _) = Build::new().run(place.path().join("engine.becr"), documents, &())?;

    // For each query: ids and scores as the engine gives them. An id that BECR has never seen is told of.
    let found = [
        Candidate::new("car", 7.1),
        Candidate::new("cat", 6.9),
        Candidate::new("panther", 2.5),
        Candidate::new("tiger", 1.0),
    ];
    let query = "wild animals of south america";
    let answer = index.rerank(query, &found, &RankOptions::default())?;
    for (place, scored) in &answer.order {
        println!(
            "{:<8} {:>7.3} = deep {:+.3}, lexi {:+.3}, others {:+.3}",
            found[*place].id, scored.score, scored.deep, scored.lexi, scored.others
        );
    }
    for &place in &answer.unknown {
        println!("{:<8} is not in the index", found[place].id);
    }
    println!("{}, generation {}", answer.coverage(), answer.generation);
    Ok(())
}
