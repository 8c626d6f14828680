//! Keys of a store's tables.

use std::borrow::Cow;
use twox_hash::XxHash3_128;

/// LMDB takes keys of up to 511 bytes: longer texts go by their hash, in every store.
const LONGEST: usize = 500;
/// Begins a hashed key: no UTF-8 text begins with it.
const HASHED: u8 = 0xff;

/// The key of a text: itself, or a 128-bit hash where it is too long, or empty, which LMDB refuses.
pub fn of_text(text: &str) -> Cow<'_, [u8]> {
    if (1..=LONGEST).contains(&text.len()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut key = vec![HASHED];
    key.extend_from_slice(&XxHash3_128::oneshot(text.as_bytes()).to_be_bytes());
    Cow::Owned(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_their_own_keys() {
        assert_eq!(of_text("bread").as_ref(), b"bread");
        assert_eq!(of_text("").len(), 17);
        let (a, b) = ("x".repeat(501), "x".repeat(502));
        assert_eq!(of_text(&a).len(), 17);
        assert_ne!(of_text(&a), of_text(&b));
    }
}
