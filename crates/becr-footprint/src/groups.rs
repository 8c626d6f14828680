//! A query's token groups as lists of rows and tables of cosines: what the implementations work with.

use crate::query::GroupWeight;
use crate::sines::WeightedSine;
use crate::tile::ROW;
use crate::trios::Trio;
use std::sync::OnceLock;

/// Footprints prepared for counting rows of tiles.
///
/// The Hamming distance of a document token `d` to a group `q` is `|d| + |q| − 2·|d ∧ q|`, and `|d ∧ q|` is the
/// sum of the rows whose bit is set in `q`. When more than half of the bits are set, the complement `¬q` is summed
/// instead: `cos(π·h(d,q)/b) = −cos(π·h(d,¬q)/b)`, so only the weight changes its sign.
#[derive(Debug, Clone)]
pub(crate) struct GroupFootprints {
    pub(crate) bits: usize,
    groups: usize,
    /// Made when first asked for: not every implementation counts a group at a time.
    lists: OnceLock<Lists>,
    /// The uses of groups by terms three at a time, `[layer][triple]`.
    triples: Vec<Triple>,
    triples_per_layer: usize,
    /// `[layer][group][word]`.
    footprints: Vec<u32>,
    /// The group of every use.
    uses: Vec<usize>,
    /// The uses three at a time in another way, `[layer][trio]`: made when first asked for.
    trios: OnceLock<Vec<Trio>>,
    /// Weight and term of every use.
    weights: Vec<(f32, usize)>,
    /// Weighted cosines, one per use: made when first asked for.
    sines: OnceLock<Vec<WeightedSine>>,
    /// Weighted cosines, one table per use of a group by a term, in the order of the terms.
    tables: Vec<CosineTable>,
    /// True if every count and distance fits a byte (256 itself is taken as 255).
    pub(crate) narrow: bool,
    /// The lowest of the 128 distances around `b/2`.
    pub(crate) lowest: i8,
}

/// The rows of every group.
#[derive(Debug, Clone)]
struct Lists {
    /// `[layer][group]`.
    rows: Vec<RowList>,
    /// Per layer, the rows that the first use's list leaves out: both together count `|d|`.
    others: Vec<RowList>,
}

/// The rows to sum for a group.
#[derive(Debug, Clone)]
pub(crate) struct RowList {
    pub(crate) rows: Vec<u16>,
    /// True if these are the clear bits of the group.
    pub(crate) complement: bool,
}

/// Three uses of groups at a layer, whose rows are summed together.
///
/// The rows fall into eight classes by which of the groups they belong to: row `i` is in class
/// `q₀[i] + 2·q₁[i] + 4·q₂[i]`. Each class is summed once; the sum of a group is that of its four classes.
#[derive(Debug, Clone)]
pub(crate) struct Triple {
    /// Where all rows lie in the widest tile, class by class: multiplying takes too long while they are read.
    pub(crate) places: Vec<u16>,
    /// Where the classes begin, and where the last one ends.
    bounds: [u16; 9],
    /// Bits set in each group.
    pub(crate) set: [u16; 3],
    /// Whether the first row is one of them.
    pub(crate) first: [bool; 3],
    /// True if no class has more than 63 rows.
    pub(crate) is_even: bool,
}

impl Triple {
    fn new(footprints: [&[u32]; 3]) -> Self {
        let [a, b, c] = footprints;
        let mut places = Vec::with_capacity(32 * a.len());
        let mut bounds = [0_u16; 9];
        for class in 0..8 {
            let is = |word: u32, bit: u32| if class >> bit & 1 == 1 { word } else { !word };
            for (first, ((&a, &b), &c)) in (0..).step_by(32).zip(a.iter().zip(b).zip(c)) {
                let mut left = is(a, 0) & is(b, 1) & is(c, 2);
                while left != 0 {
                    places.push((first + left.trailing_zeros() as u16) * ROW as u16);
                    left &= left - 1;
                }
            }
            bounds[class as usize + 1] = places.len() as u16;
        }
        Self {
            places,
            bounds,
            is_even: bounds.windows(2).all(|ends| ends[1] - ends[0] < 64),
            set: footprints.map(|f| f.iter().map(|w| w.count_ones() as u16).sum()),
            first: footprints.map(|f| f[0] & 1 == 1),
        }
    }

