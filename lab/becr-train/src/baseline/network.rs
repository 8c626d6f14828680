//! Any of the baselines, for the loop and for ranking.

use super::bert::{self, Bert};
use super::cedr_knrm::{self, CedrKnrm};
use super::colbert::{self, Colbert};
use super::conv_knrm::{self, ConvKnrm};
use super::directory::Baseline;
use super::knrm::{self, Knrm};
use super::options::{BaselineConfig, BaselineKind};
use crate::TrainError;
use crate::batch::{Batch, Deep, Sequences};
use crate::learn::Scores;
use crate::model::{EncoderTensors, Learned, Parameter, Place, values};
use becr_model::Model;
use burn::tensor::{Tensor, backend::Backend};

/// A baseline on a device.
#[derive(Debug, Clone)]
pub(super) struct BaselineNetwork<B: Backend> {
    /// `None` for kinds that read words, and where it is frozen.
    encoder: Option<EncoderTensors<B>>,
    kind: KindNetwork<B>,
    place: Place<B>,
}

#[derive(Debug, Clone)]
enum KindNetwork<B: Backend> {
    Knrm(Knrm<B>),
    ConvKnrm(ConvKnrm<B>),
    Bert(Bert<B>),
    CedrKnrm(CedrKnrm<B>),
    Colbert(Colbert<B>),
}

/// The tensors that a baseline has beside its encoder: names and shapes. `words` is the shape of its table of vectors.
pub(super) fn shapes(
    config: &BaselineConfig,
    model: Option<&Model>,
    words: [usize; 2],
) -> Vec<(String, [usize; 2])> {
    let (dim, layers) = model.map_or((0, 0), |model| {
        (model.config.hidden_size, model.config.num_hidden_layers)
    });
    match config.kind {
        BaselineKind::Knrm => knrm::shapes(words),
        BaselineKind::ConvKnrm => conv_knrm::shapes(config, words),
        BaselineKind::Bert => bert::shapes(config, dim),
        BaselineKind::CedrKnrm => cedr_knrm::shapes(dim, layers),
        BaselineKind::Colbert => colbert::shapes(config, dim),
    }
}

impl<B: Backend> BaselineNetwork<B> {
    /// Uploads a baseline.
    pub(super) fn upload(baseline: &Baseline, place: &Place<B>) -> Result<Self, TrainError> {
        Ok(Self {
            encoder: baseline.encoder(place)?,
            ..Self::without_encoder(baseline, place)
        })
    }

    /// Uploads what a training needs. Where the encoder is frozen, batches bring what it made.
    pub(super) fn in_training(baseline: &Baseline, place: &Place<B>) -> Result<Self, TrainError> {
        match baseline.config.is_frozen() {
            true => Ok(Self::without_encoder(baseline, place)),
            false => Self::upload(baseline, place),
        }
    }

    /// Uploads what comes behind the encoder: for batches that bring features or hidden states.
    pub(super) fn without_encoder(baseline: &Baseline, place: &Place<B>) -> Self {
        let Baseline {
            config, tensors, ..
        } = baseline;
        Self {
            encoder: None,
            kind: match config.kind {
                BaselineKind::Knrm => KindNetwork::Knrm(Knrm::upload(config, tensors, place)),
                BaselineKind::ConvKnrm => {
                    KindNetwork::ConvKnrm(ConvKnrm::upload(config, tensors, place))
                }
                BaselineKind::Bert => KindNetwork::Bert(Bert::upload(config, tensors, place)),
                BaselineKind::CedrKnrm => KindNetwork::CedrKnrm(CedrKnrm::upload(tensors, place)),
                BaselineKind::Colbert => KindNetwork::Colbert(Colbert::upload(tensors, place)),
            },
            place: place.clone(),
        }
    }

    /// Takes what was learned over into the baseline it came from.
    pub(super) fn download(&mut self, baseline: &mut Baseline) {
        if let (Some(encoder), Some(model)) = (&self.encoder, &mut baseline.model) {
            encoder.download(&mut model.weights);
        }
        let tensors = &mut baseline.tensors;
        self.visit(&mut |parameter| {
            tensors.replace(parameter.name, values(parameter.value.clone()));
        });
    }

