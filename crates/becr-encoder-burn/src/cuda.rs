//! NVIDIA GPUs.

use crate::encoder::BurnEncoder;
use crate::shapes::Shapes;
use crate::turn::error;
use becr_encoder::{Backend, EncodeError};
use becr_model::{Config, Weights};
use burn::backend::cuda::CudaDevice;
use burn::cubecl::config::autotune::AutotuneLevel;
use burn::cubecl::config::cache::CacheConfig;
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
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
/// in batches of several times `tokens_per_launch` ([`TOKENS_PER_LAUNCH`]), so that the device is not left waiting.
pub fn on_cuda(
    config: &Config,
    weights: &Weights,
    index: usize,
    tokens_per_launch: usize,
    cache: &Path,
) -> Result<Box<dyn Backend>, EncodeError> {
    prepare(cache)?;
    let shapes = Shapes::fixed(tokens_per_launch);
    let encoder = BurnEncoder::<Cuda>::new(config, weights, CudaDevice::new(index), shapes)?;
    Ok(Box::new(encoder))
}

/// Checks that a GPU can be used at all and chooses where its kernels are kept: before the first tensor.
pub fn prepare(cache: &Path) -> Result<(), EncodeError> {
    find_driver(&["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"])?;
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

/// Looks for the driver before burn does, which would panic without it.
fn find_driver(devices: &[&str]) -> Result<(), EncodeError> {
    if devices.iter().any(|device| Path::new(device).exists()) {
        return Ok(());
    }
    Err(error(format!(
        "no NVIDIA GPU here: none of {} exists; install the NVIDIA driver, or use the CPU instead",
        devices.join(", ")
    )))
}

/// Looks for the CUDA headers that kernels are compiled with at run time.
fn find_headers(cuda_path: Option<PathBuf>) -> Result<(), EncodeError> {
    let usual = ["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from);
    let places = cuda_path.map_or(usual.to_vec(), |path| vec![path]);
    let headers = |place: &PathBuf| place.join("include");
    if places.iter().map(headers).any(|path| path.exists()) {
        return Ok(());
    }
    let tried: Vec<_> = places
        .iter()
        .map(|p| headers(p).display().to_string())
        .collect();
    Err(error(format!(
        "kernels are compiled when they are first needed, but the CUDA headers are not at {}; point CUDA_PATH \
         to a CUDA installation (the headers and libnvrtc suffice)",
        tried.join(" or ")
    )))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_told_so() {
        let message = find_driver(&["/nowhere/nvidiactl"])
            .unwrap_err()
            .to_string();
        assert!(message.contains("/nowhere/nvidiactl") && message.contains("NVIDIA driver"));
    }

    #[test]
    fn missing_headers_name_the_variable() {
        let directory = tempfile::tempdir().unwrap();
        let found = find_headers(Some(directory.path().to_path_buf()));
        let message = found.unwrap_err().to_string();
        assert!(message.contains("CUDA_PATH") && message.contains("include"));
    }
}
