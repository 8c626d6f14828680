//! The linear map that comes nearest: where training starts with the encoder's layers.

use crate::TrainError;
use becr_model::{Linear, Matrix};
use rayon::prelude::*;

/// How strongly large weights are avoided, beside the mean square of an input.
const RIDGE: f64 = 1e-4;

/// The map from rows of `inputs` to rows of `outputs`, both `dim` long, by least squares with a bias.
pub(super) fn linear_map(
    inputs: &[f32],
    outputs: &[f32],
    dim: usize,
) -> Result<Linear, TrainError> {
    let count = inputs.len() / dim;
    let wide = dim + 1;
    let input = |row: usize, column: usize| match column < dim {
        true => f64::from(inputs[row * dim + column]),
        false => 1.0,
    };
    // Row by row of XᵀX and XᵀY, so that threads share nothing.
    let rows: Vec<(Vec<f64>, Vec<f64>)> = (0..wide)
        .into_par_iter()
        .map(|column| {
            let (mut square, mut product) = (vec![0.0; wide], vec![0.0; dim]);
            for row in 0..count {
                let x = input(row, column);
                let inputs = &inputs[row * dim..][..dim];
                square[..dim]
                    .iter_mut()
                    .zip(inputs)
                    .for_each(|(sum, y)| *sum += x * f64::from(*y));
                square[dim] += x;
                let outputs = &outputs[row * dim..][..dim];
                product
                    .iter_mut()
                    .zip(outputs)
                    .for_each(|(sum, y)| *sum += x * f64::from(*y));
            }
            square[column] += RIDGE * count as f64 / dim as f64;
            (square, product)
        })
        .collect();
    let (mut squares, mut solution): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    cholesky(&mut squares)?;
    solve(&squares, &mut solution);
    let weight = (0..dim * dim)
        .map(|at| solution[at % dim][at / dim] as f32)
        .collect();
    Ok(Linear {
        weight: Matrix {
            rows: dim,
            cols: dim,
            data: weight,
        },
        bias: solution[dim].iter().map(|&x| x as f32).collect(),
    })
}

/// Leaves the lower triangle L of A = L·Lᵀ in `a`.
fn cholesky(a: &mut [Vec<f64>]) -> Result<(), TrainError> {
    for i in 0..a.len() {
        let (above, rest) = a.split_at_mut(i);
        let row = &mut rest[0];
        for (j, other) in above.iter().enumerate() {
            let sum: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - sum) / other[j];
        }
        let square = row[i] - row[..i].iter().map(|x| x * x).sum::<f64>();
        if square.is_nan() || square <= 0.0 {
            return Err(TrainError::option(
                "kind",
                "the encoder's vectors of words are no numbers, or too few to start from; give more texts, or \
                 start with kind = \"pre_norm\"",
            ));
        }
        row[i] = square.sqrt();
    }
    Ok(())
}

/// Solves L·Lᵀ·X = B in the place of B.
fn solve(l: &[Vec<f64>], b: &mut [Vec<f64>]) {
    let subtract = |b: &mut [Vec<f64>], to: usize, from: usize, factor: f64| {
        let [to, from] = match b.get_disjoint_mut([to, from]) {
            Ok(rows) => rows,
            Err(_) => return,
        };
        to.iter_mut().zip(from).for_each(|(x, y)| *x -= factor * *y);
    };
    for i in 0..l.len() {
        for (j, &factor) in l[i][..i].iter().enumerate() {
            subtract(b, i, j, factor);
        }
        b[i].iter_mut().for_each(|x| *x /= l[i][i]);
    }
    for i in (0..l.len()).rev() {
        for (j, row) in l.iter().enumerate().skip(i + 1) {
            subtract(b, i, j, row[i]);
        }
        b[i].iter_mut().for_each(|x| *x /= l[i][i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_map_is_found_again() {
        let (dim, count) = (3, 200);
        let value = |at: usize| ((at * 7919 % 1009) as f32 - 500.0) / 300.0;
        let inputs: Vec<f32> = (0..dim * count).map(value).collect();
        let (weight, bias) = (
            [[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [0.25, 0.0, 1.0]],
            [0.5, -2.0, 0.0],
        );
        let mut outputs = Vec::new();
        for row in inputs.chunks(dim) {
            for (weights, bias) in weight.iter().zip(bias) {
                let sum: f32 = weights.iter().zip(row).map(|(w, x)| w * x).sum();
                outputs.push(sum + bias);
            }
        }
        let found = linear_map(&inputs, &outputs, dim).unwrap();
        let close = |a: f32, b: f32| (a - b).abs() < 1e-3;
        for (row, expected) in weight.iter().enumerate() {
            assert!(
                found
                    .weight
                    .row(row)
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| close(*a, *b))
            );
        }
        assert!(found.bias.iter().zip(bias).all(|(a, b)| close(*a, b)));
        assert!(linear_map(&[f32::NAN; 3], &[1.0; 3], 3).is_err());
    }
}
