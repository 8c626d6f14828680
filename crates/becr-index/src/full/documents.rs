//! The documents of an index: encoded and stored, in batches that are committed as they come.

use super::composed::Composer;
use super::encoding::{DocumentEncoder, Footprints};
use super::{FullBuild, Observer, Stage};
use crate::IndexError;
use crate::live::{Change, LiveIndex};
use becr_lmdb::Store;
use becr_store::{Documents, NewDocument};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Bytes of footprints committed together.
const BATCH_BYTES: usize = 8 << 20;
/// Changes after which the first stage commits: often enough that little must be repeated after a crash.
const FIRST_STAGE_COMMIT: usize = 20_000;

impl FullBuild<'_> {
    /// Encodes the documents that the index does not have yet; returns how many it had.
    pub(super) fn encode_documents(
        &self,
        index: &mut LiveIndex,
        observer: &dyn Observer,
    ) -> Result<u64, IndexError> {
        let mut corpus = (self.corpus)()?;
        observer.begin(Stage::EncodingDocuments, Some(&corpus), None);
        let encoder = DocumentEncoder::new(self.model, self.encoder)?;
        let store = index.store().clone();
        let known = store.snapshot()?;
        let mut resumed = 0;
        let shard = self.options.shard;
        let mut place = 0;
        let documents = std::iter::from_fn(|| {
            loop {
                let document = match corpus.next()? {
                    Ok(document) => document,
                    Err(error) => return Some(Err(error.into())),
                };
                observer.advance(1);
                place += 1;
                if shard.is_some_and(|shard| !shard.has(place - 1)) {
                    continue;
                }
                match known.number(&document.id) {
                    Ok(None) => return Some(Ok(document)),
                    Ok(Some(_)) => resumed += 1,
                    Err(error) => return Some(Err(error.into())),
                }
            }
        });
        let mut writer = BatchWriter::new(index, self.options.keep_text)?;
        encoder.footprints_for(&store, documents, |document, footprints| {
            writer.push(document, footprints)
        })?;
        writer.flush()?;
        observer.read(&corpus);
        Ok(resumed)
    }
}

impl DocumentEncoder<'_> {
    /// Encodes or composes a stream of documents, as `store` has them, and hands each on, in order.
    pub(crate) fn footprints_for(
        &self,
        store: &Store,
        documents: impl Iterator<Item = Result<becr_corpus::Document, IndexError>>,
        mut emit: impl FnMut(becr_corpus::Document, Footprints) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        match store.header().documents {
            Documents::Encoded => self.encode(documents, emit),
            Documents::Composed => {
                let composer = Composer::new(store, self.encoder.word_pieces(), &self.hyperplanes);
                for document in documents {
                    let document = document?;
                    let footprints = composer.compose(&document.title, &document.text)?;
                    emit(document, footprints)?;
                }
                Ok(())
            }
        }
    }

    /// Encodes a stream of documents and hands each on with its footprints, in order. Memory is bounded by
    /// the encoder's batch.
    fn encode(
        &self,
        documents: impl Iterator<Item = Result<becr_corpus::Document, IndexError>>,
        mut emit: impl FnMut(becr_corpus::Document, Footprints) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        // The encoder takes texts and gives footprints in the same order; what else a document has waits here.
        let waiting = RefCell::new(VecDeque::new());
        let fault = RefCell::new(None);
        let mut documents = documents;
        let texts = std::iter::from_fn(|| match documents.next()? {
            Ok(document) => {
                let (title, text) = (document.title.clone(), document.text.clone());
                waiting.borrow_mut().push_back(document);
                Some(becr_encoder::Document { title, text })
            }
            Err(error) => {
                *fault.borrow_mut() = Some(error);
                None
            }
        });
        self.encoder.documents(texts, |encoded| {
            let document = waiting.borrow_mut().pop_front();
            let footprints = self.footprints(&encoded)?;
            document.map_or(Ok(()), |document| emit(document, footprints))
        })?;
        fault.into_inner().map_or(Ok(()), Err)
    }
}

/// Gathers encoded documents and commits them in batches.
pub(crate) struct BatchWriter<'a> {
    index: &'a mut LiveIndex,
    keep_text: bool,
    /// γ of the index's head.
    gamma: Option<Vec<f32>>,
    batch: Vec<(becr_corpus::Document, Footprints)>,
    bytes: usize,
}

impl<'a> BatchWriter<'a> {
    pub(crate) fn new(index: &'a mut LiveIndex, keep_text: bool) -> Result<Self, IndexError> {
        let head = crate::head::head_of(index.dir())?;
        Ok(Self {
            index,
            keep_text,
            gamma: head.and_then(|head| head.others.cls),
            batch: Vec::new(),
            bytes: 0,
        })
    }

    pub(crate) fn push(
        &mut self,
        document: becr_corpus::Document,
        footprints: Footprints,
    ) -> Result<(), IndexError> {
        self.bytes += footprints.tiles.len() + document.text.len();
        self.batch.push((document, footprints));
        if self.bytes < BATCH_BYTES {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Commits what is waiting.
    pub(crate) fn flush(&mut self) -> Result<(), IndexError> {
        let (keep_text, gamma) = (self.keep_text, self.gamma.as_deref());
        let changes: Vec<Change<'_>> = self
            .batch
            .iter()
            .map(|(document, footprints)| put(document, footprints, keep_text, gamma))
            .collect();
        self.index.apply(&changes)?;
        self.batch.clear();
        self.bytes = 0;
        if self.index.uncommitted() >= FIRST_STAGE_COMMIT {
            self.index.commit()
        } else {
            Ok(())
        }
    }
}

fn put<'a>(
    document: &'a becr_corpus::Document,
    footprints: &'a Footprints,
    keep_text: bool,
    gamma: Option<&[f32]>,
) -> Change<'a> {
    Change::Put(NewDocument {
        id: &document.id,
        title: &document.title,
        text: &document.text,
        keep_text,
        tokens: footprints.tokens,
        cls: crate::head::gamma_cls(gamma, &footprints.cls),
        footprints: &footprints.tiles,
        mean: &footprints.mean,
        share: footprints.share,
        lengths: &footprints.lengths,
        features: &document.features,
    })
}
