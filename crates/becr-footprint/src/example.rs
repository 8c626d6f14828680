//! The worked example of `docs/engine.md`: computes its numbers, stage by stage, with the crate's own parts, and checks
//! that the document shows them and that every implementation arrives at them.

use crate::prepared::Triple;
use crate::tile::ROW;
use crate::{
    CompositeQuery, DocumentLayout, DocumentTokens, Engine, GroupWeight, Implementation, Kernels,
    TiledDocument, Workspace,
};
use std::fmt::Write;

const BITS: usize = 32;
const GROUPS: [u32; 3] = [0x6B1D_93A4, 0x2E9D_13B4, 0xC475_0F3A];
const TOKENS: [u32; 16] = [
    0x9F76_7C45,
    0x4164_D839,
    0xBDE5_C099,
    0x0EDD_13B6,
    0x7B0D_138E,
    0x5F2D_D97F,
    0x7814_E8A2,
    0xDE52_7100,
    0x3F1F_65A8,
    0x6179_59CE,
    0xC475_AF7B,
    0x687C_966C,
    0xD162_6B89,
    0x8A0A_8C96,
    0xE049_548E,
    0xAD86_4C44,
];
/// Opposite classes, as the engine subtracts them.
const PAIRS: [[usize; 2]; 4] = [[0, 7], [1, 6], [2, 5], [4, 3]];
/// The kernel that is followed through pooling: μ = 0.1, σ = 0.1.
const KERNEL: usize = 5;

fn terms() -> Vec<Vec<GroupWeight>> {
    let used = |group, weight| GroupWeight { group, weight };
    vec![vec![used(0, 0.2), used(1, 0.8)], vec![used(2, 1.0)]]
}

/// Checks that the document has a block of text, and says what it should be if it has not.
fn check(block: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine.md");
    let document = std::fs::read_to_string(path).expect("docs/engine.md is there");
    assert!(
        document.contains(block),
        "docs/engine.md does not have these lines:\n\n{block}"
    );
}

fn tiles() -> (DocumentLayout, Vec<u8>) {
    let layout = DocumentLayout::new(1, 16, BITS).expect("valid shape");
    let mut tiles = vec![0; layout.bytes()];
    layout.tile(&TOKENS, &mut tiles).expect("right lengths");
    (layout, tiles)
}

/// Row `i` of the tile: bit `t` is bit `i` of token `t`.
fn row(tiles: &[u8], i: usize) -> u16 {
    u16::from_le_bytes([tiles[2 * i], tiles[2 * i + 1]])
}

/// The bits of sixteen tokens, token 0 first.
fn bits(row: u16) -> String {
    let row = format!("{:016b}", row.reverse_bits());
    format!(
        "{} {} {} {}",
        &row[..4],
        &row[4..8],
        &row[8..12],
        &row[12..]
    )
}

/// The rows of each class.
fn classes() -> [Vec<usize>; 8] {
    let triple = Triple::new(GROUPS.each_ref().map(std::slice::from_ref));
    std::array::from_fn(|class| {
        let places = triple.class(&triple.places, class);
        places.iter().map(|&p| usize::from(p) / ROW).collect()
    })
}

fn distance(token: usize, group: usize) -> u32 {
    (TOKENS[token] ^ GROUPS[group]).count_ones()
}

/// The similarity of a token to the first term, in units of 2⁻¹⁵: each weighted cosine, and their sum.
fn similarity(token: usize) -> [i32; 3] {
    let cosine = |group: usize, weight: f64| {
        let angle = std::f64::consts::PI * f64::from(distance(token, group)) / BITS as f64;
        (32768.0 * weight * angle.cos()).round() as i32
    };
    let (a, b) = (cosine(0, 0.2), cosine(1, 0.8));
    [a, b, a + b]
}

fn kernel(similarity: i32) -> f64 {
    (-0.5 * ((f64::from(similarity) / 32768.0 - 0.1) / 0.1).powi(2)).exp()
}

#[test]
fn footprints() {
    for (group, footprint) in ["q₀", "q₁", "q₂"].into_iter().zip(GROUPS) {
        check(&format!("| {group} | `{footprint:08X}` |"));
    }
    for tokens in TOKENS.chunks(8) {
        let tokens: Vec<String> = tokens.iter().map(|t| format!("{t:08X}")).collect();
        check(&(tokens.join(" ") + "\n"));
    }
    let [a, b, c] = GROUPS.map(u32::count_ones);
    check(&format!("({a}, {b} and {c} in ours)"));
}

