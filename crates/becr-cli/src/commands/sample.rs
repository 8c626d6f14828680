//! The sample collection, built into the program.

use becr_eval::{OnError, Qrels, parse_qrels};
use serde::Deserialize;
use std::path::Path;

/// The collection in memory.
pub(crate) struct Sample {
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Vec<Query>,
    pub(crate) qrels: Qrels,
}

#[derive(Deserialize)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
}

impl Sample {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let corpus = include_str!("../../sample/corpus.jsonl");
        let queries = include_str!("../../sample/queries.tsv");
        let judgements = include_bytes!("../../sample/qrels.txt");
        let documents = corpus
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
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
            documents,
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
        let ids: HashSet<&str> = sample.documents.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(ids.len(), sample.documents.len(), "ids are unique");
        assert!(ids.len() >= 200 && sample.queries.len() == 40);
        for document in &sample.documents {
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
