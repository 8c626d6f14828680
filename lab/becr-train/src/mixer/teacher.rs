//! On the device: the encoder's vectors of words in their context, the targets, and of words alone, the input.

use super::pack::{Packed, Packer, SLOTS, TOKENS};
use super::texts::Texts;
use crate::TrainError;
use crate::model::Place;
use becr_encoder::{Centre, Shape};
use becr_encoder_burn::{Input, MASKED, MixerInput, MixerLayout, Parameters, Purpose};
use becr_footprint::{pack, unpack};
use becr_model::Model;
use burn::tensor::{Bool, DType, Int, Tensor, TensorData, backend::Backend};
use rayon::prelude::*;

/// Keeps the length of a vector from being 0.
pub(super) const LEAST_SQUARE: f64 = 1e-12;

/// The frozen encoder.
pub(super) struct Teacher<B: Backend> {
    parameters: Parameters<B>,
    /// What is subtracted from vectors of documents and of groups, `1 × dim`.
    documents: Tensor<B, 2>,
    groups: Tensor<B, 2>,
    place: Place<B>,
    dtype: DType,
    dim: usize,
    depth: usize,
    most_tokens: usize,
}

/// Vectors that the device computes, and the numbers and slots of the words that they are of.
type Pooled<B> = (Tensor<B, 2>, Vec<(usize, usize)>);

/// How much cosines count.
#[derive(Clone, Copy)]
pub(super) struct Weights {
    /// The mean over all queries, beside that over all words.
    pub(super) query: f64,
    /// A stop word, beside another word.
    pub(super) stop: f64,
}

/// What a step of the mixer takes.
pub(crate) struct MixerTensors<B: Backend> {
    pub(crate) input: MixerInput<B>,
    /// Unit vectors, `(rows · slots) × dim`.
    pub(crate) targets: Tensor<B, 2>,
    /// `rows × slots × 2`: how much the cosine of a slot counts as a word and as a query.
    pub(crate) weights: Tensor<B, 3>,
}

impl<B: Backend> Teacher<B> {
    pub(super) fn new(model: &Model, half: bool, device: &B::Device) -> Result<Self, TrainError> {
        let shape = Shape::new(&model.config)?;
        let dtype = if half { DType::F16 } else { DType::F32 };
        let place = Place::single(device.clone());
        let depth = shape.layers.last().copied().unwrap_or(0);
        let centre = |centre: Centre| {
            let rows = centre.rows(model.weights.centres.as_ref(), &shape);
            let row = rows.last().map_or(vec![0.0; shape.dim], |row| row.to_vec());
            place.tensor(row, [1, shape.dim])
        };
        Ok(Self {
            parameters: Parameters::upload(
                &model.config,
                &model.weights,
                depth,
                Purpose::Inference,
                (device, dtype),
            ),
            documents: centre(Centre::Documents),
            groups: centre(Centre::Groups),
            place: place.clone(),
            dtype,
            dim: shape.dim,
            depth,
            most_tokens: shape.max_tokens,
        })
    }

    /// The vectors of words, each read by itself and packed into four bits as token groups are; number 0 has zeros.
    pub(super) fn words(
        &self,
        texts: &Texts,
        rows: usize,
        mut progress: impl FnMut(usize, usize),
    ) -> Vec<f32> {
        let all = texts.distinct();
        let mut values = vec![0.0; all * self.dim];
        let mut waiting: Option<Pooled<B>> = None;
        let mut word = 1;
        while word < all || waiting.is_some() {
            let mut packer = Packer::new(texts, rows);
            let mut places = Vec::new();
            while word < all
                && let Some(slot) = packer.add(&[word as u32])
            {
                places.push((word, slot + 1));
                word += 1;
            }
            let next = match places.is_empty() {
                true => None,
                false => {
                    let packed = packer.finish();
                    let pooled = self.pooled(&packed, self.hidden(&packed, self.depth));
                    let pooled = pooled - self.groups.clone();
                    Some((pooled, places))
                }
            };
            // The device computes the next part while this one is packed.
            if let Some((pooled, places)) = std::mem::replace(&mut waiting, next) {
                let pooled: Vec<f32> = pooled.into_data().iter::<f32>().collect();
                let first = places[0].0;
                let to = &mut values[first * self.dim..][..places.len() * self.dim];
                to.par_chunks_exact_mut(self.dim)
                    .zip(&places)
                    .for_each(|(to, (_, slot))| {
                        unpack(pack(&pooled[slot * self.dim..][..self.dim]), to);
                    });
                progress(first + places.len(), all);
            }
        }
        values
    }

