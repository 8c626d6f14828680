//! What a GPU needs before its first tensor, looked for where burn would panic without it.

use crate::turn::error;
use becr_encoder::EncodeError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Looks for the driver before burn does, which would panic without it.
pub(crate) fn find_driver(devices: &[&str]) -> Result<(), EncodeError> {
    if devices.iter().any(|device| Path::new(device).exists()) {
        return Ok(());
    }
    Err(error(format!(
        "no NVIDIA GPU here: none of {} exists; install the NVIDIA driver, or use the CPU instead",
        devices.join(", ")
    )))
}

/// Looks for a GPU by its number.
pub(crate) fn find_gpu(index: usize, count: usize) -> Result<(), EncodeError> {
    let there = match count {
        0 => "the driver shows none or cannot be started, see nvidia-smi".to_owned(),
        1 => "there is one, number 0".to_owned(),
        _ => format!("there are {count}, numbers 0 to {}", count - 1),
    };
    match index < count {
        true => Ok(()),
        false => Err(error(format!(
            "no GPU with the number {index}: {there} (CUDA_VISIBLE_DEVICES chooses and numbers those that a process sees)"
        ))),
    }
}

/// Looks for the CUDA headers that kernels are compiled with at run time.
pub(crate) fn find_headers(cuda_path: Option<PathBuf>) -> Result<(), EncodeError> {
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

/// The models of this machine's GPUs, as the driver lists them: each once, in alphabetical order.
pub(crate) fn gpu_models(list: &Path) -> Vec<String> {
    let gpus = std::fs::read_dir(list).into_iter().flatten().flatten();
    let about = gpus.filter_map(|gpu| std::fs::read_to_string(gpu.path().join("information")).ok());
    let model = |about: String| {
        let mut lines = about.lines();
        let line = lines.find_map(|line| line.strip_prefix("Model:"))?;
        Some(line.trim().to_owned())
    };
    let models: BTreeSet<String> = about.filter_map(model).collect();
    models.into_iter().collect()
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
    fn a_gpu_that_is_not_there_is_told_by_its_number() {
        assert!(find_gpu(0, 1).is_ok() && find_gpu(3, 4).is_ok());
        for (index, count, told) in [(0, 0, "none"), (1, 1, "one, number 0"), (4, 4, "0 to 3")] {
            let message = find_gpu(index, count).unwrap_err().to_string();
            let number = format!("number {index}");
            assert!(
                message.contains(&number) && message.contains(told),
                "{message}"
            );
        }
    }

    #[test]
    fn gpus_are_named_by_the_driver() {
        let list = tempfile::tempdir().unwrap();
        assert!(gpu_models(&list.path().join("none")).is_empty());
        for (gpu, model) in ["Small", "Large", "Small"].iter().enumerate() {
            let folder = list.path().join(format!("0000:0{gpu}:00.0"));
            std::fs::create_dir(&folder).unwrap();
            let about = format!("Model: \t\t {model} GPU\nIRQ:   \t\t 16\n");
            std::fs::write(folder.join("information"), about).unwrap();
        }
        assert_eq!(gpu_models(list.path()), ["Large GPU", "Small GPU"]);
    }

    #[test]
    fn missing_headers_name_the_variable() {
        let directory = tempfile::tempdir().unwrap();
        let found = find_headers(Some(directory.path().to_path_buf()));
        let message = found.unwrap_err().to_string();
        assert!(message.contains("CUDA_PATH") && message.contains("include"));
    }
}
