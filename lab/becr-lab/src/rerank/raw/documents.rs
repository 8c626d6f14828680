//! Documents in vectors: encoded again, or composed of token groups where the index composes its documents.

use anyhow::Context;
use becr::{Documents, Index, View};
use becr_encoder::Encoder;
use becr_footprint::VectorDocument;
use becr_store::DocumentStore;
use becr_text::groups::{Decomposition, Query, Slot, TokenGroup};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Groups whose vectors are kept; more than these begin anew.
const KEPT: usize = 1 << 16;

/// A document's tokens, and its mean at the last layer.
pub(super) type Encoded = (VectorDocument, Vec<f32>);

/// The documents of an index.
pub(super) struct RawDocuments<'a> {
    view: View,
    encoder: &'a Encoder,
    /// For documents that are composed.
    groups: Option<Groups<'a>>,
    window: usize,
}

impl<'a> RawDocuments<'a> {
    pub(super) fn new(index: &Index, encoder: &'a Encoder) -> anyhow::Result<Self> {
        let view = index.view()?;
        let window = view.snapshot()?.header().window;
        let composes = index.documents_are()? == Some(Documents::Composed);
        Ok(Self {
            view,
            encoder,
            groups: composes.then(|| Groups::new(encoder)),
            window,
        })
    }

    /// The vectors of documents, in their order.
    pub(super) fn encode(&self, numbers: &[u64]) -> anyhow::Result<Vec<Encoded>> {
        let texts = self.texts(numbers)?;
        if let Some(groups) = &self.groups {
            let composed = texts
                .par_iter()
                .map(|(title, text)| self.compose(groups, title, text));
            return composed.collect();
        }
        let shape = self.encoder.backend().shape();
        let read = |texts: &[(String, String)]| -> anyhow::Result<Vec<Encoded>> {
            let texts: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
            let documents = self.encoder.raw_documents(&texts)?.into_iter();
            let documents = documents.map(|raw| {
                let tokens =
                    VectorDocument::new(shape.layers.len(), raw.tokens, shape.dim, &raw.vectors)?;
                Ok((tokens, raw.mean))
            });
            documents.collect()
        };
        // On a CPU each document is a task of its own: one alone is too short to keep many cores busy.
        let together = match self.encoder.backend().name() {
            "native" => 1,
            _ => texts.len().max(1),
        };
        let parts: Vec<Vec<Encoded>> = texts
            .par_chunks(together)
            .map(read)
            .collect::<anyhow::Result<_>>()?;
        Ok(parts.into_iter().flatten().collect())
    }

    fn texts(&self, numbers: &[u64]) -> anyhow::Result<Vec<(String, String)>> {
        let snapshot = self.view.snapshot()?;
        let texts = numbers.iter().map(|&number| {
            let text = snapshot
                .text(number)?
                .context("the index keeps no texts to encode again; build it without --no-text")?;
            Ok((text.title.to_string(), text.text.to_string()))
        });
        texts.collect()
    }

    /// Every word as the sum of the vectors of the token groups that contain it at its place, as an index composes
    /// documents; a word of which the store knows nothing is zeros.
    fn compose(&self, groups: &Groups<'_>, title: &str, text: &str) -> anyhow::Result<Encoded> {
        let shape = self.encoder.backend().shape();
        let (layers, dim) = (shape.layers.len(), shape.dim);
        let mut words = self.words(title)?;
        words.extend(self.words(text)?);
        let mut vectors = vec![0.0; layers * words.len() * dim];
        for (at, word) in words.iter().enumerate() {
            for (group, second, weight) in word {
                let group = groups.get(group)?;
                let slots = group.len() / (layers * dim);
                for layer in 0..layers {
                    let from = &group[(layer * slots + usize::from(*second)) * dim..][..dim];
                    let length = from.iter().map(|x| x * x).sum::<f32>().sqrt();
                    let to = &mut vectors[(layer * words.len() + at) * dim..][..dim];
                    let parts = to.iter_mut().zip(from);
                    parts.for_each(|(to, x)| *to += weight * x / length.max(f32::MIN_POSITIVE));
                }
            }
        }
        let mut mean = vec![0.0; dim];
        for word in vectors[(layers - 1) * words.len() * dim..].chunks_exact(dim) {
            mean.iter_mut().zip(word).for_each(|(mean, x)| *mean += x);
        }
        let tokens = VectorDocument::new(layers, words.len(), dim, &vectors)?;
        Ok((tokens, mean))
    }

    /// For every word of a field, the groups that the store has of it: which, whose second word it is, and the weight.
    fn words(&self, text: &str) -> anyhow::Result<Vec<Vec<(String, bool, f32)>>> {
        let options = Decomposition {
            window: self.window,
            ..Decomposition::default()
        };
        let query = Query::new(text, &options);
        let snapshot = self.view.snapshot()?;
        let snapshot = snapshot
            .embedded()
            .context("only an index on disk has composed documents")?;
        let mut known: HashMap<&TokenGroup, bool> = HashMap::new();
        for group in &query.groups {
            known.insert(group, snapshot.group(group)?.is_some());
        }
        let pieces = self.encoder.word_pieces();
        let composition = query.compose_all(
            |group| known.get(group).copied().unwrap_or(false),
            |word| pieces.split_word(word),
        );
        let mut words = vec![Vec::new(); query.terms.len()];
        for term in &composition.terms {
            for member in &term.members {
                let group = &composition.groups[member.group];
                if snapshot.group(group)?.is_some() {
                    let second = member.slot == Slot::Second;
                    words[term.position].push((group.key().into_owned(), second, member.weight));
                }
            }
        }
        Ok(words)
    }
}

/// Token groups in vectors, encoded when first asked for.
pub(super) struct Groups<'a> {
    encoder: &'a Encoder,
    known: Mutex<HashMap<String, Arc<Vec<f32>>>>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(encoder: &'a Encoder) -> Self {
        Self {
            encoder,
            known: Mutex::default(),
        }
    }

    /// A group by its words, `[layer][vector][dim]`: two vectors if it is a pair.
    pub(super) fn get(&self, name: &str) -> anyhow::Result<Arc<Vec<f32>>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(name) {
            return Ok(Arc::clone(found));
        }
        let group = match name.split_once(' ') {
            Some((first, second)) => TokenGroup::Pair(first.into(), second.into()),
            None => TokenGroup::Unigram(name.into()),
        };
        let vectors = Arc::new(self.encoder.raw_group(&group)?);
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(name.to_owned(), Arc::clone(&vectors));
        Ok(vectors)
    }
}
