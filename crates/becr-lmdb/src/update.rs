//! Writing: documents and token groups in, statistics kept exact.

use crate::Store;
use crate::engine::engine;
use crate::store::COMPANION;
use becr_store::{
    DocumentFrequency, Field, FrequencyChange, GroupRecord, MAX_ID_BYTES, NewDocument, NewRecord,
    Record, Stem, StoreError, Text, Totals, Words, keys,
};
use becr_text::groups::TokenGroup;
use becr_text::lexical::Analyzer;
use becr_text::words;
use heed::RwTxn;
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};

/// A change of the store, all or nothing: dropped without [`Update::commit`], it never was.
pub struct Update<'s> {
    store: &'s Store,
    txn: RwTxn<'s>,
    totals: Totals,
    feature_names: Vec<String>,
    stems: HashMap<String, FrequencyChange>,
    pairs: HashMap<(u32, u32), FrequencyChange>,
    /// Stems of the words met so far.
    stem_of: HashMap<u32, String>,
    analyzer: Analyzer,
    generation: u64,
    /// A change failed in the middle: what was counted may not be what was written.
    broken: bool,
}

impl<'s> Update<'s> {
    pub(crate) fn new(store: &'s Store, txn: RwTxn<'s>) -> Result<Self, StoreError> {
        let totals = read_meta(store, &txn, "totals")?;
        let feature_names = read_meta(store, &txn, "features")?;
        let generation: u64 = read_meta(store, &txn, "generation")?;
        Ok(Self {
            store,
            txn,
            generation,
            broken: false,
            totals,
            feature_names,
            stems: HashMap::new(),
            pairs: HashMap::new(),
            stem_of: HashMap::new(),
            analyzer: Analyzer::default(),
        })
    }

    /// Stores a document, in the place of one of the same id if there is one. Returns its number.
    ///
    /// After an error the change cannot be committed.
    pub fn put(&mut self, document: &NewDocument<'_>) -> Result<u64, StoreError> {
        if document.id.len() > MAX_ID_BYTES {
            return Err(StoreError::LongId {
                id: document.id.chars().take(40).collect(),
                bytes: document.id.len(),
            });
        }
        self.whole(|update| update.replace(document))
    }

    /// Does a part of the change; if that fails, the whole cannot be committed.
    fn whole<T>(
        &mut self,
        part: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let done = part(self);
        self.broken |= done.is_err();
        done
    }

    fn replace(&mut self, document: &NewDocument<'_>) -> Result<u64, StoreError> {
        self.remove(document.id)?;
        let words = Words {
            title: self.word_numbers(document.title)?,
            body: self.word_numbers(document.text)?,
        };
        self.count(&words, 1)?;
        let record = NewRecord {
            tokens: document.tokens,
            cls: document.cls,
            footprints: document.footprints,
            mean: document.mean,
            share: document.share,
            lengths: document.lengths,
            features: self.numbered_features(document.features),
            words,
        };
        self.insert(document, &record)
    }

    fn insert(
        &mut self,
        document: &NewDocument<'_>,
        record: &NewRecord<'_>,
    ) -> Result<u64, StoreError> {
        let bytes =
            record
                .encode(self.store.header().shape)
                .map_err(|reason| StoreError::Refused {
                    what: format!("document {}", document.id),
                    reason: reason.into(),
                })?;
        let number = self.totals.next_document;
        self.totals.next_document += 1;
        self.totals.documents += 1;
        self.totals.tokens += u64::from(record.tokens);
        let tables = self.store.tables();
        let mut write = || {
            tables.records.put(&mut self.txn, &number, &bytes)?;
            tables
                .numbers
                .put(&mut self.txn, &keys::of_text(document.id), &number)?;
            tables.ids.put(&mut self.txn, &number, document.id)?;
            if document.keep_text {
                let text = Text::encode(document.title, document.text).map_err(heed::Error::Io)?;
                tables.texts.put(&mut self.txn, &number, &text)?;
            }
            Ok(())
        };
        write().map_err(engine(self.store.path()))?;
        Ok(number)
    }

