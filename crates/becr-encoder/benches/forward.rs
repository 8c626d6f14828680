//! The forward pass alone, for work on the kernels: `cargo bench -p becr-encoder -- minilm 8 512 int8`.
//!
//! Measured: tokens per second of processor time, one thread, random weights, sequences of one length, all hidden
//! states kept; the fastest of ten passes (200 of small batches) after one of warm-up. Arguments: shape (`minilm`, `gte-small` or `bert-base`),
//! sequences, length, precision (`f32` or `int8`). `BECR_SIMD` chooses the instructions. For the comparison with other runtimes see `becr-lab bench encoder`.

use becr_encoder::{Backend, Batch, NativeEncoder, Precision};
use becr_model::{Config, Weights};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo itself adds `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let shape = arguments.first().map_or("minilm", String::as_str);
    let number = |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |a| a.parse());
    let (sequences, length) = (number(1, 8)?, number(2, 512)?);
    let precision: Precision = arguments.get(3).map_or(Ok(Precision::F32), |a| a.parse())?;
    let config = match shape {
        "minilm" => Config::new(30_522, 384, 6, 12, 1536, 512),
        "gte-small" => Config::new(30_522, 384, 12, 12, 1536, 512),
        "bert-base" => Config::new(30_522, 768, 12, 12, 3072, 512),
        other => return Err(format!("unknown shape {other}").into()),
    };
    let encoder =
        NativeEncoder::with_precision(&config, Weights::random(&config, 1, 1.0), precision)?;
    let ids = |i: usize| (0..length).map(move |j| ((i * 977 + j * 31) % 30_522) as u32);
    let batch: Batch = (0..sequences).map(ids).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut best = f64::MAX;
    let passes = if sequences * length < 1000 { 200 } else { 10 };
    for pass in 0..=passes {
        let start = cpu_seconds();
        std::hint::black_box(pool.install(|| encoder.hidden_states(&batch))?);
        if pass > 0 {
            best = best.min(cpu_seconds() - start);
        }
    }
    let speed = batch.tokens() as f64 / best;
    let simd = encoder.linear_simd();
    let milliseconds = 1000.0 * best;
    writeln!(
        std::io::stdout(),
        "{shape} {sequences} × {length}, {precision} {simd}: {speed:.0} tokens per CPU second, {milliseconds:.2} ms a batch"
    )?;
    Ok(())
}

/// Processor time of this process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
