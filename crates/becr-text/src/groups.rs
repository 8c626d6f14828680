//! A query as a composite of token groups (section 3.1 of the paper).
//!
//! A composed query never meets BERT (an encoded one does, and needs none of this). Its words and its ordered pairs of
//! words no more than `window` apart are **token groups**, whose vectors were computed offline; the vector of a query term is composed from
//! the groups that contain it. A uni-gram weighs 1/(window + 1), a pair 1/distance (or what a trained head
//! says, [`RawWeights`]), and the weights are normalised over the groups that the store has.
//!
//! Groups go by position: each occurrence of a word is a term of its own, and "new york new" has the
//! pair (new, new).

use crate::lexical::is_stop_word;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

/// How a query is taken apart. The default is the paper's; the others are its ablations.
#[derive(Debug, Clone, PartialEq)]
pub struct Decomposition {
    /// Largest distance between the two words of a pair, in words. At least 1.
    pub window: usize,
    /// Use uni-grams. Without them, a term that is in no known pair keeps its uni-gram all the same:
    /// it has nothing else.
    pub unigrams: bool,
    /// Use word pairs.
    pub pairs: bool,
    /// Weights before they are normalised; without any, the paper's for the window.
    pub weights: Option<RawWeights>,
}

/// What token groups weigh in a term before the weights are normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct RawWeights {
    /// Its uni-gram.
    pub unigram: f32,
    /// A pair, by the distance of its words from 1 on. Pairs that weigh 0, or are further apart than there are
    /// weights, are left out.
    pub pairs: Vec<f32>,
}

impl Default for Decomposition {
    fn default() -> Self {
        Self {
            window: 3,
            unigrams: true,
            pairs: true,
            weights: None,
        }
    }
}

impl Decomposition {
    fn unigram_weight(&self) -> f32 {
        match &self.weights {
            Some(weights) => weights.unigram,
            None => 1.0 / (self.window as f32 + 1.0),
        }
    }

    /// `None` for a pair that is left out. Distances count from 1.
    fn pair_weight(&self, distance: usize) -> Option<f32> {
        match &self.weights {
            Some(weights) => weights.pairs.get(distance - 1).copied(),
            None => Some(1.0 / distance as f32),
        }
        .filter(|&weight| weight > 0.0)
    }
}

/// A group of words that was given to BERT together, offline. Displayed as its key in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenGroup {
    /// A word, encoded as `[CLS] a [SEP]`; or a WordPiece, which may begin with `##`.
    Unigram(String),
    /// Two words in their order, encoded as `[CLS] a b [SEP]`.
    Pair(String, String),
}

impl TokenGroup {
    /// The group's key in the store.
    pub fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Unigram(word) => Cow::Borrowed(word),
            Self::Pair(first, second) => Cow::Owned([first, " ", second].concat()),
        }
    }
}

impl fmt::Display for TokenGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

/// Which of a group's vectors is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The uni-gram's only vector, or that of a pair's first word.
    First,
    /// That of a pair's second word.
    Second,
}

/// The part of one token group in one query term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Index into the groups of the [`Query`] or [`Composition`].
    pub group: usize,
    /// Which vector of the group.
    pub slot: Slot,
    /// How far the two words of a pair stand apart in the query; 0 for a uni-gram or a WordPiece.
    pub distance: usize,
    /// Its weight: raw in a [`Query`], normalised in a [`Composition`].
    pub weight: f32,
}

/// One occurrence of a word in a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Position among the query's words.
    pub position: usize,
    /// The word.
    pub word: String,
    /// True for a stop word: it stays in its neighbours' pairs but has no deep term of its own,
    /// unless the query has nothing else.
    pub stop: bool,
    /// The groups that contain the term. In a [`Query`] its uni-gram comes first, then the pairs by
    /// position; in a [`Composition`] the pairs that were found, then the uni-gram or its pieces.
    pub members: Vec<Member>,
}

/// A query and its token groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Every word, in order.
    pub terms: Vec<Term>,
    /// The distinct groups, in order of first use.
    pub groups: Vec<TokenGroup>,
    unigrams: bool,
}

/// A query whose groups have been looked up: what the deep score is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The deep terms, their weights summing to 1. A term none of whose groups is known is absent.
    pub terms: Vec<Term>,
    /// The groups that the store has.
    pub groups: Vec<TokenGroup>,
    /// What was looked for and what was found.
    pub coverage: Coverage,
}

