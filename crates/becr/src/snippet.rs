//! The passage of a text that is nearest to the query.

use crate::Error;
use crate::rerank::{Ranking, RerankAnswer};
use becr_rank::{RankWorkspace, Shading};
use serde::Serialize;
use std::ops::Range;

/// Words of a snippet.
const WORDS: usize = 32;
/// Words that stand out this far are marked.
const MARKED: f32 = 0.4;
/// A sentence that begins this many words before the best window is shown from its beginning.
const SENTENCE: usize = 12;
/// Words before the best window that a reader is given where no sentence begins near it.
const LEAD: usize = 3;

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
    /// All its words: places in the passage, in bytes, and how far they stand out, from 0 to 1.
    #[serde(skip)]
    pub words: Vec<(Range<usize>, f32)>,
}

impl Snippet {
    /// The window of words that stand out most together, the first of several; moved back to the beginning of a
    /// sentence where that loses none of the words that are marked.
    pub fn of(shading: &Shading) -> Self {
        let words = &shading.text_words;
        let near: Vec<f32> = words.iter().map(|word| word.strength().powi(2)).collect();
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
        let start = start - lead(shading, start, length);
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
                .filter(|word| word.strength() >= MARKED)
                .map(|word| word.start - from..word.end - from)
                .collect(),
            words: window
                .iter()
                .map(|word| (word.start - from..word.end - from, word.strength()))
                .collect(),
        }
    }
}

/// How many words earlier a window can begin for the sake of its first sentence: not more than stand behind its last
/// marked word.
fn lead(shading: &Shading, start: usize, length: usize) -> usize {
    let words = &shading.text_words;
    let window = words[start..start + length].iter().rev();
    let spare = window
        .take_while(|word| word.strength() < MARKED)
        .count()
        .min(start)
        .min(SENTENCE);
    // The words before the window, and whether a sentence ends between one and the next.
    let begins = |&back: &usize| {
        let at = start - back;
        let gap = match at {
            0 => return true,
            _ => words[at - 1].end..words[at].start,
        };
        let gap = shading.text.get(gap).unwrap_or_default();
        gap.contains(['.', '!', '?', '\n'])
    };
    (0..=spare).find(begins).unwrap_or(spare.min(LEAD))
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
    use becr_rank::ShadedWord;

    /// A text of words `w0 w1 …` that stand out that far by one term.
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
                    strengths: vec![similarity],
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
    fn a_passage_begins_with_a_sentence_or_with_a_few_words_before_the_first_match() {
        let mut similarities = [0.0; 100];
        similarities[40] = 0.9;
        // Too faint to be marked: a few words of these may be lost.
        similarities[50..72].fill(0.1);
        let mut text = shading(&similarities);
        let snippet = Snippet::of(&text);
        assert!(snippet.text.starts_with("w37 "), "{}", snippet.text);
        let end = text.text_words[34].end;
        text.text.replace_range(end..=end, ".");
        let snippet = Snippet::of(&text);
        assert!(snippet.text.starts_with("w35 "), "{}", snippet.text);
        // No marked word is lost.
        similarities[71] = 0.9;
        let snippet = Snippet::of(&shading(&similarities));
        assert!(snippet.text.starts_with("w40 ") && snippet.text.ends_with("w71"));
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
