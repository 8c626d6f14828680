//! The weights of a BERT encoder, typed.

use crate::Config;
use std::collections::BTreeMap;

/// A row-major matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// Number of rows; for a linear layer, its outputs.
    pub rows: usize,
    /// Length of a row; for a linear layer, its inputs.
    pub cols: usize,
    /// `rows × cols` values.
    pub data: Vec<f32>,
}

impl Matrix {
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.cols..][..self.cols]
    }
}

/// `y = W·x + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// `[outputs, inputs]`.
    pub weight: Matrix,
    /// One value per output.
    pub bias: Vec<f32>,
}

/// Scale and shift after normalisation.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerNorm {
    /// Scale.
    pub weight: Vec<f32>,
    /// Shift.
    pub bias: Vec<f32>,
}

/// The embedding layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    /// `[vocab_size, hidden_size]`.
    pub word: Matrix,
    /// `[max_position_embeddings, hidden_size]`.
    pub position: Matrix,
    /// `[type_vocab_size, hidden_size]`; only row 0 is used.
    pub token_type: Matrix,
    /// Applied to the sum of the three.
    pub layer_norm: LayerNorm,
}

/// One encoder layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// Query projection.
    pub query: Linear,
    /// Key projection.
    pub key: Linear,
    /// Value projection.
    pub value: Linear,
    /// Projection of the heads' outputs.
    pub attention_output: Linear,
    /// Norm after the attention's residual sum.
    pub attention_norm: LayerNorm,
    /// First half of the feed-forward part, before GELU.
    pub ffn_in: Linear,
    /// Second half of the feed-forward part.
    pub ffn_out: Linear,
    /// Norm after the feed-forward part's residual sum.
    pub ffn_norm: LayerNorm,
}

/// A tensor that is not part of the encoder: a pooler, a task's head.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, row-major.
    pub data: Vec<f32>,
}

/// Where vectors lie on average, at every hidden state: `[layers + 1, hidden_size]`.
///
/// Hidden states of many encoders crowd around one direction, so that all cosines are high and footprints spend their
/// bits on what all vectors share. Seen from the centre, directions tell words apart again. Token groups stand
/// without context and have a centre of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Centres {
    /// Of the tokens of documents.
    pub documents: Vec<f32>,
    /// Of the vectors of token groups.
    pub groups: Vec<f32>,
}

impl Centres {
    pub(crate) const DOCUMENTS: &str = "becr.centre.documents";
    pub(crate) const GROUPS: &str = "becr.centre.groups";
}

/// All weights of an encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The embedding layer.
    pub embeddings: Embeddings,
    /// The encoder layers, first to last.
    pub layers: Vec<Layer>,
    /// What is subtracted from vectors before they are compared; nothing if there is none.
    pub centres: Option<Centres>,
    /// Stands before the encoder's tensor names in the file: empty or `bert.`.
    pub prefix: String,
    /// Floating-point tensors that are not the encoder's, by full name; kept so that writing loses nothing.
    pub extra: BTreeMap<String, Extra>,
}

/// Where the tensors of an encoder come from: a file, or a random generator.
pub(crate) trait Source {
    type Error;
    fn matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<Matrix, Self::Error>;
    fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>, Self::Error>;

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<Linear, Self::Error> {
        Ok(Linear {
            weight: self.matrix(&format!("{name}.weight"), outputs, inputs)?,
            bias: self.vector(&format!("{name}.bias"), outputs)?,
        })
    }

    fn norm(&mut self, name: &str, len: usize) -> Result<LayerNorm, Self::Error> {
        Ok(LayerNorm {
            weight: self.vector(&format!("{name}.weight"), len)?,
            bias: self.vector(&format!("{name}.bias"), len)?,
        })
    }
}

