//! What no step changes is computed once.
//!
//! With a frozen encoder, or with fixed word vectors, a query and a document give the same numbers in every step, up to the
//! layers that learn. These numbers are computed when they are first asked for, and kept in memory for the steps, validations
//! and folds to come:
//!
//! | model | what is kept | of each |
//! |---|---|---|
//! | KNRM | φ | pair of a query and a document |
//! | BERT | CLS | pair of a query and a document |
//! | CEDR-KNRM | \[φ; CLS\] | pair of a query and a document |
//! | ColBERT | hidden states of the last layer, before the projection | query and document |
//!
//! CONV-KNRM learns its convolutions, which stand at its very beginning: nothing of it is kept.

mod features;
mod native;
mod states;

use super::directory::Baseline;
use super::network::BaselineNetwork;
use super::options::BaselineKind;
use super::source::BaselineSource;
use crate::batch::{Batch, Sequences};
use crate::learn::{Picked, Source};
use crate::model::{EncoderTensors, Place, values};
use crate::{Device, TrainError};
use burn::tensor::backend::Backend;
use features::Features;
use native::NativeStates;
use states::States;

/// Pairs or sequences that are computed together: enough for products of matrices, few enough for every core to have some.
const TOGETHER: usize = 16;

/// What was computed so far.
#[derive(Default)]
pub(in crate::baseline) struct Known {
    features: Features,
    states: States,
}

/// What is not learned of a baseline.
pub(in crate::baseline) struct Frozen<'a, B: Backend> {
    parts: FrozenParts<B>,
    kind: BaselineKind,
    known: &'a Known,
}

struct FrozenParts<B: Backend> {
    encoder: FrozenEncoder<B>,
    /// Makes features of hidden states or words; its last layers are not used.
    network: BaselineNetwork<B>,
}

enum FrozenEncoder<B: Backend> {
    /// KNRM has none.
    Nothing,
    Native(Box<NativeStates>),
    Burn(Box<EncoderTensors<B>>, Place<B>),
}

impl<'a, B: Backend> Frozen<'a, B> {
    pub(in crate::baseline) fn new(
        baseline: &Baseline,
        device: Device,
        place: &Place<B>,
        known: &'a Known,
    ) -> Result<Self, TrainError> {
        let kind = baseline.config.kind;
        // Our own code for CPUs takes a fraction of burn's time, but has no tokens that are attended to by none, which
        // ColBERT's [MASK] are.
        let encoder = match (kind.joins(), device) {
            (true, Device::Cpu) => FrozenEncoder::Native(Box::new(NativeStates::new(baseline)?)),
            _ => match baseline.encoder(place)? {
                Some(encoder) => FrozenEncoder::Burn(Box::new(encoder), place.clone()),
                None => FrozenEncoder::Nothing,
            },
        };
        let network = BaselineNetwork::without_encoder(baseline, place);
        Ok(Self {
            parts: FrozenParts { encoder, network },
            kind,
            known,
        })
    }
}

impl<B: Backend> FrozenEncoder<B> {
    /// `[layer][sequence][token][dim]`.
    fn states(&self, sequences: &Sequences) -> Result<Vec<Vec<f32>>, TrainError> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Native(encoder) => encoder.states(sequences),
            Self::Burn(encoder, place) => {
                let hidden = encoder.hidden(sequences, place).into_iter();
                Ok(hidden.map(values).collect())
            }
        }
    }
}

/// Batches with what is known in the place of texts.
pub(in crate::baseline) struct FrozenSource<'a, B: Backend> {
    pub(in crate::baseline) texts: BaselineSource<'a>,
    pub(in crate::baseline) frozen: &'a Frozen<'a, B>,
}

impl<B: Backend> Source for FrozenSource<'_, B> {
    fn batch(
        &self,
        picked: &[Picked],
        candidates: usize,
        pass: usize,
    ) -> Result<Batch, TrainError> {
        let Frozen { parts, kind, known } = self.frozen;
        match kind {
            BaselineKind::Colbert => {
                let batch = self.texts.batch(picked, candidates, pass)?;
                known.states.recall(batch, parts)
            }
            _ => known
                .features
                .recall(&self.texts, picked, candidates, parts),
        }
    }
}
