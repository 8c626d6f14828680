//! Counting with full adders: bit `i` of every token is a register of bits, and a number per token is a stack of
//! such registers, one per binary digit.

/// Digits of the largest count, 1024.
pub(super) const DIGITS: usize = 11;

/// Digits of the largest count when all counts fit a byte.
pub(super) const BYTE_DIGITS: usize = 8;

/// A register of bits, one per token.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Plane: Copy {
    unsafe fn zero() -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// The parity of three bits: the sum digit of a full adder.
    unsafe fn parity(self, b: Self, c: Self) -> Self;
    /// The majority of three bits: the carry of a full adder.
    unsafe fn majority(self, b: Self, c: Self) -> Self;
}

/// Adds the bits `a` and `b` to the digit `sum` and returns the carry.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
unsafe fn add<P: Plane>(sum: &mut P, a: P, b: P) -> P {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let carry = sum.majority(a, b);
        *sum = sum.parity(a, b);
        carry
    }
}

/// Adds `carry` to the digits from `from` on.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
unsafe fn ripple<P: Plane, const N: usize>(digits: &mut [P; N], from: usize, carry: P) {
    let mut carry = carry;
    for digit in &mut digits[from..] {
        // SAFETY: the caller's promise is ours.
        unsafe {
            let next = digit.and(carry);
            *digit = digit.xor(carry);
            carry = next;
        }
    }
}

/// Adds sixteen bits to the digits 0 to 3 and returns the carry, which counts sixteen.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
unsafe fn add_sixteen<P: Plane, const N: usize>(
    digits: &mut [P; N],
    bit: impl Fn(usize) -> P,
) -> P {
    let [ones, twos, fours, eights, ..] = &mut digits[..] else {
        unreachable!("at least four digits")
    };
    // SAFETY: the caller's promise is ours.
    unsafe {
        let a = add(ones, bit(0), bit(1));
        let b = add(ones, bit(2), bit(3));
        let four_a = add(twos, a, b);
        let a = add(ones, bit(4), bit(5));
        let b = add(ones, bit(6), bit(7));
        let four_b = add(twos, a, b);
        let eight_a = add(fours, four_a, four_b);
        let a = add(ones, bit(8), bit(9));
        let b = add(ones, bit(10), bit(11));
        let four_a = add(twos, a, b);
        let a = add(ones, bit(12), bit(13));
        let b = add(ones, bit(14), bit(15));
        let four_b = add(twos, a, b);
        let eight_b = add(fours, four_a, four_b);
        add(eights, eight_a, eight_b)
    }
}

/// Sums the rows of a list, per token: digit `i` of the result counts 2ⁱ.
///
/// # Safety
///
/// As for [`Plane`]; `load` must be right to call with every offset of the list.
#[inline(always)]
pub(super) unsafe fn sum_rows<P: Plane, const N: usize>(
    list: &[u16],
    load: impl Fn(u16) -> P,
) -> [P; N] {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let zero = P::zero();
        let mut digits = [zero; N];
        // Left to itself the compiler loads and scales offsets as vectors, and then takes longer to get them out of
        // the vector registers than the adders take.
        let row = |list: &[u16], i: usize| load(std::ptr::read_volatile(&raw const list[i]));
        let (blocks, rest) = list.as_chunks::<64>();
        for block in blocks {
            let a = add_sixteen(&mut digits, |i| row(block, i));
            let b = add_sixteen(&mut digits, |i| row(block, 16 + i));
            let two_a = add(&mut digits[4], a, b);
            let a = add_sixteen(&mut digits, |i| row(block, 32 + i));
            let b = add_sixteen(&mut digits, |i| row(block, 48 + i));
            let two_b = add(&mut digits[4], a, b);
            let four = add(&mut digits[5], two_a, two_b);
            ripple(&mut digits, 6, four);
        }
        // The rest likewise, as if it were followed by rows of zeros.
        let (blocks, last) = rest.as_chunks::<16>();
        let mut carries = [zero; 4];
        for (carry, block) in carries.iter_mut().zip(blocks) {
            *carry = add_sixteen(&mut digits, |i| row(block, i));
        }
        if !last.is_empty() {
            carries[blocks.len()] = add_sixteen(&mut digits, |i| {
                if i < last.len() { row(last, i) } else { zero }
            });
        }
        let two_a = add(&mut digits[4], carries[0], carries[1]);
        let two_b = add(&mut digits[4], carries[2], carries[3]);
        let four = add(&mut digits[5], two_a, two_b);
        ripple(&mut digits, 6, four);
        digits
    }
}
