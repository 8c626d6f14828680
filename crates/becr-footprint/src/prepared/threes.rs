//! Three uses of groups, where there may be fewer.

use std::borrow::Cow;

/// The footprints of one to three uses, filled up to three with footprints that nobody asks for. These differ from the
/// others in every second bit, so that the rows fall into classes of about the same size, whose counts have few digits.
pub(super) fn fill_up<'a>(uses: &[&'a [u32]]) -> [Cow<'a, [u32]>; 3] {
    let differing = |from: &[u32], bits: &dyn Fn(usize) -> u32| -> Cow<'a, [u32]> {
        let words = from.iter().enumerate();
        words.map(|(w, word)| word ^ bits(w)).collect()
    };
    match *uses {
        [a] => [
            a.into(),
            differing(a, &|_| 0xAAAA_AAAA),
            differing(a, &|_| 0xCCCC_CCCC),
        ],
        [a, b] => [
            a.into(),
            b.into(),
            differing(a, &|w| every_second(a[w] ^ b[w])),
        ],
        [a, b, c, ..] => [a.into(), b.into(), c.into()],
        [] => [const { Cow::Borrowed(&[]) }; 3],
    }
}

/// Every second of the bits that are set, and of those that are clear.
fn every_second(word: u32) -> u32 {
    let mut half = 0;
    let mut next = [true; 2];
    for i in 0..32 {
        let next = &mut next[((word >> i) & 1) as usize];
        half |= u32::from(*next) << i;
        *next = !*next;
    }
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_up_with_halves_the_rest() {
        let (a, b) = ([0x1234_5678, 0x9ABC_DEF0], [0x0F1E_2D3C, 0x4B5A_6978]);
        for uses in [&[&a[..]][..], &[&a, &b], &[&a, &b, &a]] {
            let three = fill_up(uses);
            assert!(three.iter().zip(uses).all(|(three, used)| three == used));
        }
        let differing = |x: &[u32], y: &[u32]| -> u32 {
            x.iter().zip(y).map(|(x, y)| (x ^ y).count_ones()).sum()
        };
        let [_, second, third] = fill_up(&[&a]);
        assert_eq!([differing(&a, &second), differing(&a, &third)], [32; 2]);
        assert_eq!(differing(&second, &third), 32);
        let [.., third] = fill_up(&[&a, &b]);
        assert!((30..=34).contains(&differing(&a, &third)));
        assert!((30..=34).contains(&differing(&b, &third)));
    }
}
