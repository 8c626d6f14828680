//! Every implementation equals the portable one, and the portable one equals the reference.

use crate::reference::{Case, Random, random_kernels};
use becr_footprint::{Engine, Implementation, Kernels, Workspace};
use proptest::prelude::*;

/// Other processors than x86 are emulated in our tests, a hundred times slower.
const EMULATED: bool = cfg!(not(target_arch = "x86_64"));

struct Results {
    similarities: Vec<f32>,
    log_sums: Vec<f32>,
}

fn compute(implementation: Implementation, case: &Case, kernels: &Kernels) -> Results {
    let engine = Engine::with(implementation).expect("an available implementation");
    let (query, tiles) = (case.composite_query(), case.tiles());
    let document = case.footprints(&tiles);
    let lists = case.layers * case.terms.len();
    let mut results = Results {
        similarities: vec![f32::NAN; lists * case.tokens],
        log_sums: vec![f32::NAN; lists * kernels.len()],
    };
    let mut work = Workspace::new();
    // Twice, with the same buffers: nothing may be left over from the first time.
    for _ in 0..2 {
        engine
            .similarities(&query, &document, &mut work, &mut results.similarities)
            .expect("comparable");
        engine
            .log_sums(
                &query,
                kernels,
                &document,
                None,
                &mut work,
                &mut results.log_sums,
            )
            .expect("comparable");
    }
    results
}

/// Units of 2⁻¹⁵ that rounding may cost: half a unit per group of a term, and a few for the opposite of a group.
const SIMILARITY_TOLERANCE: f32 = 2.0e-4;

fn check(case: &Case, kernels: &Kernels) {
    let portable = compute(Implementation::Portable, case, kernels);
    // Lengths beyond 1 and their rounding add to the error.
    let error = if case.relative.is_some() { 8e-5 } else { 4e-5 };
    let label = format!("b {} m {} K {}", case.bits, case.tokens, kernels.len());
    for (found, exact) in portable.similarities.iter().zip(case.similarities()) {
        assert!(
            (f64::from(*found) - exact).abs() < error,
            "{label}: {found} {exact}"
        );
    }
    for (i, (found, exact)) in portable
        .log_sums
        .iter()
        .zip(case.log_sums(kernels))
        .enumerate()
    {
        // What half a unit of similarity makes of the steepest place of the kernel that still counts.
        let sigma = f64::from(kernels.sigma()[i % kernels.len()]);
        let tolerance = 2e-3 + error * 7.0 / sigma;
        assert!(
            (f64::from(*found) - exact).abs() < tolerance,
            "{label}: {found} {exact} σ {sigma}"
        );
    }
    for implementation in Implementation::available() {
        let other = compute(implementation, case, kernels);
        let name = implementation.name();
        for (a, b) in other.similarities.iter().zip(&portable.similarities) {
            assert!(
                (a - b).abs() < SIMILARITY_TOLERANCE,
                "{name} {label}: {a} {b}"
            );
        }
        for (i, (a, b)) in other.log_sums.iter().zip(&portable.log_sums).enumerate() {
            let tolerance = 1e-3 + SIMILARITY_TOLERANCE * 7.0 / kernels.sigma()[i % kernels.len()];
            assert!((a - b).abs() < tolerance, "{name} {label}: {a} {b}");
        }
    }
}

#[test]
fn every_width_and_the_lengths_around_tiles() {
    let mut random = Random::new(1);
    for bits in (32..=1024).step_by(if EMULATED { 224 } else { 32 }) {
        for tokens in [
            0, 1, 15, 16, 17, 63, 64, 65, 127, 129, 257, 511, 512, 513, 857,
        ] {
            let case = Case::random(&mut random, bits, 1, tokens);
            check(&case, &Kernels::paper());
            check(&case.relative(&mut random), &Kernels::paper());
        }
    }
}

#[test]
fn every_number_of_kernels() {
    let mut random = Random::new(2);
    for count in 1..=32 {
        let kernels = random_kernels(&mut random, count);
        let case = Case::random(&mut random, 256, 2, 90 + count);
        check(&case, &kernels);
    }
}

#[test]
fn documents_beyond_what_a_histogram_holds() {
    let mut random = Random::new(3);
    for (bits, tokens) in [(64, 10_000), (256, 10_000), (512, 10_000), (32, 17_000)] {
        let case = Case::random(&mut random, bits, 1, tokens);
        check(&case, &random_kernels(&mut random, 11));
        let case = case.relative(&mut random);
        check(&case, &random_kernels(&mut random, 11));
    }
    // All tokens in one bin.
    let mut case = Case::random(&mut random, 256, 1, 10_000);
    let first: Vec<u32> = case.document[..8].to_vec();
    case.document
        .chunks_mut(8)
        .for_each(|token| token.copy_from_slice(&first));
    check(&case, &Kernels::paper());
}

/// Footprints that a zero vector has, and their opposites: counts of 0 and of all bits.
#[test]
fn empty_and_full_footprints() {
    let mut random = Random::new(4);
    for bits in [32, 224, 256, 288, 1024] {
        for fill in [0, u32::MAX] {
            for (query_too, document_fill) in [(true, fill), (true, !fill), (false, fill)] {
                let mut case = Case::random(&mut random, bits, 1, 40);
                if query_too {
                    case.query[..bits / 32].fill(fill);
                }
                case.document[..20 * bits / 32].fill(document_fill);
                check(&case, &Kernels::paper());
            }
        }
    }
}

