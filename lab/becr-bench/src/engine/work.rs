//! The reference work: a store of random footprints and queries of n words.

use crate::random::Random;
use crate::scoring::Scoring;
use anyhow::Context;
use becr_footprint::{CompositeQuery, GroupWeight, Kernels};
use memmap2::{Advice, MmapMut};

/// Documents per query.
pub(super) const DOCUMENTS: usize = 150;
/// Tokens per document.
pub(super) const TOKENS: usize = 857;
/// Word pairs reach this far.
const WINDOW: usize = 3;

/// Random bytes, which are as good as any footprints to an engine that has no branches on them.
pub(super) struct Store {
    bytes: MmapMut,
    cache_bytes: usize,
    small_pages: bool,
}

impl Store {
    pub(super) fn new(small_pages: bool) -> anyhow::Result<Self> {
        let cache_bytes = last_level_cache();
        let size = (4 * cache_bytes).max(512 << 20);
        let mut bytes = MmapMut::map_anon(size)
            .with_context(|| format!("cannot reserve {size} bytes for the store"))?;
        // The kernel may refuse: the pages are then small, and both engine and floor pay for it.
        #[cfg(target_os = "linux")]
        if !small_pages {
            let _ = bytes.advise(Advice::HugePage);
        }
        let mut random = Random::new(1);
        random.fill(&mut bytes);
        Ok(Self {
            bytes,
            cache_bytes,
            small_pages,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn cache_bytes(&self) -> usize {
        self.cache_bytes
    }

    pub(super) fn pages(&self) -> &'static str {
        if self.small_pages {
            "small pages"
        } else {
            "huge pages"
        }
    }
}

/// The size of the last-level cache as Linux tells it, otherwise 32 MiB.
fn last_level_cache() -> usize {
    let sizes = (0..8).filter_map(|i| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{i}/size");
        let text = std::fs::read_to_string(path).ok()?;
        text.trim()
            .strip_suffix('K')?
            .parse::<usize>()
            .ok()
            .map(|k| k << 10)
    });
    sizes.max().unwrap_or(32 << 20)
}

/// What a query's terms are made of.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Groups {
    /// Words and word pairs of the token store: the reference work.
    Composed,
    /// One footprint a term: a query that went through the encoder as a whole.
    Single,
}

impl Groups {
    pub(super) const ALL: [Self; 2] = [Self::Composed, Self::Single];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Composed => "composed",
            Self::Single => "single",
        }
    }

    /// The number of token groups of `n` words, and the terms that they make.
    fn terms(self, n: usize) -> (usize, Vec<Vec<GroupWeight>>) {
        match self {
            Self::Composed => composed_terms(n),
            Self::Single => {
                let weight = 1.0;
                let term = |group| vec![GroupWeight { group, weight }];
                (n, (0..n).map(term).collect())
            }
        }
    }
}

/// A query of `n` words with what it is scored with.
pub(super) struct Work {
    pub(super) of: Groups,
    pub(super) n: usize,
    pub(super) layers: usize,
    pub(super) bits: usize,
    pub(super) terms: Vec<Vec<GroupWeight>>,
    pub(super) groups: usize,
    /// `[layer][group][word]`.
    pub(super) footprints: Vec<u32>,
    pub(super) kernels: Kernels,
    query: CompositeQuery,
    /// `[layer][kernel]`.
    alpha: Vec<f32>,
    term_weights: Vec<f32>,
}

impl Work {
    pub(super) fn new(of: Groups, n: usize, layers: usize, bits: usize) -> anyhow::Result<Self> {
        let (groups, terms) = of.terms(n);
        let mut random = Random::new(n as u64);
        let words = layers * groups * bits / 32;
        let footprints: Vec<u32> = (0..words).map(|_| random.next() as u32).collect();
        let query = CompositeQuery::from_footprints(bits, layers, &footprints, terms.clone())?;
        let kernels = Kernels::paper();
        let alpha = vec![0.1; layers * kernels.len()];
        let term_weights = vec![1.0 / n as f32; n];
        Ok(Self {
            of,
            n,
            layers,
            bits,
            terms,
            groups,
            footprints,
            kernels,
            query,
            alpha,
            term_weights,
        })
    }

    pub(super) fn scoring(&self) -> Scoring<'_> {
        Scoring {
            query: &self.query,
            kernels: &self.kernels,
            alpha: &self.alpha,
            term_weights: &self.term_weights,
        }
    }
}

/// The token groups of `n` words: each word, and both words of each pair, weighted as in the paper.
fn composed_terms(n: usize) -> (usize, Vec<Vec<GroupWeight>>) {
    let mut terms: Vec<Vec<GroupWeight>> = (0..n)
        .map(|group| {
            vec![GroupWeight {
                group,
                weight: 1.0 / (WINDOW + 1) as f32,
            }]
        })
        .collect();
    let mut groups = n;
    for first in 0..n {
        for second in first + 1..n.min(first + WINDOW + 1) {
            for word in [first, second] {
                let weight = 1.0 / (second - first) as f32;
                terms[word].push(GroupWeight {
                    group: groups,
                    weight,
                });
                groups += 1;
            }
        }
    }
    for uses in &mut terms {
        let sum: f32 = uses.iter().map(|u| u.weight).sum();
        uses.iter_mut().for_each(|u| u.weight /= sum);
    }
    (groups, terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_many_as_the_reference_work_says() {
        let groups = |of: Groups| [1, 2, 3, 4, 5].map(|n| of.terms(n).0);
        assert_eq!(groups(Groups::Composed), [1, 4, 9, 16, 23]);
        assert_eq!(groups(Groups::Single), [1, 2, 3, 4, 5]);
    }
}
