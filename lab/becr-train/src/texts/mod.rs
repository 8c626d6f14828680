//! Batches with the encoder in training: texts of an index as sequences, features as ever from the ranker.

pub(crate) mod padding;

use crate::batch::{Batch, Deep, Joined, Sequences, Split, Terms, Texts};
use crate::frozen::Frozen;
use crate::learn::{Picked, Source};
use crate::random::Random;
use crate::{Example, ModelOptions, QueryMode, TrainError};
use becr_encoder::{Centre, segments};
use becr_lmdb::Store;
use becr_rank::{RankQuery, Ranker};
use becr_text::pieces::WordPieces;
use padding::shares;
use rayon::prelude::*;

/// Purpose of random numbers.
const NOISE: u64 = 3;

/// Shapes are rounded up to multiples of these, so that a GPU meets few of them.
const LENGTH_STEP: usize = 8;
const DOCUMENT_STEP: usize = 32;
const ROW_STEP: usize = 32;

/// What is made of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Query and document apart, as BECR compares them.
    Apart(QueryMode),
    /// In one sequence, for the vanilla ranker.
    Joined,
}

/// An index whose texts are read.
pub(crate) struct TextSource<'a> {
    features: Frozen<'a>,
    store: &'a Store,
    examples: &'a [Example],
    pieces: &'a WordPieces,
    reading: Reading,
    max_document_tokens: usize,
    /// Longest sequence of the encoder.
    max_tokens: usize,
    /// Seed of the noise, if there is any.
    noise: Option<u64>,
}

impl<'a> TextSource<'a> {
    /// Reads the texts of examples.
    pub(crate) fn new(
        store: &'a Store,
        ranker: Ranker,
        pieces: &'a WordPieces,
        examples: &'a [Example],
        reading: Reading,
        options: &ModelOptions,
        max_tokens: usize,
    ) -> Self {
        Self {
            features: Frozen::new(store, ranker, examples, options),
            store,
            examples,
            pieces,
            reading,
            max_document_tokens: options.max_document_tokens,
            max_tokens,
            noise: None,
        }
    }

    /// Adds noise to similarities.
    pub(crate) fn with_noise(mut self, seed: u64) -> Self {
        self.noise = Some(seed);
        self
    }

    /// WordPieces of every document, `[query][candidate]`; none where there is no document.
    fn documents(&self, picked: &[Picked], candidates: usize) -> Result<Vec<Vec<u32>>, TrainError> {
        let snapshot = self.store.snapshot()?;
        let mut texts = Vec::with_capacity(picked.len() * candidates);
        for picked in picked {
            for at in 0..candidates {
                let Some(document) = picked.documents.get(at) else {
                    texts.push(None);
                    continue;
                };
                let text = snapshot
                    .text(document.number)?
                    .ok_or_else(|| TrainError::NoText {
                        id: self.examples[picked.example].id.clone(),
                        number: document.number,
                    })?;
                texts.push(Some(text));
            }
        }
        // A GPU waits for this.
        let documents = texts.par_iter().map(|text| {
            let Some(text) = text else {
                return Vec::new();
            };
            let mut ids = self.pieces.document(&text.title, &text.text).pieces.ids;
            ids.truncate(self.max_document_tokens);
            ids
        });
        Ok(documents.collect())
    }

    fn apart(
        &self,
        queries: &[RankQuery],
        mode: QueryMode,
        documents: &[Vec<u32>],
        kinds: usize,
        pass: usize,
    ) -> Texts {
        let special = self.pieces.special;
        let framed = |ids: &[u32]| [&[special.cls], ids, &[special.sep]].concat();
        let read: Vec<QueryGroups> = queries
            .iter()
            .map(|query| match mode {
                QueryMode::Decomposed => self.decomposed(query),
                QueryMode::Whole => self.whole(query),
            })
            .collect();
        let terms = match mode {
            QueryMode::Decomposed => Terms::of(queries.iter(), kinds),
            QueryMode::Whole => Terms::whole(queries, kinds),
        }
        .padded(queries.len(), kinds);
        let sequences = read
            .iter()
            .flat_map(|read| &read.sequences)
            .map(|ids| framed(ids));
        let sequences: Vec<Vec<u32>> = sequences.collect();
        // Queries without words have none, and no tensor may be empty.
        let rows = sequences.len().max(1).next_multiple_of(ROW_STEP);
        let groups = Sequences::of(&sequences, rows, LENGTH_STEP, self.max_tokens);
        let widest = read
            .iter()
            .flat_map(|read| &read.spans)
            .map(|(_, span)| span.len())
            .max();
        let pieces = widest.unwrap_or(1).next_power_of_two();
        let cells = queries.len() * terms.groups * pieces;
        let (mut places, mut piece_weights) = (vec![0; cells], vec![0.0; cells]);
        let mut first = 0;
        for (number, read) in read.iter().enumerate() {
            for (vector, (sequence, span)) in read.spans.iter().enumerate() {
                let row = (number * terms.groups + vector) * pieces;
                for (at, piece) in span.clone().enumerate() {
                    // [CLS] comes first in the sequence.
                    places[row + at] = ((first + sequence) * groups.length + 1 + piece) as i32;
                    piece_weights[row + at] = 1.0 / span.len() as f32;
                }
            }
            first += read.sequences.len();
        }
        let room = self.max_tokens - 2;
        let of_document: Vec<Vec<Vec<u32>>> = documents
            .iter()
            .map(|ids| {
                let segments = segments(ids.len(), room);
                segments.map(|segment| framed(&ids[segment])).collect()
            })
            .collect();
        let framed = of_document.concat();
        let documents_batch = Sequences::of(&framed, framed.len(), DOCUMENT_STEP, self.max_tokens);
        let split = (framed.len() > documents.len())
            .then(|| Split::of(&of_document, documents_batch.length));
        let valid = match &split {
            Some(split) => split.tokens.valid.clone(),
            None => {
                let mut valid = vec![0.0; documents.len() * documents_batch.length];
                let rows = valid.chunks_exact_mut(documents_batch.length);
                rows.zip(documents)
                    .for_each(|(valid, ids)| valid[1..1 + ids.len()].fill(1.0));
                valid
            }
        };
        Texts {
            terms,
            groups,
            // A whole query is a text; words and pairs stand alone.
            centre: match mode {
                QueryMode::Decomposed => Centre::Groups,
                QueryMode::Whole => Centre::Documents,
            },
            pieces,
            places,
            piece_weights,
            documents: documents_batch,
            split,
            valid,
            noise: self
                .noise
                .map(|seed| Random::new(seed, &[NOISE, pass as u64]).next()),
        }
    }

