//! Three uses of groups, whose rows are counted together: what AVX-512 works with.
//!
//! The rows fall into eight classes by which of the groups have their bit set: row `i` is in class
//! `q₀[i] + 2·q₁[i] + 4·q₂[i]`. A token whose bit is set in a row is one nearer to the groups that have it set and one
//! farther from the others, so only the difference of two opposite classes (0 and 7, 1 and 6, 2 and 5, 4 and 3) counts.
//! With `Uₖ` the number of ones in class `k` less those in the opposite one, the distance to `q₀` is
//! `|q₀| + U₀ − U₁ + U₂ + U₄`, and to `q₁` and `q₂` the same with the minus sign at `U₂` and `U₄`.

// Only AVX-512 works with this, but its tests run anywhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

use crate::tile::ROW;

/// Three uses of groups at a layer.
#[derive(Debug, Clone)]
pub(crate) struct Triple {
    /// All rows, class by class, each as its offset in the widest tile: multiplying row numbers while rows are loaded
    /// holds the loads up.
    pub(crate) places: Vec<u16>,
    /// Where the classes begin, and where the last one ends.
    bounds: [u16; 9],
    /// Bits set in each group.
    pub(crate) set: [u16; 3],
    /// Whether bit 0 is one of them.
    pub(crate) first: [bool; 3],
    /// True if no class has more than 63 rows.
    pub(crate) is_even: bool,
}

impl Triple {
    pub(crate) fn new(footprints: [&[u32]; 3]) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
