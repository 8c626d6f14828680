//! Which memory to prefetch, and when: a record must be in the cache when its turn comes.

/// What to prefetch while a record is computed, beside the record itself.
#[derive(Clone, Copy)]
pub(crate) enum Next<'a> {
    /// The beginning of the record that comes next.
    Begin(&'a [u8]),
    /// All of the record that comes next: this one is in the cache already.
    Whole(&'a [u8]),
}

/// The position of the prefetches into the second-level cache: it runs [`Self::LEAD`] bytes ahead of the computation,
/// through this record and on into the next. These are addresses, not references: a prefetch instruction accepts any.
#[derive(Default)]
pub(crate) struct Ahead {
    address: usize,
    end: usize,
    /// Beginning and end of what follows.
    next: [usize; 2],
    /// This record, and the beginning of the next.
    records: [[usize; 2]; 2],
}

impl Ahead {
    /// Bytes between what is prefetched and what is computed.
    const LEAD: usize = 40 * 1024;

    /// Starts a record, whose first [`Self::LEAD`] bytes were prefetched while the one before it was computed.
    pub(crate) fn start(&mut self, record: &[u8], next: Next) {
        let start = |bytes: &[u8]| bytes.as_ptr() as usize;
        let end = |bytes: &[u8]| start(bytes) + bytes.len();
        let begin = |bytes: &[u8]| [start(bytes), start(bytes) + Self::LEAD.min(bytes.len())];
        *self = match next {
            Next::Begin(next) => Self {
                address: begin(record)[1],
                end: end(record),
                next: begin(next),
                records: [[start(record), end(record)], begin(next)],
            },
            Next::Whole(next) => Self {
                address: start(next),
                end: end(next),
                next: [0; 2],
                records: [[start(record), end(record)], begin(next)],
            },
        };
    }

    /// What is computed after a tile that ends at an address: what is left of the record, or the beginning of the next.
    pub(crate) fn after(&self, tile: usize) -> Near {
        let [[start, end], next] = self.records;
        let [address, end] = if (start..end).contains(&tile) {
            [tile, end]
        } else {
            next
        };
        Near {
            address,
            end,
            left: Near::LINES,
        }
    }

    /// Prefetches at most `lines` cache lines.
    #[inline(always)]
    pub(crate) fn advance(&mut self, lines: usize, fetch: impl Fn(usize)) {
        if self.end.saturating_sub(self.address) >= 64 * lines {
            for i in 0..lines {
                fetch(self.address + 64 * i);
            }
            self.address += 64 * lines;
            return;
        }
        for _ in 0..lines {
            if self.address >= self.end {
                [self.address, self.end] = self.next;
                self.next = [0; 2];
                if self.address == self.end {
                    return;
                }
            }
            fetch(self.address);
            self.address += 64;
        }
    }
}

/// What is computed next, prefetched a second time: its first half into the first-level cache, the other half into the
/// second, where it should be already; but CPUs drop some prefetches, about one in a hundred.
pub(crate) struct Near {
    address: usize,
    end: usize,
    left: usize,
}

impl Near {
    /// Cache lines for each of the two caches: a whole tile of 512 tokens in all.
    pub(crate) const LINES: usize = 128;

    /// Prefetches the next lines for both caches, at most `lines` for each.
    #[inline(always)]
    pub(crate) fn advance(&mut self, lines: usize, first: impl Fn(usize), second: impl Fn(usize)) {
        let lines = lines.min(self.left);
        self.left -= lines;
        for _ in 0..lines {
            let later = self.address + 64 * Self::LINES;
            if later < self.end {
                second(later);
            }
            if self.address < self.end {
                first(self.address);
            }
            self.address += 64;
        }
    }
}
