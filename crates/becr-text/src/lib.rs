//! Text as BECR reads it, decided once for every other crate.
//!
//! | module | job |
//! |---|---|
//! | [`words`] | words: lower-cased, accents stripped, split at punctuation, as BERT's basic tokenizer does |
//! | [`pieces`] | WordPieces with byte offsets, each of which knows its word |
//! | [`lexical`] | stop words and stems, for BM25 and the lexical features |
//! | [`groups`] | a query decomposed into token groups with their weights |
//!
//! ```
//! use becr_text::groups::{Decomposition, Query};
//!
//! let query = Query::new("Neural ranking model", &Decomposition::default());
//! let neural = &query.terms[0];
//! let weights: Vec<f32> = neural.members.iter().map(|m| m.weight).collect();
//! assert_eq!(weights, [0.25, 1.0, 0.5]); // "neural", "neural ranking", "neural … model"
//! ```

pub mod groups;
pub mod lexical;
pub mod pieces;
pub mod words;
