//! What a change has gathered so far. Every method either does all of its work or, on an error, none.

mod ask;

use crate::tokenised::Tokenised;
use crate::vocabulary::Vocabulary;
use crate::{
    Batch, DeletedDocument, FetchBuffer, Field, FrequencyChange, GroupRecord, MAX_ID_BYTES,
    NewDocument, NewRecord, PairChange, Question, Shape, StoreContents, StoreError, StoredDocument,
    StoredGroup, Table, Text, Totals, Words, keys,
};
use becr_text::groups::TokenGroup;
use std::collections::{BTreeMap, HashMap};

/// A change in the making.
pub(crate) struct Draft {
    base: u64,
    shape: Shape,
    window: usize,
    /// Whether there are pairs to count.
    counts_pairs: bool,
    totals: Totals,
    feature_names: Vec<String>,
    vocabulary: Vocabulary,
    pairs: HashMap<(u32, u32), FrequencyChange>,
    /// Where the document of an id is, as far as the store was asked.
    places: HashMap<String, Place>,
    /// Words of documents in the store that may be deleted.
    stored: HashMap<u64, Counted>,
    deleted: Vec<DeletedDocument>,
    /// By number.
    documents: BTreeMap<u64, (StoredDocument, Counted)>,
    /// By key.
    groups: BTreeMap<Vec<u8>, StoredGroup>,
    pub(crate) companion: Option<Vec<u8>>,
}

/// Where a document is.
#[derive(Clone, Copy)]
enum Place {
    Nowhere,
    /// In the store, by number.
    Stored(u64),
    /// Among the new ones, by number.
    New(u64),
}

/// What a document counts for.
#[derive(Clone)]
struct Counted {
    words: Words,
    tokens: u64,
}

impl Draft {
    pub(crate) fn new(store: &impl StoreContents) -> Result<Self, StoreError> {
        let mut buffer = FetchBuffer::default();
        let state = store.look_up(&Question::default(), &mut buffer)?;
        let header = store.header();
        Ok(Self {
            base: store.generation()?,
            shape: header.shape,
            window: header.window,
            counts_pairs: store.rows(Table::Pairs)? > 0,
            totals: state.totals,
            feature_names: state.feature_names,
            vocabulary: Vocabulary::default(),
            pairs: HashMap::new(),
            places: HashMap::new(),
            stored: HashMap::new(),
            deleted: Vec::new(),
            documents: BTreeMap::new(),
            groups: BTreeMap::new(),
            companion: None,
        })
    }

    /// Puts a document. Its id and its words must have been asked for.
    pub(crate) fn put(
        &mut self,
        store: &impl StoreContents,
        document: &NewDocument<'_>,
        words: &Tokenised,
    ) -> Result<u64, StoreError> {
        if document.id.len() > MAX_ID_BYTES {
            return Err(StoreError::LongId {
                id: document.id.chars().take(40).collect(),
                bytes: document.id.len(),
            });
        }
        let refused = |reason: &str| StoreError::Refused {
            what: format!("document {}", document.id),
            reason: reason.into(),
        };
        let (numbers, new_words) = self.word_numbers(words).ok_or_else(|| {
            refused("it has a new word, and the store has no numbers left for words")
        })?;
        let (features, new_names) = self.numbered_features(document.features);
        let field = |places: &[u32]| places.iter().map(|&at| numbers[at as usize]).collect();
        let record = NewRecord {
            tokens: document.tokens,
            cls: document.cls,
            footprints: document.footprints,
            mean: document.mean,
            share: document.share,
            lengths: document.lengths,
            features,
            words: Words {
                title: field(&words.title),
                body: field(&words.body),
            },
        };
        let bytes = record.encode(self.shape).map_err(refused)?;
        let text = match document.keep_text {
            true => Text::encode(document.title, document.text)
                .map(Some)
                .map_err(StoreError::io(store.path(), "cannot compress a text"))?,
            false => None,
        };
        self.delete(store, document.id)?;
        // From here on nothing fails.
        let words_before = self.totals.next_word as u32;
        for (number, word) in (words_before..).zip(&new_words) {
            self.vocabulary.add(word, number);
        }
        self.totals.next_word += new_words.len() as u64;
        self.feature_names.extend(new_names);
        let counted = Counted {
            words: record.words,
            tokens: u64::from(document.tokens),
        };
        self.count(&counted.words, 1);
        let number = self.totals.next_document;
        self.totals.next_document += 1;
        self.totals.documents += 1;
        self.totals.tokens += counted.tokens;
        self.totals.title_words += counted.words.title.len() as u64;
        self.totals.body_words += counted.words.body.len() as u64;
        let stored = StoredDocument {
            number,
            id: document.id.to_owned(),
            record: bytes,
            text,
        };
        self.documents.insert(number, (stored, counted));
        self.places
            .insert(document.id.to_owned(), Place::New(number));
        Ok(number)
    }

    /// Deletes a document; false if there is none. Its id must have been asked for.
    pub(crate) fn delete(
        &mut self,
        store: &impl StoreContents,
        id: &str,
    ) -> Result<bool, StoreError> {
        let place = self.places.get(id).copied().unwrap_or(Place::Nowhere);
        let counted = match place {
            Place::Nowhere => return Ok(false),
            Place::Stored(number) => self.stored.get(&number),
            Place::New(number) => self.documents.get(&number).map(|(_, counted)| counted),
        };
        let missing = || damaged(store, format!("document {id}"), "its words are missing");
        let counted = counted.ok_or_else(missing)?.clone();
        let totals = without(self.totals, &counted).ok_or_else(|| {
            let reason = "they are smaller than those of a document that is deleted";
            damaged(store, "the sums over all documents".into(), reason)
        })?;
        self.totals = totals;
        self.count(&counted.words, -1);
        match place {
            Place::Stored(number) => self.deleted.push(DeletedDocument {
                number,
                id: id.to_owned(),
            }),
            Place::New(number) => drop(self.documents.remove(&number)),
            Place::Nowhere => {}
        }
        self.places.insert(id.to_owned(), Place::Nowhere);
        Ok(true)
    }

