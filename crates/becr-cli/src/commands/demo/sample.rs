//! The sample collection, built into the program.

use becr_eval::{OnError, Qrels, parse_qrels};
use std::path::Path;

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
    use serde::Deserialize;
    use std::collections::HashSet;

    #[derive(Deserialize)]
    struct Document {
        id: String,
        title: String,
        text: String,
    }

    #[test]
    fn the_collection_is_whole() {
        let sample = Sample::load().unwrap();
        let lines = Sample::CORPUS.lines();
        let documents: Vec<Document> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
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
