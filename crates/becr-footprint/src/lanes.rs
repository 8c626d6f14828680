//! The order of the bytes within a row of a tile.

/// The order of a row's bytes. Eight tokens, an octet, share a byte, and consecutive octets go to consecutive lanes of
/// 16 bytes as far as these reach: the unpacking instructions, which work within lanes, then deliver tokens in their
/// natural order.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    /// Lanes of a row; the last one may be shorter than the others.
    count: usize,
    /// Bytes in the last lane.
    last: usize,
}

impl Lanes {
    /// Those of a tile `width` tokens wide.
    pub(crate) fn new(width: usize) -> Self {
        let bytes = width / 8;
        let count = bytes.div_ceil(16).max(1);
        Self {
            count,
            last: bytes - 16 * (count - 1),
        }
    }

    /// The first octet at a position of the lanes; the others follow it lane by lane.
    #[inline(always)]
    pub(crate) fn first_octet(self, position: usize) -> usize {
        position * (self.count - 1) + position.min(self.last)
    }

    /// Octets at a position: the lanes that reach so far.
    #[inline(always)]
    pub(crate) fn octets(self, position: usize) -> usize {
        self.count - usize::from(position >= self.last)
    }

    /// The byte of a row that holds an octet.
    pub(crate) fn byte(self, octet: usize) -> usize {
        let (lane, position) = if octet < self.count * self.last {
            (octet % self.count, octet / self.count)
        } else {
            let (octet, count) = (octet - self.count * self.last, self.count - 1);
            (octet % count, self.last + octet / count)
        };
        16 * lane + position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_go_to_their_places_and_back() {
        for width in (16..=512).step_by(16) {
            let lanes = Lanes::new(width);
            for octet in 0..width / 8 {
                let (lane, position) = (lanes.byte(octet) / 16, lanes.byte(octet) % 16);
                assert_eq!(lanes.first_octet(position) + lane, octet, "{width}");
                assert!(lane < lanes.octets(position));
            }
        }
    }
}
