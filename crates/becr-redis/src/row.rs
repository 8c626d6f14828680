//! A row as it is stored: since when it is what it is, and what it was before.
//!
//! ```text
//! 0   since   u64   the generation that wrote it, high bytes first
//! 8   before  u64   the generation that wrote what it was before; all ones if it was not there
//! 16  lives   u8    1, or 0 if that generation deleted it
//! 17  the value
//! ```

pub(crate) const HEADER: usize = 17;
/// There was nothing before.
pub(crate) const NOTHING: u64 = u64::MAX;

/// A row as somebody sees it who looks at one generation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen<'a> {
    /// It is there.
    Value(&'a [u8]),
    /// It is not.
    Nothing,
    /// It was changed since: look at what was written by this generation.
    Older(u64),
}

/// The first bytes of a row.
pub(crate) fn header(since: u64, before: u64, lives: bool) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&since.to_be_bytes());
    header[8..16].copy_from_slice(&before.to_be_bytes());
    header[16] = u8::from(lives);
    header
}

/// A row as `generation` sees it; `None` if it cannot be read.
pub(crate) fn see(bytes: &[u8], generation: u64) -> Option<Seen<'_>> {
    let (since, rest) = bytes.split_first_chunk()?;
    let (before, rest) = rest.split_first_chunk()?;
    let (lives, value) = rest.split_first()?;
    let before = u64::from_be_bytes(*before);
    Some(match (u64::from_be_bytes(*since) > generation, lives) {
        (true, _) if before == NOTHING => Seen::Nothing,
        (true, _) => Seen::Older(before),
        (false, 0) => Seen::Nothing,
        (false, _) => Seen::Value(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generation_sees_its_own() {
        let row = [&header(5, 3, true)[..], b"value"].concat();
        assert_eq!(see(&row, 5), Some(Seen::Value(b"value")));
        assert_eq!(see(&row, 4), Some(Seen::Older(3)));
        let new = header(5, NOTHING, true);
        assert_eq!(see(&new, 4), Some(Seen::Nothing));
        assert_eq!(see(&new, 9), Some(Seen::Value(b"")));
        assert_eq!(see(&header(5, 3, false), 5), Some(Seen::Nothing));
        assert_eq!(see(&row[..16], 5), None);
    }
}
