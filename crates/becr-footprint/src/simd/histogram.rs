//! Adding tokens to histograms.

use crate::pool::Histogram;
use crate::workspace::Similarities;

/// Adds the first `tokens` similarities of every term to its histogram.
///
/// Three terms go side by side: one alone spends its time waiting for its last additions to come out of memory.
#[inline(always)]
pub(super) fn add(histograms: &mut [Histogram], similarities: &[Similarities], tokens: usize) {
    let (threes, rest) = histograms.as_chunks_mut::<3>();
    let (lists, rest_lists) = similarities.as_chunks::<3>();
    for (histograms, lists) in threes.iter_mut().zip(lists) {
        add_some(histograms, lists, tokens);
    }
    let (twos, one) = rest.as_chunks_mut::<2>();
    let (lists, last) = rest_lists.as_chunks::<2>();
    for (histograms, lists) in twos.iter_mut().zip(lists) {
        add_some(histograms, lists, tokens);
    }
    for (histogram, list) in one
        .as_chunks_mut::<1>()
        .0
        .iter_mut()
        .zip(last.as_chunks::<1>().0)
    {
        add_some(histogram, list, tokens);
    }
}

#[inline(always)]
fn add_some<const N: usize>(
    histograms: &mut [Histogram; N],
    lists: &[Similarities; N],
    tokens: usize,
) {
    for pair in 0..tokens / 2 {
        let mut words = [0; N];
        for (word, list) in words.iter_mut().zip(lists) {
            *word = two(list, pair);
        }
        for (histogram, word) in histograms.iter_mut().zip(words) {
            histogram.add(word as u16);
        }
        for (histogram, word) in histograms.iter_mut().zip(words) {
            histogram.add((word >> 16) as u16);
        }
    }
    if tokens % 2 == 1 {
        for (histogram, list) in histograms.iter_mut().zip(lists) {
            histogram.add(list.0[tokens - 1] as u16);
        }
    }
}

/// Two similarities at once. Whatever is not volatile the compiler makes loads of single bytes of, which are what a CPU
/// runs out of here.
#[inline(always)]
fn two(list: &Similarities, pair: usize) -> u32 {
    let two = &list.0.as_chunks::<2>().0[pair];
    // SAFETY: two numbers of 16 bits are one of 32, whose alignment the list's is a multiple of.
    u32::from_le(unsafe { std::ptr::from_ref(two).cast::<u32>().read_volatile() })
}
