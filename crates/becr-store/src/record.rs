//! A document as one value: everything that re-ranking it takes.
//!
//! ```text
//!  0  "BECR"            20  bytes of the forward index    48  footprints: layer after layer, in tiles
//!  4  version    u16    24  checksum              u64      …  the document's mean vector
//!  6  layers     u16    32  bytes of one layer    u32      …  relative footprints: the tokens' lengths, a byte each
//!  8  bits       u16    36  words of the vector   u16      …  features: (number of the name u32, value f32)
//! 10  features   u16    40  share                 f32      …  forward index
//! 12  tokens     u32
//! 16  CLS        f32
//! ```
//!
//! Of the mean vector there is a footprint; if footprints are relative to it, the vector itself, packed. A record may leave
//! the footprints of its tokens out (a layer then has 0 bytes), and their lengths with them.
//!
//! Numbers are little-endian. The footprints start at byte 48 because LMDB puts a large value 16 bytes into a
//! page: in memory they then lie on a cache line. The checksum is over the whole record but itself.

use crate::StoreError;
use crate::checksum::checksum;
use crate::forward::{ForwardIndex, Words};
use std::path::Path;

const MAGIC: &[u8; 4] = b"BECR";
const VERSION: u16 = 3;
const CHECKSUM: std::ops::Range<usize> = 24..32;
pub(crate) const FOOTPRINTS: usize = 48;

/// What all records of a store share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Layers kept.
    pub layers: u16,
    /// Bits of a footprint: a multiple of 32.
    pub bits: u16,
    /// 32-bit words of a packed vector, if footprints of documents are relative to their vectors, else 0. Token groups
    /// have such a vector too, so that both can be compared.
    #[serde(default)]
    pub vector: u16,
}

impl Shape {
    /// Footprints of `layers` layers and `bits` bits, those of mean vectors too; none of them relative.
    pub fn new(layers: u16, bits: u16) -> Self {
        Self {
            layers,
            bits,
            vector: 0,
        }
    }

    /// Bytes of a document's mean vector: its footprint, or itself if footprints are relative to it.
    pub fn mean_bytes(self) -> usize {
        match self.vector {
            0 => usize::from(self.bits) / 8,
            words => 4 * usize::from(words),
        }
    }

    /// Whether footprints of documents are relative to their vectors.
    pub fn is_relative(self) -> bool {
        self.vector > 0
    }

    /// Bytes of a token group of `slots` words.
    pub fn group_bytes(self, slots: usize) -> usize {
        let footprints = usize::from(self.layers) * usize::from(self.bits) / 8;
        slots * (footprints + 4 * usize::from(self.vector))
    }
}

/// A record to be written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewRecord<'a> {
    /// WordPieces of the document.
    pub tokens: u32,
    /// γ·CLS, one number once the model is fixed.
    pub cls: f32,
    /// Footprints of all layers in tile layout, layer after layer.
    pub footprints: &'a [u8],
    /// The document's mean vector, [`Shape::mean_bytes`] of it.
    pub mean: &'a [u8],
    /// How much of its vector there is in the document's tokens, if footprints are relative to it.
    pub share: f32,
    /// The lengths of what the tokens add to it, one per token, if footprints are relative.
    pub lengths: &'a [u8],
    /// Named features, by number of the name.
    pub features: Vec<(u32, f32)>,
    /// The words.
    pub words: Words,
}

/// A record as it lies in the store, borrowed from the memory map.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    bytes: &'a [u8],
    shape: Shape,
    layer_bytes: usize,
    lengths: usize,
    features: usize,
    forward: ForwardIndex<'a>,
}

impl NewRecord<'_> {
    /// The record's bytes; the error says what does not fit the store.
    pub fn encode(&self, shape: Shape) -> Result<Vec<u8>, &'static str> {
        let layers = usize::from(shape.layers);
        if !self.footprints.len().is_multiple_of(layers.max(1))
            || (layers == 0 && !self.footprints.is_empty())
        {
            return Err("its footprints do not divide into the store's layers");
        }
        if self.mean.len() != shape.mean_bytes() {
            return Err("its mean vector has not the store's size");
        }
        if !shape.is_relative() && (!self.lengths.is_empty() || self.share != 0.0) {
            return Err("it has a share or lengths, but the store's footprints are not relative");
        }
        let has_tokens = self.tokens > 0 && !self.footprints.is_empty();
        let lengths = if has_tokens { self.tokens as usize } else { 0 };
        if shape.is_relative() && self.lengths.len() != lengths {
            return Err("it has not one length per token, as relative footprints have");
        }
        if !self.share.is_finite() {
            return Err("its share of the mean vector is not a number");
        }
        let layer_bytes = u32::try_from(self.footprints.len() / layers.max(1));
        let forward = self.words.encode();
        let (Ok(layer_bytes), Ok(forward_bytes)) = (layer_bytes, u32::try_from(forward.len()))
        else {
            return Err("it is larger than a record can be");
        };
        let features =
            u16::try_from(self.features.len()).map_err(|_| "it has over 65,535 features")?;
        let mut bytes = Vec::with_capacity(
            FOOTPRINTS
                + self.footprints.len()
                + self.mean.len()
                + self.lengths.len()
                + 8 * self.features.len()
                + forward.len(),
        );
        bytes.extend_from_slice(MAGIC);
        for number in [VERSION, shape.layers, shape.bits, features] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.tokens.to_le_bytes());
        bytes.extend_from_slice(&self.cls.to_le_bytes());
        bytes.extend_from_slice(&forward_bytes.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&layer_bytes.to_le_bytes());
        bytes.extend_from_slice(&shape.vector.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.share.to_le_bytes());
        bytes.resize(FOOTPRINTS, 0);
        bytes.extend_from_slice(self.footprints);
        bytes.extend_from_slice(self.mean);
        bytes.extend_from_slice(self.lengths);
        for (name, value) in &self.features {
            bytes.extend_from_slice(&name.to_le_bytes());
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes.extend_from_slice(&forward);
        let sum = sum_of(&bytes);
        bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }
}

