//! Batches with the encoder frozen: footprints and features of an index, computed by the ranker that will serve.

mod layout;

use crate::batch::{Batch, Deep, Histograms, Pooled};
use crate::learn::{Picked, Source};
use crate::{Candidate, Example, ModelOptions, TrainError};
use becr_lmdb::Store;
use becr_model::{Feature, Head};
use becr_rank::{
    Examined, LEXICAL_FEATURES, RankError, RankOptions, RankQuery, RankWorkspace, Ranker,
};
use layout::Padded;
use rayon::prelude::*;

/// The feature that depends on the list of candidates.
const FIRST_STAGE: &str = "first_stage";

/// What of the deep part is computed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    Nothing,
    LogSums,
    Histograms,
}

/// A document as its query sees it.
#[derive(Debug, Default)]
pub(crate) struct FrozenRow {
    /// In the order of the head's lexical, then its other features; `None` where missing.
    pub(crate) features: Vec<Option<f32>>,
    /// Similarity of the query and the document's mean vector.
    pub(crate) document_vector: Option<f32>,
    /// γ·CLS as the index has it.
    pub(crate) cls: f32,
    /// `[layer][kernel]`: log-sums, summed over the terms with their weights.
    pub(crate) log_sums: Vec<f32>,
    /// `[layer][term][token]`.
    pub(crate) similarities: Vec<f32>,
    pub(crate) tokens: usize,
}

/// A query and the documents picked for it.
type Looked = (RankQuery, Vec<FrozenRow>);

/// An index to learn from.
pub(crate) struct Frozen<'a> {
    store: &'a Store,
    ranker: Ranker,
    examples: &'a [Example],
    detail: Detail,
    /// Of each lexical feature of the head, its place among the ranker's; `None` for the first stage's.
    lexical: Vec<Option<usize>>,
}

impl<'a> Frozen<'a> {
    /// Looks at examples through a ranker.
    pub(crate) fn new(
        store: &'a Store,
        ranker: Ranker,
        examples: &'a [Example],
        options: &ModelOptions,
    ) -> Self {
        let place = |feature: &Feature| {
            let place = LEXICAL_FEATURES
                .iter()
                .position(|name| *name == feature.name);
            place.filter(|_| feature.name != FIRST_STAGE)
        };
        Self {
            store,
            lexical: ranker.head().lexical.iter().map(place).collect(),
            ranker,
            examples,
            detail: match options.train_kernels {
                true => Detail::Histograms,
                false => Detail::LogSums,
            },
        }
    }

    /// The head that features are standardised with.
    fn head(&self) -> &Head {
        self.ranker.head()
    }

    /// Looks at documents of many queries, on all cores, in order.
    fn look(&self, picked: &[Picked], detail: Detail) -> Result<Vec<Looked>, TrainError> {
        picked
            .par_iter()
            .map_init(RankWorkspace::new, |work, picked| {
                self.look_at(picked, detail, work)
            })
            .collect()
    }

    fn look_at(
        &self,
        picked: &Picked,
        detail: Detail,
        work: &mut RankWorkspace,
    ) -> Result<Looked, TrainError> {
        let example = &self.examples[picked.example];
        let snapshot = self.store.snapshot()?;
        let query = self
            .ranker
            .query(&snapshot, &example.query, &RankOptions::composed(), None)?;
        let candidates: Vec<_> = picked.documents.iter().map(plain).collect();
        let mut rows = Vec::with_capacity(candidates.len());
        let seen = self
            .ranker
            .features(&query, &snapshot, &candidates, work, |examined| {
                let first_stage = picked.documents[examined.place()].first_stage;
                let mut row = self.row(examined, first_stage);
                match detail {
                    Detail::Nothing => {}
                    Detail::LogSums => row.log_sums = self.log_sums(&query, examined.log_sums()?),
                    Detail::Histograms => examined.similarities(&mut row.similarities)?,
                }
                rows.push(row);
                Ok::<(), RankError>(())
            });
        match seen {
            Ok(()) => Ok((query, rows)),
            Err(RankError::NoDocument(number)) => Err(TrainError::Document {
                id: example.id.clone(),
                number,
            }),
            Err(error) => Err(error.into()),
        }
    }

    fn row(&self, examined: &Examined<'_>, first_stage: Option<f32>) -> FrozenRow {
        let lexical = self.lexical.iter().map(|place| match place {
            Some(place) => Some(examined.lexical()[*place]),
            None => Some(first_stage.unwrap_or(0.0)),
        });
        FrozenRow {
            features: lexical.chain(examined.named().iter().copied()).collect(),
            document_vector: examined.document_vector(),
            cls: examined.cls(),
            tokens: examined.tokens(),
            ..FrozenRow::default()
        }
    }

