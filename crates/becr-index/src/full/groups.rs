//! The token groups of an index: counted, chosen, encoded, stored.

use super::documents::writer_ended;
use super::word_cache::WordCache;
use super::{FullBuild, SPOOL};
use crate::live::LiveIndex;
use crate::observer::check_stop;
use crate::spool::{Spool, SpoolWriter};
use crate::{Document, IndexError, Observer, Stage};
use becr_groups::{CountFile, CountOptions, Counter, GroupList, Sources, Vocabulary};
use becr_lmdb::Store;
use becr_text::groups::TokenGroup;
use rayon::prelude::*;
use std::path::Path;
use std::sync::mpsc::sync_channel;

/// Groups encoded and committed together, at least.
const BATCH: usize = 4096;
/// Counts of the documents and of the query log, inside a build.
const COUNTS: &str = "groups.counts";
const LOG_COUNTS: &str = "log.counts";

impl FullBuild<'_> {
    /// Reads the documents: counts their words and pairs, and keeps them for the next pass.
    pub(super) fn spool(
        &self,
        dir: &Path,
        documents: &mut impl Iterator<Item = Result<Document, IndexError>>,
        observer: &dyn Observer,
    ) -> Result<Spool, IndexError> {
        observer.begin(Stage::Counting, None);
        let mut counter = Counter::new(&self.count_options(dir));
        let mut spool = SpoolWriter::create(&dir.join(SPOOL))?;
        for document in documents {
            let document = document?;
            counter.add(&[&document.title, &document.text])?;
            spool.push(&document)?;
            observer.advance(1);
            check_stop(observer)?;
        }
        counter.finish(&dir.join(COUNTS))?;
        spool.finish()
    }

    fn count_options(&self, dir: &Path) -> CountOptions {
        let window = self.model.config.settings().window as u32;
        CountOptions {
            window: match (
                self.options.rules.keep_pairs(),
                self.options.rules.pair_distance,
            ) {
                (false, _) => 0,
                (true, distance) => distance.unwrap_or(window),
            },
            memory: self.options.memory,
            scratch: dir.to_owned(),
        }
    }

    /// Chooses from the counts.
    pub(super) fn choose_groups(
        &self,
        dir: &Path,
        out: &Path,
        spool: &Spool,
        observer: &dyn Observer,
    ) -> Result<GroupList, IndexError> {
        let options = self.count_options(dir);
        let counts = match CountFile::open(&dir.join(COUNTS)) {
            Ok(counts) => counts,
            Err(_) => self.count_again(&options, &dir.join(COUNTS), spool, observer)?,
        };
        let log = match self.options.query_log.is_empty() {
            true => None,
            false => {
                let mut counter = Counter::new(&options);
                self.options
                    .query_log
                    .iter()
                    .try_for_each(|query| counter.add(&[query]))?;
                Some(counter.finish(&dir.join(LOG_COUNTS))?)
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
        for name in [COUNTS, LOG_COUNTS] {
            // Large, and of no use once the list stands.
            let _ = std::fs::remove_file(dir.join(name));
        }
        Ok(list)
    }

    /// Counts what was spooled, where the counts of an interrupted try are gone.
    fn count_again(
        &self,
        options: &CountOptions,
        out: &Path,
        spool: &Spool,
        observer: &dyn Observer,
    ) -> Result<CountFile, IndexError> {
        observer.begin(Stage::Counting, Some(spool.documents));
        let mut counter = Counter::new(options);
        for document in spool.read()? {
            let document = document?;
            counter.add(&[&document.title, &document.text])?;
            observer.advance(1);
            check_stop(observer)?;
        }
        Ok(counter.finish(out)?)
    }

    /// Encodes the groups that neither the store nor the cache of WordPieces has yet.
    pub(super) fn encode_groups(
        &self,
        index: &LiveIndex,
        list: &GroupList,
        words: &mut WordCache<'_>,
        observer: &dyn Observer,
    ) -> Result<(), IndexError> {
        // What is known takes no time: counted in, it would make the rest look long.
        let mut unknown = 0;
        for entry in list.iter()? {
            unknown += u64::from(!words.has(&entry?.group));
        }
        observer.begin(Stage::EncodingGroups, Some(unknown));
        let store = index.store().clone();
        // Batches are committed by a thread of its own, so that the encoder does not wait for the disk.
        let (send, receive) = sync_channel(1);
        let (encoded, written) = std::thread::scope(|scope| {
            let written = scope.spawn(move || {
                let mut batches = receive.into_iter();
                batches.try_for_each(|groups: Vec<_>| put_groups(index, &groups))
            });
            let mut encode = || -> Result<(), IndexError> {
                let mut entries = list.iter()?;
                // Some batches for every thread, which wait for the last of them: a group is some six tokens.
                let side_by_side = self.encoder.backend().side_by_side();
                let size = BATCH.max(side_by_side * self.encoder.batch_tokens().max(BATCH) / 2);
                loop {
                    let batch = entries.by_ref().take(size);
                    let batch: Vec<TokenGroup> = batch
                        .map(|entry| Ok(entry?.group))
                        .collect::<Result<_, IndexError>>()?;
                    if batch.is_empty() {
                        return Ok(());
                    }
                    let groups = self.encode_batch(&store, batch, words, observer)?;
                    send.send(groups).map_err(|_| writer_ended())?;
                }
            };
            let encoded = encode();
            drop(send);
            (encoded, written.join())
        });
        // A failed writer is why the encoder had to stop, so its error comes first.
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        encoded?;
        words.keep();
        Ok(())
    }

    /// The groups that the store lacks, as it keeps them.
    fn encode_batch(
        &self,
        store: &Store,
        batch: Vec<TokenGroup>,
        words: &mut WordCache<'_>,
        observer: &dyn Observer,
    ) -> Result<Vec<(TokenGroup, Vec<u8>)>, IndexError> {
        let snapshot = store.snapshot()?;
        let mut missing = Vec::new();
        let mut groups = Vec::new();
        // What is known as a vector has to be hashed.
        let known: Vec<_> = batch.par_iter().map(|group| words.get(group)).collect();
        for (group, known) in batch.into_iter().zip(known) {
            if snapshot.group(&group)?.is_some() {
                observer.resumed(u64::from(known.is_none()));
                continue;
            }
            match known {
                Some(bytes) => groups.push((group, bytes)),
                None => missing.push(group),
            }
        }
        drop(snapshot);
        let told = |encoded: usize| {
            observer.advance(encoded as u64);
            check_stop(observer)
        };
        let encoded = self.encoder.groups_observed(&missing, told)?;
        for (group, encoded) in missing.into_iter().zip(&encoded) {
            let values = encoded.footprints.iter().chain(&encoded.packed);
            let bytes: Vec<u8> = values.flat_map(|word| word.to_le_bytes()).collect();
            words.add(self.encoder, &group, &bytes);
            groups.push((group, bytes));
        }
        Ok(groups)
    }
}

fn put_groups(index: &LiveIndex, groups: &[(TokenGroup, Vec<u8>)]) -> Result<(), IndexError> {
    index.update_store(|update| {
        for (group, bytes) in groups {
            update.put_group(group, bytes)?;
        }
        Ok(())
    })
}
