//! Kernel pooling, as KNRM introduced it and CONV-KNRM and CEDR-KNRM took it over.

use crate::model::{Place, gaussian};
use becr_model::Kernels;
use burn::tensor::{Tensor, backend::Backend};

/// KNRM's eleven kernels: soft matches with centres −0.9, −0.7 … 0.9, and exact matches with centre 1 and a width of a
/// thousandth.
pub(super) fn exact_and_soft() -> Kernels {
    let mut kernels = Kernels::default();
    if let Some(exact) = kernels.sigma.last_mut() {
        *exact = 1e-3;
    }
    kernels
}

/// φ, `[pair, kernel]`: how many tokens of the document each kernel sees for a term of the query, softly counted; the
/// logarithm of that, summed over the terms.
///
/// `similarities` are `[pair, term, token]`; `terms` `[pair, term]` and `tokens` `[pair, token]` are 0 for padding.
pub(super) fn soft_counts<B: Backend>(
    similarities: &Tensor<B, 3>,
    terms: &Tensor<B, 2>,
    tokens: &Tensor<B, 2>,
    kernels: &Kernels,
    place: &Place<B>,
) -> Tensor<B, 2> {
    let [pairs, length, _] = similarities.dims();
    let seen = tokens.clone().unsqueeze_dim::<3>(1);
    let of_kernel = |(&mu, &sigma): (&f32, &f32)| {
        let scalar = |value: f32| place.tensor(vec![value], [1, 1, 1]);
        let kernel = gaussian(similarities.clone(), scalar(mu), scalar(sigma)) * seen.clone();
        let counts = kernel.sum_dim(2).reshape([pairs, length]);
        ((counts + kernels.epsilon).log() * terms.clone()).sum_dim(1)
    };
    let columns = kernels.mu.iter().zip(&kernels.sigma).map(of_kernel);
    Tensor::cat(columns.collect(), 1)
}