    /// `[layer][kernel]` of `[layer][term][kernel]`.
    fn log_sums(&self, query: &RankQuery, log_sums: &[f32]) -> Vec<f32> {
        let (kernels, terms) = (self.ranker.kernels().len(), query.terms().len());
        let mut sums = vec![0.0; self.head().layers() * kernels];
        let layers = log_sums.chunks_exact((terms * kernels).max(1));
        for (sums, layer) in sums.chunks_exact_mut(kernels).zip(layers) {
            for (term, log_sums) in query.terms().iter().zip(layer.chunks_exact(kernels)) {
                for (sum, log_sum) in sums.iter_mut().zip(log_sums) {
                    *sum += term.weight * log_sum;
                }
            }
        }
        sums
    }

    /// All numbers of some examples' documents, to be measured.
    pub(crate) fn rows(&self, picked: &[Picked]) -> Result<Vec<FrozenRow>, TrainError> {
        let looked = self.look(picked, Detail::LogSums)?;
        Ok(looked.into_iter().flat_map(|(_, rows)| rows).collect())
    }
}

/// A candidate without a list: its first-stage score is relative to a longer one.
fn plain(candidate: &Candidate) -> becr_rank::Candidate<'static> {
    becr_rank::Candidate {
        number: candidate.number,
        ..Default::default()
    }
}

impl Frozen<'_> {
    /// Kinds of token groups: uni-grams, and pairs by distance.
    pub(crate) fn kinds(&self) -> usize {
        self.head().deep.composition.pairs.len() + 1
    }

    /// A batch whose deep part is yet to come, and its queries.
    pub(crate) fn without_deep(
        &self,
        picked: &[Picked],
        candidates: usize,
    ) -> Result<(Batch, Vec<RankQuery>), TrainError> {
        let looked = self.look(picked, Detail::Nothing)?;
        let batch = self.lay_out(picked, &looked, candidates);
        let queries = looked.into_iter().map(|(query, _)| query);
        Ok((batch, queries.collect()))
    }

    /// Features of all candidates, standardised.
    fn lay_out(&self, picked: &[Picked], looked: &[Looked], candidates: usize) -> Batch {
        let head = self.head();
        let known: Vec<&Feature> = head.lexical.iter().chain(&head.others.features).collect();
        let mut present = Vec::new();
        let mut features = Vec::new();
        for (_, row) in (Padded { looked, candidates }).rows() {
            present.push(row.is_some());
            let value = |(place, feature): (usize, &&Feature)| {
                let value = row.and_then(|row| row.features[place]);
                value.map_or(0.0, |value| feature.standardised(value))
            };
            features.extend(known.iter().enumerate().map(value));
        }
        let ids = picked
            .iter()
            .map(|picked| self.examples[picked.example].id.clone());
        Batch {
            ids: ids.collect(),
            candidates,
            present,
            features,
            fixed: Vec::new(),
            deep: Deep::Pooled(Pooled::default()),
        }
    }
}

impl Source for Frozen<'_> {
    fn batch(&self, picked: &[Picked], candidates: usize, _: usize) -> Result<Batch, TrainError> {
        let looked = self.look(picked, self.detail)?;
        let mut batch = self.lay_out(picked, &looked, candidates);
        let padded = Padded {
            looked: &looked,
            candidates,
        };
        let layers = self.head().layers();
        // γ stays as it is: a record has its product with the [CLS] vector, not the vector.
        if self.head().others.cls.is_some() {
            let cls = padded.rows().map(|(_, row)| row.map_or(0.0, |row| row.cls));
            batch.fixed = cls.collect();
        }
        // A missing one contributes as much as the mean: nothing.
        let vector = self.head().deep.document_vector.as_ref();
        let mean = vector.map_or(0.0, |vector| vector.mean);
        let vector =
            |row: Option<&FrozenRow>| row.and_then(|row| row.document_vector).unwrap_or(mean);
        let document_vector = padded.rows().map(|(_, row)| vector(row)).collect();
        batch.deep = match self.detail {
            Detail::Histograms => Deep::Histograms(Histograms {
                document_vector,
                ..padded.histograms(layers)
            }),
            Detail::Nothing | Detail::LogSums => Deep::Pooled(Pooled {
                log_sums: padded.log_sums(layers * self.ranker.kernels().len()),
                document_vector,
            }),
        };
        Ok(batch)
    }
}
