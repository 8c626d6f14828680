use super::*;
use proptest::prelude::*;

fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// erf by its Taylor series, in double precision.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

proptest! {
    #[test]
    fn products_agree_with_plain_loops(rows in 1usize..40, inner in 1usize..70, cols in 1usize..80, seed: u64) {
        let (stride, out_stride) = (inner + 3, cols + 5);
        let a = numbers(rows * stride, seed);
        let b = numbers(inner * cols, seed ^ 1);
        let bias = numbers(cols, seed ^ 2);
        let scale = numbers(rows, seed ^ 3);
        for simd in Simd::available() {
            let panels = Panels::from_columns(simd, inner, b.chunks_exact(inner)).with_bias(&bias);
            let mut by_rows = Panels::default();
            let transposed: Vec<f32> = (0..inner * cols).map(|i| b[i % cols * inner + i / cols]).collect();
            by_rows.set_rows(simd, cols, transposed.chunks_exact(cols));
            prop_assert_eq!(&panels.data()[..inner * cols], &by_rows.data()[..inner * cols]);
            let mut out = vec![7.0; rows * out_stride];
            let finish = Finish { row_scale: Some(&scale), gelu: false };
            simd.product(rows, (&a, stride), &panels, (&mut out, out_stride), finish);
            for i in 0..rows {
                for j in 0..cols {
                    let dot: f64 = (0..inner).map(|k| f64::from(a[i * stride + k]) * f64::from(b[j * inner + k])).sum();
                    let expected = (dot + f64::from(bias[j])) * f64::from(scale[i]);
                    prop_assert!((expected - f64::from(out[i * out_stride + j])).abs() < 1e-5);
                }
                prop_assert!(out[i * out_stride + cols..(i + 1) * out_stride].iter().all(|&x| x == 7.0));
            }
        }
    }

    #[test]
    fn a_row_of_a_product_does_not_depend_on_its_neighbours(rows in 1usize..30, seed: u64) {
        let (inner, cols) = (37, 45);
        let a = numbers(rows * inner, seed);
        for simd in Simd::available() {
            let panels = Panels::from_columns(simd, inner, numbers(inner * cols, 5).chunks_exact(inner));
            let mut all = vec![0.0; rows * cols];
            simd.product(rows, (&a, inner), &panels, (&mut all, cols), Finish::default());
            for (a, together) in a.chunks_exact(inner).zip(all.chunks_exact(cols)) {
                let mut alone = vec![0.0; cols];
                simd.product(1, (a, inner), &panels, (&mut alone, cols), Finish::default());
                prop_assert_eq!(&alone, together);
            }
        }
    }

    #[test]
    fn byte_products_are_exact(rows in 1usize..40, inner in 1usize..150, cols in 1usize..80, seed: u64) {
        let (stride, out_stride) = (inner + 3, cols + 5);
        let a = numbers(rows * stride, seed);
        let b = numbers(inner * cols, seed ^ 1);
        let bias = numbers(cols, seed ^ 2);
        let panels = BytePanels::from_columns(inner, b.chunks_exact(inner), &bias);
        for simd in Simd::available() {
            let mut bytes = ByteRows::default();
            bytes.set(simd, rows, inner, (&a, stride));
            let mut first: Option<Vec<f32>> = None;
            for int8 in Int8::available(simd) {
                let mut out = vec![7.0; rows * out_stride];
                int8.product(&bytes, &panels, (&mut out, out_stride), false);
                for i in 0..rows {
                    let (row, scale, lowest) = bytes.row(i);
                    for j in 0..cols {
                        let (column, column_scale) = panels.column(j);
                        let sum: i64 = row.iter().zip(&column).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
                        let total: i64 = column.iter().map(|&b| i64::from(b)).sum();
                        let expected = f64::from(column_scale) * (f64::from(scale) * sum as f64 + f64::from(lowest) * total as f64)
                            + f64::from(bias[j]);
                        // A sum that is wrong by one would be off by this.
                        let step = f64::from(column_scale) * f64::from(scale);
                        let found = f64::from(out[i * out_stride + j]);
                        prop_assert!((expected - found).abs() < 0.4 * step + 1e-6, "{int8:?}: {found}, expected {expected}");
                    }
                    prop_assert!(out[i * out_stride + cols..(i + 1) * out_stride].iter().all(|&x| x == 7.0));
                }
                // Implementations with floats of one width agree in every bit.
                if int8.width() == simd.panel() / 2 {
                    prop_assert_eq!(first.get_or_insert_with(|| out.clone()), &out);
                }
            }
        }
    }

    #[test]
    fn quantised_rows_are_half_a_step_away_at_most(len in 1usize..150, seed: u64, spread in 1e-3f32..1e3) {
        let row: Vec<f32> = numbers(len, seed).into_iter().map(|x| spread * x + 0.3).collect();
        for simd in Simd::available() {
            let mut bytes = ByteRows::default();
            bytes.set(simd, 1, len, (&row, len));
            let (found, scale, lowest) = bytes.row(0);
            for (&x, &byte) in row.iter().zip(found) {
                prop_assert!((x - (f32::from(byte) * scale + lowest)).abs() <= 0.51 * scale + 1e-6);
            }
        }
    }

    #[test]
    fn softmax_sums_to_one(len in 1usize..70, seed: u64, spread in 0.1f32..60.0) {
        let stride = len.next_multiple_of(16);
        let scores: Vec<f32> = numbers(2 * stride, seed).into_iter().map(|x| spread * x).collect();
        for simd in Simd::available() {
            let (mut out, mut inverse) = (scores.clone(), [0.0; 2]);
            simd.softmax(&mut out, stride, len, &mut inverse);
            for row in 0..2 {
                let scores = &scores[row * stride..][..len];
                let largest = scores.iter().fold(f32::MIN, |a, &b| a.max(b));
                let sum: f64 = scores.iter().map(|&x| f64::from(x - largest).exp()).sum();
                for (i, &x) in scores.iter().enumerate() {
                    let expected = f64::from(x - largest).exp() / sum;
                    prop_assert!((f64::from(out[row * stride + i] * inverse[row]) - expected).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn norms_agree_with_plain_loops(len in 1usize..70, seed: u64) {
        let (x, y) = (numbers(2 * len, seed), numbers(2 * (len + 2), seed ^ 1));
        let norm = becr_model::LayerNorm { weight: numbers(len, seed ^ 2), bias: numbers(len, seed ^ 3) };
        for simd in Simd::available() {
            let mut out = x.clone();
            simd.add_norm(&mut out, (&y, len + 2), &norm, 1e-3);
            for row in 0..2 {
                let sum = |i: usize| f64::from(x[row * len + i]) + f64::from(y[row * (len + 2) + i]);
                let mean = (0..len).map(sum).sum::<f64>() / len as f64;
                let variance = (0..len).map(|i| (sum(i) - mean).powi(2)).sum::<f64>() / len as f64;
                for i in 0..len {
                    let unit = (sum(i) - mean) / (variance + 1e-3).sqrt();
                    let expected = unit * f64::from(norm.weight[i]) + f64::from(norm.bias[i]);
                    prop_assert!((f64::from(out[row * len + i]) - expected).abs() < 1e-5);
                }
            }
        }
    }
}

#[test]
fn gelu_is_the_exact_one() {
    let xs: Vec<f32> = (-8000..8000)
        .map(|i| i as f32 / 1000.0)
        .chain([0.0, -0.0, 1e-30, -50.0, 50.0])
        .collect();
    for simd in Simd::available() {
        // A product with the 1 × 1 matrix 1 applies GELU to every row.
        let panels = Panels::from_columns(simd, 1, [1.0f32].chunks(1));
        let mut out = vec![0.0; xs.len()];
        let finish = Finish {
            gelu: true,
            ..Finish::default()
        };
        simd.product(xs.len(), (&xs, 1), &panels, (&mut out, 1), finish);
        for (&x, &y) in xs.iter().zip(&out) {
            let x = f64::from(x);
            let expected = if x.abs() < 6.0 {
                0.5 * x * (1.0 + erf(x / 2f64.sqrt()))
            } else {
                x.max(0.0)
            };
            assert!(
                (f64::from(y) - expected).abs() < 1e-6,
                "{x}: {y}, expected {expected}"
            );
        }
    }
}

#[test]
fn the_first_choice_is_the_widest() {
    let available = Simd::available();
    assert_eq!(available.last(), Some(&Simd::Portable));
    assert!(available.is_sorted_by_key(|simd| std::cmp::Reverse(simd.panel())));
}

#[test]
fn extreme_bytes_do_not_saturate() {
    // Rows of the lowest and the highest byte, columns of the largest weights: 255 · 127 twice in a pair of bytes.
    let inner = 1536;
    let a: Vec<f32> = (0..2 * inner)
        .map(|i| if i % inner == 0 { 0.0 } else { 255.0 })
        .collect();
    let b: Vec<f32> = [vec![127.0; inner], vec![-127.0; inner]].concat();
    let panels = BytePanels::from_columns(inner, b.chunks_exact(inner), &[0.0; 2]);
    let expected = 255.0 * 127.0 * (inner - 1) as f32;
    for simd in Simd::available() {
        let mut bytes = ByteRows::default();
        bytes.set(simd, 2, inner, (&a, inner));
        for int8 in Int8::available(simd) {
            let mut out = [0.0; 4];
            int8.product(&bytes, &panels, (&mut out, 2), false);
            assert_eq!(out, [expected, -expected, expected, -expected], "{int8:?}");
        }
    }
}

#[test]
fn a_row_of_equal_values_is_kept() {
    for simd in Simd::available() {
        let mut bytes = ByteRows::default();
        bytes.set(simd, 1, 5, (&[0.25; 5], 5));
        assert_eq!(bytes.row(0), (&[0u8; 5][..], 0.0, 0.25));
    }
}

#[test]
fn weights_that_are_int8_already_stay_as_they_are() {
    let integers: Vec<i8> = (0..64)
        .map(|i| (i * 37 % 255 - 127) as i8)
        .chain([127])
        .collect();
    let scale = 0.003_141_6_f32;
    let column: Vec<f32> = integers.iter().map(|&i| f32::from(i) * scale).collect();
    let panels = BytePanels::from_columns(65, column.chunks_exact(65), &[0.0]);
    assert_eq!(panels.column(0).0, integers);
}
