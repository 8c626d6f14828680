//! Reading `model.safetensors` into [`Weights`].

use crate::weights::{Centres, Extra, Matrix, Source, Weights};
use crate::{Config, ModelError};
use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

impl Weights {
    /// Reads the weights that `config` implies from a safetensors file.
    pub fn read(path: &Path, config: &Config) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => ModelError::MissingFile {
                path: path.to_owned(),
                remedy: "the weights are read from one safetensors file; convert other formats first",
            },
            _ => ModelError::io(path)(source),
        })?;
        Self::parse(&bytes, path, config)
    }

    /// Reads the bytes of a safetensors file; `path` stands for it in errors.
    pub(crate) fn parse(bytes: &[u8], path: &Path, config: &Config) -> Result<Self, ModelError> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|source| explain(path, bytes, source))?;
        let prefix = match file.tensor("bert.embeddings.word_embeddings.weight") {
            Ok(_) => "bert.",
            Err(_) => "",
        };
        let mut reader = Reader {
            path,
            file: &file,
            prefix,
            used: BTreeSet::new(),
        };
        let mut weights = Self::build(config, &mut reader)?;
        weights.centres = reader.centres(config)?;
        weights.extra = reader.extra()?;
        weights.prefix = prefix.into();
        Ok(weights)
    }
}

/// Turns the parser's error into ours; for a short file, finds the tensor that is cut.
pub(crate) fn explain(path: &Path, bytes: &[u8], source: SafeTensorError) -> ModelError {
    let short = |tensor: &str, needed: u64| ModelError::Truncated {
        path: path.to_owned(),
        tensor: tensor.into(),
        needed,
        found: bytes.len() as u64,
    };
    match source {
        SafeTensorError::HeaderTooSmall => return short("(header)", 8),
        SafeTensorError::InvalidHeaderLength => {
            if let Some((length, _)) = bytes.split_first_chunk() {
                return short("(header)", u64::from_le_bytes(*length).saturating_add(8));
            }
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            if let Some((tensor, end)) = first_cut_tensor(bytes) {
                return short(&tensor, end);
            }
        }
        _ => {}
    }
    ModelError::Safetensors {
        path: path.to_owned(),
        source,
    }
}

/// The first tensor, in file order, that ends behind the end of the file.
fn first_cut_tensor(bytes: &[u8]) -> Option<(String, u64)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(rest.get(..length)?).ok()?;
    header
        .into_iter()
        .filter_map(|(name, info)| {
            Some((name, 8 + length as u64 + info["data_offsets"][1].as_u64()?))
        })
        .filter(|(_, end)| *end > bytes.len() as u64)
        .min_by_key(|(_, end)| *end)
}

pub(crate) struct Reader<'a> {
    path: &'a Path,
    file: &'a SafeTensors<'a>,
    prefix: &'static str,
    used: BTreeSet<String>,
}

impl<'a> Reader<'a> {
    /// Reads tensors by their plain names.
    pub(crate) fn new(path: &'a Path, file: &'a SafeTensors<'a>) -> Self {
        Self {
            path,
            file,
            prefix: "",
            used: BTreeSet::new(),
        }
    }

    /// The values of a tensor of the encoder, all finite.
    fn floats(&mut self, name: &str, expected: &[usize]) -> Result<Vec<f32>, ModelError> {
        let (name, view) = self.find(name, expected)?;
        if view.shape() != expected {
            return Err(ModelError::WrongShape {
                path: self.path.to_owned(),
                tensor: name,
                expected: expected.to_vec(),
                found: view.shape().to_vec(),
            });
        }
        let values = self.values(&name, &view)?;
        if let Some(index) = values.iter().position(|x| !x.is_finite()) {
            return Err(ModelError::NotFinite {
                path: self.path.to_owned(),
                tensor: name,
                index,
                value: values[index],
            });
        }
        self.used.insert(name);
        Ok(values)
    }

