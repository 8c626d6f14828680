//! S_others: γ·CLS and the named features of documents and candidates.

use crate::{Candidate, RankQuery, Ranker};
use becr_store::Record;

impl Ranker {
    /// γ·CLS and the named features, weighted.
    pub(crate) fn others(&self, record: &Record<'_>, named: &[Option<f32>]) -> f64 {
        let cls = match &self.head.others.cls {
            Some(_) => f64::from(record.cls()),
            None => 0.0,
        };
        let features = self.head.others.features.iter().zip(named);
        let named = features.filter_map(|(feature, value)| Some(feature.contribution((*value)?)));
        cls + named.map(f64::from).sum::<f64>()
    }

    /// The values of the head's named features: the caller's, or else the document's.
    pub(crate) fn named_features(
        &self,
        query: &RankQuery,
        record: &Record<'_>,
        candidate: &Candidate<'_>,
        out: &mut Vec<Option<f32>>,
    ) {
        out.clear();
        for (feature, number) in self.head.others.features.iter().zip(&query.named) {
            let given = candidate.features.iter().rev();
            let given = given.filter(|(name, value)| *name == feature.name && value.is_finite());
            let stored = || {
                let mut stored = record.features();
                let found = stored.find(|(name, _)| Some(*name) == *number);
                found
                    .map(|(_, value)| value)
                    .filter(|value| value.is_finite())
            };
            out.push(given.map(|(_, value)| *value).next().or_else(stored));
        }
    }
}
