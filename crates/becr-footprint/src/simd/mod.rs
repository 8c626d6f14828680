//! The implementations, in order of preference, and the choice between them.
//!
//! All of them do the same ([`document`]): per layer and tile, sum rows with full adders ([`adder`]), turn the digits
//! into a number per token, make distances and weighted cosines of these, add them up per term, and pool them
//! ([`pooling`]): by moments ([`crate::moments`]) or in histograms ([`histogram`], [`crate::pool`]). `docs/engine.md`
//! has an example in numbers and says which file does which stage.

#![allow(unsafe_code)]
// Loops go over several arrays of registers by the same index.
#![allow(clippy::needless_range_loop)]

mod adder;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod document;
mod histogram;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pooling;
mod portable;
pub(crate) mod project;
pub(crate) mod signs;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::prefetch::Next;
use crate::prepared::GroupFootprints;
use crate::query::GroupWeight;
use crate::workspace::Similarities;
use crate::{Error, Kernels, TiledDocument, Workspace};
use document::TilePlace;
use std::sync::OnceLock;

/// The environment variable that overrides the choice.
pub(crate) const IMPLEMENTATION_VARIABLE: &str = "BECR_SIMD";

/// A way to compute, for a kind of CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Implementation {
    /// AVX-512 with VBMI, as Ice Lake, Zen 4 and later CPUs have it: byte permutes (VBMI) look cosines up, GFNI turns
    /// digits into bytes, and products of 16-bit numbers (VNNI) add up powers.
    Avx512Vbmi,
    /// AVX2 and FMA.
    Avx2,
    /// NEON, which every 64-bit ARM CPU has.
    Neon,
    /// Plain Rust that the compiler vectorises for any CPU.
    Portable,
}

impl Implementation {
    /// All, best first.
    pub const ALL: [Self; 4] = [Self::Avx512Vbmi, Self::Avx2, Self::Neon, Self::Portable];

    /// The name, as the environment variable `BECR_SIMD` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512Vbmi => "avx512-vbmi",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
            Self::Portable => "portable",
        }
    }

    /// True if this CPU can run it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("avx512vnni")
                    && is_x86_feature_detected!("gfni")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Vbmi | Self::Avx2 => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Portable => true,
        }
    }

    /// Those that this CPU can run, best first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|i| i.is_available())
    }

    fn best() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    /// The best one, or the one that the environment variable `BECR_SIMD` names. Asked once, then remembered.
    pub fn chosen() -> Result<Self, Error> {
        static CHOICE: OnceLock<Result<Implementation, Error>> = OnceLock::new();
        CHOICE
            .get_or_init(|| match std::env::var(IMPLEMENTATION_VARIABLE) {
                Ok(name) if !name.is_empty() => Self::named(&name),
                _ => Ok(Self::best()),
            })
            .clone()
    }

    /// The implementation of that name, if this CPU can run it. `avx512`, which the encoder knows and `BECR_SIMD` may
    /// therefore say, is the best there is.
    pub fn named(name: &str) -> Result<Self, Error> {
        if name == "avx512" {
            return Ok(Self::best());
        }
        let found = Self::ALL
            .into_iter()
            .find(|i| i.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                Error::UnknownImplementation {
                    found: name.to_owned(),
                    known,
                }
            })?;
        found.check_available()?;
        Ok(found)
    }

    /// An error if this CPU cannot run it.
    pub(crate) fn check_available(self) -> Result<(), Error> {
        if self.is_available() {
            return Ok(());
        }
        let available = Self::available()
            .map(Self::name)
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::UnavailableImplementation {
            found: self.name(),
            available,
        })
    }
}

/// What the engine is asked about one document.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) groups: &'a GroupFootprints,
    pub(crate) terms: &'a [Vec<GroupWeight>],
    pub(crate) document: TiledDocument<'a>,
    /// The record that will be read after this one.
    pub(crate) next: Next<'a>,
}

/// What to do with the similarities of a tile's tokens.
pub(crate) trait Sink {
    /// Prefetches some cache lines of what will be read later.
    #[inline(always)]
    fn fetch_ahead(&mut self, _lines: usize) {}

    /// Takes the similarities, a list per term. Only as many of a list count as the tile has tokens. The lists may be
    /// overwritten.
    fn take(&mut self, place: &TilePlace, similarities: &mut [Similarities]);
}

/// An [`Implementation`] that this CPU is known to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked(Implementation);

impl Checked {
    pub(crate) fn new(implementation: Implementation) -> Result<Self, Error> {
        implementation.check_available()?;
        Ok(Self(implementation))
    }

    pub(crate) fn implementation(self) -> Implementation {
        self.0
    }

    /// Writes `ln(ε + Σ kernel)`, `[layer][term][kernel]`, into `out`.
    pub(crate) fn log_sums(
        self,
        job: Job,
        kernels: &Kernels,
        work: &mut Workspace,
        out: &mut [f32],
    ) {
        // SAFETY: `new` found the CPU able to run the implementation.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Implementation::Avx512Vbmi => avx512::log_sums(job, kernels, work, out),
                #[cfg(target_arch = "x86_64")]
                Implementation::Avx2 => avx2::log_sums(job, kernels, work, out),
                #[cfg(target_arch = "aarch64")]
                Implementation::Neon => document::log_sums::<neon::Neon>(job, kernels, work, out),
                _ => document::log_sums::<portable::Portable>(job, kernels, work, out),
            }
        }
    }

    /// Writes the similarities, `[layer][term][token]`, into `out`.
    pub(crate) fn similarities(self, job: Job, work: &mut Workspace, out: &mut [f32]) {
        // SAFETY: `new` found the CPU able to run the implementation.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Implementation::Avx512Vbmi => avx512::similarities(job, work, out),
                #[cfg(target_arch = "x86_64")]
                Implementation::Avx2 => avx2::similarities(job, work, out),
                #[cfg(target_arch = "aarch64")]
                Implementation::Neon => document::similarities::<neon::Neon>(job, work, out),
                _ => document::similarities::<portable::Portable>(job, work, out),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_understood_and_others_refused_with_the_list() {
        assert_eq!(
            Implementation::named("portable"),
            Ok(Implementation::Portable)
        );
        assert_eq!(
            Implementation::named("avx512").ok(),
            Implementation::available().next()
        );
        let error = Implementation::named("sse9").unwrap_err().to_string();
        assert!(
            error.contains("BECR_SIMD=sse9") && error.contains("avx512-vbmi"),
            "{error}"
        );
        for implementation in Implementation::ALL {
            let named = Implementation::named(implementation.name());
            if implementation.is_available() {
                assert_eq!(named, Ok(implementation));
            } else {
                assert!(named.unwrap_err().to_string().contains("portable"));
            }
        }
    }
}
