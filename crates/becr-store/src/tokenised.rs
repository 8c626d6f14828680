//! The words of a document, before they have numbers.

use becr_text::words::Scanner;
use std::collections::HashMap;

/// A document's distinct words, and where they stand.
#[derive(Default)]
pub(crate) struct Tokenised {
    /// In the order of their first appearance, the title's before the body's.
    pub(crate) words: Vec<String>,
    /// Words of the title, by place in `words`.
    pub(crate) title: Vec<u32>,
    /// Words of the body, by place in `words`.
    pub(crate) body: Vec<u32>,
}

impl Tokenised {
    pub(crate) fn new(title: &str, body: &str) -> Self {
        let mut places = HashMap::new();
        let mut field = |text: &str| {
            let (mut scanner, mut word) = (Scanner::new(text), String::new());
            let mut numbers = Vec::new();
            while scanner.next_into(&mut word).is_some() {
                let next = places.len() as u32;
                let place = match places.get(&word) {
                    Some(&place) => place,
                    None => *places.entry(word.clone()).or_insert(next),
                };
                numbers.push(place);
                word.clear();
            }
            numbers
        };
        let (title, body) = (field(title), field(body));
        let mut words = vec![String::new(); places.len()];
        for (word, place) in places {
            words[place as usize] = word;
        }
        Self { words, title, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbered_as_they_come() {
        let words = Tokenised::new("The River", "the bank of the river");
        assert_eq!(words.words, ["the", "river", "bank", "of"]);
        assert_eq!(words.title, [0, 1]);
        assert_eq!(words.body, [0, 2, 3, 0, 1]);
    }
}
