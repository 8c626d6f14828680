//! Query-disjoint folds for cross-validation.
//!
//! With k folds the queries fall into k groups. Fold i tests on group i, validates on the next one and
//! trains on the others, so that every query is tested exactly once and never by a model that has seen
//! it. Queries that are too few to be split, or come from another year, can be trained on in every fold
//! and tested in none, as the paper does with the 2012 queries of ClueWeb09.

mod file;

pub use file::read_ids;

use crate::error::{Error, quote};
use becr_basics::SplitMix64;
use std::collections::HashSet;

/// k folds over one set of queries; always consistent, see [`Folds::new`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folds {
    always_train: Vec<String>,
    seed: Option<u64>,
    folds: Vec<Fold>,
}

/// The queries of one fold by role.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fold {
    /// What a model learns from, the always-train queries included.
    pub train: Vec<String>,
    /// What decides when training stops.
    pub validation: Vec<String>,
    /// What the trained model is measured on.
    pub test: Vec<String>,
}

impl Folds {
    /// The number of folds if nobody says otherwise, the paper's.
    pub const DEFAULT_COUNT: usize = 5;

    /// Checks and takes folds made elsewhere.
    ///
    /// # Errors
    /// If there are fewer than two folds; if a role of a fold is empty or a query has two roles in a
    /// fold; if a query is tested twice; if a tested or always-train query is missing from a fold, or
    /// an always-train query is anything but trained on.
    pub fn new(folds: Vec<Fold>, always_train: Vec<String>) -> Result<Self, Error> {
        check(&folds, &always_train)?;
        Ok(Self {
            always_train,
            seed: None,
            folds,
        })
    }

    /// Folds from groups of queries: fold i tests on group i, validates on group i + 1 (the first
    /// after the last) and trains on the others and on `always_train`.
    ///
    /// # Errors
    /// If there are fewer than three groups, or as [`Folds::new`].
    pub fn from_groups(groups: &[Vec<String>], always_train: Vec<String>) -> Result<Self, Error> {
        let count = groups.len();
        if count < 3 {
            return Err(Error::folds(
                format!(
                    "expected at least 3 folds for training, validation and test, found {count}"
                ),
                "ask for more folds",
            ));
        }
        let fold = |test: usize| {
            let validation = (test + 1) % count;
            let others = (1..count - 1).map(|step| (validation + step) % count);
            let train = others.flat_map(|group| &groups[group]).chain(&always_train);
            Fold {
                train: train.cloned().collect(),
                validation: groups[validation].clone(),
                test: groups[test].clone(),
            }
        };
        Self::new((0..count).map(fold).collect(), always_train)
    }

    /// Splits queries at random into `count` folds whose sizes differ by at most one. The outcome
    /// depends on the set of ids, the count and the seed alone, not on the order of the ids; queries
    /// of `always_train` are left out of the split.
    ///
    /// # Errors
    /// If an id is repeated, or if there are fewer queries than folds, or fewer than three folds.
    ///
    /// ```
    /// let ids = (1..=10).map(|id| id.to_string());
    /// let folds = becr_eval::Folds::split(ids, 5, 42, vec!["x".into()])?;
    /// let first = &folds.folds()[0];
    /// assert_eq!((first.train.len(), first.validation.len(), first.test.len()), (7, 2, 2));
    /// assert!(first.train.contains(&"x".to_owned()));
    /// # Ok::<(), becr_eval::Error>(())
    /// ```
    pub fn split(
        ids: impl IntoIterator<Item = String>,
        count: usize,
        seed: u64,
        always_train: Vec<String>,
    ) -> Result<Self, Error> {
        let alone = ids.into_iter().map(|id| vec![id]);
        Self::split_together(alone, count, seed, always_train)
    }

