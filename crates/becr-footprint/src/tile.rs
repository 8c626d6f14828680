//! The layout of a document's footprints: bit planes in tiles.
//!
//! A tile holds up to 512 tokens. Its row `i` is bit `i` of all its tokens, side by side, so that one 512-bit
//! register holds one bit of 512 tokens and a Hamming distance becomes a sum of rows: a few full adders on registers
//! count 512 tokens at once, on any CPU that has `and` and `xor`.
//!
//! Layers follow each other; within a layer all tiles but the last are 512 tokens wide. The last one is as wide as
//! what is left, rounded up, and not split further: summing rows costs about as much for 100 tokens as for 500. The
//! bits after the last token are zero. A record needs `b/8` bytes per token and layer plus the padding of the last
//! tile, which is at most 15 tokens or a twentieth of the document.

use crate::lanes::Lanes;
use crate::{Error, Relative, lsh};

/// Tokens in the widest tile.
pub(crate) const MAX_WIDTH: usize = 512;
const MIN_WIDTH: usize = 16;

/// The shape of a document's footprints: it alone decides where each bit lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DocumentLayout {
    layers: usize,
    tokens: usize,
    bits: usize,
    layer_bytes: usize,
}

impl DocumentLayout {
    /// A document of `tokens` tokens, each with a footprint of `bits` bits at each of `layers` layers.
    pub fn new(layers: usize, tokens: usize, bits: usize) -> Result<Self, Error> {
        lsh::check_bits(bits)?;
        let layer_bytes = TileWidths::new(tokens).sum::<usize>() * (bits / 8);
        Ok(Self {
            layers,
            tokens,
            bits,
            layer_bytes,
        })
    }

    /// The number of layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The width of a footprint in bits.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The size of the tiled footprints, a multiple of 64.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.layers * self.layer_bytes
    }

    /// The number of 32-bit words in row layout: `[layer][token][bits / 32]`.
    #[must_use]
    pub fn row_words(&self) -> usize {
        self.layers * self.tokens * self.bits / 32
    }

    /// Bytes from one layer to the next.
    pub(crate) fn layer_bytes(&self) -> usize {
        self.layer_bytes
    }

    /// Brings footprints from row layout (`[layer][token][word]`) into tiles.
    pub fn tile(&self, rows: &[u32], tiles: &mut [u8]) -> Result<(), Error> {
        Error::check_length(
            "footprints in row layout, in words",
            self.row_words(),
            rows.len(),
        )?;
        Error::check_length("footprints in tiles, in bytes", self.bytes(), tiles.len())?;
        tiles.fill(0);
        self.for_each_token(|words, plane, row_bytes| {
            for (w, &word) in rows[words].iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    let bit = 32 * w + left.trailing_zeros() as usize;
                    tiles[plane.byte + bit * row_bytes] |= plane.mask;
                    left &= left - 1;
                }
            }
        });
        Ok(())
    }

    /// Brings footprints back from tiles into row layout: the exact inverse of [`Self::tile`].
    pub fn untile(&self, tiles: &[u8], rows: &mut [u32]) -> Result<(), Error> {
        Error::check_length("footprints in tiles, in bytes", self.bytes(), tiles.len())?;
        Error::check_length(
            "footprints in row layout, in words",
            self.row_words(),
            rows.len(),
        )?;
        self.for_each_token(|words, plane, row_bytes| {
            for (w, word) in rows[words].iter_mut().enumerate() {
                *word = (0..32).fold(0, |word, i| {
                    let set = tiles[plane.byte + (32 * w + i) * row_bytes] & plane.mask != 0;
                    word | (u32::from(set) << i)
                });
            }
        });
        Ok(())
    }

    /// Calls `visit(words in row layout, place in row 0 of the tile, bytes per row)` for every footprint.
    fn for_each_token(&self, mut visit: impl FnMut(std::ops::Range<usize>, Place, usize)) {
        let words = self.bits / 32;
        let (mut first_word, mut tile) = (0, 0);
        for _ in 0..self.layers {
            let mut left = self.tokens;
            for width in TileWidths::new(self.tokens) {
                for token in 0..left.min(width) {
                    let place = Place::new(width, token);
                    let place = Place {
                        byte: tile + place.byte,
                        ..place
                    };
                    visit(first_word..first_word + words, place, width / 8);
                    first_word += words;
                }
                left = left.saturating_sub(width);
                tile += width * self.bits / 8;
            }
        }
    }
}

