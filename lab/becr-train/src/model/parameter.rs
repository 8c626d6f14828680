//! Everything that is learned, one tensor at a time.

use burn::tensor::{Tensor, backend::Backend};

/// Which learning rate a parameter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The small one.
    Encoder,
    /// The other.
    Head,
}

/// A parameter, lent to be read, changed or replaced. Vectors are rows or columns.
pub(crate) struct Parameter<'a, B: Backend> {
    /// Its name in checkpoints.
    pub(crate) name: &'a str,
    /// Its learning rate.
    pub(crate) group: Group,
    /// Whether weight decay applies.
    pub(crate) decays: bool,
    /// No element gets smaller than this.
    pub(crate) least: Option<f32>,
    /// Its value.
    pub(crate) value: &'a mut Tensor<B, 2>,
}

/// What has parameters.
pub(crate) trait Learned<B: Backend> {
    /// Shows every parameter that is learned, always in the same order.
    fn visit(&mut self, show: &mut dyn FnMut(Parameter<'_, B>));
}
