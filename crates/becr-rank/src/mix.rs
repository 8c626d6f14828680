//! Composed queries whose words are mixed: each term becomes one vector, as if the encoder had read the whole query.

use crate::compose::{Composed, Records, records};
use crate::{GroupUse, QueryTerm, RankError, Ranker};
use becr_footprint::lsh::{Hyperplanes, dot};
use becr_footprint::{pack, unpack};
use becr_store::{Answer, u32s};
use becr_text::groups::{Composition, Query, Term, TokenGroup};

/// Turns vectors of a query's words, each by itself, into vectors of words in the query.
pub trait QueryMixer: Send + Sync {
    /// Mixes unit vectors, laid end to end, of all words in their order.
    fn mix(&self, words: &[f32]) -> MixedQuery;
}

/// What a mixer gives: unit vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MixedQuery {
    /// One for each word, laid end to end.
    pub terms: Vec<f32>,
    /// The query's own.
    pub query: Vec<f32>,
}

impl<F: Fn(&[f32]) -> MixedQuery + Send + Sync> QueryMixer for F {
    fn mix(&self, words: &[f32]) -> MixedQuery {
        self(words)
    }
}

/// A mixer, and what its vectors are hashed with.
pub(crate) struct Mixing {
    mixer: Box<dyn QueryMixer>,
    hyperplanes: Hyperplanes,
}

impl Ranker {
    /// Mixes the words of composed queries from now on, unless a [`Variant`](crate::Variant) of the composition is asked
    /// for. `hyperplanes` are those of the index's model.
    pub fn with_mixer(
        mut self,
        mixer: Box<dyn QueryMixer>,
        hyperplanes: Hyperplanes,
    ) -> Result<Self, RankError> {
        let index = match self.shape.is_relative() {
            true => self.dim(),
            false => 0,
        };
        let index_bits = usize::from(self.shape.bits);
        if (hyperplanes.dim(), hyperplanes.bits()) != (index, index_bits) {
            return Err(RankError::Mixer {
                mixer: hyperplanes.dim(),
                bits: hyperplanes.bits(),
                index,
                index_bits,
            });
        }
        self.mixing = Some(Mixing { mixer, hyperplanes });
        Ok(self)
    }

    /// Dimensions of the vectors that token groups keep. A hidden size is a multiple of 8 where they do.
    fn dim(&self) -> usize {
        8 * (usize::from(self.shape.vector) - 1)
    }

    /// Terms of one mixed vector each, and the mixed vector of the whole query.
    pub(crate) fn mixed_query(
        &self,
        query: &Query,
        answer: &Answer<'_>,
    ) -> Result<Composed, RankError> {
        let Some(mixing) = &self.mixing else {
            return Ok(self.composed_query(query, answer));
        };
        let records = records(query, answer);
        let known = |group: &TokenGroup| records.contains_key(group);
        // Stop words are mixed too: what they do to their neighbours is what the encoder would see.
        let composition = query.compose_all(known, |word| self.known_pieces(word, &records));
        if composition.terms.is_empty() {
            return Ok(Composed {
                coverage: composition.coverage,
                ..Composed::default()
            });
        }
        let mixed = mixing.mixer.mix(&self.words(&composition, &records));
        let dim = self.dim();
        let vectors = mixed.terms.chunks_exact(dim);
        let only_stop_words = composition.terms.iter().all(|term| term.stop);
        let deep = |term: &Term| self.head.deep.stop_words || only_stop_words || !term.stop;
        let chosen = composition.terms.iter().zip(vectors);
        let chosen: Vec<(&Term, &[f32])> = chosen.filter(|(term, _)| deep(term)).collect();
        let width = mixing.hyperplanes.width();
        let mut footprints = vec![0; chosen.len() * width];
        let vectors: Vec<f32> = (chosen.iter())
            .flat_map(|(_, v)| v.iter().copied())
            .collect();
        mixing.hyperplanes.footprints(&vectors, &mut footprints)?;
        for (_, vector) in &chosen {
            footprints.extend(pack(vector));
        }
        let term = |(number, (term, _)): (usize, &(&Term, &[f32]))| QueryTerm {
            position: term.position,
            word: term.word.clone(),
            weight: 0.0,
            groups: vec![GroupUse {
                group: term.word.clone(),
                second: false,
                distance: 0,
                weight: 1.0,
                vector: number,
            }],
        };
        Ok(Composed {
            terms: chosen.iter().enumerate().map(term).collect(),
            footprints,
            coverage: composition.coverage,
            whole: Some(pack(&mixed.query)),
        })
    }

    /// The unit vectors of words, composed of their groups.
    fn words(&self, composition: &Composition, records: &Records<'_>) -> Vec<f32> {
        let dim = self.dim();
        let mut words = vec![0.0; composition.terms.len() * dim];
        let mut vector = vec![0.0; dim];
        for (term, word) in composition.terms.iter().zip(words.chunks_exact_mut(dim)) {
            for member in &term.members {
                let record = &records[&composition.groups[member.group]];
                unpack(u32s(record.vector(member.slot)), &mut vector);
                let parts = word.iter_mut().zip(&vector);
                parts.for_each(|(sum, x)| *sum += member.weight * x);
            }
            let length = dot(word, word).sqrt();
            if length > 0.0 {
                word.iter_mut().for_each(|x| *x /= length);
            }
        }
        words
    }
}
