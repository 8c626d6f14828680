//! Trustworthy numbers for ranking.
//!
//! Judgements ([`Qrels`]) and answers ([`Run`]) come from TREC files, [`evaluate`] turns them into the
//! values of [`Measure`]s with `trec_eval`'s conventions, [`paired_t_test`] says whether two systems
//! differ, [`Buckets`] break the means down by query length, [`Table`] and [`Plot`] show them. [`Folds`]
//! keep training and testing apart.
//!
//! ```
//! use becr_eval::{OnError, Scope, evaluate, parse_measures, parse_qrels, parse_run};
//! use std::path::Path;
//!
//! let qrels = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 -2\n";
//! let run = "q1 Q0 d1 1 9.5 becr\nq1 Q0 d7 2 8.0 becr\nq1 Q0 d2 3 1.25 becr\n";
//! let (qrels, _) = parse_qrels(qrels.as_bytes(), Path::new("qrels.txt"), OnError::Stop)?;
//! let (run, _) = parse_run(run.as_bytes(), Path::new("becr.run"), OnError::Stop)?;
//!
//! let measures = parse_measures("P@3 RR AP")?;
//! let evaluation = evaluate(&qrels, &run, &measures, Scope::Answered);
//! assert_eq!(evaluation.per_query["q1"], [2.0 / 3.0, 1.0, (1.0 + 2.0 / 3.0) / 2.0]);
//! # Ok::<(), becr_eval::Error>(())
//! ```

mod error;
mod evaluate;
mod features;
mod folds;
mod length;
mod lines;
mod measure;
mod plot;
mod qrels;
mod run;
mod stats;
mod table;
mod triples;
mod write;

pub use error::Error;
pub use evaluate::{Evaluation, Scope, evaluate};
pub use features::{PairFeatures, read_features};
pub use folds::{Fold, Folds, read_ids};
pub use length::{Bucket, Buckets};
pub use lines::{OnError, Skips};
pub use measure::{Kind, Measure, parse_measures};
pub use plot::{Panel, Plot, Series};
pub use qrels::{Qrels, parse_qrels, read_qrels};
pub use run::{Candidates, Run, parse_run, ranking, read_candidates, read_run};
pub use stats::{Correction, Estimate, TTest, estimate, paired_t_test};
pub use table::Table;
pub use triples::read_triples;
pub use write::{write_atomically, write_run, write_run_to};