impl<'a> Record<'a> {
    /// Reads a record and checks every byte of it against the checksum; the error says what is wrong.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, &'static str> {
        if bytes.len() < FOOTPRINTS || &bytes[..4] != MAGIC {
            return Err("it does not begin as a record does");
        }
        if u16_at(bytes, 4) != VERSION {
            return Err("its version is not known to this program");
        }
        if sum_of(bytes) != u64_at(bytes, CHECKSUM.start) {
            return Err("its checksum does not match its bytes");
        }
        let shape = Shape {
            layers: u16_at(bytes, 6),
            bits: u16_at(bytes, 8),
            vector: u16_at(bytes, 36),
        };
        let features = usize::from(u16_at(bytes, 10));
        let layer_bytes = u32_at(bytes, 32) as usize;
        let lengths = match shape.is_relative() && layer_bytes > 0 {
            true => u32_at(bytes, 12) as usize,
            false => 0,
        };
        let footprints = usize::from(shape.layers) * layer_bytes;
        let forward_at = FOOTPRINTS + footprints + shape.mean_bytes() + lengths + 8 * features;
        let ends = forward_at.checked_add(u32_at(bytes, 20) as usize);
        if ends != Some(bytes.len()) {
            return Err("its parts do not add up to its length");
        }
        let forward = ForwardIndex::new(&bytes[forward_at..]).ok_or("its words cannot be read")?;
        Ok(Self {
            bytes,
            shape,
            layer_bytes,
            lengths,
            features,
            forward,
        })
    }

    /// Layers, bits and vectors, as the record has them.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of WordPieces.
    pub fn tokens(&self) -> usize {
        u32_at(self.bytes, 12) as usize
    }

    /// γ·CLS.
    pub fn cls(&self) -> f32 {
        f32::from_bits(u32_at(self.bytes, 16))
    }

    /// Footprints of all layers, in tile layout, layer after layer.
    pub fn footprints(&self) -> &'a [u8] {
        &self.bytes[FOOTPRINTS..self.mean_at()]
    }

    /// The mean vector: its footprint, or itself, packed, if footprints are relative to it.
    pub fn mean(&self) -> &'a [u8] {
        &self.bytes[self.mean_at()..self.lengths_at()]
    }

    /// How much of the mean vector there is in the tokens; 0 unless footprints are relative to it.
    pub fn share(&self) -> f32 {
        f32::from_bits(u32_at(self.bytes, 40))
    }

    /// The lengths of what the tokens add to the mean vector; none unless footprints are relative to it.
    pub fn lengths(&self) -> &'a [u8] {
        &self.bytes[self.lengths_at()..][..self.lengths]
    }

    /// Named features, by number of the name.
    pub fn features(&self) -> impl Iterator<Item = (u32, f32)> + 'a {
        let at = self.lengths_at() + self.lengths;
        let pairs = self.bytes[at..at + 8 * self.features].chunks_exact(8);
        pairs.map(|pair| (u32_at(pair, 0), f32::from_bits(u32_at(pair, 4))))
    }

    fn mean_at(&self) -> usize {
        FOOTPRINTS + usize::from(self.shape.layers) * self.layer_bytes
    }

    fn lengths_at(&self) -> usize {
        self.mean_at() + self.shape.mean_bytes()
    }

    /// The words.
    pub fn forward(&self) -> ForwardIndex<'a> {
        self.forward
    }

    /// The whole record as it is stored.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// [`Record::decode`] with the error of the store at `path`; `what` names the record in it.
    pub fn read(
        bytes: &'a [u8],
        path: &Path,
        what: impl FnOnce() -> String,
    ) -> Result<Self, StoreError> {
        Self::decode(bytes).map_err(|reason| StoreError::Damaged {
            path: path.to_owned(),
            what: what(),
            reason: reason.to_owned(),
        })
    }
}

/// The footprints of a record that may be damaged: nothing if they are not there.
pub(crate) fn footprints(bytes: &[u8]) -> &[u8] {
    if bytes.len() < FOOTPRINTS {
        return &[];
    }
    let length = usize::from(u16_at(bytes, 6)) * u32_at(bytes, 32) as usize;
    bytes
        .get(FOOTPRINTS..FOOTPRINTS + length)
        .unwrap_or_default()
}

