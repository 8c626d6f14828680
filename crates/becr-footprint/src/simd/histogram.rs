//! Adding tokens to histograms.

use crate::pool::Histogram;
use crate::workspace::Similarities;

/// Adds the first `tokens` similarities of every term to its histogram, and calls `meanwhile` every few tokens.
///
/// Three terms go side by side: consecutive tokens of one term often fall into the same bin, and then each addition waits
/// until the one before it is stored.
#[inline(always)]
pub(super) fn add(
    histograms: &mut [Histogram],
    similarities: &[Similarities],
    tokens: usize,
    mut meanwhile: impl FnMut(),
) {
    let (threes, rest) = histograms.as_chunks_mut::<3>();
    let (lists, rest_lists) = similarities.as_chunks::<3>();
    for (histograms, lists) in threes.iter_mut().zip(lists) {
        add_some(histograms, lists, tokens, &mut meanwhile);
    }
    let (twos, one) = rest.as_chunks_mut::<2>();
    let (lists, last) = rest_lists.as_chunks::<2>();
    for (histograms, lists) in twos.iter_mut().zip(lists) {
        add_some(histograms, lists, tokens, &mut meanwhile);
    }
    let last = last.as_chunks::<1>().0;
    for (histogram, list) in one.as_chunks_mut::<1>().0.iter_mut().zip(last) {
        add_some(histogram, list, tokens, &mut meanwhile);
    }
}

/// Tokens between two calls of `meanwhile`.
const TOKENS_PER_STEP: usize = 8;

/// How often [`add`] calls `meanwhile`.
pub(super) fn steps(terms: usize, tokens: usize) -> usize {
    terms.div_ceil(3) * (tokens / TOKENS_PER_STEP)
}

#[inline(always)]
fn add_some<const N: usize>(
    histograms: &mut [Histogram; N],
    lists: &[Similarities; N],
    tokens: usize,
    meanwhile: &mut impl FnMut(),
) {
    for step in 0..tokens / TOKENS_PER_STEP {
        meanwhile();
        for pair in 0..TOKENS_PER_STEP / 2 {
            add_two(histograms, lists, TOKENS_PER_STEP / 2 * step + pair);
        }
    }
    let whole = tokens - tokens % TOKENS_PER_STEP;
    for (histogram, list) in histograms.iter_mut().zip(lists) {
        for &similarity in &list.0[whole..tokens] {
            histogram.add(similarity as u16);
        }
    }
}

/// Adds two tokens to every histogram.
#[inline(always)]
fn add_two<const N: usize>(
    histograms: &mut [Histogram; N],
    lists: &[Similarities; N],
    pair: usize,
) {
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

/// Two similarities in one load. The loop is limited by its number of loads, and without `volatile` the compiler loads
/// every byte by itself.
#[inline(always)]
fn two(list: &Similarities, pair: usize) -> u32 {
    let two = &list.0.as_chunks::<2>().0[pair];
    // SAFETY: two numbers of 16 bits are one of 32, whose alignment the list's is a multiple of.
    u32::from_le(unsafe { std::ptr::from_ref(two).cast::<u32>().read_volatile() })
}
