//! The loop. Batches are drawn and packed on a thread of their own, and numbers come back from the device only every few
//! steps, so that it is never left waiting.

use super::checkpoint::{self, State};
use super::fit::linear_map;
use super::pack::{Packed, Packer};
use super::teacher::{MixerTensors, Teacher, Weights, unit};
use super::{HeldOut, MixerTraining, draw, trial};
use crate::learn::{Decays, Moments};
use crate::model::Place;
use crate::{Observer, Step, TrainError};
use becr_encoder::{Centre, Shape};
use becr_encoder_burn::{MixerLayout, MixerParameters};
use becr_model::{MixerKind, MixerWeights};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Tensor, TensorData};
use serde_json::json;
use std::sync::mpsc::sync_channel;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_128;

/// The optimizer's: gradients of mixers change sooner than those of heads.
const DECAYS: Decays = Decays {
    mean: 0.9,
    square: 0.98,
};

/// Steps between two looks at the loss.
const LOOK_EVERY: usize = 20;
/// Batches that are packed ahead.
const AHEAD: usize = 8;
/// Batches that the number of rows is measured on, and what is added for those that need more.
const MEASURED_BATCHES: usize = 8;
const SPARE_ROWS: f64 = 1.02;
/// Rows are a multiple of this, unless there are fewer.
const ROW_STEP: usize = 8;
/// Words that the map to the encoder's states is fitted to: the first ones, which are the frequent ones.
const FITTED_WORDS: usize = 20_000;
/// Batches of queries held out.
const HELD_OUT_BATCHES: usize = 2;
/// Documents that queries' similarities to are learned, and how many of them a step compares with.
const DOCUMENTS: usize = 4096;
const COMPARED: usize = 512;

/// What a training made.
pub(super) struct Learned {
    pub(super) weights: MixerWeights,
    pub(super) held_out: Option<HeldOut>,
    pub(super) steps_per_second: Option<f64>,
}

/// All numbers of the mixer and the optimizer's memory of them, each in one row.
struct Optimizer<B: Backend> {
    values: Tensor<B, 1>,
    moments: Moments<B, 1>,
}