    /// The rows of a class, in a list of the places of all.
    #[inline(always)]
    pub(crate) fn class<'a>(&self, places: &'a [u16], class: usize) -> &'a [u16] {
        &places[usize::from(self.bounds[class])..usize::from(self.bounds[class + 1])]
    }
}

/// `weight · cos(π·h/b)` in units of 2⁻¹⁵ for every distance `h`, counted from the lowest of the 128 around `b/2`, modulo
/// 256; high and low bytes apart, in pieces of 64. The first two pieces hold nearly all distances there are.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct CosineTable {
    pub(crate) high: [[u8; 64]; 4],
    pub(crate) low: [[u8; 64]; 4],
    pub(crate) weight: f32,
}

impl GroupFootprints {
    /// Prepares `[layer][group][bits / 32]`.
    pub(crate) fn new(
        bits: usize,
        groups: usize,
        footprints: &[u32],
        terms: &[Vec<GroupWeight>],
    ) -> Self {
        let words = bits / 32;
        let cosines = cosines_from(lowest_near(bits), bits);
        let tables = terms
            .iter()
            .flatten()
            .map(|used| CosineTable::new(&cosines, used.weight))
            .collect();
        let uses: Vec<usize> = terms.iter().flatten().map(|used| used.group).collect();
        let triples_per_layer = uses.len().div_ceil(3);
        let mut triples = Vec::new();
        for layer in footprints.chunks_exact((words * groups).max(1)) {
            for first in (0..uses.len()).step_by(3) {
                // The last triple is filled up with the first groups.
                let group = |i: usize| &layer[uses[(first + i) % uses.len()] * words..][..words];
                triples.push(Triple::new([group(0), group(1), group(2)]));
            }
        }
        // An empty list could meet a token with all 256 bits set, whose count does not fit a byte.
        let is_empty = |footprint: &[u32]| {
            footprint.iter().all(|&w| w == footprint[0]) && matches!(footprint[0], 0 | u32::MAX)
        };
        let narrow = bits < 256 || bits == 256 && !footprints.chunks_exact(words).any(is_empty);
        let weights = terms
            .iter()
            .enumerate()
            .flat_map(|(term, uses)| uses.iter().map(move |used| (used.weight, term)));
        Self {
            bits,
            groups,
            lists: OnceLock::new(),
            triples,
            triples_per_layer,
            footprints: footprints.to_vec(),
            uses,
            trios: OnceLock::new(),
            weights: weights.collect(),
            sines: OnceLock::new(),
            tables,
            narrow,
            lowest: lowest_near(bits),
        }
    }

    fn lists(&self) -> &Lists {
        self.lists.get_or_init(|| {
            let footprints = self.footprints.chunks_exact(self.bits / 32);
            let rows: Vec<_> = footprints.map(RowList::new).collect();
            let first = self.uses.first().copied().unwrap_or(0);
            let layers = rows.chunks_exact(self.groups.max(1));
            let others = layers.map(|layer| layer[first].others(self.bits)).collect();
            Lists { rows, others }
        })
    }

    pub(crate) fn rows(&self, layer: usize, group: usize) -> &RowList {
        &self.lists().rows[layer * self.groups + group]
    }

    pub(crate) fn others(&self, layer: usize) -> &RowList {
        &self.lists().others[layer]
    }

    /// The triples of a layer.
    pub(crate) fn triples(&self, layer: usize) -> &[Triple] {
        &self.triples[layer * self.triples_per_layer..][..self.triples_per_layer]
    }

