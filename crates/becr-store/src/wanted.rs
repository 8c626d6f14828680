//! Words to look for in many documents.

use becr_basics::varint;

/// Bytes that are looked at together.
pub(crate) const PIECE: usize = 16;

/// Words to look for in forward indexes, as a filter of bytes. Hardly a word of a document is one of them, which can be
/// told without finding out where words begin and end: see [`ForwardIndex::for_each_wanted`].
///
/// [`ForwardIndex::for_each_wanted`]: crate::ForwardIndex::for_each_wanted
#[derive(Debug, Clone)]
pub struct Wanted {
    /// By the last byte of a word: which bytes may be before it, a bit for every four of them.
    before: Box<[u64; 256]>,
}

impl Wanted {
    /// Words by number.
    pub fn new(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut before = Box::new([0; 256]);
        let mut bytes = Vec::new();
        for number in numbers {
            bytes.clear();
            varint::push(number.into(), &mut bytes);
            match bytes[..] {
                [.., before_last, last] => before[usize::from(last)] |= 1 << (before_last >> 2),
                // Before a word of one byte another word ends, with a byte below 0x80.
                [last] => before[usize::from(last)] |= 0xffff_ffff,
                [] => {}
            }
        }
        Self { before }
    }

    /// A bit for each of some bytes, set if one of the words may end with it; `befores` are the bytes before them.
    #[inline(always)]
    pub(crate) fn ends(&self, befores: &[u8; PIECE], lasts: &[u8; PIECE]) -> u16 {
        let any = (0..PIECE).fold(0, |any, at| any | self.bit(befores[at], lasts[at]));
        // Mostly there is none, which takes less to find out than which one it is.
        if any & 1 == 0 {
            return 0;
        }
        self.bits(befores, lasts)
    }

    /// Apart, or else the compiler prepares for it all the time.
    #[inline(never)]
    fn bits(&self, befores: &[u8; PIECE], lasts: &[u8; PIECE]) -> u16 {
        let bit = |at: usize| (self.bit(befores[at], lasts[at]) & 1) << at;
        (0..PIECE).fold(0, |bits, at| bits | bit(at)) as u16
    }

    /// Whether one of the words may end with these two bytes, as the lowest bit.
    #[inline(always)]
    fn bit(&self, before: u8, last: u8) -> u64 {
        self.before[usize::from(last)] >> (before >> 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The numbers that pass the filter.
    fn passed(filter: &Wanted, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let passes = |number: &u32| {
            let mut bytes = vec![0; PIECE];
            varint::push((*number).into(), &mut bytes);
            let (lasts, befores) = (
                &bytes[bytes.len() - PIECE..],
                &bytes[bytes.len() - 1 - PIECE..],
            );
            let ends = filter.ends(befores.first_chunk().unwrap(), lasts.first_chunk().unwrap());
            ends >> (PIECE - 1) == 1
        };
        numbers.filter(passes).collect()
    }

    #[test]
    fn words_pass_and_hardly_any_other() {
        let filter = Wanted::new([7, 1001]);
        assert_eq!(passed(&filter, 0..5000), [7, 1000, 1001, 1002, 1003]);
        assert!(passed(&Wanted::new([]), 0..5000).is_empty());
    }

    proptest! {
        #[test]
        fn no_word_is_missed(wanted in prop::collection::vec(any::<u32>(), 1..9)) {
            let filter = Wanted::new(wanted.iter().copied());
            prop_assert_eq!(passed(&filter, wanted.iter().copied()), wanted);
        }
    }
}
