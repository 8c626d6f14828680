//! Validation: a real re-ranking, by the ranker that serves.

use crate::{TrainError, Validation, ValidationQuery};
use becr_eval::{Run, Scope, evaluate, parse_measures};
use becr_lmdb::Store;
use becr_rank::{Candidate, RankError, RankOptions, RankWorkspace, Ranker, Scored};
use rayon::prelude::*;

/// Mean nDCG@10 over all validation queries; one without candidates counts as 0.
pub(crate) fn ndcg(validation: &Validation, run: &Run) -> Result<f64, TrainError> {
    let measures = parse_measures("nDCG@10")?;
    let evaluation = evaluate(&validation.qrels, run, &measures, Scope::Complete);
    Ok(evaluation.mean(0).unwrap_or(0.0))
}

/// Re-ranks the candidates of all queries.
pub(crate) fn rerank(
    validation: &Validation,
    store: &Store,
    ranker: &Ranker,
) -> Result<Run, TrainError> {
    let scored: Vec<Vec<f32>> = validation
        .queries
        .par_iter()
        .map_init(RankWorkspace::new, |work, query| {
            scores(query, store, ranker, work)
        })
        .collect::<Result<_, _>>()?;
    let mut run = Run::new("becr");
    for (query, scores) in validation.queries.iter().zip(scored) {
        for ((id, _), score) in query.candidates.iter().zip(scores) {
            run.push(&query.id, id.as_str(), f64::from(score));
        }
    }
    Ok(run)
}

fn scores(
    query: &ValidationQuery,
    store: &Store,
    ranker: &Ranker,
    work: &mut RankWorkspace,
) -> Result<Vec<f32>, TrainError> {
    let snapshot = store.snapshot()?;
    let asked = ranker.query(&snapshot, &query.query, &RankOptions::composed(), None)?;
    let candidates: Vec<_> = query
        .candidates
        .iter()
        .map(|(_, candidate)| Candidate {
            number: candidate.number,
            first_stage: candidate.first_stage,
            ..Default::default()
        })
        .collect();
    let scored = ranker.score(&asked, &snapshot, &candidates, work)?;
    let score = |(scored, candidate): (&Option<Scored>, &Candidate<'_>)| match scored {
        Some(scored) => Ok(scored.score),
        None => Err(RankError::NoDocument(candidate.number).into()),
    };
    scored.iter().zip(&candidates).map(score).collect()
}