    /// The states of the first words, each read by itself, after a layer; and the mean state of `[CLS]` beside them.
    pub(super) fn states(
        &self,
        texts: &Texts,
        rows: usize,
        layer: usize,
        most: usize,
    ) -> (Vec<f32>, Vec<f32>) {
        let last = texts.distinct().min(most + 1);
        let (mut states, mut cls) = (Vec::new(), vec![0.0f64; self.dim]);
        let mut word = 1;
        while word < last {
            let mut packer = Packer::new(texts, rows);
            let mut slots = Vec::new();
            while word < last
                && let Some(slot) = packer.add(&[word as u32])
            {
                slots.push(slot + 1);
                word += 1;
            }
            let packed = packer.finish();
            let hidden = self.hidden(&packed, layer);
            let firsts = self.place.indices(packed.first_tokens());
            let firsts = hidden.clone().select(0, firsts).into_data();
            let firsts: Vec<f32> = firsts.iter::<f32>().collect();
            for row in firsts.chunks_exact(self.dim) {
                cls.iter_mut()
                    .zip(row)
                    .for_each(|(sum, x)| *sum += f64::from(*x));
            }
            let pooled: Vec<f32> = self
                .pooled(&packed, hidden)
                .into_data()
                .iter::<f32>()
                .collect();
            for slot in slots {
                states.extend_from_slice(&pooled[slot * self.dim..][..self.dim]);
            }
        }
        let count = (last.max(2) - 1) as f64;
        (states, cls.iter().map(|sum| (sum / count) as f32).collect())
    }

    /// Unit vectors of documents, of the beginning that a row has room for: a query's vector is compared with such.
    pub(super) fn documents(&self, texts: &Texts, rows: usize, most: usize) -> Tensor<B, 2> {
        let count = texts.documents.len().max(1);
        let wanted = most.min(count);
        // From all over: texts of one source follow each other.
        let numbers: Vec<usize> = (0..wanted).map(|n| n * count / wanted).collect();
        let parts = numbers.chunks(rows).map(|numbers| {
            let mut packer = Packer::new(texts, rows);
            let slots = numbers.iter().filter_map(|&number| {
                let text = texts.documents.text(number);
                packer.add(&text[..self.fitting(texts, text)])
            });
            let slots: Vec<i32> = slots.map(|slot| slot as i32).collect();
            let packed = packer.finish();
            let pooled = self.pooled(&packed, self.hidden(&packed, self.depth));
            let pooled = pooled.select(0, self.place.indices(slots));
            unit(pooled - self.documents.clone())
        });
        Tensor::cat(parts.collect(), 0)
    }

    /// The first words of a text that the encoder has positions for.
    fn fitting(&self, texts: &Texts, text: &[u32]) -> usize {
        let mut pieces = 2;
        let fits = |word: &&u32| {
            pieces += texts.pieces(**word).len();
            pieces <= self.most_tokens
        };
        text.iter().take_while(fits).count()
    }

    /// The vectors of all slots, as targets are before they are scaled.
    pub(super) fn vectors(&self, packed: &Packed) -> Vec<f32> {
        let pooled = self.pooled(packed, self.hidden(packed, self.depth));
        let vectors = pooled - self.documents.clone();
        vectors.into_data().iter::<f32>().collect()
    }

    /// What a step takes.
    pub(super) fn tensors(
        &self,
        packed: &Packed,
        table: &Tensor<B, 2>,
        layout: &MixerLayout,
        weights: Weights,
    ) -> MixerTensors<B> {
        let (rows, place) = (packed.rows, &self.place);
        let targets = self.pooled(packed, self.hidden(packed, self.depth)) - self.documents.clone();
        let words = table.clone().select(0, place.indices(packed.words.clone()));
        let sequences = self.ints(&packed.slot_sequences, [rows, SLOTS, 1]);
        let within = sequences.clone().equal(sequences.swap_dims(1, 2));
        let share = |&words: &usize| match words {
            0 => 0.0,
            words => 1.0 / layout.sharers(words) as f32,
        };
        let shares = packed.query_words.iter().map(share).collect();
        let shares = place.tensor(shares, [rows, SLOTS, 1]);
        MixerTensors {
            input: MixerInput {
                words: words.reshape([rows, SLOTS, self.dim]),
                places: place.tensor(places(packed, layout), [rows * SLOTS, layout.places()]),
                mask: masked(within.clone()).reshape([rows, 1, SLOTS, SLOTS]),
                means: within.float() * shares,
            },
            targets: unit(targets),
            weights: place.tensor(weights.of(packed), [rows, SLOTS, 2]),
        }
    }

