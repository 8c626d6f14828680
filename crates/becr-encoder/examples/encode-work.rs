//! A fixed amount of work, for counting instructions: `encode-work f32|int8 N` encodes 32 tokens with one layer of MiniLM's shape
//! and random weights, `N` times. `BECR_SIMD` chooses the instructions. See `.ci/arm/count`.

use becr_encoder::{Backend, Batch, NativeEncoder};
use becr_model::{Config, Weights};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let precision = arguments.next().ok_or("a precision")?.parse()?;
    let times = arguments.next().ok_or("how often")?.parse()?;
    let config = Config::new(1_000, 384, 1, 12, 1536, 512);
    let encoder =
        NativeEncoder::with_precision(&config, Weights::random(&config, 1, 1.0), precision)?;
    let ids = |i: u32| (0..32).map(move |j| (i * 977 + j * 31) % 1_000);
    let batch: Batch = (0..1).map(ids).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut sum = 0.0f32;
    for _ in 0..times {
        let states = pool.install(|| encoder.hidden_states(&batch))?;
        sum += std::hint::black_box(states).layers[0][0];
    }
    writeln!(std::io::stdout(), "{} {sum}", encoder.linear_simd())?;
    Ok(())
}
