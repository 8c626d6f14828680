//! Where candidates come from: words, by BM25, and meaning, by the documents' vectors.

use crate::rerank::{Candidate, Ranking, RerankAnswer};
use crate::view::Finder;
use crate::{Error, View};
use becr_rank::{Bm25Query, RankQuery, RankWorkspace};
use becr_store::column::Near;
use becr_store::{DocumentStore, StoreContents};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A document that a source of candidates found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// The source's score; `None` if it has none.
    pub score: Option<f32>,
}

/// A source of candidates: an index by its first stage, or a search engine elsewhere.
pub trait CandidateSource: Send + Sync {
    /// The best documents for a query, best first, at most `k`.
    fn find(&self, query: &str, k: usize) -> Result<Vec<Hit>, Error>;
}

/// An index finds by BM25, in its own first stage or that of the index it was opened with.
impl CandidateSource for View {
    fn find(&self, query: &str, k: usize) -> Result<Vec<Hit>, Error> {
        let hit = |hit: becr_index::first_stage::Hit| Hit {
            id: hit.id,
            score: Some(hit.score),
        };
        Ok(self.hits(query, k)?.into_iter().map(hit).collect())
    }
}

/// By what documents are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindBy {
    /// The best by BM25.
    Words,
    /// Those whose vectors are nearest to the query's.
    Meaning,
    /// Both lists together; words alone in an index without a column of vectors.
    #[default]
    Both,
}

impl FindBy {
    /// All, by name.
    pub const ALL: [Self; 3] = [Self::Words, Self::Meaning, Self::Both];

    /// The name, as JSON and the command line have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Meaning => "meaning",
            Self::Both => "both",
        }
    }
}

impl fmt::Display for FindBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FindBy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == name);
        found
            .ok_or_else(|| format!("candidates are found by words, meaning or both, not by {name}"))
    }
}

/// A document in a list of candidates, and which way it was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    pub(crate) id: String,
    /// BM25.
    pub(crate) score: Option<f32>,
    /// Its rank by words, from 1.
    pub(crate) by_words: Option<usize>,
    /// Its rank by meaning, from 1.
    pub(crate) by_meaning: Option<usize>,
}

impl Listed {
    pub(crate) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            id: &self.id,
            score: self.score,
            features: &[],
        }
    }

    fn of_hit((place, hit): (usize, Hit)) -> Self {
        Self {
            id: hit.id,
            score: hit.score,
            by_words: Some(place + 1),
            by_meaning: None,
        }
    }
}

/// A query, read, and its candidates.
pub(crate) struct CandidateList {
    pub(crate) query: RankQuery,
    /// The candidates, and behind them what is not ranked.
    pub(crate) list: Vec<Listed>,
    /// How many of them are candidates.
    pub(crate) candidates: usize,
    /// The numbers of the candidates; `None` for those that the index does not have.
    pub(crate) numbers: Vec<Option<u64>>,
    /// Reading the query.
    pub(crate) look_up: Duration,
    /// Going through the column, and scoring by BM25 what it alone found.
    pub(crate) meaning: Duration,
}

/// Hits of a search without ranking, as a list.
pub(crate) fn unranked(hits: Vec<Hit>) -> Vec<Listed> {
    hits.into_iter().enumerate().map(Listed::of_hit).collect()
}

impl View {
    /// Whether documents can be found by meaning: the index has a column of vectors.
    pub fn finds_by_meaning(&self) -> bool {
        let searches = |view: &Self| view.snapshot().is_ok_and(|snapshot| snapshot.can_search());
        match &self.state().candidates {
            Finder::Of(other) => searches(self) || searches(other),
            _ => searches(self),
        }
    }

    /// Whether the index has vectors and, being of an earlier version, no column of them: compacting it adds that.
    pub fn lacks_column(&self) -> Result<bool, Error> {
        let snapshot = self.snapshot()?;
        let has_vectors = snapshot.header().shape.is_relative();
        Ok(has_vectors
            && snapshot
                .embedded()
                .is_some_and(|snapshot| !snapshot.has_column()))
    }

    /// Refuses to look by meaning alone where that is not possible.
    pub(crate) fn check_candidates(&self, candidates: FindBy) -> Result<(), Error> {
        match candidates == FindBy::Meaning && !self.finds_by_meaning() {
            true => Err(Error::Options(
                "this index has no column of vectors to find documents by meaning with; `becr compact` adds it to an index \
                 of an earlier version, an index in a cluster and one of a model without vectors have none",
            )),
            false => Ok(()),
        }
    }
}