impl Weights {
    /// Asks `source` for every tensor that `config` implies. The only place that lists their names for reading.
    pub(crate) fn build<S: Source>(config: &Config, source: &mut S) -> Result<Self, S::Error> {
        let h = config.hidden_size;
        let embeddings = Embeddings {
            word: source.matrix("embeddings.word_embeddings.weight", config.vocab_size, h)?,
            position: source.matrix(
                "embeddings.position_embeddings.weight",
                config.max_position_embeddings,
                h,
            )?,
            token_type: source.matrix(
                "embeddings.token_type_embeddings.weight",
                config.type_vocab_size,
                h,
            )?,
            layer_norm: source.norm("embeddings.LayerNorm", h)?,
        };
        let layers = (0..config.num_hidden_layers)
            .map(|l| {
                let at = |part: &str| format!("encoder.layer.{l}.{part}");
                Ok(Layer {
                    query: source.linear(&at("attention.self.query"), h, h)?,
                    key: source.linear(&at("attention.self.key"), h, h)?,
                    value: source.linear(&at("attention.self.value"), h, h)?,
                    attention_output: source.linear(&at("attention.output.dense"), h, h)?,
                    attention_norm: source.norm(&at("attention.output.LayerNorm"), h)?,
                    ffn_in: source.linear(
                        &at("intermediate.dense"),
                        h,
                        config.intermediate_size,
                    )?,
                    ffn_out: source.linear(&at("output.dense"), config.intermediate_size, h)?,
                    ffn_norm: source.norm(&at("output.LayerNorm"), h)?,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            embeddings,
            layers,
            centres: None,
            prefix: String::new(),
            extra: BTreeMap::new(),
        })
    }

    /// The encoder's tensors by their names without prefix, in a fixed order.
    pub fn tensors(&self) -> Vec<Named<'_>> {
        let mut list = Vec::new();
        let e = &self.embeddings;
        list.push(Named::matrix("embeddings.word_embeddings.weight", &e.word));
        list.push(Named::matrix(
            "embeddings.position_embeddings.weight",
            &e.position,
        ));
        list.push(Named::matrix(
            "embeddings.token_type_embeddings.weight",
            &e.token_type,
        ));
        push_norm(&mut list, "embeddings.LayerNorm", &e.layer_norm);
        for (l, layer) in self.layers.iter().enumerate() {
            let at = |part: &str| format!("encoder.layer.{l}.{part}");
            push_linear(&mut list, &at("attention.self.query"), &layer.query);
            push_linear(&mut list, &at("attention.self.key"), &layer.key);
            push_linear(&mut list, &at("attention.self.value"), &layer.value);
            push_linear(
                &mut list,
                &at("attention.output.dense"),
                &layer.attention_output,
            );
            push_norm(
                &mut list,
                &at("attention.output.LayerNorm"),
                &layer.attention_norm,
            );
            push_linear(&mut list, &at("intermediate.dense"), &layer.ffn_in);
            push_linear(&mut list, &at("output.dense"), &layer.ffn_out);
            push_norm(&mut list, &at("output.LayerNorm"), &layer.ffn_norm);
        }
        if let Some(centres) = &self.centres {
            list.push(Named::vector(Centres::DOCUMENTS.into(), &centres.documents));
            list.push(Named::vector(Centres::GROUPS.into(), &centres.groups));
        }
        list
    }
}

/// A tensor of [`Weights`] with the name Hugging Face gives it.
#[derive(Debug, Clone)]
pub struct Named<'a> {
    /// Name without prefix.
    pub name: String,
    /// One or two dimensions.
    pub shape: Vec<usize>,
    /// Row-major values.
    pub data: &'a [f32],
}

impl<'a> Named<'a> {
    pub(crate) fn matrix(name: &str, matrix: &'a Matrix) -> Self {
        Self {
            name: name.into(),
            shape: vec![matrix.rows, matrix.cols],
            data: &matrix.data,
        }
    }

    pub(crate) fn vector(name: String, data: &'a [f32]) -> Self {
        Self {
            name,
            shape: vec![data.len()],
            data,
        }
    }
}

pub(crate) fn push_linear<'a>(list: &mut Vec<Named<'a>>, name: &str, linear: &'a Linear) {
    list.push(Named::matrix(&format!("{name}.weight"), &linear.weight));
    list.push(Named::vector(format!("{name}.bias"), &linear.bias));
}

pub(crate) fn push_norm<'a>(list: &mut Vec<Named<'a>>, name: &str, norm: &'a LayerNorm) {
    list.push(Named::vector(format!("{name}.weight"), &norm.weight));
    list.push(Named::vector(format!("{name}.bias"), &norm.bias));
}
