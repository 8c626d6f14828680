//! The head on a device: everything of BECR but the encoder.

use super::bins;
use super::kernels::gaussian;
use super::parameter::{Group, Learned, Parameter};
use super::place::Place;
use crate::ModelOptions;
use crate::batch::{Histograms, Pooled, Terms};
use becr_model::Head;
use burn::tensor::{IndexingUpdateOp, Tensor, backend::Backend};

/// Composed similarities of query terms and document tokens.
pub(crate) struct Similarities<B: Backend> {
    /// `[query, term, layer · candidate · token]`.
    pub(crate) tokens: Tensor<B, 3>,
    /// `[query, 1, candidate · token]`: 1 for a token, 0 for padding.
    pub(crate) valid: Tensor<B, 3>,
    /// `[query, term, candidate]`: to the document's mean vector.
    pub(crate) means: Tensor<B, 3>,
    /// `[query · candidate, 1]`: 1 where there is a mean vector and a term to compare it with, else 0.
    pub(crate) comparable: Tensor<B, 2>,
    /// `[query, term]`: ω.
    pub(crate) weights: Tensor<B, 2>,
}

/// The head's parameters, and what goes with them.
#[derive(Debug, Clone)]
pub(crate) struct HeadTensors<B: Backend> {
    /// `[layer, kernel]`: α times [`Self::scale`].
    alpha: Tensor<B, 2>,
    /// `[layer, kernel]`: the usual size of a log-sum. α is learned in these units, so that all are learned equally fast.
    scale: Tensor<B, 2>,
    /// `[1, kernel]`.
    mu: Tensor<B, 2>,
    /// `[1, kernel]`.
    sigma: Tensor<B, 2>,
    epsilon: f32,
    /// `[kind, 1]`: the weights of uni-grams and of pairs by distance, which stay as they are.
    composition: Tensor<B, 2>,
    /// `[feature, 1]`: β, and the weights of other features.
    features: Tensor<B, 2>,
    /// `[1, 1]`.
    document_vector: Tensor<B, 2>,
    mean: f32,
    deviation: f32,
    /// `[dim, 1]`: γ.
    cls: Option<Tensor<B, 2>>,
    options: ModelOptions,
}

impl<B: Backend> HeadTensors<B> {
    /// Uploads a head. `scale` is the usual size of each log-sum, `[layer][kernel]`.
    pub(crate) fn upload(
        head: &Head,
        scale: &[f32],
        options: &ModelOptions,
        place: &Place<B>,
    ) -> Self {
        let deep = &head.deep;
        let shape = [deep.alpha.len(), deep.kernels.mu.len()];
        let alpha = deep
            .alpha
            .iter()
            .flatten()
            .zip(scale)
            .map(|(a, s)| a * s)
            .collect();
        let composition: Vec<f32> = std::iter::once(&deep.composition.unigram)
            .chain(&deep.composition.pairs)
            .copied()
            .collect();
        let kinds = composition.len();
        let features: Vec<f32> = (head.lexical.iter().chain(&head.others.features))
            .map(|feature| feature.weight)
            .collect();
        let count = features.len();
        let vector = deep.document_vector.as_ref();
        Self {
            alpha: place.tensor(alpha, shape),
            scale: place.tensor(scale.to_vec(), shape),
            mu: place.tensor(deep.kernels.mu.clone(), [1, shape[1]]),
            sigma: place.tensor(deep.kernels.sigma.clone(), [1, shape[1]]),
            epsilon: deep.kernels.epsilon,
            composition: place.tensor(composition, [kinds, 1]),
            features: place.tensor(features, [count, 1]),
            document_vector: place.tensor(vec![vector.map_or(0.0, |v| v.weight)], [1, 1]),
            mean: vector.map_or(0.0, |v| v.mean),
            deviation: vector.map_or(1.0, |v| v.deviation),
            cls: (head.others.cls.as_ref())
                .map(|gamma| place.tensor(gamma.clone(), [gamma.len(), 1])),
            options: options.clone(),
        }
    }

    /// Takes the values over into a head of the same shape.
    pub(crate) fn download(&self, head: &mut Head) {
        let kernels = head.deep.kernels.mu.len();
        let alpha = values(self.alpha());
        head.deep.alpha = alpha.chunks_exact(kernels).map(<[f32]>::to_vec).collect();
        // What is not learned stays as it is, to the last bit.
        if self.options.train_kernels {
            head.deep.kernels.mu = values(self.mu.clone());
            head.deep.kernels.sigma = values(self.sigma.clone());
        }
        let features = head.lexical.iter_mut().chain(&mut head.others.features);
        for (feature, weight) in features.zip(values(self.features.clone())) {
            feature.weight = weight;
        }
        if let Some(vector) = &mut head.deep.document_vector {
            vector.weight = values(self.document_vector.clone())[0];
        }
        if let (Some(gamma), true) = (&self.cls, self.options.cls) {
            head.others.cls = Some(values(gamma.clone()));
        }
    }

    /// α, `[layer, kernel]`.
    fn alpha(&self) -> Tensor<B, 2> {
        self.alpha.clone() / self.scale.clone()
    }

    /// `[pair, 1]`: lexical and other features, standardised, `[pair, feature]`.
    pub(crate) fn features(&self, values: Tensor<B, 2>) -> Tensor<B, 2> {
        values.matmul(self.features.clone())
    }

    /// `[pair, 1]`: γ·CLS, for `[CLS]` vectors `[pair, dim]`.
    pub(crate) fn cls(&self, vectors: Tensor<B, 2>) -> Option<Tensor<B, 2>> {
        Some(vectors.matmul(self.cls.clone()?))
    }

