//! Why a document has its score, and why another has less.

use crate::candidates::Listed;
use crate::rerank::{Candidate, GroupCoverage, Ranking, RerankAnswer};
use crate::{CandidateSource, Error, FindBy, Generation, RankOptions, SearchOptions, View};
use becr_model::QueryMode;
use becr_rank::{ContributionRow, Explanation, QueryTerm, RankWorkspace, Shading, WordPart};
use serde::Serialize;

/// How to explain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExplainOptions {
    /// How many candidates of the first stage the list has: as many as the search had that is to be explained. Scores
    /// are relative to the list, by the first stage's score at least.
    pub depth: usize,
    /// By what candidates are found, as in that search.
    pub find_by: FindBy,
    /// How they are ranked.
    pub rank: RankOptions,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self {
            depth: SearchOptions::DEPTH,
            find_by: FindBy::default(),
            rank: RankOptions::default(),
        }
    }
}

/// Scores taken apart.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainAnswer {
    /// The query.
    pub query: String,
    /// How the query was read.
    pub mode: QueryMode,
    /// Words of the query with a deep term: what they weigh and what they are composed of.
    pub terms: Vec<QueryTerm>,
    /// How much of the query the token store has.
    pub coverage: GroupCoverage,
    /// The layers that are compared, as the encoder counts them: 0 is the embedding layer.
    pub layers: Vec<usize>,
    /// The kernels' centres.
    pub kernels: Vec<f32>,
    /// The documents, in the order in which they were asked for.
    pub documents: Vec<ExplainedDocument>,
    /// What makes the first document's score differ from the second's, if there are two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<ScoreDifference>,
    /// The state that was asked.
    #[serde(skip)]
    pub generation: Generation,
}

/// A document with its score taken apart.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedDocument {
    /// Its id.
    pub id: String,
    /// Its title; empty if the index keeps no texts.
    pub title: String,
    /// Rank among the candidates; `None` if it is none of them.
    pub rank: Option<usize>,
    /// Rank by words; `None` if it is none of the candidates that words found.
    pub first_stage_rank: Option<usize>,
    /// Rank by meaning; `None` if it is none of the candidates that meaning found.
    pub meaning_rank: Option<usize>,
    /// The score, by part, term, kernel and feature.
    pub explanation: Explanation,
    /// Similarities of its words to the terms at the last kept layer; `None` if the index keeps no texts.
    pub shading: Option<Shading>,
}

/// What makes one score differ from another. The rows sum to the difference.
#[derive(Debug, Clone, Serialize)]
pub struct ScoreDifference {
    /// First score less second.
    pub score: f64,
    /// By term and feature.
    pub rows: Vec<ContributionRow>,
    /// S_deep and S_lexi by word of the query; what belongs to no word is not among them.
    pub words: Vec<WordPart>,
}

impl View {
    /// Takes the scores of documents apart, and of two documents the difference. A document that is not among the
    /// candidates is ranked with them, without a score of the first stage; an index in a cluster that was opened without a first
    /// stage has no others.
    pub fn explain(
        &self,
        query: &str,
        documents: &[&str],
        options: &ExplainOptions,
    ) -> Result<ExplainAnswer, Error> {
        let ranking = self.ranking(&options.rank)?;
        // Without a first stage the documents themselves are the list.
        let (find_by, depth) = match self.has_first_stage() {
            true => (options.find_by, options.depth),
            false => (FindBy::Words, 0),
        };
        self.check_candidates(find_by)?;
        let hits = match find_by {
            FindBy::Words | FindBy::Both if depth > 0 => self.find(query, depth)?,
            _ => Vec::new(),
        };
        let listed = ranking.find(query, hits, depth, find_by)?;
        let mut candidates: Vec<Candidate<'_>> =
            listed.list.iter().map(Listed::candidate).collect();
        for &id in documents {
            if !candidates.iter().any(|candidate| candidate.id == id) {
                candidates.push(Candidate::unscored(id));
            }
        }
        let (answer, explained) = self.with_workspace(|work| {
            let answer = ranking.rank(query, &candidates, work)?;
            let list = List {
                answer: &answer,
                candidates: &candidates,
                listed: &listed.list,
            };
            let explained = ranking.explained(&list, documents, work)?;
            Ok::<_, Error>((answer, explained))
        })?;
        let difference = match &explained[..] {
            [first, second] => Some(ScoreDifference {
                score: first.explanation.score - second.explanation.score,
                rows: first.explanation.difference(&second.explanation),
                words: first.explanation.word_difference(&second.explanation),
            }),
            _ => None,
        };
        let layers = self.state().opened.files.layers()?;
        Ok(ExplainAnswer {
            query: query.to_owned(),
            mode: ranking.plan().mode(),
            terms: answer.query.terms().to_vec(),
            coverage: answer.coverage(),
            layers,
            kernels: ranking.ranker.kernels().mu().to_vec(),
            documents: explained,
            difference,
            generation: self.generation(),
        })
    }
}

/// A ranked list: the first candidates are those that were found.
struct List<'a> {
    answer: &'a RerankAnswer,
    candidates: &'a [Candidate<'a>],
    listed: &'a [Listed],
}

impl Ranking<'_> {
    fn explained(
        &self,
        list: &List<'_>,
        ids: &[&str],
        work: &mut RankWorkspace,
    ) -> Result<Vec<ExplainedDocument>, Error> {
        let place = |&id: &&str| {
            let place = list
                .candidates
                .iter()
                .position(|candidate| candidate.id == id);
            place.ok_or_else(|| Error::UnknownDocument(id.to_owned()))
        };
        let places: Vec<usize> = ids.iter().map(place).collect::<Result<_, _>>()?;
        let explanations = self.explain(list.answer, list.candidates, &places, work)?;
        let documents = ids.iter().zip(places).zip(explanations);
        documents
            .map(|((&id, place), explanation)| {
                let mut order = list
                    .answer
                    .order
                    .iter()
                    .filter(|(at, _)| *at < list.listed.len());
                let rank = order.position(|(at, _)| *at == place);
                let shading = self.shading(list.answer, id, work)?;
                Ok(ExplainedDocument {
                    id: id.to_owned(),
                    title: shading
                        .as_ref()
                        .map_or(String::new(), |shading| shading.title.clone()),
                    rank: rank.map(|rank| rank + 1),
                    first_stage_rank: list.listed.get(place).and_then(|found| found.by_words),
                    meaning_rank: list.listed.get(place).and_then(|found| found.by_meaning),
                    explanation,
                    shading,
                })
            })
            .collect()
    }

    /// How near the words of a document are to the query's terms, at the last kept layer; `None` if the index keeps no
    /// texts.
    pub(crate) fn shading(
        &self,
        answer: &RerankAnswer,
        id: &str,
        work: &mut RankWorkspace,
    ) -> Result<Option<Shading>, Error> {
        let snapshot = &*self.view.snapshot()?;
        let number = snapshot.number(id)?;
        let number = number.ok_or_else(|| Error::UnknownDocument(id.to_owned()))?;
        if snapshot.text(number)?.is_none() {
            return Ok(None);
        }
        let last = usize::from(self.ranker.shape().layers) - 1;
        let shading = self
            .ranker
            .shading(&answer.query, snapshot, number, last, work)?;
        Ok(Some(shading))
    }
}
