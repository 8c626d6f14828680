//! A snapshot as re-ranking, writing and checks ask it. Nothing is copied: buffers stay as they are.

use crate::Snapshot;
use crate::engine::engine;
use crate::transaction::Transaction;
use becr_store::column::Near;
use becr_store::{
    Answer, DocumentStore, FetchBuffer, GroupRecord, Header, Question, StoreContents, StoreError,
    Table, Text, VisitRecords, VisitRows,
};
use becr_text::groups::TokenGroup;
use std::path::Path;

impl<T: Transaction> DocumentStore for Snapshot<T> {
    fn header(&self) -> &Header {
        self.store.header()
    }

    fn path(&self) -> &Path {
        self.store.path()
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        _: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        let mut pieces = Vec::new();
        let mut groups = Vec::with_capacity(question.groups.len());
        for group in question.groups {
            let record = self.group(group)?;
            if let (None, TokenGroup::Unigram(word), Some(split)) = (record, group, question.pieces)
            {
                pieces.extend(split(word));
            }
            groups.push(record);
        }
        pieces.sort_unstable();
        pieces.dedup();
        let piece = |piece: String| {
            let group = TokenGroup::Unigram(piece);
            let record: Option<GroupRecord<'a>> = match self.group(&group) {
                Ok(record) => record,
                Err(error) => return Some(Err(error)),
            };
            Some(Ok((group, record?)))
        };
        Ok(Answer {
            totals: self.totals()?,
            feature_names: self.feature_names()?,
            numbers: all(question.ids, |id| self.number(id))?,
            words: all(question.words, |word| self.word(word))?,
            stems: all(question.stems, |stem| self.stem(stem))?,
            pairs: all(question.pairs, |pair| self.pair(pair))?,
            groups,
            pieces: pieces
                .into_iter()
                .filter_map(piece)
                .collect::<Result<_, _>>()?,
        })
    }

    fn fetch(
        &self,
        numbers: &[u64],
        _: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        // All at once: finding them is quick, and has those read that are not in memory.
        let _ = visit(0, &self.find(numbers)?);
        Ok(())
    }

    fn can_search(&self) -> bool {
        self.has_column()
    }

    fn nearest(&self, vector: &[f32], wanted: usize) -> Result<Option<Vec<Near>>, StoreError> {
        match self.has_column() {
            true => self.search_column(vector, wanted).map(Some),
            false => Ok(None),
        }
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        all(numbers, |&number| self.text(number))
    }
}

impl<T: Transaction> StoreContents for Snapshot<T> {
    fn generation(&self) -> Result<u64, StoreError> {
        self.generation()
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        self.companion()
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        all(numbers, |&number| Ok(self.id(number)?.map(str::to_owned)))
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        let spellings = self.store.tables().spellings;
        let spelling = |word: &u32| {
            let found = spellings.get(self.txn(), &u64::from(*word));
            let found = found.map_err(engine(self.store.path()))?;
            Ok(found.map(str::to_owned))
        };
        all(words, spelling)
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        if table == Table::Records {
            return self
                .records()?
                .try_fold(0, |rows, row| row.map(|_| rows + 1));
        }
        self.store
            .tables()
            .rows(table)
            .len(self.txn())
            .map_err(engine(self.store.path()))
    }

    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        let engine = engine(self.store.path());
        if table == Table::Records {
            for row in self.records()? {
                let (number, record) = row?;
                if visit(&number.to_be_bytes(), record).is_break() {
                    break;
                }
            }
            return Ok(());
        }
        let rows = self.store.tables().rows(table);
        for row in rows.iter(self.txn()).map_err(&engine)? {
            let (key, value) = row.map_err(&engine)?;
            if visit(key, value).is_break() {
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
