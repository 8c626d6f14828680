//! The mixer: a small network that turns the vectors of a query's words, each looked up or composed on its own, into
//! vectors as the encoder would give them inside the whole query.
//!
//! It belongs to an encoder, and lies beside it as `mixer.safetensors`. With `x_i` the unit vectors of the query's words,
//! stop words too, `i` from 1 to `n`:
//!
//! ```text
//! h_0 = query;  h_i = input(x_i) + positions[min(i − 1, last)]
//! ```
//!
//! Of the kind `pre_norm`, layers stand beside a stream that is only added to, and what comes out is added to the words:
//!
//! ```text
//! layers:  h += out(attention(qkv(norm1(h))));  h += down(gelu(up(norm2(h))))
//! o = output(norm(h));  term_i = unit(x_i + o_i);  query vector = unit(mean(x_1 … x_n) + o_0)
//! ```
//!
//! Of the kind `encoder_layers`, layers are the encoder's, with which training starts, and end where the encoder ends:
//!
//! ```text
//! layers:  h = norm1(h + out(attention(qkv(h))));  h = norm2(h + down(gelu(up(h))))
//! term_i = unit(h_i + residual(x_i));  query vector = unit(mean(h_0 … h_n) + pooled(h_0))
//! ```
//!
//! A mixer errs, and a word by itself errs in other ways. So some of the word may be brought back, `unit(term_i + word_blend ·
//! x_i)`; how much is chosen after training.

use crate::model::store;
use crate::read::{Reader, explain};
use crate::weights::{Layer, LayerNorm, Linear, Matrix, Named, Source, push_linear, push_norm};
use crate::{ModelError, Storage, write_tensors};
use becr_basics::SplitMix64;
use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// Name of the mixer's file in a model directory.
pub const MIXER_FILE: &str = "mixer.safetensors";

/// The version of the file that is written and read.
const FORMAT: &str = "1";

/// Where a mixer has its norms, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixerKind {
    /// Norms before attention and feed-forward part; what comes out is added to the words.
    #[default]
    PreNorm,
    /// Layers as the encoder's last ones, norms behind each part.
    EncoderLayers,
}

impl MixerKind {
    /// The ε of its layer norms.
    pub fn epsilon(self) -> f32 {
        match self {
            Self::PreNorm => 1e-5,
            Self::EncoderLayers => 1e-12,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::PreNorm => "pre_norm",
            Self::EncoderLayers => "encoder_layers",
        }
    }
}

/// How large a mixer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MixerShape {
    /// Where its norms are, and how it ends.
    pub kind: MixerKind,
    /// Length of a vector: the encoder's hidden size.
    pub hidden: usize,
    /// Attention layers.
    pub layers: usize,
    /// Width of the feed-forward part.
    pub feed_forward: usize,
    /// Attention heads; they divide the hidden size.
    pub heads: usize,
    /// Positions that are told apart: words behind them share the last one.
    pub positions: usize,
}

/// One layer of a mixer.
#[derive(Debug, Clone, PartialEq)]
pub struct MixerLayer {
    /// Norm of attention.
    pub norm1: LayerNorm,
    /// Queries, keys and values, in this order: three times as many outputs as inputs.
    pub qkv: Linear,
    /// Projection of the heads' outputs.
    pub out: Linear,
    /// Norm of the feed-forward part.
    pub norm2: LayerNorm,
    /// First half of the feed-forward part, before GELU.
    pub up: Linear,
    /// Second half of the feed-forward part.
    pub down: Linear,
}

/// The weights of a mixer.
#[derive(Debug, Clone, PartialEq)]
pub struct MixerWeights {
    /// The encoder whose vectors it mixes ([`Model::encoder_id`](crate::Model::encoder_id)).
    pub encoder_id: String,
    /// Attention heads.
    pub heads: usize,
    /// Applied to the words' vectors.
    pub input: Linear,
    /// Added by a word's place in the query.
    pub positions: Matrix,
    /// What stands before the words, and becomes the query's vector.
    pub query: Vec<f32>,
    /// The layers, first to last.
    pub layers: Vec<MixerLayer>,
    /// What is done with the last layer's vectors.
    pub end: MixerEnd,
    /// How much of a word's own vector is added to the mixed one, which has length 1.
    pub word_blend: f32,
}

/// What is done with the last layer's vectors.
#[derive(Debug, Clone, PartialEq)]
pub enum MixerEnd {
    /// Of [`MixerKind::PreNorm`].
    PreNorm {
        /// Norm before the output.
        norm: LayerNorm,
        /// Gives what is added to the words' vectors.
        output: Linear,
    },
    /// Of [`MixerKind::EncoderLayers`]. The centre of documents is subtracted by the biases.
    EncoderLayers {
        /// Of a word's own vector, added to the word.
        residual: Linear,
        /// Of the last `h_0`, added to the query.
        pooled: Linear,
    },
}

