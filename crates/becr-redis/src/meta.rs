//! What an index in a cluster says of itself: one value, so that one write publishes a generation.

use crate::ClusterError;
use crate::keys::{Namespace, TABLES};
use becr_store::{Header, Totals};
use serde::{Deserialize, Serialize};

/// Version of keys and rows.
const FORMAT: u32 = 1;

/// What a generation says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    format: u32,
    /// How many times the contents were written anew.
    pub(crate) edition: u64,
    buckets: u32,
    pub(crate) header: Header,
    pub(crate) generation: u64,
    pub(crate) totals: Totals,
    pub(crate) feature_names: Vec<String>,
    /// Rows of each table.
    pub(crate) rows: [u64; TABLES.len()],
    /// Generations whose past is kept, and when each was published, in milliseconds of the cluster's clock.
    pub(crate) past: Vec<(u64, u64)>,
    /// Names, lengths and checksums of the files that came with it.
    pub(crate) files: Vec<(String, u64, u64)>,
    #[serde(skip)]
    pub(crate) companion: Option<Vec<u8>>,
}

impl Meta {
    pub(crate) fn new(header: Header, edition: u64, buckets: u32) -> Self {
        Self {
            format: FORMAT,
            edition,
            buckets,
            header,
            generation: 0,
            totals: Totals::default(),
            feature_names: Vec::new(),
            rows: [0; TABLES.len()],
            past: Vec::new(),
            files: Vec::new(),
            companion: None,
        }
    }

    pub(crate) fn namespace(&self, name: &str) -> Namespace {
        Namespace::new(name, &self.header.encoder_id, self.edition, self.buckets)
    }

    /// JSON, a zero byte, and the companion if there is one after another zero byte.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Numbers, strings and lists of them: there is nothing that JSON does not have.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(0);
        if let Some(companion) = &self.companion {
            bytes.push(0);
            bytes.extend_from_slice(companion);
        }
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ClusterError> {
        let unreadable = |reason: &str| ClusterError::Meta(reason.to_owned());
        let end = bytes.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| unreadable("it is cut off"))?;
        let meta: Self =
            serde_json::from_slice(&bytes[..end]).map_err(|e| unreadable(&e.to_string()))?;
        if meta.format != FORMAT {
            let found = format!("format {}, this program knows {FORMAT}", meta.format);
            return Err(ClusterError::Meta(found));
        }
        let companion = bytes[end + 1..]
            .split_first()
            .map(|(_, rest)| rest.to_vec());
        Ok(Self { companion, ..meta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_store::Shape;

    #[test]
    fn round_trip() {
        let header = Header::new("encoder-1", Shape::new(1, 32), 3);
        for companion in [None, Some(Vec::new()), Some(vec![0, 1, 0])] {
            let meta = Meta {
                companion,
                past: vec![(1, 2)],
                ..Meta::new(header.clone(), 7, 16)
            };
            assert_eq!(Meta::read(&meta.bytes()).unwrap(), meta);
        }
        assert!(Meta::read(b"{}").is_err());
        assert!(Meta::read(b"").is_err());
        assert!(Meta::read(b"{\"format\":9}\0").is_err());
    }
}
