//! The two forms of the result.

use super::{EncodedText, Values};
use anyhow::Context;
use becr_encoder::Shape;
use becr_model::{Data, Tensor, write_tensors};
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn safetensors(
    path: &Path,
    header: &Value,
    shape: &Shape,
    results: &[EncodedText],
) -> anyhow::Result<()> {
    let mut tensors = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let name = |base: &str| {
            if results.len() == 1 {
                base.to_owned()
            } else {
                format!("{base}.{i}")
            }
        };
        let rows = vec![shape.layers.len(), result.tokens.len()];
        match &result.values {
            Values::Hidden(states) => {
                let shape = [rows, vec![shape.dim]].concat();
                tensors.push(Tensor {
                    name: name("hidden"),
                    shape,
                    data: Data::F32(states),
                });
            }
            Values::Footprints(document) => {
                let footprints = [rows, vec![shape.width()]].concat();
                tensors.push(Tensor {
                    name: name("footprints"),
                    shape: footprints,
                    data: Data::U32(&document.footprints),
                });
                tensors.push(Tensor {
                    name: name("cls"),
                    shape: vec![shape.dim],
                    data: Data::F32(&document.cls),
                });
                tensors.push(Tensor {
                    name: name("mean"),
                    shape: vec![shape.dim],
                    data: Data::F32(&document.mean),
                });
            }
        }
    }
    let tokens: Vec<_> = results.iter().map(|result| &result.tokens).collect();
    let tokens = serde_json::to_string(&tokens)?;
    let layers = header["layers"].to_string();
    let id = header["encoder_id"].as_str().unwrap_or_default();
    write_tensors(
        path,
        &tensors,
        &[("encoder_id", id), ("layers", &layers), ("tokens", &tokens)],
    )?;
    Ok(())
}

pub(super) fn json(
    path: &Path,
    mut header: Value,
    shape: &Shape,
    results: &[EncodedText],
) -> anyhow::Result<()> {
    let texts: Vec<Value> = results
        .iter()
        .map(|result| text_json(shape, result))
        .collect();
    header["texts"] = texts.into();
    let mut bytes = serde_json::to_vec(&header)?;
    bytes.push(b'\n');
    use std::io::Write;
    match crate::output::is_standard(path) {
        true => std::io::stdout().lock().write_all(&bytes),
        false => std::fs::write(path, bytes),
    }
    .with_context(|| format!("cannot write {}", path.display()))
}

/// Vectors as numbers per layer and token; footprints as hexadecimal, eight digits per 32 bits, bit 0 last in each.
fn text_json(shape: &Shape, result: &EncodedText) -> Value {
    let rows = result.tokens.len();
    match &result.values {
        Values::Hidden(states) => {
            let of_layer = |layer: &[f32]| {
                layer
                    .chunks_exact(shape.dim)
                    .map(|row| json!(row))
                    .collect::<Vec<_>>()
            };
            let layers: Vec<_> = states
                .chunks_exact(rows * shape.dim)
                .map(of_layer)
                .collect();
            json!({"tokens": result.tokens, "hidden": layers})
        }
        Values::Footprints(document) => {
            let hex = |words: &[u32]| {
                words
                    .iter()
                    .map(|word| format!("{word:08x}"))
                    .collect::<String>()
            };
            let of_layer = |layer| {
                (0..rows)
                    .map(|row| hex(document.footprint(layer, row, shape.width())))
                    .collect()
            };
            let layers: Vec<Vec<String>> = (0..shape.layers.len()).map(of_layer).collect();
            json!({"tokens": result.tokens, "footprints": layers, "cls": document.cls, "mean": document.mean})
        }
    }
}
