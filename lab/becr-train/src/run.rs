//! From prepared data to a trained model or baseline on disk; with folds, to a head for each and one cross-validated run.

use crate::config::{Config, SetConfig, StoredWeights};
use crate::data::{Plan, Prepared};
use crate::{Observer, TrainError, Trained, Trainer, Validation, baseline, output, validate};
use becr_eval::{Run, Scope, Table, evaluate, paired_t_test, parse_measures, write_run};
use becr_model::{HEAD_FILE, Model, Storage};
use becr_rank::Ranker;
use becr_text::pieces::WordPieces;
use serde::Serialize;
use serde_json::json;
use std::fmt;
use std::path::{Path, PathBuf};

/// The run of all test queries, each ranked by the head of the fold that tests it.
const RUN_FILE: &str = "cross-validated.run";

/// A training about to begin.
pub struct Training<'a> {
    /// Its configuration.
    pub config: &'a Config,
    /// Its data.
    pub prepared: &'a Prepared,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The directory of the model; with folds, of the heads and the run.
    pub output: PathBuf,
    /// One training, or one for each fold.
    pub trainings: Vec<Summary>,
    /// The test; only with folds.
    pub test: Option<Tested>,
}

/// One training.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Queries it learned from.
    pub examples: usize,
    /// Queries it was validated with.
    pub validation_queries: usize,
    /// Mean nDCG@10 of their candidates as the first stage has them.
    pub first_stage: f64,
    /// Mean nDCG@10 of their candidates re-ranked by the head that was kept.
    pub validated: Option<f64>,
    /// The step whose head was kept.
    pub step: usize,
    /// Steps done.
    pub steps: usize,
}

/// The test queries of all folds together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tested {
    /// The run file.
    pub run: PathBuf,
    /// How many queries there are.
    pub queries: usize,
    /// What they were measured with.
    pub measures: Vec<Measured>,
}

/// A measure of the test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Its name.
    pub measure: String,
    /// The candidates as the first stage has them.
    pub first_stage: f64,
    /// The same, re-ranked.
    pub reranked: f64,
    /// Paired t-test, two-sided; `None` with fewer than two queries.
    pub p_value: Option<f64>,
}

