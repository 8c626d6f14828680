use becr_encoder::*;
use std::time::Instant;
fn main() {
    let arg: Vec<String> = std::env::args().collect();
    let (config, weights) = if arg[1] == "base" {
        let c = becr_model::Config::new(30522, 768, 12, 12, 3072, 512);
        let w = becr_model::Weights::random(&c, 1, 1.0);
        (c, w)
    } else {
        let m = becr_model::Model::read(&arg[1]).unwrap();
        (m.config, m.weights)
    };
    let threads: usize = arg[2].parse().unwrap();
    let n: usize = arg[3].parse().unwrap();
    let len: u32 = arg[4].parse().unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let e = NativeEncoder::new(&config, weights).unwrap();
    let batch = Batch::from_iter((0..n as u32).map(|i| {
        (0..len)
            .map(move |j| 1000 + (i * 977 + j * 31) % 20000)
            .collect::<Vec<_>>()
    }));
    let mut best = f64::MAX;
    for _ in 0..arg[5].parse().unwrap() {
        let t = Instant::now();
        let h = pool.install(|| e.hidden_states(&batch).unwrap());
        std::hint::black_box(&h);
        best = best.min(t.elapsed().as_secs_f64());
    }
    eprintln!(
        "{} {} threads: {:.3}s {:.0} tok/s, per cpu s {:.0}",
        e.simd(),
        threads,
        best,
        batch.tokens() as f64 / best,
        batch.tokens() as f64 / best / threads as f64
    );
}