impl MixerTraining<'_> {
    pub(super) fn learn<A: AutodiffBackend>(
        &self,
        device: &A::Device,
        observer: &mut dyn Observer,
    ) -> Result<Learned, TrainError> {
        if self.texts.queries.len() + self.texts.documents.len() == 0 {
            return Err(TrainError::NoExamples);
        }
        let options = self.options;
        let mut weights = self.start();
        let layout = MixerLayout::new(&weights);
        let rows = self.rows();
        observer.note(&format!("{rows} rows a step"));
        let asked = (rows, options.half);
        let teacher = trial::teacher(self.model, self.texts, asked, device, observer)?;
        let words = teacher.words(self.texts, rows, |done, all| observer.preparing(done, all));
        if options.kind == MixerKind::EncoderLayers {
            observer.note("fitting the map to the encoder's states");
            self.start_from_encoder(&teacher, &words, rows, &mut weights)?;
        }
        let compares = options.similarity_weight > 0.0 && self.texts.documents.len() > 0;
        let similar = compares.then(|| teacher.documents(self.texts, rows, DOCUMENTS));
        let dim = self.model.config.hidden_size;
        let table = Place::single(device.clone()).tensor(words, [self.texts.distinct(), dim]);
        let counted = Weights {
            query: options.query_weight,
            stop: options.stop_weight,
        };
        let tensors = |packed: &Packed| teacher.tensors(packed, &table, &layout, counted);
        let held_out: Vec<_> = self.held_out(rows).iter().map(tensors).collect();

        std::fs::create_dir_all(&self.folder).map_err(TrainError::io(&self.folder))?;
        let (mut optimizer, first) =
            self.begin::<A::InnerBackend>(&layout, &weights, device, observer)?;
        let begun = Instant::now();
        let mut timed = None;
        let mut measured = None;
        std::thread::scope(|scope| -> Result<(), TrainError> {
            let (send, receive) = sync_channel(AHEAD);
            let texts = self.texts;
            scope.spawn(move || {
                for step in first..options.steps {
                    let queries = draw::batch(texts, options, step);
                    // Nobody takes them any more once the training failed.
                    if send.send(Packer::all(texts, rows, &queries)).is_err() {
                        return;
                    }
                }
            });
            let mut seen: Option<Tensor<A::InnerBackend, 1>> = None;
            let mut looked = first;
            for (step, packed) in (first..options.steps).zip(receive.iter()) {
                let rate = options.learning_rate * share(step, options.steps, options.warm_up);
                let similar = similar.as_ref().map(|all| Similar {
                    documents: some_of(all, step),
                    weight: options.similarity_weight / options.query_weight,
                });
                let (gradient, cosines) =
                    gradient::<A>(&layout, &optimizer.values, tensors(&packed), similar);
                optimizer.step(gradient, rate, options.weight_decay, options.clip, step);
                seen = Some(match seen {
                    Some(seen) => seen + cosines,
                    None => cosines,
                });
                let done = step + 1;
                if done - looked >= LOOK_EVERY || done == options.steps {
                    let [words, query] = numbers(seen.take(), done - looked);
                    looked = done;
                    let loss = 1.0 - words + options.query_weight - query;
                    self.check_finite(done, loss)?;
                    observer.step(&Step {
                        step: done,
                        steps: options.steps,
                        loss,
                        rate,
                        gradient: 0.0,
                        seconds: begun.elapsed().as_secs_f64(),
                    });
                    timed.get_or_insert((done, Instant::now()));
                }
                if done.is_multiple_of(options.evaluate_every) || done == options.steps {
                    measured = self.measure(&layout, &optimizer.values, &held_out, done, begun);
                    measured.iter().for_each(|found| observer.held_out(found));
                }
                if done.is_multiple_of(options.checkpoint_every) || done == options.steps {
                    self.save(&optimizer, done)?;
                }
            }
            Ok(())
        })?;
        layout.take(&floats(&optimizer.values), &mut weights);
        let steps_per_second = timed.and_then(|(step, since)| {
            let steps = options.steps.saturating_sub(step) as f64;
            (steps > 0.0).then(|| steps / since.elapsed().as_secs_f64())
        });
        Ok(Learned {
            weights,
            held_out: measured,
            steps_per_second,
        })
    }

    /// Starts with the encoder's last layers, and a linear map from words' vectors to the states before them.
    fn start_from_encoder<B: Backend>(
        &self,
        teacher: &Teacher<B>,
        words: &[f32],
        rows: usize,
        weights: &mut MixerWeights,
    ) -> Result<(), TrainError> {
        let dim = self.model.config.hidden_size;
        let shape = Shape::new(&self.model.config)?;
        let depth = shape.layers.last().copied().unwrap_or(0);
        let before = depth - self.options.layers;
        let (states, cls) = teacher.states(self.texts, rows, before, FITTED_WORDS);
        // Number 0 is no word.
        let input = linear_map(&words[dim..dim + states.len()], &states, dim)?;
        let centre = Centre::Documents.rows(self.model.weights.centres.as_ref(), &shape);
        let centre = centre.last().map_or(vec![0.0; dim], |row| row.to_vec());
        weights.start_from(&self.model.weights.layers[..depth], &centre, input, cls);
        Ok(())
    }

    /// Rows that hold a step's queries, all but rarely.
    fn rows(&self) -> usize {
        let needed = (0..MEASURED_BATCHES).map(|batch| {
            // Other numbers than those of any step.
            let queries = draw::batch(self.texts, self.options, usize::MAX - batch);
            Packer::rows_of(self.texts, &queries)
        });
        let most = needed.max().unwrap_or(1);
        let spare = (most as f64 * SPARE_ROWS).ceil() as usize;
        match spare > ROW_STEP {
            true => spare.next_multiple_of(ROW_STEP),
            false => spare,
        }
    }

    fn held_out(&self, rows: usize) -> Vec<Packed> {
        let all: Vec<Vec<u32>> = (0..self.texts.held_out.len())
            .take(HELD_OUT_BATCHES * self.options.batch)
            .map(|query| self.texts.held_out.text(query).to_vec())
            .collect();
        // Queries are shorter than spans, so that a batch of them has room.
        let parts = all.chunks(self.options.batch);
        parts
            .map(|queries| Packer::all(self.texts, rows, queries))
            .collect()
    }

    fn begin<B: Backend>(
        &self,
        layout: &MixerLayout,
        weights: &MixerWeights,
        device: &B::Device,
        observer: &mut dyn Observer,
    ) -> Result<(Optimizer<B>, usize), TrainError> {
        let count = layout.numbers();
        let up =
            |values: Vec<f32>| Tensor::<B, 1>::from_data(TensorData::new(values, [count]), device);
        let found = checkpoint::read(&self.folder, &self.fingerprint(), count)?;
        let (state, step) = match found {
            Some(state) => {
                observer.note(&format!("going on from step {}", state.step));
                let step = state.step;
                (state, step)
            }
            None => {
                let state = State {
                    step: 0,
                    values: layout.row(weights),
                    mean: vec![0.0; count],
                    square: vec![0.0; count],
                };
                (state, 0)
            }
        };
        let optimizer = Optimizer {
            values: up(state.values),
            moments: Moments {
                mean: up(state.mean),
                square: up(state.square),
            },
        };
        Ok((optimizer, step))
    }

    fn save<B: Backend>(&self, optimizer: &Optimizer<B>, step: usize) -> Result<(), TrainError> {
        let state = State {
            step,
            values: floats(&optimizer.values),
            mean: floats(&optimizer.moments.mean),
            square: floats(&optimizer.moments.square),
        };
        checkpoint::write(&self.folder, &self.fingerprint(), &state)
    }

    fn measure<B: Backend>(
        &self,
        layout: &MixerLayout,
        values: &Tensor<B, 1>,
        held_out: &[MixerTensors<B>],
        step: usize,
        begun: Instant,
    ) -> Option<HeldOut> {
        let parameters = MixerParameters::new(layout, layout.cut(values));
        let sums = held_out
            .iter()
            .map(|tensors| cosines(&parameters, tensors))
            .reduce(|a, b| a + b)?;
        let [words, query] = numbers(Some(sums), held_out.len());
        Some(HeldOut {
            step,
            words,
            query: query / self.options.query_weight.max(f64::MIN_POSITIVE),
            seconds: begun.elapsed().as_secs_f64(),
        })
    }

    fn check_finite(&self, step: usize, loss: f64) -> Result<(), TrainError> {
        if loss.is_finite() {
            return Ok(());
        }
        Err(TrainError::NotFinite {
            step,
            what: "loss",
            value: loss,
            queries: format!("of the last {LOOK_EVERY} steps"),
            remedy: format!(
                "the last checkpoint is in {}; lower learning_rate, or set half = false",
                self.folder.display()
            ),
        })
    }

    /// Tells trainings apart by what they start from, learn from and go by.
    fn fingerprint(&self) -> String {
        let mut options = self.options.clone();
        // What comes after training.
        options.word_blend = 0.0;
        let about = json!([self.encoder_id, options, self.texts.report]);
        format!("{:032x}", xxh3_128(about.to_string().as_bytes()))
    }
}

