//! The forward index of a document: its words, in order.
//!
//! A word is its number in the store's vocabulary, and its position is where it stands in the sequence, so
//! that frequencies, positions, distances and pairs of any query's words can be read off in one pass. Common
//! words are met early and get small numbers, which take one byte: under two bytes a word on average.

use crate::wanted::{PIECE, Wanted};
use becr_basics::varint;

/// The words of a document, title and body apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Words of the title, by number.
    pub title: Vec<u32>,
    /// Words of the body, by number.
    pub body: Vec<u32>,
}

/// A forward index as it lies in a record.
#[derive(Debug, Clone, Copy)]
pub struct ForwardIndex<'a> {
    title_words: u32,
    body_words: u32,
    /// The counts, then the numbers of the words.
    bytes: &'a [u8],
    /// Bytes that the counts take.
    counts: usize,
}

impl Words {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * (self.title.len() + self.body.len()) + 4);
        varint::push(self.title.len() as u64, &mut bytes);
        varint::push(self.body.len() as u64, &mut bytes);
        self.title
            .iter()
            .chain(&self.body)
            .for_each(|&word| varint::push(word.into(), &mut bytes));
        bytes
    }
}

impl<'a> ForwardIndex<'a> {
    /// Reads the counts; the words themselves are decoded as they are asked for.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let mut numbers = bytes;
        let title_words = varint::pull(&mut numbers)?;
        let body_words = varint::pull(&mut numbers)?;
        // Every word takes a byte at least: a count beyond that is damage, not a reason to allocate.
        let words = u64::from(title_words) + u64::from(body_words);
        (words <= numbers.len() as u64).then_some(Self {
            title_words,
            body_words,
            bytes,
            counts: bytes.len() - numbers.len(),
        })
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Length of the title in words.
    pub fn title_words(&self) -> usize {
        self.title_words as usize
    }

    /// Length of the body in words.
    pub fn body_words(&self) -> usize {
        self.body_words as usize
    }

    /// The numbers of all words, the title's before the body's.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + 'a {
        let mut rest = &self.bytes[self.counts..];
        std::iter::from_fn(move || varint::pull(&mut rest))
            .take(self.title_words as usize + self.body_words as usize)
    }

    /// Calls `visit` with the place and the number of every word that is wanted, the title's before the body's; and of
    /// a few others, which the filter takes for one.
    ///
    /// This is for looking for a few words in many documents: other words are counted and not decoded, and hardly a branch
    /// depends on how many bytes a word takes, which no processor could foresee.
    #[inline]
    pub fn for_each_wanted(&self, wanted: &Wanted, mut visit: impl FnMut(u32, u32)) {
        let words = self.title_words.saturating_add(self.body_words);
        let lasts = &self.bytes[self.counts..];
        // The byte before the first ends the counts, as one before any other word ends a word.
        let befores = &self.bytes[self.counts - 1..self.bytes.len() - 1];
        let (lasts, last_lasts) = lasts.as_chunks::<PIECE>();
        let (befores, last_befores) = befores.as_chunks::<PIECE>();
        // What does not fill a piece, filled up with bytes that end no word.
        let (mut rest, mut before_rest) = ([0x80; PIECE], [0; PIECE]);
        rest[..last_lasts.len()].copy_from_slice(last_lasts);
        before_rest[..last_befores.len()].copy_from_slice(last_befores);
        // Words that end before the piece.
        let mut ended = 0;
        for piece in 0..=lasts.len() {
            let befores = befores.get(piece).unwrap_or(&before_rest);
            let lasts = lasts.get(piece).unwrap_or(&rest);
            let mut found = wanted.ends(befores, lasts);
            while found != 0 {
                let end = found.trailing_zeros();
                let place = ended + varint::count_before(lasts, end);
                if place < words {
                    let end = self.counts + piece * PIECE + end as usize;
                    visit(place, varint::ending(&self.bytes[..=end]));
                }
                found &= found - 1;
            }
            ended += varint::count(lasts);
        }
    }

    /// Decodes both fields.
    pub fn words(&self) -> Words {
        let mut numbers = self.numbers();
        let title = numbers.by_ref().take(self.title_words()).collect();
        Words {
            title,
            body: numbers.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(title in prop::collection::vec(any::<u32>(), 0..9), body in prop::collection::vec(prop_oneof![0u32..9, 400u32..600, 19_990u32..20_010], 0..199)) {
            let words = Words { title, body };
            let bytes = words.encode();
            let index = ForwardIndex::new(&bytes).unwrap();
            prop_assert_eq!(index.title_words() + index.body_words(), index.numbers().count());
            let wanted = [3, 500, 20_000];
            let numbers = words.title.iter().chain(&words.body).copied();
            let expected = (0_u32..).zip(numbers).filter(|(_, number)| wanted.contains(number));
            let mut found = Vec::new();
            index.for_each_wanted(&Wanted::new(wanted), |place, number| {
                assert_eq!(index.numbers().nth(place as usize), Some(number));
                found.push((place, number));
            });
            found.retain(|(_, number)| wanted.contains(number));
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
            prop_assert_eq!(index.words(), words);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), wanted in any::<u32>()) {
            if let Some(index) = ForwardIndex::new(&bytes) {
                let _ = index.words();
                index.for_each_wanted(&Wanted::new([wanted, 0]), |_, _| {});
            }
        }
    }
}
