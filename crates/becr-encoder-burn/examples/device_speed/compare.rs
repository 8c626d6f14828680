//! A device's results beside the native encoder's.

use becr_encoder::{Backend, Batch, EncodeError, Wanted};
use serde_json::{Value, json};

/// Share of equal bits, over all and by layer, and the largest differences of hidden states and vectors.
pub(crate) fn compare(
    device: &dyn Backend,
    native: &dyn Backend,
    batch: &Batch,
    wanted: &Wanted,
) -> Result<Value, EncodeError> {
    let found = device.encode(batch, wanted)?;
    let expected = native.encode(batch, wanted)?;
    let layers = native.shape().layers.len();
    let by_layer: Vec<f64> = found
        .footprints
        .chunks(found.footprints.len() / layers)
        .zip(
            expected
                .footprints
                .chunks(expected.footprints.len() / layers),
        )
        .map(|(found, expected)| equal_bits(found, expected))
        .collect();
    let few = Batch::from_iter(batch.sequences().take(8).map(|s| batch.ids()[s].to_vec()));
    let states = device.hidden_states(&few)?;
    let hidden: Vec<f32> = (native.hidden_states(&few)?.layers.iter())
        .zip(&states.layers)
        .map(|(native, device)| difference(native, device))
        .collect();
    Ok(json!({
        "sequences": batch.sequences().len(),
        "footprints": found.footprints.len() / native.shape().width(),
        "equal_bits": equal_bits(&found.footprints, &expected.footprints),
        "equal_bits_by_layer": by_layer,
        "hidden_sequences": few.sequences().len(),
        "hidden_max_difference_by_layer": hidden,
        "vectors_max_difference": difference(&found.vectors, &expected.vectors),
    }))
}

fn equal_bits(found: &[u32], expected: &[u32]) -> f64 {
    let pairs = found.iter().zip(expected);
    let different: u64 = pairs.map(|(f, e)| u64::from((f ^ e).count_ones())).sum();
    1.0 - different as f64 / (32 * expected.len()) as f64
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |most, (a, b)| f32::max(most, (a - b).abs()))
}