impl Training<'_> {
    /// Trains, or goes on with what an interrupted training left, and writes the result.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let output = &self.config.output.model;
        std::fs::create_dir_all(output).map_err(TrainError::io(output))?;
        if let Some(config) = &self.config.baseline {
            return baseline::train(self, config, observer);
        }
        let plans = &self.prepared.plans;
        let mut trainings = Vec::new();
        let mut folded = Folded::default();
        for (number, plan) in (1..).zip(plans) {
            let name = plan.test.as_ref().map(|_| format!("fold-{number}"));
            if name.is_some() {
                observer.note(&format!("fold {number} of {}", plans.len()));
            }
            let trained = self.train(plan, name.as_deref(), observer)?;
            let Trained {
                ndcg, step, steps, ..
            } = trained;
            trainings.push(Summary::of(plan, ndcg, step, steps)?);
            match (&plan.test, name) {
                // A trained encoder has re-ranked already: the index is of another.
                (Some(test), Some(name)) if trained.test.is_some() => {
                    self.write(&trained, &output.join(name))?;
                    folded.add(test, trained.test.unwrap_or_else(|| Run::new("becr")));
                }
                (Some(test), Some(name)) => {
                    trained
                        .head
                        .write(&output.join(format!("{name}.{HEAD_FILE}")))?;
                    folded.add(test, self.rerank(test, &trained)?);
                }
                _ => self.write(&trained, output)?,
            }
        }
        self.outcome(trainings, &folded)
    }

    /// What came of all trainings; with folds, the run and its measures are written.
    pub(crate) fn outcome(
        &self,
        trainings: Vec<Summary>,
        folded: &Folded,
    ) -> Result<Outcome, TrainError> {
        let output = self.config.output.model.clone();
        let test = match &self.prepared.folds {
            Some(folds) => {
                folds.write(output.join("folds.json"))?;
                Some(self.tested(&folded.before, &folded.after)?)
            }
            None => None,
        };
        Ok(Outcome {
            output,
            trainings,
            test,
        })
    }

    /// One training, in a folder for its seed: other seeds may share the work directory.
    fn train(
        &self,
        plan: &Plan,
        name: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let mut directory = self.config.checkpoints();
        directory.extend(name);
        let trainer = Trainer {
            model: &self.prepared.model,
            store: &self.prepared.index.store,
            head: self.prepared.head.clone(),
            directory: &directory,
            test: plan.test.as_ref(),
        };
        let mut trained = trainer.run(
            &plan.examples,
            &plan.validation,
            &self.config.train,
            observer,
        )?;
        trained
            .head
            .about
            .insert("data".into(), json!(self.prepared.report.sets));
        Ok(trained)
    }

    /// The model's directory: encoder, tokenizer, configuration, head.
    fn write(&self, trained: &Trained, output: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(output).map_err(TrainError::io(output))?;
        let partial = output::partial(output)?;
        let model = &self.prepared.model;
        let mut head = trained.head.clone();
        match &trained.weights {
            None => {
                model.copy(&partial)?;
                // The encoder is as it was, whatever the head to go on from says of its own.
                head.about.remove(output::TRAINED_FROM);
            }
            Some(weights) => {
                let storage = match self.config.model.weights {
                    StoredWeights::Keep | StoredWeights::F32 => Storage::F32,
                    StoredWeights::F16 => Storage::F16,
                    StoredWeights::Int8 => Storage::I8,
                };
                let mut settings = model.config.settings();
                settings.similarity = head.deep.similarity;
                // What int8 costs was measured for the encoder of before.
                settings.precision = None;
                let from = model.encoder_id();
                let mut model = Model {
                    weights: weights.clone(),
                    mixer: None,
                    words: None,
                    ..model.clone()
                };
                model.config.becr = Some(settings);
                model.write(&partial, storage)?;
                // Rounded weights are another encoder.
                head.encoder_id = Model::read(&partial)?.encoder_id();
                head.about.insert(output::TRAINED_FROM.into(), json!(from));
            }
        }
        head.write(&partial.join(HEAD_FILE))?;
        output::publish(&partial, output, output::CONFIG)
    }

    fn rerank(&self, test: &Validation, trained: &Trained) -> Result<Run, TrainError> {
        let pieces = WordPieces::from_dir(&self.prepared.model.directory)?;
        let store = &self.prepared.index.store;
        let ranker = Ranker::for_store(store.header(), trained.head.clone(), pieces)?;
        validate::rerank(test, store, &ranker)
    }

    fn tested(&self, before: &Run, after: &Run) -> Result<Tested, TrainError> {
        let tests = self
            .prepared
            .plans
            .iter()
            .filter_map(|plan| plan.test.as_ref());
        let mut qrels = becr_eval::Qrels::default();
        tests.for_each(|test| qrels.queries.extend(test.qrels.queries.clone()));
        let run = self.config.output.model.join(RUN_FILE);
        write_run(&run, &own_ids(after, &self.config.data.sets))?;
        let names = self
            .config
            .folds
            .as_ref()
            .map_or("nDCG@10", |folds| &folds.measures);
        let measures = parse_measures(names)?;
        let [before, after] =
            [before, after].map(|run| evaluate(&qrels, run, &measures, Scope::Complete));
        let measured = measures.iter().enumerate().map(|(at, measure)| Measured {
            measure: measure.to_string(),
            first_stage: before.mean(at).unwrap_or(0.0),
            reranked: after.mean(at).unwrap_or(0.0),
            p_value: paired_t_test(after.values(at).into_iter().zip(before.values(at))).p,
        });
        Ok(Tested {
            run,
            queries: qrels.queries.len(),
            measures: measured.collect(),
        })
    }
}

