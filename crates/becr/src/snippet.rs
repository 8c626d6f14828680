//! The passage of a text that is nearest to the query.

use crate::Error;
use crate::rerank::{Ranking, RerankAnswer};
use becr_rank::{RankWorkspace, ShadedWord, Shading};
use serde::Serialize;
use std::ops::Range;

/// Words of a snippet.
const WORDS: usize = 32;
/// Below this a similarity shows nothing: words that have nothing to do with each other are often this close.
pub const FAINTEST: f32 = 0.2;
/// Words this near to a query term are marked.
const MARKED: f32 = 0.5;

/// A passage of a document's text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snippet {
    /// The passage, as it was written.
    pub text: String,
    /// Whether text comes before it.
    pub starts_late: bool,
    /// Whether text comes after it.
    pub ends_early: bool,
    /// The words near to the query: places in the passage, in bytes.
    pub marks: Vec<Range<usize>>,
    /// All its words: places in the passage, in bytes, and their similarity to the nearest query term.
    #[serde(skip)]
    pub words: Vec<(Range<usize>, f32)>,
}

/// How strongly a similarity is shown, from 0 to 1.
pub fn strength(similarity: f32) -> f32 {
    ((similarity - FAINTEST) / (1.0 - FAINTEST)).clamp(0.0, 1.0)
}

impl Snippet {
    /// The window of words whose nearness to the query's terms sums to the most, the first of several.
    pub fn of(shading: &Shading) -> Self {
        let words = &shading.text_words;
        let near: Vec<f32> = words
            .iter()
            .map(|word| strength(nearest(word)).powi(2))
            .collect();
        let length = words.len().min(WORDS);
        let mut sum: f32 = near[..length].iter().sum();
        let (mut best, mut start) = (sum, 0);
        for end in length..words.len() {
            sum += near[end] - near[end - length];
            // Sums of the same window drift a little: a window must be better by more than that.
            if sum > best + 1e-4 {
                (best, start) = (sum, end + 1 - length);
            }
        }
        let window = &words[start..start + length];
        let (from, to) = match (window.first(), window.last()) {
            (Some(first), Some(last)) => (first.start, last.end),
            _ => (0, shading.text.len()),
        };
        let from = if start == 0 { 0 } else { from };
        let to = match start + length == words.len() {
            true => shading.text.len(),
            false => to,
        };
        Self {
            text: shading.text.get(from..to).unwrap_or_default().to_owned(),
            starts_late: from > 0,
            ends_early: to < shading.text.len(),
            marks: window
                .iter()
                .filter(|word| nearest(word) >= MARKED)
                .map(|word| word.start - from..word.end - from)
                .collect(),
            words: window
                .iter()
                .map(|word| (word.start - from..word.end - from, nearest(word)))
                .collect(),
        }
    }
}

/// The similarity to the nearest query term.
fn nearest(word: &ShadedWord) -> f32 {
    word.similarities.iter().copied().fold(0.0, f32::max)
}

impl Ranking<'_> {
    /// The snippet of a document; `None` if the index keeps no texts.
    pub(crate) fn snippet(
        &self,
        answer: &RerankAnswer,
        id: &str,
        work: &mut RankWorkspace,
    ) -> Result<Option<Snippet>, Error> {
        let shading = self.shading(answer, id, work)?;
        Ok(shading.map(|shading| Snippet::of(&shading)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words `w0 w1 …` with the similarity of each to one term.
    fn shading(similarities: &[f32]) -> Shading {
        let mut text = String::new();
        let text_words = similarities
            .iter()
            .enumerate()
            .map(|(n, &similarity)| {
                text.push_str(if n > 0 { " " } else { "" });
                let start = text.len();
                text.push_str(&format!("w{n}"));
                ShadedWord {
                    start,
                    end: text.len(),
                    similarities: vec![similarity],
                }
            })
            .collect();
        text.push('.');
        Shading {
            title: String::new(),
            text,
            title_words: Vec::new(),
            text_words,
        }
    }

    #[test]
    fn the_nearest_window_is_shown_and_its_nearest_words_marked() {
        let mut similarities = [0.1; 100];
        similarities[70] = 0.9;
        similarities[75] = 0.8;
        similarities[5] = 0.7;
        let snippet = Snippet::of(&shading(&similarities));
        assert!(snippet.starts_late && snippet.ends_early);
        let marked: Vec<&str> = snippet
            .marks
            .iter()
            .map(|mark| &snippet.text[mark.clone()])
            .collect();
        assert_eq!(marked, ["w70", "w75"]);
        assert_eq!(snippet.text.split(' ').count(), WORDS);
    }

    #[test]
    fn short_and_empty_texts_are_shown_whole() {
        let short = Snippet::of(&shading(&[0.1, 0.9, 0.1]));
        assert_eq!(short.text, "w0 w1 w2.");
        assert!(!short.starts_late && !short.ends_early);
        assert_eq!(short.marks, vec![3..5]);
        let empty = Snippet::of(&shading(&[]));
        assert_eq!((empty.text.as_str(), empty.marks.len()), (".", 0));
    }
}
