//! A fixed amount of work, for counting instructions: `work IMPLEMENTATION terms N` pools documents of 857 tokens (5 layers,
//! 256 bits) with a composed query of three or five words, `work plain|chosen hash N` hashes vectors of 384 dimensions. `N` is how
//! often: the difference between two counts is what the work itself takes. See `.ci/arm/count`.

use becr_footprint::lsh::{HyperplaneKind, Hyperplanes, dot};
use becr_footprint::{
    CompositeQuery, DocumentLayout, DocumentTokens, Engine, GroupWeight, Implementation, Kernels,
    TiledDocument, Workspace,
};
use std::io::Write;

const LAYERS: usize = 5;
const BITS: usize = 256;
const TOKENS: usize = 857;
const DIM: usize = 384;
const VECTORS: usize = 64;

/// Prints a result: without it the compiler might leave the work out.
fn print(result: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{result}");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = || {
        arguments
            .next()
            .expect("implementation, work and how often")
    };
    let (implementation, work) = (next(), next());
    let times = next().parse().expect("how often");
    match work.as_str() {
        "hash" => hash(&implementation, times),
        words => pool(&implementation, words.parse().expect("3 or 5 words"), times),
    }
}

fn pool(implementation: &str, words: usize, times: usize) {
    let mut random = becr_basics::SplitMix64::new(1);
    let (groups, terms) = composed_terms(words);
    let footprints = |count: usize, random: &mut becr_basics::SplitMix64| -> Vec<u32> {
        (0..count * BITS / 32)
            .map(|_| random.next_u64() as u32)
            .collect()
    };
    let query = footprints(LAYERS * groups, &mut random);
    let query = CompositeQuery::from_footprints(BITS, LAYERS, &query, terms).expect("a query");
    let layout = DocumentLayout::new(LAYERS, TOKENS, BITS).expect("a layout");
    let mut tiles = vec![0; layout.bytes()];
    (layout.tile(&footprints(LAYERS * TOKENS, &mut random), &mut tiles)).expect("tiles");
    let document = TiledDocument::new(layout, &tiles).expect("a document");
    let document = DocumentTokens::Footprints(document);
    let implementation = Implementation::named(implementation).expect("an implementation");
    let engine = Engine::with(implementation).expect("available");
    let (kernels, mut buffers) = (Kernels::paper(), Workspace::new());
    let mut sums = vec![0.0; LAYERS * words * kernels.len()];
    for _ in 0..times {
        (engine.log_sums(&query, &kernels, &document, None, &mut buffers, &mut sums))
            .expect("sums");
    }
    print(sums.iter().sum::<f32>());
}

/// The token groups of so many words, each word and both words of each pair, weighted as in the paper.
fn composed_terms(words: usize) -> (usize, Vec<Vec<GroupWeight>>) {
    let mut terms: Vec<Vec<(usize, f32)>> = (0..words).map(|i| vec![(i, 0.25)]).collect();
    let mut groups = words;
    for first in 0..words {
        for second in first + 1..words.min(first + 4) {
            for word in [first, second] {
                terms[word].push((groups, 1.0 / (second - first) as f32));
                groups += 1;
            }
        }
    }
    let normalise = |uses: Vec<(usize, f32)>| {
        let sum: f32 = uses.iter().map(|used| used.1).sum();
        let weigh = |(group, weight)| GroupWeight {
            group,
            weight: weight / sum,
        };
        uses.into_iter().map(weigh).collect()
    };
    (groups, terms.into_iter().map(normalise).collect())
}

fn hash(implementation: &str, times: usize) {
    let planes = Hyperplanes::generate(DIM, BITS, HyperplaneKind::Gaussian, 7).expect("planes");
    let mut random = becr_basics::SplitMix64::new(2);
    let mut number = || (random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0;
    let vectors: Vec<f32> = (0..VECTORS * DIM).map(|_| number()).collect();
    let mut out = vec![0; VECTORS * planes.width()];
    for _ in 0..times {
        if implementation == "plain" {
            for (vector, out) in vectors.chunks(DIM).zip(out.chunks_mut(planes.width())) {
                for (word, planes) in out.iter_mut().zip(planes.matrix().chunks(32 * DIM)) {
                    let bits = planes.chunks(DIM).enumerate();
                    *word = bits.fold(0, |word, (bit, plane)| {
                        word | u32::from(dot(plane, vector) > 0.0) << bit
                    });
                }
            }
        } else {
            planes.footprints(&vectors, &mut out).expect("footprints");
        }
    }
    let sum = (out.iter()).fold(0_u32, |sum, word| sum.rotate_left(1) ^ word);
    print(format_args!("{sum:08x}"));
}