/// The run with ids as the files have them, where one set alone is tested: among several, ids have the set's name in front.
fn own_ids(run: &Run, sets: &[SetConfig]) -> Run {
    let prefixes = sets.iter().map(|set| format!("{}/", set.name));
    let tested = |prefix: &String| run.queries.keys().all(|id| id.starts_with(prefix));
    let Some(prefix) = prefixes.filter(|_| sets.len() > 1).find(tested) else {
        return run.clone();
    };
    let own = |id: &str| id.strip_prefix(&prefix).unwrap_or(id).to_owned();
    let mut plain = Run::new(run.tag.clone());
    for (query, documents) in &run.queries {
        let documents = documents.iter().map(|(id, score)| (own(id), *score));
        plain.queries.insert(own(query), documents.collect());
    }
    plain
}

/// The test queries of all folds, before and after.
pub(crate) struct Folded {
    before: Run,
    after: Run,
}

impl Default for Folded {
    fn default() -> Self {
        Self {
            before: Run::new("first-stage"),
            after: Run::new("becr"),
        }
    }
}

impl Folded {
    /// Adds the test queries of a fold, re-ranked.
    pub(crate) fn add(&mut self, test: &Validation, reranked: Run) {
        self.before.queries.extend(first_stage(test).queries);
        self.after.queries.extend(reranked.queries);
    }
}

impl Summary {
    /// A training by its plan, the nDCG@10 and the step of what was kept, and the steps done.
    pub(crate) fn of(
        plan: &Plan,
        validated: Option<f64>,
        step: usize,
        steps: usize,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            examples: plan.examples.len(),
            validation_queries: plan.validation.queries.len(),
            first_stage: validate::ndcg(&plan.validation, &first_stage(&plan.validation))?,
            validated,
            step,
            steps,
        })
    }
}

/// The candidates as the first stage has them.
fn first_stage(lists: &Validation) -> Run {
    let mut run = Run::new("first-stage");
    for query in &lists.queries {
        for (id, candidate) in &query.candidates {
            let score = candidate.first_stage.unwrap_or_default();
            run.push(&query.id, id.as_str(), f64::from(score));
        }
    }
    run
}

impl Config {
    /// Where checkpoints, log and curves of this seed go.
    pub fn checkpoints(&self) -> PathBuf {
        self.work().join(format!("seed-{}", self.train.seed))
    }
}

/// Removes what an earlier training with this seed left: checkpoints, log and curves.
pub fn forget(config: &Config) -> Result<(), TrainError> {
    let folder = config.checkpoints();
    match std::fs::remove_dir_all(&folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(TrainError::io(Path::new(&folder))(e))
        }
        _ => Ok(()),
    }
}

/// A line for each training, and a table of the test.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, training) in (1..).zip(&self.trainings) {
            if self.trainings.len() > 1 {
                write!(f, "fold {number}: ")?;
            }
            let Summary {
                examples,
                validation_queries,
                first_stage,
                validated,
                step,
                steps,
            } = training;
            let validated = validated.map_or("–".into(), |ndcg| format!("{ndcg:.4}"));
            writeln!(
                f,
                "{examples} queries, {steps} steps; nDCG@10 of {validation_queries} validation queries: first stage \
                 {first_stage:.4}, re-ranked {validated} (step {step})"
            )?;
        }
        if let Some(test) = &self.test {
            let header = ["measure", "first stage", "re-ranked", "p"].map(String::from);
            let mut table = Table::new(header.to_vec(), vec![1, 2, 3]);
            for measured in &test.measures {
                let numbers =
                    [measured.first_stage, measured.reranked].map(|mean| format!("{mean:.4}"));
                let p = match measured.p_value {
                    Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
                    Some(p) => format!("{p:.4}"),
                    None => "–".to_owned(),
                };
                let [first_stage, reranked] = numbers;
                table.row(vec![measured.measure.clone(), first_stage, reranked, p]);
            }
            write!(
                f,
                "\n{} test queries, each ranked by a head that never saw it\n{table}",
                test.queries
            )?;
        }
        Ok(())
    }
}
