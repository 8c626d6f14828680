//! The composite ranker, section 3.2 of the paper: S = S_deep + S_lexi + S_others.
//!
//! | module | job |
//! |---|---|
//! | `ranker` | a [`Ranker`]: a head made ready for an index |
//! | `options` | what may be asked for: [`RankOptions`] |
//! | `plan` | how a query is read and scored, decided once: [`QueryPlan`] |
//! | `query` | a [`RankQuery`]: decomposed, looked up, its words counted in the collection |
//! | `compose` | the vectors of its terms: composed of token groups, or read by the encoder |
//! | `deep` | S_deep: kernels weighted, the document vector |
//! | `lexical` | S_lexi: TF-IDF, BM25, proximity, from one pass over a record's words |
//! | `others` | S_others: CLS and named features |
//! | `score` | candidates scored document by document |
//! | `remote` | scoring where the documents lie |
//! | `list` | what of a score is relative to the list of candidates |
//! | `explain` | a score taken apart, and two scores compared |
//! | `shading` | the words of a text and how near they are to the query |
//! | `features` | the same numbers unweighted, for training |
//! | `order` | from scores to a ranking |
//!
//! The ranker needs documents' records and the collection's statistics, no inverted index: candidates may come from
//! anywhere. What is scored is decided by a [`becr_model::Head`], which documents it is scored against by a store
//! ([`becr_store::DocumentStore`]).
//!
//! # The deep part
//!
//! Every query word that is no stop word (or every word, if there are only stop words or the head says so) is a term,
//! composed of the token groups that the store has. A missing pair is left out; a missing word is its WordPieces, which
//! share its weight; a word of which not even a piece is known has no term. The similarity of a term to a document
//! token is Σ weight·cos(π·h/b) over its groups, the kernels pool the similarities of all tokens at each kept layer,
//! and S_deep = Σ ω·α·ln(ε + Σ kernel), ω being 1, 1/n or idf/Σ idf (idf of the stem in bodies) as the head says.
//! The document-vector similarity compares the same composition at the last kept layer with the document's mean vector; a
//! document without a token has none. With `query_vector: "whole"` it is the cosine of one vector: of an encoded query the
//! mean of all tokens, `[CLS]` and `[SEP]` too, in four bits a dimension as documents' means are; of a composed query the
//! sum of its terms' vectors by ω, brought to length 1.
//!
//! # What is relative to the list
//!
//! A head may have the deep part taken relative to the list of candidates (`deep.scale`), and may count how much a document
//! is like the best of them (`feedback`); [`Scorer::OneVector`] is relative to the list too. With z for what has mean 0 and
//! deviation 1 over the list, x for a candidate's sum of kernels and document vector, v for the query's cosine:
//!
//! | part | value |
//! |---|---|
//! | S_deep | weight·(x − mean)/deviation of the list; fewer than 5 candidates, or all the same: the head's deviation |
//! | `like the best candidates` | weight·z(mean cosine of the document's vector with those of the best others), best by first_stage + vector·z(v); nothing for fewer than 5 candidates |
//! | `one-vector` | first_stage + weight·z(v), and nothing else |
//! | `own_bm25` | where no candidate has a score of the first stage: `sum_bm25`, min–max over the list, in its place |
//!
//! In explanations a term then contributes by how far it is above the average candidate.
//!
//! # Lexical features
//!
//! Words are those of [`becr_text::words`], stop words too: they have positions and count in lengths. The query's
//! **stems** are the distinct stems of its words without stop words (of all its words, if it has nothing else): a
//! repeated word counts once, and words of the same stem are one. Its **pairs** are those of the token groups: two
//! words in their order, at most `window` apart, stop words too, each pair once.
//!
//! With N documents, and by field (title, body): df documents with the stem in the field, tf its occurrences there, len
//! the field's words, avg those of all documents (also the ones without a title) divided by N:
//!
//! | feature | value |
//! |---|---|
//! | idf | ln(1 + (N − df + 0.5) / (df + 0.5)) |
//! | `tfidf` | (1 + ln tf)·idf; 0 if tf = 0 |
//! | `bm25` | idf·tf·(k1 + 1) / (tf + k1·(1 − b + b·len/avg)), k1 = 1.2, b = 0.75 |
//! | `_max` `_min` `_avg` `_sum` | over the stems of the query, those that do not occur with 0 |
//! | `sum_tfidf`, `sum_bm25` | title and body added |
//! | `proximity` | 1/d², d the least distance in words, in either order, of two different stems that form a pair of the query, or with `proximity: "query"` of any two; 0 if they do not both occur. Largest, smallest, mean over such pairs; 0 without any |
//! | `bm25_pairs` | Σ over the pairs of `bm25`, by words and not stems: tf is how often the second follows the first within the window, df is exact for pairs in the token store, 1 for others; with `pair_frequency: "words"` it is estimated, see below |
//! | `first_stage` | the first stage's score, min–max within the list of candidates; 0 when absent, and when all are the same. With this feature scores depend on the list |
//!
//! The estimate of a pair's df is √(max(e, 1)·max(m, 1)), from the df of the stems of its words a and b: e = df_a·df_b/N ·
//! min(1, window/avg), what is to be expected if they had nothing to do with each other, and m, the lesser of the two. It
//! does not depend on what the token store has, nor on the order in which documents came and went.
//!
//! A missing title gives 0 throughout. A worked example, which is also a test:
//!
//! ```
//! use becr_model::Head;
//! use becr_rank::{Candidate, LEXICAL_FEATURES, RankError, RankOptions, RankWorkspace, Ranker};
//! use becr_lmdb::Store;
//! use becr_store::{Header, NewDocument, Shape};
//! use becr_text::groups::TokenGroup;
//! use becr_text::pieces::WordPieces;
//!
//! let folder = tempfile::tempdir()?;
//! let shape = Shape { layers: 1, bits: 32, vector: 0 };
//! let store = Store::create(folder.path(), &Header::new("encoder-1", shape, 3))?;
//! let mut update = store.update()?;
//! update.put_group(&TokenGroup::Pair("river".into(), "bank".into()), &[0; 8])?;
//! for (id, title, text) in [
//!     ("1", "River bank", "The river bank floods when the river rises"), // 8 words
//!     ("2", "Bank loans", "A bank lends money"),                         // 4
//!     ("3", "", "Boats on the river"),                                   // 4: the average is 16/3
//! ] {
//!     update.put(&NewDocument { id, title, text, mean: &[0; 4], ..Default::default() })?;
//! }
//! update.commit()?;
//!
//! let pieces = WordPieces::from_vocab(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "vocab.txt")?;
//! let ranker = Ranker::for_store(store.header(), Head::blank("encoder-1", 1), pieces)?;
//! let snapshot = store.snapshot()?;
//! let query = ranker.query(&snapshot, "river bank", &RankOptions::default(), None)?;
//! let first = Candidate { number: 0, ..Default::default() };
//! let mut values = [0.0; LEXICAL_FEATURES.len()];
//! ranker.features(&query, &snapshot, &[first], &mut RankWorkspace::new(), |document| {
//!     values = *document.lexical();
//!     Ok::<(), RankError>(())
//! })?;
//! let check = |name, expected: f32| {
//!     let place = LEXICAL_FEATURES.iter().position(|known| *known == name).unwrap();
//!     assert!((values[place] - expected).abs() < 1e-4, "{name}: {}", values[place]);
//! };
//! // Body: both stems are in two of three documents, idf = ln(1 + 1.5/2.5) = 0.4700. "river" occurs twice:
//! check("body_tfidf_max", 0.7958); // (1 + ln 2)·0.4700
//! check("body_tfidf_min", 0.4700); // (1 + ln 1)·0.4700
//! check("body_tfidf_avg", 0.6329);
//! check("body_tfidf_sum", 1.2658);
//! // k1·(1 − b + b·8/(16/3)) = 1.2·(0.25 + 1.125) = 1.65.
//! check("body_bm25_max", 0.5666); // 0.4700·2·2.2/(2 + 1.65)
//! check("body_bm25_min", 0.3902); // 0.4700·1·2.2/(1 + 1.65)
//! check("body_bm25_sum", 0.9568);
//! // Title: "river" is in one of them, idf = ln(1 + 2.5/1.5) = 0.9808, "bank" in two; two words, average 4/3.
//! check("title_tfidf_sum", 1.4508); // 0.9808 + 0.4700
//! check("title_bm25_sum", 1.2045); // (0.9808 + 0.4700)·2.2/(1 + 1.65)
//! check("sum_tfidf", 2.7166);
//! check("sum_bm25", 2.1613);
//! // "bank" follows "river" at once, in the title and in the body.
//! check("title_proximity_max", 1.0);
//! check("body_proximity_avg", 1.0);
//! // The pair is in the token store and in one title and one body.
//! check("title_bm25_pairs", 0.8143); // 0.9808·2.2/(1 + 1.65)
//! check("body_bm25_pairs", 0.8143);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The other part
//!
//! γ·CLS as the record has it, if the head has γ; and the head's named features, from the candidate if the caller gave
//! them, or else from the document.
//!
//! # What is not there
//!
//! | input | what happens |
//! |---|---|
//! | a query without words (empty, punctuation) | S_deep and the lexical features but `first_stage` are 0 |
//! | words that are nowhere in the collection or token store | no term; no occurrence, tf = 0; they count in averages |
//! | an emoji | a word like any other; a model that does not know it reads it as \[UNK\], which is a token group too |
//! | more than [`MAX_QUERY_WORDS`] words | the rest is not looked at |
//! | a named feature that is missing, or no finite number | contributes 0, as if it had its mean |
//! | a first-stage score that is missing, or no finite number | the feature is 0, the lowest of the list |
//! | a document twice among the candidates | scored twice, the same |
//! | a number that no document has | [`RankError::NoDocument`] |
//! | a document without a word | scored like any other: no token is near a kernel, every log-sum is ln ε |

