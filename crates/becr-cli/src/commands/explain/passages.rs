//! The passages of a long text that stand out most, so that an explanation fits a screen.

use becr_rank::ShadedWord;

/// A text of so many words is shown whole.
const SHORT: usize = 240;
/// Words of a passage, and how many passages are shown.
const WORDS: usize = 40;
const PASSAGES: usize = 5;

/// A part of a text, its words at their places in it.
pub(super) struct Passage {
    /// In one line: a log would have one word to a line.
    pub(super) text: String,
    pub(super) words: Vec<ShadedWord>,
}

/// The passages with the words that stand out most, by one term or by any, in their order; `None` for a text that is short
/// enough to be shown whole.
pub(super) fn standing_out(
    text: &str,
    words: &[ShadedWord],
    term: Option<usize>,
) -> Option<Vec<Passage>> {
    if words.len() <= SHORT {
        return None;
    }
    let strength = |word: &ShadedWord| -> f32 {
        match term {
            Some(term) => word.strengths.get(term).copied().unwrap_or_default(),
            None => word.strength(),
        }
    };
    let pieces: Vec<&[ShadedWord]> = words.chunks(WORDS).collect();
    let mut best: Vec<(usize, f32)> = pieces
        .iter()
        .map(|piece| piece.iter().map(|word| strength(word).powi(2)).sum())
        .enumerate()
        .collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut places: Vec<usize> = best
        .iter()
        .take(PASSAGES)
        .map(|(place, _)| *place)
        .collect();
    places.sort_unstable();
    let passage = |place: usize| {
        let piece = pieces[place];
        let (start, end) = (piece.first()?.start, piece.last()?.end);
        let words = piece.iter().map(|word| ShadedWord {
            start: word.start - start,
            end: word.end - start,
            ..word.clone()
        });
        Some(Passage {
            text: text.get(start..end)?.replace('\n', " "),
            words: words.collect(),
        })
    };
    Some(places.into_iter().filter_map(passage).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_down_to_what_stands_out() {
        let text: String = (0..1000).map(|n| format!("w{n:03}\n")).collect();
        let word = |n: usize| ShadedWord {
            start: 5 * n,
            end: 5 * n + 4,
            similarities: vec![0.0, 0.0],
            strengths: vec![
                if n == 700 { 1.0 } else { 0.0 },
                if n == 90 { 0.5 } else { 0.0 },
            ],
        };
        let words: Vec<ShadedWord> = (0..1000).map(word).collect();
        assert!(standing_out(&text, &words[..SHORT], None).is_none());
        let passages = standing_out(&text, &words, None).unwrap();
        assert_eq!(passages.len(), PASSAGES);
        let shown: Vec<&str> = passages
            .iter()
            .map(|passage| passage.text.as_str())
            .collect();
        assert!(
            shown.iter().any(|text| text.contains("w700"))
                && shown.iter().any(|text| text.contains("w090"))
        );
        let passage = passages
            .iter()
            .find(|passage| passage.text.contains("w700"))
            .unwrap();
        let marked = passage
            .words
            .iter()
            .find(|word| word.strengths[0] > 0.0)
            .unwrap();
        assert_eq!(&passage.text[marked.start..marked.end], "w700");
        assert!(shown.is_sorted(), "{shown:?}");
        let by_term = standing_out(&text, &words, Some(1)).unwrap();
        assert!(by_term.iter().any(|passage| passage.text.contains("w090")));
    }
}
