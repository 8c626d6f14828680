//! Locality-sensitive hashing: bit `i` of a footprint says on which side of hyperplane `i` a vector lies.
//!
//! Two vectors at angle θ differ in a bit with probability θ/π, so that `cos(π·h/b)` estimates their cosine
//! from the Hamming distance `h` of their footprints.
//!
//! Bit `i` lives in word `i / 32` at position `i % 32`. It is set when `r_i · v > 0`: a projection of exactly
//! zero (or one that is not a number) leaves it clear.

mod generator;

use crate::Error;
use generator::Gaussian;

/// How the hyperplanes' normals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HyperplaneKind {
    /// Independent standard normal entries, as in the paper.
    Gaussian,
    /// The same draw, orthonormalised in blocks of as many rows as there are dimensions: less variance in
    /// the estimated cosine for the same number of bits.
    Orthogonal,
}

/// The widest footprint.
pub const MAX_BITS: usize = 1024;

/// `bits` hyperplanes through the origin of a space of `dim` dimensions, given by their normals.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyperplanes {
    dim: usize,
    bits: usize,
    matrix: Vec<f32>,
    /// At least the length of the longest normal.
    longest: f32,
}

impl Hyperplanes {
    /// Draws hyperplanes. A seed gives the same planes on every machine and in every version: the generator
    /// uses integer arithmetic and the exactly rounded operations of IEEE 754 only.
    pub fn generate(
        dim: usize,
        bits: usize,
        kind: HyperplaneKind,
        seed: u64,
    ) -> Result<Self, Error> {
        check_bits(bits)?;
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        let mut gaussian = Gaussian::new(seed);
        let mut rows: Vec<f64> = (0..bits * dim).map(|_| gaussian.sample()).collect();
        if kind == HyperplaneKind::Orthogonal {
            for block in rows.chunks_mut(dim * dim) {
                orthonormalise(block, dim);
            }
        }
        Self::from_matrix(dim, bits, rows.into_iter().map(|x| x as f32).collect())
    }

    /// Takes hyperplanes from a row-major `bits × dim` matrix, such as one read from a model.
    pub fn from_matrix(dim: usize, bits: usize, matrix: Vec<f32>) -> Result<Self, Error> {
        check_bits(bits)?;
        if dim == 0 {
            return Err(Error::NoDimensions);
        }
        Error::check_length("hyperplane matrix, in numbers", bits * dim, matrix.len())?;
        let length = |normal: &[f32]| normal.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        let longest = matrix.chunks(dim).map(length).fold(0.0, f64::max).sqrt();
        Ok(Self {
            dim,
            bits,
            matrix,
            longest: (1.001 * longest) as f32,
        })
    }

    /// The dimension of the vectors.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of hyperplanes, which is the footprints' width in bits.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The footprints' width in `u32`s.
    #[must_use]
    pub fn width(&self) -> usize {
        self.bits / 32
    }

    /// The normals, row-major `bits × dim`.
    #[must_use]
    pub fn matrix(&self) -> &[f32] {
        &self.matrix
    }

    /// Writes the footprint of `vector` into `out`, which holds [`Self::width`] values. The order of the
    /// additions is fixed, so that the same vector always gives the same bits.
    pub fn footprint(&self, vector: &[f32], out: &mut [u32]) -> Result<(), Error> {
        Error::check_length("vector, in dimensions", self.dim, vector.len())?;
        self.footprints(vector, out)
    }

    /// Writes the footprints of several vectors, `[vector][dim]`, into `out`, `[vector][bits / 32]`: the same bits as
    /// one by one, in a third of the time, since a hyperplane that was read serves several vectors.
    pub fn footprints(&self, vectors: &[f32], out: &mut [u32]) -> Result<(), Error> {
        let count = vectors.len() / self.dim;
        Error::check_length("vectors, in numbers", count * self.dim, vectors.len())?;
        Error::check_length("footprints, in u32s", count * self.width(), out.len())?;
        let (matrix, longest) = (&self.matrix, self.longest);
        crate::simd::project::footprints(matrix, longest, self.dim, vectors, out);
        Ok(())
    }
}

/// Packs the signs of projections into footprints, for callers that multiply many vectors with
/// [`Hyperplanes::matrix`] by a matrix product of their own: word `j` of `out` takes projections
/// `32·j .. 32·j + 32`, so that row-major projections of many vectors give their footprints in a row.
pub fn pack_signs(projections: &[f32], out: &mut [u32]) -> Result<(), Error> {
    Error::check_length("projections, in numbers", 32 * out.len(), projections.len())?;
    for (word, chunk) in out.iter_mut().zip(projections.chunks_exact(32)) {
        *word = pack_word(chunk.iter().copied());
    }
    Ok(())
}

/// Refuses widths that footprints cannot have.
pub(crate) fn check_bits(bits: usize) -> Result<(), Error> {
    if bits.is_multiple_of(32) && (32..=MAX_BITS).contains(&bits) {
        Ok(())
    } else {
        Err(Error::Bits { found: bits })
    }
}

fn pack_word(projections: impl Iterator<Item = f32>) -> u32 {
    projections
        .enumerate()
        .fold(0, |word, (i, p)| word | (u32::from(p > 0.0) << i))
}

/// Dot product in a fixed order: sixteen partial sums, which the compiler keeps in vector registers.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_chunks
        .remainder()
        .iter()
        .zip(b_chunks.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Modified Gram–Schmidt over the rows of `block`, each row cleaned twice: once is not enough when a row
/// nearly lies in the span of those before it.
fn orthonormalise(block: &mut [f64], dim: usize) {
    for i in 0..block.len() / dim {
        let (done, rest) = block.split_at_mut(i * dim);
        let row = &mut rest[..dim];
        for _ in 0..2 {
            for basis in done.chunks_exact(dim) {
                let along: f64 = basis.iter().zip(&*row).map(|(x, y)| x * y).sum();
                row.iter_mut().zip(basis).for_each(|(x, y)| *x -= along * y);
            }
        }
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter_mut().for_each(|x| *x /= norm);
    }
}

#[cfg(test)]
mod tests;
