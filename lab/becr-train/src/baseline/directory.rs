//! A baseline's directory.
//!
//! `baseline.json` says what it is, `baseline.safetensors` has what it learned beside its encoder, `words.txt` the words
//! of a table of vectors; the encoder is a model directory like any other (`config.json`, `model.safetensors`, the
//! tokenizer).

use super::network::shapes;
use super::options::{BaselineConfig, BaselineKind};
use super::vectors::WordTable;
use crate::model::Place;
use crate::random::Random;
use crate::{TrainError, output};
use becr_eval::write_atomically;
use becr_model::{Extra, Model, Storage};
use burn::tensor::{Tensor, backend::Backend};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

const FILE: &str = "baseline.json";
const TENSORS: &str = "baseline.safetensors";
const WORDS: &str = "words.txt";
const FORMAT: u32 = 1;

/// Purpose of random numbers.
const START: u64 = 11;

/// A baseline, trained or about to be.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// What it is.
    pub config: BaselineConfig,
    /// What it learned beside its encoder.
    pub(crate) tensors: Tensors,
    /// The words of its table of vectors.
    pub(crate) words: Vec<String>,
    /// Its encoder.
    pub(crate) model: Option<Model>,
    /// Where it comes from: data, steps, options.
    pub about: Map<String, Value>,
}

/// Named matrices; vectors are rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tensors(BTreeMap<String, ([usize; 2], Vec<f32>)>);

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    baseline: BaselineConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trained_from_encoder: Option<String>,
    #[serde(default)]
    about: Map<String, Value>,
}

impl Tensors {
    /// Uploads a tensor.
    pub(super) fn upload<B: Backend>(&self, name: &str, place: &Place<B>) -> Tensor<B, 2> {
        let (shape, values) = self
            .0
            .get(name)
            .expect("what a baseline has was checked when it was made or read");
        place.tensor(values.clone(), *shape)
    }

    /// Puts other values in the place of a tensor's, if there is one of this name.
    pub(super) fn replace(&mut self, name: &str, values: Vec<f32>) {
        if let Some((_, old)) = self.0.get_mut(name) {
            *old = values;
        }
    }

    /// Adds all of them to a hash.
    pub(super) fn hash(&self, hash: &mut Xxh3) {
        for (name, (_, values)) in &self.0 {
            hash.update(name.as_bytes());
            values
                .iter()
                .for_each(|value| hash.update(&value.to_le_bytes()));
        }
    }

    #[cfg(test)]
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut f32> {
        self.0.values_mut().flat_map(|(_, values)| values)
    }

    fn write(&self, path: &Path) -> Result<(), TrainError> {
        let bytes: Vec<(&str, [usize; 2], Vec<u8>)> = self
            .0
            .iter()
            .map(|(name, (shape, values))| {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes());
                (name.as_str(), *shape, bytes.collect())
            })
            .collect();
        let views = bytes.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes);
            view.map(|view| (*name, view))
        });
        let views: Result<Vec<_>, _> = views.collect();
        let bytes = views.and_then(|views| safetensors::serialize(views, None));
        let bytes = bytes.map_err(|error| broken(path, error.to_string()))?;
        std::fs::write(path, bytes).map_err(TrainError::io(path))
    }

    fn read(path: &Path, shapes: Vec<(String, [usize; 2])>) -> Result<Self, TrainError> {
        let bytes = std::fs::read(path).map_err(TrainError::io(path))?;
        let file =
            SafeTensors::deserialize(&bytes).map_err(|error| broken(path, error.to_string()))?;
        let mut tensors = BTreeMap::new();
        for (name, shape) in shapes {
            let view = file
                .tensor(&name)
                .map_err(|error| broken(path, format!("{name}: {error}")))?;
            if view.shape() != shape || view.dtype() != Dtype::F32 {
                let found = (view.dtype(), view.shape());
                let problem = format!("{name} is {found:?}, expected F32 of shape {shape:?}");
                return Err(broken(path, problem));
            }
            let (words, _) = view.data().as_chunks::<4>();
            let values: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
            if values.iter().any(|value| !value.is_finite()) {
                return Err(broken(
                    path,
                    format!("{name} has values that are not finite"),
                ));
            }
            tensors.insert(name, (shape, values));
        }
        Ok(Self(tensors))
    }
}

