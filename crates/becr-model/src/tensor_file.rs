//! Writing safetensors files, one tensor in memory at a time.

use crate::ModelError;
use half::f16;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A named tensor to write.
#[derive(Debug, Clone)]
pub struct Tensor<'a> {
    /// Its name in the file.
    pub name: String,
    /// Its shape; the product is the number of values.
    pub shape: Vec<usize>,
    /// Its values, row-major.
    pub data: Data<'a>,
}

/// Values and how they are stored.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// Floats rounded to 16 bits on the way out.
    F16(&'a [f32]),
    /// Rows of floats rounded to `round(x / scale)`; the scales are written by [`Data::RowScales`].
    RowwiseI8(&'a [f32], usize),
    /// One `F32` scale per row of that length: the largest magnitude of the row over 127.
    RowScales(&'a [f32], usize),
    /// 32-bit unsigned integers.
    U32(&'a [u32]),
}

impl Data<'_> {
    fn dtype(&self) -> &'static str {
        match self {
            Self::F32(_) | Self::RowScales(..) => "F32",
            Self::F16(_) => "F16",
            Self::RowwiseI8(..) => "I8",
            Self::U32(_) => "U32",
        }
    }

    fn byte_len(&self) -> usize {
        match self {
            Self::F32(values) => 4 * values.len(),
            Self::F16(values) => 2 * values.len(),
            Self::RowwiseI8(values, _) => values.len(),
            Self::RowScales(values, row) => 4 * (values.len() / row),
            Self::U32(values) => 4 * values.len(),
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        match *self {
            Self::F32(values) => values
                .iter()
                .try_for_each(|x| out.write_all(&x.to_le_bytes())),
            Self::F16(values) => values
                .iter()
                .try_for_each(|&x| out.write_all(&f16::from_f32(x).to_le_bytes())),
            Self::RowwiseI8(values, row) => values.chunks_exact(row).try_for_each(|row| {
                let scale = row_scale(row);
                row.iter()
                    .try_for_each(|&x| out.write_all(&quantise(x, scale).to_le_bytes()))
            }),
            Self::RowScales(values, row) => values
                .chunks_exact(row)
                .try_for_each(|row| out.write_all(&row_scale(row).to_le_bytes())),
            Self::U32(values) => values
                .iter()
                .try_for_each(|x| out.write_all(&x.to_le_bytes())),
        }
    }
}

fn row_scale(row: &[f32]) -> f32 {
    row.iter().fold(0.0f32, |most, x| most.max(x.abs())) / 127.0
}

fn quantise(x: f32, scale: f32) -> i8 {
    if scale > 0.0 {
        (x / scale).round().clamp(-127.0, 127.0) as i8
    } else {
        0
    }
}

/// Writes `tensors` to `path` in the safetensors format, with `metadata` as strings in the header.
///
/// The file appears under its name only when it is whole.
pub fn write_tensors(
    path: &Path,
    tensors: &[Tensor<'_>],
    metadata: &[(&str, &str)],
) -> Result<(), ModelError> {
    let part = path.with_added_extension("part");
    let header = header(tensors, metadata);
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(&part)?);
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(header.as_bytes())?;
        tensors
            .iter()
            .try_for_each(|tensor| tensor.data.write(&mut out))?;
        out.into_inner()?.sync_all()?;
        std::fs::rename(&part, path)
    };
    write().map_err(|source| {
        // Best effort: the error that counts is the one already in hand.
        let _ = std::fs::remove_file(&part);
        ModelError::io(path)(source)
    })
}

/// The JSON header, padded with blanks to a multiple of eight bytes as the format asks.
fn header(tensors: &[Tensor<'_>], metadata: &[(&str, &str)]) -> String {
    let mut map = Map::new();
    if !metadata.is_empty() {
        let pairs = metadata
            .iter()
            .map(|(k, v)| ((*k).to_owned(), Value::from(*v)));
        map.insert("__metadata__".into(), Value::Object(pairs.collect()));
    }
    let mut start = 0;
    for Tensor { name, shape, data } in tensors {
        let end = start + data.byte_len();
        map.insert(
            name.clone(),
            json!({"dtype": data.dtype(), "shape": shape, "data_offsets": [start, end]}),
        );
        start = end;
    }
    let mut header = Value::Object(map).to_string();
    header.extend(std::iter::repeat_n(
        ' ',
        header.len().next_multiple_of(8) - header.len(),
    ));
    header
}
