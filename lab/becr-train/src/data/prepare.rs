//! From a configuration to everything that a training needs.

use super::report::{FoldsReport, UseReport};
use super::{
    CrossValidation, DataError, DataReport, Miner, Question, Roles, Sets, TrainingIndex, base,
    cross_validation, held_out,
};
use crate::config::Config;
use crate::{Example, Validation};
use becr_encoder::Encoder;
use becr_eval::Folds;
use becr_index::Observer;
use becr_model::{Head, Model};
use std::fs::File;
use std::path::Path;

/// What to prepare, and with what.
pub struct Preparation<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Replace what an earlier training with other data left in the work directory.
    pub restart: bool,
    /// Opens the encoder of a model, on whatever device; called only if documents are to be encoded.
    pub encoder: &'a dyn Fn(Model) -> Result<Encoder, Box<dyn std::error::Error + Send + Sync>>,
    /// Is told how the index grows.
    pub indexing: &'a dyn Observer,
    /// Is told how the search for candidates goes.
    pub watch: &'a (dyn Watch + Sync),
}

/// Is told how far a piece of work is.
pub trait Watch {
    /// A piece of work begins, of so many steps.
    fn begin(&self, what: &'static str, steps: usize);
    /// Some steps are done.
    fn advance(&self, steps: usize);
}

/// Everything that a training needs.
pub struct Prepared {
    /// The model.
    pub model: Model,
    /// The head to go on from.
    pub head: Option<Head>,
    /// The index.
    pub index: TrainingIndex,
    /// One training, or one for each fold.
    pub plans: Vec<Plan>,
    /// The folds, if there are.
    pub folds: Option<Folds>,
    /// What was used.
    pub report: DataReport,
    /// Held while the work directory is in use.
    _lock: File,
}

/// What one training learns from and is judged by.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// To learn from.
    pub examples: Vec<Example>,
    /// To decide when to stop.
    pub validation: Validation,
    /// To be measured on; only with folds.
    pub test: Option<Validation>,
}

