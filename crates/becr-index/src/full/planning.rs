//! A second of trial before the hours: how long a build is going to take.

use super::word_cache::WordCache;
use super::{FullBuild, Spool};
use crate::live::LiveIndex;
use crate::plan::{Plan, Work};
use crate::{Document, IndexError, Observer};
use becr_groups::GroupList;
use becr_store::Documents;
use becr_text::groups::TokenGroup;

/// Documents that stand for all.
const SAMPLE: usize = 256;
/// Token groups that stand for all.
const GROUPS: usize = 4096;
/// Text that is encoded before anyone has read a plan for it.
const WORTH_A_TRIAL: u64 = 400_000;
/// The same where a device encodes: its trial takes a second too, in which it encodes a megabyte.
const WORTH_A_TRIAL_ON_A_DEVICE: u64 = 64 << 20;
/// Text, and documents, that are read ahead to judge how many there are: far more than files are read by at a time.
const AHEAD: (usize, usize) = (8 << 20, 4096);

impl FullBuild<'_> {
    /// Tells what is to be done, if someone listens and it takes long enough to ask.
    pub(super) fn plan(
        &self,
        index: &LiveIndex,
        list: &GroupList,
        spool: &Spool,
        words: &WordCache<'_>,
        observer: &dyn Observer,
    ) -> Result<(), IndexError> {
        let encodes = self.options.documents == Documents::Encoded && self.options.shard.is_none();
        if !observer.wants_plan() || !encodes || spool.bytes < self.worth_a_trial() {
            return Ok(());
        }
        let sample: Vec<Document> = spool.read()?.take(SAMPLE).collect::<Result<_, _>>()?;
        let (pieces, bytes) = self.sizes(&sample);
        let per_byte = pieces as f64 / bytes.max(1) as f64;
        let tokens_per_document = per_byte * spool.bytes as f64 / spool.documents.max(1) as f64;
        let done = index.store().snapshot()?.totals()?.documents;
        let left = spool.documents.saturating_sub(done);
        let pace = self.encoder.document_pace(&sample)?;
        let (groups, known_groups) = self.plan_groups(index, list, words)?;
        observer.planned(&Plan {
            groups,
            known_groups,
            documents: Work::new(left, tokens_per_document, pace),
            tokens_per_document,
        });
        Ok(())
    }

    /// The same where documents are read once: it takes the first of them, which are returned, and the observer's word for
    /// how many there are.
    pub(super) fn plan_stream(
        &self,
        index: &LiveIndex,
        documents: &mut impl Iterator<Item = Result<Document, IndexError>>,
        observer: &dyn Observer,
    ) -> Result<Vec<Result<Document, IndexError>>, IndexError> {
        let mut ahead = Vec::new();
        let is_composed = self.options.documents == Documents::Composed;
        if !observer.wants_plan() || is_composed || self.options.shard.is_some() {
            return Ok(ahead);
        }
        let mut bytes = 0;
        while bytes < AHEAD.0
            && ahead.len() < AHEAD.1
            && let Some(document) = documents.next()
        {
            let Ok(read) = &document else {
                // For whoever takes the documents to report.
                ahead.push(document);
                return Ok(ahead);
            };
            bytes += read.title.len() + read.text.len();
            ahead.push(document);
        }
        let Some(expected) = observer.expected_documents() else {
            return Ok(ahead);
        };
        // What was read ahead is a part of it.
        let all = bytes as u64 / ahead.len().max(1) as u64 * expected.max(ahead.len() as u64);
        if (bytes as u64) < WORTH_A_TRIAL || all < self.worth_a_trial() {
            return Ok(ahead);
        }
        let sample = ahead.iter().flatten().take(SAMPLE);
        let sample: Vec<Document> = sample.cloned().collect();
        let tokens_per_document = self.sizes(&sample).0 as f64 / sample.len() as f64;
        let done = index.store().snapshot()?.totals()?.documents;
        let left = expected.max(ahead.len() as u64).saturating_sub(done);
        let pace = self.encoder.document_pace(&sample)?;
        observer.planned(&Plan {
            groups: Work::new(0, 1.0, 0.0),
            known_groups: 0,
            documents: Work::new(left, tokens_per_document, pace),
            tokens_per_document,
        });
        Ok(ahead)
    }

    fn worth_a_trial(&self) -> u64 {
        match self.encoder.is_on_a_device() {
            true => WORTH_A_TRIAL_ON_A_DEVICE,
            false => WORTH_A_TRIAL,
        }
    }

    /// WordPieces and bytes of documents.
    fn sizes(&self, documents: &[Document]) -> (usize, usize) {
        let (mut pieces, mut bytes) = (0, 0);
        for document in documents {
            pieces += self.encoder.tokenise(document).pieces.len();
            bytes += document.title.len() + document.text.len();
        }
        (pieces, bytes)
    }

    /// The groups to encode, and how many there are beside these.
    fn plan_groups(
        &self,
        index: &LiveIndex,
        list: &GroupList,
        words: &WordCache<'_>,
    ) -> Result<(Work, u64), IndexError> {
        let stored = index.store().snapshot()?.group_count()?;
        let mut unknown: Vec<TokenGroup> = Vec::new();
        let mut count = 0;
        for entry in list.iter()? {
            let group = entry?.group;
            if !words.has(&group) {
                // Every few of them, so that the sample has all kinds.
                if count % (list.len() / GROUPS as u64).max(1) == 0 && unknown.len() < GROUPS {
                    unknown.push(group);
                }
                count += 1;
            }
        }
        // An earlier try went through the list in order; what it stored is not to be done again.
        let count = count.min(list.len() - stored.min(list.len()));
        let pace = match count {
            0 => 0.0,
            _ => self.encoder.group_pace(&unknown)?,
        };
        Ok((Work::new(count, 1.0, pace), list.len() - count))
    }
}