    /// [`Folds::split`] for queries of which some belong together, such as those with the same words: the queries of
    /// a set fall into one fold. With sets of one query each it is the same split.
    ///
    /// # Errors
    /// If an id is repeated, or if there are fewer sets than folds, or fewer than three folds.
    pub fn split_together(
        sets: impl IntoIterator<Item = Vec<String>>,
        count: usize,
        seed: u64,
        always_train: Vec<String>,
    ) -> Result<Self, Error> {
        let reserved: HashSet<&String> = always_train.iter().collect();
        let mut sets: Vec<Vec<String>> = sets.into_iter().collect();
        for set in &mut sets {
            set.retain(|id| !reserved.contains(id));
            set.sort_unstable();
        }
        sets.retain(|set| !set.is_empty());
        sets.sort_unstable();
        let mut seen = HashSet::new();
        if let Some(id) = sets.iter().flatten().find(|id| !seen.insert(id.as_str())) {
            return Err(Error::folds(
                format!("query {} is given twice", quote(id)),
                "keep one",
            ));
        }
        if sets.len() < count {
            return Err(Error::folds(
                format!(
                    "expected at least one query for each of {count} folds, found {}",
                    sets.len()
                ),
                "give more queries or ask for fewer folds; where their words are known, queries with the same words count once",
            ));
        }
        shuffle(&mut sets, seed);
        let mut groups: Vec<Vec<String>> = vec![Vec::new(); count];
        for set in sets {
            // The smallest group so far, the first of several: with sets of one, each in its turn.
            if let Some(group) = groups.iter_mut().min_by_key(|group| group.len()) {
                group.extend(set);
            }
        }
        Ok(Self {
            seed: Some(seed),
            ..Self::from_groups(&groups, always_train)?
        })
    }

    /// The folds, each with its queries by role.
    #[must_use]
    pub fn folds(&self) -> &[Fold] {
        &self.folds
    }

    /// The queries every fold trains on and none tests.
    #[must_use]
    pub fn always_train(&self) -> &[String] {
        &self.always_train
    }

    /// The seed they were made with, if [`Folds::split`] made them.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The fold that tests a query.
    #[must_use]
    pub fn tested_in(&self, query: &str) -> Option<usize> {
        self.folds
            .iter()
            .position(|fold| fold.test.iter().any(|id| id == query))
    }
}

fn check(folds: &[Fold], always_train: &[String]) -> Result<(), Error> {
    if folds.len() < 2 {
        return Err(Error::folds(
            format!("expected at least 2 folds, found {}", folds.len()),
            "with one fold every query is tested by a model that saw it, or not tested",
        ));
    }
    let mut queries: HashSet<&str> = HashSet::new();
    for id in always_train {
        if !queries.insert(id) {
            return Err(Error::folds(
                format!("always-train query {} is given twice", quote(id)),
                "keep one",
            ));
        }
    }
    for (number, fold) in (1..).zip(folds) {
        for id in &fold.test {
            if !queries.insert(id) {
                return Err(Error::folds(
                    format!(
                        "fold {number} tests query {} which is tested before or always trained on",
                        quote(id)
                    ),
                    "test every query in one fold only",
                ));
            }
        }
    }
    (1..)
        .zip(folds)
        .try_for_each(|(number, fold)| check_fold(number, fold, &queries, always_train))
}

fn check_fold(
    number: usize,
    fold: &Fold,
    queries: &HashSet<&str>,
    always_train: &[String],
) -> Result<(), Error> {
    let roles = [
        ("train", &fold.train),
        ("validation", &fold.validation),
        ("test", &fold.test),
    ];
    let mut seen = HashSet::new();
    for (role, ids) in roles {
        if ids.is_empty() {
            return Err(Error::folds(
                format!("fold {number} has no {role} queries"),
                "give more queries or make fewer folds",
            ));
        }
        for id in ids {
            if !seen.insert(id.as_str()) {
                return Err(Error::folds(
                    format!("fold {number} has query {} twice", quote(id)),
                    "give it one role in a fold, or results leak from training into testing",
                ));
            }
            if !queries.contains(id.as_str()) {
                return Err(Error::folds(
                    format!(
                        "fold {number} has {role} query {} which no fold tests",
                        quote(id)
                    ),
                    "test it in one fold, or list it in always_train",
                ));
            }
        }
    }
    let train: HashSet<&String> = fold.train.iter().collect();
    if let Some(id) = always_train.iter().find(|id| !train.contains(id)) {
        return Err(Error::folds(
            format!(
                "fold {number} does not train on the always-train query {}",
                quote(id)
            ),
            "add it to the fold's train queries",
        ));
    }
    if let Some(id) = queries.iter().find(|id| !seen.contains(*id)) {
        return Err(Error::folds(
            format!("fold {number} leaves out query {}", quote(id)),
            "give every query a role in every fold",
        ));
    }
    Ok(())
}

