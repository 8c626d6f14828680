//! Where a training is computed.

use crate::TrainError;
use burn::backend::{Autodiff, Flex};
use burn::tensor::backend::AutodiffBackend;
use serde::{Deserialize, Serialize};

/// A device. In files: `"cpu"`, `"cuda"`, `"cuda:1"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU by its number. Worth it where the encoder is trained.
    Cuda(usize),
}

impl TryFrom<String> for Device {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let number = |name: &str| match name.strip_prefix(':') {
            Some(number) => number.parse().ok(),
            None => name.is_empty().then_some(0),
        };
        match name.strip_prefix("cuda").map(number) {
            Some(Some(index)) => Ok(Self::Cuda(index)),
            None if name == "cpu" => Ok(Self::Cpu),
            _ => Err(format!(
                "no device {name:?}; there are cpu, cuda, and cuda:1 for a second GPU"
            )),
        }
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        match device {
            Device::Cpu => "cpu".into(),
            Device::Cuda(index) => format!("cuda:{index}"),
        }
    }
}

impl Device {
    /// Refuses a device that is not there: before the data is read and indexed for it.
    pub fn check(self) -> Result<(), TrainError> {
        match self {
            Self::Cpu => Ok(()),
            Self::Cuda(index) => check_cuda(index),
        }
    }
}

/// A training, whatever it is of.
pub(crate) trait OnDevice {
    /// What comes of it.
    type Made;

    /// Trains on a device.
    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<Self::Made, TrainError>;
}

/// Runs a training on a device.
pub(crate) fn run_on<J: OnDevice>(device: Device, job: J) -> Result<J::Made, TrainError> {
    match device {
        Device::Cpu => job.on::<Autodiff<Flex>>(Default::default()),
        Device::Cuda(index) => cuda(index, job),
    }
}

#[cfg(not(feature = "cuda"))]
fn check_cuda(index: usize) -> Result<(), TrainError> {
    Err(without_gpus(index))
}

#[cfg(not(feature = "cuda"))]
fn cuda<J: OnDevice>(index: usize, _: J) -> Result<J::Made, TrainError> {
    Err(without_gpus(index))
}

#[cfg(not(feature = "cuda"))]
fn without_gpus(index: usize) -> TrainError {
    TrainError::Device(format!(
        "GPU {index} was asked for, but this program was built without GPUs; build it with --features \
         train,cuda-plain, or train on the CPU"
    ))
}

#[cfg(feature = "cuda")]
fn check_cuda(index: usize) -> Result<(), TrainError> {
    use becr_encoder_burn::cuda::{default_cache, prepare};
    Ok(prepare(index, &default_cache())?)
}

#[cfg(feature = "cuda")]
fn cuda<J: OnDevice>(index: usize, job: J) -> Result<J::Made, TrainError> {
    use becr_encoder_burn::cuda::Cuda;
    use burn::backend::cuda::CudaDevice;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    check_cuda(index)?;
    // burn panics where the device fails: no memory left, a lost driver.
    let run = || job.on::<Autodiff<Cuda>>(CudaDevice::new(index));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let said = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(TrainError::Device(format!(
            "GPU {index} failed: {}; if its memory is full, lower batch and raise accumulate. The same command goes on \
             from the last checkpoint",
            said.trim()
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        assert!(Device::Cpu.check().is_ok());
        #[cfg(not(feature = "cuda"))]
        {
            let message = Device::Cuda(1).check().unwrap_err().to_string();
            assert!(
                message.contains("GPU 1") && message.contains("--features"),
                "{message}"
            );
        }
    }

    #[test]
    fn devices_have_names() {
        for (name, device, back) in [
            ("cpu", Device::Cpu, "cpu"),
            ("cuda", Device::Cuda(0), "cuda:0"),
            ("cuda:3", Device::Cuda(3), "cuda:3"),
        ] {
            assert_eq!(Device::try_from(name.to_owned()), Ok(device));
            assert_eq!(String::from(device), back);
        }
        for name in ["", "gpu", "cuda3", "cuda:", "cuda:x", "CPU"] {
            assert!(Device::try_from(name.to_owned()).is_err(), "{name}");
        }
    }
}