/// Where a token's bit lies within a row of its tile.
#[derive(Clone, Copy)]
struct Place {
    byte: usize,
    mask: u8,
}

impl Place {
    fn new(width: usize, token: usize) -> Self {
        Self {
            byte: Lanes::new(width).byte(token / 8),
            mask: 1 << (token % 8),
        }
    }
}

/// The widths of the tiles of one layer.
#[derive(Clone)]
pub(crate) struct TileWidths {
    left: usize,
    slack: usize,
}

impl TileWidths {
    pub(crate) fn new(tokens: usize) -> Self {
        Self {
            left: tokens,
            slack: (tokens / 20).max(MIN_WIDTH - 1),
        }
    }
}

impl Iterator for TileWidths {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let tokens = self.left.min(MAX_WIDTH);
        // Whole lanes if they cost little, so that fewer rows lie across two cache lines.
        let width = [128, 64, 32]
            .into_iter()
            .map(|unit| tokens.next_multiple_of(unit))
            .find(|width| width - tokens <= self.slack)
            .unwrap_or(tokens.next_multiple_of(MIN_WIDTH));
        self.left -= tokens;
        Some(width)
    }
}

/// A document's footprints in tiles, borrowed from wherever they lie, such as a memory-mapped store.
///
/// Any address will do; one that is a multiple of 64 makes every row of the widest tiles one cache line.
#[derive(Debug, Clone, Copy)]
pub struct TiledDocument<'a> {
    layout: DocumentLayout,
    tiles: &'a [u8],
    relative: Option<Relative<'a>>,
}

impl<'a> TiledDocument<'a> {
    /// Takes `tiles` as a document of the given layout.
    pub fn new(layout: DocumentLayout, tiles: &'a [u8]) -> Result<Self, Error> {
        Error::check_length("footprints in tiles, in bytes", layout.bytes(), tiles.len())?;
        Ok(Self {
            layout,
            tiles,
            relative: None,
        })
    }

    /// The same footprints, taken as relative to the document's vector. There must be one layer of them.
    pub fn relative(self, relative: Relative<'a>) -> Result<Self, Error> {
        Error::check_length("layers of relative footprints", 1, self.layout.layers)?;
        let (tokens, lengths) = (self.layout.tokens, relative.lengths.len());
        Error::check_length("lengths, one per token", tokens, lengths)?;
        Ok(Self {
            relative: Some(relative),
            ..self
        })
    }

    pub(crate) fn relative_to(&self) -> Option<Relative<'a>> {
        self.relative
    }

    /// The document's shape.
    #[must_use]
    pub fn layout(&self) -> DocumentLayout {
        self.layout
    }

    /// All tiles.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.tiles
    }

    /// The tiles of one layer.
    pub(crate) fn layer(&self, layer: usize) -> Tiles<'a> {
        Tiles {
            widths: TileWidths::new(self.layout.tokens),
            bits: self.layout.bits,
            first: 0,
            tokens: self.layout.tokens,
            bytes: &self.tiles[layer * self.layout.layer_bytes()..],
        }
    }
}

/// One tile.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a> {
    pub(crate) width: usize,
    /// Index of its first token.
    pub(crate) first: usize,
    /// Tokens that are there; the others are padding.
    pub(crate) tokens: usize,
    /// Rows of [`Self::stride`] bytes, one per bit, and what the document has behind them, as far as it takes to read
    /// [`ROW`] bytes of every row.
    pub(crate) rows: &'a [u8],
}

/// Bytes that may be read of a row, whatever its width.
pub(crate) const ROW: usize = MAX_WIDTH / 8;

impl<'a> Tile<'a> {
    /// Bytes from one row to the next.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.width / 8
    }

    /// The address behind its last row.
    #[inline(always)]
    pub(crate) fn end(&self, bits: usize) -> usize {
        self.rows.as_ptr() as usize + bits * self.stride()
    }

    /// The same tile, copied into `buffer` if the document ends too soon behind it.
    pub(crate) fn readable<'b>(self, bits: usize, buffer: &'b mut [u8; LARGEST]) -> Tile<'b>
    where
        'a: 'b,
    {
        let needed = (bits - 1) * self.stride() + ROW;
        if self.rows.len() >= needed {
            return self;
        }
        buffer[..self.rows.len()].copy_from_slice(self.rows);
        Tile {
            rows: &buffer[..needed],
            ..self
        }
    }
}

/// Bytes of the largest tile.
pub(crate) const LARGEST: usize = ROW * lsh::MAX_BITS;

