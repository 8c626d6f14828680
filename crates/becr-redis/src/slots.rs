//! Which node has which keys.

use crate::Node;
use redis::Value;

/// How many slots a cluster has.
pub(crate) const SLOTS: u16 = 16_384;

/// The slot of what is between the braces of a key.
pub(crate) fn slot_of(tag: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for byte in tag {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = match crc & 0x8000 {
                0 => crc << 1,
                _ => crc << 1 ^ 0x1021,
            };
        }
    }
    crc % SLOTS
}

/// The slot of a key: of what is between its braces, if it has any.
pub(crate) fn slot_of_key(key: &[u8]) -> u16 {
    let open = key.iter().position(|&byte| byte == b'{');
    let tag = open.and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    slot_of(tag.unwrap_or(key))
}

/// The masters of a cluster and their slots.
#[derive(Debug)]
pub(crate) struct Topology {
    /// Master, and how many replicas it has.
    pub(crate) masters: Vec<(Node, usize)>,
    /// The master of each slot, by place.
    slots: Vec<Option<u16>>,
}

impl Topology {
    /// A server that is no cluster.
    pub(crate) fn single(node: Node) -> Self {
        Self {
            masters: vec![(node, 0)],
            slots: vec![Some(0); usize::from(SLOTS)],
        }
    }

    /// Reads the answer to `CLUSTER SLOTS` of `asked`; `None` if it cannot be read.
    pub(crate) fn read(reply: &Value, asked: &Node) -> Option<Self> {
        let mut topology = Self {
            masters: Vec::new(),
            slots: vec![None; usize::from(SLOTS)],
        };
        for range in array(reply)? {
            let [first, last, master, replicas @ ..] = array(range)? else {
                return None;
            };
            let node = node(master, asked)?;
            let known = topology
                .masters
                .iter()
                .position(|(known, _)| *known == node);
            let place = known.unwrap_or_else(|| {
                topology.masters.push((node, replicas.len()));
                topology.masters.len() - 1
            });
            let range = number(first)?..=number(last)?;
            topology.slots.get_mut(range)?.fill(Some(place as u16));
        }
        (!topology.masters.is_empty()).then_some(topology)
    }

    /// The place of a slot's master; `None` if nobody has it.
    pub(crate) fn master(&self, slot: u16) -> Option<usize> {
        self.slots[usize::from(slot)].map(usize::from)
    }
}

fn array(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn number(value: &Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

fn node(value: &Value, asked: &Node) -> Option<Node> {
    let [host, port, ..] = array(value)? else {
        return None;
    };
    let host = match host {
        Value::BulkString(host) if !host.is_empty() => String::from_utf8(host.clone()).ok()?,
        // A node that does not know its own address: the one it was asked at.
        _ => asked.host.clone(),
    };
    let port = u16::try_from(number(port)?).ok()?;
    Some(Node { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the specification of Redis Cluster, and by `CLUSTER KEYSLOT`.
    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b""), 0);
    }

    #[test]
    fn any_reply_is_read_or_refused() {
        let asked = Node {
            host: "a".into(),
            port: 1,
        };
        let text = |text: &str| Value::BulkString(text.into());
        let range = |last, host| {
            let master = Value::Array(vec![text(host), Value::Int(7000), text("id")]);
            let replica = Value::Array(vec![text("b"), Value::Int(7001)]);
            Value::Array(vec![Value::Array(vec![
                Value::Int(0),
                Value::Int(last),
                master,
                replica,
            ])])
        };
        let read = Topology::read(&range(100, ""), &asked).unwrap();
        assert_eq!(read.masters[0].0.to_string(), "a:7000");
        assert_eq!(
            (read.masters[0].1, read.master(100), read.master(101)),
            (1, Some(0), None)
        );
        assert!(Topology::read(&range(16_384, "x"), &asked).is_none());
        assert!(Topology::read(&range(-1, "x"), &asked).is_none());
        assert!(Topology::read(&Value::Array(vec![Value::Nil]), &asked).is_none());
        assert!(Topology::read(&Value::Array(Vec::new()), &asked).is_none());
        assert!(Topology::read(&Value::Nil, &asked).is_none());
    }
}
