//! How a query is read and scored, decided in one place.

use crate::options::ANCHOR_WEIGHT;
use crate::{Parts, RankError, RankOptions, Ranker, Scorer, Variant};
use becr_model::{QueryMode, QueryVector};
use becr_text::groups::{Decomposition, RawWeights};

/// How a query is read and scored: what was asked for, the head and the index, brought together by [`Ranker::plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPlan {
    /// Where the vectors of its terms come from.
    pub reading: Reading,
    /// The words and pairs that it is taken apart into.
    pub decomposition: Decomposition,
    /// What documents' vectors are compared with.
    pub query_vector: QueryVector,
    /// What the score is.
    pub scorer: Scorer,
    /// The weight of the cosine, if the scorer is [`Scorer::OneVector`].
    pub weight: f32,
    /// Parts of the score that are left out.
    pub without: Parts,
}

/// Where the vectors of a query's terms come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The encoder reads the whole query.
    Encoded,
    /// Words are looked up in the token store and mixed, which brings them into context.
    Mixed,
    /// Words and pairs are looked up in the token store and composed, as in the paper.
    Composed,
}

impl QueryPlan {
    /// How the query is read, as callers name it.
    pub fn mode(&self) -> QueryMode {
        match self.reading {
            Reading::Encoded => QueryMode::Encoded,
            Reading::Mixed | Reading::Composed => QueryMode::Composed,
        }
    }

    /// A plan for a query that was read elsewhere: it says no more than scoring needs.
    pub(crate) fn remote(scorer: Scorer, without: Parts) -> Self {
        Self {
            reading: Reading::Composed,
            decomposition: Decomposition::default(),
            query_vector: QueryVector::default(),
            scorer,
            weight: ANCHOR_WEIGHT,
            without,
        }
    }
}

impl Ranker {
    /// Decides how a query is read and scored.
    ///
    /// | asked for | the query is |
    /// |---|---|
    /// | a mode | read in this mode |
    /// | a [`Variant`] of the composition and no mode | composed |
    /// | neither | read as the head says; encoded on an index for encoded queries alone |
    ///
    /// A composed query is mixed if the model has a mixer and no variant is asked for.
    pub fn plan(&self, asked: &RankOptions) -> Result<QueryPlan, RankError> {
        asked.check()?;
        let default = match self.encoded_only {
            true => QueryMode::Encoded,
            false => self.head.mode.unwrap_or_default(),
        };
        let mode = match asked.variant {
            Variant::Becr => asked.mode.unwrap_or(default),
            _ => asked.mode.unwrap_or(QueryMode::Composed),
        };
        let reading = match mode {
            QueryMode::Encoded => Reading::Encoded,
            QueryMode::Composed if self.encoded_only => return Err(RankError::EncodedOnly),
            QueryMode::Composed if self.mixing.is_some() && asked.variant == Variant::Becr => {
                Reading::Mixed
            }
            QueryMode::Composed => Reading::Composed,
        };
        // The encoder and the mixer take words alone.
        let composition = match reading {
            Reading::Encoded | Reading::Mixed => Variant::NoPairs,
            Reading::Composed => asked.variant,
        };
        let weight = asked.weight.or(self.head.anchor_weight);
        Ok(QueryPlan {
            reading,
            decomposition: self.decomposition(composition),
            query_vector: match asked.scorer {
                Scorer::Composite => self.head.deep.query_vector,
                Scorer::OneVector => QueryVector::Whole,
            },
            scorer: asked.scorer,
            weight: weight.unwrap_or(ANCHOR_WEIGHT),
            without: asked.without,
        })
    }

    /// What a query is taken apart into: as the head and the variant say.
    fn decomposition(&self, variant: Variant) -> Decomposition {
        let weights = &self.head.deep.composition;
        let mut weights = RawWeights {
            unigram: weights.unigram,
            pairs: weights.pairs.clone(),
        };
        if variant == Variant::Window1 {
            weights.pairs.truncate(1);
        }
        Decomposition {
            window: weights.pairs.len(),
            unigrams: variant != Variant::NoUnigrams,
            pairs: variant != Variant::NoPairs,
            weights: Some(weights),
        }
    }
}
