//! Training a baseline: data, loop and validation are those of BECR.

use super::directory::Baseline;
use super::frozen::{Frozen, FrozenSource, Known};
use super::network::BaselineNetwork;
use super::options::BaselineConfig;
use super::reader::TextReader;
use super::source::BaselineSource;
use super::vectors::WordTable;
use crate::data::Plan;
use crate::learn::{self, Course, Picked, Scores, Source};
use crate::model::{Place, values};
use crate::run::{Folded, Summary, Training};
use crate::trainer::{OnDevice, run_on, take_over};
use crate::{Candidate, Example, Observer, TrainError, TrainOptions, Validation, validate};
use becr_eval::Run;
use becr_lmdb::Store;
use becr_text::words::words;
use burn::tensor::backend::{AutodiffBackend, Backend};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

/// Words in fewer of the training documents have no learned vector: there is nothing to learn it from.
const LEAST_DOCUMENTS: usize = 2;

/// Trains the baseline of a configuration, one for each fold if there are, and writes it.
pub(crate) fn train(
    training: &Training<'_>,
    config: &BaselineConfig,
    observer: &mut dyn Observer,
) -> Result<crate::Outcome, TrainError> {
    let (output, prepared) = (&training.config.output.model, training.prepared);
    let options = &training.config.train;
    let store = &prepared.index.store;
    let from = prepared.model.encoder_id();
    let table = config
        .vectors
        .as_ref()
        .map(|path| WordTable::read(path, config.max_words));
    let table = table.transpose()?;
    if let Some(table) = &table {
        let (words, dimensions) = (table.words.len(), table.dimensions);
        observer.note(&format!(
            "{words} words with vectors of {dimensions} numbers"
        ));
    }
    let mut folded = Folded::default();
    let mut known = Known::default();
    let mut trainings = Vec::new();
    for (number, plan) in (1..).zip(&prepared.plans) {
        let fold = plan.test.as_ref().map(|_| format!("fold-{number}"));
        if fold.is_some() {
            observer.note(&format!("fold {number} of {}", prepared.plans.len()));
        }
        let start = match &config.from {
            Some(directory) => Baseline::go_on(config, directory)?,
            None => start(training, config, table.as_ref(), plan)?,
        };
        if config.kind.reads_words() && config.vectors.is_none() && config.from.is_none() {
            // Each fold has words and vectors of its own.
            known = Known::default();
        }
        let mut directory = training.config.checkpoints();
        directory.extend(fold.as_deref());
        let job = BaselineJob {
            baseline: &start,
            store,
            examples: &plan.examples,
            validation: &plan.validation,
            test: plan.test.as_ref(),
            options,
            known: &known,
            directory: &directory,
            observer,
        };
        let made = run_on(options.device, job)?;
        let mut baseline = made.baseline;
        let ndcg = made.outcome.best.map(|best| best.ndcg);
        let step = made
            .outcome
            .best
            .map_or(made.outcome.steps, |best| best.step);
        for (key, value) in [
            ("examples", json!(plan.examples.len())),
            ("validation_queries", json!(plan.validation.queries.len())),
            ("validation_ndcg_at_10", json!(ndcg)),
            ("step", json!(step)),
            ("options", json!(options)),
            ("data", json!(prepared.report.sets)),
        ] {
            baseline.about.insert(key.into(), value);
        }
        trainings.push(Summary::of(plan, ndcg, step, made.outcome.steps)?);
        match (&plan.test, made.test, fold) {
            (Some(test), Some(run), Some(fold)) => {
                baseline.write(&output.join(fold), &from)?;
                folded.add(test, run);
            }
            _ => baseline.write(output, &from)?,
        }
    }
    training.outcome(trainings, &folded)
}

/// A baseline that has learned nothing yet, with the words of a table or of the training documents.
fn start(
    training: &Training<'_>,
    config: &BaselineConfig,
    table: Option<&WordTable>,
    plan: &Plan,
) -> Result<Baseline, TrainError> {
    let prepared = training.prepared;
    let table = match (table, config.kind.reads_words()) {
        (Some(table), _) => Some(table.clone()),
        (None, true) => Some(vocabulary(config, &prepared.index.store, &plan.examples)?),
        (None, false) => None,
    };
    let config = BaselineConfig {
        dimensions: table
            .as_ref()
            .map_or(config.dimensions, |table| table.dimensions),
        ..config.clone()
    };
    Baseline::start(&config, &prepared.model, table, training.config.train.seed)
}

/// The words whose vectors are learned: those of several training documents, the most frequent first.
fn vocabulary(
    config: &BaselineConfig,
    store: &Store,
    examples: &[Example],
) -> Result<WordTable, TrainError> {
    let snapshot = store.snapshot()?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for example in examples {
        for candidate in example.positives.iter().chain(&example.negatives) {
            if !seen.insert(candidate.number) {
                continue;
            }
            let text = snapshot.text(candidate.number)?;
            let text = text.ok_or_else(|| TrainError::NoText {
                id: example.id.clone(),
                number: candidate.number,
            })?;
            let found: HashSet<String> = words(&text.title)
                .chain(words(&text.text))
                .map(|word| word.text)
                .collect();
            found
                .into_iter()
                .for_each(|word| *counts.entry(word).or_default() += 1);
        }
    }
    let mut known: Vec<(String, usize)> = counts
        .into_iter()
        .filter(|(_, count)| *count >= LEAST_DOCUMENTS)
        .collect();
    known.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    known.truncate(config.max_words);
    if known.is_empty() {
        return Err(TrainError::option(
            "vectors",
            "no word is in two training documents, so there are no vectors to learn; name a file of word vectors",
        ));
    }
    Ok(WordTable {
        words: known.into_iter().map(|(word, _)| word).collect(),
        dimensions: config.dimensions,
        vectors: Vec::new(),
    })
}

