//! What the networks are made of: named tensors, linear layers, cosines.

use super::directory::Tensors;
use crate::model::{Group, Parameter, Place, unit};
use burn::tensor::{Bool, Tensor, backend::Backend};

/// `x · W + b`.
#[derive(Debug, Clone)]
pub(super) struct Affine<B: Backend> {
    name: &'static str,
    /// `[inputs, outputs]`.
    weight: Tensor<B, 2>,
    /// `[1, outputs]`.
    bias: Tensor<B, 2>,
}

impl<B: Backend> Affine<B> {
    pub(super) fn upload(name: &'static str, tensors: &Tensors, place: &Place<B>) -> Self {
        Self {
            name,
            weight: tensors.upload(&format!("{name}.weight"), place),
            bias: tensors.upload(&format!("{name}.bias"), place),
        }
    }

    pub(super) fn apply(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        input.matmul(self.weight.clone()) + self.bias.clone()
    }

    pub(super) fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>)) {
        let name = self.name;
        learned(&format!("{name}.weight"), true, &mut self.weight, show);
        learned(&format!("{name}.bias"), false, &mut self.bias, show);
    }
}

/// The names and shapes of a linear layer's tensors.
pub(super) fn affine(name: &str, inputs: usize, outputs: usize) -> [(String, [usize; 2]); 2] {
    [
        (format!("{name}.weight"), [inputs, outputs]),
        (format!("{name}.bias"), [1, outputs]),
    ]
}

/// Shows a parameter that has the head's learning rate.
pub(super) fn learned<B: Backend>(
    name: &str,
    decays: bool,
    value: &mut Tensor<B, 2>,
    show: &mut dyn FnMut(Parameter<'_, B>),
) {
    show(Parameter {
        name,
        group: Group::Head,
        decays,
        least: None,
        value,
    });
}

/// Vectors of length 1, along the last dimension.
pub(super) fn directions<B: Backend>(vectors: Tensor<B, 3>) -> Tensor<B, 3> {
    let [rows, length, dim] = vectors.dims();
    unit(vectors.reshape([rows * length, dim])).reshape([rows, length, dim])
}

/// Similarities in which what is the same is exactly as similar as it is to itself.
///
/// A GPU multiplies matrices with fewer digits, and the cosine of a vector with itself may then miss 1 by more than the
/// exact-match kernel is wide. `same` is `[pair, term, token]`, `terms` the vectors of the terms.
pub(super) fn with_exact<B: Backend>(
    similarities: Tensor<B, 3>,
    same: Tensor<B, 3, Bool>,
    terms: Tensor<B, 3>,
) -> Tensor<B, 3> {
    // 1, or 0 for a vector of zeros.
    let own = directions(terms).square().sum_dim(2);
    let own = own.expand(similarities.dims());
    similarities.mask_where(same, own)
}

/// The cosines of all terms and tokens, `[pair, term, token]`; of the tokens the directions are known already.
pub(super) fn cosines<B: Backend>(terms: Tensor<B, 3>, tokens: Tensor<B, 3>) -> Tensor<B, 3> {
    directions(terms).matmul(tokens.swap_dims(1, 2))
}
