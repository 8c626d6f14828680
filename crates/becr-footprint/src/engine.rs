//! The engine: what the ranker calls.

use crate::query::GroupVectors;
use crate::simd::{Checked, Implementation, Job};
use crate::workspace::Next;
use crate::{CompositeQuery, Error, Kernels, TiledDocument, VectorDocument, Workspace, pool};
use rayon::prelude::*;

/// A document as the engine takes it.
#[derive(Debug, Clone, Copy)]
pub enum Document<'a> {
    /// Footprints in tiles.
    Footprints(TiledDocument<'a>),
    /// Raw vectors, for evaluation without LSH.
    Vectors(&'a VectorDocument),
}

impl Document<'_> {
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

/// The weights that make a score of log-sums: `Σ term weight · Σ α[layer][kernel] · log-sum`.
#[derive(Debug, Clone)]
pub struct Head {
    /// `[layer][kernel]`.
    alpha: Vec<f32>,
    kernels: usize,
}

impl Head {
    /// One weight per layer and kernel, `[layer][kernel]`.
    pub fn new(kernels: usize, alpha: Vec<f32>) -> Result<Self, Error> {
        if kernels == 0 || alpha.is_empty() {
            return Err(Error::NoLayers);
        }
        Error::check_length(
            "weights α, a multiple of the kernels",
            alpha.len().next_multiple_of(kernels),
            alpha.len(),
        )?;
        Ok(Self { alpha, kernels })
    }

    /// The score of `log_sums`, `[layer][term][kernel]`.
    pub fn score(&self, log_sums: &[f32], term_weights: &[f32]) -> Result<f32, Error> {
        Error::check_length(
            "log-sums, layers × terms × kernels",
            self.alpha.len() * term_weights.len(),
            log_sums.len(),
        )?;
        let mut score = 0.0;
        let layers = log_sums.chunks_exact((self.kernels * term_weights.len()).max(1));
        for (alpha, layer) in self.alpha.chunks_exact(self.kernels).zip(layers) {
            for (weight, sums) in term_weights.iter().zip(layer.chunks_exact(self.kernels)) {
                score += weight * alpha.iter().zip(sums).map(|(a, s)| a * s).sum::<f32>();
            }
        }
        Ok(score)
    }
}

/// Scores documents with the implementation that fits the CPU.
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
        document: &Document,
        next: Option<&Document>,
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let next = Next::Begin(next.map_or(&[][..], Document::bytes));
        self.pool(query, kernels, document, next, work, out)
    }

    /// [`Self::log_sums`] for a document that was just read, and hence is in the cache: meanwhile all of `next`, the
    /// bytes that will be read after it, is fetched from memory.
    pub fn log_sums_of_cached(
        &self,
        query: &CompositeQuery,
        kernels: &Kernels,
        document: &Document,
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
        document: &Document,
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
            (GroupVectors::Footprints(groups), &Document::Footprints(document)) => {
                let job = Job {
                    groups,
                    terms: query.terms(),
                    document,
                    next,
                };
                self.implementation.log_sums(job, kernels, work, out);
            }
            (GroupVectors::Raw(groups), Document::Vectors(document)) => {
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
        document: &Document,
        work: &mut Workspace,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let terms = query.terms().len();
        check_comparable(query, document)?;
        let expected = query.layers() * terms * document.tokens();
        Error::check_length("similarities, layers × terms × tokens", expected, out.len())?;
        work.prepare(query);
        match (query.vectors(), document) {
            (GroupVectors::Footprints(groups), &Document::Footprints(document)) => {
                let job = Job {
                    groups,
                    terms: query.terms(),
                    document,
                    next: Next::Begin(&[]),
                };
                self.implementation.similarities(job, work, out);
            }
            (GroupVectors::Raw(groups), Document::Vectors(document)) => {
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

    /// Scores documents one after the other.
    pub fn score(
        &self,
        ask: &Scoring,
        documents: &[Document],
        work: &mut Workspace,
        scores: &mut [f32],
    ) -> Result<(), Error> {
        Error::check_length("scores, one per document", documents.len(), scores.len())?;
        let mut log_sums = std::mem::take(&mut work.log_sums);
        log_sums.resize(
            ask.query.layers() * ask.query.terms().len() * ask.kernels.len(),
            0.0,
        );
        let done = || {
            for (i, (document, score)) in documents.iter().zip(scores).enumerate() {
                let next = documents.get(i + 1);
                self.log_sums(ask.query, ask.kernels, document, next, work, &mut log_sums)?;
                *score = ask.head.score(&log_sums, ask.term_weights)?;
            }
            Ok(())
        };
        let result = done();
        work.log_sums = log_sums;
        result
    }

    /// Scores documents with the threads of the current rayon pool. The documents are split, not copied, and the
    /// scores are those of [`Self::score`] to the last bit.
    pub fn score_parallel(
        &self,
        ask: &Scoring,
        documents: &[Document],
        scores: &mut [f32],
    ) -> Result<(), Error> {
        Error::check_length("scores, one per document", documents.len(), scores.len())?;
        // A few parts per thread, so that a thread that was held up does not hold up all.
        let part = documents
            .len()
            .div_ceil(4 * rayon::current_num_threads())
            .max(1);
        documents
            .par_chunks(part)
            .zip(scores.par_chunks_mut(part))
            .try_for_each_init(Workspace::new, |work, (documents, scores)| {
                self.score(ask, documents, work, scores)
            })
    }
}

/// What documents are scored for and with.
#[derive(Debug, Clone, Copy)]
pub struct Scoring<'a> {
    /// The query.
    pub query: &'a CompositeQuery,
    /// The kernels.
    pub kernels: &'a Kernels,
    /// The weights of layers and kernels.
    pub head: &'a Head,
    /// One weight per query term.
    pub term_weights: &'a [f32],
}

fn check_comparable(query: &CompositeQuery, document: &Document) -> Result<(), Error> {
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
        (GroupVectors::Footprints(groups), Document::Footprints(document)) => {
            same("bits", groups.bits, document.layout().bits())?;
            let terms = query.terms().len();
            let offsets = document.relative_to().map_or(terms, |r| r.offsets.len());
            same("terms", terms, offsets)
        }
        (GroupVectors::Raw(groups), Document::Vectors(document)) => {
            same("dimensions", groups.dim, document.dim())
        }
        _ => Err(Error::Representation),
    }
}
