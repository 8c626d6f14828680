//! CONV-KNRM: *Convolutional Neural Networks for Soft-Matching N-Grams in Ad-hoc Search* (Dai, Xiong, Callan, Liu,
//! WSDM 2018).
//!
//! ```text
//! g_i^h        = relu(W^h · v(t_i … t_{i+h−1}) + b^h)            convolution, h = 1, 2, 3
//! M_ij^{hq,hd} = cos(g_i^{hq}, g_j^{hd})                         cross-match, uni- to tri-grams on both sides
//! φ(M)         = for each of the nine matrices, KNRM's soft-TF features
//! f(q,d)       = tanh(wᵀφ(M) + b)
//! ```
//!
//! An n-gram that reaches over the end of a text is filled up with zeros, so there are as many n-grams as words.

use super::directory::Tensors;
use super::kernels::{exact_and_soft, soft_counts};
use super::knrm::{Embedding, SCALE};
use super::layers::{Affine, affine, cosines, directions, with_exact};
use super::options::BaselineConfig;
use crate::batch::{WordPairs, WordRows};
use crate::model::{Parameter, Place};
use becr_model::Kernels;
use burn::tensor::activation::relu;
use burn::tensor::{Tensor, backend::Backend};

/// Names of the convolutions, by the length of their n-grams.
const CONVOLUTIONS: [&str; 8] = [
    "convolution.1",
    "convolution.2",
    "convolution.3",
    "convolution.4",
    "convolution.5",
    "convolution.6",
    "convolution.7",
    "convolution.8",
];

/// The network.
#[derive(Debug, Clone)]
pub(super) struct ConvKnrm<B: Backend> {
    embedding: Embedding<B>,
    /// For uni-grams, bi-grams and so on.
    convolutions: Vec<Affine<B>>,
    kernels: Kernels,
    combine: Affine<B>,
    place: Place<B>,
}

/// What it has to learn.
pub(super) fn shapes(config: &BaselineConfig, words: [usize; 2]) -> Vec<(String, [usize; 2])> {
    let mut shapes = vec![("vectors".to_owned(), words)];
    let names = CONVOLUTIONS.iter().take(config.ngrams);
    for (length, name) in (1..).zip(names) {
        shapes.extend(affine(name, length * words[1], config.filters));
    }
    let matrices = config.ngrams * config.ngrams;
    shapes.extend(affine("combine", matrices * exact_and_soft().mu.len(), 1));
    shapes
}

impl<B: Backend> ConvKnrm<B> {
    pub(super) fn upload(config: &BaselineConfig, tensors: &Tensors, place: &Place<B>) -> Self {
        let names = CONVOLUTIONS.iter().take(config.ngrams);
        Self {
            embedding: Embedding::upload(config, tensors, place),
            convolutions: names
                .map(|name| Affine::upload(name, tensors, place))
                .collect(),
            kernels: exact_and_soft(),
            combine: Affine::upload("combine", tensors, place),
            place: place.clone(),
        }
    }

    /// The directions of the documents' n-grams, by their length, which no query changes.
    pub(super) fn documents(&self, pairs: &WordPairs) -> Vec<Tensor<B, 3>> {
        let ngrams = self.ngrams(&pairs.documents).into_iter();
        ngrams.map(directions).collect()
    }

    /// `[pair, 1]`.
    pub(super) fn scores(&self, pairs: &WordPairs, documents: &[Tensor<B, 3>]) -> Tensor<B, 2> {
        let place = &self.place;
        let terms = pairs.queries.valid(place);
        let tokens = pairs.documents.valid(place);
        let mut features = Vec::new();
        for (length, query) in (1..).zip(self.ngrams(&pairs.queries)) {
            for (other, document) in (1..).zip(documents) {
                let mut matches = cosines(query.clone(), document.clone());
                if length == other {
                    matches = with_exact(matches, pairs.same(length, place), query.clone());
                }
                let counts = soft_counts(&matches, &terms, &tokens, &self.kernels, place);
                features.push(counts);
            }
        }
        let features = Tensor::cat(features, 1).mul_scalar(SCALE);
        self.combine.apply(features).tanh()
    }

    /// The vectors of uni-grams, of bi-grams and so on, `[row, word, filter]` each.
    fn ngrams(&self, words: &WordRows) -> Vec<Tensor<B, 3>> {
        let vectors = self.embedding.embed(words, &self.place);
        let [rows, length, dim] = vectors.dims();
        let convolutions = (1..).zip(&self.convolutions);
        convolutions
            .map(|(words, convolution)| {
                let window = (0..words).map(|by| shifted(&vectors, by, &self.place));
                let window = Tensor::cat(window.collect(), 2).reshape([rows * length, words * dim]);
                let filtered = relu(convolution.apply(window));
                let filters = filtered.dims()[1];
                filtered.reshape([rows, length, filters])
            })
            .collect()
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        self.embedding.visit(show);
        for convolution in &mut self.convolutions {
            convolution.visit(show);
        }
        self.combine.visit(show);
    }
}

/// Every word's vector replaced by that of the word `by` places behind it, zeros at the end.
fn shifted<B: Backend>(vectors: &Tensor<B, 3>, by: usize, place: &Place<B>) -> Tensor<B, 3> {
    let [rows, length, dim] = vectors.dims();
    match by {
        0 => vectors.clone(),
        _ if by >= length => place.zeros([rows, length, dim]),
        _ => {
            let rest = vectors.clone().narrow(1, by, length - by);
            Tensor::cat(vec![rest, place.zeros([rows, by, dim])], 1)
        }
    }
}
