//! The native part of the Python package `becr`: the library's types as Python classes, and nothing that Python can do
//! as well.
//!
//! | module | job |
//! |---|---|
//! | `index` | an index: open, build, change, look after |
//! | `rank` | search, re-rank and explain on it |
//! | `candidates`, `options` | what a Python caller gives, as the library takes it |
//! | `answers` | what the library gives, as Python classes and numpy arrays |
//! | `documents` | documents out of Python iterators and out of files |
//! | `observer` | progress and Ctrl-C |
//! | `process` | what a forked child must not touch |
//! | `encoder`, `evaluation`, `models` | vectors, measures, models |
//! | `errors` | our messages as Python exceptions |
// Python's arguments become owned values before a function is called.
#![allow(clippy::needless_pass_by_value)]

mod answers;
mod candidates;
mod documents;
mod encoder;
mod errors;
mod evaluation;
mod index;
mod models;
mod observer;
mod options;
mod process;
mod rank;

/// What `import becr._becr` gives.
#[pyo3::pymodule]
mod _becr {
    #[pymodule_export]
    use super::answers::{Ranking, SearchAnswer, SearchResult, Snippet};
    #[pymodule_export]
    use super::encoder::NativeEncoder;
    #[pymodule_export]
    use super::evaluation::evaluate;
    #[pymodule_export]
    use super::index::NativeIndex;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