/// Walks over the tiles of a layer.
#[derive(Clone)]
pub(crate) struct Tiles<'a> {
    widths: TileWidths,
    bits: usize,
    first: usize,
    tokens: usize,
    /// From the next tile to the end of the document.
    bytes: &'a [u8],
}

impl<'a> Iterator for Tiles<'a> {
    type Item = Tile<'a>;

    fn next(&mut self) -> Option<Tile<'a>> {
        let width = self.widths.next()?;
        let size = width * self.bits / 8;
        let tile = Tile {
            width,
            first: self.first,
            tokens: (self.tokens - self.first).min(width),
            rows: &self.bytes[..self.bytes.len().min(size + ROW)],
        };
        self.bytes = &self.bytes[size..];
        self.first += tile.tokens;
        Some(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn widths(tokens: usize) -> Vec<usize> {
        TileWidths::new(tokens).collect()
    }

    #[test]
    fn widths_cover_the_tokens_with_little_padding() {
        assert_eq!(widths(0), [0; 0]);
        assert_eq!(widths(1), [16]);
        assert_eq!(widths(75), [80]);
        assert_eq!(widths(120), [128]);
        assert_eq!(widths(857), [512, 384]);
        assert_eq!(widths(1024), [512, 512]);
        for tokens in 0..3000 {
            let sum: usize = widths(tokens).iter().sum();
            assert!(
                sum >= tokens && sum - tokens <= 15.max(tokens / 20),
                "{tokens}: {sum}"
            );
            assert!(widths(tokens).is_sorted_by(|a, b| a >= b), "{tokens}");
        }
    }

    #[test]
    fn places_are_a_permutation() {
        for width in (16..=512).step_by(16) {
            let mut seen = vec![0_u8; width / 8];
            for token in 0..width {
                let place = Place::new(width, token);
                assert_eq!(seen[place.byte] & place.mask, 0);
                seen[place.byte] |= place.mask;
            }
            assert!(seen.iter().all(|&b| b == u8::MAX));
        }
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let layout = DocumentLayout::new(2, 5, 64).expect("valid shape");
        assert_eq!(layout.bytes(), 2 * 16 * 8);
        assert!(layout.tile(&[0; 19], &mut [0; 256]).is_err());
        assert!(layout.tile(&[0; 20], &mut [0; 255]).is_err());
        assert!(layout.untile(&[0; 255], &mut [0; 20]).is_err());
        assert!(TiledDocument::new(layout, &[0; 255]).is_err());
    }

    #[test]
    fn every_row_can_be_read_as_a_full_one() {
        let mut buffer = vec![0; LARGEST];
        let buffer: &mut [u8; LARGEST] = buffer.as_mut_slice().try_into().expect("that long");
        for tokens in [1, 17, 100, 345, 512, 857] {
            let layout = DocumentLayout::new(2, tokens, 64).expect("valid shape");
            let bytes: Vec<u8> = (0..layout.bytes()).map(|i| i as u8).collect();
            let document = TiledDocument::new(layout, &bytes).expect("right length");
            for tile in (0..2).flat_map(|layer| document.layer(layer)) {
                let before = &tile.rows[..64 * tile.stride()];
                let readable = tile.readable(64, buffer);
                assert!(readable.rows.len() >= 63 * tile.stride() + ROW);
                assert_eq!(&readable.rows[..before.len()], before);
            }
        }
    }

    proptest! {
        #[test]
        fn tiling_is_undone_exactly(
            layers in 1_usize..3,
            tokens in 0_usize..700,
            words in prop::sample::select(vec![1_usize, 2, 3, 8, 32]),
            seed in any::<u32>(),
        ) {
            let layout = DocumentLayout::new(layers, tokens, 32 * words).expect("valid shape");
            let rows: Vec<u32> = (0..layout.row_words() as u32)
                .map(|i| (i ^ seed).wrapping_mul(0x9E37_79B9).rotate_left(i % 31))
                .collect();
            let mut tiles = vec![0xFF; layout.bytes()];
            layout.tile(&rows, &mut tiles).expect("right lengths");
            let mut back = vec![1; rows.len()];
            layout.untile(&tiles, &mut back).expect("right lengths");
            prop_assert_eq!(&back, &rows);
            let ones = |bytes: &[u8]| bytes.iter().map(|b| b.count_ones()).sum::<u32>();
            prop_assert_eq!(ones(&tiles), rows.iter().map(|w| w.count_ones()).sum());
        }
    }
}
