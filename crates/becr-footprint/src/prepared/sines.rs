//! Weighted cosines as polynomials in 16-bit numbers: what AVX2 and NEON work with.

/// `weight · cos(π·h/b)` as an odd polynomial of `t = (h − b/2) / (b/2)`, in units of 2⁻¹⁵: it is
/// `−weight · sin(π/2 · t) = t · (c₁ + t²·(c₃ + t²·(c₅ + t²·c₇)))`.
#[derive(Debug, Clone)]
#[repr(C, align(32))]
pub(crate) struct WeightedSine {
    /// `8·c₇`, `4·c₅`, `2·c₃` and `c₁`, as often as a register takes them: made for `t²/2`, which is what the upper half
    /// of a product of 16-bit numbers is. Where these would not fit, `c₇`, `c₅`, `c₃` and `c₁ − lift`, made for `t²`.
    pub(crate) coefficients: [[i16; 16]; 4],
    /// What `c₁` was brought below 1 by: −1, 0 or 1.
    pub(crate) lift: i16,
    /// The term that uses the group.
    pub(crate) term: usize,
}

/// What is added to `c₁` in each of the 16 lanes of a register before it is rounded down: ½ on average of any few
/// neighbours, and [`SPREAD`] units from the least to the most.
///
/// The last product of the polynomial is rounded, and with the same coefficients in all lanes every token at some
/// distance would be rounded the same way, whose errors shift the sums of some kernels for all documents alike. With
/// different coefficients they are rounded differently from lane to lane, and right on average.
const SHARES: [f64; 16] = {
    let mut shares = [0.0; 16];
    let mut i = 0_u8;
    while i < 16 {
        let place = ((i.reverse_bits() >> 4) as f64 + 0.5) / 16.0;
        shares[i as usize] = 0.5 + SPREAD * (place - 0.5);
        i += 1;
    }
    shares
};

/// With more the errors of roundings cancel out better in kernels that see many tokens, and single cosines err more, which
/// kernels that see few tokens show. On the reference work all scores stay within a thousandth of their spread from 4 to 6;
/// with 1 those of two words were off by 1.3 thousandths, with 8 those of five words by 1.05.
const SPREAD: f64 = 4.5;

impl WeightedSine {
    /// Of a use of a group by a term.
    pub(super) fn new(weight: f64, term: usize) -> Self {
        // Through sin(π/2 · t) / t at Chebyshev nodes in t²: within 2e-6.
        const SINE: [f64; 4] = [-0.004_370_586, 0.079_500_01, -0.645_925_7, 1.570_795];
        let [c7, c5, c3, c1] = SINE.map(|c| -weight * c);
        let lift = if c1.abs() < 0.999 { 0.0 } else { c1.signum() };
        let scales = if lift == 0.0 {
            [8.0, 4.0, 2.0, 1.0]
        } else {
            [1.0; 4]
        };
        // What c₁ loses in a lane goes to the next coefficient, and so on: at `t = ±1`, where all of them count, little is
        // lost.
        let mut coefficients = [[0; 16]; 4];
        for lane in 0..16 {
            let (mut lost, mut share) = (0.0, SHARES[lane]);
            for (i, c) in [(3, c1 - lift), (2, c3), (1, c5), (0, c7)] {
                let wanted = 32768.0 * c + lost;
                let rounded = (wanted * scales[i] + share).floor();
                coefficients[i][lane] = rounded as i16;
                lost = wanted - rounded / scales[i];
                share = 0.5;
            }
        }
        Self {
            coefficients,
            lift: lift as i16,
            term,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the implementations make of `k = h − 128`, in a lane, with 256 bits: in units of 2⁻¹⁵.
    fn computed(sine: &WeightedSine, k: i32, lane: usize) -> i32 {
        let multiply = |a: i32, b: i32| (((a * b) >> 14) + 1) >> 1;
        let [c7, c5, c3, c1] = sine.coefficients.map(|c| i32::from(c[lane]));
        let t = (256 * k).min(32767);
        let half = (t * t) >> 16;
        let square = if sine.lift == 0 {
            half
        } else {
            (2 * half).min(32767)
        };
        let p = multiply(square, c7) + c5;
        let p = multiply(square, p) + c3;
        let p = multiply(square, p) + c1;
        assert!(i16::try_from(p).is_ok());
        multiply(t, p) + i32::from(sine.lift) * t
    }

    #[test]
    fn polynomials_follow_the_cosine_and_err_to_no_side() {
        for weight in [1.0, -1.0, 0.8, 0.64, 0.63, -0.5, 1.0 / 3.0, 0.2, 0.01] {
            let sine = WeightedSine::new(weight, 0);
            let mut outward = 0.0;
            for (k, lane) in (-128..=127).flat_map(|k| (0..16).map(move |lane| (k, lane))) {
                let angle = std::f64::consts::PI * f64::from(k + 128) / 256.0;
                let error = f64::from(computed(&sine, k, lane)) - 32768.0 * weight * angle.cos();
                assert!(error.abs() < 2.0, "{weight} {k}: {error}");
                if (-50..=50).contains(&k) {
                    outward += error * f64::from(k.signum());
                }
            }
            // A twentieth of a unit, on average of the distances that most tokens have.
            assert!((outward / 1600.0).abs() < 0.05, "{weight}: {outward}");
        }
    }
}
