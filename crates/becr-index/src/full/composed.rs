//! The paper's "tokens for Q&D": documents composed from the token store instead of encoded.
//!
//! Every word of the document, stop words too, gets a footprint composed of the groups that contain it at its
//! place, as a query term's similarity is: the uni-gram weighs 1/(window + 1), the pairs with its neighbours
//! 1/distance, a word that the store does not have falls back to its WordPieces. Title and body are composed
//! apart, so that no pair reaches from one into the other.
//!
//! On footprints the sum of vectors becomes a weighted vote, bit by bit: the composed bit is the sign of
//! Σ w·(2·bit − 1) over the groups found, and a tie is 0. A word with none of its groups in the store keeps a
//! footprint of zeros, so that positions stay those of the words. The footprint of the mean vector is the vote
//! of the known words' footprints at the last layer, one vote each. CLS is 0: nothing was encoded.
//!
//! Where footprints are relative, groups keep their vectors: words are the weighted sums of these, an unknown one is
//! zero, and the rest is as for encoded documents.

use super::encoding::Footprints;
use crate::IndexError;
use becr_footprint::lsh::Hyperplanes;
use becr_footprint::{DocumentLayout, Relation, unpack};
use becr_lmdb::Store;
use becr_store::{GroupRecord, Shape, u32s};
use becr_text::groups::{Decomposition, Member, Query, TokenGroup};
use becr_text::pieces::WordPieces;
use std::collections::HashMap;

/// Votes nearer to zero than this are ties: what is left is the rounding of the weights. Votes that differ at
/// all differ by 0.02 at the default window.
const TIE: f64 = 1e-6;

/// Composes the documents of one store.
pub(super) struct Composer<'a> {
    store: &'a Store,
    pieces: &'a WordPieces,
    hyperplanes: &'a Hyperplanes,
}

/// The groups of a word that the store knows, with their weights.
type Known<'a, 'k> = [(GroupRecord<'k>, &'a Member)];

/// The footprint of a word at every layer, one after the other; `None` if the store knows nothing of it.
type WordFootprint = Option<Vec<u32>>;

impl<'a> Composer<'a> {
    pub(super) fn new(
        store: &'a Store,
        pieces: &'a WordPieces,
        hyperplanes: &'a Hyperplanes,
    ) -> Self {
        Self {
            store,
            pieces,
            hyperplanes,
        }
    }

    /// The footprints of a document.
    pub(super) fn compose(&self, title: &str, text: &str) -> Result<Footprints, IndexError> {
        match self.store.header().shape.is_relative() {
            true => self.relative(title, text),
            false => self.vote(title, text),
        }
    }

    /// The footprints of a document, relative to the mean of its known words' vectors.
    fn relative(&self, title: &str, text: &str) -> Result<Footprints, IndexError> {
        let mut words = self.field(title, |known| self.vector(known))?;
        words.extend(self.field(text, |known| self.vector(known))?);
        let dim = self.hyperplanes.dim();
        let mut mean = vec![0.0; dim];
        let mut vectors = Vec::with_capacity(words.len() * dim);
        for word in &words {
            let start = vectors.len();
            match word {
                Some(word) => vectors.extend_from_slice(word),
                None => vectors.resize(start + dim, 0.0),
            }
            // The length of a mean does not matter.
            mean.iter_mut()
                .zip(&vectors[start..])
                .for_each(|(m, x)| *m += x);
        }
        let (relation, rows) = Relation::new(self.hyperplanes, &vectors, &mean)?;
        let tiles = self.tiles(words.len(), &rows)?;
        Ok(Footprints::relative(
            words.len(),
            tiles,
            relation,
            Vec::new(),
        ))
    }

    fn tiles(&self, words: usize, rows: &[u32]) -> Result<Vec<u8>, IndexError> {
        let shape = self.store.header().shape;
        let layers = usize::from(shape.layers);
        let layout = DocumentLayout::new(layers, words, usize::from(shape.bits))?;
        let mut tiles = vec![0; layout.bytes()];
        layout.tile(rows, &mut tiles)?;
        Ok(tiles)
    }

