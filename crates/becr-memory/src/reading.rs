//! Snapshots as re-ranking, writing and checks ask them. What is lent is copied into the caller's buffer, as
//! a store behind a network does it.

use crate::store::{Snapshot, damaged, name};
use becr_footprint::signs::packed_dot;
use becr_store::column::{Near, best, record_signs};
use becr_store::{
    Answer, DocumentStore, FetchBuffer, FoundRecord, GroupRecord, Header, Question, Record,
    StoreContents, StoreError, Table, Text, VisitRecords, VisitRows, keys, u32s,
};
use becr_text::groups::TokenGroup;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::PoisonError;

/// Records that are handed out together.
const CHUNK: usize = 64;

impl<W> DocumentStore for Snapshot<W> {
    fn header(&self) -> &Header {
        &self.shared.header
    }

    fn path(&self) -> &Path {
        name()
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        let pieces = self.fetch_groups(question, buffer);
        let mut values = buffer.values();
        let mut next = |group: &TokenGroup| match values.next().flatten() {
            Some(bytes) => self.group(group, bytes).map(Some),
            None => Ok(None),
        };
        let groups = question.groups.iter().map(&mut next);
        let groups = groups.collect::<Result<_, _>>()?;
        let mut found = Vec::new();
        for piece in pieces {
            if let Some(record) = next(&piece)? {
                found.push((piece, record));
            }
        }
        let word = |word: &&str| {
            let number = self.number(Table::Words, &keys::of_text(word))?;
            Ok(number.map(|number| number as u32))
        };
        Ok(Answer {
            totals: self.meta.totals,
            feature_names: self.meta.feature_names.clone(),
            numbers: all(question.ids, |id| {
                self.number(Table::Numbers, &keys::of_text(id))
            })?,
            words: all(question.words, word)?,
            stems: all(question.stems, |stem| self.stem(stem))?,
            pairs: all(question.pairs, |pair| {
                self.pair(&keys::of_text(&pair.key()))
            })?,
            groups,
            pieces: found,
        })
    }

    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        for (at, chunk) in numbers.chunks(CHUNK).enumerate() {
            buffer.clear();
            for number in chunk {
                buffer.push(self.get(Table::Records, &number.to_be_bytes()).as_deref());
            }
            let found = chunk.iter().zip(buffer.values());
            let found: Vec<Option<FoundRecord<'_>>> = found
                .map(|(&number, bytes)| bytes.map(|bytes| FoundRecord::new(number, bytes, name())))
                .collect();
            if visit(at * CHUNK, &found).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn can_search(&self) -> bool {
        self.header().shape.is_relative()
    }

    /// Compares the query with every document.
    fn nearest(&self, vector: &[f32], wanted: usize) -> Result<Option<Vec<Near>>, StoreError> {
        if !self.can_search() {
            return Ok(None);
        }
        let (mut nears, mut buffer) = (Vec::new(), Vec::new());
        let is_no_direction = vector.iter().all(|x| *x == 0.0);
        self.scan(Table::Records, &mut |key, record| {
            let number = key.try_into().map(u64::from_be_bytes);
            let record = Record::decode(record);
            if let (Ok(number), Ok(record), false) = (number, record, is_no_direction)
                && record_signs(record.bytes()).is_some()
            {
                let similarity = packed_dot(vector, u32s(record.mean()), &mut buffer);
                nears.push(Near { number, similarity });
            }
            ControlFlow::Continue(())
        })?;
        Ok(Some(best(nears, wanted)))
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        all(numbers, |number| {
            let Some(bytes) = self.get(Table::Texts, &number.to_be_bytes()) else {
                return Ok(None);
            };
            let read = Text::decode(&bytes).map(Some);
            read.ok_or_else(|| {
                damaged(
                    format!("the text of document {number}"),
                    "it cannot be read",
                )
            })
        })
    }
}

impl<W> Snapshot<W> {
    /// Copies the values of token groups into the buffer, and after them those of the WordPieces of words that are missing,
    /// which it returns.
    fn fetch_groups(&self, question: &Question<'_>, buffer: &mut FetchBuffer) -> Vec<TokenGroup> {
        buffer.clear();
        let mut pieces = Vec::new();
        let mut push = |group: &TokenGroup| {
            let value = self.get(Table::Groups, &keys::of_text(&group.key()));
            buffer.push(value.as_deref());
            value.is_some()
        };
        for group in question.groups {
            let is_there = push(group);
            if let (false, TokenGroup::Unigram(word), Some(split)) =
                (is_there, group, question.pieces)
            {
                pieces.extend(split(word).into_iter().map(TokenGroup::Unigram));
            }
        }
        pieces.iter().for_each(|piece| {
            push(piece);
        });
        pieces
    }

    fn group<'a>(
        &self,
        group: &TokenGroup,
        bytes: &'a [u8],
    ) -> Result<GroupRecord<'a>, StoreError> {
        let record = GroupRecord::decode(bytes, GroupRecord::slots(group), self.header().shape);
        record.map_err(|reason| damaged(format!("the token group \"{group}\""), reason))
    }

    fn number(&self, table: Table, key: &[u8]) -> Result<Option<u64>, StoreError> {
        let Some(bytes) = self.get(table, key) else {
            return Ok(None);
        };
        let number = bytes
            .first_chunk()
            .map(|number| u64::from_be_bytes(*number));
        let name = || format!("the number of {}", String::from_utf8_lossy(key));
        number
            .map(Some)
            .ok_or_else(|| damaged(name(), "it cannot be read"))
    }

    fn string(&self, table: Table, number: u64) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.get(table, &number.to_be_bytes()) else {
            return Ok(None);
        };
        let string = String::from_utf8(bytes.to_vec()).map(Some);
        string.map_err(|_| damaged(format!("number {number}"), "it is no text"))
    }
}

impl<W> StoreContents for Snapshot<W> {
    fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.meta.generation)
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        Ok(self.meta.companion.as_deref())
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        all(numbers, |&number| self.string(Table::Ids, number))
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        all(words, |&word| {
            self.string(Table::Spellings, u64::from(word))
        })
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        let tables = self.shared.tables.read();
        let tables = tables.unwrap_or_else(PoisonError::into_inner);
        Ok(tables.iter(table, self.meta.generation).count() as u64)
    }

    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        let tables = self.shared.tables.read();
        let tables = tables.unwrap_or_else(PoisonError::into_inner);
        let rows = tables.iter(table, self.meta.generation);
        // Whoever visits a row may ask for others: the lock is let go first.
        let rows: Vec<_> = rows
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        drop(tables);
        for (key, value) in rows {
            if visit(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn all<Q, A>(
    questions: &[Q],
    ask: impl Fn(&Q) -> Result<A, StoreError>,
) -> Result<Vec<A>, StoreError> {
    questions.iter().map(ask).collect()
}