/// One training, on some device.
pub(super) struct BaselineJob<'a> {
    pub(super) baseline: &'a Baseline,
    pub(super) store: &'a Store,
    pub(super) examples: &'a [Example],
    pub(super) validation: &'a Validation,
    pub(super) test: Option<&'a Validation>,
    pub(super) options: &'a TrainOptions,
    /// What a frozen encoder has made of texts.
    pub(super) known: &'a Known,
    pub(super) directory: &'a Path,
    pub(super) observer: &'a mut dyn Observer,
}

/// What came of it.
pub(super) struct BaselineMade {
    pub(super) baseline: Baseline,
    pub(super) outcome: learn::Outcome,
    /// The test queries, re-ranked.
    pub(super) test: Option<Run>,
}

impl OnDevice for BaselineJob<'_> {
    type Made = BaselineMade;

    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<BaselineMade, TrainError> {
        self.options.check()?;
        let place = Place::<B>::single(device.clone());
        let inner = Place::<B::InnerBackend>::single(device);
        let reader = TextReader::in_training(self.baseline)?;
        if let Some(note) = reader.note() {
            self.observer.note(&note);
        }
        let frozen = match self.baseline.config.is_frozen() {
            true => {
                let device = self.options.device;
                Some(Frozen::new(self.baseline, device, &inner, self.known)?)
            }
            false => None,
        };
        let mut network = BaselineNetwork::in_training(self.baseline, &place)?;
        // One that learns would keep what every forward pass computed, for a backward pass that never comes.
        let mut served = BaselineNetwork::in_training(self.baseline, &inner)?;
        let texts = BaselineSource {
            store: self.store,
            examples: self.examples,
            reader: &reader,
        };
        let source = texts.or_known(frozen.as_ref());
        let course = Course {
            examples: self.examples,
            source: &*source,
            options: self.options,
            steps: self.options.steps,
            place,
            folder: self.directory,
            fingerprint: self.fingerprint(),
            validation_queries: self.validation.queries.len(),
        };
        let rerank = |served: &BaselineNetwork<B::InnerBackend>, lists: &Validation| {
            let queries = queries(lists);
            let texts = BaselineSource {
                store: self.store,
                examples: &queries,
                reader: &reader,
            };
            let source = texts.or_known(frozen.as_ref());
            rerank(served, lists, &*source, self.options)
        };
        let mut judge = |network: &mut BaselineNetwork<B>| {
            take_over(network, &mut served);
            validate::ndcg(self.validation, &rerank(&served, self.validation)?)
        };
        let outcome = match self.validation.queries.is_empty() {
            true => course.run(&mut network, None, self.observer)?,
            false => course.run(&mut network, Some(&mut judge), self.observer)?,
        };
        take_over(&mut network, &mut served);
        let test = self.test.map(|test| rerank(&served, test)).transpose()?;
        let mut baseline = self.baseline.clone();
        network.download(&mut baseline);
        Ok(BaselineMade {
            baseline,
            outcome,
            test,
        })
    }
}

impl BaselineJob<'_> {
    /// Tells a training by what it is of, starts from, learns from and goes by.
    fn fingerprint(&self) -> String {
        let mut hash = Xxh3::new();
        let encoder = self
            .baseline
            .model
            .as_ref()
            .map(becr_model::Model::encoder_id);
        let what = json!([self.baseline.config, encoder, self.options]);
        hash.update(what.to_string().as_bytes());
        for word in &self.baseline.words {
            hash.update(word.as_bytes());
            hash.update(&[0]);
        }
        self.baseline.tensors.hash(&mut hash);
        for example in self.examples {
            hash.update(example.id.as_bytes());
            hash.update(&[0]);
            hash.update(example.query.as_bytes());
            for candidate in example.positives.iter().chain(&example.negatives) {
                hash.update(&candidate.number.to_le_bytes());
            }
            hash.update(&[0]);
        }
        format!("{:032x}", hash.digest128())
    }
}

impl<'a> BaselineSource<'a> {
    /// Reads texts, unless what is frozen knows what becomes of them.
    fn or_known<B: Backend>(self, frozen: Option<&'a Frozen<'a, B>>) -> Box<dyn Source + 'a> {
        match frozen {
            Some(frozen) => Box::new(FrozenSource {
                texts: self,
                frozen,
            }),
            None => Box::new(self),
        }
    }
}

/// The queries of lists as examples.
fn queries(lists: &Validation) -> Vec<Example> {
    let queries = lists.queries.iter().map(|query| Example {
        id: query.id.clone(),
        query: query.query.clone(),
        positives: Vec::new(),
        negatives: Vec::new(),
    });
    queries.collect()
}

/// Re-ranks lists of candidates, of whose queries `source` makes batches.
fn rerank<B: Backend>(
    network: &BaselineNetwork<B>,
    lists: &Validation,
    source: &dyn Source,
    options: &TrainOptions,
) -> Result<Run, TrainError> {
    let mut run = Run::new("baseline");
    // As many documents at a time as in training, so that there is room for them.
    let part = options.batch * (options.negatives + 1);
    for (example, query) in lists.queries.iter().enumerate() {
        for candidates in query.candidates.chunks(part) {
            let documents: Vec<Candidate> = candidates.iter().map(|(_, c)| *c).collect();
            let picked = Picked { example, documents };
            let batch = source.batch(&[picked], candidates.len(), 0)?;
            for ((id, _), score) in candidates.iter().zip(values(network.scores(&batch))) {
                run.push(&query.id, id.as_str(), f64::from(score));
            }
        }
    }
    Ok(run)
}