    pub(crate) fn put_group(
        &mut self,
        store: &impl StoreContents,
        group: &TokenGroup,
        footprints: &[u8],
    ) -> Result<(), StoreError> {
        let slots = GroupRecord::slots(group);
        let expected = self.shape.group_bytes(slots);
        let refused = |reason: String| StoreError::Refused {
            what: format!("token group \"{group}\""),
            reason,
        };
        if footprints.len() != expected {
            return Err(refused(format!(
                "{} bytes of footprints, expected {expected}",
                footprints.len()
            )));
        }
        let key = keys::of_text(&group.key()).into_owned();
        if slots == 2 && self.totals.documents > 0 && !self.groups.contains_key(&key) {
            let question = Question {
                pairs: std::slice::from_ref(group),
                ..Question::default()
            };
            let mut buffer = FetchBuffer::default();
            if store.look_up(&question, &mut buffer)?.pairs == [None] {
                return Err(refused(
                    "a new pair in a store that has documents could not be counted".into(),
                ));
            }
        }
        self.counts_pairs |= slots == 2;
        let stored = StoredGroup {
            group: group.clone(),
            value: GroupRecord::encode(footprints),
        };
        self.groups.insert(key, stored);
        Ok(())
    }

    /// The number of each of a document's words, and the words that are new, in the order of their numbers.
    fn word_numbers<'t>(&self, words: &'t Tokenised) -> Option<(Vec<u32>, Vec<&'t str>)> {
        let mut new = Vec::new();
        let mut next = self.totals.next_word;
        let mut numbers = Vec::with_capacity(words.words.len());
        for word in &words.words {
            numbers.push(match self.vocabulary.number(word) {
                Some(number) => number,
                None => {
                    new.push(word.as_str());
                    next += 1;
                    u32::try_from(next - 1).ok()?
                }
            });
        }
        Some((numbers, new))
    }

    /// Features by the numbers of their names, and the names that are new.
    fn numbered_features(&self, features: &[(String, f32)]) -> (Vec<(u32, f32)>, Vec<String>) {
        let mut new: Vec<String> = Vec::new();
        let mut number = |name: &String| {
            let mut known = self.feature_names.iter().chain(&new);
            known.position(|known| known == name).unwrap_or_else(|| {
                new.push(name.clone());
                self.feature_names.len() + new.len() - 1
            }) as u32
        };
        let features = features
            .iter()
            .map(|(name, value)| (number(name), *value))
            .collect();
        (features, new)
    }

    /// Counts a document's words and pairs in (`by` = 1) or out (−1).
    fn count(&mut self, words: &Words, by: i32) {
        for (words, field) in [(&words.title, Field::Title), (&words.body, Field::Body)] {
            self.vocabulary.count(words, field, by);
            if self.counts_pairs {
                let mut pairs: Vec<(u32, u32)> = pairs_within(words, self.window).collect();
                pairs.sort_unstable();
                pairs.dedup();
                for pair in pairs {
                    self.pairs.entry(pair).or_default().add(field, by);
                }
            }
        }
    }

    pub(crate) fn into_batch(self) -> Batch {
        let changed = self
            .pairs
            .into_iter()
            .filter(|(_, change)| !change.is_nothing());
        let mut pairs: Vec<PairChange> = changed
            .filter_map(|((first, second), change)| {
                let pair = self.vocabulary.pair(first, second)?;
                Some(PairChange { pair, change })
            })
            .collect();
        pairs.sort_by(|a, b| keys::of_text(&a.pair).cmp(&keys::of_text(&b.pair)));
        let (words, stems) = self.vocabulary.into_changes();
        let documents = self.documents.into_values();
        Batch {
            base: self.base,
            deleted: self.deleted,
            documents: documents.map(|(document, _)| document).collect(),
            words,
            stems,
            pairs,
            groups: self.groups.into_values().collect(),
            totals: self.totals,
            feature_names: self.feature_names,
            companion: self.companion,
        }
    }
}

/// The sums without a document; `None` if they are smaller than it.
fn without(totals: Totals, counted: &Counted) -> Option<Totals> {
    let Words { title, body } = &counted.words;
    Some(Totals {
        documents: totals.documents.checked_sub(1)?,
        tokens: totals.tokens.checked_sub(counted.tokens)?,
        title_words: totals.title_words.checked_sub(title.len() as u64)?,
        body_words: totals.body_words.checked_sub(body.len() as u64)?,
        ..totals
    })
}

fn damaged(store: &impl StoreContents, what: String, reason: &str) -> StoreError {
    StoreError::Damaged {
        path: store.path().to_owned(),
        what,
        reason: reason.into(),
    }
}

/// The ordered pairs of words no more than `window` apart.
pub(crate) fn pairs_within(words: &[u32], window: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
    words.iter().enumerate().flat_map(move |(at, &first)| {
        let next = words[at + 1..].iter().take(window);
        next.map(move |&second| (first, second))
    })
}