/// Documents' vectors, and how much similarities to them count beside a query's cosine.
struct Similar<B: Backend> {
    documents: Tensor<B, 2>,
    weight: f64,
}

/// Other rows at every step, over and over.
fn some_of<B: Backend>(all: &Tensor<B, 2>, step: usize) -> Tensor<B, 2> {
    let [count, dim] = all.dims();
    let compared = count.min(COMPARED);
    let start = step * compared % (count - compared + 1);
    all.clone().slice([start..start + compared, 0..dim])
}

/// The gradient of the loss, and the cosines it is made of: of words, and of queries times their weight.
fn gradient<A: AutodiffBackend>(
    layout: &MixerLayout,
    values: &Tensor<A::InnerBackend, 1>,
    tensors: MixerTensors<A::InnerBackend>,
    similar: Option<Similar<A::InnerBackend>>,
) -> (Tensor<A::InnerBackend, 1>, Tensor<A::InnerBackend, 1>) {
    let learned: Vec<Tensor<A, 2>> = layout
        .cut(values)
        .into_iter()
        .map(|tensor| Tensor::from_inner(tensor).require_grad())
        .collect();
    let parameters = MixerParameters::new(layout, learned.clone());
    let input = tensors.input;
    let tensors = MixerTensors {
        input: becr_encoder_burn::MixerInput {
            words: Tensor::from_inner(input.words),
            places: Tensor::from_inner(input.places),
            mask: Tensor::from_inner(input.mask),
            means: Tensor::from_inner(input.means),
        },
        targets: Tensor::from_inner(tensors.targets),
        weights: Tensor::from_inner(tensors.weights),
    };
    let mixed = mixed::<A>(&parameters, &tensors);
    let cosines = weighted(&mixed, &tensors);
    // 1 − cos, weighted, is a constant less this.
    let mut loss = cosines.clone().sum().neg();
    if let Some(similar) = similar {
        loss = loss + dissimilarity(mixed, &tensors, similar);
    }
    let all = loss.backward();
    let parts = learned.iter().map(|tensor| {
        let count = tensor.dims()[0] * tensor.dims()[1];
        match tensor.grad(&all) {
            Some(gradient) => gradient.reshape([count]),
            None => Tensor::zeros([count], &tensor.device()),
        }
    });
    (Tensor::cat(parts.collect(), 0), cosines.inner())
}

