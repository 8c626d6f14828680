//! A record as the server has it, copied while its lock is held.

use becr_store::Table;
use becr_store::row::{Seen, see};
use redis_module::{CallOptionsBuilder, CallReply, CallResult, Context, ThreadSafeContext};

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
            let opened = context.open_key(&context.create_string(key));
            match opened.read() {
                Ok(Some(bytes)) => seen(bytes, key, generation),
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

/// A row that is damaged, another's, or was changed since is left to reading, which tells or finds what it was.
fn seen(bytes: &[u8], key: &[u8], generation: u64) -> Found {
    match see(bytes, key, Table::Records, generation) {
        Some(Seen::Value(record)) => Found::Record(record.to_vec()),
        Some(Seen::Nothing) => Found::Absent,
        Some(Seen::Older(_)) | None => Found::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_seen_as_the_store_writes_them() {
        let key = b"becr:{a.1.2.3}:R35";
        let row = |since: u64, value: Option<&[u8]>| {
            let rest = becr_store::row::rest(key, Table::Records, since, value);
            [&since.to_be_bytes()[..], &[0; 8], &[255; 8], &rest].concat()
        };
        let value = row(3, Some(b"value"));
        assert_eq!(seen(&value, key, 3), Found::Record(b"value".to_vec()));
        assert_eq!(seen(&row(3, None), key, 3), Found::Absent);
        assert_eq!(seen(&row(4, Some(b"value")), key, 3), Found::Elsewhere);
        assert_eq!(seen(b"short", key, 3), Found::Elsewhere);
        let other = b"becr:{a.1.2.3}:R36";
        assert_eq!(seen(&value, other, 3), Found::Elsewhere, "another's");
        let mut damaged = row(3, None);
        damaged[24] = 1;
        assert_eq!(seen(&damaged, key, 3), Found::Elsewhere);
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
