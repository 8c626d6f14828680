//! A hash of what a store says, whatever order it was written in.
//!
//! Numbers of documents, words and features, free pages and stems that no document has any more are left
//! out: they tell how a store came to be, not what it holds.

use crate::Snapshot;
use crate::engine::engine;
use becr_store::{Record, Stem, StoreError};
use twox_hash::XxHash3_128;

impl Snapshot {
    /// A hash over header, documents by id, statistics and token groups, in hexadecimal. Two stores of one
    /// digest answer every question alike.
    pub fn digest(&self) -> Result<String, StoreError> {
        let engine = engine(self.store.path());
        let tables = self.store.tables();
        let mut hasher = XxHash3_128::new();
        let header = self.store.header();
        part(&mut hasher, header.encoder_id.as_bytes());
        part(
            &mut hasher,
            &[
                header.shape.layers.to_le_bytes(),
                header.shape.bits.to_le_bytes(),
                header.shape.vector.to_le_bytes(),
            ]
            .concat(),
        );
        part(&mut hasher, &header.window.to_le_bytes());
        part(&mut hasher, header.documents.name().as_bytes());
        let names = self.feature_names()?;
        for row in tables.numbers.iter(&self.txn).map_err(&engine)? {
            let (_, number) = row.map_err(&engine)?;
            self.digest_document(number, &names, &mut hasher)?;
        }
        let totals = self.totals()?;
        let sums = [
            totals.documents,
            totals.title_words,
            totals.body_words,
            totals.tokens,
        ];
        sums.iter()
            .for_each(|sum| part(&mut hasher, &sum.to_le_bytes()));
        for row in tables.stems.iter(&self.txn).map_err(&engine)? {
            let (key, bytes) = row.map_err(&engine)?;
            let entry = Stem::read(bytes).ok_or_else(|| self.damaged("a stem".into()))?;
            if entry.frequency != Default::default() {
                part(&mut hasher, key);
                part(&mut hasher, &entry.frequency.bytes());
            }
        }
        for table in [tables.pairs, tables.groups] {
            for row in table.iter(&self.txn).map_err(&engine)? {
                let (key, bytes) = row.map_err(&engine)?;
                part(&mut hasher, key);
                part(&mut hasher, bytes);
            }
        }
        Ok(format!("{:032x}", hasher.finish_128()))
    }

    fn digest_document(
        &self,
        number: u64,
        names: &[String],
        hasher: &mut XxHash3_128,
    ) -> Result<(), StoreError> {
        let id = self
            .id(number)?
            .ok_or_else(|| self.damaged(format!("the id of document {number}")))?;
        let record: Record<'_> = self
            .record(number)?
            .ok_or_else(|| self.damaged(format!("the record of document {id}")))?;
        part(hasher, id.as_bytes());
        part(hasher, &(record.tokens() as u64).to_le_bytes());
        part(hasher, &record.cls().to_le_bytes());
        part(hasher, record.footprints());
        part(hasher, record.mean());
        part(hasher, &record.share().to_le_bytes());
        part(hasher, record.lengths());
        let named = |(name, value): (u32, f32)| (names.get(name as usize), value.to_bits());
        let mut features: Vec<_> = record.features().map(named).collect();
        features.sort_unstable();
        for (name, value) in features {
            part(hasher, name.map(String::as_bytes).unwrap_or_default());
            part(hasher, &value.to_le_bytes());
        }
        part(
            hasher,
            &(record.forward().title_words() as u64).to_le_bytes(),
        );
        for word in record.forward().numbers() {
            part(hasher, self.spelling(word)?.as_bytes());
        }
        if let Some(text) = self.text(number)? {
            part(hasher, text.title.as_bytes());
            part(hasher, text.text.as_bytes());
        }
        Ok(())
    }
}

/// Feeds one part with its length, so that no two sequences of parts look alike.
fn part(hasher: &mut XxHash3_128, bytes: &[u8]) {
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}
