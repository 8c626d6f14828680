//! The RBF kernel that BECR, KNRM, CONV-KNRM and CEDR-KNRM share.

use burn::tensor::{Tensor, backend::Backend};

/// `exp(−(c − μ)² / (2σ²))` of every similarity; μ and σ are broadcast.
pub(crate) fn gaussian<B: Backend, const D: usize>(
    similarities: Tensor<B, D>,
    mu: Tensor<B, D>,
    sigma: Tensor<B, D>,
) -> Tensor<B, D> {
    let z = (similarities - mu) / sigma;
    z.square().mul_scalar(-0.5).exp()
}
