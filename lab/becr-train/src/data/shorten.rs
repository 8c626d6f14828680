//! Queries as people would type them: fewer words than a title has.

use super::chance::Chance;
use becr_text::lexical::is_stop_word;
use becr_text::words::words;

/// What became of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortened {
    /// It is as it was.
    No,
    /// It lost words by chance.
    ByChance,
    /// It had more words than allowed.
    TooLong,
}

/// A query never loses more than this part of its words by chance, nor all but two.
const LEAST_SHARE: usize = 3;
const LEAST_WORDS: usize = 2;

/// The query, with probability `drop` without some of its words, and without random words where it has more than
/// `longest`. The words that stay keep their order, and one of them is no stop word if there was any.
pub(crate) fn shorten(
    query: &str,
    drop: f64,
    longest: usize,
    chance: &mut Chance,
) -> (String, Shortened) {
    let words: Vec<String> = words(query).map(|word| word.text).collect();
    let least = LEAST_WORDS.max(words.len().div_ceil(LEAST_SHARE));
    let by_chance = chance.happens(drop) && words.len() > least;
    let (kept, how) = match by_chance {
        true => (
            least + chance.below(words.len() - least),
            Shortened::ByChance,
        ),
        false => (words.len(), Shortened::No),
    };
    let (kept, how) = match kept > longest {
        true => (longest, Shortened::TooLong),
        false => (kept, how),
    };
    if how == Shortened::No {
        return (query.to_owned(), how);
    }
    let mut places: Vec<usize> = (0..words.len()).collect();
    chance.shuffle(&mut places);
    // A query of stop words alone says nothing.
    if let Some(telling) = places
        .iter()
        .position(|&place| !is_stop_word(&words[place]))
    {
        places.swap(0, telling);
    }
    places.truncate(kept);
    places.sort_unstable();
    let kept: Vec<&str> = places.iter().map(|&place| words[place].as_str()).collect();
    (kept.join(" "), how)
}

/// What makes two queries the same: their words.
pub(crate) fn key(query: &str) -> String {
    let mut key = String::with_capacity(query.len());
    for word in words(query) {
        if !key.is_empty() {
            key.push(' ');
        }
        key += &word.text;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chance(name: &str) -> Chance {
        Chance::new(1, "words", name)
    }

    #[test]
    fn short_queries_and_certain_ones_stay() {
        let same = |query: &str, drop| shorten(query, drop, 32, &mut chance(query)).0 == query;
        assert!(same("Owl nests", 1.0));
        assert!(same("What do owls, and mice, eat?", 0.0));
        assert!(!same("what do owls eat in winter", 1.0));
    }

    #[test]
    fn words_are_the_key() {
        assert_eq!(key("  Naïve Café-owners! "), key("naive cafe owners"));
        assert_ne!(key("owl nest"), key("nest owl"));
    }

    proptest! {
        #[test]
        fn what_stays_is_in_order_and_says_something(
            query in prop::collection::vec("owl|the|of|mouse|barn|winter|in|what", 0..40),
            drop in 0.0..1.0f64,
            longest in 1usize..40,
            seed: u64,
        ) {
            let text = query.join(" ");
            let (short, how) = shorten(&text, drop, longest, &mut Chance::new(seed, "words", &text));
            let kept: Vec<&str> = short.split(' ').filter(|word| !word.is_empty()).collect();
            prop_assert!(kept.len() <= longest);
            let mut rest = query.iter();
            prop_assert!(kept.iter().all(|word| rest.any(|other| other == word)));
            prop_assert_eq!(how == Shortened::No, kept.len() == query.len());
            let kept_tells = kept.iter().any(|word| !is_stop_word(word));
            prop_assert_eq!(kept_tells, query.iter().any(|word| !is_stop_word(word)));
        }
    }
}