    /// The trios of a layer.
    pub(crate) fn trios(&self, layer: usize) -> &[Trio] {
        let make = || Trio::of_layers(&self.footprints, self.bits / 32, self.groups, &self.uses);
        let per_layer = self.uses.len().div_ceil(3);
        &self.trios.get_or_init(make)[layer * per_layer..][..per_layer]
    }

    pub(crate) fn sines(&self) -> &[WeightedSine] {
        self.sines
            .get_or_init(|| WeightedSine::of_uses(&self.weights))
    }

    pub(crate) fn tables(&self) -> &[CosineTable] {
        &self.tables
    }
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

    fn others(&self, bits: usize) -> Self {
        let mut taken = self.rows.iter().copied().peekable();
        let all = 0..bits as u16;
        Self {
            rows: all.filter(|&i| taken.next_if_eq(&i).is_none()).collect(),
            complement: !self.complement,
        }
    }
}

impl CosineTable {
    /// `cosines` by distance, from the lowest of the 128 around `b/2` on.
    fn new(cosines: &[f64; 256], weight: f32) -> Self {
        let (mut high, mut low, mut lost) = ([[0; 64]; 4], [[0; 64]; 4], 0.0);
        let bytes = high
            .as_flattened_mut()
            .iter_mut()
            .zip(low.as_flattened_mut());
        for (i, ((high, low), cosine)) in bytes.zip(cosines).enumerate() {
            let wanted = f64::from(weight) * cosine * 32768.0;
            let value = (wanted + lost).round().clamp(-32767.0, 32767.0);
            // Among the distances that most tokens have, what is lost by rounding is made up for by the next one, so that
            // it is not lost to the sum of a kernel.
            lost = if (32..96).contains(&i) {
                wanted + lost - value
            } else {
                0.0
            };
            let value = value as i32;
            (*high, *low) = ((value >> 8) as u8, value as u8);
        }
        Self { high, low, weight }
    }
}

/// `cos(π·h/b)` for every distance that a byte holds, counted from the lowest near one.
fn cosines_from(lowest: i8, bits: usize) -> [f64; 256] {
    std::array::from_fn(|i| {
        let h = (i as u8).wrapping_add_signed(lowest);
        (std::f64::consts::PI * f64::from(h) / bits as f64).cos()
    })
}

/// The lowest of the 128 distances around `bits / 2`.
fn lowest_near(bits: usize) -> i8 {
    (bits.min(256) as i16 / 2 - 64) as i8
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

    #[test]
    fn classes_share_the_rows_out() {
        let footprints: [&[u32]; 3] = [&[0x0F0F_1234], &[0x00FF_5678], &[0x3333_9ABC]];
        let triple = Triple::new(footprints);
        let mut seen = 0_u32;
        for class in 0..8 {
            for &place in triple.class(&triple.places, class) {
                let row = usize::from(place) / ROW;
                let bits = footprints.map(|f| usize::from((f[0] >> row) & 1 == 1));
                assert_eq!(bits[0] + 2 * bits[1] + 4 * bits[2], class);
                seen |= 1 << row;
            }
        }
        assert_eq!(seen, u32::MAX);
        assert_eq!(
            triple.set.map(u32::from),
            footprints.map(|f| f[0].count_ones())
        );
        assert!(triple.is_even);
        assert!(!Triple::new([&[0; 8]; 3]).is_even);
    }

    #[test]
    fn tables_begin_with_the_lowest_near_distance() {
        for bits in [32, 96, 128, 224, 256] {
            let lowest = lowest_near(bits);
            let table = CosineTable::new(&cosines_from(lowest, bits), 0.7);
            for h in 0..(bits + 1).min(256) {
                let cosine = (std::f64::consts::PI * h as f64 / bits as f64).cos();
                let i = usize::from((h as u8).wrapping_sub(lowest as u8));
                let bytes = [table.low, table.high].map(|pieces| pieces[i / 64][i % 64]);
                let error = f64::from(i16::from_le_bytes(bytes)) - 0.7 * 32768.0 * cosine;
                assert!(error.abs() < 1.01, "{bits} {h}: {error}");
            }
        }
    }
}