/// How much of a query the token store knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Distinct uni-grams looked up.
    pub unigrams: usize,
    /// Those found.
    pub unigrams_found: usize,
    /// Distinct pairs looked up.
    pub pairs: usize,
    /// Those found.
    pub pairs_found: usize,
}

impl Query {
    /// Takes `text` apart.
    pub fn new(text: &str, options: &Decomposition) -> Self {
        let words: Vec<String> = crate::words::words(text).map(|word| word.text).collect();
        Self::from_words(&words, options)
    }

    /// Takes a list of words apart.
    pub fn from_words(words: &[String], options: &Decomposition) -> Self {
        let mut groups = GroupsOfWords::new(words);
        let unigram_weight = options.unigram_weight();
        let terms = words.iter().enumerate().map(|(position, word)| {
            let unigram = groups.unigram(position);
            let mut members = vec![Member {
                group: unigram,
                slot: Slot::First,
                distance: 0,
                weight: unigram_weight,
            }];
            if options.pairs {
                members.extend(
                    neighbours(position, words.len(), options.window).filter_map(|other| {
                        let (first, second) = (position.min(other), position.max(other));
                        let distance = second - first;
                        let weight = options.pair_weight(distance)?;
                        Some(Member {
                            group: groups.pair(first, second),
                            slot: if position < other {
                                Slot::First
                            } else {
                                Slot::Second
                            },
                            distance,
                            weight,
                        })
                    }),
                );
            }
            Term {
                position,
                word: word.clone(),
                stop: is_stop_word(word),
                members,
            }
        });
        let terms = terms.collect();
        Self {
            terms,
            groups: groups.list,
            unigrams: options.unigrams,
        }
    }

    /// The terms that have a deep part: all but the stop words, or all if there is nothing else.
    pub fn deep_terms(&self) -> impl Iterator<Item = &Term> {
        let only_stop_words = self.terms.iter().all(|term| term.stop);
        self.terms
            .iter()
            .filter(move |term| only_stop_words || !term.stop)
    }

    /// Looks the groups up and normalises the weights over those found.
    ///
    /// A missing pair is left out. A missing word falls back to its WordPieces, which `pieces` names
    /// and which share its weight. Both are asked once per distinct group.
    pub fn compose(
        &self,
        found: impl FnMut(&TokenGroup) -> bool,
        pieces: impl FnMut(&str) -> Vec<String>,
    ) -> Composition {
        self.compose_terms(self.deep_terms(), found, pieces)
    }

    /// [`Query::compose`] for every term, stop words too: what a text needs that is not a query but a
    /// document composed of token groups.
    pub fn compose_all(
        &self,
        found: impl FnMut(&TokenGroup) -> bool,
        pieces: impl FnMut(&str) -> Vec<String>,
    ) -> Composition {
        self.compose_terms(self.terms.iter(), found, pieces)
    }

    fn compose_terms<'a>(
        &self,
        chosen: impl Iterator<Item = &'a Term>,
        mut found: impl FnMut(&TokenGroup) -> bool,
        mut pieces: impl FnMut(&str) -> Vec<String>,
    ) -> Composition {
        let known: Vec<bool> = self.groups.iter().map(&mut found).collect();
        let mut groups = Vec::new();
        // Places in that list, of pairs by their places in this query's, of words and pieces by their names.
        let mut pair_places = vec![None; self.groups.len()];
        let mut name_places = HashMap::new();
        let mut terms = Vec::new();
        for term in chosen {
            let Some((unigram, pairs)) = term.members.split_first() else {
                continue;
            };
            let mut members: Vec<Member> = pairs
                .iter()
                .filter(|pair| known[pair.group])
                .map(|pair| Member {
                    group: *pair_places[pair.group].get_or_insert_with(|| {
                        groups.push(self.groups[pair.group].clone());
                        groups.len() - 1
                    }),
                    ..*pair
                })
                .collect();
            if self.unigrams || members.is_empty() {
                let names = match known[unigram.group] {
                    true => vec![term.word.clone()],
                    false => pieces(&term.word),
                };
                let weight = unigram.weight / names.len().max(1) as f32;
                members.extend(names.into_iter().map(|name| Member {
                    group: *name_places.entry(name).or_insert_with_key(|name| {
                        groups.push(TokenGroup::Unigram(name.clone()));
                        groups.len() - 1
                    }),
                    weight,
                    ..*unigram
                }));
            }
            let total: f32 = members.iter().map(|member| member.weight).sum();
            if !members.is_empty() {
                members.iter_mut().for_each(|member| member.weight /= total);
                terms.push(Term {
                    members,
                    ..term.clone()
                });
            }
        }
        Composition {
            terms,
            groups,
            coverage: Coverage::new(&self.groups, &known),
        }
    }
}

