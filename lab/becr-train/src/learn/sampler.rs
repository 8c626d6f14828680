//! Which queries and documents each pass learns from.

use crate::random::Random;
use crate::{Candidate, Example};

/// Purposes of random numbers.
const ORDER: u64 = 1;
const DOCUMENTS: u64 = 2;

/// A query and the documents picked for it, the relevant one first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Picked {
    /// Which example.
    pub(crate) example: usize,
    /// Its documents.
    pub(crate) documents: Vec<Candidate>,
}

/// Goes through the examples in a new random order again and again. What pass `n` gets depends on nothing but `n` and the
/// seed, so that a training can go on at any pass.
#[derive(Debug, Clone)]
pub(crate) struct Sampler<'a> {
    examples: &'a [Example],
    seed: u64,
    batch: usize,
    negatives: usize,
    /// The order of an epoch, kept until another is asked for.
    order: (usize, Vec<usize>),
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(examples: &'a [Example], seed: u64, batch: usize, negatives: usize) -> Self {
        let mut sampler = Self {
            examples,
            seed,
            batch,
            negatives,
            order: (0, Vec::new()),
        };
        sampler.order(0);
        sampler
    }

    fn order(&mut self, epoch: usize) {
        if self.order.0 != epoch || self.order.1.is_empty() {
            let mut order: Vec<usize> = (0..self.examples.len()).collect();
            let count = order.len();
            Random::new(self.seed, &[ORDER, epoch as u64]).pick(&mut order, count);
            self.order = (epoch, order);
        }
    }

    /// The queries of a pass.
    pub(crate) fn pass(&mut self, pass: usize) -> Vec<Picked> {
        let first = pass * self.batch;
        (first..first + self.batch)
            .map(|place| {
                let (epoch, place) = (place / self.examples.len(), place % self.examples.len());
                self.order(epoch);
                self.pick(self.order.1[place], epoch)
            })
            .collect()
    }

    fn pick(&self, example: usize, epoch: usize) -> Picked {
        let Example {
            positives,
            negatives,
            ..
        } = &self.examples[example];
        let mut random = Random::new(self.seed, &[DOCUMENTS, epoch as u64, example as u64]);
        let mut others = negatives.clone();
        random.pick(&mut others, self.negatives);
        others.truncate(self.negatives);
        let relevant = positives[random.below(positives.len())];
        let documents = std::iter::once(relevant).chain(others).collect();
        Picked { example, documents }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(count: usize) -> Vec<Example> {
        let candidate = |number| Candidate {
            number,
            first_stage: None,
        };
        (0..count)
            .map(|id| Example {
                id: id.to_string(),
                query: String::new(),
                positives: vec![candidate(0), candidate(1)],
                negatives: (10..15).map(candidate).collect(),
            })
            .collect()
    }

    #[test]
    fn epochs_show_every_query_once_and_passes_stand_alone() {
        let examples = examples(7);
        let mut sampler = Sampler::new(&examples, 3, 3, 4);
        let passes: Vec<Vec<Picked>> = (0..7).map(|pass| sampler.pass(pass)).collect();
        for epoch in 0..3 {
            let shown = passes.iter().flatten().skip(7 * epoch).take(7);
            let mut shown: Vec<usize> = shown.map(|picked| picked.example).collect();
            shown.sort_unstable();
            assert_eq!(shown, [0, 1, 2, 3, 4, 5, 6]);
        }
        for pass in [6, 0, 4] {
            let alone = Sampler::new(&examples, 3, 3, 4).pass(pass);
            assert_eq!(alone, passes[pass]);
        }
    }

    #[test]
    fn the_relevant_document_comes_first() {
        let examples = examples(1);
        for (negatives, expected) in [(3, 4), (9, 6)] {
            let picked = Sampler::new(&examples, 1, 1, negatives).pass(0).remove(0);
            assert_eq!(picked.documents.len(), expected);
            assert!(picked.documents[0].number < 2);
            let mut others: Vec<u64> = picked.documents[1..].iter().map(|c| c.number).collect();
            others.sort_unstable();
            others.dedup();
            assert_eq!(others.len(), expected - 1);
            assert!(others.iter().all(|&number| number >= 10));
        }
    }
}
