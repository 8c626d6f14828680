//! Measuring where vectors lie on average.

use crate::{Batch, Document, EncodeError, Encoder, NativeEncoder};
use becr_model::{Centres, Layers, Model};
use becr_text::words::words;

/// Words between the token groups that are taken from a text: a pair of every distance, and a uni-gram, every so often.
const STRIDE: usize = 12;
/// Places of a text that groups are taken from, at most.
const PLACES: usize = 40;

/// The centres of a model's hidden states over documents, and over words and pairs of words from them, at every layer.
/// `progress` hears of each document.
pub fn measure_centres(
    model: &Model,
    documents: impl IntoIterator<Item = Document>,
    mut progress: impl FnMut(&Document),
) -> Result<Centres, EncodeError> {
    let mut config = model.config.clone();
    let mut settings = config.settings();
    settings.layers = Layers::All;
    // Hidden states are measured, whatever footprints will be made of them; relative ones would take one layer.
    settings.relative = false;
    config.becr = Some(settings);
    let backend = NativeEncoder::new(&config, model.weights.clone())?;
    let encoder = Encoder::new(&model.tokenizer, Box::new(backend))?;
    let (mut tokens, mut groups) = (Mean::new(&encoder), Mean::new(&encoder));
    for document in documents {
        // Sequence by sequence: all layers of a long document at once would fill the memory.
        for sequence in encoder.sequences(&encoder.tokenise(&document)) {
            tokens.add(&encoder, &Batch::from_iter([sequence]))?;
        }
        groups.add(&encoder, &group_batch(&encoder, &document.text))?;
        progress(&document);
    }
    Ok(Centres {
        documents: tokens.finish(),
        groups: groups.finish(),
    })
}

/// Uni-grams and pairs from all over a text.
fn group_batch(encoder: &Encoder, text: &str) -> Batch {
    let words: Vec<String> = words(text).map(|word| word.text).collect();
    let mut batch = Batch::new();
    let mut push = |text: String| {
        let pieces = encoder.word_pieces().pieces(&text).ids;
        if !pieces.is_empty() && pieces.len() + 2 <= encoder.backend().shape().max_tokens {
            batch.push(encoder.sequence(&pieces));
        }
    };
    for (i, word) in words.iter().enumerate().step_by(STRIDE).take(PLACES) {
        push(word.clone());
        for other in words[i + 1..].iter().take(3) {
            push(format!("{word} {other}"));
        }
    }
    batch
}

/// A sum of the vectors of all layers, `[CLS]` and `[SEP]` left out.
struct Mean {
    sums: Vec<f64>,
    count: u64,
}

impl Mean {
    fn new(encoder: &Encoder) -> Self {
        let shape = encoder.backend().shape();
        Self {
            sums: vec![0.0; shape.layers.len() * shape.dim],
            count: 0,
        }
    }

    fn add(&mut self, encoder: &Encoder, batch: &Batch) -> Result<(), EncodeError> {
        if batch.is_empty() {
            return Ok(());
        }
        let states = encoder.backend().hidden_states(batch)?;
        for sequence in batch.sequences() {
            for token in sequence.start + 1..sequence.end - 1 {
                for (layer, sums) in self.sums.chunks_exact_mut(states.dim).enumerate() {
                    let vector = states.vector(layer, token);
                    sums.iter_mut()
                        .zip(vector)
                        .for_each(|(sum, x)| *sum += f64::from(*x));
                }
                self.count += 1;
            }
        }
        Ok(())
    }

    fn finish(self) -> Vec<f32> {
        let count = self.count.max(1) as f64;
        self.sums.iter().map(|sum| (sum / count) as f32).collect()
    }
}
