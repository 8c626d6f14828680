//! Which padded matrices a batch is cut into.

/// Sequence lengths of [`Shapes::fixed`]. Each costs a GPU some tuning and compilation when it is first met.
const FIXED: &[usize] = &[16, 32, 64, 128, 256, 384, 512];

/// Sequence lengths of [`Shapes::stepped`]: the same kernels serve nearly all of them. Most words are 8 tokens or fewer.
const STEPPED: &[usize] = &[
    8, 16, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512,
];

/// A chunk that cannot be half filled is made of chunks with this fraction of its rows.
const SMALL: usize = 8;

/// Rows of a stepped chunk are a multiple of this, where there are so many sequences.
const ROWS: usize = 8;

/// Rows of a stepped chunk at most: with a dozen heads each, products of more are beyond what a GPU can number.
const MOST_ROWS: usize = 2048;

/// How sequences are padded and put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shapes {
    tokens: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fixed,
    Stepped,
    Exact,
}

/// Sequences that go through the model together, as a matrix of `rows × length` token ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) rows: usize,
    pub(crate) length: usize,
    /// Which sequence of the batch each row holds; rows past the end are padding.
    pub(crate) sequences: Vec<usize>,
}

impl Shapes {
    /// Few shapes of about `tokens` tokens each, for a device that tunes its kernels by shape.
    pub fn fixed(tokens: usize) -> Self {
        let kind = Kind::Fixed;
        Self { tokens, kind }
    }

    /// More shapes, of at most about `tokens` tokens each, with little padding, for a device whose kernels are not tuned and
    /// only have to be compiled anew for lengths that do not fit their tiles.
    pub fn stepped(tokens: usize) -> Self {
        let kind = Kind::Stepped;
        Self { tokens, kind }
    }

    /// Shapes as they come, of at most `tokens` tokens unless a single sequence is longer.
    pub fn exact(tokens: usize) -> Self {
        let kind = Kind::Exact;
        Self { tokens, kind }
    }

    /// Cuts sequences of these lengths into chunks, longest first, so that neighbours need little padding.
    pub(crate) fn plan(&self, lengths: &[usize], max_tokens: usize) -> Vec<Chunk> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(lengths[i]));
        let mut chunks = Vec::new();
        let mut rest = order.as_slice();
        while let [longest, ..] = rest {
            let length = self.padded(lengths[*longest], max_tokens);
            // A short sequence beside a long one would be mostly padding: it waits for the next chunk.
            let alike = rest.partition_point(|&i| {
                let padded = self.padded(lengths[i], max_tokens);
                match self.kind {
                    Kind::Stepped => padded == length,
                    Kind::Fixed | Kind::Exact => 2 * padded > length,
                }
            });
            let (rows, taken) = self.rows(length, alike);
            let (sequences, later) = rest.split_at(taken);
            chunks.push(Chunk {
                rows,
                length,
                sequences: sequences.to_vec(),
            });
            rest = later;
        }
        chunks
    }

    fn padded(&self, length: usize, max_tokens: usize) -> usize {
        let steps = match self.kind {
            Kind::Exact => return length,
            Kind::Fixed => FIXED,
            Kind::Stepped => STEPPED,
        };
        let step = steps.iter().copied().find(|&step| step >= length);
        step.unwrap_or_else(|| length.next_multiple_of(steps[steps.len() - 1]))
            .min(max_tokens)
    }

    /// Rows of the next chunk of this length, and how many of the `waiting` sequences it takes.
    fn rows(&self, length: usize, waiting: usize) -> (usize, usize) {
        let full = (self.tokens / length).max(1);
        let rows = match self.kind {
            Kind::Exact => full.min(waiting),
            Kind::Stepped => full.min(waiting.next_multiple_of(ROWS)).min(MOST_ROWS),
            Kind::Fixed if 2 * waiting >= full => full,
            Kind::Fixed => (full / SMALL).max(1),
        };
        (rows, rows.min(waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_sequence_has_one_place(
            lengths in prop::collection::vec(1usize..600, 0..300),
            tokens in 1usize..5000,
            kind in 0..3,
        ) {
            let shapes = match kind {
                0 => Shapes::fixed(tokens),
                1 => Shapes::stepped(tokens),
                _ => Shapes::exact(tokens),
            };
            let chunks = shapes.plan(&lengths, 600);
            let mut seen: Vec<usize> = chunks.iter().flat_map(|c| c.sequences.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            for chunk in &chunks {
                prop_assert!(!chunk.sequences.is_empty() && chunk.sequences.len() <= chunk.rows);
                prop_assert!(chunk.sequences.iter().all(|&i| lengths[i] <= chunk.length));
                prop_assert!(chunk.rows == 1 || chunk.rows * chunk.length <= tokens);
            }
        }
    }

    #[test]
    fn a_stream_of_documents_makes_few_shapes() {
        let lengths: Vec<usize> = (0..20_000).map(|i| 3 + (i * 7919) % 510).collect();
        let tokens: usize = lengths.iter().sum();
        let padded = |chunks: &[Chunk]| -> usize { chunks.iter().map(|c| c.rows * c.length).sum() };
        let chunks = Shapes::fixed(32_768).plan(&lengths, 512);
        let shapes: BTreeSet<_> = chunks.iter().map(|c| (c.rows, c.length)).collect();
        assert!(shapes.len() <= 2 * FIXED.len(), "{shapes:?}");
        assert!(padded(&chunks) * 10 < tokens * 13);
        // More lengths, less padding.
        let chunks = Shapes::stepped(32_768).plan(&lengths, 512);
        let lengths: BTreeSet<_> = chunks.iter().map(|c| c.length).collect();
        assert!(lengths.len() <= STEPPED.len(), "{lengths:?}");
        assert!(padded(&chunks) * 10 < tokens * 11);
    }

    #[test]
    fn a_model_of_few_positions_bounds_the_padding() {
        let chunks = Shapes::fixed(40).plan(&[17, 20], 20);
        assert_eq!(chunks.len(), 1);
        assert_eq!((chunks[0].rows, chunks[0].length), (2, 20));
    }

    #[test]
    fn token_groups_fill_their_chunks() {
        let lengths: Vec<usize> = (0..10_000).map(|i| 3 + i % 6).collect();
        let chunks = Shapes::fixed(32_768).plan(&lengths, 512);
        assert_eq!(chunks.len(), 5);
        assert!(chunks.iter().all(|c| (c.rows, c.length) == (2048, 16)));
    }
}
