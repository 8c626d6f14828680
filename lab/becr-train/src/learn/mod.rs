//! The loop: batches in, better weights out.

mod adam;
mod checkpoint;
mod log;
mod sampler;
mod schedule;

use crate::batch::Batch;
use crate::model::{Learned, Place};
use crate::{Example, Observer, Step, TrainError, TrainOptions, Validated};
use adam::{Adam, Rates};
pub(crate) use adam::{Decays, Gradients, Moments};
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};
#[cfg(test)]
pub(crate) use checkpoint::copy;
use checkpoint::{Best, State, Values};
use log::{Event, Log};
pub(crate) use sampler::{Picked, Sampler};
use std::path::Path;
use std::time::Instant;

/// A network that scores batches.
pub(crate) trait Scores<B: Backend>: Learned<B> {
    /// The scores, `[query, candidate]`.
    fn scores(&self, batch: &Batch) -> Tensor<B, 2>;
}

/// Makes batches of picked documents.
pub(crate) trait Source {
    /// The numbers of queries and documents, for so many candidates of each query. `pass` is for random numbers.
    fn batch(&self, picked: &[Picked], candidates: usize, pass: usize)
    -> Result<Batch, TrainError>;
}

/// What a training goes by.
pub(crate) struct Course<'a, B: AutodiffBackend> {
    pub(crate) examples: &'a [Example],
    pub(crate) source: &'a dyn Source,
    pub(crate) options: &'a TrainOptions,
    /// Steps in all.
    pub(crate) steps: usize,
    pub(crate) place: Place<B>,
    /// Checkpoints, log and curves go here.
    pub(crate) folder: &'a Path,
    /// Tells this training from others.
    pub(crate) fingerprint: String,
    /// Queries of a validation.
    pub(crate) validation_queries: usize,
}

/// How a training ended. The network has the weights of the best validation, or the last ones if there was none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) steps: usize,
    pub(crate) best: Option<Best>,
}

/// A validation: mean nDCG@10 of a network.
pub(crate) type Validate<'a, N> = dyn FnMut(&mut N) -> Result<f64, TrainError> + 'a;

/// What changes while a training runs.
struct Progress<B: AutodiffBackend> {
    adam: Adam<B::InnerBackend>,
    state: State,
    best: Values,
    log: Log,
    begun: Instant,
    before: f64,
}

impl<B: AutodiffBackend> Progress<B> {
    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }
}