    /// The vector of a word.
    fn vector(&self, known: &Known<'_, '_>) -> Vec<f32> {
        let dim = self.hyperplanes.dim();
        let (mut sum, mut vector) = (vec![0.0; dim], vec![0.0; dim]);
        for (group, member) in known {
            unpack(u32s(group.vector(member.slot)), &mut vector);
            let parts = sum.iter_mut().zip(&vector);
            parts.for_each(|(sum, x)| *sum += member.weight * x);
        }
        sum
    }

    fn vote(&self, title: &str, text: &str) -> Result<Footprints, IndexError> {
        let mut words = self.field(title, |known| self.footprint(known))?;
        words.extend(self.field(text, |known| self.footprint(known))?);
        let shape = self.store.header().shape;
        let (layers, width) = (usize::from(shape.layers), width(shape));
        let mut rows = Vec::with_capacity(layers * words.len() * width);
        let unknown = vec![0; width];
        for layer in 0..layers {
            for word in &words {
                rows.extend_from_slice(match word {
                    Some(word) => &word[layer * width..][..width],
                    None => &unknown,
                });
            }
        }
        let (tiles, mean) = (self.tiles(words.len(), &rows)?, mean(&words, shape));
        Ok(Footprints::whole(words.len(), tiles, &mean, Vec::new()))
    }

    /// What `compose` makes of every word of a field, if the store knows anything of it.
    fn field<T>(
        &self,
        text: &str,
        compose: impl Fn(&Known<'_, '_>) -> T,
    ) -> Result<Vec<Option<T>>, IndexError> {
        let options = Decomposition {
            window: self.store.header().window,
            ..Decomposition::default()
        };
        let query = Query::new(text, &options);
        let snapshot = self.store.snapshot()?;
        let mut records: HashMap<TokenGroup, GroupRecord<'_>> = HashMap::new();
        for group in &query.groups {
            if let Some(record) = snapshot.group(group)? {
                records.insert(group.clone(), record);
            }
        }
        let composition = query.compose_all(
            |group| records.contains_key(group),
            |word| self.pieces.split_word(word),
        );
        // The pieces of unknown words are groups that were not asked for before.
        let mut found = Vec::with_capacity(composition.groups.len());
        for group in &composition.groups {
            found.push(match records.get(group) {
                Some(record) => Some(*record),
                None => snapshot.group(group)?,
            });
        }
        let mut words: Vec<Option<T>> = query.terms.iter().map(|_| None).collect();
        for term in &composition.terms {
            let members = term.members.iter();
            let known: Vec<_> = members
                .filter_map(|member| Some((found[member.group]?, member)))
                .collect();
            if !known.is_empty() {
                words[term.position] = Some(compose(&known));
            }
        }
        Ok(words)
    }

    /// The vote of the groups of a word.
    fn footprint(&self, known: &Known<'_, '_>) -> Vec<u32> {
        let shape = self.store.header().shape;
        let mut footprint = Vec::with_capacity(usize::from(shape.layers) * width(shape));
        let mut vote = Vote::new(usize::from(shape.bits));
        for layer in 0..usize::from(shape.layers) {
            for (group, member) in known {
                let footprint = u32s(group.footprint(layer, member.slot));
                vote.add(footprint, f64::from(member.weight));
            }
            footprint.extend(vote.take());
        }
        footprint
    }
}

/// The vote of the known words at the last layer.
fn mean(words: &[WordFootprint], shape: Shape) -> Vec<u32> {
    let mut vote = Vote::new(usize::from(shape.bits));
    let last = usize::from(shape.layers).saturating_sub(1) * width(shape);
    for word in words.iter().flatten() {
        vote.add(word[last..].iter().copied(), 1.0);
    }
    vote.take().collect()
}

/// 32-bit words of a footprint.
fn width(shape: Shape) -> usize {
    usize::from(shape.bits) / 32
}

/// A weighted vote on every bit of a footprint.
struct Vote {
    sums: Vec<f64>,
}

impl Vote {
    fn new(bits: usize) -> Self {
        Self {
            sums: vec![0.0; bits],
        }
    }