impl Preparation<'_> {
    /// Reads the sets, builds the index or opens it, and searches. Whatever was done by an earlier, interrupted try is
    /// not done again.
    pub fn run(&self) -> Result<Prepared, DataError> {
        let work = self.config.work();
        std::fs::create_dir_all(&work).map_err(DataError::io(&work, "cannot create"))?;
        let lock = lock(&work)?;
        let mut model = base::base(self.config, &work)?;
        if !self.restart {
            base::check_output(&self.config.output.model, &model)?;
        }
        let head = base::head(self.config, &model)?;
        // An index of our own has γ·CLS of the head to go on from, as the index of the trained model will. It is not
        // for ranking, so the similarity that this head was trained with is no matter.
        model.head = head.clone().filter(|head| head.others.cls.is_some());
        if let Some(head) = &mut model.head {
            head.deep.similarity = Default::default();
        }
        self.watch.begin("reading the sets", 0);
        let Sets {
            questions,
            pool,
            mut report,
        } = Sets::read(self.config, &work)?;
        let index = match (&self.config.index.path, &pool) {
            (Some(path), _) if self.config.baseline.is_some() => TrainingIndex::open_any(path)?,
            (Some(path), _) => TrainingIndex::open(path, &model)?,
            (None, Some(pool)) => self.index(&work, &model, pool, &questions)?,
            (None, None) => return Err(DataError::OtherIndex(work)),
        };
        report.documents = index.first_stage.documents();
        let (folds, roles) = match cross_validation(&questions, self.config)? {
            Some(crossed) => {
                report.folds = self.unfit(&crossed, &questions);
                (Some(crossed.folds), crossed.roles)
            }
            None => (None, vec![held_out(&questions, self.config)]),
        };
        let miner = Miner::new(self.config, &index)?;
        let mut plans = Vec::new();
        for roles in &roles {
            let (plan, used) = self.plan(&miner, &questions, roles)?;
            report.trainings.push(used);
            check(&plan, &report)?;
            plans.push(plan);
        }
        report.write(&work)?;
        Ok(Prepared {
            model,
            head,
            index,
            plans,
            folds,
            report,
            _lock: lock,
        })
    }

    fn index(
        &self,
        work: &Path,
        model: &Model,
        pool: &super::Pool,
        questions: &[Question],
    ) -> Result<TrainingIndex, DataError> {
        let encoder = || {
            let model = Model::read(&model.directory)?;
            (self.encoder)(model).map_err(DataError::Encoder)
        };
        // A baseline reads texts alone: it asks for no token group.
        let questions = match self.config.baseline {
            Some(_) => &[],
            None => questions,
        };
        let queries = questions
            .iter()
            .map(|question| question.text.clone())
            .collect();
        let making = super::index::Making {
            work,
            model,
            encoder: &encoder,
            pool,
            config: &self.config.index,
            restart: self.restart,
            texts_only: self.config.reads_texts(),
        };
        making.run(queries, self.indexing)
    }

    /// What of a folds file does not go with the queries.
    fn unfit(&self, crossed: &CrossValidation, questions: &[Question]) -> Option<FoldsReport> {
        let missing = crossed.missing.iter().map(|&place| &questions[place].id);
        let report = FoldsReport {
            file: self.config.folds.as_ref()?.file.clone()?,
            unknown: crossed.unknown.clone(),
            missing: missing.cloned().collect(),
        };
        let fits = report.unknown.is_empty() && report.missing.is_empty();
        (!fits).then_some(report)
    }

    fn plan(
        &self,
        miner: &Miner<'_>,
        questions: &[Question],
        roles: &Roles,
    ) -> Result<(Plan, Vec<UseReport>), DataError> {
        let chosen = |places: &[usize]| -> Vec<&Question> {
            places.iter().map(|&place| &questions[place]).collect()
        };
        let mut used = vec![UseReport::default(); self.config.data.sets.len()];
        for question in chosen(&roles.withheld) {
            used[question.set].drop("words of a query that is held out");
        }
        let done = |steps| self.watch.advance(steps);
        let train = chosen(&roles.train);
        self.watch.begin("queries with negatives", train.len());
        let mut plan = Plan::default();
        for (mined, question) in miner.examples(&train, &done)?.into_iter().zip(&train) {
            let used = &mut used[question.set];
            used.add(&mined.report);
            used.train += u64::from(mined.example.is_some());
            plan.examples.extend(mined.example);
        }
        let mut lists = |places: &[usize], count: fn(&mut UseReport) -> &mut u64| {
            let questions = chosen(places);
            self.watch.begin("queries with candidates", questions.len());
            let (lists, reports) = miner.lists(&questions, &done)?;
            for (question, report) in questions.iter().zip(&reports) {
                used[question.set].add(report);
                *count(&mut used[question.set]) += 1;
            }
            Ok::<_, DataError>(lists)
        };
        plan.validation = lists(&roles.validation, |used| &mut used.validation)?;
        if self.config.folds.is_some() {
            plan.test = Some(lists(&roles.test, |used| &mut used.test)?);
        }
        Ok((plan, used))
    }
}

/// One training at a time in a work directory.
fn lock(work: &Path) -> Result<File, DataError> {
    let path = work.join("lock");
    let lock = File::create(&path).map_err(DataError::io(&path, "cannot create"))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(_) => Err(DataError::Busy(work.to_owned())),
    }
}

/// Without examples or without validation there is no training.
fn check(plan: &Plan, report: &DataReport) -> Result<(), DataError> {
    let refuse = |purpose, remedy| {
        Err(DataError::NoQueries {
            purpose,
            report: report.to_string(),
            remedy,
        })
    };
    if plan.examples.is_empty() {
        return refuse(
            "to train on",
            "check the ids of the judgements, the caps and the negatives",
        );
    }
    if plan.validation.queries.is_empty() {
        return refuse(
            "to validate with",
            "raise [validation] share, or give a set role = \"validation\"; with a folds file, check its ids",
        );
    }
    if plan
        .test
        .as_ref()
        .is_some_and(|test| test.queries.is_empty())
    {
        return refuse(
            "to test a fold with",
            "check the ids of the folds file; with several sets they begin with the set's name and a slash",
        );
    }
    Ok(())
}