    /// The centres, which only models prepared for BECR have.
    fn centres(&mut self, config: &Config) -> Result<Option<Centres>, ModelError> {
        let length = (config.num_hidden_layers + 1) * config.hidden_size;
        let there = [Centres::DOCUMENTS, Centres::GROUPS]
            .map(|name| self.file.tensor(&format!("{}{name}", self.prefix)).is_ok());
        if there == [false, false] {
            return Ok(None);
        }
        Ok(Some(Centres {
            documents: self.floats(Centres::DOCUMENTS, &[length])?,
            groups: self.floats(Centres::GROUPS, &[length])?,
        }))
    }

    /// Finds a tensor under its name, or under the names the first BERT checkpoints used for layer norms.
    fn find(&self, name: &str, expected: &[usize]) -> Result<(String, TensorView<'a>), ModelError> {
        let full = format!("{}{name}", self.prefix);
        let old = full
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta");
        for candidate in [&full, &old] {
            if let Ok(view) = self.file.tensor(candidate) {
                return Ok((candidate.clone(), view));
            }
        }
        Err(ModelError::MissingTensor {
            path: self.path.to_owned(),
            tensor: full,
            expected: expected.to_vec(),
        })
    }

    fn values(&mut self, name: &str, view: &TensorView<'_>) -> Result<Vec<f32>, ModelError> {
        let bytes = view.data();
        match view.dtype() {
            Dtype::F32 => Ok(bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect()),
            Dtype::F16 => Ok(bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| f16::from_le_bytes(*b).to_f32())
                .collect()),
            Dtype::BF16 => Ok(bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| bf16::from_le_bytes(*b).to_f32())
                .collect()),
            Dtype::I8 if view.shape().len() == 2 => self.dequantise(name, view),
            other => Err(ModelError::WrongType {
                path: self.path.to_owned(),
                tensor: name.into(),
                found: format!("{other:?}"),
            }),
        }
    }

    /// Row-wise int8: value = integer × scale of its row.
    fn dequantise(&mut self, name: &str, view: &TensorView<'_>) -> Result<Vec<f32>, ModelError> {
        let (rows, cols) = (view.shape()[0], view.shape()[1]);
        let scale_name = format!("{name}.scale");
        let missing = || ModelError::MissingTensor {
            path: self.path.to_owned(),
            tensor: scale_name.clone(),
            expected: vec![rows],
        };
        let scale = self.file.tensor(&scale_name).map_err(|_| missing())?;
        if scale.shape() != [rows] {
            return Err(ModelError::WrongShape {
                path: self.path.to_owned(),
                tensor: scale_name,
                expected: vec![rows],
                found: scale.shape().to_vec(),
            });
        }
        if scale.dtype() != Dtype::F32 {
            return Err(ModelError::WrongType {
                path: self.path.to_owned(),
                tensor: scale_name,
                found: format!("{:?}", scale.dtype()),
            });
        }
        let scales = scale
            .data()
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b));
        let mut values = Vec::with_capacity(rows * cols);
        for (row, scale) in view.data().chunks_exact(cols.max(1)).zip(scales) {
            values.extend(row.iter().map(|&q| f32::from(q.cast_signed()) * scale));
        }
        self.used.insert(scale_name);
        Ok(values)
    }

    /// What is left over once the encoder has what it needs. Integer buffers such as `position_ids` are
    /// derived from the configuration and are dropped.
    fn extra(&mut self) -> Result<BTreeMap<String, Extra>, ModelError> {
        let mut extra = BTreeMap::new();
        for (name, view) in self.file.iter() {
            if !self.used.contains(name)
                && (matches!(view.dtype(), Dtype::F32 | Dtype::F16 | Dtype::BF16)
                    || (view.dtype() == Dtype::I8
                        && self.file.tensor(&format!("{name}.scale")).is_ok()))
            {
                let data = self.values(name, &view)?;
                extra.insert(
                    name.to_owned(),
                    Extra {
                        shape: view.shape().to_vec(),
                        data,
                    },
                );
            }
        }
        extra.retain(|name, _| !self.used.contains(name));
        Ok(extra)
    }
}

impl Source for Reader<'_> {
    type Error = ModelError;

    fn matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<Matrix, ModelError> {
        Ok(Matrix {
            rows,
            cols,
            data: self.floats(name, &[rows, cols])?,
        })
    }

    fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError> {
        self.floats(name, &[len])
    }
}
