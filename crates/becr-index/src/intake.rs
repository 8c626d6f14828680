//! Documents as they come from a caller, checked before any work is done on them.

use crate::{Document, IndexError, IntoDocument};
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The longest id, in bytes: as much as a key of the stores takes without being hashed is far less, and no collection
/// that we know of has ids near it.
pub const MAX_ID_BYTES: usize = 4096;

/// Reads a caller's documents: refuses what no index can hold.
pub(crate) struct Intake<I> {
    documents: I,
    /// Hashes of the ids so far, where each may come once: 128 bits, so that no two ids share one by chance.
    seen: Option<HashSet<[u64; 2]>>,
    hashers: [RandomState; 2],
}

impl<I> Intake<I> {
    /// Ids may come more than once.
    pub(crate) fn new(documents: I) -> Self {
        Self {
            documents,
            seen: None,
            hashers: Default::default(),
        }
    }

    /// Each id may come once.
    pub(crate) fn unique(documents: I) -> Self {
        Self {
            seen: Some(HashSet::new()),
            ..Self::new(documents)
        }
    }

    fn check(&mut self, document: &Document) -> Result<(), IndexError> {
        let refused = |reason: String| {
            let id: String = document.id.chars().take(40).collect();
            Err(IndexError::Document { id, reason })
        };
        match document.id.len() {
            0 => return refused("its id is empty".into()),
            length if length > MAX_ID_BYTES => {
                return refused(format!(
                    "its id has {length} bytes, at most {MAX_ID_BYTES} are possible"
                ));
            }
            _ => {}
        }
        if let Some((name, value)) = document
            .features
            .iter()
            .find(|(_, value)| !value.is_finite())
        {
            return refused(format!(
                "its feature \"{name}\" is {value}, which is no number"
            ));
        }
        if let Some(seen) = &mut self.seen {
            let hash = self
                .hashers
                .each_ref()
                .map(|hasher| hasher.hash_one(&document.id));
            if !seen.insert(hash) {
                return Err(IndexError::RepeatedId(document.id.clone()));
            }
        }
        Ok(())
    }
}

impl<I: Iterator<Item: IntoDocument>> Iterator for Intake<I> {
    type Item = Result<Document, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let document = self.documents.next()?.into_document();
        Some(document.map_err(IndexError::Source).and_then(|document| {
            self.check(&document)?;
            Ok(document)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(documents: Vec<Document>) -> String {
        let mut results = Intake::unique(documents.into_iter());
        results.find_map(Result::err).unwrap().to_string()
    }

    #[test]
    fn what_no_index_can_hold_is_refused_by_name() {
        let with_feature = |value| Document {
            features: vec![("rank".into(), value)],
            ..Document::new("a", "", "")
        };
        assert!(refusal(vec![Document::default()]).contains("empty"));
        assert!(refusal(vec![Document::new("x".repeat(5000), "", "")]).contains("4096"));
        assert!(refusal(vec![with_feature(f32::NAN)]).contains("rank"));
        assert!(refusal(vec![Document::new("a", "", ""); 2]).contains("\"a\""));
        let failing = [Err("the disk is gone"), Ok(Document::new("a", "", ""))];
        let mut results = Intake::new(failing.into_iter());
        let error = results.next().unwrap().unwrap_err();
        assert!(error.to_string().contains("the disk is gone"));
        let twice = vec![with_feature(1.0); 2];
        assert!(Intake::new(twice.into_iter()).all(|result| result.is_ok()));
    }
}
