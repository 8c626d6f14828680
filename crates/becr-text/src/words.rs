//! Words, as BERT's basic tokenizer sees them.
//!
//! Control characters vanish, white space and punctuation separate, every CJK ideograph is a word of
//! its own; what is left is lower-cased and loses its accents. The rules and the Unicode tables are
//! those of the `tokenizers` crate, so a word here is what its WordPiece model is given there (a
//! property test holds the two together).
//!
//! Punctuation is no word: it takes no position and belongs to no token group.

use unicode_categories::UnicodeCategories;
use unicode_normalization_alignments::UnicodeNormalization;

/// Where a word stands in the text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte of the word.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
}

/// A word and its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word, lower-cased and without accents.
    pub text: String,
    /// Its place in the original text.
    pub span: Span,
}

/// The words of `text`, in order. The n-th item is the word at position n.
///
/// ```
/// let words: Vec<String> = becr_text::words::words("Naïve café-owners!").map(|w| w.text).collect();
/// assert_eq!(words, ["naive", "cafe", "owners"]);
/// ```
pub fn words(text: &str) -> impl Iterator<Item = Word> + '_ {
    let mut scanner = Scanner::new(text);
    std::iter::from_fn(move || {
        let mut text = String::new();
        scanner.next_into(&mut text).map(|span| Word { text, span })
    })
}

/// Reads words one by one into a buffer of the caller's: no allocation per word.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Replaces `word` by the next word and says where it stands; `None` at the end of the text.
    pub fn next_into(&mut self, word: &mut String) -> Option<Span> {
        word.clear();
        let bytes = self.text.as_bytes();
        let (mut start, mut end) = (self.at, self.at);
        while self.at < bytes.len() {
            let (step, length) = match bytes[self.at] {
                byte if byte.is_ascii() => (push_ascii(byte, word), 1),
                _ => {
                    let c = self.text[self.at..].chars().next()?;
                    (push_wide(c, word), c.len_utf8())
                }
            };
            match step {
                Step::Grew { first: true } => (start, end) = (self.at, self.at + length),
                Step::Grew { first: false } => end = self.at + length,
                Step::Nothing => {}
                Step::Break if word.is_empty() => {}
                Step::Alone if word.is_empty() => {
                    let span = Span {
                        start: self.at,
                        end: self.at + length,
                    };
                    self.at += length;
                    push_folded(&self.text[span.start..span.end], word);
                    return Some(span);
                }
                Step::Break | Step::Alone => return Some(Span { start, end }),
            }
            self.at += length;
        }
        (!word.is_empty()).then_some(Span { start, end })
    }
}

/// What one character of the text does to the word being read.
enum Step {
    /// It was appended to the word; `first` if it opened the word.
    Grew { first: bool },
    /// It vanishes: a control character or a lone accent.
    Nothing,
    /// It ends the word: white space or punctuation.
    Break,
    /// It is a word by itself: a CJK ideograph.
    Alone,
}

fn push_ascii(byte: u8, word: &mut String) -> Step {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' => {
            word.push(char::from(byte));
            Step::Grew {
                first: word.len() == 1,
            }
        }
        b'A'..=b'Z' => {
            word.push(char::from(byte.to_ascii_lowercase()));
            Step::Grew {
                first: word.len() == 1,
            }
        }
        b' ' | b'\t' | b'\n' | b'\r' => Step::Break,
        _ if byte.is_ascii_punctuation() => Step::Break,
        _ => Step::Nothing,
    }
}

fn push_wide(c: char, word: &mut String) -> Step {
    if c == char::REPLACEMENT_CHARACTER || c.is_other() {
        return Step::Nothing;
    }
    if c.is_whitespace() {
        return Step::Break;
    }
    if is_ideograph(c) {
        return Step::Alone;
    }
    let before = word.len();
    for folded in folded(c) {
        // A character may decompose into punctuation (≠ is = and a stroke): it separates then.
        if folded.is_ascii_punctuation() || folded.is_punctuation() || folded.is_whitespace() {
            word.truncate(before);
            return Step::Break;
        }
        word.push(folded);
    }
    match (before, word.len()) {
        (before, after) if before == after => Step::Nothing,
        (0, _) => Step::Grew { first: true },
        _ => Step::Grew { first: false },
    }
}

fn push_folded(text: &str, word: &mut String) {
    word.extend(text.chars().flat_map(folded));
}

/// A character decomposed, without its accents, in lower case.
fn folded(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c)
        .nfd()
        .map(|(part, _)| part)
        .filter(|part| !part.is_mark_nonspacing())
        .flat_map(char::to_lowercase)
}

/// The blocks of CJK ideographs that BERT sets apart. Kana and Hangul are not among them: they are
/// written in words.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF
        | 0x2A700..=0x2B81F | 0x2B920..=0x2CEAF | 0x2F800..=0x2FA1F)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokenizers::normalizers::BertNormalizer;
    use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
    use tokenizers::{NormalizedString, Normalizer, OffsetReferential, OffsetType};
    use tokenizers::{PreTokenizedString, PreTokenizer};

    fn texts(text: &str) -> Vec<String> {
        words(text).map(|word| word.text).collect()
    }

    /// The words as the reference implementation finds them.
    fn reference(text: &str) -> Vec<String> {
        let mut normalized = NormalizedString::from(text);
        BertNormalizer::default()
            .normalize(&mut normalized)
            .unwrap();
        let mut split = PreTokenizedString::from(normalized);
        BertPreTokenizer.pre_tokenize(&mut split).unwrap();
        split
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .into_iter()
            .map(|(word, _, _)| word.to_owned())
            .filter(|word| {
                !word
                    .chars()
                    .all(|c| c.is_ascii_punctuation() || c.is_punctuation())
            })
            .collect()
    }

    #[test]
    fn splits_at_punctuation_and_folds() {
        assert_eq!(
            texts("Zürich can't re-rank 3,141."),
            ["zurich", "can", "t", "re", "rank", "3", "141"]
        );
        assert_eq!(texts("東京 Tokyo"), ["東", "京", "tokyo"]);
        assert_eq!(texts("a\u{200b}b\u{0}c"), ["abc"]);
        assert_eq!(texts("x≠y"), ["x", "y"]);
        assert_eq!(texts("👍 ok"), ["👍", "ok"]);
        assert!(texts(" \t—…!").is_empty());
    }

    #[test]
    fn spans_cover_the_word_in_the_original() {
        let text = "…Café (au lait)";
        let spans: Vec<&str> = words(text)
            .map(|w| &text[w.span.start..w.span.end])
            .collect();
        assert_eq!(spans, ["Café", "au", "lait"]);
    }

    proptest! {
        #[test]
        fn agrees_with_the_reference(text in "\\PC{0,40}") {
            prop_assert_eq!(texts(&text), reference(&text));
        }

        #[test]
        fn agrees_on_any_text(text in any::<String>()) {
            prop_assert_eq!(texts(&text), reference(&text));
        }

        #[test]
        fn agrees_on_accents_and_marks(text in "[a-zÀ-ž\u{300}-\u{36f} .,'≠一-三가-각\u{2000}-\u{206f}\u{c}]{0,60}") {
            prop_assert_eq!(texts(&text), reference(&text));
        }

        #[test]
        fn spans_rise_and_lie_on_characters(text in any::<String>()) {
            let mut last = 0;
            for word in words(&text) {
                prop_assert!(word.span.start >= last && word.span.end > word.span.start);
                prop_assert!(text.get(word.span.start..word.span.end).is_some());
                last = word.span.end;
            }
        }
    }
}