/// Weighted means of the cosines with the targets: of words, and of queries times their weight.
pub(crate) fn cosines<B: Backend>(
    parameters: &MixerParameters<B>,
    tensors: &MixerTensors<B>,
) -> Tensor<B, 1> {
    weighted(&mixed(parameters, tensors), tensors)
}

/// What the mixer makes of the words and queries of all slots, scaled to length 1.
fn mixed<B: Backend>(parameters: &MixerParameters<B>, tensors: &MixerTensors<B>) -> Tensor<B, 2> {
    let input = &tensors.input;
    let mixed = parameters.forward(becr_encoder_burn::MixerInput {
        words: input.words.clone(),
        places: input.places.clone(),
        mask: input.mask.clone(),
        means: input.means.clone(),
    });
    unit(mixed)
}

fn weighted<B: Backend>(mixed: &Tensor<B, 2>, tensors: &MixerTensors<B>) -> Tensor<B, 1> {
    let [rows, slots, _] = tensors.weights.dims();
    let cosines = (mixed.clone() * tensors.targets.clone()).sum_dim(1);
    let weighted = cosines.reshape([rows, slots, 1]) * tensors.weights.clone();
    weighted.sum_dim(1).sum_dim(0).reshape([2])
}

/// How much queries differ from their targets in the cosines with documents: the mean square, weighted.
fn dissimilarity<B: AutodiffBackend>(
    mixed: Tensor<B, 2>,
    tensors: &MixerTensors<B>,
    similar: Similar<B::InnerBackend>,
) -> Tensor<B, 1> {
    let [rows, slots, _] = tensors.weights.dims();
    let documents = Tensor::<B, 2>::from_inner(similar.documents).transpose();
    let differences = (mixed - tensors.targets.clone()).matmul(documents);
    let squares = differences.square().mean_dim(1);
    // The second weight of a slot is that of a query, and 0 for words.
    let counted = tensors.weights.clone().slice([0..rows, 0..slots, 1..2]);
    let sum = (squares * counted.reshape([rows * slots, 1])).sum();
    sum.mul_scalar(similar.weight)
}

