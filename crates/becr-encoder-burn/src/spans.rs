//! Where the wanted spans of a batch lie in its padded chunks.

use crate::shapes::{Chunk, Shapes};
use crate::turn::error;
use becr_encoder::{Batch, EncodeError};
use burn::tensor::{Tensor, TensorData, backend::Backend};
use std::ops::Range;

/// A batch cut into chunks.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) chunks: Vec<Chunk>,
    /// The chunk and the row in it of every sequence.
    places: Vec<(usize, usize)>,
    sequences: Vec<Range<usize>>,
}

/// What a chunk's hidden states are summed up to.
#[derive(Debug, PartialEq)]
pub(crate) enum Pooling {
    /// Nothing is wanted of this chunk.
    Nothing,
    /// Only single tokens are wanted: all of them come back, which saves the sums.
    Tokens,
    /// `rows × spans × length`: the weight of every token in every span.
    Spans { spans: usize, weights: Vec<f32> },
}

/// Spans found in the chunks.
#[derive(Debug)]
pub(crate) struct Located {
    /// The chunk of every span, and the row of its result there.
    pub(crate) places: Vec<(usize, usize)>,
    /// What every chunk has to compute.
    pub(crate) pooling: Vec<Pooling>,
}

impl Layout {
    pub(crate) fn new(batch: &Batch, shapes: &Shapes, max_tokens: usize) -> Self {
        let sequences: Vec<Range<usize>> = batch.sequences().collect();
        let lengths: Vec<usize> = sequences.iter().map(ExactSizeIterator::len).collect();
        let chunks = shapes.plan(&lengths, max_tokens);
        let mut places = vec![(0, 0); sequences.len()];
        for (number, chunk) in chunks.iter().enumerate() {
            for (row, &sequence) in chunk.sequences.iter().enumerate() {
                places[sequence] = (number, row);
            }
        }
        Self {
            chunks,
            places,
            sequences,
        }
    }

    /// Where the tokens of a chunk's rows lie in the batch.
    pub(crate) fn rows<'a>(&'a self, chunk: &'a Chunk) -> impl Iterator<Item = Range<usize>> + 'a {
        let sequences = chunk.sequences.iter();
        sequences.map(|&sequence| self.sequences[sequence].clone())
    }

    /// Finds spans. Chunks of which only single tokens are wanted give all of theirs.
    pub(crate) fn locate(&self, spans: &[Range<usize>]) -> Result<Located, EncodeError> {
        let found = spans
            .iter()
            .map(|span| self.find(span))
            .collect::<Result<Vec<_>, _>>()?;
        let mut singles = vec![true; self.chunks.len()];
        let mut counts: Vec<Vec<usize>> = self.chunks.iter().map(|c| vec![0; c.rows]).collect();
        for span in &found {
            singles[span.chunk] &= span.tokens.len() == 1;
            counts[span.chunk][span.row] += 1;
        }
        let mut pooling: Vec<Pooling> = (self.chunks.iter().zip(&counts).zip(&singles))
            .map(|((chunk, counts), &singles)| Pooling::of(chunk, counts, singles))
            .collect();
        counts.iter_mut().for_each(|rows| rows.fill(0));
        let places = found
            .into_iter()
            .map(|span| {
                let slot = &mut counts[span.chunk][span.row];
                *slot += 1;
                let length = self.chunks[span.chunk].length;
                (
                    span.chunk,
                    pooling[span.chunk].place(&span, *slot - 1, length),
                )
            })
            .collect();
        Ok(Located { places, pooling })
    }

    fn find(&self, span: &Range<usize>) -> Result<Found, EncodeError> {
        let sequence = self.sequences.partition_point(|s| s.end <= span.start);
        let within = &self.sequences[sequence];
        if span.end > within.end {
            return Err(error(format!(
                "span {}..{} crosses the end of its sequence, {}..{}; ask for a span of each sequence",
                span.start, span.end, within.start, within.end
            )));
        }
        let (chunk, row) = self.places[sequence];
        Ok(Found {
            chunk,
            row,
            tokens: span.start - within.start..span.end - within.start,
        })
    }
}

/// A span in its chunk.
struct Found {
    chunk: usize,
    row: usize,
    tokens: Range<usize>,
}

impl Pooling {
    fn of(chunk: &Chunk, counts: &[usize], singles: bool) -> Self {
        match counts.iter().max() {
            None | Some(0) => Self::Nothing,
            Some(_) if singles => Self::Tokens,
            // A power of two, so that a device meets few shapes.
            Some(most) => {
                let spans = most.next_power_of_two();
                Self::Spans {
                    spans,
                    weights: vec![0.0; chunk.rows * spans * chunk.length],
                }
            }
        }
    }

    /// The row of the result that a span gets; its weights are entered.
    fn place(&mut self, span: &Found, slot: usize, length: usize) -> usize {
        match self {
            Self::Nothing | Self::Tokens => span.row * length + span.tokens.start,
            Self::Spans { spans, weights } => {
                let place = span.row * *spans + slot;
                let weight = 1.0 / span.tokens.len() as f32;
                weights[place * length..][span.tokens.clone()].fill(weight);
                place
            }
        }
    }

    /// The weights on a device, where there are any.
    pub(crate) fn upload<B: Backend>(
        &mut self,
        chunk: &Chunk,
        device: &B::Device,
    ) -> Option<Tensor<B, 3>> {
        match self {
            Self::Nothing | Self::Tokens => None,
            Self::Spans { spans, weights } => {
                let shape = [chunk.rows, *spans, chunk.length];
                let data = TensorData::new(std::mem::take(weights), shape);
                Some(Tensor::from_data(data, device))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let batch = Batch::from_iter([vec![1; 3], vec![1; 5], vec![1; 4]]);
        Layout::new(&batch, &Shapes::exact(10), 16)
    }

    #[test]
    fn single_tokens_are_found_in_the_padded_matrix() {
        let layout = layout();
        // Longest first: sequences 1 and 2 fill a chunk of 2 × 5, sequence 0 is alone.
        let located = layout.locate(&[1..2, 3..4, 9..10]).unwrap();
        assert_eq!(located.places, [(1, 1), (0, 0), (0, 6)]);
        assert_eq!(located.pooling, [Pooling::Tokens, Pooling::Tokens]);
    }

    #[test]
    fn longer_spans_become_weights() {
        let located = layout().locate(&[3..5, 7..8, 8..12]).unwrap();
        assert_eq!(located.places, [(0, 0), (0, 1), (0, 2)]);
        let half = [0.5, 0.5, 0.0, 0.0, 0.0];
        let last = [0.0, 0.0, 0.0, 0.0, 1.0];
        let whole = [0.25, 0.25, 0.25, 0.25, 0.0];
        let weights = [half, last, whole, [0.0; 5]].concat();
        assert_eq!(located.pooling[0], Pooling::Spans { spans: 2, weights });
        assert_eq!(located.pooling[1], Pooling::Nothing);
    }

    #[test]
    fn a_span_over_two_sequences_is_refused() {
        let crossing = std::slice::from_ref(&(2..4));
        let message = layout().locate(crossing).unwrap_err().to_string();
        assert!(
            message.contains("span 2..4 crosses") && message.contains("0..3"),
            "{message}"
        );
    }
}
