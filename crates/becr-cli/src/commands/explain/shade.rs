//! A document's text, word by word, each word with its similarity to every query term.

use becr_text::pieces::{Pieces, Tokenised};
use becr_text::words::Span;

/// Below this a similarity shows nothing: words that have nothing to do with each other are often this close.
const FAINTEST: f32 = 0.2;

/// A stretch of text: a word, or what stands between two words.
#[derive(Debug, PartialEq)]
pub(super) struct Stretch<'a> {
    pub(super) text: &'a str,
    /// The similarity to each query term; empty for what is no word.
    pub(super) similarities: Vec<f32>,
}

impl Stretch<'_> {
    /// The query term that the word is closest to, and how close.
    pub(super) fn nearest(&self) -> Option<(usize, f32)> {
        let terms = self.similarities.iter().copied().enumerate();
        terms.reduce(|best, term| if term.1 > best.1 { term } else { best })
    }
}

/// How strongly a similarity is shown, from 0 to 1.
pub(super) fn strength(similarity: f32) -> f32 {
    ((similarity - FAINTEST) / (1.0 - FAINTEST)).clamp(0.0, 1.0)
}

/// Title and text in stretches, each with its similarities.
pub(super) struct Shaded<'a> {
    pub(super) title: Vec<Stretch<'a>>,
    pub(super) text: Vec<Stretch<'a>>,
}

/// Spreads the similarities of WordPieces, `[term][piece]`, over the words of title and text. A word is as
/// similar as its most similar piece.
pub(super) fn shade<'a>(
    title: &'a str,
    text: &'a str,
    tokenised: &Tokenised,
    similarities: &[Vec<f32>],
) -> Shaded<'a> {
    let Tokenised {
        pieces,
        title_pieces,
    } = tokenised;
    let (title_words, text_words) = (
        words(pieces, 0..*title_pieces, similarities),
        words(pieces, *title_pieces..pieces.len(), similarities),
    );
    Shaded {
        title: stretches(title, title_words),
        text: stretches(text, text_words),
    }
}

/// The words of a field: where they stand, and their similarities.
fn words(
    pieces: &Pieces,
    range: std::ops::Range<usize>,
    similarities: &[Vec<f32>],
) -> Vec<(Span, Vec<f32>)> {
    let mut words: Vec<(u32, Span, Vec<f32>)> = Vec::new();
    for piece in range {
        let Some(word) = pieces.words[piece] else {
            continue;
        };
        let span = pieces.spans[piece];
        let of_piece = similarities
            .iter()
            .map(|term| term.get(piece).copied().unwrap_or(0.0));
        match words.last_mut() {
            Some((last, place, best)) if *last == word => {
                place.end = span.end;
                best.iter_mut()
                    .zip(of_piece)
                    .for_each(|(best, new)| *best = best.max(new));
            }
            _ => words.push((word, span, of_piece.collect())),
        }
    }
    words
        .into_iter()
        .map(|(_, span, best)| (span, best))
        .collect()
}

/// Cuts a text at the borders of its words.
fn stretches(text: &str, words: Vec<(Span, Vec<f32>)>) -> Vec<Stretch<'_>> {
    let mut stretches = Vec::with_capacity(2 * words.len() + 1);
    let mut at = 0;
    for (span, similarities) in words {
        // A span that does not fit was made from another text: it is left unshaded.
        let (Some(before), Some(word)) = (text.get(at..span.start), text.get(span.start..span.end))
        else {
            continue;
        };
        if !before.is_empty() {
            stretches.push(Stretch {
                text: before,
                similarities: Vec::new(),
            });
        }
        stretches.push(Stretch {
            text: word,
            similarities,
        });
        at = span.end;
    }
    if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        stretches.push(Stretch {
            text: rest,
            similarities: Vec::new(),
        });
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_text::pieces::WordPieces;

    #[test]
    fn pieces_join_to_words_and_the_text_stays_whole() {
        let vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nriver\n##bank\na\nsmall\n.\n";
        let pieces = WordPieces::from_vocab(vocabulary.as_bytes(), "test").unwrap();
        let (title, text) = ("River", "A  riverbank. Small!");
        let tokenised = pieces.document(title, text);
        let count = tokenised.pieces.len();
        let similarities: Vec<Vec<f32>> = vec![
            (0..count).map(|n| n as f32 / 10.0).collect(),
            (0..count).map(|n| 1.0 - n as f32 / 10.0).collect(),
        ];
        let shaded = shade(title, text, &tokenised, &similarities);
        let joined: String = shaded.text.iter().map(|s| s.text).collect();
        assert_eq!(joined, text);
        assert_eq!(shaded.title[0].text, "River");
        let words: Vec<&Stretch<'_>> = shaded
            .text
            .iter()
            .filter(|s| !s.similarities.is_empty())
            .collect();
        assert_eq!(
            words.iter().map(|w| w.text).collect::<Vec<_>>(),
            ["A", "riverbank", "Small"]
        );
        // "river" is the third piece of all, "##bank" the fourth.
        assert_eq!(words[1].similarities, [0.3, 0.8]);
        assert_eq!(words[1].nearest(), Some((1, 0.8)));
        assert_eq!((strength(0.1), strength(1.0)), (0.0, 1.0));
    }

    #[test]
    fn what_does_not_fit_is_left_unshaded() {
        let words = vec![
            (Span { start: 1, end: 2 }, vec![1.0]),
            (Span { start: 3, end: 9 }, vec![1.0]),
        ];
        let parts = stretches("é a", words);
        assert_eq!(parts.iter().map(|s| s.text).collect::<String>(), "é a");
    }
}
