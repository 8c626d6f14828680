//! The sample collection, built into the program.

use becr::Document;
use becr_eval::{OnError, Qrels, parse_qrels};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
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
    pub(super) kind: Kind,
}

/// How a query asks, and how its answers are worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// A few words, as people type them.
    Keywords,
    /// A whole question.
    Questions,
    /// What answers it has none of the query's words.
    OtherWords,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Keywords, Self::Questions, Self::OtherWords];

    /// As people read it.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::Questions => "questions",
            Self::OtherWords => "other words",
        }
    }

    /// As it stands in `kinds.tsv`.
    const fn name(self) -> &'static str {
        match self {
            Self::Keywords => "keywords",
            Self::Questions => "questions",
            Self::OtherWords => "other-words",
        }
    }
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
        let kinds = include_str!("../../../sample/kinds.tsv");
        let kinds: HashMap<&str, &str> = kinds
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .collect();
        let query = |line: &str| {
            let (id, text) = line.split_once('\t')?;
            let kind = kinds.get(id)?;
            Some(Query {
                id: id.to_owned(),
                text: text.to_owned(),
                kind: Kind::ALL.into_iter().find(|k| k.name() == *kind)?,
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
        assert!(ids.len() >= 1000 && sample.queries.len() >= 120);
        assert!(documents.is_sorted_by(|one, next| one.id < next.id));
        for document in &documents {
            let words = document.text.split_whitespace().count();
            assert!(
                (35..=250).contains(&words),
                "{} has {words} words",
                document.id
            );
            assert!(!document.title.is_empty(), "{}", document.id);
        }
        let texts: HashSet<&str> = documents.iter().map(|d| d.text.as_str()).collect();
        assert_eq!(texts.len(), documents.len(), "no text is there twice");
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
        assert_eq!(sample.qrels.queries.len(), sample.queries.len());
    }

    #[test]
    fn every_query_is_of_a_kind_and_every_kind_has_its_share() {
        let sample = Sample::load().unwrap();
        for kind in Kind::ALL {
            let of_kind = sample.queries.iter().filter(|query| query.kind == kind);
            assert!(of_kind.count() >= 35, "{}", kind.name());
        }
    }

    /// Words such as these say nothing about a document.
    const EMPTY: &str = "a after an as between can't first for from in my new of off on over the to too what where with \
                         won't";

    /// Words of a text that carry meaning, without the endings that a stemmer takes away.
    fn stems(text: &str) -> HashSet<String> {
        let words = text.to_lowercase();
        let words = words.split(|c: char| !c.is_alphabetic() && c != '\'');
        let words = words.filter(|word| !word.is_empty() && !EMPTY.split(' ').any(|w| w == *word));
        words
            .map(|word| {
                let ending = ["ing", "ed", "es", "er", "s", "y"];
                let cut = ending.iter().find_map(|ending| word.strip_suffix(ending));
                let stem = cut.filter(|stem| stem.len() >= 3).unwrap_or(word);
                stem.trim_end_matches('e').to_owned()
            })
            .collect()
    }

    #[test]
    fn answers_in_other_words_have_no_word_of_their_query() {
        assert!(!stems("Smoking trout").is_disjoint(&stems("to smoke")));
        let sample = Sample::load().unwrap();
        let documents = Sample::documents().map(Result::unwrap);
        let texts: HashMap<String, HashSet<String>> = documents
            .map(|d| (d.id, stems(&format!("{} {}", d.title, d.text))))
            .collect();
        let of_kind = sample.queries.iter().filter(|q| q.kind == Kind::OtherWords);
        for query in of_kind {
            let words = stems(&query.text);
            for (id, grade) in &sample.qrels.queries[&query.id] {
                let shared: Vec<_> = words.intersection(&texts[id]).collect();
                assert!(
                    *grade < 3 || shared.is_empty(),
                    "{}: {id}: {shared:?}",
                    query.text
                );
            }
        }
    }
}