impl<B: AutodiffBackend> Course<'_, B> {
    /// Trains `network`, from the checkpoint in the folder if there is one.
    pub(crate) fn run<N: Scores<B>>(
        &self,
        network: &mut N,
        mut validate: Option<&mut Validate<'_, N>>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, TrainError> {
        std::fs::create_dir_all(self.folder).map_err(TrainError::io(self.folder))?;
        let mut progress = self.begin(network, observer)?;
        let options = self.options;
        let mut sampler = Sampler::new(
            self.examples,
            options.seed,
            options.batch,
            options.negatives,
        );
        let patient = |state: &State| options.patience == 0 || state.worse < options.patience;
        while progress.state.step < self.steps && patient(&progress.state) {
            let taken = self.step(network, &mut progress, &mut sampler)?;
            progress.log.write(Event::Step(taken))?;
            observer.step(&taken);
            let step = progress.state.step;
            if step % options.validate_every == 0 || step == self.steps {
                if let Some(validate) = &mut validate {
                    let ndcg = validate(network)?;
                    let validated = self.judge(network, &mut progress, ndcg);
                    progress.log.write(Event::Validated(validated))?;
                    observer.validated(&validated);
                }
                let Progress {
                    state, adam, best, ..
                } = &progress;
                checkpoint::write(self.folder, state, network, adam, best)?;
            }
        }
        progress.log.draw(self.folder, self.validation_queries)?;
        if progress.state.best.is_some() {
            checkpoint::restore(network, &progress.best, &self.place);
        }
        Ok(Outcome {
            steps: progress.state.step,
            best: progress.state.best,
        })
    }

    fn begin(
        &self,
        network: &mut impl Scores<B>,
        observer: &mut dyn Observer,
    ) -> Result<Progress<B>, TrainError> {
        network.visit(&mut |parameter| {
            let value = parameter.value.clone().inner();
            *parameter.value = Tensor::from_inner(value).require_grad();
        });
        let mut adam = Adam::new(network);
        let found = checkpoint::read(
            self.folder,
            &self.fingerprint,
            network,
            &mut adam,
            &self.place,
        )?;
        let (state, best) = found.unwrap_or_else(|| {
            let state = State {
                fingerprint: self.fingerprint.clone(),
                ..State::default()
            };
            (state, Values::new())
        });
        if state.step > 0 {
            let folder = self.folder.display();
            observer.note(&format!(
                "going on after step {} of the training in {folder}",
                state.step
            ));
        }
        let log = Log::open(self.folder, state.step)?;
        Ok(Progress {
            adam,
            state,
            best,
            before: log.seconds(),
            log,
            begun: Instant::now(),
        })
    }

    /// One step of the optimizer.
    fn step(
        &self,
        network: &mut impl Scores<B>,
        progress: &mut Progress<B>,
        sampler: &mut Sampler<'_>,
    ) -> Result<Step, TrainError> {
        let options = self.options;
        let step = progress.state.step;
        let mut gradients = Gradients::new();
        let (mut loss, mut ids) = (0.0, Vec::new());
        for part in 0..options.accumulate {
            let pass = step * options.accumulate + part;
            let batch = self
                .source
                .batch(&sampler.pass(pass), options.negatives + 1, pass)?;
            let scores = network.scores(&batch);
            let share = options
                .loss
                .of(scores, &batch, &self.place)
                .div_scalar(options.accumulate as f64);
            loss += share.clone().into_data().iter::<f64>().sum::<f64>();
            ids.extend(batch.ids);
            self.check(step, "loss", loss, &ids)?;
            gradients.add(network, &share);
        }
        let norm = gradients.norm();
        self.check(step, "gradient", norm, &ids)?;
        let factor = if norm > options.clip {
            options.clip / norm
        } else {
            1.0
        };
        let share = schedule::share(step, self.steps, options.warm_up, options.schedule);
        let rates = Rates {
            head: options.rate * share,
            encoder: options.encoder_rate * share,
            decay: options.weight_decay,
        };
        progress.adam.step(network, gradients, factor, rates, step);
        progress.state.step += 1;
        Ok(Step {
            step: step + 1,
            steps: self.steps,
            loss,
            rate: rates.head,
            gradient: norm,
            seconds: progress.seconds(),
        })
    }

    /// Stops before a number that is none reaches the weights.
    fn check(
        &self,
        step: usize,
        what: &'static str,
        value: f64,
        ids: &[String],
    ) -> Result<(), TrainError> {
        if value.is_finite() {
            return Ok(());
        }
        let kept = self.folder.join(checkpoint::FILE);
        let kept = match kept.exists() {
            true => format!("the last good state is in {}", kept.display()),
            false => "there was no checkpoint yet".into(),
        };
        Err(TrainError::NotFinite {
            step: step + 1,
            what,
            value,
            queries: ids.join(", "),
            remedy: format!("{kept}; look at these queries, or lower the learning rates"),
        })
    }

    fn judge(
        &self,
        network: &mut impl Scores<B>,
        progress: &mut Progress<B>,
        ndcg: f64,
    ) -> Validated {
        let state = &mut progress.state;
        match state.best {
            Some(best) if best.ndcg >= ndcg => state.worse += 1,
            _ => {
                state.best = Some(Best {
                    step: state.step,
                    ndcg,
                });
                state.worse = 0;
                progress.best = checkpoint::copy(network);
            }
        }
        Validated {
            step: progress.state.step,
            ndcg,
            best: progress.state.best.map_or(ndcg, |best| best.ndcg),
            seconds: progress.seconds(),
        }
    }
}