#[test]
fn rows_of_the_tile() {
    let (_, tiles) = tiles();
    let mut text = String::new();
    for i in [0, 1, 2, 31] {
        let row = row(&tiles, i);
        let [low, high] = row.to_le_bytes();
        writeln!(
            text,
            "row {i:>2}   {}   bytes {low:02X} {high:02X}",
            bits(row)
        )
        .unwrap();
        for (t, token) in TOKENS.iter().enumerate() {
            assert_eq!(u32::from(row >> t & 1), token >> i & 1);
        }
    }
    check(&text);
}

#[test]
fn classes_of_rows() {
    let mut text = String::new();
    for (class, rows) in classes().iter().enumerate() {
        let set = [0, 1, 2].map(|q| if class >> q & 1 == 1 { "set" } else { "–" });
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let [a, b, c] = set;
        writeln!(text, "| {class} | {a} | {b} | {c} | {} |", rows.join(", ")).unwrap();
    }
    check(&text);
}

#[test]
fn a_full_adder() {
    let (_, tiles) = tiles();
    let rows: Vec<usize> = classes()[0][..3].to_vec();
    let [a, b, c] = [0, 1, 2].map(|i| row(&tiles, rows[i]));
    let (ones, twos) = (a ^ b ^ c, a & b | a & c | b & c);
    let mut text = String::new();
    for (name, row) in [
        (format!("row {}", rows[0]), a),
        (format!("row {}", rows[1]), b),
        (format!("row {}", rows[2]), c),
        ("ones".into(), ones),
        ("twos".into(), twos),
    ] {
        writeln!(text, "{name:<7} {}", bits(row)).unwrap();
    }
    check(&text);
}

#[test]
fn counts_and_distances() {
    let (_, tiles) = tiles();
    let classes = classes();
    let set = GROUPS.map(|q| q.count_ones() as i32);
    let mut text = String::new();
    for t in [0, 1, 3, 12] {
        let count = |class: usize| {
            let ones = |&i: &usize| i32::from(row(&tiles, i) >> t & 1);
            classes[class].iter().map(ones).sum::<i32>()
        };
        let [a, b, c, d] = PAIRS.map(|[one, other]| count(one) - count(other));
        let distances = [
            set[0] + a - b + c + d,
            set[1] + a + b - c + d,
            set[2] + a + b + c - d,
        ];
        assert_eq!(
            distances.map(|h| h as u32),
            [0, 1, 2].map(|q| distance(t, q))
        );
        let pairs = PAIRS.map(|[one, other]| format!("{} − {}", count(one), count(other)));
        let [h0, h1, h2] = distances;
        writeln!(
            text,
            "| {t} | {} | {a}, {b}, {c}, {d} | {h0}, {h1}, {h2} |",
            pairs.join(", ")
        )
        .unwrap();
    }
    check(&text);
}

#[test]
fn similarities() {
    let mut text = String::new();
    for t in 0..16 {
        let [a, b, sum] = similarity(t);
        let [x, bin] = (sum as i16).to_le_bytes();
        let (h0, h1) = (distance(t, 0), distance(t, 1));
        let real = f64::from(sum) / 32768.0;
        writeln!(
            text,
            "| {t} | {h0}, {h1} | {a} | {b} | {sum} | {real:.3} | {} | {x} |",
            bin as i8
        )
        .unwrap();
    }
    check(&text);
}