    /// Deletes a document; false if there is none of that id.
    pub fn delete(&mut self, id: &str) -> Result<bool, StoreError> {
        self.whole(|update| update.remove(id))
    }

    fn remove(&mut self, id: &str) -> Result<bool, StoreError> {
        let engine = engine(self.store.path());
        let tables = self.store.tables();
        let key = keys::of_text(id);
        let Some(number) = tables.numbers.get(&self.txn, &key).map_err(&engine)? else {
            return Ok(false);
        };
        let missing = || StoreError::Damaged {
            path: self.store.path().to_owned(),
            what: format!("document {id}"),
            reason: "its record is missing".into(),
        };
        let bytes = tables
            .records
            .get(&self.txn, &number)
            .map_err(&engine)?
            .ok_or_else(missing)?;
        let record = Record::read(bytes, self.store.path(), || {
            format!("the record of document {id}")
        })?;
        let (words, tokens) = (record.forward().words(), record.tokens() as u64);
        self.count(&words, -1)?;
        self.totals.documents -= 1;
        self.totals.tokens -= tokens;
        let mut remove = || {
            tables.records.delete(&mut self.txn, &number)?;
            tables.numbers.delete(&mut self.txn, &key)?;
            tables.ids.delete(&mut self.txn, &number)?;
            tables.texts.delete(&mut self.txn, &number)
        };
        remove().map_err(engine)?;
        Ok(true)
    }

    /// Stores a token group: its footprints in the order layer, slot, then its packed vectors, if
    /// footprints are relative. Pairs must come before documents, whose pairs are counted as they come.
    pub fn put_group(&mut self, group: &TokenGroup, footprints: &[u8]) -> Result<(), StoreError> {
        let (slots, shape) = (GroupRecord::slots(group), self.store.header().shape);
        let expected = shape.group_bytes(slots);
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
        let tables = self.store.tables();
        let key = keys::of_text(&group.key()).into_owned();
        let is_new = tables
            .groups
            .get(&self.txn, &key)
            .map_err(engine(self.store.path()))?
            .is_none();
        if is_new && slots == 2 && self.totals.documents > 0 {
            return Err(refused(
                "a new pair in a store that has documents could not be counted".into(),
            ));
        }
        let mut write = || {
            tables
                .groups
                .put(&mut self.txn, &key, &GroupRecord::encode(footprints))?;
            if is_new && slots == 2 {
                tables
                    .pairs
                    .put(&mut self.txn, &key, &DocumentFrequency::default().bytes())?;
            }
            Ok(())
        };
        write().map_err(engine(self.store.path()))
    }

    /// Notes that the first stage has yet to commit the change of a document.
    pub fn note(&mut self, id: &str) -> Result<(), StoreError> {
        let pending = self.store.tables().pending;
        let noted = pending.put(&mut self.txn, &keys::of_text(id), id);
        noted.map_err(engine(self.store.path()))
    }

    /// Keeps a few bytes of the caller's beside the documents, in the place of those it had: they appear with this
    /// change, as a whole. For an index of another kind that belongs to the same state.
    pub fn set_companion(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let meta = self.store.tables().meta;
        let kept = meta.put(&mut self.txn, COMPANION, bytes);
        kept.map_err(engine(self.store.path()))
    }

    /// Notes that the first stage has committed the changes of these documents.
    pub fn settle(&mut self, ids: &[String]) -> Result<(), StoreError> {
        for id in ids {
            let settled = self
                .store
                .tables()
                .pending
                .delete(&mut self.txn, &keys::of_text(id));
            settled.map_err(engine(self.store.path()))?;
        }
        Ok(())
    }