impl MixerEnd {
    fn kind(&self) -> MixerKind {
        match self {
            Self::PreNorm { .. } => MixerKind::PreNorm,
            Self::EncoderLayers { .. } => MixerKind::EncoderLayers,
        }
    }
}

/// Takes as many numbers of a feed-forward part over as there is room for: those whose ways in and out weigh most, in
/// their order.
fn narrow(from: &Layer, up: &mut Linear, down: &mut Linear) {
    let (wide, hidden) = (from.ffn_in.weight.rows, from.ffn_in.weight.cols);
    let strength = |number: usize| {
        let way_in = from.ffn_in.weight.row(number).iter();
        let way_out = (0..hidden).map(|row| from.ffn_out.weight.row(row)[number]);
        way_in.map(|x| x * x).sum::<f32>() * way_out.map(|x| x * x).sum::<f32>()
    };
    let strengths: Vec<f32> = (0..wide).map(strength).collect();
    let mut kept: Vec<usize> = (0..wide).collect();
    kept.sort_by(|&a, &b| strengths[b].total_cmp(&strengths[a]).then(a.cmp(&b)));
    kept.truncate(up.bias.len());
    kept.sort_unstable();
    up.bias = kept.iter().map(|&n| from.ffn_in.bias[n]).collect();
    let rows = kept.iter().flat_map(|&n| from.ffn_in.weight.row(n));
    up.weight.data = rows.copied().collect();
    let rows = (0..hidden).map(|row| from.ffn_out.weight.row(row));
    let rows = rows.flat_map(|row| kept.iter().map(|&n| row[n]));
    down.weight.data = rows.collect();
    down.bias = from.ffn_out.bias.clone();
}

impl MixerWeights {
    /// Weights that training starts from: what comes out is what went in, since the output is 0.
    pub fn new(shape: MixerShape, encoder_id: impl Into<String>, seed: u64) -> Self {
        let h = shape.hidden;
        let mut draw = Start(SplitMix64::new(seed));
        let norm = || LayerNorm {
            weight: vec![1.0; h],
            bias: vec![0.0; h],
        };
        let square = |diagonal: f32| Linear {
            weight: Matrix {
                rows: h,
                cols: h,
                data: (0..h * h)
                    .map(|at| if at / h == at % h { diagonal } else { 0.0 })
                    .collect(),
            },
            bias: vec![0.0; h],
        };
        Self {
            encoder_id: encoder_id.into(),
            heads: shape.heads,
            input: square(4.0),
            positions: Matrix {
                rows: shape.positions,
                cols: h,
                data: draw.small(shape.positions * h),
            },
            query: draw.small(h),
            layers: (0..shape.layers)
                .map(|_| MixerLayer {
                    norm1: norm(),
                    qkv: draw.linear(h, 3 * h),
                    out: draw.linear(h, h),
                    norm2: norm(),
                    up: draw.linear(h, shape.feed_forward),
                    down: draw.linear(shape.feed_forward, h),
                })
                .collect(),
            end: match shape.kind {
                MixerKind::PreNorm => MixerEnd::PreNorm {
                    norm: norm(),
                    output: square(0.0),
                },
                MixerKind::EncoderLayers => MixerEnd::EncoderLayers {
                    residual: square(0.0),
                    pooled: square(0.0),
                },
            },
            word_blend: 0.0,
        }
    }

    /// Takes the last layers of an encoder over, as many as there are here, and lets the biases of the end subtract the
    /// centre of documents. `input` leads from words' vectors to the states before those layers, `query` is the state
    /// of `[CLS]` there. The shape must be the encoder's, but for a narrower feed-forward part, which takes the strongest
    /// numbers of the encoder's.
    pub fn start_from(
        &mut self,
        encoder: &[Layer],
        centre: &[f32],
        input: Linear,
        query: Vec<f32>,
    ) {
        let first = encoder.len().saturating_sub(self.layers.len());
        for (to, from) in self.layers.iter_mut().zip(&encoder[first..]) {
            let parts = [&from.query, &from.key, &from.value];
            let joined = |part: fn(&Linear) -> &[f32]| parts.map(part).concat();
            to.qkv.weight.data = joined(|part| &part.weight.data);
            to.qkv.bias = joined(|part| &part.bias);
            to.out = from.attention_output.clone();
            to.norm1 = from.attention_norm.clone();
            narrow(from, &mut to.up, &mut to.down);
            to.norm2 = from.ffn_norm.clone();
        }
        self.input = input;
        self.query = query;
        self.positions.data.fill(0.0);
        if let MixerEnd::EncoderLayers { residual, pooled } = &mut self.end {
            for bias in [&mut residual.bias, &mut pooled.bias] {
                *bias = centre.iter().map(|x| -x).collect();
            }
        }
    }

