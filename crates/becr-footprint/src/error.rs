//! What can be wrong with the engine's input.

/// An input the engine cannot work with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The footprint width is not supported.
    #[error(
        "a footprint of {found} bits is not supported: choose a multiple of 32 from 32 to 1024"
    )]
    Bits {
        /// The width asked for.
        found: usize,
    },
    /// Vectors need at least one dimension.
    #[error("vectors of 0 dimensions cannot be hashed: the dimension is the encoder's hidden size")]
    NoDimensions,
    /// A slice does not have the length that its meaning demands.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// What was measured, and in which unit.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
}

impl Error {
    /// `Ok` if `found` is `expected`, otherwise [`Error::Length`].
    pub(crate) fn check_length(
        what: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), Self> {
        if expected == found {
            Ok(())
        } else {
            Err(Self::Length {
                what,
                expected,
                found,
            })
        }
    }
}
