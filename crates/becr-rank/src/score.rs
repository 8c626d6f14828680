//! Scoring candidates, document by document.

use crate::deep::DeepQuery;
use crate::lexical::{COUNT, FIRST_STAGE, FirstStageScale, SUM_BM25, Scan};
use crate::list::{ListRules, Row};
use crate::vector::Related;
use crate::{RankError, RankQuery, Ranker, Scorer};
use becr_footprint::{DocumentLayout, DocumentTokens, TiledDocument, Workspace};
use becr_store::{DocumentStore, Documents, FetchBuffer, FoundRecord, Record};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// A document to score.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'a> {
    /// Its number in the store.
    pub number: u64,
    /// What the first stage gave it. Taken relative to the list: min–max, 0 when absent.
    pub first_stage: Option<f32>,
    /// Named features of this query and document, in the place of the document's own of the same name. Those the
    /// head does not name, and values that are no numbers, are passed over.
    pub features: &'a [(String, f32)],
}

/// A document's score and its parts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Scored {
    /// The document's number.
    pub number: u64,
    /// S.
    pub score: f32,
    /// S_deep.
    pub deep: f32,
    /// S_lexi.
    pub lexi: f32,
    /// S_others.
    pub others: f32,
}

/// Where the time of scoring went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScoreTiming {
    /// Finding the records, reading and checking them.
    pub fetch: Duration,
    /// Lexical features.
    pub lexical: Duration,
    /// Footprints and kernels.
    pub deep: Duration,
}

/// Buffers for scoring: keep one per thread.
#[derive(Default)]
pub struct RankWorkspace {
    pub(crate) fetch: FetchBuffer,
    pub(crate) buffers: Buffers,
}

/// What scoring one document needs beside its record.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) engine: Workspace,
    pub(crate) scan: Scan,
    pub(crate) related: Related,
    pub(crate) log_sums: Vec<f32>,
    pub(crate) lexical: [f32; COUNT],
    pub(crate) named: Vec<Option<f32>>,
    pub(crate) timing: ScoreTiming,
}

impl RankWorkspace {
    /// Empty buffers, which grow with the longest query they meet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the time of the last [`Ranker::score`] went.
    pub fn timing(&self) -> ScoreTiming {
        self.buffers.timing
    }
}

/// A candidate whose turn it is.
pub(crate) struct Turn<'a> {
    /// Its place in the list.
    pub(crate) place: usize,
    pub(crate) record: Record<'a>,
    pub(crate) document: DocumentTokens<'a>,
    /// The bytes of the next candidate's record.
    pub(crate) next: &'a [u8],
}

/// The parts of a score, before they are rounded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) deep: f64,
    pub(crate) lexi: f64,
    pub(crate) others: f64,
}

impl Sums {
    pub(crate) fn total(&self) -> f64 {
        self.deep + self.lexi + self.others
    }

    fn scored(&self, number: u64) -> Scored {
        Scored {
            number,
            score: self.total() as f32,
            deep: self.deep as f32,
            lexi: self.lexi as f32,
            others: self.others as f32,
        }
    }
}