impl Coverage {
    fn new(groups: &[TokenGroup], known: &[bool]) -> Self {
        let mut coverage = Self::default();
        for (group, &known) in groups.iter().zip(known) {
            let (asked, found) = match group {
                TokenGroup::Unigram(_) => (&mut coverage.unigrams, &mut coverage.unigrams_found),
                TokenGroup::Pair(..) => (&mut coverage.pairs, &mut coverage.pairs_found),
            };
            *asked += 1;
            *found += usize::from(known);
        }
        coverage
    }
}

/// The positions within `window` of `position`, in order, without itself.
fn neighbours(position: usize, count: usize, window: usize) -> impl Iterator<Item = usize> {
    let last = position.saturating_add(window).min(count.saturating_sub(1));
    (position.saturating_sub(window)..=last).filter(move |&other| other != position)
}

/// The distinct groups of a list of words, in order of first use. Words go by the place of their first occurrence: texts
/// are compared once for each word, and not for each group.
struct GroupsOfWords<'a> {
    words: &'a [String],
    places: Vec<usize>,
    list: Vec<TokenGroup>,
    /// By the places of their words.
    indexes: HashMap<(usize, Option<usize>), usize>,
}

impl<'a> GroupsOfWords<'a> {
    fn new(words: &'a [String]) -> Self {
        let mut first: HashMap<&str, usize> = HashMap::with_capacity(words.len());
        let place = |(place, word): (usize, &'a String)| *first.entry(word).or_insert(place);
        Self {
            words,
            places: words.iter().enumerate().map(place).collect(),
            list: Vec::new(),
            indexes: HashMap::new(),
        }
    }

    /// The group of a word.
    fn unigram(&mut self, position: usize) -> usize {
        let word = &self.words[position];
        let group = || TokenGroup::Unigram(word.clone());
        self.index((self.places[position], None), group)
    }

    /// The group of two words.
    fn pair(&mut self, first: usize, second: usize) -> usize {
        let words = self.words;
        let group = || TokenGroup::Pair(words[first].clone(), words[second].clone());
        self.index((self.places[first], Some(self.places[second])), group)
    }

    fn index(&mut self, key: (usize, Option<usize>), group: impl FnOnce() -> TokenGroup) -> usize {
        *self.indexes.entry(key).or_insert_with(|| {
            self.list.push(group());
            self.list.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(query: &Query) -> Vec<String> {
        query.groups.iter().map(ToString::to_string).collect()
    }

    /// (key, slot is second, weight) of each member of a term.
    fn members(groups: &[TokenGroup], term: &Term) -> Vec<(String, bool, f32)> {
        let row = |m: &Member| {
            (
                groups[m.group].to_string(),
                m.slot == Slot::Second,
                m.weight,
            )
        };
        term.members.iter().map(row).collect()
    }

    fn no_pieces(_: &str) -> Vec<String> {
        Vec::new()
    }

    #[test]
    fn the_papers_example() {
        let query = Query::new("neural ranking model", &Decomposition::default());
        assert_eq!(
            keys(&query),
            [
                "neural",
                "neural ranking",
                "neural model",
                "ranking",
                "ranking model",
                "model"
            ]
        );
        assert_eq!(
            members(&query.groups, &query.terms[1]),
            [
                ("ranking".into(), false, 0.25),
                ("neural ranking".into(), true, 1.0),
                ("ranking model".into(), false, 1.0)
            ]
        );
        let composed = query.compose(|_| true, no_pieces);
        let weights: Vec<f32> = composed.terms[0].members.iter().map(|m| m.weight).collect();
        // Pairs come first here; 1, 0.5 and 0.25 over their sum.
        assert_eq!(weights, [1.0 / 1.75, 0.5 / 1.75, 0.25 / 1.75]);
    }

    #[test]
    fn window_limits_pairs() {
        let count = |window| {
            let options = Decomposition {
                window,
                ..Default::default()
            };
            Query::new("a1 b1 c1 d1 e1", &options).groups.len()
        };
        // 5 words and 4 + 3 + 2 + 1 pairs, the n-th of these at distance n.
        assert_eq!([count(1), count(2), count(3), count(9)], [9, 12, 14, 15]);
    }

    #[test]
    fn a_head_may_weigh_groups_otherwise() {
        let options = Decomposition {
            weights: Some(RawWeights {
                unigram: 0.5,
                pairs: vec![0.25, 0.0],
            }),
            ..Default::default()
        };
        let query = Query::new("neural ranking model", &options);
        // Pairs at distance 2 weigh nothing and are not even asked for.
        assert_eq!(
            members(&query.groups, &query.terms[0]),
            [
                ("neural".into(), false, 0.5),
                ("neural ranking".into(), false, 0.25)
            ]
        );
        let distances = query.terms[1].members.iter().map(|m| m.distance);
        assert_eq!(distances.collect::<Vec<_>>(), [0, 1, 1]);
    }

    #[test]
    fn repeated_words_are_terms_of_their_own() {
        let query = Query::new("new york new", &Decomposition::default());
        assert_eq!(
            keys(&query),
            ["new", "new york", "new new", "york", "york new"]
        );
        assert_eq!(
            members(&query.groups, &query.terms[2]),
            [
                ("new".into(), false, 0.25),
                ("new new".into(), true, 0.5),
                ("york new".into(), true, 1.0)
            ]
        );
    }

    #[test]
    fn stop_words_stay_in_pairs_only() {
        let query = Query::new("bank of england", &Decomposition::default());
        let composed = query.compose(|_| true, no_pieces);
        let words: Vec<&str> = composed.terms.iter().map(|t| t.word.as_str()).collect();
        assert_eq!(words, ["bank", "england"]);
        let all = query.compose_all(|_| true, no_pieces);
        let words: Vec<&str> = all.terms.iter().map(|t| t.word.as_str()).collect();
        assert_eq!(words, ["bank", "of", "england"]);
        assert_eq!(all.terms[0].members, composed.terms[0].members);
        assert!(
            composed
                .groups
                .contains(&TokenGroup::Pair("bank".into(), "of".into()))
        );
        assert_eq!(
            Query::new("to be or not to be", &Decomposition::default())
                .deep_terms()
                .count(),
            6
        );
    }

    #[test]
    fn missing_words_fall_back_to_their_pieces() {
        let query = Query::new("becr ranks", &Decomposition::default());
        let composed = query.compose(
            |group| group.to_string() == "ranks",
            |word| vec![word[..2].into(), format!("##{}", &word[2..])],
        );
        assert_eq!(
            members(&composed.groups, &composed.terms[0]),
            [("be".into(), false, 0.5), ("##cr".into(), false, 0.5)]
        );
        let expected = Coverage {
            unigrams: 2,
            unigrams_found: 1,
            pairs: 1,
            pairs_found: 0,
        };
        assert_eq!(composed.coverage, expected);
    }

    #[test]
    fn variants() {
        let no_unigrams = Decomposition {
            unigrams: false,
            ..Default::default()
        };
        let composed = Query::new("neural model", &no_unigrams).compose(|_| true, no_pieces);
        assert_eq!(
            composed.groups,
            [TokenGroup::Pair("neural".into(), "model".into())]
        );
        let one_word = Query::new("neural", &no_unigrams).compose(|_| true, no_pieces);
        assert_eq!(one_word.groups, [TokenGroup::Unigram("neural".into())]);
        let no_pairs = Decomposition {
            pairs: false,
            ..Default::default()
        };
        assert_eq!(
            keys(&Query::new("neural model", &no_pairs)),
            ["neural", "model"]
        );
    }

    proptest! {
        #[test]
        fn weights_are_normalised(text in any::<String>(), window in 1usize..12, mask in any::<u64>()) {
            let options = Decomposition { window, ..Default::default() };
            let query = Query::new(&text, &options);
            let mut n = 0;
            let composed = query.compose(
                |_| { n += 1; mask >> (n % 64) & 1 == 1 },
                |word| word.chars().map(String::from).collect(),
            );
            prop_assert_eq!(composed.terms.len(), query.deep_terms().count());
            for term in &composed.terms {
                let sum: f32 = term.members.iter().map(|m| m.weight).sum();
                prop_assert!((sum - 1.0).abs() < 1e-5);
                prop_assert!(term.members.iter().all(|m| m.group < composed.groups.len() && m.weight > 0.0));
            }
        }

        #[test]
        fn pairs_are_those_within_the_window(words in prop::collection::vec("[a-z]{3,5}", 0..12), window in 1usize..6) {
            let options = Decomposition { window, ..Default::default() };
            let query = Query::from_words(&words, &options);
            for (i, term) in query.terms.iter().enumerate() {
                let pairs = term.members.len() - 1;
                let expected = (0..words.len()).filter(|&j| j != i && i.abs_diff(j) <= window).count();
                prop_assert_eq!(pairs, expected);
            }
        }
    }
}
