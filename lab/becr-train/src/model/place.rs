//! Where tensors live, and how wide their numbers are.

use burn::tensor::{DType, Int, Tensor, TensorData, backend::Backend};

/// A device, and the type of real numbers on it: 32 bits to train, 64 to check gradients.
#[derive(Debug, Clone)]
pub(crate) struct Place<B: Backend> {
    pub(crate) device: B::Device,
    pub(crate) dtype: DType,
}

impl<B: Backend> Place<B> {
    /// 32-bit numbers on a device.
    pub(crate) fn single(device: B::Device) -> Self {
        Self {
            device,
            dtype: DType::F32,
        }
    }

    /// Uploads numbers.
    pub(crate) fn tensor<const D: usize>(
        &self,
        values: Vec<f32>,
        shape: [usize; D],
    ) -> Tensor<B, D> {
        Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype))
    }

    /// Uploads indices.
    pub(crate) fn indices(&self, values: Vec<i32>) -> Tensor<B, 1, Int> {
        let count = values.len();
        Tensor::from_data(TensorData::new(values, [count]), &self.device)
    }

    /// Zeros.
    pub(crate) fn zeros<const D: usize>(&self, shape: [usize; D]) -> Tensor<B, D> {
        Tensor::zeros(shape, (&self.device, self.dtype))
    }
}
