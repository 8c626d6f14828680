//! A text cut at the borders of its words, each word with how strongly it is to be shaded.

use becr_rank::ShadedWord;

/// A stretch of text: a word, or what stands between two words.
pub(super) struct Stretch<'a> {
    pub(super) text: &'a str,
    /// `None` for what stands between two words.
    pub(super) word: Option<&'a ShadedWord>,
}

/// Cuts a text at the borders of its words.
pub(super) fn stretches<'a>(text: &'a str, words: &'a [ShadedWord]) -> Vec<Stretch<'a>> {
    let mut stretches = Vec::with_capacity(2 * words.len() + 1);
    let mut push = |text: Option<&'a str>, word: Option<&'a ShadedWord>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            stretches.push(Stretch { text, word });
        }
    };
    let mut at = 0;
    for word in words {
        push(text.get(at..word.start), None);
        push(text.get(word.start..word.end), Some(word));
        at = word.end;
    }
    push(text.get(at..), None);
    stretches
}

/// The words most similar to a term of those that stand out from the document, each spelling once, with their
/// similarity.
pub(super) fn nearest_words<'a>(
    fields: [(&'a str, &'a [ShadedWord]); 2],
    term: usize,
    count: usize,
) -> Vec<(String, f32)> {
    let mut words: Vec<(String, f32)> = Vec::new();
    for (text, shaded) in fields {
        let stands_out = |word: &&ShadedWord| word.strengths.get(term).is_some_and(|s| *s > 0.0);
        for word in shaded.iter().filter(stands_out) {
            let spelling = text.get(word.start..word.end).unwrap_or_default();
            let similarity = word.similarities.get(term).copied().unwrap_or(0.0);
            words.push((spelling.to_lowercase(), similarity));
        }
    }
    words.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut seen = std::collections::HashSet::new();
    words.retain(|(spelling, _)| seen.insert(spelling.clone()));
    words.truncate(count);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(start: usize, end: usize, similarities: &[f32]) -> ShadedWord {
        ShadedWord {
            start,
            end,
            similarities: similarities.to_vec(),
            strengths: similarities.to_vec(),
        }
    }

    #[test]
    fn the_text_stays_whole() {
        let text = "A  riverbank. Small é";
        let words = [
            word(0, 1, &[0.1, 0.2]),
            word(3, 12, &[0.9, 0.4]),
            word(14, 19, &[0.3, 0.5]),
        ];
        let cut = stretches(text, &words);
        let joined: String = cut.iter().map(|stretch| stretch.text).collect();
        assert_eq!(joined, text);
        let nearest = cut.iter().filter_map(|stretch| stretch.word?.nearest());
        let nearest: Vec<_> = nearest.collect();
        assert_eq!(nearest, [(1, 0.2), (0, 0.9), (1, 0.5)]);
        let first = nearest_words([("", &[]), (text, &words)], 0, 2);
        assert_eq!(
            first,
            [("riverbank".to_owned(), 0.9), ("small".to_owned(), 0.3)]
        );
    }
}