impl<B: Backend> Optimizer<B> {
    /// AdamW. Nothing of it is read, not even the gradient's length.
    fn step(&mut self, gradient: Tensor<B, 1>, rate: f64, decay: f64, clip: f64, step: usize) {
        let length = gradient.clone().square().sum().sqrt();
        let factor = length.clamp_min(clip).recip().mul_scalar(clip);
        let gradient = gradient * factor;
        let change = self.moments.change(gradient, DECAYS, step);
        let change = change.mul_scalar(rate);
        self.values = self.values.clone().mul_scalar(1.0 - rate * decay) - change;
    }
}

/// The share of the full learning rate at a step.
fn share(step: usize, steps: usize, warm_up: usize) -> f64 {
    let rising = (step + 1) as f64 / warm_up.max(1) as f64;
    let falling = 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos());
    rising.min(1.0) * falling
}

fn floats<B: Backend>(tensor: &Tensor<B, 1>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

/// Means of sums over so many steps.
fn numbers<B: Backend>(sums: Option<Tensor<B, 1>>, count: usize) -> [f64; 2] {
    let mut means = [0.0; 2];
    if let Some(sums) = sums {
        for (mean, sum) in means.iter_mut().zip(sums.into_data().iter::<f64>()) {
            *mean = sum / count.max(1) as f64;
        }
    }
    means
}

#[cfg(test)]
mod tests {
    use super::*;
    use becr_encoder_burn::{Cpu, MixerInput};
    use burn::backend::Autodiff;

    /// Two slots, a word and a query, in the plane. The query is (0, 1) and should be (1, 0): beside the document (0.6, 0.8)
    /// its cosine is off by 0.2, beside (1, 0) by −1.
    #[test]
    fn similarities_to_documents_are_those_of_queries_alone() {
        let device = Default::default();
        let tensor = |values: &[f32], shape: [usize; 2]| {
            Tensor::<Cpu, 2>::from_data(TensorData::new(values.to_vec(), shape), &device)
        };
        let none = Tensor::<Autodiff<Cpu>, 3>::zeros([1, 2, 2], &device);
        let tensors = MixerTensors::<Autodiff<Cpu>> {
            input: MixerInput {
                words: none.clone(),
                places: Tensor::zeros([2, 1], &device),
                mask: Tensor::zeros([1, 1, 2, 2], &device),
                means: none,
            },
            targets: Tensor::from_inner(tensor(&[1.0, 0.0, 1.0, 0.0], [2, 2])),
            weights: Tensor::from_inner(tensor(&[1.0, 0.0, 0.0, 2.0], [2, 2]).reshape([1, 2, 2])),
        };
        let mixed = Tensor::from_inner(tensor(&[0.0, 1.0, 0.0, 1.0], [2, 2]));
        let similar = Similar {
            documents: tensor(&[0.6, 0.8, 1.0, 0.0], [2, 2]),
            weight: 10.0,
        };
        let found = dissimilarity(mixed, &tensors, similar);
        let found: Vec<f32> = found.into_data().iter::<f32>().collect();
        let expected = 10.0 * 2.0 * (0.2f32 * 0.2 + 1.0) / 2.0;
        assert!((found[0] - expected).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn other_documents_at_every_step() {
        let device = Default::default();
        let all = Tensor::<Cpu, 2>::zeros([DOCUMENTS, 3], &device);
        for step in [0, 1, 7, 8, 1000] {
            assert_eq!(some_of(&all, step).dims(), [COMPARED, 3]);
        }
        let few = Tensor::<Cpu, 2>::zeros([5, 3], &device);
        assert_eq!(some_of(&few, 9).dims(), [5, 3]);
    }
}
