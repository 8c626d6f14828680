//! The documents of an index: encoded and stored, in batches that are committed as they come.

use super::FullBuild;
use super::composed::Composer;
use super::encoding::{DocumentEncoder, Footprints};
use crate::live::{Change, LiveIndex};
use crate::observer::check_stop;
use crate::{Changed, Document, IndexError, Observer, Stage};
use becr_lmdb::Store;
use becr_store::{Documents, NewDocument};
use std::path::Path;
use std::sync::mpsc::sync_channel;

/// Bytes of footprints committed together.
const BATCH_BYTES: usize = 8 << 20;
/// Encoded documents that may wait for the writer.
const WAITING: usize = 256;

impl FullBuild<'_> {
    /// Encodes the documents that the index does not have yet; returns how many it had.
    pub(super) fn encode_documents(
        &self,
        index: &mut LiveIndex,
        mut documents: impl Iterator<Item = Result<Document, IndexError>>,
        total: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<u64, IndexError> {
        observer.begin(Stage::EncodingDocuments, total);
        let encoder = DocumentEncoder::new(self.model, self.encoder)?;
        let store = index.store().clone();
        let mut resumed = 0;
        let shard = self.options.shard;
        let mut place = 0;
        let documents = std::iter::from_fn(|| {
            loop {
                if let Err(stopped) = check_stop(observer) {
                    return Some(Err(stopped));
                }
                let document = match documents.next()? {
                    Ok(document) => document,
                    Err(error) => return Some(Err(error)),
                };
                place += 1;
                if shard.is_some_and(|shard| !shard.has(place - 1)) {
                    observer.resumed(1);
                    continue;
                }
                // A snapshot for each: one that lives through all commits keeps the store from using freed pages again.
                let known = store
                    .snapshot()
                    .and_then(|snapshot| snapshot.number(&document.id));
                match known {
                    Ok(None) => return Some(Ok(document)),
                    Ok(Some(_)) => {
                        resumed += 1;
                        observer.resumed(1);
                    }
                    Err(error) => return Some(Err(error.into())),
                }
            }
        });
        let mut writer = BatchWriter::new(index, self.options.keep_text)?;
        // Batches are committed by a thread of its own, so that the encoder does not wait for the disk.
        let (send, receive) = sync_channel(WAITING);
        let (encoded, written) = std::thread::scope(|scope| {
            let written = scope.spawn(move || {
                for (document, footprints) in receive {
                    writer.push(document, footprints)?;
                }
                writer.flush().map(drop)
            });
            let encoded = encoder.footprints_for(&store, documents, |document, footprints| {
                observer.advance(1);
                send.send((document, footprints))
                    .map_err(|_| writer_ended())?;
                check_stop(observer)
            });
            drop(send);
            (encoded, written.join())
        });
        // A failed writer is why the encoder had to stop, so its error comes first.
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        encoded?;
        Ok(resumed)
    }
}

/// Stops the encoder when the writer has ended; the writer's own error is the one that is shown.
pub(super) fn writer_ended() -> IndexError {
    let kind = std::io::ErrorKind::BrokenPipe;
    IndexError::io(Path::new("index"), "cannot write")(kind.into())
}

impl DocumentEncoder<'_> {
    /// Encodes or composes a stream of documents, as `store` has them, and hands each on, in order.
    pub(crate) fn footprints_for(
        &self,
        store: &Store,
        documents: impl Iterator<Item = Result<Document, IndexError>>,
        mut emit: impl FnMut(Document, Footprints) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        match store.header().documents {
            Documents::Encoded => self.encode(documents, emit),
            Documents::Vectors => self.encode(documents, |document, footprints| {
                emit(document, footprints.without_tokens())
            }),
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
    /// the encoder's batches.
    pub(super) fn encode(
        &self,
        documents: impl Iterator<Item = Result<Document, IndexError>>,
        mut emit: impl FnMut(Document, Footprints) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let mut fault = None;
        let documents = documents.map_while(|document| match document {
            Ok(document) => Some(document),
            Err(error) => {
                fault = Some(error);
                None
            }
        });
        let finish = |document, encoded| Ok((document, self.footprints(&encoded)?));
        let emit = |(document, footprints)| emit(document, footprints);
        self.encoder.documents(documents, finish, emit)?;
        fault.map_or(Ok(()), Err)
    }
}

/// Gathers encoded documents and commits them in batches.
pub(crate) struct BatchWriter<'a> {
    index: &'a mut LiveIndex,
    keep_text: bool,
    /// γ of the index's head.
    gamma: Option<Vec<f32>>,
    batch: Vec<(Document, Footprints)>,
    bytes: usize,
    /// What the batches so far did.
    written: Changed,
    /// A batch could not be written: none will be after it.
    has_failed: bool,
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
            written: Changed::default(),
            has_failed: false,
        })
    }

    /// What was committed.
    pub(crate) fn written(&self) -> Changed {
        self.written
    }

    /// Takes a document; returns the ids that were committed, if the batch was full.
    pub(crate) fn push(
        &mut self,
        document: Document,
        footprints: Footprints,
    ) -> Result<Vec<String>, IndexError> {
        self.bytes += footprints.tiles.len() + document.text.len();
        self.batch.push((document, footprints));
        if self.bytes < BATCH_BYTES {
            Ok(Vec::new())
        } else {
            self.flush()
        }
    }

    /// Commits what is waiting, and returns its ids.
    pub(crate) fn flush(&mut self) -> Result<Vec<String>, IndexError> {
        if self.batch.is_empty() || self.has_failed {
            return Ok(Vec::new());
        }
        let (keep_text, gamma) = (self.keep_text, self.gamma.as_deref());
        let changes: Vec<Change<'_>> = self
            .batch
            .iter()
            .map(|(document, footprints)| put(document, footprints, keep_text, gamma))
            .collect();
        let before = self.documents()?;
        let applied = self.index.apply(&changes);
        self.has_failed = applied.is_err();
        applied?;
        let added = self.documents()? - before;
        self.written.added += added;
        self.written.replaced += self.batch.len() as u64 - added;
        self.bytes = 0;
        Ok(self
            .batch
            .drain(..)
            .map(|(document, _)| document.id)
            .collect())
    }

    fn documents(&self) -> Result<u64, IndexError> {
        Ok(self.index.store().snapshot()?.totals()?.documents)
    }
}

fn put<'a>(
    document: &'a Document,
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
        cls: footprints.gamma_cls(gamma),
        footprints: &footprints.tiles,
        mean: &footprints.mean,
        share: footprints.share,
        lengths: &footprints.lengths,
        features: &document.features,
    })
}