impl Ranking<'_> {
    /// The candidates of a query: the first `depth` of `hits`, and the `depth` documents whose vectors are nearest.
    pub(crate) fn find(
        &self,
        text: &str,
        hits: Vec<Hit>,
        depth: usize,
        candidates: FindBy,
    ) -> Result<CandidateList, Error> {
        let begun = Instant::now();
        let snapshot = &*self.view.snapshot()?;
        let mut rest: Vec<Listed> = unranked(hits);
        let mut list: Vec<Listed> = match candidates {
            FindBy::Meaning => Vec::new(),
            _ => rest.drain(..depth.min(rest.len())).collect(),
        };
        let ids: Vec<&str> = list.iter().map(|listed| listed.id.as_str()).collect();
        let (query, mut numbers) = self.query(snapshot, text, &ids)?;
        let look_up = begun.elapsed();
        let begun = Instant::now();
        if candidates != FindBy::Words
            && let Some(direction) = query.direction()
            && let Some(found) = self.nearest(snapshot, &direction, depth)?
        {
            let mut places: HashMap<u64, usize> = HashMap::new();
            places.extend(
                (0..)
                    .zip(&numbers)
                    .filter_map(|(at, number)| Some(((*number)?, at))),
            );
            let mut new = Vec::new();
            for (rank, (number, id)) in (1..).zip(found) {
                if let Some(&at) = places.get(&number) {
                    list[at].by_meaning = Some(rank);
                    continue;
                }
                let listed = Listed {
                    id,
                    score: None,
                    by_words: None,
                    by_meaning: Some(rank),
                };
                new.push(number);
                numbers.push(Some(number));
                list.push(listed);
            }
            let scores = Bm25Query::new(snapshot, text)?.scores(snapshot, &new)?;
            let first = list.len() - new.len();
            for (listed, score) in list[first..].iter_mut().zip(scores) {
                listed.score = score;
            }
        }
        // What words found beyond the depth may have been found by meaning.
        let mut by_id: HashMap<String, usize> = HashMap::new();
        by_id.extend(
            list.iter()
                .enumerate()
                .map(|(at, listed)| (listed.id.clone(), at)),
        );
        let candidates = list.len();
        for hit in rest {
            match by_id.get(&hit.id) {
                Some(&at) => list[at].by_words = hit.by_words,
                None => list.push(hit),
            }
        }
        Ok(CandidateList {
            query,
            list,
            candidates,
            numbers,
            look_up,
            meaning: begun.elapsed(),
        })
    }
}

impl Ranking<'_> {
    /// Numbers and ids of the documents whose vectors are nearest; `None` where nobody has a column of them. A cluster has none:
    /// there the index that finds candidates by words finds them by meaning, too.
    fn nearest(
        &self,
        snapshot: &impl StoreContents,
        direction: &[f32],
        depth: usize,
    ) -> Result<Option<Vec<(u64, String)>>, Error> {
        if let Some(nears) = snapshot.nearest(direction, depth)? {
            return Ok(Some(nearest_ids(snapshot, nears, depth)?));
        }
        let Finder::Of(other) = &self.view.state().candidates else {
            return Ok(None);
        };
        let other = &*other.snapshot()?;
        if other.header().encoder_id != snapshot.header().encoder_id {
            return Ok(None);
        }
        let Some(nears) = other.nearest(direction, depth)? else {
            return Ok(None);
        };
        let found = nearest_ids(other, nears, depth)?;
        let ids: Vec<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
        let numbers = snapshot.numbers(&ids)?;
        let known = found.into_iter().zip(numbers);
        Ok(Some(
            known
                .filter_map(|((_, id), number)| Some((number?, id)))
                .collect(),
        ))
    }

    /// Ranks a list of candidates.
    pub(crate) fn rank_list(
        &self,
        listed: &CandidateList,
        work: &mut RankWorkspace,
    ) -> Result<RerankAnswer, Error> {
        let candidates = listed.list[..listed.candidates].iter();
        let candidates: Vec<Candidate<'_>> = candidates.map(Listed::candidate).collect();
        let snapshot = &*self.view.snapshot()?;
        let (query, numbers) = (listed.query.clone(), &listed.numbers);
        self.rank_numbers(
            snapshot,
            query,
            (&candidates, numbers),
            listed.look_up,
            work,
        )
    }
}

/// Numbers and ids of the nearest documents, ties by id, so that their order does not depend on how the index came to be.
fn nearest_ids(
    snapshot: &impl StoreContents,
    nears: Vec<Near>,
    wanted: usize,
) -> Result<Vec<(u64, String)>, Error> {
    let numbers: Vec<u64> = nears.iter().map(|near| near.number).collect();
    let ids = snapshot.ids(&numbers)?;
    let named = nears.into_iter().zip(ids);
    let mut named: Vec<(Near, String)> = named.filter_map(|(near, id)| Some((near, id?))).collect();
    named.sort_by(|(a, a_id), (b, b_id)| {
        b.similarity
            .total_cmp(&a.similarity)
            .then_with(|| a_id.cmp(b_id))
    });
    named.truncate(wanted);
    Ok(named
        .into_iter()
        .map(|(near, id)| (near.number, id))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for one in FindBy::ALL {
            assert_eq!(one.name().parse(), Ok(one));
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{one}\""));
        }
        assert!(
            "BM25"
                .parse::<FindBy>()
                .unwrap_err()
                .contains("words, meaning or both")
        );
    }
}
