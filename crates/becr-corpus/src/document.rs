//! What every format is turned into.

/// A document of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The collection's own identifier, unique in it.
    pub id: String,
    /// The title; empty where the collection has none.
    pub title: String,
    /// The body.
    pub text: String,
    /// Named numbers (PageRank, spam score, freshness …), sorted by name, each name once.
    pub features: Vec<(String, f32)>,
}

impl Document {
    /// Whether there is nothing to search: neither title nor body has anything but white space.
    pub(crate) fn is_empty(&self) -> bool {
        self.title.trim().is_empty() && self.text.trim().is_empty()
    }

    /// Sets one feature, replacing a former value, and keeps the order by name.
    pub(crate) fn set_feature(&mut self, name: &str, value: f32) {
        match self
            .features
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
        {
            Ok(at) => self.features[at].1 = value,
            Err(at) => self.features.insert(at, (name.to_owned(), value)),
        }
    }
}
