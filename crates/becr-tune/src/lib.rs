//! Fine-tuning: the weights of a list-wise head ([`becr_model::Head::is_list_wise`]), fitted to a few judgements.
//!
//! A score is a sum of parts, each with a weight of the head: the first stage and other lexical features, kernels, document
//! vector, likeness to the best candidates, named features. Each part is given a **multiplier** a, 1 at the start; lexical
//! features that the head does not have may join, from 0. With x for what the parts add to a candidate's score at the start,
//! relevant candidates shall be likely under softmax(4·c·Σ a·x):
//!
//! ```text
//! minimise  mean over queries of cross-entropy  +  ρ·25/queries·Σ (a − a₀)²      a ≥ 0
//! ```
//!
//! c brings the scores of the starting head to the size at which they predict best, so that the fit spends no step on that
//! size. A multiplier is never negative: a better match never begins to count against a document. The problem is convex and
//! has one solution. Of the way there only half is taken, because 25 queries say more of themselves than of the next ones.
//!
//! Folds repeat all of it without a fifth of the queries, which then are measured (nDCG@10): the report has the mean gain with
//! its interval. The new head is kept unless that gain is more than one standard error below 0. To ask for a gain that is
//! certain would throw most gains away: 25 queries cannot tell (`lab/docs/research/fine-tuning-2026-11.md` has the measurements).
//!
//! Where S_deep is relative to the list, changing the balance of kernels and document vector changes the list's deviation too.
//! The fit takes that for constant; the head that is written, and measured by the folds, makes up for it on average.

mod config;
mod data;
mod error;
mod example;
mod fit;
mod folds;
mod head;
mod outcome;

pub use config::{Config, SetConfig};
pub use error::TuneError;
pub use outcome::{Outcome, TunedWeight, Verdict};

use example::{Example, Parameters};

/// Fits a head to the judgements of a configuration and writes it where that says; the old one, if the new one is worse.
/// `done` is told how many of how many queries have been measured.
pub fn tune(config: &Config, done: &(dyn Fn(usize, usize) + Sync)) -> Result<Outcome, TuneError> {
    let data = data::read(config, done)?;
    let parameters = Parameters::new(&data.head, &data.lists, config);
    let examples: Vec<Example> = data
        .lists
        .iter()
        .filter_map(|list| Example::new(list, &parameters))
        .collect();
    if examples.len() < config.least_queries() {
        return Err(TuneError::TooFew {
            found: examples.len(),
            least: config.least_queries(),
            judged: data.lists.len(),
        });
    }
    let held_out = folds::measure(&examples, &parameters, config)?;
    let everything: Vec<&Example> = examples.iter().collect();
    let tuned = folds::step(&everything, &parameters, config);
    let tuned_head = head::tuned(&data.head, &parameters, &tuned);
    let outcome = Outcome::new(config, &data, &parameters, &tuned, &held_out);
    let head = match outcome.verdict {
        Verdict::Loss => data.head,
        _ => head::about(tuned_head, &outcome),
    };
    head.write(&config.out)?;
    Ok(outcome)
}
