//! The encoder in training: from sequences to the similarities of query terms and document tokens.

use super::head::{HeadTensors, Similarities};
use super::parameter::{Group, Learned, Parameter};
use super::place::Place;
use super::vanilla::mean_of_pieces;
use crate::batch::{Sequences, Texts};
use crate::random::Random;
use becr_encoder::{Centre, Shape};
use becr_encoder_burn::{Input, MASKED, Parameters, Purpose};
use becr_model::{Config, Similarity, Weights};
use burn::tensor::{Int, Tensor, TensorData, backend::Backend};
use rayon::prelude::*;

/// Keeps the length of a vector from being 0.
const LEAST_SQUARE: f64 = 1e-12;

/// Keeps the slope of the noise finite where a cosine is 1.
const NOISE_GUARD: f64 = 0.01;

/// BERT, and what of it is kept.
#[derive(Debug, Clone)]
pub(crate) struct EncoderTensors<B: Backend> {
    parameters: Parameters<B>,
    /// What is subtracted from the vectors of documents and of token groups at each kept layer, `[1, dim]`; nothing
    /// without centres. They stay as they are.
    documents: Vec<Tensor<B, 2>>,
    groups: Vec<Tensor<B, 2>>,
    /// The hidden states that are kept, ascending.
    kept: Vec<usize>,
    similarity: Similarity,
    noise: f32,
}

impl<B: Backend> EncoderTensors<B> {
    /// Uploads the layers that are needed for the hidden states that `shape` keeps.
    pub(crate) fn upload(
        config: &Config,
        weights: &Weights,
        shape: Shape,
        similarity: Similarity,
        noise: f32,
        place: &Place<B>,
    ) -> Self {
        let depth = shape.layers.last().copied().unwrap_or(0);
        let to = (&place.device, place.dtype);
        let rows = |centre: Centre| {
            let rows = centre.rows(weights.centres.as_ref(), &shape).into_iter();
            rows.map(|row| place.tensor(row.to_vec(), [1, row.len()]))
                .collect()
        };
        Self {
            parameters: Parameters::upload(config, weights, depth, Purpose::Training, to),
            documents: rows(Centre::Documents),
            groups: rows(Centre::Groups),
            kept: shape.layers,
            similarity,
            noise,
        }
    }

    /// Knows token type 1, for sequences of a query and a document.
    pub(crate) fn with_second_type(mut self, weights: &Weights, place: &Place<B>) -> Self {
        let to = (&place.device, place.dtype);
        self.parameters = self.parameters.with_second_type(weights, to);
        self
    }

    /// Takes the values over into the weights they came from.
    pub(crate) fn download(&self, weights: &mut Weights) {
        self.parameters.download(weights);
    }

    /// The kept hidden states, `[sequence · token, dim]` each.
    pub(crate) fn hidden(&self, sequences: &Sequences, place: &Place<B>) -> Vec<Tensor<B, 2>> {
        let (rows, length) = (sequences.tokens.len(), sequences.length);
        let mut mask = vec![0.0; rows * length];
        for (mask, &tokens) in mask.chunks_exact_mut(length).zip(&sequences.tokens) {
            // A row of padding alone attends to all of its nothing, which keeps it finite.
            if tokens > 0 {
                mask[tokens..].fill(MASKED);
            }
        }
        let mut second = vec![0.0; rows * length];
        for (row, &start) in second.chunks_exact_mut(length).zip(&sequences.second) {
            row[start.min(length)..].fill(1.0);
        }
        let ids = TensorData::new(sequences.ids.clone(), [rows, length]);
        let input = Input {
            ids: Tensor::<B, 2, Int>::from_data(ids, &place.device),
            mask: place.tensor(mask, [rows, 1, 1, length]),
            positions: None,
            second: (!sequences.second.is_empty())
                .then(|| place.tensor(second, [rows * length, 1])),
        };
        let mut kept = Vec::new();
        self.parameters.forward(input, |layer, hidden| {
            if self.kept.contains(&layer) {
                kept.push(hidden.clone());
            }
        });
        kept
    }

    /// Similarities of terms and tokens, and the documents' `[CLS]` vectors, `[query · candidate, dim]`.
    pub(crate) fn compare(
        &self,
        head: &HeadTensors<B>,
        batch: &Texts,
        queries: usize,
        candidates: usize,
        place: &Place<B>,
    ) -> (Similarities<B>, Tensor<B, 2>) {
        let composition = head.composition(&batch.terms, queries, place);
        let groups = self.hidden(&batch.groups, place);
        let documents = self.hidden(&batch.documents, place);
        let documents: Vec<_> = (documents.into_iter().enumerate())
            .map(|(layer, hidden)| self.centred(hidden, Centre::Documents, layer))
            .collect();
        let dim = documents[0].dims()[1];
        let cls = first_tokens(&documents[documents.len() - 1], &batch.documents);
        let (cls, length, documents) = match &batch.split {
            None => (cls, batch.documents.length, documents),
            Some(split) => {
                let rows = |hidden: &Tensor<B, 2>| {
                    let picked = split.tokens.pick(hidden, place);
                    let [documents, length, dim] = picked.dims();
                    picked.reshape([documents * length, dim])
                };
                let cls = mean_of_pieces(&split.shares, cls, place);
                let picked = documents.iter().map(rows).collect();
                (cls, split.tokens.length, picked)
            }
        };
        let mut similarities = Vec::new();
        let mut last_terms = None;
        for (layer, (groups, documents)) in groups.iter().zip(&documents).enumerate() {
            let terms = self.terms(groups, layer, batch, composition.clone(), place);
            let tokens = unit(documents.clone()).reshape([queries, candidates * length, dim]);
            let cosines = terms.clone().matmul(tokens.swap_dims(1, 2));
            similarities.push(self.noisy(cosines, batch.noise, layer, place));
            last_terms = Some(terms);
        }
        let last = &documents[documents.len() - 1];
        let means = means(last, &batch.valid, queries * candidates, place)
            .reshape([queries, candidates, dim]);
        let found = Similarities {
            tokens: Tensor::cat(similarities, 2),
            valid: place.tensor(batch.valid.clone(), [queries, 1, candidates * length]),
            means: last_terms.map_or_else(
                || place.zeros([queries, batch.terms.terms, candidates]),
                |terms| terms.matmul(means.swap_dims(1, 2)),
            ),
            comparable: batch
                .terms
                .comparable(&batch.valid, candidates, length, place),
            weights: place.tensor(batch.terms.weights.clone(), [queries, batch.terms.terms]),
        };
        (found, cls)
    }

