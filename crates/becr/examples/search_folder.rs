//! Indexes a folder of notes and searches it.
//!
//! ```text
//! cargo run --release -p becr --example search_folder -- ~/notes "sourdough dense crumb"
//! ```

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use becr::corpus::{Corpus, CorpusOptions};
use becr::{Build, Details, SearchOptions};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(notes), Some(query)) = (arguments.next(), arguments.next()) else {
        return Err("usage: search_folder FOLDER QUERY".into());
    };
    // Any iterator of documents will do; this one reads text, Markdown and HTML files.
    let mut corpus = Corpus::open(&[&notes], &CorpusOptions::default())?;
    let documents = corpus.by_ref();

    let place = tempfile::tempdir()?;
    let (index, built) = Build::new().run(place.path().join("notes.becr"), documents, &())?;
    println!("{} documents, {} tokens\n", built.documents, built.tokens);

    let options = SearchOptions {
        k: 5,
        details: Details {
            title: true,
            reasons: true,
            snippet: true,
        },
        ..SearchOptions::default()
    };
    for result in index.search(&query, &options)?.results {
        let title = result.title.unwrap_or_default();
        println!("{}. {title} [{}]", result.rank, result.id);
        if let Some(snippet) = result.snippet {
            println!("   {}", snippet.text.replace('\n', " "));
        }
        if let Some(reasons) = result.reasons {
            println!("   {reasons}");
        }
    }
    Ok(())
}