    fn add(&mut self, words: impl Iterator<Item = u32>, weight: f64) {
        let signs = [-weight, weight];
        for (sums, word) in self.sums.as_chunks_mut::<32>().0.iter_mut().zip(words) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += signs[(word >> bit & 1) as usize];
            }
        }
    }

    /// The outcome; the vote starts anew.
    fn take(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.sums.as_chunks_mut::<32>().0.iter_mut().map(|sums| {
            let bits = sums.iter().enumerate();
            let word = bits.fold(0, |word, (bit, &sum)| word | u32::from(sum > TIE) << bit);
            sums.fill(0.0);
            word
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_footprint::lsh::HyperplaneKind;
    use becr_footprint::pack;
    use becr_store::{Documents, Header};

    const SHAPE: Shape = Shape {
        layers: 2,
        bits: 32,
        vector: 0,
    };
    const VOCABULARY: &[u8] = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nriver\nbank\nwater\n##s\n";

    /// Footprints are small numbers; the second layer has all of the first's bits turned over.
    fn store(dir: &std::path::Path, window: usize, groups: &[(&str, u32, u32)]) -> Store {
        let header = Header {
            documents: Documents::Composed,
            ..Header::new("encoder-1", SHAPE, window)
        };
        let store = Store::create(dir, &header).unwrap();
        let mut update = store.update().unwrap();
        for &(key, first, second) in groups {
            let (group, slots) = match key.split_once(' ') {
                Some((a, b)) => (TokenGroup::Pair(a.into(), b.into()), vec![first, second]),
                None => (TokenGroup::Unigram(key.into()), vec![first]),
            };
            let bytes: Vec<u8> = [0, u32::MAX]
                .iter()
                .flat_map(|turn| {
                    slots
                        .iter()
                        .flat_map(move |slot| (slot ^ turn).to_le_bytes())
                })
                .collect();
            update.put_group(&group, &bytes).unwrap();
        }
        update.commit().unwrap();
        store
    }

    /// Rows `[layer][word]` and the mean of a document.
    fn compose(store: &Store, title: &str, text: &str) -> (Vec<u32>, u32) {
        let pieces = WordPieces::from_vocab(VOCABULARY, "vocab.txt").unwrap();
        let planes = Hyperplanes::generate(8, 32, HyperplaneKind::Orthogonal, 0).unwrap();
        let composer = Composer::new(store, &pieces, &planes);
        let footprints = composer.compose(title, text).unwrap();
        let layout = DocumentLayout::new(2, footprints.tokens as usize, 32).unwrap();
        let mut rows = vec![0; layout.row_words()];
        layout.untile(&footprints.tiles, &mut rows).unwrap();
        (
            rows,
            u32::from_le_bytes(footprints.mean.try_into().unwrap()),
        )
    }

    /// "river water bank" with window 3: 1/4 for a uni-gram, 1 for neighbours, 1/2 for (river, bank).
    ///
    /// river, bits 0 to 2: the uni-gram has 0b011 (1/4), (river, water) 0b001 (1), (river, bank) 0b110 (1/2).
    /// Bit 0: 1/4 + 1 − 1/2 > 0. Bit 1: 1/4 − 1 + 1/2 < 0. Bit 2: −1/4 − 1 + 1/2 < 0. So 0b001.
    /// water: the uni-gram 0b000, (river, water) 0b101, and (water, bank) is not in the store: 1 beats 1/4.
    /// bank: the uni-gram 0b111 (1/4), (river, bank) 0b010 (1/2): 0b010.
    ///
    /// The other bits are 0 everywhere. At the second layer every bit is the other way round.
    #[test]
    fn a_worked_example() {
        let folder = tempfile::tempdir().unwrap();
        let groups = [
            ("river", 0b011, 0),
            ("water", 0b000, 0),
            ("bank", 0b111, 0),
            ("river water", 0b001, 0b101),
            ("river bank", 0b110, 0b010),
        ];
        let store = store(folder.path(), 3, &groups);
        let (rows, mean) = compose(&store, "", "River water bank");
        let first = [0b001, 0b101, 0b010];
        assert_eq!(rows[..3], first);
        assert_eq!(rows[3..], first.map(|word: u32| !word));
        // Votes at the last layer: 0, 0, 1 on bit 0; 1, 1, 0 on bit 1; 1, 0, 1 on bit 2; 1 on all others.
        assert_eq!(mean, !0b001);
    }

    #[test]
    fn pairs_stay_within_their_field() {
        let folder = tempfile::tempdir().unwrap();
        let groups = [
            ("river", 0b01, 0),
            ("bank", 0b01, 0),
            ("river bank", 0b10, 0b10),
        ];
        let store = store(folder.path(), 3, &groups);
        assert_eq!(compose(&store, "river", "bank").0[..2], [0b01, 0b01]);
        assert_eq!(compose(&store, "", "river bank").0[..2], [0b10, 0b10]);
    }

    #[test]
    fn ties_are_zero() {
        let folder = tempfile::tempdir().unwrap();
        // With window 1 uni-grams weigh 1/2 and pairs 1: on bit 0 the two pairs of "water" contradict each
        // other and its uni-gram decides; without one, the WordPiece fall-back is the word itself, missing.
        let groups = [
            ("river", 0, 0),
            ("bank", 0, 0),
            ("river water", 0, 0b11),
            ("water bank", 0b10, 0),
        ];
        let store = store(folder.path(), 1, &groups);
        let (rows, _) = compose(&store, "", "river water bank");
        assert_eq!(rows[1], 0b10, "a tie on bit 0, agreement on bit 1");
        assert_eq!(rows[4], !0b11, "the tie is 0 at the other layer too");
    }

    #[test]
    fn unknown_words_fall_back_and_keep_their_place() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 3, &[("river", 0b011, 0), ("##s", 0b010, 0)]);
        // "rivers" is its pieces, on whose bit 0 they tie; the store has no [UNK] for the word in between.
        let (rows, mean) = compose(&store, "", "rivers ж river");
        assert_eq!(rows[..3], [0b010, 0, 0b011]);
        assert_eq!(rows[4], 0, "nothing is known at any layer");
        // Votes of the two known words, ¬0b010 without the tied bit 0, and ¬0b011.
        assert_eq!(mean, !0b011);
    }

    /// Where footprints are relative, words are sums of the groups' vectors, and the document is what these make.
    #[test]
    fn relative_footprints_are_made_of_vectors() {
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape {
            vector: 2,
            ..Shape::new(1, 32)
        };
        let header = Header {
            documents: Documents::Composed,
            ..Header::new("encoder-1", shape, 3)
        };
        let store = Store::create(folder.path(), &header).unwrap();
        let mut update = store.update().unwrap();
        let vector = |turn: usize| -> [f32; 8] {
            std::array::from_fn(|i| ((i * 5 + turn * 3) % 7) as f32 - 2.0)
        };
        for (turn, word) in ["river", "bank"].into_iter().enumerate() {
            // The footprint of a group has no part in a document.
            let words = [vec![turn as u32], pack(&vector(turn))].concat();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let group = TokenGroup::Unigram(word.into());
            update.put_group(&group, &bytes).unwrap();
        }
        update.commit().unwrap();
        let pieces = WordPieces::from_vocab(VOCABULARY, "vocab.txt").unwrap();
        let planes = Hyperplanes::generate(8, 32, HyperplaneKind::Orthogonal, 0).unwrap();
        let composer = Composer::new(&store, &pieces, &planes);
        let found = composer.compose("bank", "river ж").unwrap();
        let mut vectors = vec![0.0; 3 * 8];
        unpack(pack(&vector(1)), &mut vectors[..8]);
        unpack(pack(&vector(0)), &mut vectors[8..16]);
        let mean: Vec<f32> = (0..8).map(|i| vectors[i] + vectors[8 + i]).collect();
        let (relation, rows) = Relation::new(&planes, &vectors, &mean).unwrap();
        let layout = DocumentLayout::new(1, 3, 32).unwrap();
        let mut tiles = vec![0; layout.bytes()];
        layout.tile(&rows, &mut tiles).unwrap();
        let expected = Footprints::relative(3, tiles, relation, Vec::new());
        assert_eq!(found.tiles, expected.tiles);
        assert_eq!(found.mean, expected.mean);
        assert_eq!(found.lengths, expected.lengths);
        assert_eq!(found.share, expected.share);
        assert!(found.share > 0.0 && found.lengths[2] > 0);
    }

    #[test]
    fn an_empty_document_has_no_footprints() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), 3, &[]);
        assert_eq!(compose(&store, "", " "), (vec![], 0));
    }
}
