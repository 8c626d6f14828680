//! Pooling by moments with AVX-512: 32 tokens per register.

use super::drain::add_lanes;
use crate::Kernels;
use crate::kernels::{LANES, Sixteen};
use crate::moments::{DEGREE, HIGHEST_POWER, Moments, PerKernel, TERMS, Window};
use crate::tile::MAX_WIDTH;
use std::arch::x86_64::*;

/// Tokens in a register.
const TOKENS: usize = 32;

/// Bounds that a few similarities lie outside of, on either side: the tokens are dealt out to four shares, and the bounds
/// are the highest of the four lowest similarities and the lowest of the four highest.
///
/// # Safety
///
/// The CPU has AVX-512 F, BW and VL; there are at least 32 tokens.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn bounds(similarities: &[i16; MAX_WIDTH], tokens: usize) -> [i16; 2] {
    let mut low = _mm512_set1_epi16(i16::MAX);
    let mut high = _mm512_set1_epi16(i16::MIN);
    for block in similarities[..tokens].as_chunks::<TOKENS>().0 {
        // SAFETY: a block is a register.
        let c = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        low = _mm512_min_epi16(low, c);
        high = _mm512_max_epi16(high, c);
    }
    let low = _mm256_min_epi16(
        _mm512_castsi512_si256(low),
        _mm512_extracti64x4_epi64::<1>(low),
    );
    let high = _mm256_max_epi16(
        _mm512_castsi512_si256(high),
        _mm512_extracti64x4_epi64::<1>(high),
    );
    let low = _mm_min_epi16(
        _mm256_castsi256_si128(low),
        _mm256_extracti128_si256::<1>(low),
    );
    let high = _mm_max_epi16(
        _mm256_castsi256_si128(high),
        _mm256_extracti128_si256::<1>(high),
    );
    // Minimum and maximum of each of four shares; then the highest minimum and the lowest maximum.
    let low = _mm_min_epi16(low, _mm_unpackhi_epi64(low, low));
    let high = _mm_max_epi16(high, _mm_unpackhi_epi64(high, high));
    let low = _mm_max_epi16(low, _mm_shufflelo_epi16::<0b01_00_11_10>(low));
    let high = _mm_min_epi16(high, _mm_shufflelo_epi16::<0b01_00_11_10>(high));
    let low = _mm_max_epi16(low, _mm_shufflelo_epi16::<0b10_11_00_01>(low));
    let high = _mm_min_epi16(high, _mm_shufflelo_epi16::<0b10_11_00_01>(high));
    [
        _mm_extract_epi16::<0>(low) as i16,
        _mm_extract_epi16::<0>(high) as i16,
    ]
}

/// Adds the first `tokens` similarities and calls `meanwhile` every 32 tokens.
///
/// # Safety
///
/// The CPU has AVX-512 F, BW, VBMI2, VNNI and POPCNT; the moments are not full.
#[inline(always)]
pub(super) unsafe fn add(
    similarities: &[i16; MAX_WIDTH],
    tokens: usize,
    window: Window,
    moments: &mut Moments,
    meanwhile: impl FnMut(),
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        match window.degree {
            10 => add_powers::<10>(similarities, tokens, window, moments, meanwhile),
            12 => add_powers::<12>(similarities, tokens, window, moments, meanwhile),
            _ => add_powers::<DEGREE>(similarities, tokens, window, moments, meanwhile),
        }
    }
}

