//! Which queries train, which validate, which test.

use super::chance::draw;
use super::{DataError, Question};
use crate::config::{Config, Role};
use becr_eval::Folds;
use std::collections::{HashMap, HashSet};

/// Queries by what they are for, as places in the list of questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// To learn from.
    pub train: Vec<usize>,
    /// To decide when to stop.
    pub validation: Vec<usize>,
    /// To be measured on; only with folds.
    pub test: Vec<usize>,
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
            // It has the words of a query that validates: training on it would tell.
            (Role::Train, true) => {}
        }
    }
    roles
}

/// The folds over the queries to be split; those of sets that only train are trained on in every fold.
pub fn cross_validation(
    questions: &[Question],
    config: &Config,
) -> Result<Option<(Folds, Vec<Roles>)>, DataError> {
    let Some(wanted) = &config.folds else {
        return Ok(None);
    };
    let role = |question: &&Question| config.data.sets[question.set].role;
    let ids = |wanted: Role| {
        let chosen = questions
            .iter()
            .filter(move |question| role(question) == wanted);
        chosen.map(|question| question.id.clone())
    };
    let always: Vec<String> = ids(Role::Train).collect();
    let folds = match &wanted.file {
        Some(path) => Folds::read(&[path], always)?,
        None => Folds::split(ids(Role::Split), wanted.count, wanted.seed, always)?,
    };
    let places: HashMap<&str, usize> = questions
        .iter()
        .enumerate()
        .map(|(place, question)| (question.id.as_str(), place))
        .collect();
    let find = |ids: &[String]| -> Vec<usize> {
        ids.iter()
            .filter_map(|id| places.get(id.as_str()).copied())
            .collect()
    };
    let roles = folds.folds().iter().map(|fold| Roles {
        train: find(&fold.train),
        validation: find(&fold.validation),
        test: find(&fold.test),
    });
    let roles = roles.collect();
    Ok(Some((folds, roles)))
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
    fn every_query_is_tested_once_and_some_always_train() {
        let questions = questions(60);
        assert!(cross_validation(&questions, &config("")).unwrap().is_none());
        let (folds, roles) = cross_validation(&questions, &config("folds.count = 5"))
            .unwrap()
            .unwrap();
        assert_eq!((folds.folds().len(), roles.len()), (5, 5));
        let mut tested: Vec<usize> = roles.iter().flat_map(|fold| fold.test.clone()).collect();
        tested.sort_unstable();
        let split: Vec<usize> = (0..60).filter(|&place| questions[place].set == 0).collect();
        assert_eq!(tested, split);
        let always = |fold: &Roles| {
            (0..60)
                .filter(|p| questions[*p].set == 1)
                .all(|p| fold.train.contains(&p))
        };
        assert!(roles.iter().all(always));
    }
}