#[test]
fn a_histogram_and_a_kernel() {
    let kernels = Kernels::paper();
    let mut bins = std::collections::BTreeMap::<i8, [i32; 3]>::new();
    for t in 0..16 {
        let [x, bin] = (similarity(t)[2] as i16).to_le_bytes();
        let of_bin = bins.entry(bin as i8).or_default();
        let x = i32::from(x);
        *of_bin = [of_bin[0] + 1, of_bin[1] + x, of_bin[2] + x * x];
    }
    let (mut text, mut total) = (String::new(), 0.0);
    for (bin, [count, sum, squares]) in bins {
        let (chunk, lane) = (usize::from(bin as u8) / 16, usize::from(bin as u8) % 16);
        let p = &kernels.parabolas(chunk)[KERNEL];
        let [a, b, c] = [p.a[lane], p.b[lane], p.c[lane]].map(f64::from);
        let kernel = a * f64::from(count) + b * f64::from(sum) + c * f64::from(squares);
        total += kernel;
        if kernel > 0.3 {
            writeln!(
                text,
                "| {bin} | {count} | {sum} | {squares} | {a:.4} + {:.4}·x/256 {:+.4}·(x/256)² | {kernel:.4} |",
                256.0 * b,
                65536.0 * c
            )
            .unwrap();
        }
    }
    check(&text);
    let exact: f64 = (0..16).map(|t| kernel(similarity(t)[2])).sum();
    check(&format!(
        "{total:.4} by parabolas, {exact:.4} by exponentials"
    ));
    check(&format!("ln {total:.4} = {:.4}", total.ln()));
    assert!((total - exact).abs() < 1e-3);
}

#[test]
fn moments_of_a_window() {
    let kernels = Kernels::paper();
    // The engine takes its bounds from the first tile; here they are given, so that some tokens lie outside.
    let window = kernels.windows().around([-5300, 4500]).expect("allowed");
    let unit = f64::from(1 << 29) / (f64::from(window.factor) * f64::from(1 << window.shift));
    let (mut powers, mut outside) = (vec![0.0; window.degree + 1], Vec::new());
    for t in 0..16 {
        let c = similarity(t)[2];
        let from_centre = c - i32::from(window.centre);
        if from_centre.unsigned_abs() > u32::from(window.radius) {
            outside.push(c);
            continue;
        }
        let x = f64::from(from_centre) / unit;
        for (power, sum) in powers.iter_mut().enumerate() {
            *sum += x.powi(power as i32);
        }
    }
    let rows = &kernels.windows().polynomials(window).rows()[0];
    let coefficient = |power: usize| {
        let scale = if power == 0 { 1.0 } else { f64::from(1 << 24) };
        scale * f64::from(rows[power].0[KERNEL])
    };
    let inside: f64 = powers
        .iter()
        .enumerate()
        .map(|(p, sum)| coefficient(p) * sum)
        .sum();
    let alone: f64 = outside.iter().map(|&c| kernel(c)).sum();
    let mut text = String::new();
    for (power, sum) in powers.iter().enumerate().take(4) {
        writeln!(text, "| {power} | {:.4} | {:.4} |", sum, coefficient(power)).unwrap();
    }
    check(&text);
    check(&format!(
        "centre {}, radius {}, degree {}",
        window.centre, window.radius, window.degree
    ));
    check(&format!(
        "{inside:.4} inside and {alone:.4} outside, {:.4} together",
        inside + alone
    ));
    let exact: f64 = (0..16).map(|t| kernel(similarity(t)[2])).sum();
    assert!((inside + alone - exact).abs() < 2e-3);
}

#[test]
fn every_implementation_arrives_there() {
    let (layout, tiles) = tiles();
    let document =
        DocumentTokens::Footprints(TiledDocument::new(layout, &tiles).expect("right length"));
    let query = CompositeQuery::from_footprints(BITS, 1, &GROUPS, terms()).expect("valid query");
    let kernels = Kernels::paper();
    let exact: f64 = (0..16).map(|t| kernel(similarity(t)[2])).sum();
    for implementation in Implementation::available() {
        let engine = Engine::with(implementation).expect("available");
        let mut work = Workspace::new();
        let (mut similarities, mut sums) = ([0.0; 32], [0.0; 22]);
        engine
            .similarities(&query, &document, &mut work, &mut similarities)
            .expect("comparable");
        engine
            .log_sums(&query, &kernels, &document, None, &mut work, &mut sums)
            .expect("comparable");
        let name = implementation.name();
        for (t, similar) in similarities[..16].iter().enumerate() {
            let units = similar * 32768.0;
            let off = (units - similarity(t)[2] as f32).abs();
            assert!(off <= 3.0, "{name}, token {t}: {units}");
        }
        let off = (f64::from(sums[KERNEL]) - exact.ln()).abs();
        assert!(off < 2e-3, "{name}: {}", sums[KERNEL]);
    }
}
