//! The token groups of an index: counted, chosen, encoded, stored.

use super::{FullBuild, Observer, Stage};
use crate::IndexError;
use crate::live::LiveIndex;
use becr_groups::{CountFile, CountOptions, Counter, GroupList, Sources, Vocabulary};
use becr_text::groups::TokenGroup;
use std::path::Path;

/// Groups encoded and committed together.
const BATCH: usize = 4096;

impl FullBuild<'_> {
    /// Counts the corpus and chooses.
    pub(super) fn choose_groups(
        &self,
        dir: &Path,
        out: &Path,
        observer: &dyn Observer,
    ) -> Result<GroupList, IndexError> {
        let options = CountOptions {
            window: self.model.config.settings().window as u32,
            memory: self.options.memory,
            scratch: dir.to_owned(),
        };
        let path = dir.join("groups.counts");
        let counts = match CountFile::open(&path) {
            Ok(counts) => counts,
            Err(_) => self.count(&options, &path, observer)?,
        };
        let log = match self.options.query_log.is_empty() {
            true => None,
            false => {
                let mut counter = Counter::new(&options);
                self.options
                    .query_log
                    .iter()
                    .try_for_each(|query| counter.add(&[query]))?;
                Some(counter.finish(&dir.join("log.counts"))?)
            }
        };
        let pieces = self
            .encoder
            .word_pieces()
            .vocabulary()
            .into_iter()
            .map(|(_, piece)| piece);
        let vocabulary = Vocabulary::new(pieces);
        let sources = Sources {
            counts: &counts,
            log: log.as_ref(),
            vocabulary: &vocabulary,
        };
        let (list, _) = sources.select(&self.options.rules, out)?;
        for name in ["groups.counts", "log.counts"] {
            // Large, and of no use once the list stands.
            let _ = std::fs::remove_file(dir.join(name));
        }
        Ok(list)
    }

    fn count(
        &self,
        options: &CountOptions,
        out: &Path,
        observer: &dyn Observer,
    ) -> Result<CountFile, IndexError> {
        let mut corpus = (self.corpus)()?;
        observer.begin(Stage::Counting, Some(&corpus), None);
        let mut counter = Counter::new(options);
        for document in corpus.by_ref() {
            let document = document?;
            counter.add(&[&document.title, &document.text])?;
            observer.advance(1);
        }
        Ok(counter.finish(out)?)
    }

    /// Encodes the groups that the store does not have yet.
    pub(super) fn encode_groups(
        &self,
        index: &LiveIndex,
        list: &GroupList,
        observer: &dyn Observer,
    ) -> Result<(), IndexError> {
        observer.begin(Stage::EncodingGroups, None, Some(list.len()));
        let mut batch = Vec::with_capacity(BATCH);
        for entry in list.iter()? {
            batch.push(entry?.group);
            if batch.len() == BATCH {
                self.encode_batch(index, &mut batch, observer)?;
            }
        }
        self.encode_batch(index, &mut batch, observer)
    }

    fn encode_batch(
        &self,
        index: &LiveIndex,
        batch: &mut Vec<TokenGroup>,
        observer: &dyn Observer,
    ) -> Result<(), IndexError> {
        let steps = batch.len() as u64;
        let snapshot = index.store().snapshot()?;
        let mut missing = Vec::new();
        for group in batch.drain(..) {
            if snapshot.group(&group)?.is_none() {
                missing.push(group);
            }
        }
        drop(snapshot);
        let encoded = self.encoder.groups(&missing)?;
        index.update_store(|update| {
            for (group, encoded) in missing.iter().zip(&encoded) {
                let bytes: Vec<u8> = encoded
                    .footprints
                    .iter()
                    .chain(&encoded.packed)
                    .flat_map(|word| word.to_le_bytes())
                    .collect();
                update.put_group(group, &bytes)?;
            }
            Ok(())
        })?;
        observer.advance(steps);
        Ok(())
    }
}