    /// The composed vectors of query terms, `[query, term, dim]`: their product with a unit vector is the similarity.
    fn terms(
        &self,
        hidden: &Tensor<B, 2>,
        layer: usize,
        batch: &Texts,
        composition: Tensor<B, 3>,
        place: &Place<B>,
    ) -> Tensor<B, 3> {
        let [queries, terms, groups] = composition.dims();
        let dim = hidden.dims()[1];
        let pieces = hidden
            .clone()
            .select(0, place.indices(batch.places.clone()));
        let weights = place.tensor(
            batch.piece_weights.clone(),
            [queries * groups, batch.pieces, 1],
        );
        let vectors = pieces.reshape([queries * groups, batch.pieces, dim]) * weights;
        let vectors = vectors.sum_dim(1).reshape([queries * groups, dim]);
        let vectors = self.centred(vectors, batch.centre, layer);
        match self.similarity {
            Similarity::SumOfCosines => {
                composition.matmul(unit(vectors).reshape([queries, groups, dim]))
            }
            Similarity::CosineOfSum => {
                let sums = composition.matmul(vectors.reshape([queries, groups, dim]));
                unit(sums.reshape([queries * terms, dim])).reshape([queries, terms, dim])
            }
        }
    }

    /// Vectors at the `layer`-th kept layer, seen from a centre.
    fn centred(&self, vectors: Tensor<B, 2>, centre: Centre, layer: usize) -> Tensor<B, 2> {
        let centres = match centre {
            Centre::Documents => &self.documents,
            Centre::Groups => &self.groups,
        };
        match centres.get(layer) {
            Some(centre) => vectors - centre.clone(),
            None => vectors,
        }
    }

    /// Adds noise as footprints would: the less, the closer two vectors are.
    fn noisy(
        &self,
        cosines: Tensor<B, 3>,
        seed: Option<u64>,
        layer: usize,
        place: &Place<B>,
    ) -> Tensor<B, 3> {
        let Some(seed) = seed.filter(|_| self.noise > 0.0) else {
            return cosines;
        };
        let shape = cosines.dims();
        // Each query has its own numbers, so that they are drawn on all cores: a GPU waits for them.
        let (noise, count) = (self.noise, shape[1] * shape[2]);
        let of_query = |query: usize| {
            let mut random = Random::new(seed, &[layer as u64, query as u64]);
            (0..count).map(move |_| noise * random.normal())
        };
        let normal = (0..shape[0]).into_par_iter().flat_map_iter(of_query);
        let normal = place.tensor(normal.collect(), shape);
        let spread = (cosines.clone().square().neg() + (1.0 + NOISE_GUARD)).clamp_min(NOISE_GUARD);
        cosines + spread.sqrt() * normal
    }
}

/// Rows scaled to length 1.
pub(crate) fn unit<B: Backend>(vectors: Tensor<B, 2>) -> Tensor<B, 2> {
    let squares = vectors.clone().square().sum_dim(1).add_scalar(LEAST_SQUARE);
    vectors / squares.sqrt()
}

/// The vectors of the first token of every sequence.
pub(crate) fn first_tokens<B: Backend>(
    hidden: &Tensor<B, 2>,
    sequences: &Sequences,
) -> Tensor<B, 2> {
    let [_, dim] = hidden.dims();
    let rows = sequences.tokens.len();
    let hidden = hidden.clone().reshape([rows, sequences.length, dim]);
    hidden.narrow(1, 0, 1).reshape([rows, dim])
}

/// The directions of the documents' mean vectors, `[document, dim]`.
fn means<B: Backend>(
    hidden: &Tensor<B, 2>,
    valid: &[f32],
    documents: usize,
    place: &Place<B>,
) -> Tensor<B, 2> {
    let [_, dim] = hidden.dims();
    let length = valid.len() / documents;
    let valid = place.tensor(valid.to_vec(), [documents, length, 1]);
    let tokens = hidden.clone().reshape([documents, length, dim]) * valid;
    unit(tokens.sum_dim(1).reshape([documents, dim]))
}

impl<B: Backend> Learned<B> for EncoderTensors<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.parameters.visit(&mut |name, value| {
            show(Parameter {
                name,
                group: Group::Encoder,
                decays: value.dims()[0] > 1,
                least: None,
                value,
            });
        });
    }
}
