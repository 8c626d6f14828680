//! Parameters that are learned: shown one by one, and taken back.

use crate::parameters::{Affine, Norm, Parameters, transpose};
use becr_model::{LayerNorm, Linear, Weights};
use burn::tensor::{Tensor, backend::Backend};

impl<B: Backend> Parameters<B> {
    /// Shows every tensor with its name, always in the same order. Matrices are `inputs × outputs`, vectors rows.
    pub fn visit(&mut self, show: &mut dyn FnMut(&str, &mut Tensor<B, 2>)) {
        show("embeddings.word", &mut self.words);
        show("embeddings.position", &mut self.positions);
        if let Some(second) = &mut self.second_type {
            show("embeddings.second_type", second);
        }
        let norm =
            |name: String, norm: &mut Norm<B>, show: &mut dyn FnMut(&str, &mut Tensor<B, 2>)| {
                show(&format!("{name}.weight"), &mut norm.weight);
                show(&format!("{name}.bias"), &mut norm.bias);
            };
        norm("embeddings.norm".into(), &mut self.norm, show);
        for (number, layer) in self.layers.iter_mut().enumerate() {
            for (name, affine) in [
                ("query", &mut layer.query),
                ("key", &mut layer.key),
                ("value", &mut layer.value),
                ("attention_output", &mut layer.attention_output),
                ("ffn_in", &mut layer.ffn_in),
                ("ffn_out", &mut layer.ffn_out),
            ] {
                show(&format!("layer.{number}.{name}.weight"), &mut affine.weight);
                show(&format!("layer.{number}.{name}.bias"), &mut affine.bias);
            }
            norm(
                format!("layer.{number}.attention_norm"),
                &mut layer.attention_norm,
                show,
            );
            norm(
                format!("layer.{number}.ffn_norm"),
                &mut layer.ffn_norm,
                show,
            );
        }
    }

    /// Takes the values over into the weights they were uploaded from, for [`Purpose::Training`](crate::Purpose).
    pub fn download(&self, weights: &mut Weights) {
        weights.embeddings.word.data = values(&self.words);
        // Position and token type were added up: what was learned goes to the position.
        let kind = weights.embeddings.token_type.row(0).to_vec();
        let positions = values(&self.positions).into_iter().zip(kind.iter().cycle());
        weights.embeddings.position.data = positions.map(|(sum, kind)| sum - kind).collect();
        if let Some(second) = &self.second_type {
            let second = values(second).into_iter().zip(&kind);
            let second: Vec<f32> = second.map(|(difference, kind)| difference + kind).collect();
            let types = &mut weights.embeddings.token_type;
            types.data[types.cols..2 * types.cols].copy_from_slice(&second);
        }
        take_norm(&self.norm, &mut weights.embeddings.layer_norm);
        for (from, to) in self.layers.iter().zip(&mut weights.layers) {
            take(&from.query, &mut to.query);
            take(&from.key, &mut to.key);
            take(&from.value, &mut to.value);
            take(&from.attention_output, &mut to.attention_output);
            take(&from.ffn_in, &mut to.ffn_in);
            take(&from.ffn_out, &mut to.ffn_out);
            take_norm(&from.attention_norm, &mut to.attention_norm);
            take_norm(&from.ffn_norm, &mut to.ffn_norm);
        }
    }
}

fn values<B: Backend>(tensor: &Tensor<B, 2>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

fn take<B: Backend>(from: &Affine<B>, to: &mut Linear) {
    to.weight.data = transpose(&values(&from.weight), to.weight.rows);
    to.bias = values(&from.bias);
}

fn take_norm<B: Backend>(from: &Norm<B>, to: &mut LayerNorm) {
    to.weight = values(&from.weight);
    to.bias = values(&from.bias);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cpu, Purpose};
    use becr_model::Config;
    use burn::tensor::DType;

    #[test]
    fn weights_come_back_as_they_went() {
        let config = Config::new(11, 8, 2, 2, 12, 6);
        let weights = Weights::random(&config, 1, 5.0);
        let device = Default::default();
        let mut parameters = Parameters::<Cpu>::upload(
            &config,
            &weights,
            2,
            Purpose::Training,
            (&device, DType::F32),
        )
        .with_second_type(&weights, (&device, DType::F32));
        let mut names = Vec::new();
        parameters.visit(&mut |name, tensor| {
            names.push(name.to_owned());
            // A change that must arrive where it belongs.
            *tensor = tensor.clone().add_scalar(names.len() as f32);
        });
        let mut changed = weights.clone();
        parameters.download(&mut changed);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-5;
        let pairs = [
            (
                "embeddings.word",
                &weights.embeddings.word,
                &changed.embeddings.word,
            ),
            (
                "embeddings.position",
                &weights.embeddings.position,
                &changed.embeddings.position,
            ),
            (
                "layer.1.ffn_in.weight",
                &weights.layers[1].ffn_in.weight,
                &changed.layers[1].ffn_in.weight,
            ),
            (
                "layer.0.query.weight",
                &weights.layers[0].query.weight,
                &changed.layers[0].query.weight,
            ),
        ];
        for (name, before, after) in pairs {
            let by = 1.0 + names.iter().position(|found| found == name).unwrap() as f32;
            assert!(
                before
                    .data
                    .iter()
                    .zip(&after.data)
                    .all(|(b, a)| close(b + by, *a)),
                "{name}"
            );
        }
        assert_eq!(names.len(), 5 + 2 * 16);
        let by = 1.0
            + names
                .iter()
                .position(|name| name == "embeddings.second_type")
                .unwrap() as f32;
        let types = [&weights, &changed].map(|weights| weights.embeddings.token_type.clone());
        assert_eq!(types[0].row(0), types[1].row(0));
        let moved = types[0].row(1).iter().zip(types[1].row(1));
        assert!(
            moved.into_iter().all(|(b, a)| close(b + by, *a)),
            "the second type"
        );
    }
}
