//! What a head is trained on: the same numbers that scoring uses, before they are weighted.

use crate::lexical::{COUNT, FirstStageScale};
use crate::score::{Buffers, Turn};
use crate::{Candidate, RankError, RankQuery, RankWorkspace, Ranker};
use becr_store::{DocumentStore, Documents};

/// A candidate with its features, none of them standardised. Deep ones are computed when asked for.
pub struct Examined<'a> {
    ranker: &'a Ranker,
    query: &'a RankQuery,
    turn: Turn<'a>,
    buffers: &'a mut Buffers,
}

impl Ranker {
    /// Hands every candidate to `visit`, in order, with its features. Named features are those of the head's
    /// `others`. A candidate without a record is an error, after the others have been visited.
    pub fn features<S, E>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        work: &mut RankWorkspace,
        mut visit: impl FnMut(&mut Examined<'_>) -> Result<(), E>,
    ) -> Result<(), E>
    where
        S: DocumentStore + ?Sized,
        E: From<RankError>,
    {
        let scale = FirstStageScale::new(candidates);
        let missing = self.each(store, candidates, &scale, work, |turn, buffers| {
            let Buffers { scan, lexical, .. } = &mut *buffers;
            scan.features(&query.lexical, turn.record.forward(), lexical);
            let candidate = &candidates[turn.place];
            self.named_features(query, &turn.record, candidate, &mut buffers.named);
            if let Some(deep) = &query.deep {
                deep.vector.relate(&turn.record, &mut buffers.related);
            }
            visit(&mut Examined {
                ranker: self,
                query,
                turn,
                buffers,
            })
        })?;
        match missing {
            Some(place) => Err(RankError::NoDocument(candidates[place].number).into()),
            None => Ok(()),
        }
    }
}

impl Examined<'_> {
    /// Its place in the list of candidates.
    pub fn place(&self) -> usize {
        self.turn.place
    }

    /// The document's footprints per layer: its WordPieces, or its words if it is composed.
    pub fn tokens(&self) -> usize {
        self.turn.record.tokens()
    }

    /// The lexical features, in the order of [`LEXICAL_FEATURES`](crate::LEXICAL_FEATURES).
    pub fn lexical(&self) -> &[f32; COUNT] {
        &self.buffers.lexical
    }

    /// The composed document-vector similarity; `None` without deep terms or for a document without tokens.
    pub fn document_vector(&self) -> Option<f32> {
        let deep = self.query.deep.as_ref()?;
        let related = &self.buffers.related;
        deep.vector.similarity(&self.turn.record, related)
    }

    /// γ·CLS as the record has it, whether the head uses it or not.
    pub fn cls(&self) -> f32 {
        self.turn.record.cls()
    }

    /// The named features, in the order of the head's `others.features`; `None` where missing.
    pub fn named(&self) -> &[Option<f32>] {
        &self.buffers.named
    }

    /// The pooled features of the head's kernels, `[layer][term][kernel]`; empty without deep terms.
    pub fn log_sums(&mut self) -> Result<&[f32], RankError> {
        self.check_tokens()?;
        match &self.query.deep {
            Some(deep) => {
                self.ranker.log_sums(deep, &self.turn, self.buffers)?;
                Ok(&self.buffers.log_sums)
            }
            None => Ok(&[]),
        }
    }

    fn check_tokens(&self) -> Result<(), RankError> {
        match self.ranker.documents {
            Documents::Vectors => Err(RankError::VectorsOnly),
            Documents::Encoded | Documents::Composed => Ok(()),
        }
    }

    /// The composed similarity of every token to every term, `[layer][term][token]`, in the place of what `out` had.
    pub fn similarities(&mut self, out: &mut Vec<f32>) -> Result<(), RankError> {
        out.clear();
        self.check_tokens()?;
        let Some(deep) = &self.query.deep else {
            return Ok(());
        };
        let query = &deep.composite;
        out.resize(query.layers() * query.terms().len() * self.tokens(), 0.0);
        let Turn {
            document, record, ..
        } = &self.turn;
        let Buffers {
            engine, related, ..
        } = &mut *self.buffers;
        let document = deep.vector.document(*document, record, related)?;
        Ok(self
            .ranker
            .engine
            .similarities(query, &document, engine, out)?)
    }
}
