//! Where a training is computed.

use super::{Trained, Training};
use crate::{Observer, TrainError};
use burn::backend::{Autodiff, Flex};
use serde::{Deserialize, Serialize};

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU by its number. Worth it where the encoder is trained.
    Cuda(usize),
}

/// Runs a training on a device.
pub(super) fn run(
    device: Device,
    training: &Training<'_>,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    match device {
        Device::Cpu => training.run::<Autodiff<Flex>>(Default::default(), observer),
        Device::Cuda(index) => cuda(index, training, observer),
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda(index: usize, _: &Training<'_>, _: &mut dyn Observer) -> Result<Trained, TrainError> {
    Err(TrainError::Device(format!(
        "GPU {index} was asked for, but this program was built without GPUs; build it with --features train,cuda, \
         or train on the CPU"
    )))
}

#[cfg(feature = "cuda")]
fn cuda(
    index: usize,
    training: &Training<'_>,
    observer: &mut dyn Observer,
) -> Result<Trained, TrainError> {
    use becr_encoder_burn::cuda::{Cuda, default_cache, prepare};
    use burn::backend::cuda::CudaDevice;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    prepare(&default_cache())?;
    // burn panics where the device fails: no memory left, no such GPU, a lost driver.
    let run = || training.run::<Autodiff<Cuda>>(CudaDevice::new(index), observer);
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
