//! A record as the server has it, copied while its lock is held.

use redis_module::{CallOptionsBuilder, CallReply, CallResult, Context, ThreadSafeContext};

/// Bytes before the value: the generation that wrote it, the one before, and whether it lives (see `becr-redis`).
const HEADER: usize = 17;

/// What is under a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A record.
    Record(Vec<u8>),
    /// None: it was deleted.
    Absent,
    /// Something that is to be read in the ordinary way.
    Elsewhere,
    /// The slot is not this node's, or not any more.
    Moved,
}

/// Reads the record under a key as a generation sees it.
pub(crate) fn read<B: Send>(thread: &ThreadSafeContext<B>, key: &[u8], generation: u64) -> Found {
    let Some(mark) = mark_of(key) else {
        return Found::Elsewhere;
    };
    let context = thread.lock();
    match count(&context, &[&mark, key]) {
        None => Found::Moved,
        Some(2) => {
            let key = context.create_string(key);
            let opened = context.open_key(&key);
            match opened.read() {
                Ok(Some(bytes)) => seen(bytes, generation),
                // Another type of value, or gone in this very moment.
                _ => Found::Elsewhere,
            }
        }
        // Without the mark or the row reading tells what is wrong.
        Some(_) => Found::Elsewhere,
    }
}

/// How many of some keys of one slot there are; `None` if the slot is not this node's. Redis checks that for commands of
/// modules as it does for those of clients.
fn count(context: &Context, keys: &[&[u8]]) -> Option<i64> {
    let options = CallOptionsBuilder::new().errors_as_replies().build();
    let counted: CallResult<'_> = context.call_ext("EXISTS", &options, keys);
    match counted {
        Ok(CallReply::I64(count)) => Some(count.to_i64()),
        _ => None,
    }
}

/// The key of the mark of a row's bucket; `None` if the key is none of ours. Both have the same tag and so the same slot: a
/// command with keys of two slots is never made, after which Valkey 9.1 refuses all others of this module.
fn mark_of(key: &[u8]) -> Option<Vec<u8>> {
    let rest = key.strip_prefix(b"becr:{")?;
    let tag = rest.iter().position(|&byte| byte == b'}')?;
    (tag > 0 && rest.get(tag + 1) == Some(&b':')).then(|| {
        let end = key.len() - rest.len() + tag;
        [&key[..=end], b":mark"].concat()
    })
}

fn seen(bytes: &[u8], generation: u64) -> Found {
    let Some(since) = bytes.first_chunk().map(|since| u64::from_be_bytes(*since)) else {
        return Found::Elsewhere;
    };
    match (
        bytes.len() >= HEADER && since <= generation,
        bytes.get(HEADER - 1),
    ) {
        (true, Some(0)) => Found::Absent,
        (true, Some(_)) => Found::Record(bytes[HEADER..].to_vec()),
        _ => Found::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_seen_as_the_store_writes_them() {
        let row = |since: u64, lives: u8| {
            [&since.to_be_bytes()[..], &[255; 8], &[lives], b"value"].concat()
        };
        assert_eq!(seen(&row(3, 1), 3), Found::Record(b"value".to_vec()));
        assert_eq!(seen(&row(3, 0), 3), Found::Absent);
        assert_eq!(seen(&row(4, 1), 3), Found::Elsewhere);
        assert_eq!(seen(b"short", 3), Found::Elsewhere);
        assert_eq!(
            mark_of(b"becr:{a.1.2.3}:R35").unwrap(),
            b"becr:{a.1.2.3}:mark"
        );
        for other in [
            "other",
            "becr:{}:R1",
            "becr:[a}:R1",
            "becr:{a}R1",
            "becr:{a",
            "x{a}:R1",
            "becr:{a}",
        ] {
            assert_eq!(mark_of(other.as_bytes()), None, "{other}");
        }
        assert_eq!(mark_of(b"becr:{a}:{b}:R1").unwrap(), b"becr:{a}:mark");
    }
}
