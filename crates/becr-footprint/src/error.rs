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
    /// A query needs at least one layer.
    #[error("a query of 0 layers has nothing to compare: give the layers that the documents have")]
    NoLayers,
    /// A query term is composed of nothing.
    #[error(
        "query term {term} has no token group: fall back to its WordPieces or leave the term out"
    )]
    TermWithoutGroups {
        /// Index of the term.
        term: usize,
    },
    /// A query term names a token group that is not there.
    #[error("query term {term} names token group {group}, but there are {groups}")]
    UnknownGroup {
        /// Index of the term.
        term: usize,
        /// The group it names.
        group: usize,
        /// How many groups there are.
        groups: usize,
    },
    /// The weights of a term's groups are not normalised.
    #[error("the group weights of query term {term} add up to {sum}: normalise them to 1")]
    Weights {
        /// Index of the term.
        term: usize,
        /// Sum of the absolute weights.
        sum: f32,
    },
    /// Too few or too many kernels.
    #[error("{found} kernels: the engine takes 1 to 32")]
    KernelCount {
        /// How many were given.
        found: usize,
    },
    /// A kernel's centre or width makes no sense.
    #[error("kernel {kernel} has μ = {mu}, σ = {sigma}: μ must be finite and σ positive")]
    Kernel {
        /// Index of the kernel.
        kernel: usize,
        /// Its centre.
        mu: f32,
        /// Its width.
        sigma: f32,
    },
    /// The guard of the logarithm makes no sense.
    #[error(
        "the guard ε of the logarithm is {found}: it must be a small positive number such as 1e-10"
    )]
    Epsilon {
        /// The guard that was given.
        found: f32,
    },
    /// Query and document cannot be compared.
    #[error(
        "query and document differ in {what}: {query} in the query, {document} in the document"
    )]
    Mismatch {
        /// In which property.
        what: &'static str,
        /// The query's.
        query: usize,
        /// The document's.
        document: usize,
    },
    /// One side has footprints and the other vectors.
    #[error(
        "footprints cannot be compared with raw vectors: hash the vectors with the index's hyperplanes"
    )]
    Representation,
    /// No implementation has this name.
    #[error("BECR_SIMD={found}: no such implementation; choose one of {known}")]
    UnknownImplementation {
        /// The name that was given.
        found: String,
        /// The names there are.
        known: String,
    },
    /// The CPU lacks what the implementation needs.
    #[error("BECR_SIMD={found}: this CPU cannot run it; it can run {available}")]
    UnavailableImplementation {
        /// The implementation asked for.
        found: &'static str,
        /// The names of those that can run here.
        available: String,
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