fn broken(path: &Path, problem: impl Into<String>) -> TrainError {
    TrainError::Baseline {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

impl Baseline {
    /// A baseline that has learned nothing yet: the layer that makes the score is 0, as BECR's head is; the others are
    /// random. `words` is the table of a kind that reads words; where its vectors are learned, it has none.
    pub(crate) fn start(
        config: &BaselineConfig,
        model: &Model,
        words: Option<WordTable>,
        seed: u64,
    ) -> Result<Self, TrainError> {
        let config = config.clone();
        let mut model = (!config.kind.reads_words()).then(|| model.clone());
        if let Some(model) = &mut model {
            prepare(model, config.kind)?;
        }
        let words = words.unwrap_or_default();
        let table = [1 + words.words.len(), words.dimensions];
        let mut tensors = BTreeMap::new();
        for (number, (name, shape)) in (0..).zip(shapes(&config, model.as_ref(), table)) {
            let values = match name.as_str() {
                "vectors" if !words.vectors.is_empty() => {
                    let padding = vec![0.0; words.dimensions];
                    [padding, words.vectors.clone()].concat()
                }
                "combine.weight" => vec![0.0; shape[0] * shape[1]],
                _ => random(shape, seed, number),
            };
            tensors.insert(name, (shape, values));
        }
        let mut tensors = Tensors(tensors);
        if let Some(model) = &model {
            take_pooler(model, &mut tensors);
        }
        Ok(Self {
            config: BaselineConfig {
                // The vectors are in the directory.
                vectors: None,
                from: None,
                fixed_vectors: Some(config.keeps_vectors()),
                ..config
            },
            tensors,
            words: words.words,
            model,
            about: Map::new(),
        })
    }

    /// A trained baseline that is to learn more. How much of texts it reads and whether its encoder learns is the new
    /// configuration's choice, its shape is the old one's.
    pub(crate) fn go_on(config: &BaselineConfig, directory: &Path) -> Result<Self, TrainError> {
        let mut found = Self::read(directory)?;
        if found.config.kind != config.kind {
            let problem = format!("is {}, not {}", found.config.kind, config.kind);
            return Err(broken(&directory.join(FILE), problem));
        }
        found.config = BaselineConfig {
            query_tokens: config.query_tokens,
            max_document_tokens: config.max_document_tokens,
            train_document_tokens: config.train_document_tokens,
            encoder: config.encoder,
            ..found.config
        };
        found.about = Map::from_iter([("from".into(), json!(found.about))]);
        Ok(found)
    }

    /// Reads a directory that a training wrote.
    pub fn read(directory: &Path) -> Result<Self, TrainError> {
        let path = directory.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => {
                broken(&path, "there is no such file; expected the directory of a baseline that `becr-lab train` made")
            }
            _ => TrainError::io(&path)(source),
        })?;
        let found: Description =
            serde_json::from_str(&text).map_err(|error| broken(&path, error.to_string()))?;
        if found.format != FORMAT {
            let problem = format!("is of format {}, this program reads {FORMAT}", found.format);
            return Err(broken(&path, problem));
        }
        let config = found.baseline;
        config.check().map_err(|problem| broken(&path, problem))?;
        let (mut words, mut model) = (Vec::new(), None);
        match config.kind.reads_words() {
            true => {
                let path = directory.join(WORDS);
                let text = std::fs::read_to_string(&path).map_err(TrainError::io(&path))?;
                words.extend(text.lines().map(str::to_owned));
            }
            false => model = Some(Model::read(directory)?),
        }
        let table = [1 + words.len(), config.dimensions];
        let expected = shapes(&config, model.as_ref(), table);
        let tensors = Tensors::read(&directory.join(TENSORS), expected)?;
        Ok(Self {
            config,
            tensors,
            words,
            model,
            about: found.about,
        })
    }

    /// Writes the directory; what was there of an earlier one is replaced in the end, at once. `from` is the encoder that
    /// the training began with.
    pub(crate) fn write(&self, directory: &Path, from: &str) -> Result<(), TrainError> {
        std::fs::create_dir_all(directory).map_err(TrainError::io(directory))?;
        let partial = output::partial(directory)?;
        std::fs::create_dir_all(&partial).map_err(TrainError::io(&partial))?;
        if let Some(model) = &self.model {
            self.classifier(model).write(&partial, Storage::F32)?;
        }
        if self.config.kind.reads_words() {
            let mut text = self.words.join("\n");
            text.push('\n');
            let path = partial.join(WORDS);
            std::fs::write(&path, text).map_err(TrainError::io(&path))?;
        }
        self.tensors.write(&partial.join(TENSORS))?;
        let description = Description {
            format: FORMAT,
            baseline: self.config.clone(),
            trained_from_encoder: Some(from.to_owned()),
            about: self.about.clone(),
        };
        let path = partial.join(FILE);
        let text = serde_json::to_string_pretty(&description)
            .map_err(|error| broken(&path, error.to_string()))?;
        write_atomically(&path, |out| writeln!(out, "{text}"))?;
        output::publish(&partial, directory, FILE)
    }

    /// The encoder as it is written: with a pooler, as a Hugging Face sequence classifier.
    fn classifier(&self, model: &Model) -> Model {
        let mut model = model.clone();
        if !self.config.pooler {
            return model;
        }
        model.weights.prefix = "bert.".into();
        let extra = &mut model.weights.extra;
        extra.retain(|name, _| !name.contains("pooler.") && !name.starts_with("classifier."));
        for (from, to) in [("pooler", "bert.pooler.dense"), ("combine", "classifier")] {
            let part = |part: &str| self.tensors.0.get(&format!("{from}.{part}"));
            let (Some(([inputs, outputs], weight)), Some((_, bias))) =
                (part("weight"), part("bias"))
            else {
                continue;
            };
            let shape = vec![*outputs, *inputs];
            let data = (0..*outputs)
                .flat_map(|row| (0..*inputs).map(move |column| weight[column * outputs + row]))
                .collect();
            extra.insert(format!("{to}.weight"), Extra { shape, data });
            let (shape, data) = (vec![*outputs], bias.clone());
            extra.insert(format!("{to}.bias"), Extra { shape, data });
        }
        let other = &mut model.config.other;
        let architecture = json!(["BertForSequenceClassification"]);
        other.insert("architectures".into(), architecture);
        other.insert("num_labels".into(), json!(1));
        other.insert("id2label".into(), json!({"0": "relevance"}));
        other.insert("label2id".into(), json!({"relevance": 0}));
        model
    }
}