    /// Its size.
    pub fn shape(&self) -> MixerShape {
        MixerShape {
            kind: self.end.kind(),
            hidden: self.query.len(),
            layers: self.layers.len(),
            feed_forward: self.layers.first().map_or(0, |layer| layer.up.bias.len()),
            heads: self.heads,
            positions: self.positions.rows,
        }
    }

    /// Refuses a mixer that was trained for another encoder; `path` names it in the error.
    pub fn check_encoder(&self, encoder_id: &str, path: &Path) -> Result<(), ModelError> {
        match self.encoder_id == encoder_id {
            true => Ok(()),
            false => Err(ModelError::MixerOfOtherEncoder {
                path: path.to_owned(),
                mixer: self.encoder_id.clone(),
                encoder: encoder_id.to_owned(),
            }),
        }
    }

    /// Reads a file for an encoder of this hidden size.
    pub fn read(path: &Path, hidden: usize) -> Result<Self, ModelError> {
        let bytes = std::fs::read(path).map_err(ModelError::io(path))?;
        Self::parse(&bytes, path, hidden)
    }

    /// Reads the bytes of a file; `path` stands for it in errors.
    pub fn parse(bytes: &[u8], path: &Path, hidden: usize) -> Result<Self, ModelError> {
        let file =
            SafeTensors::deserialize(bytes).map_err(|source| explain(path, bytes, source))?;
        let (_, about) =
            SafeTensors::read_metadata(bytes).map_err(|source| explain(path, bytes, source))?;
        let about = About {
            path,
            values: about.metadata().clone().unwrap_or_default(),
        };
        let format = about.get("format")?;
        if format != FORMAT {
            return Err(about.wrong(
                "format",
                format!("is {format:?}, but only {FORMAT:?} is read; use a newer version of BECR"),
            ));
        }
        let heads: usize = (about.get("heads")?.parse().ok())
            .filter(|&heads| heads > 0 && hidden.is_multiple_of(heads))
            .ok_or_else(|| about.wrong("heads", format!("must divide {hidden}")))?;
        let kind = match about.values.get("kind").map(String::as_str) {
            None => MixerKind::PreNorm,
            Some(name) => [MixerKind::PreNorm, MixerKind::EncoderLayers]
                .into_iter()
                .find(|kind| kind.name() == name)
                .ok_or_else(|| {
                    about.wrong(
                        "kind",
                        format!("{name:?} is not known; use a newer version of BECR"),
                    )
                })?,
        };
        let rows = |name: &str| file.tensor(name).map_or(0, |tensor| tensor.shape()[0]);
        let layers = (0..)
            .take_while(|layer| file.tensor(&format!("layers.{layer}.norm1.weight")).is_ok())
            .count();
        let positions = rows("positions");
        if positions == 0 {
            return Err(about.wrong("positions", "has no rows".into()));
        }
        let mut reader = Reader::new(path, &file);
        let layer = |reader: &mut Reader<'_>, number: usize| {
            let at = |part: &str| format!("layers.{number}.{part}");
            let wide = rows(&at("up.bias"));
            Ok(MixerLayer {
                norm1: reader.norm(&at("norm1"), hidden)?,
                qkv: reader.linear(&at("qkv"), hidden, 3 * hidden)?,
                out: reader.linear(&at("out"), hidden, hidden)?,
                norm2: reader.norm(&at("norm2"), hidden)?,
                up: reader.linear(&at("up"), hidden, wide)?,
                down: reader.linear(&at("down"), wide, hidden)?,
            })
        };
        Ok(Self {
            encoder_id: about.get("encoder_id")?.to_owned(),
            heads,
            input: reader.linear("input", hidden, hidden)?,
            positions: reader.matrix("positions", positions, hidden)?,
            query: reader.vector("query", hidden)?,
            layers: (0..layers)
                .map(|number| layer(&mut reader, number))
                .collect::<Result<_, ModelError>>()?,
            end: match kind {
                MixerKind::PreNorm => MixerEnd::PreNorm {
                    norm: reader.norm("norm", hidden)?,
                    output: reader.linear("output", hidden, hidden)?,
                },
                MixerKind::EncoderLayers => MixerEnd::EncoderLayers {
                    residual: reader.linear("residual", hidden, hidden)?,
                    pooled: reader.linear("pooled", hidden, hidden)?,
                },
            },
            word_blend: about.share("word_blend")?,
        })
    }

    /// Writes a file.
    pub fn write(&self, path: &Path, storage: Storage) -> Result<(), ModelError> {
        let mut tensors = Vec::new();
        for tensor in self.tensors() {
            store(
                &mut tensors,
                tensor.name,
                tensor.shape,
                tensor.data,
                storage,
            );
        }
        let heads = self.heads.to_string();
        let word_blend = self.word_blend.to_string();
        let about = [
            ("format", FORMAT),
            ("encoder_id", self.encoder_id.as_str()),
            ("heads", heads.as_str()),
            ("kind", self.end.kind().name()),
            ("word_blend", word_blend.as_str()),
        ];
        write_tensors(path, &tensors, &about)
    }

    /// Its tensors by their names, in a fixed order.
    pub fn tensors(&self) -> Vec<Named<'_>> {
        let mut list = Vec::new();
        push_linear(&mut list, "input", &self.input);
        list.push(Named::matrix("positions", &self.positions));
        list.push(Named::vector("query".into(), &self.query));
        for (number, layer) in self.layers.iter().enumerate() {
            let at = |part: &str| format!("layers.{number}.{part}");
            push_norm(&mut list, &at("norm1"), &layer.norm1);
            push_linear(&mut list, &at("qkv"), &layer.qkv);
            push_linear(&mut list, &at("out"), &layer.out);
            push_norm(&mut list, &at("norm2"), &layer.norm2);
            push_linear(&mut list, &at("up"), &layer.up);
            push_linear(&mut list, &at("down"), &layer.down);
        }
        match &self.end {
            MixerEnd::PreNorm { norm, output } => {
                push_norm(&mut list, "norm", norm);
                push_linear(&mut list, "output", output);
            }
            MixerEnd::EncoderLayers { residual, pooled } => {
                push_linear(&mut list, "residual", residual);
                push_linear(&mut list, "pooled", pooled);
            }
        }
        list
    }

    /// All of its numbers, tensor by tensor in the order of [`tensors`](Self::tensors), to be replaced by a training.
    pub fn values_mut(&mut self) -> Vec<&mut Vec<f32>> {
        fn linear(part: &mut Linear) -> [&mut Vec<f32>; 2] {
            [&mut part.weight.data, &mut part.bias]
        }
        fn norm(part: &mut LayerNorm) -> [&mut Vec<f32>; 2] {
            [&mut part.weight, &mut part.bias]
        }
        let mut list = Vec::new();
        list.extend(linear(&mut self.input));
        list.push(&mut self.positions.data);
        list.push(&mut self.query);
        for layer in &mut self.layers {
            list.extend(norm(&mut layer.norm1));
            list.extend(linear(&mut layer.qkv));
            list.extend(linear(&mut layer.out));
            list.extend(norm(&mut layer.norm2));
            list.extend(linear(&mut layer.up));
            list.extend(linear(&mut layer.down));
        }
        match &mut self.end {
            MixerEnd::PreNorm { norm: last, output } => {
                list.extend(norm(last));
                list.extend(linear(output));
            }
            MixerEnd::EncoderLayers { residual, pooled } => {
                list.extend(linear(residual));
                list.extend(linear(pooled));
            }
        }
        list
    }
}

