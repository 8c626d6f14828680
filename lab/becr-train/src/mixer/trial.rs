//! Whether a device computes what the encoder computes.
//!
//! A teacher that errs trains as smoothly as a good one: its errors look like a harder task. (Tuned and joined kernels did
//! on a GPU, in 32 bits too, with a mean cosine of .64, and cost a mixer .09 of its own; plain ones are right.) So a few
//! queries go through the device and through 32-bit numbers on the CPU before anything is learned.

use super::pack::{Packer, SLOTS};
use super::teacher::Teacher;
use super::texts::Texts;
use crate::{Observer, TrainError};
use becr_encoder_burn::Cpu;
use becr_model::Model;
use burn::tensor::backend::Backend;

/// Queries that are compared: some that are short and, being spans of documents, some that are long.
const QUERIES: usize = 12;
const SPAN: usize = 16;

/// The mean cosine that is asked for. 19-bit numbers (TF32) reach .9999.
const ENOUGH: f64 = 0.999;

/// The teacher on a device: in 16 bits if that is asked for and good enough, else in 32.
pub(super) fn teacher<B: Backend>(
    model: &Model,
    texts: &Texts,
    (rows, half): (usize, bool),
    device: &B::Device,
    observer: &mut dyn Observer,
) -> Result<Teacher<B>, TrainError> {
    let exact = Teacher::<Cpu>::new(model, false, &Default::default())?;
    let queries = some_of(texts);
    let small = Packer::all(texts, queries.len().min(rows), &queries);
    let expected = exact.vectors(&small);
    let used: Vec<usize> = (0..small.rows * SLOTS)
        .filter(|&slot| small.places[slot].is_some())
        .collect();
    let cosine = |teacher: &Teacher<B>| {
        // As many rows as a step has: a device may compute other shapes in other ways.
        let found = teacher.vectors(&Packer::all(texts, rows, &queries));
        mean_cosine(&used, &found, &expected, model.config.hidden_size)
    };
    if half {
        let teacher = Teacher::<B>::new(model, true, device)?;
        let reached = cosine(&teacher);
        if reached >= ENOUGH {
            return Ok(teacher);
        }
        observer.note(&format!(
            "16 bits give other vectors on this device (mean cosine {reached:.4}): the teacher reads in 32"
        ));
    }
    let teacher = Teacher::<B>::new(model, false, device)?;
    let reached = cosine(&teacher);
    match reached >= ENOUGH {
        true => Ok(teacher),
        false => Err(TrainError::Device(format!(
            "this device computes other vectors than the CPU (mean cosine {reached:.4}, at least {ENOUGH} wanted); \
             a program with tuned kernels does: build it with --features train,cuda-plain, or train with device = \"cpu\""
        ))),
    }
}

fn some_of(texts: &Texts) -> Vec<Vec<u32>> {
    let queries = (0..texts.queries.len().min(QUERIES)).map(|n| texts.queries.text(n).to_vec());
    let words = texts.documents.words.len();
    let spans =
        (0..QUERIES.min(words)).map(|n| texts.documents.span(n * words / QUERIES, SPAN).to_vec());
    queries.chain(spans).collect()
}

/// Over the slots that hold a word or a query; NaN if one of them has no numbers.
fn mean_cosine(slots: &[usize], found: &[f32], expected: &[f32], dim: usize) -> f64 {
    let cosine = |&slot: &usize| {
        let rows = [found, expected].map(|all| &all[slot * dim..][..dim]);
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let products = a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y));
            products.sum()
        };
        dot(rows[0], rows[1]) / (dot(rows[0], rows[0]) * dot(rows[1], rows[1])).sqrt()
    };
    slots.iter().map(cosine).sum::<f64>() / slots.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_differ_are_seen() {
        let value = |at: usize| (at as f32 * 0.7).sin();
        let expected: Vec<f32> = (0..40).map(value).collect();
        let cosine = |found: &[f32]| mean_cosine(&[1, 2, 4], found, &expected, 8);
        assert!(cosine(&expected) > 1.0 - 1e-9);
        let rough: Vec<f32> = (0..40).map(|at| value(at) + 0.1 * value(3 * at)).collect();
        assert!(cosine(&rough) < ENOUGH);
        assert!(cosine(&[f32::NAN; 40]).is_nan());
    }
}
