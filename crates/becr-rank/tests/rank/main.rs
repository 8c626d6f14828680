//! The ranker on small generated collections: against slow implementations written from the formulas, and against
//! itself taken apart.

mod ablation;
mod collection;
mod deep;
mod explain;
mod input;
mod lexical;
mod list;
mod mix;
mod one_vector;
mod pairs;
mod plan;
mod remote;
mod slow;
mod stores;
