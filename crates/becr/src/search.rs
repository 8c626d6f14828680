//! A search: the first stage, then the ranker.

use crate::candidates::{Listed, unranked};
use crate::rerank::{Candidate, GroupCoverage, RankTiming, RerankAnswer, scores_below};
use crate::{CandidateSource, Error, FindBy, Generation, Reasons, SearchOptions, Snippet, View};
use serde::Serialize;
use std::time::{Duration, Instant};

/// What a search found.
#[derive(Debug, Clone)]
pub struct SearchAnswer {
    /// Best first.
    pub results: Vec<SearchResult>,
    /// How much of the query the token store has; `None` where BM25 ranked.
    pub coverage: Option<GroupCoverage>,
    /// The state that was searched.
    pub generation: Generation,
    /// Where the time went.
    pub timing: SearchTiming,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchResult {
    /// From 1.
    pub rank: usize,
    /// The document.
    pub id: String,
    /// Its title; `None` if it was not asked for.
    pub title: Option<String>,
    /// What it is ranked by.
    pub score: f32,
    /// Its rank by words, from 1; `None` for one that meaning alone found.
    pub first_stage_rank: Option<usize>,
    /// Its rank by meaning, from 1; `None` for one that words alone found, and where it was not looked for by meaning.
    pub meaning_rank: Option<usize>,
    /// The first stage's score, whoever found it.
    pub first_stage_score: f32,
    /// The parts of the score; `None` for a document that BM25 ranked.
    pub parts: Option<ScoreParts>,
    /// The largest contributions, if asked for.
    pub reasons: Option<Reasons>,
    /// The passage nearest to the query, if asked for and texts are kept.
    pub snippet: Option<Snippet>,
}

/// The parts of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoreParts {
    /// S_deep.
    pub deep: f32,
    /// S_lexi.
    pub lexi: f32,
    /// S_others.
    pub others: f32,
}

/// Milliseconds by stage; those of the ranker are absent where it was not asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SearchTiming {
    /// The model and its encoder, where they were not in memory yet.
    pub load: f64,
    /// BM25.
    pub first_stage: f64,
    /// Finding the documents whose vectors are nearest; 0 where that was not asked for.
    pub meaning: f64,
    /// The ranker.
    #[serde(flatten)]
    pub ranking: Option<StageTiming>,
    /// All of it, details too.
    pub total: f64,
}

/// Milliseconds of the ranker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct StageTiming {
    /// The query's words and token groups.
    pub look_up: f64,
    /// The documents' records.
    pub fetch: f64,
    /// Lexical features.
    pub lexical: f64,
    /// Footprints and kernels.
    pub deep: f64,
}

impl From<RankTiming> for StageTiming {
    fn from(timing: RankTiming) -> Self {
        Self {
            look_up: milliseconds(timing.look_up),
            fetch: milliseconds(timing.fetch),
            lexical: milliseconds(timing.lexical),
            deep: milliseconds(timing.deep),
        }
    }
}

impl SearchTiming {
    /// Name and milliseconds of each stage, in the order of a search.
    pub fn stages(&self) -> Vec<(&'static str, f64)> {
        let mut stages = vec![("first stage", self.first_stage)];
        if self.load >= 1.0 {
            stages.insert(0, ("load", self.load));
        }
        if let Some(ranking) = self.ranking {
            stages.push(("meaning", self.meaning));
            stages.extend([
                ("look-up", ranking.look_up),
                ("fetch", ranking.fetch),
                ("lexical", ranking.lexical),
                ("deep", ranking.deep),
            ]);
        }
        stages.push(("total", self.total));
        stages
    }

