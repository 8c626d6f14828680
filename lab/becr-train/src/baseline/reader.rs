//! From texts to what a baseline reads.

use super::directory::Baseline;
use super::options::{BaselineConfig, BaselineKind};
use crate::TrainError;
use crate::batch::{Deep, Joined, JoinedPieces, LatePairs, Sequences, Tokens, WordPairs, WordRows};
use crate::texts::padding::shares;
use becr_encoder::segments;
use becr_text::pieces::WordPieces;
use becr_text::words::words;
use rayon::prelude::*;
use std::collections::HashMap;

/// Shapes are rounded up to multiples of these, so that a GPU meets few of them.
const QUERY_STEP: usize = 8;
const DOCUMENT_STEP: usize = 32;

/// Title and text of a document.
pub(super) type DocumentText<'a> = (&'a str, &'a str);

/// Reads texts for one baseline.
pub(super) struct TextReader {
    config: BaselineConfig,
    by: By,
}

enum By {
    /// Rows of the table of vectors; row 0 is padding.
    Words(HashMap<String, i32>),
    Pieces(Box<Pieces>),
}

struct Pieces {
    pieces: WordPieces,
    /// Longest sequence of the encoder.
    max_tokens: usize,
    /// ColBERT's `[Q]`, `[D]` and `[MASK]`, where the vocabulary has them.
    query_mark: Option<u32>,
    document_mark: Option<u32>,
    mask: Option<u32>,
}

impl TextReader {
    /// Reads as a baseline does that is served.
    pub(super) fn new(baseline: &Baseline) -> Result<Self, TrainError> {
        Self::with(baseline, baseline.config.clone())
    }

    /// Reads as a baseline does that learns.
    pub(super) fn in_training(baseline: &Baseline) -> Result<Self, TrainError> {
        Self::with(baseline, baseline.config.in_training())
    }

    fn with(baseline: &Baseline, config: BaselineConfig) -> Result<Self, TrainError> {
        let by = match &baseline.model {
            None => {
                let rows = baseline.words.iter().cloned().zip(1..);
                By::Words(rows.collect())
            }
            Some(model) => {
                let pieces = WordPieces::from_dir(&model.directory)?;
                By::Pieces(Box::new(Pieces {
                    query_mark: pieces.id("[unused0]"),
                    document_mark: pieces.id("[unused1]"),
                    mask: pieces.id("[MASK]"),
                    pieces,
                    max_tokens: model.config.max_position_embeddings,
                }))
            }
        };
        Ok(Self { config, by })
    }

    /// What there is to know of the vocabulary before a training.
    pub(super) fn note(&self) -> Option<String> {
        let By::Pieces(by) = &self.by else {
            return None;
        };
        if self.config.kind != BaselineKind::Colbert {
            return None;
        }
        let missing: Vec<&str> = [
            ("[unused0]", by.query_mark),
            ("[unused1]", by.document_mark),
            ("[MASK]", by.mask),
        ]
        .iter()
        .filter(|(_, id)| id.is_none())
        .map(|(name, _)| *name)
        .collect();
        (!missing.is_empty()).then(|| {
            format!(
                "the vocabulary has no {}: queries and documents go without",
                missing.join(", ")
            )
        })
    }