mod bm25;
mod compose;
mod deep;
mod error;
mod explain;
mod features;
mod lexical;
mod list;
mod mix;
mod options;
mod order;
mod others;
mod plan;
mod query;
mod ranker;
mod raw;
mod remote;
mod score;
mod shading;
mod vector;

pub use becr_model::QueryMode;
pub use bm25::Bm25Query;
pub use error::RankError;
pub use explain::{
    Cell, ContributionRow, Explanation, FEEDBACK, FeaturePart, OWN_BM25, Part, TermPart, WordPart,
};
pub use features::Examined;
pub use lexical::{
    FEATURES, Field, LEXICAL_FEATURES, LexicalFeature, LexicalValue, Measure, Pool, lexical_feature,
};
pub use list::{ListParts, PartsRow};
pub use mix::{MixedQuery, QueryMixer};
pub use options::{ANCHOR_WEIGHT, Parts, RankOptions, Scorer, Variant};
pub use order::ranking;
pub use plan::{QueryPlan, Reading};
pub use query::{EncodedQuery, GroupUse, MAX_QUERY_WORDS, QueryEncoder, QueryTerm, RankQuery};
pub use ranker::Ranker;
pub use raw::{QueryVectors, RawQuery, RawVectors};
pub use remote::{RankerCache, RemoteQuery, RemoteWorkspace};
pub use score::{Candidate, RankWorkspace, ScoreTiming, Scored};
pub use shading::{ShadedWord, Shading};
