//! S_deep and S_lexi by the words of a query.

use super::{TermPart, WordPart};
use crate::lexical::{FIRST_STAGE, Shares, place};
use crate::{RankQuery, Ranker};

impl Ranker {
    /// What every word contributes, in the order of the query.
    pub(super) fn word_parts(
        &self,
        query: &RankQuery,
        terms: &[TermPart],
        shares: &[Shares],
    ) -> Vec<WordPart> {
        let words = query.lexical.words.iter().zip(shares);
        words
            .map(|((word, _), shares)| {
                let terms = terms.iter().filter(|part| part.term.word == *word);
                WordPart {
                    word: word.clone(),
                    deep: terms.map(|part| part.contribution).sum(),
                    lexi: match query.plan.without.lexi {
                        true => 0.0,
                        false => self.lexical_of(shares),
                    },
                }
            })
            .collect()
    }

    fn lexical_of(&self, shares: &Shares) -> f64 {
        let features = self.head.lexical.iter().filter_map(|feature| {
            let place = place(&feature.name).filter(|place| *place != FIRST_STAGE)?;
            let value = f64::from(shares[place]);
            Some(f64::from(feature.weight) * value / f64::from(feature.deviation))
        });
        features.sum()
    }
}
