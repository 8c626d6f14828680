//! Our own encoder on the CPU, in the place that BERT has in the models.

use super::{Args, BaselineRow, EncoderShape};
use becr_encoder::{Backend, Batch, NativeEncoder, Precision};
use becr_model::Weights;
use std::time::{Duration, Instant};

/// Documents that are read with the query; the others take as long.
const ENOUGH: usize = 4;
/// Tokens of a ColBERT query, whatever its words.
const COLBERT: usize = 32;
const BUDGET: Duration = Duration::from_secs(2);
const REPETITIONS: std::ops::RangeInclusive<usize> = 2..=200;

/// BERT over every document with the query, and the encoder over queries.
pub(super) fn measure(args: &Args, shape: EncoderShape) -> anyhow::Result<Vec<BaselineRow>> {
    let config = shape.config();
    let encoder =
        NativeEncoder::with_precision(&config, Weights::random(&config, 1, 1.0), Precision::F32)?;
    let id = |i: usize, j: usize| ((i * 977 + j * 31) % config.vocab_size) as u32;
    let seconds = |sequences: usize, length: usize| -> anyhow::Result<f64> {
        let batch: Batch = (0..sequences)
            .map(|i| (0..length).map(move |j| id(i, j)))
            .collect();
        let (begun, mut times) = (Instant::now(), Vec::new());
        while times.len() < *REPETITIONS.start()
            || times.len() < *REPETITIONS.end() && begun.elapsed() < BUDGET
        {
            let once = Instant::now();
            std::hint::black_box(encoder.hidden_states(&batch)?);
            times.push(once.elapsed().as_secs_f64());
        }
        // The first warms up.
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 4])
    };
    let mut rows = Vec::new();
    for &n in &args.n {
        let positions = config.max_position_embeddings;
        let pieces = args.tokens.div_ceil(positions - 3 - n.min(positions - 4));
        let length = args.tokens.div_ceil(pieces) + n + 3;
        let measured = args.documents.min(ENOUGH);
        let whole = seconds(measured * pieces, length.min(positions))?;
        let scale = args.documents as f64 / measured as f64;
        let mut add = |model: &str, seconds: f64| {
            rows.push(args.row(model.to_owned(), Some(shape), "becr", n, seconds));
        };
        add("BERT", whole * scale);
        add("encoder, query", seconds(1, n + 2)?);
        add("encoder, 32 tokens", seconds(1, COLBERT.min(positions))?);
    }
    Ok(rows)
}
