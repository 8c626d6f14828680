//! Searches an index in one thread while another adds, updates and deletes documents.
//!
//! ```text
//! cargo run --release -p becr --example keep_up_to_date
//! ```

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use becr::{Build, Document, Existing, Generation, Index, SearchOptions};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let first = Document::new(
        "n0",
        "Monday",
        "The tram was late because of snow on the line.",
    );
    let (index, _) = Build::new().run(place.path().join("news.becr"), [first], &())?;

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let searcher = scope.spawn(|| search(&index, &done));
        let changed = change(&index);
        done.store(true, Ordering::Relaxed);
        changed?;
        let seen = searcher.join().map_err(|_| "the searcher panicked")??;
        for (generation, ids) in seen {
            println!("generation {generation}: {}", ids.join(", "));
        }
        Ok(())
    })
}

/// Every search sees the newest state that was published when it began, and says which it was.
fn search(index: &Index, done: &AtomicBool) -> Result<Vec<(Generation, Vec<String>)>, becr::Error> {
    let mut seen = Vec::new();
    loop {
        let is_last = done.load(Ordering::Relaxed);
        let answer = index.search("delayed trains in winter", &SearchOptions::default())?;
        let ids = answer.results.into_iter().map(|result| result.id);
        let found = (answer.generation, ids.collect());
        if seen.last() != Some(&found) {
            seen.push(found);
        }
        if is_last {
            return Ok(seen);
        }
    }
}

fn change(index: &Index) -> Result<(), becr::Error> {
    let more = [
        Document::new(
            "n1",
            "Tuesday",
            "Trains to the coast are cancelled after a storm.",
        ),
        Document::new("n2", "Wednesday", "A new bakery opened beside the station."),
    ];
    index.add(more, Existing::Refuse, &())?;
    let better = Document::new(
        "n0",
        "Monday",
        "Snow delayed trams and trains for two hours.",
    );
    index.update([better], &())?;
    index.delete(&["n2".to_owned()])?;
    index.compact(&())?;
    Ok(())
}
