//! The rows to sum for a group: what the portable implementation counts with.
//!
//! The Hamming distance of a document token `d` to a group `q` is `|d| + |q| − 2·|d ∧ q|`, and `|d ∧ q|` is the
//! sum of the rows whose bit is set in `q`. When more than half of the bits are set, the complement `¬q` is summed
//! instead: `cos(π·h(d,q)/b) = −cos(π·h(d,¬q)/b)`, so only the weight changes its sign.

/// The rows of every group.
#[derive(Debug, Clone)]
pub(super) struct RowLists {
    /// `[layer][group]`.
    pub(super) rows: Vec<RowList>,
    /// Per layer, the rows that the first use's list leaves out: both together count `|d|`.
    pub(super) others: Vec<RowList>,
}

impl RowLists {
    /// Of footprints `[layer][group][word]`; `first` is the group of the first use.
    pub(super) fn new(footprints: &[u32], bits: usize, groups: usize, first: usize) -> Self {
        let rows: Vec<_> = footprints
            .chunks_exact(bits / 32)
            .map(RowList::new)
            .collect();
        let layers = rows.chunks_exact(groups.max(1));
        let others = layers.map(|layer| layer[first].others(bits)).collect();
        Self { rows, others }
    }
}

/// The rows to sum for a group.
#[derive(Debug, Clone)]
pub(crate) struct RowList {
    pub(crate) rows: Vec<u16>,
    /// True if these are the clear bits of the group.
    pub(crate) complement: bool,
}

impl RowList {
    fn new(footprint: &[u32]) -> Self {
        let ones: u32 = footprint.iter().map(|w| w.count_ones()).sum();
        let complement = ones as usize > 16 * footprint.len();
        let mut rows = Vec::with_capacity(16 * footprint.len());
        for (first, word) in (0..).step_by(32).zip(footprint) {
            let mut left = if complement { !word } else { *word };
            while left != 0 {
                rows.push(first + left.trailing_zeros() as u16);
                left &= left - 1;
            }
        }
        Self { rows, complement }
    }

    /// All other rows.
    fn others(&self, bits: usize) -> Self {
        let mut taken = self.rows.iter().copied().peekable();
        let all = 0..bits as u16;
        Self {
            rows: all.filter(|&i| taken.next_if_eq(&i).is_none()).collect(),
            complement: !self.complement,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_side_is_summed() {
        let list = RowList::new(&[0b1011]);
        assert_eq!(list.rows, [0, 1, 3]);
        assert!(!list.complement);
        let list = RowList::new(&[!0b1011]);
        assert_eq!(list.rows, [0, 1, 3]);
        assert!(list.complement);
        assert_eq!(list.others(32).rows.len(), 29);
    }
}
