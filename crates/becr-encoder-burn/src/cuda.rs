//! NVIDIA GPUs.

use crate::check::check_device;
use crate::encoder::BurnEncoder;
use crate::gpu::{find_driver, find_gpu, find_headers, gpu_models};
use crate::shapes::Shapes;
use crate::turn::error;
use becr_encoder::{Backend, EncodeError};
use becr_model::{Config, Weights};
use burn::backend::cuda::CudaDevice;
use burn::cubecl::config::autotune::AutotuneLevel;
use burn::cubecl::config::cache::CacheConfig;
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use burn::cubecl::cuda::CudaRuntime;
use burn::cubecl::prelude::Runtime;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// burn's CUDA backend.
pub type Cuda = burn::backend::Cuda<f32, i32>;

/// Tokens that go through the model together, unless a GPU has too little memory: enough to fill a large one. At 512
/// positions and 12 heads the attention weights of so many take 0.8 GB, a few times over.
pub const TOKENS_PER_LAUNCH: usize = 32_768;

/// An encoder on the `index`-th GPU.
///
/// Kernels are tuned and compiled when a shape is first met, which takes minutes; `cache` keeps them for the next
/// process ([`default_cache`] where in doubt). The first encoder of a process decides the place. Documents should come
/// in batches of several times `tokens_per_launch` ([`TOKENS_PER_LAUNCH`]), so that the device is not left waiting. A device
/// that computes other vectors than the processor is refused.
pub fn on_cuda(
    config: &Config,
    weights: &Weights,
    index: usize,
    tokens_per_launch: usize,
    cache: &Path,
) -> Result<Box<dyn Backend>, EncodeError> {
    prepare(index, cache)?;
    let shapes = match cfg!(feature = "tuned") {
        true => Shapes::fixed(tokens_per_launch),
        false => Shapes::stepped(tokens_per_launch),
    };
    let encoder = BurnEncoder::<Cuda>::new(config, weights, CudaDevice::new(index), shapes)?;
    let kernels = match cfg!(feature = "tuned") {
        true => "tuned",
        false => "plain",
    };
    let gpus = gpu_models("/proc/driver/nvidia/gpus".as_ref());
    let encoder = encoder.named(format!("cuda {kernels} {}", gpus.join(", ")));
    check_device(&encoder, config, weights)?;
    Ok(Box::new(encoder))
}

/// Checks that the `index`-th GPU can be used and chooses where its kernels are kept: before the first tensor.
pub fn prepare(index: usize, cache: &Path) -> Result<(), EncodeError> {
    find_driver(&["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"])?;
    find_gpu(index, count_gpus()?)?;
    find_headers(std::env::var_os("CUDA_PATH").map(PathBuf::from))?;
    keep_kernels(cache)
}

/// `becr/kernels` in the user's cache directory (`XDG_CACHE_HOME`, else `~/.cache`, else here).
pub fn default_cache() -> PathBuf {
    let from_home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(from_home)
        .unwrap_or_default()
        .join("becr/kernels")
}

/// Asks the driver how many GPUs this process may use, without touching one.
fn count_gpus() -> Result<usize, EncodeError> {
    // The driver's library is loaded here; where it is not found there is a panic.
    let devices = || CudaRuntime::enumerate_devices(0, &());
    let devices = std::panic::catch_unwind(devices).map_err(|_| {
        error("the library of the NVIDIA driver (libcuda) cannot be loaded; is it where the system looks for libraries?")
    })?;
    Ok(devices.len())
}

/// Chooses little tuning, and where its results and compiled kernels are kept. `CUBECL_AUTOTUNE_LEVEL` overrides
/// the first.
fn keep_kernels(cache: &Path) -> Result<(), EncodeError> {
    std::fs::create_dir_all(cache).map_err(|problem| {
        error(format!(
            "cannot keep compiled kernels in {}: {problem}",
            cache.display()
        ))
    })?;
    let mut config = CubeClRuntimeConfig::default();
    config.autotune.level = AutotuneLevel::Minimal;
    config.autotune.cache = CacheConfig::File(cache.to_path_buf());
    config.compilation.cache = Some(CacheConfig::File(cache.to_path_buf()));
    let config = Arc::new(config.override_from_env());
    // A process has one configuration. Setting it twice panics, so the first one stays.
    CubeClRuntimeConfig::storage().lock().get_or_insert(config);
    Ok(())
}
