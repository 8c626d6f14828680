//! The engine: what the ranker calls.

use crate::prefetch::Next;
use crate::query::GroupVectors;
use crate::simd::{Checked, Implementation, Job};
use crate::{CompositeQuery, Error, Kernels, TiledDocument, VectorDocument, Workspace, pool};

/// The tokens of a document, as the engine takes them.
#[derive(Debug, Clone, Copy)]
pub enum DocumentTokens<'a> {
    /// Footprints in tiles.
    Footprints(TiledDocument<'a>),
    /// Raw vectors, for evaluation without LSH.
    Vectors(&'a VectorDocument),
}

impl DocumentTokens<'_> {
    /// The number of layers.
    #[must_use]
    pub fn layers(&self) -> usize {
        match self {
            Self::Footprints(document) => document.layout().layers(),
            Self::Vectors(document) => document.layers(),
        }
    }

    /// The number of tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        match self {
            Self::Footprints(document) => document.layout().tokens(),
            Self::Vectors(document) => document.tokens(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Footprints(document) => document.bytes(),
            Self::Vectors(_) => &[],
        }
    }
}

/// Compares and pools documents with the implementation that fits the CPU.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    implementation: Checked,
}

impl Engine {
    /// The best implementation for this CPU, or the one that the environment names ([`Implementation::chosen`]).
    pub fn new() -> Result<Self, Error> {
        Self::with(Implementation::chosen()?)
    }

    /// A given implementation.
    pub fn with(implementation: Implementation) -> Result<Self, Error> {
        Ok(Self {
            implementation: Checked::new(implementation)?,
        })
    }

    /// The implementation in use.
    #[must_use]
    pub fn implementation(&self) -> Implementation {
        self.implementation.implementation()
    }

    /// Pools a document: writes `ln(ε + Σ_j kernel(c_j))` for every layer, query term and kernel into `out`,
    /// `[layer][term][kernel]`. `next` is the document that will be asked for after this one, if known: its beginning
    /// is fetched from memory meanwhile.
    pub fn log_sums(
        &self,
        query: &CompositeQuery,
        kernels: &Kernels,
        document: &DocumentTokens,
        next: Option<&DocumentTokens>,
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let next = Next::Begin(next.map_or(&[][..], DocumentTokens::bytes));
        self.pool(query, kernels, document, next, work, out)
    }

    /// [`Self::log_sums`] for a document that was just read, and hence is in the cache: meanwhile all of `next`, the
    /// bytes that will be read after it, is fetched from memory.
    pub fn log_sums_of_cached(
        &self,
        query: &CompositeQuery,
        kernels: &Kernels,
        document: &DocumentTokens,
        next: &[u8],
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        self.pool(query, kernels, document, Next::Whole(next), work, out)
    }

    fn pool(
        &self,
        query: &CompositeQuery,
        kernels: &Kernels,
        document: &DocumentTokens,
        next: Next,
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let terms = query.terms().len();
        check_comparable(query, document)?;
        let expected = query.layers() * terms * kernels.len();
        Error::check_length("log-sums, layers × terms × kernels", expected, out.len())?;
        work.prepare(query);
        match (query.vectors(), document) {
            (GroupVectors::Footprints(groups), &DocumentTokens::Footprints(document)) => {
                let job = Job {
                    groups,
                    terms: query.terms(),
                    document,
                    next,
                };
                self.implementation.log_sums(job, kernels, work, out);
            }
            (GroupVectors::Raw(groups), DocumentTokens::Vectors(document)) => {
                out.fill(0.0);
                work.cosines.resize(document.tokens(), 0.0);
                let mut sums = out.chunks_exact_mut(kernels.len());
                for layer in 0..query.layers() {
                    for (uses, sums) in query.terms().iter().zip(&mut sums) {
                        let cosines = &mut work.cosines;
                        document.similarities(layer, groups, query.groups(), uses, cosines);
                        pool::add_exact(cosines, kernels, sums);
                    }
                }
                pool::logarithms(out, kernels.epsilon());
            }
            _ => return Err(Error::Representation),
        }
        Ok(())
    }

    /// The composed similarities of every token to every term, `[layer][term][token]`: what the kernels pool.
    pub fn similarities(
        &self,
        query: &CompositeQuery,
        document: &DocumentTokens,
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let terms = query.terms().len();
        check_comparable(query, document)?;
        let expected = query.layers() * terms * document.tokens();
        Error::check_length("similarities, layers × terms × tokens", expected, out.len())?;
        work.prepare(query);
        match (query.vectors(), document) {
            (GroupVectors::Footprints(groups), &DocumentTokens::Footprints(document)) => {
                let job = Job {
                    groups,
                    terms: query.terms(),
                    document,
                    next: Next::Begin(&[]),
                };
                self.implementation.similarities(job, work, out);
            }
            (GroupVectors::Raw(groups), DocumentTokens::Vectors(document)) => {
                let mut out = out.chunks_exact_mut(document.tokens().max(1));
                for layer in 0..query.layers() {
                    for (uses, out) in query.terms().iter().zip(&mut out) {
                        document.similarities(layer, groups, query.groups(), uses, out);
                    }
                }
            }
            _ => return Err(Error::Representation),
        }
        Ok(())
    }
}

fn check_comparable(query: &CompositeQuery, document: &DocumentTokens) -> Result<(), Error> {
    let same = |what, query, document| {
        if query == document {
            Ok(())
        } else {
            Err(Error::Mismatch {
                what,
                query,
                document,
            })
        }
    };
    same("layers", query.layers(), document.layers())?;
    match (query.vectors(), document) {
        (GroupVectors::Footprints(groups), DocumentTokens::Footprints(document)) => {
            same("bits", groups.bits, document.layout().bits())?;
            let terms = query.terms().len();
            let offsets = document.relative_to().map_or(terms, |r| r.offsets.len());
            same("terms", terms, offsets)
        }
        (GroupVectors::Raw(groups), DocumentTokens::Vectors(document)) => {
            same("dimensions", groups.dim, document.dim())
        }
        _ => Err(Error::Representation),
    }
}