/// As [`add`], up to a degree, which is even.
///
/// # Safety
///
/// As for [`add`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx512vnni,popcnt")]
unsafe fn add_powers<const N: usize>(
    similarities: &[i16; MAX_WIDTH],
    tokens: usize,
    window: Window,
    moments: &mut Moments,
    mut meanwhile: impl FnMut(),
) {
    let shift = _mm512_set1_epi16(window.shift as i16);
    let factor = _mm512_set1_epi16(window.factor);
    let centre = _mm512_set1_epi16(window.centre);
    let lowest = _mm512_set1_epi16(window.centre.wrapping_sub(window.radius as i16));
    let width = _mm512_set1_epi16((2 * window.radius) as i16);
    let (one, half) = (_mm512_set1_epi16(1 << 12), _mm512_set1_epi16(2));
    let blocks = similarities.as_chunks::<TOKENS>().0;
    // SAFETY: sums and blocks are registers; there is room for the similarities of a tile and a register beyond.
    unsafe {
        let mut sums = [_mm512_setzero_si512(); N];
        if moments.tokens > 0 {
            for (sum, kept) in sums.iter_mut().zip(&moments.powers) {
                *sum = _mm512_load_si512(kept.as_ptr().cast());
            }
        }
        let mut found = moments.found;
        for (i, block) in blocks[..tokens.div_ceil(TOKENS)].iter().enumerate() {
            meanwhile();
            let mut c = _mm512_load_si512(block.as_ptr().cast());
            if tokens - TOKENS * i < TOKENS {
                // Lanes behind the last token count as tokens at the centre, which powers do not see.
                let there = (1 << (tokens - TOKENS * i)) - 1;
                c = _mm512_mask_mov_epi16(centre, there, c);
            }
            let inside = _mm512_cmple_epu16_mask(_mm512_sub_epi16(c, lowest), width);
            let outside = _knot_mask32(inside);
            // Store unconditionally: a branch on `outside != 0` mispredicts too often. Eight at a time, since more are
            // rare, and a store of 64 bytes mostly lies across two cache lines, which takes longer.
            let at = moments.outside.as_mut_ptr().add(found);
            let these = _mm512_maskz_compress_epi16(outside, c);
            _mm_storeu_si128(at.cast(), _mm512_castsi512_si128(these));
            let count = outside.count_ones() as usize;
            if count > 8 {
                _mm512_storeu_si512(at.cast(), these);
            }
            found += count;
            // The argument x with 14 fractional bits, 2x with 15 (`twice`, which is x with 15) and x with 12 (`t1`); tokens
            // outside have x = 0.
            let x = _mm512_sllv_epi16(_mm512_sub_epi16(c, centre), shift);
            let x = _mm512_maskz_mulhrs_epi16(inside, x, factor);
            let twice = _mm512_add_epi16(x, x);
            // The powers, or T_{i+1} = 2x·T_i − T_{i−1}.
            let next = |t: __m512i, before: __m512i| {
                let product = _mm512_mulhrs_epi16(twice, t);
                if N <= HIGHEST_POWER {
                    return product;
                }
                _mm512_add_epi16(_mm512_sub_epi16(product, before), product)
            };
            let t1 = _mm512_srai_epi16::<2>(_mm512_add_epi16(x, half));
            let t2 = next(t1, one);
            let t3 = next(t2, t1);
            let t4 = next(t3, t2);
            let t5 = next(t4, t3);
            let t6 = next(t5, t4);
            let t7 = next(t6, t5);
            let t8 = next(t7, t6);
            let factors = [
                [one, t1],
                [t1, t1],
                [t1, t2],
                [t2, t2],
                [t2, t3],
                [t3, t3],
                [t3, t4],
                [t4, t4],
                [t4, t5],
                [t5, t5],
                [t5, t6],
                [t6, t6],
                [t6, t7],
                [t7, t7],
                [t7, t8],
                [t8, t8],
            ];
            for (sum, [a, b]) in sums.iter_mut().zip(factors) {
                *sum = multiply_and_add(*sum, a, b);
            }
        }
        for (kept, sum) in moments.powers.iter_mut().zip(sums) {
            _mm512_store_si512(kept.as_mut_ptr().cast(), sum);
        }
        moments.others += tokens.next_multiple_of(TOKENS) - tokens + found - moments.found;
        moments.found = found;
        moments.tokens += tokens;
    }
}