/// The mean vector of a record that may be damaged: nothing if it is not there.
pub(crate) fn mean(bytes: &[u8]) -> &[u8] {
    if bytes.len() < FOOTPRINTS {
        return &[];
    }
    let at = FOOTPRINTS + usize::from(u16_at(bytes, 6)) * u32_at(bytes, 32) as usize;
    let shape = Shape {
        layers: u16_at(bytes, 6),
        bits: u16_at(bytes, 8),
        vector: u16_at(bytes, 36),
    };
    at.checked_add(shape.mean_bytes())
        .and_then(|end| bytes.get(at..end))
        .unwrap_or_default()
}

fn sum_of(bytes: &[u8]) -> u64 {
    checksum(&bytes[..CHECKSUM.start], &bytes[CHECKSUM.end..])
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape {
        layers: 2,
        bits: 64,
        vector: 0,
    };
    const RELATIVE: Shape = Shape { vector: 2, ..SHAPE };

    prop_compose! {
        /// Encoded records, and what went into them but for the borrowed parts.
        fn records()(
            tokens in 0u32..40,
            cls in -5.0f32..5.0,
            seed in any::<u8>(),
            features in prop::collection::vec((0u32..5, -1.0f32..1.0), 0..4),
            title in prop::collection::vec(0u32..50, 0..5),
            body in prop::collection::vec(0u32..500, 0..40),
            relative in any::<bool>(),
        ) -> (Vec<u8>, Vec<u8>, [u8; 8], Vec<u8>, Vec<(u32, f32)>, Words) {
            let footprints: Vec<u8> =
                (0..tokens * 16).map(|n| (n as u8).wrapping_mul(31) ^ seed).collect();
            let (mean, words) = ([seed; 8], Words { title, body });
            let (shape, lengths) = match relative {
                true => (RELATIVE, (0..tokens as u8).map(|n| n ^ seed).collect()),
                false => (SHAPE, Vec::new()),
            };
            let record = NewRecord {
                tokens,
                cls,
                footprints: &footprints,
                mean: &mean,
                share: if relative { cls } else { 0.0 },
                lengths: &lengths,
                features: features.clone(),
                words: words.clone(),
            };
            (record.encode(shape).unwrap(), footprints, mean, lengths, features, words)
        }
    }

    proptest! {
        #[test]
        fn round_trip((bytes, footprints, mean, lengths, features, words) in records()) {
            let read = Record::decode(&bytes).unwrap();
            prop_assert_eq!(read.footprints(), footprints);
            prop_assert_eq!(read.mean(), mean);
            prop_assert_eq!(read.lengths(), lengths);
            let relative = read.shape().is_relative();
            prop_assert_eq!(read.share(), if relative { read.cls() } else { 0.0 });
            prop_assert_eq!(read.features().collect::<Vec<_>>(), features);
            prop_assert_eq!(read.forward().words(), words);
        }

        #[test]
        fn every_flipped_bit_is_seen((mut bytes, ..) in records(), place in any::<prop::sample::Index>(), bit in 0u8..8) {
            let at = place.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(Record::decode(&bytes).is_err());
        }

        #[test]
        fn every_cut_is_seen((bytes, ..) in records(), place in any::<prop::sample::Index>()) {
            prop_assert!(Record::decode(&bytes[..place.index(bytes.len())]).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Record::decode(&bytes).is_err());
        }
    }

    /// A record may know how many tokens its document has, and keep nothing of them.
    #[test]
    fn footprints_of_tokens_may_be_left_out() {
        let mean = [7; 8];
        let record = NewRecord {
            tokens: 12,
            mean: &mean,
            ..NewRecord::default()
        };
        let bytes = record.encode(RELATIVE).unwrap();
        let read = Record::decode(&bytes).unwrap();
        assert_eq!((read.tokens(), read.mean()), (12, &mean[..]));
        assert!(read.footprints().is_empty() && read.lengths().is_empty());
        let lengths = NewRecord {
            lengths: &[1; 12],
            ..record
        };
        assert!(lengths.encode(RELATIVE).unwrap_err().contains("length"));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let odd = NewRecord {
            footprints: &[0; 3],
            mean: &[0; 8],
            ..Default::default()
        };
        assert!(odd.encode(SHAPE).is_err());
        let no_mean = NewRecord::default();
        assert!(no_mean.encode(SHAPE).is_err());
        let lengths = |tokens, lengths| NewRecord {
            tokens,
            lengths,
            footprints: &[0; 64],
            mean: &[0; 8],
            ..Default::default()
        };
        assert!(lengths(1, &[1]).encode(SHAPE).is_err());
        assert!(lengths(1, &[]).encode(RELATIVE).is_err());
        assert!(lengths(1, &[1]).encode(RELATIVE).is_ok());
        let no_number = NewRecord {
            share: f32::NAN,
            ..lengths(1, &[1])
        };
        assert!(no_number.encode(RELATIVE).is_err());
    }
}