    /// `[pair, 1]`: similarity to the document's mean vector, `[pair, 1]`.
    fn document_vector(&self, similarity: Tensor<B, 2>) -> Tensor<B, 2> {
        (similarity - self.mean) / self.deviation * self.document_vector.clone()
    }

    /// `[pair, 1]`: the deep part when kernels are fixed.
    pub(crate) fn pooled(&self, batch: &Pooled, place: &Place<B>) -> Tensor<B, 2> {
        let pairs = batch.document_vector.len();
        let [layers, kernels] = self.alpha.dims();
        let log_sums = place.tensor(batch.log_sums.clone(), [pairs, layers * kernels]);
        let alpha = self.alpha().reshape([layers * kernels, 1]);
        log_sums.matmul(alpha)
            + self.document_vector(place.tensor(batch.document_vector.clone(), [pairs, 1]))
    }

    /// `[pair, 1]`: the deep part when the encoder is fixed.
    pub(crate) fn histograms(&self, batch: &Histograms, place: &Place<B>) -> Tensor<B, 2> {
        let (rows, pairs) = (batch.weights.len(), batch.document_vector.len());
        let [layers, kernels] = self.alpha.dims();
        let bins = place.tensor(batch.bins.clone(), [rows * layers, bins::BINS]);
        let nodes = place.tensor(bins::nodes(), [bins::BINS, 1]);
        let sums = bins.matmul(gaussian(nodes, self.mu.clone(), self.sigma.clone()));
        // Cubic interpolation may undershoot where there is nothing.
        let log_sums = (sums.clamp_min(0.0) + self.epsilon).log();
        let alpha = self.alpha().reshape([layers * kernels, 1]);
        let terms = log_sums.reshape([rows, layers * kernels]).matmul(alpha);
        let terms = terms * place.tensor(batch.weights.clone(), [rows, 1]);
        let deep = place.zeros([pairs, 1]).select_assign(
            0,
            place.indices(batch.pairs.clone()),
            terms,
            IndexingUpdateOp::Add,
        );
        deep + self.document_vector(place.tensor(batch.document_vector.clone(), [pairs, 1]))
    }

    /// `[query, term, group]`: the weights of token groups in terms, which add up to 1 over the groups of a term.
    pub(crate) fn composition(
        &self,
        terms: &Terms,
        queries: usize,
        place: &Place<B>,
    ) -> Tensor<B, 3> {
        let Terms {
            terms: count,
            groups,
            ..
        } = *terms;
        let kinds = self.composition.dims()[0];
        let shares = place.tensor(terms.shares.clone(), [queries * count * groups, kinds]);
        let raw = shares
            .matmul(self.composition.clone())
            .reshape([queries, count, groups]);
        // A term that is only padding has nothing to share out.
        let sum = raw.clone().sum_dim(2);
        let empty = sum.clone().equal_elem(0.0);
        raw / sum.mask_fill(empty, 1.0)
    }

    /// `[query · candidate, 1]`: the deep part from similarities.
    pub(crate) fn similarities(&self, found: Similarities<B>, candidates: usize) -> Tensor<B, 2> {
        let [queries, terms, _] = found.tokens.dims();
        let [layers, kernels] = self.alpha.dims();
        let tokens = found.valid.dims()[2] / candidates;
        let valid = found.valid.repeat_dim(2, layers);
        let alpha = self.alpha();
        let mut deep = found.means.zeros_like();
        for k in 0..kernels {
            let of = |row: &Tensor<B, 2>| row.clone().narrow(1, k, 1).unsqueeze::<3>();
            let kernel =
                gaussian(found.tokens.clone(), of(&self.mu), of(&self.sigma)) * valid.clone();
            let sums = kernel
                .reshape([queries, terms, layers * candidates, tokens])
                .sum_dim(3);
            let log_sums = (sums + self.epsilon)
                .log()
                .reshape([queries, terms, layers, candidates]);
            let alpha = alpha.clone().narrow(1, k, 1).reshape([1, 1, layers, 1]);
            deep = deep
                + (log_sums * alpha)
                    .sum_dim(2)
                    .reshape([queries, terms, candidates]);
        }
        let total = found.weights.clone().sum_dim(1);
        let empty = total.clone().equal_elem(0.0);
        let shared = found.weights.clone() / total.mask_fill(empty, 1.0);
        let weighted = |values: Tensor<B, 3>, weights: Tensor<B, 2>| {
            let sum = (values * weights.unsqueeze_dim(2)).sum_dim(1);
            sum.reshape([queries * candidates, 1])
        };
        let means = self.document_vector(weighted(found.means, shared));
        weighted(deep, found.weights) + means * found.comparable
    }
}

impl<B: Backend> Learned<B> for HeadTensors<B> {
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        let mut show = |name, decays, least, value| {
            show(Parameter {
                name,
                group: Group::Head,
                decays,
                least,
                value,
            });
        };
        if self.options.deep {
            show("alpha", true, None, &mut self.alpha);
        }
        if self.features.dims()[0] > 0 {
            show("features", true, None, &mut self.features);
        }
        if self.options.deep && self.options.document_vector {
            show("document_vector", true, None, &mut self.document_vector);
        }
        if self.options.train_kernels {
            show("mu", false, None, &mut self.mu);
            let floor = self.options.sigma_floor;
            show("sigma", false, Some(floor), &mut self.sigma);
        }
        if let (Some(gamma), true) = (&mut self.cls, self.options.cls) {
            show("cls", true, None, gamma);
        }
    }
}

/// A tensor's values, row by row.
pub(crate) fn values<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f32> {
    // The bytes of nothing that a GPU gives back are not aligned, so they are not read.
    match tensor.shape().num_elements() {
        0 => Vec::new(),
        _ => tensor.into_data().iter::<f32>().collect(),
    }
}