/// Fisher and Yates' shuffle over our own generator, so that a seed means the same split in every
/// version and on every machine.
fn shuffle<T>(ids: &mut [T], seed: u64) {
    let mut random = SplitMix64::new(seed);
    for last in (1..ids.len()).rev() {
        ids.swap(last, random.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|id| id.to_string()).collect()
    }

    /// Robust04's shape: 250 queries, three folds for training, one for validation, one for testing.
    #[test]
    fn sizes_as_in_the_paper() {
        let folds = Folds::split(ids(0..250), 5, 42, Vec::new()).unwrap();
        for fold in folds.folds() {
            assert_eq!(
                (fold.train.len(), fold.validation.len(), fold.test.len()),
                (150, 50, 50)
            );
        }
        // ClueWeb09's: 150 queries split, 50 more in every training fold.
        let folds = Folds::split(ids(0..200), 5, 42, ids(150..200)).unwrap();
        for fold in folds.folds() {
            assert_eq!(
                (fold.train.len(), fold.validation.len(), fold.test.len()),
                (140, 30, 30)
            );
        }
        assert_eq!(folds.tested_in("160"), None);
    }

    /// A seed must mean the same split for as long as there are papers that name it. The split is that
    /// of the same two algorithms written in Python.
    #[test]
    fn a_seed_is_forever() {
        let folds = Folds::split(ids(1..8), 3, 7, Vec::new()).unwrap();
        let tests: Vec<_> = folds
            .folds()
            .iter()
            .map(|fold| fold.test.join(" "))
            .collect();
        assert_eq!(tests, ["4 7 3", "6 5", "2 1"]);
    }

    #[test]
    fn what_belongs_together_is_tested_together() {
        let sets = || (0..30).map(|n| ids(10 * n..10 * n + 1 + n % 4));
        let folds = Folds::split_together(sets(), 5, 42, vec!["0".into()]).unwrap();
        for set in sets().skip(1) {
            let places: HashSet<_> = set.iter().map(|id| folds.tested_in(id)).collect();
            assert_eq!(places.len(), 1, "{set:?}");
        }
        let sizes: Vec<_> = folds.folds().iter().map(|f| f.test.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 72);
        assert!(
            sizes.iter().all(|size| (12..=18).contains(size)),
            "{sizes:?}"
        );
        let few = Folds::split_together([ids(0..9), ids(9..12)], 3, 1, Vec::new()).unwrap_err();
        assert!(few.to_string().contains("same words count once"), "{few}");
        assert!(
            Folds::split_together([ids(0..2), ids(1..3), ids(3..4)], 3, 1, Vec::new()).is_err()
        );
    }

    #[test]
    fn roles_rotate() {
        let groups = [ids(0..1), ids(1..2), ids(2..3), ids(3..4)];
        let folds = Folds::from_groups(&groups, vec!["x".into()]).unwrap();
        let last = &folds.folds()[3];
        assert_eq!(
            (last.train.join(" "), last.validation.join(" ")),
            ("1 2 x".into(), "0".into())
        );
    }

    #[test]
    fn leaks_are_refused() {
        let good = Folds::split(ids(0..9), 3, 1, vec!["x".into()]).unwrap();
        let change = |edit: fn(&mut Vec<Fold>)| {
            let mut folds = good.folds().to_vec();
            edit(&mut folds);
            Folds::new(folds, vec!["x".into()]).map_err(|e| e.to_string())
        };
        assert!(change(|_| ()).is_ok());
        let refused = |edit, part: &str| {
            let error = change(edit).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        refused(|f| f.truncate(1), "at least 2 folds");
        refused(|f| f[1].test = f[0].test.clone(), "tested before");
        refused(|f| f[0].test.push("x".into()), "always trained on");
        refused(|f| f[0].train = f[0].test.clone(), "twice");
        refused(|f| f[0].train.push("new".into()), "which no fold tests");
        refused(|f| f[2].validation.clear(), "no validation queries");
        refused(
            |f| f[2].train.retain(|id| id != "x"),
            "always-train query \"x\"",
        );
        refused(|f| drop(f[2].train.remove(0)), "leaves out query");
        assert!(Folds::split(ids(0..2), 3, 1, Vec::new()).is_err());
        assert!(Folds::split(ids(0..9), 2, 1, Vec::new()).is_err());
        assert!(Folds::split(["a", "b", "c", "a"].map(String::from), 3, 1, Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn splits_are_sound(n in 3..60usize, count in 3..8usize, seed: u64, extra in 0..5usize) {
            prop_assume!(n >= count);
            let always = ids(1000..1000 + extra);
            let folds = Folds::split(ids(0..n), count, seed, always.clone()).unwrap();
            let mut tested: Vec<_> = folds.folds().iter().flat_map(|f| f.test.clone()).collect();
            tested.sort();
            let mut expected = ids(0..n);
            expected.sort();
            prop_assert_eq!(tested, expected);
            let sizes: Vec<_> = folds.folds().iter().map(|f| f.test.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            let backwards = Folds::split(ids(0..n).into_iter().rev(), count, seed, always).unwrap();
            prop_assert_eq!(folds, backwards);
        }
    }
}
