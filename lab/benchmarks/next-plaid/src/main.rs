//! MaxSim of the public crate next-plaid on the work of the paper's RQ2: a query of 32 vectors and 150 documents of 857 vectors of 128
//! numbers, as ColBERT has them. The documents are picked anew each time out of 1,200, which no cache holds. One thread: a call scores one
//! document, and ndarray's own matrix product has no others. Prints a row as `becr-lab bench baselines --json` writes them, for `becr-lab tables`:
//!
//! ```text
//! cargo run --release --manifest-path benchmarks/next-plaid/Cargo.toml > kept/times-next-plaid.json
//! ```

use ndarray::{Array2, ArrayView2};
use next_plaid::maxsim::maxsim_score;
use std::hint::black_box;
use std::time::Instant;

const DOCUMENTS: usize = 150;
const TOKENS: usize = 857;
const STORE: usize = 1200;
const QUERY: usize = 32;
const DIM: usize = 128;
const REPETITIONS: usize = 21;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn vectors(&mut self, count: usize) -> Array2<f32> {
        Array2::from_shape_fn((count, DIM), |_| {
            (self.next() >> 40) as f32 / (1 << 24) as f32 - 0.5
        })
    }
}

fn main() {
    let mut random = Random(1);
    let store = random.vectors(STORE * TOKENS);
    let query = random.vectors(QUERY);
    let mut times = Vec::new();
    for _ in 0..REPETITIONS {
        let picked: Vec<usize> = (0..DOCUMENTS)
            .map(|_| random.next() as usize % STORE)
            .collect();
        let begun = Instant::now();
        for document in picked {
            let rows = document * TOKENS..(document + 1) * TOKENS;
            let document: ArrayView2<f32> = store.slice(ndarray::s![rows, ..]);
            black_box(maxsim_score(&query.view(), &document));
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    // The first warms up.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    let ms = times[times.len() / 4];
    let row = |n: usize| {
        format!(
            r#"{{"model": "MaxSim alone", "implementation": "next-plaid 1.8.5", "device": "cpu", "n": {n}, "documents": {DOCUMENTS}, "tokens": {TOKENS}, "ms": {ms}}}"#
        )
    };
    // A query has 32 vectors, whatever its words.
    println!(
        "{{\"cpu\": null, \"rows\": [\n  {},\n  {}\n]}}",
        row(3),
        row(5)
    );
}
