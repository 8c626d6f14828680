//! How the terms of a query get their vectors: composed of token groups, or read by the encoder.

use crate::{EncodedQuery, GroupUse, QueryEncoder, QueryPlan, QueryTerm, RankError, Ranker};
use becr_store::{Answer, GroupRecord, u32s};
use becr_text::groups::{Composition, Coverage, Query, Slot, Term, TokenGroup};
use std::collections::HashMap;

/// The vectors of a query.
#[derive(Default)]
pub(crate) struct Composed {
    /// Terms, without their ω.
    pub(crate) terms: Vec<QueryTerm>,
    /// Footprints of the distinct vectors they are made of, `[layer][vector][bits / 32]` and then, if footprints are
    /// relative, their packed vectors.
    pub(crate) footprints: Vec<u32>,
    /// What the token store knew.
    pub(crate) coverage: Coverage,
    /// The vector of the whole query, as records have documents' means; `None` if it is to be composed of the terms'.
    pub(crate) whole: Option<Vec<u32>>,
}

/// What the store has of a query's token groups.
pub(crate) type Records<'a> = HashMap<&'a TokenGroup, GroupRecord<'a>>;

/// The groups that were found, and the WordPieces that a word is composed of which the store lacks.
pub(crate) fn records<'a>(query: &'a Query, answer: &'a Answer<'a>) -> Records<'a> {
    let found = query.groups.iter().zip(&answer.groups);
    let found = found.filter_map(|(group, record)| Some((group, (*record)?)));
    let pieces = answer.pieces.iter().map(|(piece, record)| (piece, *record));
    found.chain(pieces).collect()
}

impl Ranker {
    /// Terms composed of token groups, and the footprints of their distinct vectors.
    pub(crate) fn composed_query(&self, query: &Query, answer: &Answer<'_>) -> Composed {
        let records = records(query, answer);
        let known = |group: &TokenGroup| records.contains_key(group);
        let known_pieces = |word: &str| self.known_pieces(word, &records);
        let composition = match self.head.deep.stop_words {
            true => query.compose_all(known, known_pieces),
            false => query.compose(known, known_pieces),
        };
        let (terms, footprints) = self.vectors(&composition, &records);
        Composed {
            terms,
            footprints,
            coverage: composition.coverage,
            whole: None,
        }
    }

    /// The WordPieces of a word that the store has.
    pub(crate) fn known_pieces(&self, word: &str, records: &Records<'_>) -> Vec<String> {
        let mut pieces = self.pieces.split_word(word);
        pieces.retain(|piece| records.contains_key(&TokenGroup::Unigram(piece.clone())));
        pieces
    }

    /// The distinct vectors that a composition uses, and its terms in their numbers.
    fn vectors(
        &self,
        composition: &Composition,
        records: &HashMap<&TokenGroup, GroupRecord<'_>>,
    ) -> (Vec<QueryTerm>, Vec<u32>) {
        // The number of a group's first and of its second vector.
        let mut numbers = vec![[None; 2]; composition.groups.len()];
        let mut distinct = Vec::new();
        let mut terms = Vec::new();
        for term in &composition.terms {
            let groups = term.members.iter().map(|member| {
                let second = member.slot == Slot::Second;
                let number = &mut numbers[member.group][usize::from(second)];
                let group = &composition.groups[member.group];
                GroupUse {
                    group: group.key().into_owned(),
                    second,
                    distance: member.distance,
                    weight: member.weight,
                    vector: *number.get_or_insert_with(|| {
                        distinct.push((records[group], member.slot));
                        distinct.len() - 1
                    }),
                }
            });
            terms.push(QueryTerm {
                position: term.position,
                word: term.word.clone(),
                weight: 0.0,
                groups: groups.collect(),
            });
        }
        let layers = usize::from(self.shape.layers);
        let each = layers * usize::from(self.shape.bits) / 32 + usize::from(self.shape.vector);
        let mut vectors = Vec::with_capacity(distinct.len() * each);
        for layer in 0..layers {
            for (record, slot) in &distinct {
                vectors.extend(u32s(record.footprint(layer, *slot)));
            }
        }
        for (record, slot) in &distinct {
            vectors.extend(u32s(record.vector(*slot)));
        }
        (terms, vectors)
    }

    /// BECR⁻: every deep term is one vector, read in the context of the whole query.
    pub(crate) fn whole_query(
        &self,
        text: &str,
        words: &[String],
        plan: &QueryPlan,
        encoder: Option<&dyn QueryEncoder>,
    ) -> Result<Composed, RankError> {
        let encoder = encoder.ok_or(RankError::NoEncoder)?;
        let query = Query::from_words(words, &plan.decomposition);
        let terms: Vec<&Term> = match self.head.deep.stop_words {
            true => query.terms.iter().collect(),
            false => query.deep_terms().collect(),
        };
        if terms.is_empty() {
            return Ok(Composed::default());
        }
        let EncodedQuery { words: all, whole } =
            encoder.encode(text).map_err(RankError::Encoder)?;
        let (layers, width) = (
            usize::from(self.shape.layers),
            usize::from(self.shape.bits) / 32,
        );
        let vector = usize::from(self.shape.vector);
        let each = layers * width + vector;
        let encoded = all.len() / each;
        if encoded < words.len() || encoded * each != all.len() {
            let found = format!(
                "{} numbers for {} words of {each} numbers each",
                all.len(),
                words.len()
            );
            return Err(RankError::Encoder(found.into()));
        }
        let mut vectors = Vec::new();
        for layer in 0..layers {
            for term in &terms {
                vectors.extend(&all[(layer * encoded + term.position) * width..][..width]);
            }
        }
        for term in &terms {
            let at = encoded * layers * width + term.position * vector;
            vectors.extend(&all[at..][..vector]);
        }
        let term = |(vector, term): (usize, &&Term)| QueryTerm {
            position: term.position,
            word: term.word.clone(),
            weight: 0.0,
            groups: vec![GroupUse {
                group: term.word.clone(),
                second: false,
                distance: 0,
                weight: 1.0,
                vector,
            }],
        };
        let expected = self.shape.mean_bytes() / 4;
        if whole.len() != expected {
            let found = format!(
                "{} numbers for the vector of the whole query, which has {expected}",
                whole.len()
            );
            return Err(RankError::Encoder(found.into()));
        }
        Ok(Composed {
            terms: terms.iter().enumerate().map(term).collect(),
            footprints: vectors,
            coverage: Coverage::default(),
            whole: Some(whole),
        })
    }
}