    /// The hidden states of sequences at the layers that are read, `[sequence · token, dim]` each.
    fn hidden(&self, sequences: &Sequences) -> Vec<Tensor<B, 2>> {
        let known = sequences.states.iter().map(|states| {
            let rows = sequences.ids.len();
            let shape = [rows, states.len() / rows];
            self.place.tensor(states.clone(), shape)
        });
        match &self.encoder {
            Some(encoder) => encoder.hidden(sequences, &self.place),
            None => known.collect(),
        }
    }

    /// What can be computed of documents before there is a query; nothing where both are read together.
    pub(super) fn documents(&self, batch: &Batch) -> Vec<Tensor<B, 3>> {
        match (&self.kind, &batch.deep) {
            (KindNetwork::Knrm(network), Deep::Words(pairs)) => vec![network.documents(pairs)],
            (KindNetwork::ConvKnrm(network), Deep::Words(pairs)) => network.documents(pairs),
            (KindNetwork::Colbert(network), Deep::Late(pairs)) => {
                let hidden = self.hidden(&pairs.documents).pop();
                let documents = hidden.map(|hidden| network.documents(pairs, hidden));
                documents.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// What the last layers of KNRM, BERT and CEDR-KNRM read, `[pair, feature]`.
    pub(super) fn features(
        &self,
        batch: &Batch,
        documents: &[Tensor<B, 3>],
    ) -> Option<Tensor<B, 2>> {
        match (&self.kind, &batch.deep, documents) {
            (_, Deep::Features(features), _) => {
                let pairs = batch.present.len();
                let shape = [pairs, features.len() / pairs];
                Some(self.place.tensor(features.clone(), shape))
            }
            (KindNetwork::Knrm(network), Deep::Words(pairs), [documents]) => {
                Some(network.features(pairs, documents.clone()))
            }
            (KindNetwork::Bert(network), Deep::Pieces(pairs), _) => {
                let last = self.hidden(&pairs.joined.sequences).pop()?;
                Some(network.features(pairs, &last))
            }
            (KindNetwork::CedrKnrm(network), Deep::Pieces(pairs), _) => {
                let hidden = self.hidden(&pairs.joined.sequences);
                Some(network.features(pairs, &hidden))
            }
            _ => None,
        }
    }

    /// The scores of a batch with what [`documents`](Self::documents) made of it.
    pub(super) fn scores_with(&self, batch: &Batch, documents: &[Tensor<B, 3>]) -> Tensor<B, 2> {
        let shape = [batch.queries(), batch.candidates];
        let features = self.features(batch, documents);
        let scores = match (&self.kind, &batch.deep, documents, features) {
            (KindNetwork::Knrm(network), .., Some(features)) => Some(network.scores(features)),
            (KindNetwork::Bert(network), .., Some(features)) => Some(network.scores(features)),
            (KindNetwork::CedrKnrm(network), .., Some(features)) => Some(network.scores(features)),
            (KindNetwork::ConvKnrm(network), Deep::Words(pairs), ..) => {
                Some(network.scores(pairs, documents))
            }
            (KindNetwork::Colbert(network), Deep::Late(pairs), [documents], _) => {
                let hidden = self.hidden(&pairs.queries).pop();
                hidden.map(|hidden| network.scores(pairs, hidden, documents.clone()))
            }
            _ => None,
        };
        // A reader makes the batches of its own kind.
        let scores = scores.unwrap_or_else(|| self.place.zeros(shape));
        scores.reshape(shape)
    }
}

impl<B: Backend> Scores<B> for BaselineNetwork<B> {
    fn scores(&self, batch: &Batch) -> Tensor<B, 2> {
        self.scores_with(batch, &self.documents(batch))
    }
}

impl<B: Backend> Learned<B> for BaselineNetwork<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        if let Some(encoder) = &mut self.encoder {
            encoder.visit(show);
        }
        match &mut self.kind {
            KindNetwork::Knrm(network) => network.visit(show),
            KindNetwork::ConvKnrm(network) => network.visit(show),
            KindNetwork::Bert(network) => network.visit(show),
            KindNetwork::CedrKnrm(network) => network.visit(show),
            KindNetwork::Colbert(network) => network.visit(show),
        }
    }
}