    /// The token groups of a query that are served.
    fn decomposed(&self, query: &RankQuery) -> QueryGroups {
        let mut read = QueryGroups::default();
        let mut known: Vec<Option<(usize, std::ops::Range<usize>)>> = vec![None; query.vectors()];
        let mut sequences: Vec<&str> = Vec::new();
        for used in query.terms().iter().flat_map(|term| &term.groups) {
            if known[used.vector].is_some() {
                continue;
            }
            let words: Vec<Vec<u32>> = used.group.split(' ').map(|word| self.word(word)).collect();
            let sequence = sequences
                .iter()
                .position(|group| *group == used.group)
                .unwrap_or_else(|| {
                    sequences.push(&used.group);
                    read.sequences.push(words.concat());
                    sequences.len() - 1
                });
            let first = words[0].len();
            let span = match (used.second, words.get(1)) {
                (true, Some(second)) => first..first + second.len(),
                _ => 0..first,
            };
            known[used.vector] = Some((sequence, span));
        }
        read.spans = known.into_iter().flatten().collect();
        read
    }

    /// The query as one sequence, in which every deep term is a span.
    fn whole(&self, query: &RankQuery) -> QueryGroups {
        let mut ids = Vec::new();
        let mut spans = Vec::new();
        for word in query.words() {
            let start = ids.len();
            ids.extend(self.word(word));
            spans.push(start..ids.len());
        }
        let longest = self.max_tokens - 2;
        ids.truncate(longest);
        let inside =
            |span: std::ops::Range<usize>| span.start.min(longest - 1)..span.end.min(longest);
        let terms = query
            .terms()
            .iter()
            .map(|term| (0, inside(spans[term.position].clone())));
        QueryGroups {
            spans: terms.collect(),
            sequences: vec![ids],
        }
    }

    /// The WordPieces of a word; vocabulary entries such as `##ing` stand for themselves, as token groups have it.
    fn word(&self, word: &str) -> Vec<u32> {
        match self.pieces.id(word) {
            Some(id) => vec![id],
            None => self.pieces.pieces(word).ids,
        }
    }

    fn joined(&self, picked: &[Picked], documents: &[Vec<u32>], candidates: usize) -> Joined {
        let special = self.pieces.special;
        let mut sequences = Vec::with_capacity(documents.len());
        let (mut second, mut counts) = (Vec::new(), Vec::new());
        for (picked, documents) in picked.iter().zip(documents.chunks_exact(candidates)) {
            let mut query = self.pieces.pieces(&self.examples[picked.example].query).ids;
            query.truncate((self.max_tokens / 2).saturating_sub(2));
            let room = self.max_tokens - 3 - query.len();
            for document in documents {
                let pieces = segments(document.len(), room);
                counts.push(pieces.len());
                for piece in pieces {
                    let (cls, sep) = ([special.cls], [special.sep]);
                    sequences.push([&cls, &query[..], &sep, &document[piece], &sep].concat());
                    second.push(query.len() + 2);
                }
            }
        }
        Joined {
            sequences: Sequences::of(&sequences, sequences.len(), DOCUMENT_STEP, self.max_tokens)
                .with_second(second),
            shares: shares(&counts),
        }
    }
}

/// The sequences of a query's token groups, and where in them each of its vectors lies: sequence and WordPieces.
#[derive(Debug, Default)]
struct QueryGroups {
    sequences: Vec<Vec<u32>>,
    spans: Vec<(usize, std::ops::Range<usize>)>,
}

impl Source for TextSource<'_> {
    fn batch(
        &self,
        picked: &[Picked],
        candidates: usize,
        pass: usize,
    ) -> Result<Batch, TrainError> {
        let documents = self.documents(picked, candidates)?;
        let (mut batch, queries) = self.features.without_deep(picked, candidates)?;
        batch.deep = match self.reading {
            Reading::Apart(mode) => {
                let kinds = self.features.kinds();
                Deep::Texts(Box::new(
                    self.apart(&queries, mode, &documents, kinds, pass),
                ))
            }
            Reading::Joined => Deep::Joined(self.joined(picked, &documents, candidates)),
        };
        Ok(batch)
    }
}