    /// The mean of several searches of the same kind.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        let ranked = |of: fn(&StageTiming) -> f64| {
            let each = all.iter().filter_map(|timing| timing.ranking.as_ref());
            each.map(of).sum::<f64>() / all.len().max(1) as f64
        };
        let ranking = all.iter().any(|timing| timing.ranking.is_some());
        Self {
            load: mean(|timing| timing.load),
            first_stage: mean(|timing| timing.first_stage),
            meaning: mean(|timing| timing.meaning),
            ranking: ranking.then(|| StageTiming {
                look_up: ranked(|timing| timing.look_up),
                fetch: ranked(|timing| timing.fetch),
                lexical: ranked(|timing| timing.lexical),
                deep: ranked(|timing| timing.deep),
            }),
            total: mean(|timing| timing.total),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl View {
    /// Finds candidates, by BM25 and by meaning unless told otherwise, and ranks them.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<SearchAnswer, Error> {
        let begun = Instant::now();
        let ranking = match &options.rank {
            Some(rank) => Some(self.ranking(rank)?),
            None => None,
        };
        let load = milliseconds(begun.elapsed());
        if ranking.is_some() {
            self.check_candidates(options.find_by)?;
        }
        let searching = Instant::now();
        let hits = match (&ranking, options.find_by) {
            (Some(_), FindBy::Meaning) => Vec::new(),
            (Some(_), _) => self.find(query, options.k.max(options.depth))?,
            (None, _) => self.find(query, options.k)?,
        };
        let first_stage = milliseconds(searching.elapsed());
        let (mut found, mut meaning, mut candidates) = (None, Duration::ZERO, 0);
        let list = match &ranking {
            None => unranked(hits),
            Some(ranking) => {
                let listed = ranking.find(query, hits, options.depth, options.find_by)?;
                candidates = listed.candidates;
                meaning = listed.meaning;
                found = Some(self.with_workspace(|work| ranking.rank_list(&listed, work))?);
                listed.list
            }
        };
        let entries: Vec<Candidate<'_>> = list.iter().map(Listed::candidate).collect();
        let entries = &entries[..candidates];
        let mut results = Vec::with_capacity(options.k.min(list.len()));
        let mut order = order(&list, found.as_ref());
        order.truncate(options.k);
        let mut reasons = Vec::new().into_iter();
        if let (Some(ranking), Some(answer), true) = (&ranking, &found, options.details.reasons) {
            let ranked = order.iter().filter(|(_, _, parts)| parts.is_some());
            let places: Vec<usize> = ranked.map(|(place, _, _)| *place).collect();
            let explained =
                self.with_workspace(|work| ranking.explain(answer, entries, &places, work))?;
            reasons = explained.into_iter();
        }
        for (rank, (place, score, parts)) in (1..).zip(order) {
            let mut result = SearchResult {
                rank,
                id: list[place].id.clone(),
                title: None,
                score,
                first_stage_rank: list[place].by_words,
                meaning_rank: list[place].by_meaning,
                first_stage_score: list[place].score.unwrap_or_default(),
                parts,
                reasons: None,
                snippet: None,
            };
            if options.details.title {
                result.title = Some(self.title(&list[place].id)?);
            }
            if let (Some(ranking), Some(answer), Some(_)) = (&ranking, &found, parts) {
                result.reasons = reasons.next().map(|one| Reasons::of(&one));
                if options.details.snippet {
                    result.snippet =
                        self.with_workspace(|work| ranking.snippet(answer, &list[place].id, work))?;
                }
            }
            results.push(result);
        }
        Ok(SearchAnswer {
            results,
            coverage: found.as_ref().map(RerankAnswer::coverage),
            generation: self.generation(),
            timing: SearchTiming {
                load,
                first_stage,
                meaning: milliseconds(meaning),
                ranking: found.map(|found| found.timing.into()),
                total: milliseconds(begun.elapsed()),
            },
        })
    }
}

/// The whole list in its final order: place in the list, score, and its parts if it was re-ranked. What the ranker did
/// not see comes behind, in the order of the first stage.
fn order(list: &[Listed], answer: Option<&RerankAnswer>) -> Vec<(usize, f32, Option<ScoreParts>)> {
    let Some(answer) = answer else {
        let unchanged = list.iter().enumerate();
        return unchanged
            .map(|(place, hit)| (place, hit.score.unwrap_or_default(), None))
            .collect();
    };
    let ranked = answer.order.iter().map(|(place, scored)| {
        let parts = ScoreParts {
            deep: scored.deep,
            lexi: scored.lexi,
            others: scored.others,
        };
        (*place, scored.score, Some(parts))
    });
    let seen = answer.order.len() + answer.unknown.len();
    let lowest = answer.order.last().map(|(_, scored)| scored.score);
    let behind = answer.unknown.iter().copied().chain(seen..list.len());
    let behind = behind.zip(scores_below(lowest));
    ranked
        .chain(behind.map(|(place, score)| (place, score, None)))
        .collect()
}