    /// Makes the change durable and visible, as a whole.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let engine = engine(self.store.path());
        if self.broken {
            return Err(StoreError::Refused {
                what: self.store.path().display().to_string(),
                reason: "a part of this change failed: make it again".into(),
            });
        }
        self.apply_stems()?;
        self.apply_pairs()?;
        let json = |e: serde_json::Error| heed::Error::Encoding(e.into());
        let meta = &self.store.tables().meta;
        let totals = serde_json::to_vec(&self.totals)
            .map_err(json)
            .map_err(&engine)?;
        let names = serde_json::to_vec(&self.feature_names)
            .map_err(json)
            .map_err(&engine)?;
        let generation = (self.generation + 1).to_string();
        meta.put(&mut self.txn, "totals", &totals)
            .map_err(&engine)?;
        meta.put(&mut self.txn, "generation", generation.as_bytes())
            .map_err(&engine)?;
        meta.put(&mut self.txn, "features", &names)
            .map_err(&engine)?;
        let path = self.store.path();
        self.txn.commit().map_err(|error| match error {
            // The engine's word for a write that came back short.
            heed::Error::Io(e) if e.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                let action = "a write failed or came back short, as on a full disk; what was \
                              committed before is safe";
                StoreError::io(path, action)(e)
            }
            error => engine(error),
        })
    }

    /// The numbers of a text's words; new words get new numbers.
    fn word_numbers(&mut self, text: &str) -> Result<Vec<u32>, StoreError> {
        let engine = engine(self.store.path());
        let mut numbers = Vec::new();
        for word in words::words(text) {
            let key = keys::of_text(&word.text);
            let known = self
                .store
                .tables()
                .words
                .get(&self.txn, &key)
                .map_err(&engine)?;
            let number = match known {
                Some(number) => number,
                None => self.new_word(&word.text)?,
            };
            numbers.push(number as u32);
        }
        Ok(numbers)
    }

    fn new_word(&mut self, word: &str) -> Result<u64, StoreError> {
        let engine = engine(self.store.path());
        let tables = self.store.tables();
        let number = self.totals.next_word;
        self.totals.next_word += 1;
        let stem = self.analyzer.stem(word).into_owned();
        let key = keys::of_text(&stem);
        let mut entry = self.stem(&stem)?;
        entry.words.push(number as u32);
        let mut write = || {
            let word_key = keys::of_text(word);
            tables.words.put(&mut self.txn, &word_key, &number)?;
            tables.spellings.put(&mut self.txn, &number, word)?;
            tables.stems.put(&mut self.txn, &key, &entry.bytes())
        };
        write().map_err(engine)?;
        Ok(number)
    }

    /// A stem as the store has it so far.
    fn stem(&self, stem: &str) -> Result<Stem, StoreError> {
        let stems = self.store.tables().stems;
        let found = stems.get(&self.txn, &keys::of_text(stem));
        match found.map_err(engine(self.store.path()))? {
            Some(bytes) => {
                Stem::read(bytes).ok_or_else(|| self.damaged(format!("the stem {stem}")))
            }
            None => Ok(Stem::default()),
        }
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged {
            path: self.store.path().to_owned(),
            what,
            reason: "it cannot be read".into(),
        }
    }

    /// Counts a document's words and pairs in (`by` = 1) or out (−1).
    fn count(&mut self, words: &Words, by: i32) -> Result<(), StoreError> {
        let sign = i64::from(by);
        let add = |total: &mut u64, words: &[u32]| {
            *total = total.saturating_add_signed(sign * words.len() as i64);
        };
        add(&mut self.totals.title_words, &words.title);
        add(&mut self.totals.body_words, &words.body);
        self.count_field(&words.title, Field::Title, by)?;
        self.count_field(&words.body, Field::Body, by)
    }

    fn count_field(&mut self, words: &[u32], field: Field, by: i32) -> Result<(), StoreError> {
        let distinct: HashSet<u32> = words.iter().copied().collect();
        let mut stems = HashSet::new();
        for word in distinct {
            stems.insert(self.stem_of(word)?);
        }
        for stem in stems {
            self.stems.entry(stem).or_default().add(field, by);
        }
        let pairs: HashSet<(u32, u32)> = pairs_within(words, self.store.header().window).collect();
        for pair in pairs {
            self.pairs.entry(pair).or_default().add(field, by);
        }
        Ok(())
    }

    fn stem_of(&mut self, word: u32) -> Result<String, StoreError> {
        if let Some(stem) = self.stem_of.get(&word) {
            return Ok(stem.clone());
        }
        let spelling = self.spelling(word)?;
        let stem = self.analyzer.stem(&spelling).into_owned();
        self.stem_of.insert(word, stem.clone());
        Ok(stem)
    }

    fn spelling(&self, word: u32) -> Result<String, StoreError> {
        let found = self
            .store
            .tables()
            .spellings
            .get(&self.txn, &u64::from(word));
        let found = found.map_err(engine(self.store.path()))?;
        found.map(str::to_owned).ok_or_else(|| StoreError::Damaged {
            path: self.store.path().to_owned(),
            what: format!("word {word}"),
            reason: "it is missing from the vocabulary".into(),
        })
    }

    fn apply_stems(&mut self) -> Result<(), StoreError> {
        let stems = self.store.tables().stems;
        for (stem, change) in std::mem::take(&mut self.stems) {
            if !change.is_nothing() {
                let mut entry = self.stem(&stem)?;
                entry.frequency = entry.frequency.changed(change);
                let put = stems.put(&mut self.txn, &keys::of_text(&stem), &entry.bytes());
                put.map_err(engine(self.store.path()))?;
            }
        }
        Ok(())
    }

    /// Only pairs that are token groups are counted.
    fn apply_pairs(&mut self) -> Result<(), StoreError> {
        let engine = engine(self.store.path());
        let pairs = self.store.tables().pairs;
        if pairs.is_empty(&self.txn).map_err(&engine)? {
            return Ok(());
        }
        for ((first, second), change) in std::mem::take(&mut self.pairs) {
            if change.is_nothing() {
                continue;
            }
            let pair = format!("{} {}", self.spelling(first)?, self.spelling(second)?);
            let key = keys::of_text(&pair);
            let Some(bytes) = pairs.get(&self.txn, &key).map_err(&engine)? else {
                continue;
            };
            let frequency = DocumentFrequency::read(bytes)
                .ok_or_else(|| self.damaged(format!("the pair {pair}")))?;
            let changed = frequency.changed(change).bytes();
            pairs.put(&mut self.txn, &key, &changed).map_err(&engine)?;
        }
        Ok(())
    }

    fn numbered_features(&mut self, features: &[(String, f32)]) -> Vec<(u32, f32)> {
        let mut number =
            |name: &String| match self.feature_names.iter().position(|known| known == name) {
                Some(number) => number,
                None => {
                    self.feature_names.push(name.clone());
                    self.feature_names.len() - 1
                }
            };
        features
            .iter()
            .map(|(name, value)| (number(name) as u32, *value))
            .collect()
    }
}

/// The ordered pairs of words no more than `window` apart.
pub(crate) fn pairs_within(words: &[u32], window: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
    words.iter().enumerate().flat_map(move |(at, &first)| {
        let next = words[at + 1..].iter().take(window);
        next.map(move |&second| (first, second))
    })
}

fn read_meta<T: serde::de::DeserializeOwned + Default>(
    store: &Store,
    txn: &RwTxn<'_>,
    name: &str,
) -> Result<T, StoreError> {
    let found = store
        .tables()
        .meta
        .get(txn, name)
        .map_err(engine(store.path()))?;
    let Some(bytes) = found else {
        return Ok(T::default());
    };
    serde_json::from_slice(bytes).map_err(|e| StoreError::Damaged {
        path: store.path().to_owned(),
        what: format!("the table of {name}"),
        reason: e.to_string(),
    })
}
