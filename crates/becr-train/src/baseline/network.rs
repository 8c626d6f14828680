//! Any of the baselines, for the loop and for ranking.

use super::bert::{self, Bert};
use super::cedr_knrm::{self, CedrKnrm};
use super::colbert::{self, Colbert};
use super::conv_knrm::{self, ConvKnrm};
use super::directory::Baseline;
use super::knrm::{self, Knrm};
use super::options::{BaselineConfig, BaselineKind};
use crate::TrainError;
use crate::batch::{Batch, Deep};
use crate::learn::Scores;
use crate::model::{EncoderTensors, Learned, Parameter, Place, values};
use becr_encoder::Shape;
use becr_model::{Layers, Model, Settings, Similarity};
use burn::tensor::{Tensor, backend::Backend};

/// A baseline on a device.
#[derive(Debug, Clone)]
pub(super) struct BaselineNetwork<B: Backend> {
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
        let Baseline {
            config,
            tensors,
            model,
            ..
        } = baseline;
        let encoder = |layers: Layers, types: bool| match model {
            Some(model) => encoder(model, layers, types, place),
            None => Err(TrainError::option(
                "kind",
                format!("{} needs an encoder, and there is none", config.kind),
            )),
        };
        let kind = match config.kind {
            BaselineKind::Knrm => KindNetwork::Knrm(Knrm::upload(config, tensors, place)),
            BaselineKind::ConvKnrm => {
                KindNetwork::ConvKnrm(ConvKnrm::upload(config, tensors, place))
            }
            BaselineKind::Bert => {
                let encoder = encoder(Layers::Last, true)?;
                KindNetwork::Bert(Bert::upload(config, tensors, encoder, place))
            }
            BaselineKind::CedrKnrm => {
                let encoder = encoder(Layers::All, true)?;
                KindNetwork::CedrKnrm(CedrKnrm::upload(tensors, encoder, place))
            }
            BaselineKind::Colbert => {
                let encoder = encoder(Layers::Last, false)?;
                KindNetwork::Colbert(Colbert::upload(tensors, encoder, place))
            }
        };
        Ok(Self {
            kind,
            place: place.clone(),
        })
    }

    /// Takes what was learned over into the baseline it came from.
    pub(super) fn download(&mut self, baseline: &mut Baseline) {
        let encoder = match &self.kind {
            KindNetwork::Knrm(_) | KindNetwork::ConvKnrm(_) => None,
            KindNetwork::Bert(network) => Some(&network.encoder),
            KindNetwork::CedrKnrm(network) => Some(&network.encoder),
            KindNetwork::Colbert(network) => Some(&network.encoder),
        };
        if let (Some(encoder), Some(model)) = (encoder, &mut baseline.model) {
            encoder.download(&mut model.weights);
        }
        let tensors = &mut baseline.tensors;
        self.visit(&mut |parameter| {
            tensors.replace(parameter.name, values(parameter.value.clone()));
        });
    }
}

/// The encoder with the layers that are needed, vectors as they are.
fn encoder<B: Backend>(
    model: &Model,
    layers: Layers,
    types: bool,
    place: &Place<B>,
) -> Result<EncoderTensors<B>, TrainError> {
    let mut config = model.config.clone();
    config.becr = Some(Settings {
        layers,
        bits: None,
        relative: false,
        ..Settings::default()
    });
    let shape = Shape::new(&config)?;
    let weights = &model.weights;
    let encoder =
        EncoderTensors::upload(&config, weights, shape, Similarity::default(), 0.0, place);
    Ok(match types {
        true => encoder.with_second_type(weights, place),
        false => encoder,
    })
}

impl<B: Backend> BaselineNetwork<B> {
    /// What can be computed of documents before there is a query; nothing where both are read together.
    pub(super) fn documents(&self, batch: &Batch) -> Vec<Tensor<B, 3>> {
        match (&self.kind, &batch.deep) {
            (KindNetwork::Knrm(network), Deep::Words(pairs)) => vec![network.documents(pairs)],
            (KindNetwork::ConvKnrm(network), Deep::Words(pairs)) => network.documents(pairs),
            (KindNetwork::Colbert(network), Deep::Late(pairs)) => vec![network.documents(pairs)],
            _ => Vec::new(),
        }
    }

    /// The scores of a batch with what [`documents`](Self::documents) made of it.
    pub(super) fn scores_with(&self, batch: &Batch, documents: &[Tensor<B, 3>]) -> Tensor<B, 2> {
        let shape = [batch.queries(), batch.candidates];
        let scores = match (&self.kind, &batch.deep, documents) {
            (KindNetwork::Knrm(network), Deep::Words(pairs), [documents]) => {
                network.scores(pairs, documents.clone())
            }
            (KindNetwork::ConvKnrm(network), Deep::Words(pairs), _) => {
                network.scores(pairs, documents)
            }
            (KindNetwork::Bert(network), Deep::Pieces(pairs), _) => network.scores(pairs),
            (KindNetwork::CedrKnrm(network), Deep::Pieces(pairs), _) => network.scores(pairs),
            (KindNetwork::Colbert(network), Deep::Late(pairs), [documents]) => {
                network.scores(pairs, documents.clone())
            }
            // A reader makes the batches of its own kind.
            _ => self.place.zeros(shape),
        };
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
        match &mut self.kind {
            KindNetwork::Knrm(network) => network.visit(show),
            KindNetwork::ConvKnrm(network) => network.visit(show),
            KindNetwork::Bert(network) => network.visit(show),
            KindNetwork::CedrKnrm(network) => network.visit(show),
            KindNetwork::Colbert(network) => network.visit(show),
        }
    }
}
