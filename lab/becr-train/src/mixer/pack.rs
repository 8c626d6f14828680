//! Pseudo-queries packed into rows of one length: a device meets one shape, and computes little for padding.
//!
//! A row holds several queries, which do not see each other. Each has tokens, `[CLS] pieces [SEP]`, for the teacher, and
//! slots, itself and its words, for the mixer.

use super::texts::{NO_WORD, Texts};

/// Tokens of a row.
pub(super) const TOKENS: usize = 64;
/// Slots of a row.
pub(super) const SLOTS: usize = 48;

/// Stands for no sequence and no slot.
const NONE: i32 = -1;
/// The sequence of tokens and slots that belong to none: they see each other, which keeps them finite.
const PADDING: i32 = -2;

/// Queries in rows, as a device takes them. Of tokens: `rows × TOKENS`; of slots: `rows × SLOTS`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Packed {
    pub(super) rows: usize,
    /// WordPieces.
    pub(super) ids: Vec<i32>,
    /// Their positions in their queries.
    pub(super) positions: Vec<i32>,
    /// The query of each token, counted in its row.
    pub(super) sequences: Vec<i32>,
    /// The slot of the token's word, and the token's share of it.
    pub(super) word_slots: Vec<i32>,
    pub(super) word_shares: Vec<f32>,
    /// The slot of the token's query, and the token's share of it.
    pub(super) query_slots: Vec<i32>,
    pub(super) query_shares: Vec<f32>,
    /// The word of each slot; [`NO_WORD`] for queries and empty ones.
    pub(super) words: Vec<i32>,
    /// The query of each slot, counted in its row.
    pub(super) slot_sequences: Vec<i32>,
    /// A word's place in its query, `None` for the query itself; nothing for empty slots.
    pub(super) places: Vec<Option<Option<usize>>>,
    /// Which slots are stop words.
    pub(super) stop: Vec<bool>,
    /// In the slot of a query, how many words it has; 0 in others.
    pub(super) query_words: Vec<usize>,
    /// Queries in all rows.
    pub(super) queries: usize,
}

impl Packed {
    /// The first token of every query.
    pub(super) fn first_tokens(&self) -> Vec<i32> {
        let starts = self.positions.iter().zip(&self.sequences).enumerate();
        starts
            .filter(|(_, (position, sequence))| **position == 0 && **sequence >= 0)
            .map(|(token, _)| token as i32)
            .collect()
    }
}

/// Packs queries one after the other.
pub(crate) struct Packer<'a> {
    texts: &'a Texts,
    packed: Packed,
    /// Tokens, slots and queries of each row.
    used: Vec<(usize, usize, usize)>,
    /// Rows before this one have no room for a query of this size.
    first: usize,
}

impl<'a> Packer<'a> {
    pub(crate) fn new(texts: &'a Texts, rows: usize) -> Self {
        let (tokens, slots) = (rows * TOKENS, rows * SLOTS);
        let packed = Packed {
            rows,
            ids: vec![texts.special.pad as i32; tokens],
            positions: vec![0; tokens],
            sequences: vec![PADDING; tokens],
            word_slots: vec![NONE; tokens],
            word_shares: vec![0.0; tokens],
            query_slots: vec![NONE; tokens],
            query_shares: vec![0.0; tokens],
            words: vec![NO_WORD as i32; slots],
            slot_sequences: vec![PADDING; slots],
            places: vec![None; slots],
            stop: vec![false; slots],
            query_words: vec![0; slots],
            queries: 0,
        };
        Self {
            texts,
            packed,
            used: vec![(0, 0, 0); rows],
            first: 0,
        }
    }

    /// Packs all queries that find room, the longest first. The rest is left out.
    pub(crate) fn all(texts: &'a Texts, rows: usize, queries: &[Vec<u32>]) -> Packed {
        let mut order: Vec<&Vec<u32>> = queries.iter().collect();
        let tokens =
            |query: &[u32]| -> usize { query.iter().map(|&word| texts.pieces(word).len()).sum() };
        order.sort_by_cached_key(|query| std::cmp::Reverse(tokens(query)));
        let mut packer = Self::new(texts, rows);
        for query in order {
            packer.add(query);
        }
        packer.packed
    }

    /// Rows that all of these queries need.
    pub(crate) fn rows_of(texts: &'a Texts, queries: &[Vec<u32>]) -> usize {
        let packed = Self::all(texts, queries.len(), queries);
        let used = packed.slot_sequences.chunks(SLOTS);
        used.filter(|row| row[0] != PADDING).count()
    }

    /// Packs a query, cut to what a row holds, and says in which slot; `None` if there is no room.
    pub(crate) fn add(&mut self, query: &[u32]) -> Option<usize> {
        let mut pieces = 0;
        let fits = |word: &&u32| {
            pieces += self.texts.pieces(**word).len();
            pieces <= TOKENS - 2
        };
        let query: Vec<u32> = query
            .iter()
            .take(SLOTS - 1)
            .take_while(fits)
            .copied()
            .collect();
        let tokens: usize = query
            .iter()
            .map(|&word| self.texts.pieces(word).len())
            .sum::<usize>()
            + 2;
        let room =
            |&(t, s, _): &(usize, usize, usize)| t + tokens <= TOKENS && s + query.len() < SLOTS;
        let row = self.first + self.used[self.first..].iter().position(room)?;
        let slot = self.put(row, &query, tokens);
        // A row with room for less than a word of one piece is full.
        while self
            .used
            .get(self.first)
            .is_some_and(|&(t, s, _)| t + 3 > TOKENS || s + 2 > SLOTS)
        {
            self.first += 1;
        }
        Some(slot)
    }

    pub(crate) fn finish(self) -> Packed {
        self.packed
    }

    fn put(&mut self, row: usize, query: &[u32], tokens: usize) -> usize {
        let (first_token, first_slot, sequence) = self.used[row];
        let packed = &mut self.packed;
        let slot = row * SLOTS + first_slot;
        let special = self.texts.special;
        let mut token = row * TOKENS + first_token;
        let mut push = |id: u32, word: Option<(usize, usize)>| {
            packed.ids[token] = id as i32;
            packed.positions[token] = (token - row * TOKENS - first_token) as i32;
            packed.sequences[token] = sequence as i32;
            packed.query_slots[token] = first_slot as i32;
            packed.query_shares[token] = 1.0 / tokens as f32;
            if let Some((place, pieces)) = word {
                packed.word_slots[token] = (first_slot + 1 + place) as i32;
                packed.word_shares[token] = 1.0 / pieces as f32;
            }
            token += 1;
        };
        push(special.cls, None);
        for (place, &word) in query.iter().enumerate() {
            let pieces = self.texts.pieces(word);
            for &piece in pieces {
                push(piece, Some((place, pieces.len())));
            }
        }
        push(special.sep, None);
        packed.slot_sequences[slot..=slot + query.len()].fill(sequence as i32);
        packed.places[slot] = Some(None);
        packed.query_words[slot] = query.len();
        for (place, &word) in query.iter().enumerate() {
            packed.words[slot + 1 + place] = word as i32;
            packed.stop[slot + 1 + place] = self.texts.stop[word as usize];
            packed.places[slot + 1 + place] = Some(Some(place));
        }
        packed.queries += 1;
        self.used[row] = (
            first_token + tokens,
            first_slot + 1 + query.len(),
            sequence + 1,
        );
        slot
    }
}