    /// Queries with so many candidates each, `None` where there are fewer.
    pub(super) fn read(
        &self,
        queries: &[&str],
        documents: &[Option<DocumentText<'_>>],
        candidates: usize,
    ) -> Deep {
        match &self.by {
            By::Words(rows) => {
                Deep::Words(Box::new(self.words(rows, queries, documents, candidates)))
            }
            By::Pieces(by) => match self.config.kind {
                BaselineKind::Colbert => Deep::Late(Box::new(self.apart(by, queries, documents))),
                _ => Deep::Pieces(Box::new(self.joined(by, queries, documents))),
            },
        }
    }

    fn words(
        &self,
        rows: &HashMap<String, i32>,
        queries: &[&str],
        documents: &[Option<DocumentText<'_>>],
        candidates: usize,
    ) -> WordPairs {
        // A word without a vector is left out.
        let known = |texts: [&str; 2], most: usize| -> Vec<i32> {
            let words = texts.into_iter().flat_map(words);
            let rows = words.filter_map(|word| rows.get(&word.text).copied());
            rows.take(most).collect()
        };
        let queries = queries
            .iter()
            .map(|query| known([query, ""], self.config.query_tokens));
        let queries = queries.flat_map(|query| std::iter::repeat_n(query, candidates));
        let documents = documents.par_iter().map(|document| match document {
            Some((title, text)) => known([title, text], self.config.max_document_tokens),
            None => Vec::new(),
        });
        WordPairs {
            queries: WordRows::of(&queries.collect::<Vec<_>>(), QUERY_STEP),
            documents: WordRows::of(&documents.collect::<Vec<_>>(), DOCUMENT_STEP),
        }
    }

    /// The WordPieces of documents, and which of them are punctuation.
    fn documents(
        &self,
        by: &Pieces,
        documents: &[Option<DocumentText<'_>>],
    ) -> Vec<(Vec<u32>, Vec<bool>)> {
        let read = documents.par_iter().map(|document| match document {
            Some((title, text)) => {
                let mut pieces = by.pieces.document(title, text).pieces;
                pieces.ids.truncate(self.config.max_document_tokens);
                pieces.words.truncate(self.config.max_document_tokens);
                let punctuation = pieces.words.iter().map(Option::is_none);
                (pieces.ids, punctuation.collect())
            }
            None => (Vec::new(), Vec::new()),
        });
        read.collect()
    }

    /// `[CLS] query [SEP] piece [SEP]`.
    fn joined(
        &self,
        by: &Pieces,
        queries: &[&str],
        documents: &[Option<DocumentText<'_>>],
    ) -> JoinedPieces {
        let special = by.pieces.special;
        let longest = self
            .config
            .query_tokens
            .min((by.max_tokens / 2).saturating_sub(2));
        let queries = queries.iter().map(|query| {
            let mut ids = by.pieces.pieces(query).ids;
            ids.truncate(longest);
            ids
        });
        let queries: Vec<Vec<u32>> = queries.collect();
        let documents = self.documents(by, documents).into_iter();
        let documents: Vec<Vec<u32>> = documents.map(|(ids, _)| ids).collect();
        join(
            [special.cls, special.sep],
            &queries,
            &documents,
            by.max_tokens,
        )
    }

    /// `[CLS] [Q] query [SEP] [MASK] …`, and `[CLS] [D] piece [SEP]`.
    fn apart(
        &self,
        by: &Pieces,
        queries: &[&str],
        documents: &[Option<DocumentText<'_>>],
    ) -> LatePairs {
        let special = by.pieces.special;
        let length = self
            .config
            .query_tokens
            .clamp(4.min(by.max_tokens), by.max_tokens);
        let marked = |mark: Option<u32>| std::iter::once(special.cls).chain(mark);
        let (mut sequences, mut attended) = (Vec::new(), Vec::new());
        for query in queries {
            let mut sequence: Vec<u32> = marked(by.query_mark).collect();
            sequence.extend(by.pieces.pieces(query).ids);
            sequence.truncate(length - 1);
            sequence.push(special.sep);
            attended.push(sequence.len());
            if let Some(mask) = by.mask {
                sequence.resize(length, mask);
            }
            sequences.push(sequence);
        }
        let mut queries = Sequences::of(&sequences, sequences.len(), length, by.max_tokens);
        let mut terms = vec![0.0; sequences.len() * queries.length];
        for (row, sequence) in terms.chunks_exact_mut(queries.length).zip(&sequences) {
            row[..sequence.len()].fill(1.0);
        }
        queries.tokens = attended;
        let mut framed = Vec::new();
        let mut compared: Vec<Vec<(usize, usize)>> = Vec::new();
        let marks = marked(by.document_mark).count();
        for (ids, punctuation) in self.documents(by, documents) {
            let mut tokens = Vec::new();
            let mut done = 0;
            for piece in segments(ids.len(), by.max_tokens - 1 - marks) {
                let piece = &ids[piece];
                let row = framed.len();
                framed.push(
                    marked(by.document_mark)
                        .chain(piece.iter().copied())
                        .chain([special.sep])
                        .collect::<Vec<u32>>(),
                );
                let kept = |at: &usize| {
                    let piece_at = at.checked_sub(marks).filter(|at| *at < piece.len());
                    piece_at.is_none_or(|at| !punctuation[done + at])
                };
                tokens.extend(
                    (0..piece.len() + marks + 1)
                        .filter(kept)
                        .map(|at| (row, at)),
                );
                done += piece.len();
            }
            compared.push(tokens);
        }
        let padded = Sequences::of(&framed, framed.len(), DOCUMENT_STEP, by.max_tokens);
        let places: Vec<Vec<(usize, f32)>> = compared
            .into_iter()
            .map(|tokens| {
                let places = tokens.into_iter();
                places
                    .map(|(row, at)| (row * padded.length + at, 1.0))
                    .collect()
            })
            .collect();
        LatePairs {
            queries,
            terms,
            tokens: Tokens::of(&places, DOCUMENT_STEP),
            documents: padded,
        }
    }
}

/// `[CLS] query [SEP] piece [SEP]` for the pieces of every document, of which each query has as many. `marks` are `[CLS]` and `[SEP]`.
pub(super) fn join(
    marks: [u32; 2],
    queries: &[Vec<u32>],
    documents: &[Vec<u32>],
    max_tokens: usize,
) -> JoinedPieces {
    let [cls, sep] = marks;
    let candidates = documents.len() / queries.len().max(1);
    let (mut sequences, mut second, mut of_pair) = (Vec::new(), Vec::new(), Vec::new());
    for (pair, document) in documents.iter().enumerate() {
        let query = &queries[pair / candidates];
        let first = sequences.len();
        for piece in segments(document.len(), max_tokens - 3 - query.len()) {
            let piece = &document[piece];
            sequences.push([&[cls], &query[..], &[sep], piece, &[sep]].concat());
            second.push(query.len() + 2);
        }
        of_pair.push(first..sequences.len());
    }
    let rows = sequences.len();
    let padded = Sequences::of(&sequences, rows, DOCUMENT_STEP, max_tokens);
    let pieces = of_pair
        .iter()
        .map(ExactSizeIterator::len)
        .max()
        .unwrap_or(1);
    let counts: Vec<usize> = of_pair.iter().map(ExactSizeIterator::len).collect();
    let (mut terms, mut tokens) = (Vec::new(), Vec::new());
    for (pair, range) in of_pair.iter().enumerate() {
        let query = queries[pair / candidates].len();
        let share = 1.0 / range.len() as f32;
        for piece in 0..pieces {
            // The last pieces that only other documents have are nothing.
            let row = range.clone().nth(piece);
            terms.push(row.map_or_else(Vec::new, |row| {
                let first = row * padded.length + 1;
                (first..first + query).map(|place| (place, share)).collect()
            }));
        }
        let tokens_of = |row: usize| {
            let first = row * padded.length;
            // Behind [CLS], query and [SEP], and without the last [SEP].
            (first + query + 2..first + sequences[row].len() - 1).map(|place| (place, 1.0))
        };
        tokens.push(range.clone().flat_map(tokens_of).collect());
    }
    JoinedPieces {
        joined: Joined {
            sequences: padded.with_second(second),
            shares: shares(&counts),
        },
        pieces,
        terms: Tokens::of(&terms, QUERY_STEP),
        tokens: Tokens::of(&tokens, DOCUMENT_STEP),
    }
}

impl WordRows {
    pub(super) fn of(rows: &[Vec<i32>], step: usize) -> Self {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let length = longest.max(1).next_multiple_of(step);
        let mut made = Self {
            length,
            ids: vec![0; rows.len() * length],
            valid: vec![0.0; rows.len() * length],
        };
        for (number, row) in rows.iter().enumerate() {
            made.ids[number * length..][..row.len()].copy_from_slice(row);
            made.valid[number * length..][..row.len()].fill(1.0);
        }
        made
    }
}
