//! Three uses of groups, whose rows are counted together: what AVX2 and NEON work with.
//!
//! Row `i` of a tile counts for the distance to the first group as `dᵢ ⊕ q₀ᵢ`: as it is, or turned over. For the
//! second and third group it counts as the same or as the opposite, which makes four classes of rows. With `Tₖ` the
//! number of ones in class `k` of `nₖ` rows, the distances are `T₀ + T₁ + T₂ + T₃`, `T₀ + (n₁ − T₁) + T₂ + (n₃ − T₃)`
//! and `T₀ + T₁ + (n₂ − T₂) + (n₃ − T₃)`: every row is counted once for three groups.

/// Three uses of groups at a layer.
#[derive(Debug, Clone)]
pub(crate) struct Trio {
    /// All rows, class by class; of each class those to be turned over first.
    pub(crate) rows: Vec<u16>,
    pub(crate) classes: [Class; 4],
    pub(crate) size: Size,
    /// Binary digits of the largest count of a class.
    pub(crate) digits: usize,
    /// How often distances that fit a byte can be doubled and still do.
    pub(crate) doublings: u32,
}

/// The numbers that can occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Distances and the sums of two classes fit a byte, doubled or not, 256 being taken as 255.
    Bytes,
    /// The counts of a class fit a byte.
    ByteCounts,
    /// Any.
    Any,
}

/// A class of rows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Class {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Rows from the start on whose sum is turned over as a whole, digit by digit: 2ⁱ − 1 of them.
    pub(crate) turned_together: usize,
    /// Rows behind those that are turned over one by one.
    pub(crate) turned: usize,
}

impl Class {
    fn new(start: usize, turned: usize, plain: usize) -> Self {
        let together = [63, 31, 15, 7].into_iter().find(|&n| n <= turned);
        let turned_together = together.unwrap_or(0);
        Self {
            start,
            end: start + turned + plain,
            turned_together,
            turned: turned - turned_together,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }
}

impl Trio {
    pub(super) fn new(footprints: [&[u32]; 3]) -> Self {
        let [first, second, third] = footprints;
        let bits = 32 * first.len();
        let mut rows = Vec::with_capacity(bits);
        let mut take = |second_differs: bool, third_differs: bool, turned: bool| {
            let before = rows.len();
            for (w, place) in (0..first.len()).zip((0..).step_by(32)) {
                let marked = |wanted: bool, word: u32| if wanted { word } else { !word };
                let mut left = marked(second_differs, first[w] ^ second[w])
                    & marked(third_differs, first[w] ^ third[w])
                    & marked(turned, first[w]);
                while left != 0 {
                    rows.push(place + left.trailing_zeros() as u16);
                    left &= left - 1;
                }
            }
            rows.len() - before
        };
        let mut start = 0;
        let classes = [(false, false), (true, false), (false, true), (true, true)];
        let classes = classes.map(|(second, third)| {
            let (turned, plain) = (take(second, third, true), take(second, third, false));
            let class = Class::new(start, turned, plain);
            start = class.end;
            class
        });
        let [a, b, c, d] = classes.map(|class| class.len());
        let largest = a.max(b).max(c).max(d);
        let doublings = (256 / bits.next_power_of_two().min(256)).ilog2();
        let size = if bits <= 256 && (a + b).max(c + d) << doublings < 256 {
            Size::Bytes
        } else if largest < 256 {
            Size::ByteCounts
        } else {
            Size::Any
        };
        Self {
            rows,
            classes,
            size,
            digits: largest.ilog2() as usize + 1,
            doublings: if size == Size::Bytes { doublings } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distances of a document token to three groups, counted as the implementations do it.
    fn distances(trio: &Trio, document: &[u32]) -> [usize; 3] {
        let ones = trio.classes.map(|class| {
            let rows = &trio.rows[class.start..class.end];
            let bit = |row: u16| (document[usize::from(row) / 32] >> (row % 32)) & 1;
            let (together, others) = rows.split_at(class.turned_together);
            let sum: u32 = together.iter().map(|&row| bit(row)).sum();
            let turned = |i: usize| u32::from(i < class.turned);
            let others = others.iter().enumerate();
            let others: u32 = others.map(|(i, &row)| bit(row) ^ turned(i)).sum();
            (class.turned_together as u32 - sum + others) as usize
        });
        let [n0, n1, n2, n3] = trio.classes.map(|class| class.len());
        let [t0, t1, t2, t3] = ones;
        assert!(t0 <= n0);
        [
            t0 + t1 + t2 + t3,
            t0 + (n1 - t1) + t2 + (n3 - t3),
            t0 + t1 + (n2 - t2) + (n3 - t3),
        ]
    }

    #[test]
    fn counts_of_classes_make_distances() {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(0x9E37_79B9).rotate_left(13) ^ 0x1234_5678;
            state
        };
        for words in [1, 2, 8, 16] {
            for _ in 0..20 {
                let mut footprint = || -> Vec<u32> { (0..words).map(|_| random()).collect() };
                let groups = [footprint(), footprint(), footprint()];
                let document = footprint();
                let trio = Trio::new(groups.each_ref().map(|group| &group[..]));
                for (group, found) in groups.iter().zip(distances(&trio, &document)) {
                    let differ = group.iter().zip(&document);
                    let differ = differ.map(|(q, d)| (q ^ d).count_ones());
                    assert_eq!(found, differ.sum::<u32>() as usize);
                }
                assert_eq!(trio.rows.len(), 32 * words);
            }
        }
    }

    #[test]
    fn equal_groups_are_no_bytes() {
        let zero = [0; 8];
        assert_eq!(Trio::new([&zero; 3]).size, Size::Any);
        let [a, b] = [[0xAAAA_AAAA; 8], [0xCCCC_CCCC; 8]];
        assert_eq!(Trio::new([&zero, &a, &b]).size, Size::Bytes);
        let [a, b] = [[0xAAAA_AAAA; 16], [0xCCCC_CCCC; 16]];
        assert_eq!(Trio::new([&[0; 16], &a, &b]).size, Size::ByteCounts);
        let [a, b] = [[0xAAAA_AAAA; 3], [0xCCCC_CCCC; 3]];
        let trio = Trio::new([&[0; 3], &a, &b]);
        assert_eq!((trio.size, trio.doublings), (Size::Bytes, 1));
    }
}
