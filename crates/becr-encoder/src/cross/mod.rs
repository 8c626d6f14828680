//! Cross-encoders: query and document go through BERT together, and a classifier with one label says how relevant the
//! document is. Nothing can be computed before the query is there, so a list of candidates takes seconds where footprints take
//! milliseconds.
//!
//! The input is `[CLS] query [SEP] document [SEP]`, with token types 0 up to the first `[SEP]` and 1 behind it; the score
//! `classifier(tanh(pooler([CLS])))`, as Hugging Face's `BertForSequenceClassification` has it. Backends know of one token type
//! only: the vocabulary is doubled instead, the second half being the words with the other type already added.

#[cfg(test)]
mod tests;
mod types;

use crate::{Batch, EncodeError, Encoder, Precision};
use becr_model::{Layers, Linear, Matrix, Model, Settings};
use rayon::prelude::*;
pub use types::double_vocabulary;

/// Query and document, scored together by a BERT sequence classifier of one label.
pub struct CrossEncoder {
    encoder: Encoder,
    classifier: Classifier,
}

/// What a classifier has behind the encoder, and where the second half of the doubled vocabulary begins.
pub struct Classifier {
    pooler: Linear,
    output: Linear,
    vocabulary: u32,
}

/// The scores of a query's documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CrossScores {
    /// One for each document, in their order: the classifier's logit.
    pub scores: Vec<f32>,
    /// How many documents were longer than the model can take beside the query; their ends were not read.
    pub cut: usize,
}

impl Classifier {
    /// Takes a sequence classifier apart: what is left of the model encodes pairs, with any backend.
    pub fn split(model: Model) -> Result<(Model, Self), EncodeError> {
        let mut model = model;
        let (dim, prefix) = (model.config.hidden_size, model.weights.prefix.clone());
        let pooler = linear(&mut model, &format!("{prefix}pooler.dense"), dim)?;
        let output = linear(&mut model, "classifier", dim)?;
        if pooler.bias.len() != dim {
            let found = pooler.bias.len();
            return Err(problem(
                &model,
                &format!("its pooler has {found} outputs, expected {dim}"),
            ));
        }
        if output.bias.len() != 1 {
            let found = output.bias.len();
            return Err(problem(
                &model,
                &format!("its classifier has {found} labels, a re-ranker has one"),
            ));
        }
        let Some(vocabulary) = double_vocabulary(&mut model.config, &mut model.weights) else {
            return Err(problem(
                &model,
                "it has one token type, so it cannot tell query and document apart",
            ));
        };
        model.config.becr = Some(Settings {
            layers: Layers::Last,
            bits: None,
            ..Settings::default()
        });
        model.weights.centres = None;
        let classifier = Self {
            pooler,
            output,
            vocabulary,
        };
        Ok((model, classifier))
    }

    fn score(&self, cls: &[f32]) -> f32 {
        let mut pooled = apply(&self.pooler, cls);
        pooled.iter_mut().for_each(|x| *x = x.tanh());
        apply(&self.output, &pooled)[0]
    }
}

/// Takes a linear layer out of the tensors that are not the encoder's.
fn linear(model: &mut Model, name: &str, inputs: usize) -> Result<Linear, EncodeError> {
    let mut take = |part: &str| {
        let name = format!("{name}.{part}");
        model.weights.extra.remove(&name).ok_or(name)
    };
    let missing = |model: &Model, name: &str| {
        problem(
            model,
            &format!("it has no tensor {name}; expected a BERT sequence classifier"),
        )
    };
    let (weight, bias) = match (take("weight"), take("bias")) {
        (Ok(weight), Ok(bias)) => (weight, bias),
        (Err(name), _) | (_, Err(name)) => return Err(missing(model, &name)),
    };
    let outputs = bias.data.len();
    if weight.shape != [outputs, inputs] || bias.shape != [outputs] {
        let found = (&weight.shape, &bias.shape);
        return Err(problem(
            model,
            &format!("{name} has the shapes {found:?}, expected [outputs, {inputs}] and [outputs]"),
        ));
    }
    if weight.data.iter().chain(&bias.data).any(|x| !x.is_finite()) {
        return Err(problem(
            model,
            &format!("{name} holds values that are no numbers"),
        ));
    }
    Ok(Linear {
        weight: Matrix {
            rows: outputs,
            cols: inputs,
            data: weight.data,
        },
        bias: bias.data,
    })
}

