//! A whole query through the encoder: what BECR⁻ compares with, where BECR takes token groups.

use crate::{Batch, EncodeError, Encoder, Wanted};
use becr_text::pieces::Pieces;
use std::ops::Range;

impl Encoder {
    /// The footprints of every word of a text, each read in its context: `[layers, words, width]`, `width` being
    /// [`Shape::width`](crate::Shape::width), then, if footprints are relative, the vectors themselves, packed,
    /// `[words, vector words]`. A word is the mean of its WordPieces' vectors; punctuation is read and has no footprint.
    ///
    /// A text that is longer than the model can take is cut between words. Of a word that alone is longer, what does
    /// not fit is left out.
    pub fn query(&self, text: &str) -> Result<Vec<u32>, EncodeError> {
        let pieces = self.pieces.pieces(text);
        let (mut batch, mut wanted) = (Batch::new(), Wanted::default());
        let longest = self.backend.shape().max_tokens - 2;
        for segment in cut(&pieces, longest) {
            let sequence = batch.push(self.sequence(&pieces.ids[segment.clone()]));
            for word in words(&pieces, segment.clone()) {
                let shift = |piece: usize| sequence.start + 1 + piece - segment.start;
                let span = shift(word.start)..shift(word.end);
                wanted.footprints.push(span.clone());
                if self.backend.shape().relative {
                    wanted.vectors.push(span);
                }
            }
        }
        if wanted.footprints.is_empty() {
            return Ok(Vec::new());
        }
        let encoded = self.backend.encode(&batch, &wanted)?;
        let mut footprints = encoded.footprints;
        footprints.extend(self.packed(&encoded.vectors));
        Ok(footprints)
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
