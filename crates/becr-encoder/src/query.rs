//! A whole query through the encoder: what an encoded query compares with, where a composed one takes token groups.

use crate::{Batch, EncodeError, Encoder, Wanted};
use becr_text::pieces::Pieces;
use std::ops::Range;

/// A query, read as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WholeQuery {
    /// What [`Encoder::query`] gives: the footprints of every word.
    pub words: Vec<u32>,
    /// The mean of all tokens at the last kept layer, `[CLS]` and `[SEP]` too, as an index has the means of documents:
    /// packed in four bits a dimension if footprints are relative, else its footprint. Empty for a text without a word.
    pub vector: Vec<u32>,
}

impl Encoder {
    /// The footprints of every word of a text, each read in its context: `[layers, words, width]`, `width` being
    /// [`Shape::width`](crate::Shape::width), then, if footprints are relative, the vectors themselves, packed,
    /// `[words, vector words]`. A word is the mean of its WordPieces' vectors; punctuation is read and has no footprint.
    ///
    /// A text that is longer than the model can take is cut between words. Of a word that alone is longer, what does
    /// not fit is left out.
    pub fn query(&self, text: &str) -> Result<Vec<u32>, EncodeError> {
        Ok(self.whole_query(text)?.words)
    }

    /// The same, and the vector of the text as a whole.
    pub fn whole_query(&self, text: &str) -> Result<WholeQuery, EncodeError> {
        let (batch, spans) = self.query_spans(&self.pieces.pieces(text));
        if spans.is_empty() {
            return Ok(WholeQuery::default());
        }
        let shape = self.backend.shape();
        let mut wanted = Wanted {
            vectors: match shape.relative {
                true => spans.clone(),
                false => Vec::new(),
            },
            footprints: spans,
            ..Wanted::default()
        };
        // A sequence each: a backend need not know of spans that cross them.
        let sequences: Vec<Range<usize>> = batch.sequences().collect();
        let of_words = wanted.vectors.len() * shape.dim;
        wanted.vectors.extend(sequences.iter().cloned());
        let encoded = self.backend.encode(&batch, &wanted)?;
        let mut words = encoded.footprints;
        let (vectors, means) = encoded.vectors.split_at(of_words);
        words.extend(self.packed(vectors));
        let mut mean = vec![0.0; shape.dim];
        for (sequence, vector) in sequences.iter().zip(means.chunks_exact(shape.dim)) {
            let share = sequence.len() as f32 / batch.tokens() as f32;
            let parts = mean.iter_mut().zip(vector);
            parts.for_each(|(sum, x)| *sum += share * x);
        }
        Ok(WholeQuery {
            words,
            vector: self.as_document_mean(&mean)?,
        })
    }

    /// A query's sequences, and where its words are among all tokens.
    pub(crate) fn query_spans(&self, pieces: &Pieces) -> (Batch, Vec<Range<usize>>) {
        let (mut batch, mut spans) = (Batch::new(), Vec::new());
        for segment in cut(pieces, self.backend.shape().max_tokens - 2) {
            let sequence = batch.push(self.sequence(&pieces.ids[segment.clone()]));
            for word in words(pieces, segment.clone()) {
                let shift = |piece: usize| sequence.start + 1 + piece - segment.start;
                spans.push(shift(word.start)..shift(word.end));
            }
        }
        (batch, spans)
    }

    /// A vector as an index has the means of documents.
    fn as_document_mean(&self, vector: &[f32]) -> Result<Vec<u32>, EncodeError> {
        if self.backend.shape().relative {
            return Ok(becr_footprint::pack(vector));
        }
        let Some(planes) = self.backend.hyperplanes() else {
            return Ok(Vec::new());
        };
        let mut footprint = vec![0; planes.width()];
        planes.footprint(vector, &mut footprint)?;
        Ok(footprint)
    }
}

/// Segments of at most `longest` pieces that do not cut through words.
fn cut(pieces: &Pieces, longest: usize) -> Vec<Range<usize>> {
    let mut segments = Vec::new();
    let mut start = 0;
    for unit in units(pieces, 0..pieces.len()) {
        if unit.end - start > longest && unit.start > start {
            segments.push(start..unit.start);
            start = unit.start;
        }
        if unit.end - start > longest {
            segments.push(start..start + longest);
            start = unit.end;
        }
    }
    if start < pieces.len() {
        segments.push(start..pieces.len());
    }
    segments
}

/// The pieces of each word.
fn words(pieces: &Pieces, within: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    units(pieces, within).filter(|unit| pieces.words[unit.start].is_some())
}

/// The pieces of each word, and each piece of punctuation.
fn units(pieces: &Pieces, within: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = within.start;
    std::iter::from_fn(move || {
        let word = (start < within.end).then(|| pieces.words[start])?;
        let mut end = start + 1;
        while word.is_some() && end < within.end && pieces.words[end] == word {
            end += 1;
        }
        let unit = start..end;
        start = end;
        Some(unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_text::words::Span;

    fn pieces(words: &[Option<u32>]) -> Pieces {
        Pieces {
            ids: vec![0; words.len()],
            spans: vec![Span { start: 0, end: 1 }; words.len()],
            words: words.to_vec(),
        }
    }

    #[test]
    fn cuts_fall_between_words() {
        let text = pieces(&[Some(0), Some(1), Some(1), None, None, Some(2), Some(2)]);
        assert_eq!(cut(&text, 6), [0..5, 5..7]);
        assert_eq!(cut(&text, 7).len(), 1);
        assert_eq!(cut(&text, 4), [0..4, 4..7]);
        assert_eq!(cut(&text, 2), [0..1, 1..3, 3..5, 5..7]);
        // The words of two pieces lose one.
        assert_eq!(cut(&text, 1), [0..1, 1..2, 3..4, 4..5, 5..6]);
        assert!(cut(&pieces(&[]), 5).is_empty());
        let all: Vec<_> = words(&text, 0..7).collect();
        assert_eq!(all, [0..1, 1..3, 5..7]);
    }
}
