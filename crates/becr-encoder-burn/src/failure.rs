//! Failures of a device as errors.

use becr_encoder::EncodeError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The name of this backend.
pub(crate) const NAME: &str = "burn";

/// An error of this backend.
pub(crate) fn error(problem: impl Into<String>) -> EncodeError {
    EncodeError::Backend {
        backend: NAME,
        problem: problem.into(),
    }
}

/// Runs code that uses a device. burn panics where the device fails (no memory left, a kernel that does not
/// compile, a lost driver), and a caller that encodes for hours needs an error it can report.
pub(crate) fn guard<T>(
    doing: &str,
    work: impl FnOnce() -> Result<T, EncodeError>,
) -> Result<T, EncodeError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let said = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(error(format!(
            "the device failed while {doing}: {}; with too little memory, lower the tokens per launch",
            said.trim()
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_device_is_an_error() {
        let failed = guard::<()>("testing", || panic!("out of memory")).unwrap_err();
        let message = failed.to_string();
        assert!(message.contains("burn") && message.contains("while testing: out of memory"));
    }
}