#[test]
fn one_narrow_kernel_among_wide_ones() {
    let kernels = Kernels::new(vec![1.0, 0.5, 0.0], vec![0.001, 0.1, 0.3], 1e-10).expect("valid");
    let mut random = Random::new(5);
    for _ in 0..20 {
        let mut case = Case::random(&mut random, 256, 1, 300);
        // A similarity near the narrow kernel's flank would test the rounding, not the kernel.
        case.terms = vec![vec![becr_footprint::GroupWeight {
            group: 0,
            weight: 1.0,
        }]];
        check(&case, &kernels);
    }
}

/// Documents of which most similarities lie close together, all along or not.
#[test]
fn windows_that_hold_and_windows_that_do_not() {
    let mut random = Random::new(6);
    for (bits, tokens) in [
        (64, 65),
        (96, 513),
        (256, 97),
        (256, 857),
        (256, 5_000),
        (128, 2_049),
    ] {
        for kind in 0..5 {
            let mut case = Case::random(&mut random, bits, 1, tokens);
            let near = case.query.clone();
            for (token, words) in case.document.chunks_exact_mut(bits / 32).enumerate() {
                for (word, near) in words.iter_mut().zip(&near) {
                    let (any, few) = (random.next() as u32, random.next() as u32);
                    let few = near ^ (any & few);
                    *word = match kind {
                        0 => any,
                        1 => {
                            if token < 512 {
                                any
                            } else {
                                few
                            }
                        }
                        2 => {
                            if token < 512 {
                                few
                            } else {
                                any
                            }
                        }
                        3 => {
                            if token % 50 == 0 {
                                any
                            } else {
                                0x5A3C_96E1
                            }
                        }
                        _ => {
                            if token < 512 {
                                any
                            } else {
                                0x5A3C_96E1 ^ (token as u32 % 3)
                            }
                        }
                    };
                }
            }
            check(&case, &Kernels::paper());
            check(
                &case.relative(&mut random),
                &random_kernels(&mut random, 17),
            );
        }
    }
}

#[test]
fn nothing_of_a_document_is_left_for_the_next() {
    let mut random = Random::new(5);
    let wide = Kernels::new(vec![-0.5, 0.0, 0.8], vec![0.5; 3], 1e-10).expect("valid");
    let mixed = Kernels::new(vec![0.9, 0.1], vec![0.09, 0.01], 1e-10).expect("valid");
    let narrow = Kernels::new(vec![1.0], vec![0.01], 1e-10).expect("valid");
    for implementation in Implementation::available() {
        let engine = Engine::with(implementation).expect("available");
        let mut work = Workspace::new();
        for tokens in [857, 0, 1, 64, 2000, 0, 63] {
            for kernels in [&Kernels::paper(), &wide, &mixed, &narrow] {
                let case = Case::random(&mut random, 256, 1, tokens);
                let (query, tiles) = (case.composite_query(), case.tiles());
                let document = case.footprints(&tiles);
                let pool = |work: &mut Workspace| {
                    let mut sums = vec![f32::NAN; case.terms.len() * kernels.len()];
                    engine
                        .log_sums(&query, kernels, &document, None, work, &mut sums)
                        .expect("comparable");
                    sums
                };
                assert_eq!(pool(&mut work), pool(&mut Workspace::new()), "{tokens}");
            }
        }
    }
}

/// AVX2 and NEON compute alike, digit by digit: an index answers the same on both.
#[test]
fn avx2_and_neon_agree_in_every_bit() {
    let mut random = Random::new(8);
    let mut cases = Vec::new();
    for (bits, tokens) in [
        (32, 40),
        (64, 300),
        (96, 700),
        (256, 857),
        (288, 100),
        (1024, 60),
    ] {
        let case = Case::random(&mut random, bits, 2, tokens);
        cases.push((case, Kernels::paper()));
        let case = Case::random(&mut random, bits, 1, tokens).relative(&mut random);
        cases.push((case, random_kernels(&mut random, 7)));
    }
    for implementation in [Implementation::Avx2, Implementation::Neon] {
        if !implementation.is_available() {
            continue;
        }
        let digests = cases.iter().map(|(case, kernels)| {
            let results = compute(implementation, case, kernels);
            let numbers = results.similarities.iter().chain(&results.log_sums);
            numbers.fold(0_u32, |sum, x| sum.rotate_left(5) ^ x.to_bits())
        });
        let digests: Vec<u32> = digests.collect();
        assert_eq!(digests, DIGESTS, "{}", implementation.name());
    }
}

/// What both compute.
const DIGESTS: [u32; 12] = [
    1328600304, 414081873, 1848784713, 1709881183, 982313045, 709352538, 1810948918, 2628752932,
    1607282507, 688755414, 3717793216, 2402002866,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if EMULATED { 8 } else { 200 }))]
    #[test]
    fn random_documents(
        words in 1_usize..=32,
        layers in 1_usize..4,
        tokens in 0_usize..1200,
        count in 1_usize..=32,
        seed in any::<u64>(),
    ) {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random, 32 * words, layers, tokens);
        let case = if layers == 1 { case.relative(&mut random) } else { case };
        check(&case, &random_kernels(&mut random, count));
    }
}
