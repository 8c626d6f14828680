//! Which hidden states a baseline reads, and the encoder that gives them.

use super::directory::Baseline;
use super::options::BaselineKind;
use crate::TrainError;
use crate::model::{EncoderTensors, Place};
use becr_encoder::Shape;
use becr_model::{Config, Layers, Model, Settings, Similarity};
use burn::tensor::backend::Backend;

impl BaselineKind {
    /// Whether query and document go through the encoder in one sequence, told apart by token types.
    pub(super) fn joins(self) -> bool {
        matches!(self, Self::Bert | Self::CedrKnrm)
    }

    /// The encoder's configuration, with the layers that are needed and vectors as they are.
    pub(super) fn reads(self, config: &Config) -> Config {
        let layers = match self {
            Self::CedrKnrm => Layers::All,
            _ => Layers::Last,
        };
        Config {
            becr: Some(Settings {
                layers,
                bits: None,
                relative: false,
                ..Settings::default()
            }),
            ..config.clone()
        }
    }
}

impl Baseline {
    /// The encoder's model; an error for a kind that needs one and has none.
    pub(super) fn encoder_model(&self) -> Result<&Model, TrainError> {
        self.model.as_ref().ok_or_else(|| {
            let problem = format!("{} needs an encoder, and there is none", self.config.kind);
            TrainError::option("kind", problem)
        })
    }

    /// The encoder on a device; `None` for a kind that reads words.
    pub(super) fn encoder<B: Backend>(
        &self,
        place: &Place<B>,
    ) -> Result<Option<EncoderTensors<B>>, TrainError> {
        let kind = self.config.kind;
        if kind.reads_words() {
            return Ok(None);
        }
        let model = self.encoder_model()?;
        let config = kind.reads(&model.config);
        let shape = Shape::new(&config)?;
        let weights = &model.weights;
        let encoder =
            EncoderTensors::upload(&config, weights, shape, Similarity::default(), 0.0, place);
        Ok(Some(match kind.joins() {
            true => encoder.with_second_type(weights, place),
            false => encoder,
        }))
    }
}
