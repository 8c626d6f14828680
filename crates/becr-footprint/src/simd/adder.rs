//! Counting with full adders: bit `i` of every token is a register of bits, and a number per token is a stack of
//! such registers, one per binary digit.

/// Digits of the largest count, 1024.
pub(super) const DIGITS: usize = 11;

/// A register of bits, one per token.
///
/// # Safety
///
/// The methods may use instructions that only some CPUs have: the caller runs on one that has them.
pub(super) trait Plane: Copy {
    unsafe fn zero() -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// A full adder: the sum of three bits, and the carry.
    unsafe fn full_add(self, b: Self, c: Self) -> [Self; 2];
}

/// Adds the bits `a` and `b` to the digit `sum` and returns the carry.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
pub(super) unsafe fn add<P: Plane>(sum: &mut P, a: P, b: P) -> P {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let [digit, carry] = sum.full_add(a, b);
        *sum = digit;
        carry
    }
}

/// Adds `carry` to the digits from `from` on.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
pub(super) unsafe fn ripple<P: Plane, const N: usize>(digits: &mut [P; N], from: usize, carry: P) {
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

/// Adds eight bits to the digits 0 to 2 and returns the carry, which counts eight.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
pub(super) unsafe fn add_eight<P: Plane, const N: usize>(
    digits: &mut [P; N],
    bit: impl Fn(usize) -> P,
) -> P {
    let [ones, twos, fours, ..] = &mut digits[..] else {
        unreachable!("at least three digits")
    };
    // SAFETY: the caller's promise is ours.
    unsafe {
        let a = add(ones, bit(0), bit(1));
        let b = add(ones, bit(2), bit(3));
        let four_a = add(twos, a, b);
        let a = add(ones, bit(4), bit(5));
        let b = add(ones, bit(6), bit(7));
        let four_b = add(twos, a, b);
        add(fours, four_a, four_b)
    }
}

/// Adds sixteen bits to the digits 0 to 3 and returns the carry, which counts sixteen.
///
/// # Safety
///
/// As for [`Plane`].
#[inline(always)]
pub(super) unsafe fn add_sixteen<P: Plane, const N: usize>(
    digits: &mut [P; N],
    bit: impl Fn(usize) -> P,
) -> P {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let a = add_eight(digits, &bit);
        let b = add_eight(digits, |i| bit(8 + i));
        add(&mut digits[3], a, b)
    }
}

/// Where a row begins, as a list of rows has it.
pub(super) trait Place: Copy {
    /// Reads an entry of a list.
    fn read(&self) -> Self;
}

/// Offsets are read as volatile because the compiler would otherwise load and scale many of them as one vector, and
/// taking them out of the vector register one by one takes longer than the adders do.
impl Place for u16 {
    #[inline(always)]
    fn read(&self) -> Self {
        // SAFETY: a reference may be read.
        unsafe { std::ptr::read_volatile(self) }
    }
}

/// Addresses need no scaling: the compiler may load two at a time.
#[cfg(target_arch = "aarch64")]
impl Place for usize {
    #[inline(always)]
    fn read(&self) -> Self {
        *self
    }
}

/// The row at place `i` of a list.
#[inline(always)]
pub(super) fn row<T: Place, P>(list: &[T], i: usize, load: &impl Fn(T) -> P) -> P {
    load(list[i].read())
}

/// Adds the rows of a list, eight at a time: for short lists.
///
/// # Safety
///
/// As for [`Plane`]; `load` must be right to call with every place of the list.
#[inline(always)]
pub(super) unsafe fn add_few<T: Place, P: Plane, const N: usize>(
    digits: &mut [P; N],
    list: &[T],
    load: &impl Fn(T) -> P,
) {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let (blocks, rest) = list.as_chunks::<8>();
        for block in blocks {
            let eight = add_eight(digits, |i| row(block, i, load));
            ripple(digits, 3, eight);
        }
        let eight = add_seven(digits, rest, load);
        ripple(digits, 3, eight);
    }
}

/// Adds at most seven rows, as four and two and one, to the digits 0 to 2, and returns the carry, which counts eight.
///
/// # Safety
///
/// As for [`add_few`].
#[inline(always)]
pub(super) unsafe fn add_seven<T: Place, P: Plane, const N: usize>(
    digits: &mut [P; N],
    list: &[T],
    load: &impl Fn(T) -> P,
) -> P {
    // SAFETY: the caller's promise is ours.
    unsafe {
        let zero = P::zero();
        let (mut one, mut two, mut four) = (zero, zero, zero);
        let mut rest = list;
        if let Some((block, later)) = rest.split_first_chunk::<4>() {
            let a = add(&mut digits[0], row(block, 0, load), row(block, 1, load));
            let b = add(&mut digits[0], row(block, 2, load), row(block, 3, load));
            four = add(&mut digits[1], a, b);
            rest = later;
        }
        if let Some((block, later)) = rest.split_first_chunk::<2>() {
            two = add(&mut digits[0], row(block, 0, load), row(block, 1, load));
            rest = later;
        }
        if !rest.is_empty() {
            one = row(rest, 0, load);
        }
        let carry = digits[0].and(one);
        digits[0] = digits[0].xor(one);
        let carry = add(&mut digits[1], two, carry);
        add(&mut digits[2], four, carry)
    }
}
