//! What computes hidden states: the flags of every command that encodes.

use anyhow::bail;
use becr_encoder::{Backend, Encoder, NativeEncoder, Precision};
use becr_model::{Config, Model, Weights};
use std::path::{Path, PathBuf};

/// Launches of a batch on a GPU: several, so that it is not left waiting, but not so many that a whole build is a few
/// batches, whose vectors the processor has to hash while the GPU has nothing left to do.
const LAUNCHES: usize = 4;

/// What computes, as the command line says.
#[derive(Clone, clap::Args)]
pub struct Args {
    /// What computes.
    #[arg(long, value_enum, default_value_t, env = "BECR_BACKEND")]
    backend: Kind,
    /// Where --backend burn computes.
    #[arg(long, value_enum, default_value_t, env = "BECR_DEVICE")]
    device: Device,
    /// What the encoder computes in, f32 or int8 (--backend native alone) [default: as the index was built; a new one of
    /// the bundled model int8, others f32].
    #[arg(long, env = "BECR_PRECISION")]
    precision: Option<Precision>,
    /// Where the kernels tuned and compiled for a GPU are kept [default: becr/kernels in the user's cache directory].
    #[arg(long, value_name = "DIR", env = "BECR_KERNELS")]
    kernels: Option<PathBuf>,
    /// Tokens that go through the model together on a GPU; lower it if the GPU's memory does not suffice.
    #[arg(
        long,
        value_name = "TOKENS",
        default_value_t = 32_768,
        env = "BECR_LAUNCH_TOKENS"
    )]
    launch_tokens: usize,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Kind {
    /// Our own code for CPUs.
    #[default]
    Native,
    /// The burn framework; needs a build with the feature `burn`.
    Burn,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Device {
    /// The processor: slower than --backend native, to check the computation.
    #[default]
    Cpu,
    /// An NVIDIA GPU; needs a build with the feature `cuda-plain`.
    Cuda,
}

impl Args {
    /// Whether nothing was asked for but our own code on the CPU, in the precision of the index.
    pub fn is_default(&self) -> bool {
        matches!((self.backend, self.device), (Kind::Native, Device::Cpu))
            && self.precision.is_none()
    }

    /// Whether a GPU was asked for.
    pub fn is_cuda(&self) -> bool {
        matches!(self.device, Device::Cuda)
    }

    /// Joins a model and what computes, in f32 unless said otherwise.
    pub fn open(&self, model: Model) -> anyhow::Result<Encoder> {
        self.open_in(model, Precision::F32)
    }

    /// The same for a new index: in what is right for its model, where our own code computes.
    pub(crate) fn open_new(&self, model: Model) -> anyhow::Result<Encoder> {
        let precision = match self.backend {
            Kind::Native => becr::models::precision(&model),
            Kind::Burn => Precision::F32,
        };
        self.open_in(model, precision)
    }

    /// Joins a model and what computes, in `default` unless said otherwise.
    pub(crate) fn open_in(&self, model: Model, default: Precision) -> anyhow::Result<Encoder> {
        let precision = self.precision.unwrap_or(default);
        if matches!(self.backend, Kind::Burn) && precision != Precision::F32 {
            bail!("burn computes in f32; {precision} needs --backend native")
        }
        let Model {
            config,
            tokenizer,
            weights,
            ..
        } = model;
        let encoder = match (self.backend, self.device) {
            (Kind::Native, Device::Cpu) => {
                let backend = NativeEncoder::with_precision(&config, weights, precision)?;
                Encoder::new(&tokenizer, Box::new(backend))?
            }
            (Kind::Native, Device::Cuda) => {
                bail!("our own code computes on the CPU; use --backend burn --device cuda")
            }
            (Kind::Burn, Device::Cpu) => Encoder::new(&tokenizer, burn(&config, &weights)?)?,
            (Kind::Burn, Device::Cuda) => {
                let (tokens, kernels) = (self.launch_tokens, self.kernels.as_deref());
                let backend = cuda(&config, &weights, tokens, kernels)?;
                let tokens = LAUNCHES.saturating_mul(tokens);
                Encoder::new(&tokenizer, backend)?.with_batch_tokens(tokens)
            }
        };
        Ok(encoder)
    }
}

#[cfg(feature = "burn")]
fn burn(config: &Config, weights: &Weights) -> anyhow::Result<Box<dyn Backend>> {
    Ok(becr_encoder_burn::on_cpu(config, weights)?)
}

#[cfg(not(feature = "burn"))]
fn burn(_: &Config, _: &Weights) -> anyhow::Result<Box<dyn Backend>> {
    bail!(
        "this becr was built without burn; build it with `--features burn`, or use --backend native"
    )
}

#[cfg(feature = "cuda-plain")]
fn cuda(
    config: &Config,
    weights: &Weights,
    launch_tokens: usize,
    kernels: Option<&Path>,
) -> anyhow::Result<Box<dyn Backend>> {
    use becr_encoder_burn::cuda;
    let kernels = kernels.map_or_else(cuda::default_cache, Path::to_path_buf);
    let backend = cuda::on_cuda(config, weights, 0, launch_tokens, &kernels)?;
    Ok(backend)
}

#[cfg(not(feature = "cuda-plain"))]
fn cuda(_: &Config, _: &Weights, _: usize, _: Option<&Path>) -> anyhow::Result<Box<dyn Backend>> {
    bail!(
        "this becr was built without GPU support; build it with `--features cuda-plain`, or use --backend native"
    )
}