/// Adds to every number of 32 bits the products of two pairs of 16 bits.
///
/// In assembly, because the compiler makes two instructions of the intrinsic, whose latency is shorter. The sums do not
/// wait for each other, so that only the number of instructions counts: the loop takes a quarter longer with two on Zen 4.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
unsafe fn multiply_and_add(sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
    let mut sums = sums;
    // SAFETY: the instruction touches its operands only.
    unsafe {
        std::arch::asm!(
            "vpdpwssd {sums}, {a}, {b}",
            sums = inout(zmm_reg) sums,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sums
}

/// Adds the kernels of all tokens to `sums` and forgets the tokens.
///
/// # Safety
///
/// The CPU has AVX-512 F and DQ.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn finish(
    moments: &mut Moments,
    window: Window,
    kernels: &Kernels,
    sums: &mut [f32],
) {
    let polynomials = kernels.windows().polynomials(window);
    let lanes = kernels.sixteens().iter().zip(polynomials.rows());
    // SAFETY: the caller's promise is ours; rows are registers; as many sums are read and written as there are.
    unsafe {
        let totals = total(moments, window);
        for ((lanes, rows), sums) in lanes.zip(sums.chunks_mut(LANES)) {
            let mut parts = [_mm512_setzero_ps(); 2];
            let mut add = |i: usize| {
                let total = _mm512_set1_ps(totals[i]);
                parts[i % 2] = _mm512_fmadd_ps(total, load(&rows[i]), parts[i % 2]);
            };
            (0..=HIGHEST_POWER).for_each(&mut add);
            if window.degree > HIGHEST_POWER {
                (HIGHEST_POWER + 1..TERMS).for_each(&mut add);
            }
            // Rounding may leave a kernel that is nearly 0 on the whole window a little below 0.
            let inside = _mm512_add_ps(parts[0], parts[1]);
            let inside = _mm512_max_ps(inside, _mm512_setzero_ps());
            let added = _mm512_add_ps(inside, outside(moments, lanes));
            let there = u16::MAX >> (LANES - sums.len());
            let sum = _mm512_maskz_loadu_ps(there, sums.as_ptr());
            let sum = _mm512_mask_add_ps(sum, lanes.wide, sum, added);
            _mm512_mask_storeu_ps(sums.as_mut_ptr(), there, sum);
        }
    }
    moments.clear();
}

/// The number of tokens in the window and the sums of their powers or products.
#[inline(always)]
unsafe fn total(moments: &Moments, window: Window) -> [f32; TERMS] {
    let mut total = [0.0; TERMS];
    total[0] = (moments.tokens - moments.found) as f32;
    let powers = &moments.powers.as_chunks::<4>().0[..window.degree.div_ceil(4)];
    for (four, sums) in powers.iter().zip(total[1..].as_chunks_mut::<4>().0) {
        // SAFETY: the caller promises AVX-512 F; the parts of a sum are a register.
        unsafe {
            let mut parts = [_mm512_setzero_ps(); 4];
            for i in 0..4 {
                parts[i] = _mm512_cvtepi32_ps(_mm512_load_si512(four[i].as_ptr().cast()));
            }
            *sums = add_lanes(parts);
        }
    }
    if window.degree > HIGHEST_POWER {
        // Lanes that counted as tokens at the centre: there T_2² = T_4² = … = 1, and all other products are 0.
        for total in total[4..].iter_mut().step_by(4) {
            *total -= (moments.others << 24) as f32;
        }
    }
    total
}

/// The kernels, side by side, of the similarities outside of the window, one after the other.
#[inline(always)]
unsafe fn outside(moments: &Moments, kernels: &Sixteen) -> __m512 {
    // SAFETY: the caller promises AVX-512 F; behind the last similarity there is room for a register.
    unsafe {
        let (mu, scale) = (load(&kernels.mu), load(&kernels.scale));
        let unit = _mm512_set1_ps(1.0 / 32768.0);
        let mut sums = [_mm512_setzero_ps(); 2];
        let mut real = PerKernel([0.0; LANES]);
        for first in (0..moments.found).step_by(LANES) {
            let c = _mm256_loadu_si256(moments.outside.as_ptr().add(first).cast());
            let c = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(c)), unit);
            _mm512_store_ps(real.0.as_mut_ptr(), c);
            let left = &real.0[..LANES.min(moments.found - first)];
            let (pairs, last) = left.as_chunks::<2>();
            for pair in pairs {
                sums[0] = _mm512_add_ps(sums[0], kernel(pair[0], mu, scale));
                sums[1] = _mm512_add_ps(sums[1], kernel(pair[1], mu, scale));
            }
            if let [c] = last {
                sums[0] = _mm512_add_ps(sums[0], kernel(*c, mu, scale));
            }
        }
        _mm512_add_ps(sums[0], sums[1])
    }
}

/// Coefficients of the cubic nearest to `2^f` for `|f| ≤ ½`.
const CUBIC: [f32; 4] = [0.999_928_07, 0.693_260_99, 0.242_611_12, 0.055_171_66];

