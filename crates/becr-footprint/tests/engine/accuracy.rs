//! The reference work W(n): scores differ from the f64 reference by less than a thousandth of their spread, and
//! documents that the reference separates by more than that keep their order.

use crate::reference::{Case, Random};
use becr_footprint::{
    DocumentLayout, DocumentTokens, Engine, GroupWeight, Implementation, Kernels, TiledDocument,
    Workspace,
};

const LAYERS: usize = 5;
const BITS: usize = 256;
const TOKENS: usize = 857;

/// The groups of a query of `n` words within a window of three, as the paper weighs them.
fn terms(n: usize) -> (usize, Vec<Vec<GroupWeight>>) {
    let mut terms: Vec<Vec<(usize, f32)>> = (0..n).map(|i| vec![(i, 0.25)]).collect();
    let mut groups = n;
    for first in 0..n {
        for second in first + 1..n.min(first + 4) {
            for word in [first, second] {
                terms[word].push((groups, 1.0 / (second - first) as f32));
                groups += 1;
            }
        }
    }
    let normalise = |uses: Vec<(usize, f32)>| {
        let sum: f32 = uses.iter().map(|u| u.1).sum();
        uses.into_iter()
            .map(|(group, w)| GroupWeight {
                group,
                weight: w / sum,
            })
            .collect()
    };
    (groups, terms.into_iter().map(normalise).collect())
}

fn check(implementation: Implementation, n: usize, alpha: impl Fn(usize) -> f32) {
    let mut random = Random::new(n as u64);
    let (groups, terms) = terms(n);
    assert_eq!(groups, [0, 1, 4, 9, 16, 23][n]);
    let kernels = Kernels::paper();
    let words = BITS / 32;
    let query: Vec<u32> = (0..LAYERS * groups * words)
        .map(|_| random.next() as u32)
        .collect();
    let cases: Vec<Case> = (0..150)
        .map(|_| Case {
            bits: BITS,
            layers: LAYERS,
            groups,
            tokens: TOKENS,
            terms: terms.clone(),
            query: query.clone(),
            document: (0..LAYERS * TOKENS * words)
                .map(|_| random.next() as u32)
                .collect(),
            relative: None,
        })
        .collect();
    // Of `[layer][term][kernel]`.
    let weigh = |sums: &[f64]| -> f64 {
        let weight = |i: usize| f64::from(alpha(i / (11 * n) * 11 + i % 11));
        sums.iter().enumerate().map(|(i, s)| weight(i) * s).sum()
    };
    let exact: Vec<f64> = cases
        .iter()
        .map(|case| weigh(&case.log_sums(&kernels)))
        .collect();
    let layout = DocumentLayout::new(LAYERS, TOKENS, BITS).expect("valid");
    let tiles: Vec<Vec<u8>> = cases.iter().map(Case::tiles).collect();
    let documents: Vec<DocumentTokens> = tiles
        .iter()
        .map(|t| DocumentTokens::Footprints(TiledDocument::new(layout, t).expect("right length")))
        .collect();
    let query = cases[0].composite_query();
    let engine = Engine::with(implementation).expect("available");
    let (mut work, mut sums) = (Workspace::new(), vec![0.0; LAYERS * n * 11]);
    let mut score = |document: &DocumentTokens| {
        let done = engine.log_sums(&query, &kernels, document, None, &mut work, &mut sums);
        done.expect("comparable");
        weigh(&sums.iter().map(|&sum| f64::from(sum)).collect::<Vec<_>>())
    };
    let scores: Vec<f64> = documents.iter().map(&mut score).collect();

    let highest = exact.iter().copied().fold(f64::MIN, f64::max);
    let spread = highest - exact.iter().copied().fold(f64::MAX, f64::min);
    let worst = scores
        .iter()
        .zip(&exact)
        .map(|(s, e)| (s - e).abs())
        .fold(0.0, f64::max);
    let name = implementation.name();
    assert!(
        worst < 1e-3 * spread,
        "{name} W({n}): off by {worst}, spread {spread}"
    );

    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_by(|&a, &b| exact[b].total_cmp(&exact[a]));
    for pair in order.windows(2) {
        if exact[pair[0]] - exact[pair[1]] > 1e-3 * spread {
            assert!(
                scores[pair[0]] > scores[pair[1]],
                "{name} W({n}): {pair:?} swapped"
            );
        }
    }
}

#[test]
fn scores_of_the_reference_work() {
    for implementation in Implementation::available() {
        for n in [1, 2, 3, 5] {
            check(implementation, n, |_| 0.1);
        }
        for n in [1, 2, 3] {
            // Weights that favour kernels in the middle, where all documents are much alike.
            check(implementation, n, |i| {
                [0.0, 0.1, -0.3, 0.2, 0.7, 1.0, 0.4][i % 7]
            });
            check(implementation, n, |i| {
                f32::from(u8::from((3..7).contains(&(i % 11))))
            });
        }
    }
}
