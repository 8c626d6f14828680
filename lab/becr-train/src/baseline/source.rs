//! Batches of an index's texts for a baseline.

use super::reader::TextReader;
use crate::batch::Batch;
use crate::learn::{Picked, Source};
use crate::{Example, TrainError};
use becr_lmdb::Store;

/// An index whose texts are read.
pub(super) struct BaselineSource<'a> {
    pub(super) store: &'a Store,
    pub(super) examples: &'a [Example],
    pub(super) reader: &'a TextReader,
}

impl Source for BaselineSource<'_> {
    fn batch(&self, picked: &[Picked], candidates: usize, _: usize) -> Result<Batch, TrainError> {
        let snapshot = self.store.snapshot()?;
        let mut texts = Vec::with_capacity(picked.len() * candidates);
        for picked in picked {
            for at in 0..candidates {
                let document = picked.documents.get(at);
                let text = document.map(|document| {
                    let text = snapshot.text(document.number)?;
                    text.ok_or_else(|| TrainError::NoText {
                        id: self.examples[picked.example].id.clone(),
                        number: document.number,
                    })
                });
                texts.push(text.transpose()?);
            }
        }
        let documents = texts.iter().map(|text| {
            let text = text.as_ref()?;
            Some((text.title.as_ref(), text.text.as_ref()))
        });
        let documents: Vec<Option<(&str, &str)>> = documents.collect();
        let example = |picked: &Picked| &self.examples[picked.example];
        let queries: Vec<&str> = picked
            .iter()
            .map(|picked| example(picked).query.as_str())
            .collect();
        Ok(Batch {
            ids: picked.iter().map(|p| example(p).id.clone()).collect(),
            candidates,
            present: documents.iter().map(Option::is_some).collect(),
            features: Vec::new(),
            fixed: Vec::new(),
            deep: self.reader.read(&queries, &documents, candidates),
        })
    }
}
