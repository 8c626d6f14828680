use super::*;
use proptest::prelude::*;

fn planes(dim: usize, bits: usize, kind: HyperplaneKind) -> Hyperplanes {
    Hyperplanes::generate(dim, bits, kind, 11).expect("valid shape")
}

#[test]
fn unsupported_shapes_are_refused() {
    for bits in [0, 16, 33, 1056] {
        let error = Hyperplanes::generate(8, bits, HyperplaneKind::Gaussian, 0).unwrap_err();
        assert_eq!(error, Error::Bits { found: bits });
    }
    let error = Hyperplanes::generate(0, 32, HyperplaneKind::Gaussian, 0).unwrap_err();
    assert_eq!(error, Error::NoDimensions);
    let error = Hyperplanes::from_matrix(3, 32, vec![0.0; 95]).unwrap_err();
    assert!(
        error.to_string().contains("expected 96, found 95"),
        "{error}"
    );
    let planes = planes(3, 64, HyperplaneKind::Gaussian);
    assert!(planes.footprint(&[0.0; 4], &mut [0; 2]).is_err());
    assert!(planes.footprint(&[0.0; 3], &mut [0; 1]).is_err());
    assert!(pack_signs(&[0.0; 33], &mut [0; 1]).is_err());
}

#[test]
fn a_seed_gives_the_same_planes_and_another_seed_others() {
    let a = planes(24, 64, HyperplaneKind::Orthogonal);
    assert_eq!(a, planes(24, 64, HyperplaneKind::Orthogonal));
    let b = Hyperplanes::generate(24, 64, HyperplaneKind::Orthogonal, 12).expect("valid shape");
    assert_ne!(a, b);
}

#[test]
fn orthogonal_rows_are_orthonormal_within_a_block() {
    for (dim, bits) in [(48, 32), (24, 64), (1, 32)] {
        let planes = planes(dim, bits, HyperplaneKind::Orthogonal);
        let rows: Vec<&[f32]> = planes.matrix().chunks(dim).collect();
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate().filter(|(j, _)| j / dim == i / dim) {
                let product: f64 = a.iter().zip(*b).map(|(x, y)| f64::from(x * y)).sum();
                let expected = f64::from(u8::from(i == j));
                assert!(
                    (product - expected).abs() < 1e-5,
                    "rows {i} and {j}: {product}"
                );
            }
        }
    }
}

#[test]
fn zero_and_not_a_number_leave_bits_clear() {
    let planes = planes(5, 32, HyperplaneKind::Gaussian);
    let mut out = [u32::MAX];
    planes.footprint(&[0.0; 5], &mut out).expect("right shape");
    assert_eq!(out, [0]);
    planes
        .footprint(&[f32::NAN; 5], &mut out)
        .expect("right shape");
    assert_eq!(out, [0]);
}

/// The estimate must come closer to the cosine as the bits grow, and orthogonal planes beat Gaussian ones.
#[test]
fn hamming_distance_estimates_the_cosine() {
    let dim = 64;
    let mut generator = Gaussian::new(3);
    let vectors: Vec<Vec<f32>> = (0..60)
        .map(|_| (0..dim).map(|_| generator.sample() as f32).collect())
        .collect();
    let error = |kind, bits: usize| {
        let planes = planes(dim, bits, kind);
        let footprints: Vec<Vec<u32>> = vectors
            .iter()
            .map(|v| {
                let mut out = vec![0; bits / 32];
                planes.footprint(v, &mut out).expect("right shape");
                out
            })
            .collect();
        let (mut squares, mut pairs) = (0.0, 0.0);
        for i in 0..vectors.len() {
            for j in 0..i {
                let h: u32 = std::iter::zip(&footprints[i], &footprints[j])
                    .map(|(a, b)| (a ^ b).count_ones())
                    .sum();
                let norms = dot(&vectors[i], &vectors[i]) * dot(&vectors[j], &vectors[j]);
                let cosine = dot(&vectors[i], &vectors[j]) / norms.sqrt();
                let estimate = (std::f32::consts::PI * h as f32 / bits as f32).cos();
                squares += f64::from((cosine - estimate).powi(2));
                pairs += 1.0;
            }
        }
        (squares / pairs).sqrt()
    };
    let (coarse, fine) = (
        error(HyperplaneKind::Gaussian, 64),
        error(HyperplaneKind::Gaussian, 512),
    );
    let orthogonal = error(HyperplaneKind::Orthogonal, 512);
    assert!(fine < 0.5 * coarse && fine < 0.1, "{fine} {coarse}");
    assert!(orthogonal < 0.9 * fine, "{orthogonal} {fine}");
}

proptest! {
    /// Projecting with a matrix product of one's own and packing gives the same bits as `footprint`.
    #[test]
    fn packing_projections_equals_footprint(
        vectors in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 40), 1..5),
    ) {
        let planes = planes(40, 96, HyperplaneKind::Gaussian);
        let projections: Vec<f32> = vectors
            .iter()
            .flat_map(|v| planes.matrix().chunks(40).map(|row| dot(row, v)))
            .collect();
        let mut packed = vec![0; 3 * vectors.len()];
        pack_signs(&projections, &mut packed).expect("right shape");
        for (vector, expected) in vectors.iter().zip(packed.chunks(3)) {
            let mut out = [0; 3];
            planes.footprint(vector, &mut out).expect("right shape");
            prop_assert_eq!(&out[..], expected);
            for (i, row) in planes.matrix().chunks(40).enumerate() {
                let bit = (out[i / 32] >> (i % 32)) & 1;
                prop_assert_eq!(bit == 1, dot(row, vector) > 0.0);
            }
        }
    }
}
