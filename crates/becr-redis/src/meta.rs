//! What an index in a cluster says of itself: one value, so that one write publishes a generation.

use crate::ClusterError;
use crate::keys::{Namespace, TABLES};
use becr_store::{Header, Totals};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// Version of keys and rows.
const FORMAT: u32 = 2;

/// Digits of the checksum.
const SUM: usize = 16;

fn sum(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

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

    /// A checksum of the rest in 16 hexadecimal digits, JSON, a zero byte, and the companion if there is one after another
    /// zero byte.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // Numbers, strings and lists of them: there is nothing that JSON does not have.
        let mut bytes = vec![b'0'; SUM];
        bytes.extend_from_slice(&serde_json::to_vec(self).unwrap_or_default());
        bytes.push(0);
        if let Some(companion) = &self.companion {
            bytes.push(0);
            bytes.extend_from_slice(companion);
        }
        let sum = sum(&bytes[SUM..]);
        bytes[..SUM].copy_from_slice(sum.as_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ClusterError> {
        let unreadable = |reason: &str| ClusterError::Meta(reason.to_owned());
        let bytes = match bytes.split_at_checked(SUM) {
            Some((written, rest)) if sum(rest).as_bytes() == written => rest,
            _ => return Err(unreadable("its checksum is not that of its bytes")),
        };
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
            let bytes = meta.bytes();
            assert_eq!(Meta::read(&bytes).unwrap(), meta);
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(Meta::read(&damaged).is_err(), "bit {bit}");
            }
            for length in 0..bytes.len() {
                assert!(Meta::read(&bytes[..length]).is_err(), "{length} bytes");
            }
        }
        assert!(Meta::read(b"{}").is_err());
        assert!(Meta::read(b"").is_err());
        let other = Meta {
            format: 9,
            ..Meta::new(header, 7, 16)
        };
        let refused = Meta::read(&other.bytes()).unwrap_err().to_string();
        assert!(refused.contains("format 9"), "{refused}");
    }
}
