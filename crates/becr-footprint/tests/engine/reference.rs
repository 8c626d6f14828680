//! The paper's formulas, written out in f64, and random cases to try them on.

use becr_basics::SplitMix64;
use becr_footprint::{
    CompositeQuery, DocumentLayout, DocumentTokens, GroupWeight, Kernels, Relative, TiledDocument,
};

/// A stream of random words.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// A query and a document, before any preparation.
pub(crate) struct Case {
    pub bits: usize,
    pub layers: usize,
    pub groups: usize,
    pub tokens: usize,
    pub terms: Vec<Vec<GroupWeight>>,
    /// `[layer][group][word]`.
    pub query: Vec<u32>,
    /// `[layer][token][word]`.
    pub document: Vec<u32>,
    /// Offsets by term and lengths by token, if the footprints are relative.
    pub relative: Option<(Vec<f32>, Vec<u8>)>,
}

impl Case {
    /// A random case in which tokens resemble the query's groups to all degrees, as far as equality and opposition.
    pub(crate) fn random(random: &mut Random, bits: usize, layers: usize, tokens: usize) -> Self {
        let (words, groups) = (bits / 32, 1 + random.below(6));
        let query: Vec<u32> = (0..layers * groups * words)
            .map(|_| random.next() as u32)
            .collect();
        let mut document = Vec::with_capacity(layers * tokens * words);
        for layer in 0..layers {
            for _ in 0..tokens {
                let (like, noise) = (random.below(groups), random.below(9));
                for w in 0..words {
                    let q = query[(layer * groups + like) * words + w];
                    document.push(match noise {
                        0 => q,
                        1 => !q,
                        2 => q ^ (random.next() & random.next() & random.next()) as u32,
                        3 => q ^ (random.next() & random.next()) as u32,
                        _ => random.next() as u32,
                    });
                }
            }
        }
        let terms = random_terms(random, groups);
        Self {
            bits,
            layers,
            groups,
            tokens,
            terms,
            query,
            document,
            relative: None,
        }
    }

    /// The same, its document taken as relative to some vector.
    pub(crate) fn relative(self, random: &mut Random) -> Self {
        let offsets = self.terms.iter().map(|_| 1.6 * random.unit() - 0.8);
        let offsets = offsets.collect();
        let lengths = (0..self.tokens).map(|_| random.below(150) as u8).collect();
        Self {
            relative: Some((offsets, lengths)),
            ..self
        }
    }

    pub(crate) fn composite_query(&self) -> CompositeQuery {
        let terms = self.terms.clone();
        CompositeQuery::from_footprints(self.bits, self.layers, &self.query, terms)
            .expect("a valid query")
    }

    pub(crate) fn layout(&self) -> DocumentLayout {
        DocumentLayout::new(self.layers, self.tokens, self.bits).expect("a valid layout")
    }

    pub(crate) fn tiles(&self) -> Vec<u8> {
        let layout = self.layout();
        let mut tiles = vec![0; layout.bytes()];
        layout
            .tile(&self.document, &mut tiles)
            .expect("right lengths");
        tiles
    }

    /// The document of these tiles, as the engine takes it.
    pub(crate) fn footprints<'a>(&'a self, tiles: &'a [u8]) -> DocumentTokens<'a> {
        let document = TiledDocument::new(self.layout(), tiles).expect("right length");
        DocumentTokens::Footprints(match &self.relative {
            None => document,
            Some((offsets, lengths)) => document
                .relative(Relative { offsets, lengths })
                .expect("one layer"),
        })
    }

    /// `Σ_t w_t · cos(π·h_t/b)`, `[layer][term][token]`, times a length and added to an offset if it is relative.
    pub(crate) fn similarities(&self) -> Vec<f64> {
        let words = self.bits / 32;
        let mut out = Vec::new();
        for layer in 0..self.layers {
            for (number, term) in self.terms.iter().enumerate() {
                for token in 0..self.tokens {
                    let d = &self.document[(layer * self.tokens + token) * words..][..words];
                    let rest: f64 = term
                        .iter()
                        .map(|used| {
                            let q =
                                &self.query[(layer * self.groups + used.group) * words..][..words];
                            let h: u32 = d.iter().zip(q).map(|(d, q)| (d ^ q).count_ones()).sum();
                            let angle = std::f64::consts::PI * f64::from(h) / self.bits as f64;
                            f64::from(used.weight) * angle.cos()
                        })
                        .sum();
                    out.push(match &self.relative {
                        None => rest,
                        Some((offsets, lengths)) => {
                            let length = f64::from(lengths[token]) / 128.0;
                            (f64::from(offsets[number]) + length * rest).clamp(-1.0, 1.0)
                        }
                    });
                }
            }
        }
        out
    }

    /// `ln(ε + Σ_j exp(−(c_j − μ)² / 2σ²))`, `[layer][term][kernel]`.
    pub(crate) fn log_sums(&self, kernels: &Kernels) -> Vec<f64> {
        log_sums(
            &self.similarities(),
            self.layers * self.terms.len(),
            self.tokens,
            kernels,
        )
    }
}

/// Pools `lists` lists of similarities.
pub(crate) fn log_sums(
    similarities: &[f64],
    lists: usize,
    tokens: usize,
    kernels: &Kernels,
) -> Vec<f64> {
    let mut out = Vec::new();
    for list in 0..lists {
        let similarities = &similarities[list * tokens..][..tokens];
        for (&mu, &sigma) in kernels.mu().iter().zip(kernels.sigma()) {
            let sum: f64 = similarities
                .iter()
                .map(|c| (-(c - f64::from(mu)).powi(2) / (2.0 * f64::from(sigma).powi(2))).exp())
                .sum();
            out.push((sum + f64::from(kernels.epsilon())).ln());
        }
    }
    out
}

/// One to four terms of one to `groups` groups each, normalised.
fn random_terms(random: &mut Random, groups: usize) -> Vec<Vec<GroupWeight>> {
    (0..1 + random.below(4))
        .map(|_| {
            let uses = 1 + random.below(groups);
            let weights: Vec<f32> = (0..uses).map(|_| 0.1 + random.unit()).collect();
            let sum: f32 = weights.iter().sum();
            weights
                .iter()
                .map(|w| GroupWeight {
                    group: random.below(groups),
                    weight: w / sum,
                })
                .collect()
        })
        .collect()
}

/// `count` kernels at random places, of random widths that a model may have.
pub(crate) fn random_kernels(random: &mut Random, count: usize) -> Kernels {
    let mu = (0..count).map(|_| 2.0 * random.unit() - 1.0).collect();
    let sigma = (0..count).map(|_| 0.02 + 0.4 * random.unit()).collect();
    Kernels::new(mu, sigma, 1e-10).expect("valid kernels")
}
