//! Two token types for backends that know of one.

use becr_model::{Config, Weights};

/// Doubles the vocabulary: the words again, with token type 1 in the place of type 0. Gives the number that is to be added to
/// the id of a token of type 1; `None`, and nothing is changed, where the model has one type only.
pub fn double_vocabulary(config: &mut Config, weights: &mut Weights) -> Option<u32> {
    let types = &weights.embeddings.token_type;
    if types.rows < 2 {
        return None;
    }
    // Backends add type 0 to every word.
    let shift = types.row(1).iter().zip(types.row(0)).map(|(b, a)| b - a);
    let shift: Vec<f32> = shift.collect();
    let words = &mut weights.embeddings.word;
    let vocabulary = words.rows;
    words.data.extend_from_within(..);
    for row in words.data[vocabulary * shift.len()..].chunks_exact_mut(shift.len()) {
        row.iter_mut()
            .zip(&shift)
            .for_each(|(x, shift)| *x += shift);
    }
    words.rows *= 2;
    config.vocab_size *= 2;
    Some(vocabulary as u32)
}
