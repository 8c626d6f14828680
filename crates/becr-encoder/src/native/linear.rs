//! Linear layers in the form the kernels read, in f32 or int8.

use crate::Precision;
use crate::kernel::{BytePanels, ByteRows, Finish, Int8, Panels, Simd};

/// One second factor whose columns are the outputs of one or several linear layers, with their biases.
pub(crate) enum Linear {
    F32(Panels),
    Int8(Int8, BytePanels),
}

impl Linear {
    /// Puts the outputs of all `parts` side by side; they read the same inputs.
    pub(crate) fn side_by_side(
        simd: Simd,
        precision: Precision,
        parts: &[&becr_model::Linear],
    ) -> Self {
        let inner = parts[0].weight.cols;
        let columns: Vec<&[f32]> = parts
            .iter()
            .flat_map(|part| part.weight.data.chunks_exact(inner))
            .collect();
        let bias: Vec<f32> = parts
            .iter()
            .flat_map(|part| part.bias.iter().copied())
            .collect();
        let columns = columns.into_iter();
        match precision {
            Precision::F32 => {
                Self::F32(Panels::from_columns(simd, inner, columns).with_bias(&bias))
            }
            Precision::Int8 => Self::Int8(
                Int8::beside(simd),
                BytePanels::from_columns(inner, columns, &bias),
            ),
        }
    }

    /// Number of outputs.
    pub(crate) fn cols(&self) -> usize {
        match self {
            Self::F32(panels) => panels.cols(),
            Self::Int8(_, panels) => panels.cols(),
        }
    }

    /// Outputs for `rows` rows of inputs, both with the given distances between rows; `bytes` is working memory.
    pub(crate) fn apply(
        &self,
        simd: Simd,
        rows: usize,
        (a, a_stride): (&[f32], usize),
        out: (&mut [f32], usize),
        gelu: bool,
        bytes: &mut ByteRows,
    ) {
        match self {
            Self::F32(panels) => {
                let finish = Finish {
                    gelu,
                    ..Finish::default()
                };
                simd.product(rows, (a, a_stride), panels, out, finish);
            }
            Self::Int8(int8, panels) => {
                bytes.set(simd, rows, panels.inner(), (a, a_stride));
                int8.product(bytes, panels, out, gelu);
            }
        }
    }
}
