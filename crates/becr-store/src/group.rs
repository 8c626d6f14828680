//! A token group as one value: a checksum, then the footprints of its one or two words, layer after layer, then their
//! vectors, packed, if footprints of documents are relative to vectors.

use crate::Shape;
use becr_text::groups::{Slot, TokenGroup};
use twox_hash::XxHash3_64;

const CHECKSUM: usize = 8;

/// A token group as it lies in the store.
#[derive(Debug, Clone, Copy)]
pub struct GroupRecord<'a> {
    footprints: &'a [u8],
    slots: usize,
    layers: usize,
    footprint_bytes: usize,
}

/// Footprints and packed vectors as the numbers that they are stored as.
pub fn u32s(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes)
}

impl GroupRecord<'_> {
    /// How many vectors a group has.
    pub fn slots(group: &TokenGroup) -> usize {
        match group {
            TokenGroup::Unigram(_) => 1,
            TokenGroup::Pair(..) => 2,
        }
    }

    /// The value to store for footprints in the order layer, slot.
    pub fn encode(footprints: &[u8]) -> Vec<u8> {
        let mut bytes = XxHash3_64::oneshot(footprints).to_le_bytes().to_vec();
        bytes.extend_from_slice(footprints);
        bytes
    }
}

impl<'a> GroupRecord<'a> {
    /// Reads the value of a group of `slots` words, one or two, and checks it against its checksum; the error
    /// says what is wrong.
    pub fn decode(bytes: &'a [u8], slots: usize, shape: Shape) -> Result<Self, &'static str> {
        let (sum, footprints) = bytes
            .split_first_chunk::<CHECKSUM>()
            .ok_or("it is too short")?;
        if XxHash3_64::oneshot(footprints) != u64::from_le_bytes(*sum) {
            return Err("its checksum does not match its bytes");
        }
        let footprint_bytes = usize::from(shape.bits) / 8;
        if footprints.len() != shape.group_bytes(slots) {
            return Err("its size is not that of the store's layers and bits");
        }
        Ok(Self {
            footprints,
            slots,
            layers: usize::from(shape.layers),
            footprint_bytes,
        })
    }

    /// All footprints, in the order layer, slot, then the packed vectors.
    pub fn footprints(&self) -> &'a [u8] {
        self.footprints
    }

    /// The footprint at a layer (counting the kept ones from 0) of the group's first or second word. A
    /// uni-gram has one vector, whichever is asked for.
    pub fn footprint(&self, layer: usize, slot: Slot) -> &'a [u8] {
        let at = (layer * self.slots + self.place(slot)) * self.footprint_bytes;
        &self.footprints[at..at + self.footprint_bytes]
    }

    /// The vector itself, packed, to be compared with a document's; empty unless footprints are relative.
    pub fn vector(&self, slot: Slot) -> &'a [u8] {
        let vectors = &self.footprints[self.layers * self.slots * self.footprint_bytes..];
        let bytes = vectors.len() / self.slots;
        &vectors[self.place(slot) * bytes..][..bytes]
    }

    fn place(&self, slot: Slot) -> usize {
        usize::from(slot == Slot::Second && self.slots == 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        layers: 2,
        bits: 32,
        vector: 0,
    };

    #[test]
    fn slots_and_layers_find_their_footprints() {
        let bytes = GroupRecord::encode(&(0..16).collect::<Vec<u8>>());
        let pair = GroupRecord::decode(&bytes, 2, SHAPE).unwrap();
        assert_eq!(pair.footprint(0, Slot::First), [0, 1, 2, 3]);
        assert_eq!(pair.footprint(1, Slot::Second), [12, 13, 14, 15]);
        assert!(pair.vector(Slot::Second).is_empty());
        let wide = Shape { vector: 1, ..SHAPE };
        let bytes = GroupRecord::encode(&(0..24).collect::<Vec<u8>>());
        let pair = GroupRecord::decode(&bytes, 2, wide).unwrap();
        assert_eq!(pair.footprint(1, Slot::Second), [12, 13, 14, 15]);
        assert_eq!(pair.vector(Slot::First), [16, 17, 18, 19]);
        assert_eq!(pair.vector(Slot::Second), [20, 21, 22, 23]);
        let bytes = GroupRecord::encode(&[7; 8]);
        let word = GroupRecord::decode(&bytes, 1, SHAPE).unwrap();
        assert_eq!(word.footprint(1, Slot::Second), [7; 4]);
    }

    #[test]
    fn damage_is_seen() {
        let mut bytes = GroupRecord::encode(&[7; 8]);
        assert!(GroupRecord::decode(&bytes, 2, SHAPE).is_err(), "wrong size");
        bytes[9] ^= 4;
        assert!(
            GroupRecord::decode(&bytes, 1, SHAPE).is_err(),
            "flipped bit"
        );
        assert!(GroupRecord::decode(&bytes[..5], 1, SHAPE).is_err(), "cut");
    }
}