/// The metadata of a file.
struct About<'a> {
    path: &'a Path,
    values: HashMap<String, String>,
}

impl About<'_> {
    fn get(&self, field: &str) -> Result<&str, ModelError> {
        let value = self.values.get(field).map(String::as_str);
        value.ok_or_else(|| {
            self.wrong(
                field,
                "is not in the file's metadata: this is no mixer".into(),
            )
        })
    }

    /// A share of the words' own vectors; files without one have none.
    fn share(&self, field: &str) -> Result<f32, ModelError> {
        let Some(value) = self.values.get(field) else {
            return Ok(0.0);
        };
        let share = value.parse().ok();
        share
            .filter(|share: &f32| share.is_finite() && *share >= 0.0)
            .ok_or_else(|| {
                self.wrong(
                    field,
                    format!("expected a number from 0 on, found {value:?}"),
                )
            })
    }

    fn wrong(&self, field: &str, problem: String) -> ModelError {
        ModelError::Config {
            path: self.path.to_owned(),
            field: field.into(),
            problem,
        }
    }
}

/// Draws the weights that a training starts from.
struct Start(SplitMix64);

impl Start {
    /// Normal numbers of deviation 0.02, by Box and Muller.
    fn small(&mut self, count: usize) -> Vec<f32> {
        let mut normal = || {
            let (a, b) = (1.0 - self.0.unit(), self.0.unit());
            0.02 * (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        };
        (0..count).map(|_| normal() as f32).collect()
    }

    /// Even numbers within ± 1/√inputs, weights and biases alike, as PyTorch draws them.
    fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let bound = 1.0 / (inputs as f64).sqrt();
        let mut even = |count: usize| -> Vec<f32> {
            (0..count)
                .map(|_| (bound * (2.0 * self.0.unit() - 1.0)) as f32)
                .collect()
        };
        Linear {
            weight: Matrix {
                rows: outputs,
                cols: inputs,
                data: even(outputs * inputs),
            },
            bias: even(outputs),
        }
    }
}
