//! Documents and token groups as the vectors that footprints are made of, to tell what footprints cost.

use crate::{Batch, Centre, EncodeError, Encoder, HiddenStates};
use becr_text::groups::TokenGroup;
use std::ops::Range;

/// A document in vectors, seen from the centre.
#[derive(Debug, Clone, PartialEq)]
pub struct RawDocument {
    /// WordPieces.
    pub tokens: usize,
    /// `[layers, tokens, dim]`.
    pub vectors: Vec<f32>,
    /// The mean at the last layer; zeros for a document without text.
    pub mean: Vec<f32>,
}

/// A query in vectors, read as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawQuery {
    /// Words.
    pub words: usize,
    /// `[layers, words, dim]`: each word the mean of its WordPieces.
    pub vectors: Vec<f32>,
    /// The mean of all tokens at the last layer, `[CLS]` and `[SEP]` too; empty for a text without a word.
    pub mean: Vec<f32>,
}

impl Encoder {
    /// The vectors of a document's WordPieces.
    pub fn raw_document(&self, title: &str, text: &str) -> Result<RawDocument, EncodeError> {
        let mut documents = self.raw_documents(&[(title, text)])?;
        Ok(documents.remove(0))
    }

    /// The vectors of several documents, titles and texts, read in one batch: a GPU wants many.
    pub fn raw_documents(&self, texts: &[(&str, &str)]) -> Result<Vec<RawDocument>, EncodeError> {
        let mut batch = Batch::new();
        let mut of_document = Vec::with_capacity(texts.len());
        for (title, text) in texts {
            let mut spans = Vec::new();
            for sequence in self.sequences(&self.pieces.document(title, text)) {
                let tokens = batch.push(sequence);
                spans.extend((tokens.start + 1..tokens.end - 1).map(|token| token..token + 1));
            }
            of_document.push(spans);
        }
        let states = self.backend.hidden_states(&batch)?;
        let documents = of_document.iter().map(|spans| {
            let vectors = self.vectors(&states, spans, Centre::Documents);
            let (dim, tokens) = (states.dim, spans.len());
            let last = &vectors[vectors.len() - tokens * dim..];
            RawDocument {
                tokens,
                mean: mean_of(last.chunks_exact(dim), dim),
                vectors,
            }
        });
        Ok(documents.collect())
    }

    /// The vectors of a whole query's words, of which footprints are made by [`Encoder::whole_query`].
    pub fn raw_query(&self, text: &str) -> Result<RawQuery, EncodeError> {
        let pieces = self.pieces.pieces(text);
        let (batch, spans) = self.query_spans(&pieces);
        if spans.is_empty() {
            return Ok(RawQuery::default());
        }
        let states = self.backend.hidden_states(&batch)?;
        let tokens: Vec<Range<usize>> = (0..batch.tokens()).map(|token| token..token + 1).collect();
        let all = self.vectors(&states, &tokens, Centre::Documents);
        let last = &all[all.len() - tokens.len() * states.dim..];
        Ok(RawQuery {
            words: spans.len(),
            vectors: self.vectors(&states, &spans, Centre::Documents),
            mean: mean_of(last.chunks_exact(states.dim), states.dim),
        })
    }

    /// The vectors of a token group, `[layers, vectors, dim]`: one for a word or WordPiece, two for a pair.
    pub fn raw_group(&self, group: &TokenGroup) -> Result<Vec<f32>, EncodeError> {
        let words = self.group_words(group)?;
        let mut batch = Batch::new();
        let mut start = batch.push(self.sequence(&words.concat())).start + 1;
        let mut spans = Vec::new();
        for word in &words {
            spans.push(start..start + word.len());
            start += word.len();
        }
        let states = self.backend.hidden_states(&batch)?;
        Ok(self.vectors(&states, &spans, Centre::Groups))
    }

    /// The mean vectors of spans at every kept layer, seen from a centre: `[layers, spans, dim]`.
    fn vectors(&self, states: &HiddenStates, spans: &[Range<usize>], centre: Centre) -> Vec<f32> {
        let centres = centre.rows(self.backend.centres(), self.backend.shape());
        let mut vectors = Vec::with_capacity(states.layers.len() * spans.len() * states.dim);
        for layer in 0..states.layers.len() {
            let centre = centres.get(layer).copied().unwrap_or_default();
            for span in spans {
                vectors.extend(mean(states, layer, span, centre));
            }
        }
        vectors
    }
}

/// The mean of vectors; zeros if there are none.
fn mean_of<'a>(vectors: impl ExactSizeIterator<Item = &'a [f32]>, dim: usize) -> Vec<f32> {
    let share = 1.0 / vectors.len() as f32;
    let mut mean = vec![0.0; dim];
    for vector in vectors {
        let parts = mean.iter_mut().zip(vector);
        parts.for_each(|(mean, x)| *mean += share * x);
    }
    mean
}

fn mean(states: &HiddenStates, layer: usize, span: &Range<usize>, centre: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; states.dim];
    for token in span.clone() {
        let vector = states.vector(layer, token);
        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
    }
    let share = 1.0 / span.len() as f32;
    sum.iter_mut().for_each(|x| *x *= share);
    sum.iter_mut().zip(centre).for_each(|(x, c)| *x -= c);
    sum
}