fn problem(model: &Model, what: &str) -> EncodeError {
    let directory = model.directory.display();
    EncodeError::Config(format!(
        "{directory} is no cross-encoder that can be used: {what}"
    ))
}

fn apply(layer: &Linear, x: &[f32]) -> Vec<f32> {
    let rows = layer.weight.data.chunks_exact(layer.weight.cols);
    rows.zip(&layer.bias)
        .map(|(row, bias)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>())
        .collect()
}

impl CrossEncoder {
    /// Takes a sequence classifier for CPUs.
    pub fn of_model(model: Model, precision: Precision) -> Result<Self, EncodeError> {
        let (model, classifier) = Classifier::split(model)?;
        Ok(Self::new(
            Encoder::with_precision(model, precision)?,
            classifier,
        ))
    }

    /// Joins the two halves of a classifier again, the first with whatever computes it.
    pub fn new(encoder: Encoder, classifier: Classifier) -> Self {
        Self {
            encoder,
            classifier,
        }
    }

    /// Scores documents, titles and texts, for a query. A query takes at most half of the positions that the model has, a
    /// document what is left: longer ones lose their ends. Batches of documents go side by side in the current rayon pool.
    pub fn scores(
        &self,
        query: &str,
        documents: &[(&str, &str)],
    ) -> Result<CrossScores, EncodeError> {
        let read = documents
            .par_iter()
            .map(|(title, text)| self.sequence(query, title, text));
        let read: Vec<(Vec<u32>, bool)> = read.collect();
        let cut = read.iter().filter(|(_, is_cut)| *is_cut).count();
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut tokens = 0;
        for (at, (sequence, _)) in read.iter().enumerate() {
            tokens += sequence.len();
            match batches.last_mut() {
                Some(batch) if tokens <= self.encoder.batch_tokens => batch.push(at),
                _ => {
                    batches.push(vec![at]);
                    tokens = sequence.len();
                }
            }
        }
        let scored = batches.par_iter().map(|places| {
            let sequences = places.iter().map(|&at| read[at].0.iter().copied());
            self.batch(&sequences.collect())
        });
        let scored: Vec<Vec<f32>> = scored.collect::<Result<_, _>>()?;
        Ok(CrossScores {
            scores: scored.into_iter().flatten().collect(),
            cut,
        })
    }

    fn batch(&self, batch: &Batch) -> Result<Vec<f32>, EncodeError> {
        let states = self.encoder.backend.hidden_states(batch)?;
        let cls = batch
            .sequences()
            .map(|sequence| states.vector(0, sequence.start));
        Ok(cls.map(|cls| self.classifier.score(cls)).collect())
    }

    /// What the model is given, and whether the document had to be cut.
    fn sequence(&self, query: &str, title: &str, text: &str) -> (Vec<u32>, bool) {
        let special = self.encoder.pieces.special;
        let longest = self.encoder.backend.shape().max_tokens;
        let mut query = self.encoder.pieces.pieces(query).ids;
        query.truncate((longest / 2).saturating_sub(2));
        let mut document = self.encoder.pieces.document(title, text).pieces.ids;
        let room = longest.saturating_sub(query.len() + 3);
        let is_cut = document.len() > room;
        document.truncate(room);
        let mut sequence = vec![special.cls];
        sequence.extend(query);
        sequence.push(special.sep);
        document.push(special.sep);
        sequence.extend(document.iter().map(|id| id + self.classifier.vocabulary));
        (sequence, is_cut)
    }
}
