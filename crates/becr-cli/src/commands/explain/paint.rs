//! Words in the colours of the query terms that they are close to, for terminals; marked, where there is no colour.

use super::shade::Stretch;
use crate::output::{has_colours, printable};

/// Shades of each term's colour, from faint to strong, among the 256 colours of terminals.
const SHADES: [[u8; 4]; 6] = [
    [230, 228, 226, 220],
    [194, 157, 120, 82],
    [195, 159, 123, 81],
    [225, 219, 213, 207],
    [223, 222, 215, 208],
    [189, 183, 177, 171],
];
/// Without colours, words that stand out this far are marked.
const MARKED: f32 = 0.4;

/// How words are shaded.
pub(super) struct Paint<'a> {
    colours: bool,
    /// The query's terms.
    words: Vec<&'a str>,
    /// The one term to shade by, if it is one.
    term: Option<usize>,
}

impl<'a> Paint<'a> {
    /// For the terms of a query; shades by one of them, or each word by the term it is closest to.
    pub(super) fn new(words: Vec<&'a str>, term: Option<usize>) -> Self {
        Self {
            colours: has_colours(),
            words,
            term,
        }
    }

    /// Says what the shades mean.
    pub(super) fn legend(&self) -> String {
        let terms = self.words.iter().enumerate();
        let terms = terms.filter(|(number, _)| self.term.is_none_or(|term| term == *number));
        let named: Vec<String> = terms
            .map(|(number, word)| match self.colours {
                true => coloured(word, number, 1.0),
                false => format!("\"{word}\""),
            })
            .collect();
        let how = match self.colours {
            true => "shaded by similarity to",
            false => "words are marked that stand out by their similarity to",
        };
        format!("{how} {}", named.join(", "))
    }

    pub(super) fn stretch(&self, stretch: &Stretch<'_>) -> String {
        let text = printable(stretch.text);
        let Some(word) = stretch.word else {
            return text.into_owned();
        };
        let nearest = match self.term {
            Some(term) => word.strengths.get(term).map(|strength| (term, *strength)),
            None => word.nearest(),
        };
        match nearest {
            Some((term, strength)) if self.colours => coloured(&text, term, strength),
            Some((term, strength)) if strength >= MARKED => {
                let similarity = word.similarities[term];
                match self.term {
                    Some(_) => format!("{text}{{{similarity:.2}}}"),
                    None => format!("{text}{{{} {similarity:.2}}}", self.words[term]),
                }
            }
            _ => text.into_owned(),
        }
    }
}

/// A word on a background of its term's colour.
fn coloured(word: &str, term: usize, strength: f32) -> String {
    let shades = SHADES[term % SHADES.len()];
    // A quarter of the way is worth a shade; less is not.
    match (strength * shades.len() as f32).floor() as usize {
        0 => word.to_owned(),
        shade => {
            let shade = shades[shade.min(shades.len()) - 1];
            format!("\u{1b}[38;5;16;48;5;{shade}m{word}\u{1b}[0m")
        }
    }
}
