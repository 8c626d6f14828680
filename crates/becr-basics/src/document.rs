//! The one document that every crate means: what corpora read and indexes keep.

use serde::{Deserialize, Serialize};

/// A document: what a corpus gives and an index takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its name: what results, runs and judgements call it. An index has a name once.
    pub id: String,
    /// Title; may be empty.
    pub title: String,
    /// Text; may be empty.
    pub text: String,
    /// Named numbers, such as `pagerank`: they count where the ranking head has a weight for the name. Corpora give
    /// them sorted by name, each name once.
    pub features: Vec<(String, f32)>,
}

impl Document {
    /// A document without features.
    pub fn new(id: impl Into<String>, title: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            text: text.into(),
            features: Vec::new(),
        }
    }

    /// Whether there is nothing to search: neither title nor text has anything but white space.
    pub fn is_blank(&self) -> bool {
        self.title.trim().is_empty() && self.text.trim().is_empty()
    }

    /// Sets one feature, replacing a former value, and keeps the order by name.
    pub fn set_feature(&mut self, name: &str, value: f32) {
        let named = |(known, _): &(String, f32)| known.as_str().cmp(name);
        match self.features.binary_search_by(named) {
            Ok(at) => self.features[at].1 = value,
            Err(at) => self.features.insert(at, (name.to_owned(), value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_stay_sorted_and_single() {
        let mut document = Document::new("d", " ", "\n");
        assert!(document.is_blank());
        for (name, value) in [("spam", 1.0), ("age", 2.0), ("spam", 3.0)] {
            document.set_feature(name, value);
        }
        let expected = [("age".to_owned(), 2.0), ("spam".to_owned(), 3.0)];
        assert_eq!(document.features, expected);
    }
}