impl Ranker {
    /// Scores candidates, in their order: `None` for one whose record is not there, as when it was deleted after its number was
    /// looked up. The same document may stand in the list more than once.
    ///
    /// The score of a document depends on the query, its record, its features and the collection; and on the
    /// other candidates only where the head uses `first_stage`, which is relative to the list, and where it is list-wise
    /// ([`Head::is_list_wise`](becr_model::Head::is_list_wise)).
    pub fn score<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        work: &mut RankWorkspace,
    ) -> Result<Vec<Option<Scored>>, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let rules = self.list_rules(query, candidates);
        let begun = Instant::now();
        let list = match self.remote_rows(query, store, candidates, &rules)? {
            Some((rows, means)) => {
                let list = self.finish(query, &rules, rows, &means);
                work.buffers.timing = ScoreTiming {
                    deep: begun.elapsed(),
                    ..ScoreTiming::default()
                };
                list
            }
            None => self.list(query, store, candidates, &rules, work, |_, _, _| {})?,
        };
        let mut scored = vec![None; candidates.len()];
        for row in list.rows {
            scored[row.place] = Some(row.sums.scored(row.number));
        }
        Ok(scored)
    }

    /// Reads and checks the candidates' records one after the other and visits each while it is in the cache. The
    /// first stage's feature is set already, by the `scale` of the list that the candidates are from. Returns the place of the first candidate that has no record, if there is one.
    pub(crate) fn each<S, E>(
        &self,
        store: &S,
        candidates: &[Candidate<'_>],
        scale: &FirstStageScale,
        work: &mut RankWorkspace,
        mut visit: impl FnMut(Turn<'_>, &mut Buffers) -> Result<(), E>,
    ) -> Result<Option<usize>, E>
    where
        S: DocumentStore + ?Sized,
        E: From<RankError>,
    {
        let shape = store.header().shape;
        if shape != self.shape {
            let ranker = self.shape;
            return Err(RankError::Shape {
                ranker,
                store: shape,
            }
            .into());
        }
        let RankWorkspace { fetch, buffers } = work;
        buffers.timing = ScoreTiming::default();
        let mut waiting = Instant::now();
        let numbers: Vec<u64> = candidates.iter().map(|c| c.number).collect();
        let (mut missing, mut fault) = (None, None);
        let mut chunk = |first: usize, found: &[Option<FoundRecord<'_>>]| -> Result<(), E> {
            buffers.timing.fetch += waiting.elapsed();
            for (at, record) in found.iter().enumerate() {
                let place = first + at;
                let Some(record) = record else {
                    missing.get_or_insert(place);
                    continue;
                };
                let begun = Instant::now();
                let next = found.get(at + 1).copied().flatten();
                let record = record.check().map_err(RankError::from)?;
                let document = self.document(&record)?;
                buffers.timing.fetch += begun.elapsed();
                buffers.lexical[FIRST_STAGE] = scale.value(candidates[place].first_stage);
                let turn = Turn {
                    place,
                    record,
                    document,
                    next: next.map_or(&[], |next| next.bytes()),
                };
                visit(turn, buffers)?;
            }
            waiting = Instant::now();
            Ok(())
        };
        let fetched = store.fetch(
            &numbers,
            fetch,
            &mut |first, found| match chunk(first, found) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    fault = Some(error);
                    ControlFlow::Break(())
                }
            },
        );
        match fault {
            Some(error) => Err(error),
            None => {
                fetched.map_err(RankError::from)?;
                Ok(missing)
            }
        }
    }

    /// A record's footprints, as the engine takes them.
    pub(crate) fn document<'a>(
        &self,
        record: &Record<'a>,
    ) -> Result<DocumentTokens<'a>, RankError> {
        if record.shape() != self.shape {
            return Err(RankError::Record);
        }
        let (layers, bits) = (usize::from(self.shape.layers), usize::from(self.shape.bits));
        // Where only vectors are kept, a document is one without tokens to the kernels: they give the same for all.
        let tokens = match self.documents {
            Documents::Vectors => 0,
            Documents::Encoded | Documents::Composed => record.tokens(),
        };
        let layout = DocumentLayout::new(layers, tokens, bits)?;
        Ok(DocumentTokens::Footprints(TiledDocument::new(
            layout,
            record.footprints(),
        )?))
    }

    /// What a candidate's score is made of before the list is known, by the one way there is: local or remote, list-wise
    /// or not. The numbers behind it stay in the buffers.
    pub(crate) fn row(
        &self,
        query: &RankQuery,
        rules: &ListRules<'_>,
        turn: &Turn<'_>,
        candidate: &Candidate<'_>,
        buffers: &mut Buffers,
    ) -> Result<Row, RankError> {
        let without = query.plan.without;
        let is_composite = query.plan.scorer == Scorer::Composite;
        let mut sums = Sums::default();
        let begun = Instant::now();
        let has_features = is_composite && !without.lexi && !self.lexical.is_empty();
        if rules.own_bm25 || has_features && self.reads_words {
            let Buffers { scan, lexical, .. } = buffers;
            scan.features(&query.lexical, turn.record.forward(), lexical);
        }
        if has_features {
            sums.lexi = match rules.own_bm25 {
                true => self.lexi_but_first_stage(&buffers.lexical),
                false => self.lexi(&buffers.lexical),
            };
        }
        let lexical_done = Instant::now();
        buffers.timing.lexical += lexical_done - begun;
        let mut vector = None;
        if let Some(deep) = query.deep.as_ref().filter(|_| !without.deep) {
            match query.plan.scorer {
                Scorer::Composite => self.log_sums(deep, turn, buffers)?,
                Scorer::OneVector => deep.vector.relate(&turn.record, &mut buffers.related),
            }
            vector = deep.vector.similarity(&turn.record, &buffers.related);
            if is_composite {
                sums.deep = deep.score(&buffers.log_sums) + self.document_vector(vector);
            }
        }
        buffers.timing.deep += lexical_done.elapsed();
        if is_composite && !without.others {
            self.named_features(query, &turn.record, candidate, &mut buffers.named);
            sums.others = self.others(&turn.record, &buffers.named);
        }
        Ok(Row {
            place: turn.place,
            number: candidate.number,
            sums,
            vector: vector.filter(|vector| vector.is_finite()),
            first_stage: buffers.lexical[FIRST_STAGE],
            bm25: buffers.lexical[SUM_BM25],
            likeness: None,
        })
    }

    /// The document-vector feature, weighted; 0 if the head does not use it or the document has no token.
    fn document_vector(&self, similarity: Option<f32>) -> f64 {
        let feature = self.head.deep.document_vector.as_ref().zip(similarity);
        feature.map_or(0.0, |(feature, similarity)| {
            f64::from(feature.contribution(similarity))
        })
    }

    /// Relates and pools a document; the log-sums, `[layer][term][kernel]`, are in the buffers.
    pub(crate) fn log_sums(
        &self,
        deep: &DeepQuery,
        turn: &Turn<'_>,
        buffers: &mut Buffers,
    ) -> Result<(), RankError> {
        let Buffers {
            engine,
            log_sums,
            related,
            ..
        } = buffers;
        log_sums.resize(deep.weights.len(), 0.0);
        deep.vector.relate(&turn.record, related);
        let document = deep.vector.document(turn.document, &turn.record, related)?;
        let (query, kernels) = (&deep.composite, &self.kernels);
        // To check the record was to read all of it.
        Ok(self
            .engine
            .log_sums_of_cached(query, kernels, &document, turn.next, engine, log_sums)?)
    }

    pub(crate) fn lexi(&self, values: &[f32; COUNT]) -> f64 {
        self.lexi_where(values, |_| true)
    }

    /// S_lexi without the feature that is relative to the list.
    pub(crate) fn lexi_but_first_stage(&self, values: &[f32; COUNT]) -> f64 {
        self.lexi_where(values, |place| place != FIRST_STAGE)
    }

    fn lexi_where(&self, values: &[f32; COUNT], counts: impl Fn(usize) -> bool) -> f64 {
        let features = self.head.lexical.iter().zip(&self.lexical);
        features
            .filter(|(_, place)| counts(**place))
            .map(|(feature, &place)| f64::from(feature.contribution(values[place])))
            .sum()
    }
}
