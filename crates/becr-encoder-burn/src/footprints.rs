//! Hidden states to packed footprints, on the device.

use becr_footprint::lsh::Hyperplanes;
use burn::tensor::{Int, Tensor, TensorData, backend::Backend};

/// Hyperplanes on a device.
#[derive(Debug)]
pub(crate) struct Projection<B: Backend> {
    /// `dim × bits`.
    planes: Tensor<B, 2>,
    /// `1 × 1 × 32`: the value of each bit of a word.
    powers: Tensor<B, 3, Int>,
    words: usize,
}

impl<B: Backend> Projection<B> {
    pub(crate) fn upload(planes: &Hyperplanes, device: &B::Device) -> Self {
        let data = TensorData::new(planes.matrix().to_vec(), [planes.bits(), planes.dim()]);
        // Device integers are signed: the highest bit is the most negative number, and no sum overflows.
        let powers: Vec<i32> = (0..32).map(|bit| 1i32.wrapping_shl(bit)).collect();
        Self {
            planes: Tensor::<B, 2>::from_data(data, device).transpose(),
            powers: Tensor::from_data(TensorData::new(powers, [1, 1, 32]), device),
            words: planes.width(),
        }
    }

    /// Footprints of vectors, or of weighted sums of them: `pool` is `rows × spans × length`.
    pub(crate) fn footprints(
        &self,
        hidden: &Tensor<B, 2>,
        pool: Option<&Tensor<B, 3>>,
        centre: Option<&Tensor<B, 2>>,
    ) -> Tensor<B, 2, Int> {
        let projected = hidden.clone().matmul(self.planes.clone());
        // The projection is linear: that of the mean is the mean of the projections, and these are shorter.
        let projected = match pool {
            None => projected,
            Some(pool) => pooled(projected, pool),
        };
        self.pack(match centre {
            None => projected,
            Some(centre) => projected - centre.clone(),
        })
    }

    /// The projection of a centre, `1 × bits`.
    pub(crate) fn centre(&self, row: &[f32]) -> Tensor<B, 2> {
        let data = TensorData::new(row.to_vec(), [1, row.len()]);
        Tensor::<B, 2>::from_data(data, &self.planes.device()).matmul(self.planes.clone())
    }

    fn pack(&self, projected: Tensor<B, 2>) -> Tensor<B, 2, Int> {
        let count = projected.dims()[0];
        let signs = projected.greater_elem(0.0).int();
        let bits = signs.reshape([count, self.words, 32]) * self.powers.clone();
        bits.sum_dim(2).reshape([count, self.words])
    }
}

/// Weighted sums over the tokens of each row: `(rows · length) × n` to `(rows · spans) × n`.
pub(crate) fn pooled<B: Backend>(values: Tensor<B, 2>, pool: &Tensor<B, 3>) -> Tensor<B, 2> {
    let [rows, spans, length] = pool.dims();
    let columns = values.dims()[1];
    let values = values.reshape([rows, length, columns]);
    pool.clone().matmul(values).reshape([rows * spans, columns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_footprint::lsh::HyperplaneKind;

    #[test]
    fn bits_lie_where_the_scalar_code_puts_them() {
        let device = Default::default();
        let (dim, bits, count) = (24, 96, 50);
        let planes = Hyperplanes::generate(dim, bits, HyperplaneKind::Gaussian, 5).unwrap();
        let vectors: Vec<f32> = (0..dim * count)
            .map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0)
            .collect();
        let projection = Projection::<crate::Cpu>::upload(&planes, &device);
        let hidden = Tensor::from_data(TensorData::new(vectors.clone(), [count, dim]), &device);
        let packed = projection.footprints(&hidden, None, None).into_data();
        let packed = packed.as_slice::<i32>().unwrap();
        let mut expected = vec![0; planes.width()];
        let mut highest = 0;
        for (vector, packed) in vectors.chunks(dim).zip(packed.chunks(planes.width())) {
            planes.footprint(vector, &mut expected).unwrap();
            let found: Vec<u32> = packed.iter().map(|&word| word as u32).collect();
            assert_eq!(found, expected);
            highest |= found.iter().fold(0, |all, word| all | word) >> 31;
        }
        assert_eq!(highest, 1, "the sign bit of a word was never set");
    }
}
