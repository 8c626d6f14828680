//! The sample collection, built into the program.

use becr::Document;
use becr_eval::{OnError, Qrels, parse_qrels};
use serde::Deserialize;
use std::path::Path;

/// A line of the corpus.
#[derive(Deserialize)]
struct Fields {
    id: String,
    title: String,
    text: String,
}

/// The collection in memory.
pub(super) struct Sample {
    pub(super) queries: Vec<Query>,
    pub(super) qrels: Qrels,
}

pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
}

impl Sample {
    /// The documents as a corpus file.
    pub(super) const CORPUS: &str = include_str!("../../../sample/corpus.jsonl");

    /// The documents.
    pub(super) fn documents() -> impl Iterator<Item = serde_json::Result<Document>> {
        Self::CORPUS.lines().map(|line| {
            let Fields { id, title, text } = serde_json::from_str(line)?;
            Ok(Document::new(id, title, text))
        })
    }

    pub(super) fn load() -> anyhow::Result<Self> {
        let queries = include_str!("../../../sample/queries.tsv");
        let judgements = include_bytes!("../../../sample/qrels.txt");
        let query = |line: &str| {
            let (id, text) = line.split_once('\t')?;
            Some(Query {
                id: id.to_owned(),
                text: text.to_owned(),
            })
        };
        let (qrels, _) = parse_qrels(
            judgements.as_slice(),
            Path::new("sample/qrels.txt"),
            OnError::Stop,
        )?;
        Ok(Self {
            queries: queries.lines().filter_map(query).collect(),
            qrels,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_collection_is_whole() {
        let sample = Sample::load().unwrap();
        let documents: Vec<Document> = Sample::documents().map(Result::unwrap).collect();
        let ids: HashSet<&str> = documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids.len(), documents.len(), "ids are unique");
        assert!(ids.len() >= 200 && sample.queries.len() == 40);
        for document in &documents {
            let words = document.text.split_whitespace().count();
            assert!(
                (80..=250).contains(&words),
                "{} has {words} words",
                document.id
            );
            assert!(!document.title.is_empty(), "{}", document.id);
        }
        for query in &sample.queries {
            let judged = &sample.qrels.queries[&query.id];
            assert!(
                judged.keys().all(|id| ids.contains(id.as_str())),
                "{}",
                query.id
            );
            let relevant = judged.values().filter(|&&grade| grade > 0).count();
            assert!(relevant >= 2 && judged.len() >= 8, "{}", query.id);
            assert!(
                judged.values().all(|grade| (0..=3).contains(grade)),
                "{}",
                query.id
            );
        }
    }
}
