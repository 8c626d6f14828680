//! Our own encoder, in a process of its own.

use super::{Args, EncoderMeasurement, Setting};
use crate::index::peak_memory;
use becr_encoder::{Backend, Batch, NativeEncoder, Precision};
use becr_model::{Config, Weights};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The command that measures it: this program, once more.
pub(super) fn command(
    args: &Args,
    setting: &Setting<'_>,
    precision: Precision,
) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let (sequences, length) = setting.batch;
    command
        .args(["bench", "encoder", "--own"])
        .arg(setting.directory)
        .args(["--threads", &setting.threads.to_string()])
        .args(["--batches", &format!("{sequences}x{length}")])
        .args(["--precisions", precision.name()])
        .args(["--seconds", &args.seconds.to_string()]);
    Ok(command)
}

/// Seconds of passes whose processor time is taken together. The clock of a thread on another core is behind by up to
/// milliseconds when it is read: the least of many short differences would be the worst of its errors.
const ROUND: f64 = 0.1;

/// Times it in this process.
pub(super) fn measure(args: &Args, directory: &Path) -> anyhow::Result<EncoderMeasurement> {
    let config = Config::read(&directory.join("config.json"))?;
    let weights = Weights::read(&directory.join("model.safetensors"), &config)?;
    let precision = args.precisions.first().copied().unwrap_or_default();
    let encoder = NativeEncoder::with_precision(&config, weights, precision)?;
    let threads = args.threads.first().copied().unwrap_or(1);
    let (sequences, length) = args.batches.first().copied().unwrap_or((1, 1));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let id = |i: usize, j: usize| ((i * 977 + j * 31) % config.vocab_size) as u32;
    let batch: Batch = (0..sequences)
        .map(|i| (0..length).map(move |j| id(i, j)))
        .collect();
    let mut states = pool.install(|| encoder.hidden_states(&batch))?;
    let (mut wall, mut cpu) = (f64::MAX, f64::MAX);
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 3 || start.elapsed().as_secs_f64() < args.seconds {
        let (round, cpu_start, mut passes) = (Instant::now(), cpu_seconds(), 0.0);
        while passes == 0.0 || round.elapsed().as_secs_f64() < ROUND {
            drop(states); // the other runtimes give their outputs back before the next pass, too
            let wall_start = Instant::now();
            states = pool.install(|| encoder.hidden_states(&batch))?;
            wall = wall.min(wall_start.elapsed().as_secs_f64());
            passes += 1.0;
        }
        cpu = cpu.min((cpu_seconds() - cpu_start) / passes);
        rounds += 1;
    }
    let tokens = batch.tokens() as f64;
    let last = states.layers.last().map(Vec::as_slice).unwrap_or_default();
    Ok(EncoderMeasurement {
        runtime: "becr".into(),
        version: format!("{} {}", env!("CARGO_PKG_VERSION"), encoder.linear_simd()),
        tokens_per_second: tokens / wall,
        tokens_per_cpu_second: tokens / cpu,
        milliseconds: 1000.0 * wall,
        peak_mib: peak_memory().map(|bytes| bytes as f64 / 1_048_576.0),
        probe: last[..last.len().min(config.hidden_size)].to_vec(),
    })
}

/// Processor time of all threads of this process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