/// An encoder for a baseline: vectors are not seen from a centre, and no head and no mixer fit it.
fn prepare(model: &mut Model, kind: BaselineKind) -> Result<(), TrainError> {
    if kind.joins() && model.config.type_vocab_size < 2 {
        let problem = format!(
            "{kind} tells query and document apart by token types, and the model in {} has one only; name a BERT of two",
            model.directory.display()
        );
        return Err(TrainError::option("kind", problem));
    }
    model.config.becr = None;
    model.weights.centres = None;
    (model.head, model.mixer, model.words) = (None, None, None);
    Ok(())
}

/// Begins with the pooler that the model has.
fn take_pooler(model: &Model, tensors: &mut Tensors) {
    let name = |part: &str| format!("{}pooler.dense.{part}", model.weights.prefix);
    let extra = &model.weights.extra;
    let (Some(weight), Some(bias)) = (extra.get(&name("weight")), extra.get(&name("bias"))) else {
        return;
    };
    let dim = model.config.hidden_size;
    if weight.shape == [dim, dim] && bias.shape == [dim] {
        let transposed = (0..dim).flat_map(|row| (0..dim).map(move |column| (row, column)));
        let transposed = transposed.map(|(row, column)| weight.data[column * dim + row]);
        tensors.replace("pooler.weight", transposed.collect());
        tensors.replace("pooler.bias", bias.data.clone());
    }
}

/// Normal numbers, the smaller the more inputs there are; a bias is 0.
fn random(shape: [usize; 2], seed: u64, number: u64) -> Vec<f32> {
    let [inputs, outputs] = shape;
    if inputs == 1 {
        return vec![0.0; outputs];
    }
    let mut random = Random::new(seed, &[START, number]);
    // The rows of a table of vectors are no inputs, but their size is no matter: cosines are compared.
    let size = 1.0 / (inputs as f32).sqrt();
    (0..inputs * outputs)
        .map(|_| size * random.normal())
        .collect()
}

/// Whether a directory holds a baseline that a training of this encoder made.
pub(crate) fn is_trained_from(directory: &Path, encoder_id: &str) -> bool {
    let text = std::fs::read_to_string(directory.join(FILE)).ok();
    let found = text.and_then(|text| serde_json::from_str::<Description>(&text).ok());
    found.is_some_and(|found| found.trained_from_encoder.as_deref() == Some(encoder_id))
}