    /// The states of all tokens after a layer.
    fn hidden(&self, packed: &Packed, layer: usize) -> Tensor<B, 2> {
        let rows = packed.rows;
        let sequences = self.ints(&packed.sequences, [rows, TOKENS, 1]);
        let within = sequences.clone().equal(sequences.swap_dims(1, 2));
        let mask = masked(within).reshape([rows, 1, TOKENS, TOKENS]);
        let input = Input {
            ids: self.ints(&packed.ids, [rows, TOKENS]),
            mask: match self.dtype {
                DType::F32 => mask,
                narrow => mask.cast(narrow),
            },
            positions: Some(self.place.indices(packed.positions.clone())),
            second: None,
        };
        let mut wanted = None;
        self.parameters.forward(input, |number, hidden| {
            if number == layer {
                wanted = Some(hidden.clone());
            }
        });
        let hidden = wanted.expect("the layer is not behind the last one");
        match self.dtype {
            DType::F32 => hidden,
            _ => hidden.cast(DType::F32),
        }
    }

    /// For every slot, the mean of its tokens' vectors: of a word's pieces, of all tokens of a query.
    fn pooled(&self, packed: &Packed, hidden: Tensor<B, 2>) -> Tensor<B, 2> {
        let rows = packed.rows;
        let slots = Tensor::<B, 1, Int>::arange(0..SLOTS as i64, &self.place.device);
        let slots = slots.reshape([1, SLOTS, 1]);
        let shares = |of: &[i32], shares: &[f32]| {
            let of = self.ints(of, [rows, 1, TOKENS]);
            let shares = self.place.tensor(shares.to_vec(), [rows, 1, TOKENS]);
            of.equal(slots.clone()).float() * shares
        };
        let pool = shares(&packed.word_slots, &packed.word_shares)
            + shares(&packed.query_slots, &packed.query_shares);
        let hidden = hidden.reshape([rows, TOKENS, self.dim]);
        pool.matmul(hidden).reshape([rows * SLOTS, self.dim])
    }

    fn ints<const D: usize>(&self, values: &[i32], shape: [usize; D]) -> Tensor<B, D, Int> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), &self.place.device)
    }
}

/// 0 where something is seen, [`MASKED`] elsewhere.
fn masked<B: Backend>(within: Tensor<B, 3, Bool>) -> Tensor<B, 3> {
    within.float().sub_scalar(1.0).mul_scalar(-MASKED)
}

/// Rows scaled to length 1.
pub(super) fn unit<B: Backend>(vectors: Tensor<B, 2>) -> Tensor<B, 2> {
    let squares = vectors.clone().square().sum_dim(1).add_scalar(LEAST_SQUARE);
    vectors / squares.sqrt()
}

/// The matrix of places, see [`MixerInput::places`].
fn places(packed: &Packed, layout: &MixerLayout) -> Vec<f32> {
    let (columns, positions) = (layout.places(), layout.positions());
    let mut places = vec![0.0; packed.places.len() * columns];
    for (row, place) in places.chunks_exact_mut(columns).zip(&packed.places) {
        match place {
            None => {}
            Some(None) => row[positions] = 1.0,
            Some(Some(place)) => {
                row[(*place).min(positions - 1)] = 1.0;
                row[positions + 1] = 1.0;
            }
        }
    }
    places
}

impl Weights {
    /// Of the slots of a batch, as words and as queries.
    fn of(self, packed: &Packed) -> Vec<f32> {
        let word = |stop: bool| if stop { self.stop } else { 1.0 };
        let all: f64 = packed
            .places
            .iter()
            .zip(&packed.stop)
            .filter(|(place, _)| matches!(place, Some(Some(_))))
            .map(|(_, &stop)| word(stop))
            .sum();
        let query = self.query / packed.queries.max(1) as f64;
        let slots = packed.places.iter().zip(&packed.stop);
        let of = |(place, &stop): (&Option<Option<usize>>, &bool)| match place {
            None => [0.0, 0.0],
            Some(None) => [0.0, query as f32],
            Some(Some(_)) => [(word(stop) / all.max(f64::MIN_POSITIVE)) as f32, 0.0],
        };
        slots.flat_map(of).collect()
    }
}
