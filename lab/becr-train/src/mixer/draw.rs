//! Pseudo-queries: queries and spans of documents, some without a few of their words, some in another order.

use super::texts::Texts;
use crate::config::MixerConfig;
use crate::random::Random;

/// A query that loses words keeps each with a probability between this …
const LEAST_KEPT: f64 = 0.35;
/// … and this more.
const KEPT_RANGE: f64 = 0.6;

/// The pseudo-queries of a step, which depend on the seed and the step alone: a training that goes on draws what it
/// would have.
pub(super) fn batch(texts: &Texts, options: &MixerConfig, step: usize) -> Vec<Vec<u32>> {
    let mut random = Random::new(options.seed, &[0x006d_6978, step as u64]);
    let queries = match (texts.queries.len(), texts.documents.len()) {
        (0, _) => 0,
        (_, 0) => options.batch,
        _ => (options.batch as f64 * options.query_share).round() as usize,
    };
    (0..options.batch)
        .map(|number| {
            let words = match number < queries {
                true => {
                    let query = random.below(texts.queries.len());
                    let query = texts.queries.text(query);
                    &query[..query.len().min(options.longest)]
                }
                false => {
                    let start = random.below(texts.documents.words.len());
                    let more = (options.longest - 1) as f64;
                    let count = 2.0 + more * unit(&mut random).powf(options.power);
                    texts.documents.span(start, count as usize)
                }
            };
            changed(words, options, &mut random)
        })
        .collect()
}

fn changed(words: &[u32], options: &MixerConfig, random: &mut Random) -> Vec<u32> {
    let mut kept = words.to_vec();
    if unit(random) < options.drop_share {
        let share = LEAST_KEPT + KEPT_RANGE * unit(random);
        kept.retain(|_| unit(random) < share);
        if kept.is_empty() {
            kept.push(words[0]);
        }
    }
    if unit(random) < options.shuffle_share {
        let count = kept.len();
        random.pick(&mut kept, count);
    }
    kept
}

fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}
