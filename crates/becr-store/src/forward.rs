//! The forward index of a document: its words, in order.
//!
//! A word is its number in the store's vocabulary, and its position is where it stands in the sequence, so
//! that frequencies, positions, distances and pairs of any query's words can be read off in one pass. Common
//! words are met early and get small numbers, which take one byte: under two bytes a word on average.

use crate::varint;

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
    numbers: &'a [u8],
    bytes: usize,
}

impl Words {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * (self.title.len() + self.body.len()) + 4);
        varint::push(self.title.len() as u32, &mut bytes);
        varint::push(self.body.len() as u32, &mut bytes);
        self.title
            .iter()
            .chain(&self.body)
            .for_each(|&word| varint::push(word, &mut bytes));
        bytes
    }
}

impl<'a> ForwardIndex<'a> {
    /// Reads the counts; the words themselves are decoded as they are asked for.
    pub(crate) fn new(mut bytes: &'a [u8]) -> Option<Self> {
        let length = bytes.len();
        let title_words = varint::pull(&mut bytes)?;
        let body_words = varint::pull(&mut bytes)?;
        // Every word takes a byte at least: a count beyond that is damage, not a reason to allocate.
        let words = u64::from(title_words) + u64::from(body_words);
        (words <= bytes.len() as u64).then_some(Self {
            title_words,
            body_words,
            numbers: bytes,
            bytes: length,
        })
    }

    /// Bytes it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
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
        let mut rest = self.numbers;
        std::iter::from_fn(move || varint::pull(&mut rest))
            .take(self.title_words as usize + self.body_words as usize)
    }

    /// The code that a word has in every index. Different words have different codes.
    pub fn code(number: u32) -> u64 {
        let mut bytes = Vec::with_capacity(8);
        varint::push(number, &mut bytes);
        bytes.resize(8, 0);
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    }

    /// Calls `visit` with the place and the [code](Self::code) of every word, the title's before the body's.
    ///
    /// This is for looking for a few words in many documents: nothing is decoded, and hardly a branch depends on how
    /// many bytes a word takes, which no processor could foresee.
    #[inline]
    pub fn for_each_code(&self, mut visit: impl FnMut(u32, u64)) {
        let words = self.title_words.saturating_add(self.body_words);
        let (mut rest, mut word) = (self.numbers, 0);
        while word < words {
            if word + 2 < words
                && let Some(eight) = rest.first_chunk()
                && let Some((codes, bytes)) = varint::three_codes(*eight)
            {
                for (place, code) in (word..).zip(codes) {
                    visit(place, code);
                }
                rest = &rest[bytes..];
                word += 3;
                continue;
            }
            // The last bytes, or rare words one after the other.
            let Some(number) = varint::pull(&mut rest) else {
                return;
            };
            visit(word, Self::code(number));
            word += 1;
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
        fn round_trip(title in prop::collection::vec(any::<u32>(), 0..9), body in prop::collection::vec(0u32..9999, 0..99)) {
            let words = Words { title, body };
            let bytes = words.encode();
            let index = ForwardIndex::new(&bytes).unwrap();
            prop_assert_eq!(index.title_words() + index.body_words(), index.numbers().count());
            let mut codes = Vec::new();
            index.for_each_code(|place, code| codes.push((place as usize, code)));
            let expected = words.title.iter().chain(&words.body).map(|&word| ForwardIndex::code(word));
            prop_assert_eq!(codes, expected.enumerate().collect::<Vec<_>>());
            prop_assert_eq!(index.words(), words);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(index) = ForwardIndex::new(&bytes) {
                let _ = index.words();
                index.for_each_code(|_, _| {});
            }
        }
    }
}
