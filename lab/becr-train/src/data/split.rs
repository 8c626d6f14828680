//! Which queries train, which validate, which test.

use super::chance::draw;
use super::{DataError, Question};
use crate::config::{Config, Role};
use becr_eval::Folds;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Queries by what they are for, as places in the list of questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// To learn from.
    pub train: Vec<usize>,
    /// To decide when to stop.
    pub validation: Vec<usize>,
    /// To be measured on; only with folds.
    pub test: Vec<usize>,
    /// For nothing: they have the words of a query that is held out, so that training on them would tell.
    pub withheld: Vec<usize>,
}

/// Cross-validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossValidation {
    /// The folds.
    pub folds: Folds,
    /// What each of them uses.
    pub roles: Vec<Roles>,
    /// Ids of a folds file that no query has.
    pub unknown: Vec<String>,
    /// Queries that a folds file does not have, as places in the list of questions: they are not used.
    pub missing: Vec<usize>,
}

/// Holds the queries out that validate: those of the sets for it, and a share of those to be split, by a hash of their
/// words. Two queries with the same words are on the same side.
pub fn held_out(questions: &[Question], config: &Config) -> Roles {
    let role = |question: &Question| config.data.sets[question.set].role;
    let hash = |question: &Question| draw(config.data.seed, "split", &question.key);
    let mut split: Vec<&Question> = questions
        .iter()
        .filter(|q| role(q) == Role::Split)
        .collect();
    split.sort_by_key(|question| hash(question));
    let share = (config.validation.share * split.len() as f64).round() as usize;
    split.truncate(share.min(config.validation.queries));
    let validating = questions.iter().filter(|q| role(q) == Role::Validation);
    let held: HashSet<&str> = split
        .into_iter()
        .chain(validating)
        .map(|q| q.key.as_str())
        .collect();
    let mut roles = Roles::default();
    for (place, question) in questions.iter().enumerate() {
        match (role(question), held.contains(question.key.as_str())) {
            (Role::Validation, _) | (Role::Split, true) => roles.validation.push(place),
            (_, false) => roles.train.push(place),
            (Role::Train, true) => roles.withheld.push(place),
        }
    }
    roles
}

/// The folds over the queries to be split; those of sets that only train are trained on in every fold. Queries with the
/// same words are tested in the same fold, unless a file says otherwise, and never trained on where they are held out.
pub fn cross_validation(
    questions: &[Question],
    config: &Config,
) -> Result<Option<CrossValidation>, DataError> {
    let Some(wanted) = &config.folds else {
        return Ok(None);
    };
    let of_role = |role: Role| {
        let of = move |question: &&Question| config.data.sets[question.set].role == role;
        questions.iter().filter(of)
    };
    let always: Vec<String> = of_role(Role::Train).map(|q| q.id.clone()).collect();
    let folds = match &wanted.file {
        Some(path) => Folds::read(&[path], always)?,
        None => {
            let mut equal: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for question in of_role(Role::Split) {
                let ids = equal.entry(&question.key).or_default();
                ids.push(question.id.clone());
            }
            Folds::split_together(equal.into_values(), wanted.count, wanted.seed, always)?
        }
    };
    let places: HashMap<&str, usize> = (questions.iter().enumerate())
        .map(|(place, question)| (question.id.as_str(), place))
        .collect();
    let find = |ids: &[String]| -> Vec<usize> {
        let known = ids.iter().filter_map(|id| places.get(id.as_str()));
        known.copied().collect()
    };
    let roles = folds.folds().iter().map(|fold| {
        let roles = Roles {
            train: find(&fold.train),
            validation: find(&fold.validation),
            test: find(&fold.test),
            withheld: Vec::new(),
        };
        roles.without_leaks(questions)
    });
    let roles = roles.collect();
    // Every query of the folds has a role in each of them.
    let named: HashSet<&String> = (folds.folds().iter().take(1))
        .flat_map(|fold| [&fold.train, &fold.validation, &fold.test])
        .flatten()
        .collect();
    let mut unknown: Vec<String> = (named.iter())
        .filter(|id| !places.contains_key(id.as_str()))
        .map(ToString::to_string)
        .collect();
    unknown.sort_unstable();
    let missing = (0..questions.len()).filter(|&place| !named.contains(&questions[place].id));
    Ok(Some(CrossValidation {
        missing: missing.collect(),
        folds,
        roles,
        unknown,
    }))
}

