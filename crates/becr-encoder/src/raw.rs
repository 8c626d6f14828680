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

impl Encoder {
    /// The vectors of a document's WordPieces.
    pub fn raw_document(&self, title: &str, text: &str) -> Result<RawDocument, EncodeError> {
        let tokenised = self.pieces.document(title, text);
        let (mut batch, mut spans) = (Batch::new(), Vec::new());
        for sequence in self.sequences(&tokenised) {
            let tokens = batch.push(sequence);
            spans.extend((tokens.start + 1..tokens.end - 1).map(|token| token..token + 1));
        }
        let vectors = self.vectors(&batch, &spans, Centre::Documents)?;
        let (dim, tokens) = (self.backend.shape().dim, spans.len());
        let mut mean = vec![0.0; dim];
        for vector in vectors[vectors.len() - tokens * dim..].chunks_exact(dim) {
            let share = 1.0 / tokens as f32;
            mean.iter_mut()
                .zip(vector)
                .for_each(|(m, x)| *m += share * x);
        }
        Ok(RawDocument {
            tokens,
            vectors,
            mean,
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
        self.vectors(&batch, &spans, Centre::Groups)
    }

    /// The mean vectors of spans at every kept layer, seen from a centre: `[layers, spans, dim]`.
    fn vectors(
        &self,
        batch: &Batch,
        spans: &[Range<usize>],
        centre: Centre,
    ) -> Result<Vec<f32>, EncodeError> {
        let states = self.backend.hidden_states(batch)?;
        let centres = centre.rows(self.backend.centres(), self.backend.shape());
        let mut vectors = Vec::with_capacity(states.layers.len() * spans.len() * states.dim);
        for layer in 0..states.layers.len() {
            let centre = centres.get(layer).copied().unwrap_or_default();
            for span in spans {
                vectors.extend(mean(&states, layer, span, centre));
            }
        }
        Ok(vectors)
    }
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
