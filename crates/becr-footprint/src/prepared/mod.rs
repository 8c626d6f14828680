//! A query's token groups, prepared for counting rows of tiles: what each implementation works with.
//!
//! | implementation | rows to count | weighted cosines |
//! |---|---|---|
//! | portable | [`row_lists`]: a list per group | computed from the weight |
//! | AVX2, NEON | [`trios`]: three uses of groups together | [`sines`]: polynomials in 16-bit numbers |
//! | AVX-512 | [`triples`]: three uses of groups together, in another way | [`tables`]: looked up |
//!
//! A *use* is a token group in a term: a group that two terms share is used twice, with a weight each time. What an
//! implementation needs is made when it first asks for it.

mod row_lists;
mod sines;
mod tables;
mod threes;
mod trios;
mod triples;

pub(crate) use row_lists::RowList;
pub(crate) use sines::WeightedSine;
pub(crate) use tables::CosineTable;
pub(crate) use trios::{Class, Size, Trio};
pub(crate) use triples::Triple;

use crate::query::GroupWeight;
use row_lists::RowLists;
use std::sync::OnceLock;
use threes::fill_up;

/// The footprints of a query's token groups and the terms that use them.
#[derive(Debug, Clone)]
pub(crate) struct GroupFootprints {
    pub(crate) bits: usize,
    groups: usize,
    /// `[layer][group][word]`.
    footprints: Vec<u32>,
    /// In the order of the terms.
    uses: Vec<Use>,
    /// True if every count and distance fits a byte (256 itself is taken as 255).
    pub(crate) narrow: bool,
    row_lists: OnceLock<RowLists>,
    /// `[layer][trio]`.
    trios: OnceLock<Vec<Trio>>,
    /// One per use.
    sines: OnceLock<Vec<WeightedSine>>,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// `[layer][triple]`.
    triples: OnceLock<Vec<Triple>>,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// One per use.
    tables: OnceLock<Vec<CosineTable>>,
}

/// A token group in a term.
#[derive(Debug, Clone, Copy)]
struct Use {
    group: usize,
    weight: f32,
    term: usize,
}

impl GroupFootprints {
    /// Takes `[layer][group][bits / 32]`.
    pub(crate) fn new(
        bits: usize,
        groups: usize,
        footprints: &[u32],
        terms: &[Vec<GroupWeight>],
    ) -> Self {
        let uses = |(term, uses): (usize, &'_ Vec<GroupWeight>)| {
            let use_of = |used: &GroupWeight| Use {
                group: used.group,
                weight: used.weight,
                term,
            };
            uses.iter().map(use_of).collect::<Vec<_>>()
        };
        // A group without a set bit, or without a clear one, may meet a token at distance 256, which no byte holds.
        let is_uniform = |footprint: &[u32]| {
            footprint.iter().all(|&w| w == footprint[0]) && matches!(footprint[0], 0 | u32::MAX)
        };
        let mut all = footprints.chunks_exact(bits / 32);
        Self {
            bits,
            groups,
            footprints: footprints.to_vec(),
            uses: terms.iter().enumerate().flat_map(uses).collect(),
            narrow: bits < 256 || bits == 256 && !all.any(is_uniform),
            row_lists: OnceLock::new(),
            trios: OnceLock::new(),
            sines: OnceLock::new(),
            triples: OnceLock::new(),
            tables: OnceLock::new(),
        }
    }

    /// The weights of all uses.
    pub(crate) fn weights(&self) -> impl Iterator<Item = f32> {
        self.uses.iter().map(|used| used.weight)
    }

    fn row_lists(&self) -> &RowLists {
        self.row_lists.get_or_init(|| {
            let first = self.uses.first().map_or(0, |used| used.group);
            RowLists::new(&self.footprints, self.bits, self.groups, first)
        })
    }

    /// The rows of a group.
    pub(crate) fn rows(&self, layer: usize, group: usize) -> &RowList {
        &self.row_lists().rows[layer * self.groups + group]
    }

    /// The rows that are not in the list of the first use's group.
    pub(crate) fn others(&self, layer: usize) -> &RowList {
        &self.row_lists().others[layer]
    }

    /// The trios of a layer.
    pub(crate) fn trios(&self, layer: usize) -> &[Trio] {
        self.of_layer(layer, self.trios.get_or_init(|| self.by_threes(Trio::new)))
    }

    pub(crate) fn sines(&self) -> &[WeightedSine] {
        self.sines.get_or_init(|| {
            let sine = |used: &Use| WeightedSine::new(used.weight.into(), used.term);
            self.uses.iter().map(sine).collect()
        })
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// The triples of a layer.
    pub(crate) fn triples(&self, layer: usize) -> &[Triple] {
        self.of_layer(
            layer,
            self.triples.get_or_init(|| self.by_threes(Triple::new)),
        )
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn tables(&self) -> &[CosineTable] {
        self.tables
            .get_or_init(|| CosineTable::of_weights(self.bits, self.weights()))
    }

    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    /// The distance that [`CosineTable`]s begin with.
    pub(crate) fn lowest(&self) -> i8 {
        tables::lowest(self.bits)
    }

    /// What `make` makes of the footprints of three uses, `[layer][three]`.
    fn by_threes<T>(&self, make: impl Fn([&[u32]; 3]) -> T) -> Vec<T> {
        let words = self.bits / 32;
        let mut made = Vec::new();
        for layer in self.footprints.chunks_exact((words * self.groups).max(1)) {
            for uses in self.uses.chunks(3) {
                let footprint = |used: &Use| &layer[used.group * words..][..words];
                let uses: Vec<&[u32]> = uses.iter().map(footprint).collect();
                made.push(make(
                    fill_up(&uses).each_ref().map(|footprint| &footprint[..]),
                ));
            }
        }
        made
    }

    fn of_layer<'a, T>(&self, layer: usize, all: &'a [T]) -> &'a [T] {
        let per_layer = self.uses.len().div_ceil(3);
        &all[layer * per_layer..][..per_layer]
    }
}