/// `2^(scale·(c − μ)²)` with a relative error below 8e-5, and at least 2⁻¹²⁶.
#[inline(always)]
unsafe fn kernel(c: f32, mu: __m512, scale: __m512) -> __m512 {
    // SAFETY: the caller promises AVX-512 F.
    unsafe {
        let z = _mm512_sub_ps(_mm512_set1_ps(c), mu);
        let power = _mm512_mul_ps(_mm512_mul_ps(z, z), scale);
        let power = _mm512_max_ps(power, _mm512_set1_ps(-126.0));
        // Adding 1.5·2²³ rounds to an integer, which then stands in the low bits.
        let magic = _mm512_set1_ps(12_582_912.0);
        let shifted = _mm512_add_ps(power, magic);
        let f = _mm512_sub_ps(power, _mm512_sub_ps(shifted, magic));
        let p = _mm512_fmadd_ps(f, _mm512_set1_ps(CUBIC[3]), _mm512_set1_ps(CUBIC[2]));
        let p = _mm512_fmadd_ps(f, p, _mm512_set1_ps(CUBIC[1]));
        let p = _mm512_fmadd_ps(f, p, _mm512_set1_ps(CUBIC[0]));
        let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(shifted));
        _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), exponent))
    }
}

#[inline(always)]
unsafe fn load(row: &PerKernel) -> __m512 {
    // SAFETY: the caller promises AVX-512 F; a row is an aligned register.
    unsafe { _mm512_load_ps(row.0.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Implementation;
    use crate::workspace::Similarities;
    use proptest::prelude::*;

    /// The sums of kernels over similarities, in pieces as tiles would be.
    unsafe fn pooled(kernels: &Kernels, window: Window, similarities: &[i16]) -> Vec<f32> {
        let mut moments = Box::<Moments>::default();
        let mut sums = vec![0.0; kernels.len()];
        for tile in similarities.chunks(MAX_WIDTH) {
            let mut list = Similarities([77; MAX_WIDTH]);
            list.0[..tile.len()].copy_from_slice(tile);
            // SAFETY: the caller's promise is ours.
            unsafe {
                if moments.is_full() {
                    finish(&mut moments, window, kernels, &mut sums);
                }
                add(&list.0, tile.len(), window, &mut moments, || ());
            }
        }
        // SAFETY: the caller's promise is ours.
        unsafe { finish(&mut moments, window, kernels, &mut sums) };
        sums
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_kernels(
            centre in -20_000_i32..20_000,
            spread in 1_i32..6_000,
            tokens in 32_usize..3_000,
            count in 1_usize..=32,
            seed in any::<u32>(),
        ) {
            if !Implementation::Avx512Vbmi.is_available() {
                return Ok(());
            }
            let mut state = u64::from(seed);
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 40) as i32 % spread
            };
            let list: Vec<i16> = (0..tokens)
                .map(|_| (centre + (random() + random() + random() + random()) / 2 - spread) as i16)
                .collect();
            // Kernel 7 is too narrow for polynomials: its sum must stay 0.
            let mu: Vec<f32> = (0..count).map(|i| i as f32 * 2.0 / count as f32 - 1.0).collect();
            let sigma = (0..count).map(|i| if i == 7 { 0.01 } else { 0.1 + 0.01 * i as f32 }).collect();
            let kernels = Kernels::new(mu, sigma, 1e-10).expect("valid");
            let first = &list[..tokens.min(MAX_WIDTH)];
            let mut tile = Similarities([0; MAX_WIDTH]);
            tile.0[..first.len()].copy_from_slice(first);
            // SAFETY: the CPU was found able.
            let window = kernels.windows().around(unsafe { bounds(&tile.0, first.len()) });
            let Some(window) = window else {
                return Ok(());
            };
            // SAFETY: the CPU was found able.
            let sums = unsafe { pooled(&kernels, window, &list) };
            for (k, &sum) in sums.iter().enumerate() {
                let (mu, sigma) = (f64::from(kernels.mu()[k]), f64::from(kernels.sigma()[k]));
                let kernel = |&c: &i16| (-0.5 * ((f64::from(c) / 32768.0 - mu) / sigma).powi(2)).exp();
                let exact: f64 = if k == 7 { 0.0 } else { list.iter().map(kernel).sum() };
                let error = (f64::from(sum) + 1e-10).ln() - (exact + 1e-10).ln();
                prop_assert!(error.abs() < 0.012, "{k}: {sum} {exact}");
            }
        }
    }
}