impl Roles {
    /// Withholds the queries that have the words of one that tests, or are to train and have those of one that
    /// validates.
    fn without_leaks(mut self, questions: &[Question]) -> Self {
        let key = |place: &usize| questions[*place].key.as_str();
        let mut held: HashSet<&str> = self.test.iter().map(key).collect();
        let leaks = |place: &mut usize, held: &HashSet<&str>| held.contains(key(place));
        let told = self.validation.extract_if(.., |place| leaks(place, &held));
        self.withheld.extend(told);
        held.extend(self.validation.iter().map(key));
        let told = self.train.extract_if(.., |place| leaks(place, &held));
        self.withheld.extend(told);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(more: &str) -> Config {
        let text = format!(
            "model.base = 'm'\noutput.model = 'o'\nvalidation.share = 0.2\n{more}\n\
             [[data.sets]]\nname = 'a'\npairs = 'p'\n[[data.sets]]\nname = 'b'\npairs = 'p'\nrole = 'train'\n"
        );
        Config::parse(&text, Path::new("c.toml")).unwrap()
    }

    fn questions(count: usize) -> Vec<Question> {
        let question = |n: usize| Question {
            id: n.to_string(),
            key: format!("words {}", n / 2),
            set: n % 3 / 2,
            ..Question::default()
        };
        (0..count).map(question).collect()
    }

    #[test]
    fn words_that_validate_never_train() {
        let questions = questions(600);
        let roles = held_out(&questions, &config(""));
        let keys = |places: &[usize]| -> HashSet<String> {
            places
                .iter()
                .map(|&place| questions[place].key.clone())
                .collect()
        };
        assert!(keys(&roles.train).is_disjoint(&keys(&roles.validation)));
        assert!(
            (80..=160).contains(&roles.validation.len()),
            "{}",
            roles.validation.len()
        );
        assert!(
            roles
                .validation
                .iter()
                .all(|&place| questions[place].set == 0)
        );
        let other = held_out(&questions, &config("data.seed = 2"));
        assert_ne!(other, roles);
        assert_eq!(held_out(&questions, &config("")), roles);
        let few = held_out(&questions, &config("validation.queries = 5"));
        assert!(
            (5..=10).contains(&few.validation.len()),
            "{:?}",
            few.validation
        );
    }

    #[test]
    fn every_query_is_tested_once_and_no_fold_trains_on_words_it_holds_out() {
        let questions = questions(60);
        assert!(cross_validation(&questions, &config("")).unwrap().is_none());
        let crossed = cross_validation(&questions, &config("folds.count = 5"))
            .unwrap()
            .unwrap();
        assert_eq!((crossed.folds.folds().len(), crossed.roles.len()), (5, 5));
        assert!(crossed.unknown.is_empty() && crossed.missing.is_empty());
        let mut tested: Vec<usize> = (crossed.roles.iter())
            .flat_map(|fold| fold.test.clone())
            .collect();
        tested.sort_unstable();
        let split: Vec<usize> = (0..60).filter(|&place| questions[place].set == 0).collect();
        assert_eq!(tested, split);
        check_leaks(&questions, &crossed.roles);
        for fold in &crossed.roles {
            // Only what always trains is withheld: of the others, equal words are in one fold.
            assert!(!fold.withheld.is_empty());
            assert!(fold.withheld.iter().all(|&place| questions[place].set == 1));
            let all = [&fold.train, &fold.validation, &fold.test, &fold.withheld];
            assert_eq!(all.iter().map(|places| places.len()).sum::<usize>(), 60);
        }
    }

    fn check_leaks(questions: &[Question], folds: &[Roles]) {
        let keys = |places: &[usize]| -> HashSet<&str> {
            let key = |&place: &usize| questions[place].key.as_str();
            places.iter().map(key).collect()
        };
        for fold in folds {
            let (tested, validated) = (keys(&fold.test), keys(&fold.validation));
            assert!(tested.is_disjoint(&validated));
            assert!(keys(&fold.train).is_disjoint(&tested));
            assert!(keys(&fold.train).is_disjoint(&validated));
        }
    }

    #[test]
    fn folds_of_a_file_are_kept_and_what_does_not_fit_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folds.json");
        // Queries 0 and 1 have the same words; nobody has the id 9.
        std::fs::write(&path, r#"[["0", "4"], ["1", "6"], ["9", "10"]]"#).unwrap();
        let config = config(&format!("folds.file = '{}'", path.display()));
        let mut questions = questions(13);
        questions.retain(|question| question.set == 0 && question.id != "9");
        let place = |id: &str| questions.iter().position(|q| q.id == id).unwrap();
        let crossed = cross_validation(&questions, &config).unwrap().unwrap();
        let first = &crossed.roles[0];
        assert_eq!(first.test, [place("0"), place("4")]);
        assert_eq!(first.withheld, [place("1")]);
        assert_eq!(first.validation, [place("6")]);
        check_leaks(&questions, &crossed.roles);
        assert_eq!(crossed.unknown, ["9"]);
        let missing: Vec<&str> = (crossed.missing.iter())
            .map(|&place| questions[place].id.as_str())
            .collect();
        assert_eq!(missing, ["3", "7", "12"]);
    }
}
