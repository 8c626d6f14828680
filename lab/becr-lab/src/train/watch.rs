//! Bars for the parts of a training.

use becr_cli::{output, progress};
use becr_train::data::Watch;
use becr_train::mixer::HeldOut;
use becr_train::{Observer, Step, Validated};
use indicatif::ProgressBar;
use std::sync::Mutex;

/// The index's own bars.
pub(super) type Indexing = progress::Stages;

/// One bar at a time, for whatever goes on.
#[derive(Default)]
pub(super) struct Bar {
    current: Mutex<Option<(&'static str, ProgressBar)>>,
}

impl Bar {
    /// Takes the bar away.
    pub(super) fn clear(&self) {
        if let Ok(mut current) = self.current.lock()
            && let Some((_, bar)) = current.take()
        {
            bar.finish_and_clear();
        }
    }

    /// Lets `change` change the bar of `what`, which takes the place of another's.
    fn with(&self, what: &'static str, total: usize, change: impl FnOnce(&ProgressBar)) {
        let Ok(mut current) = self.current.lock() else {
            return;
        };
        match &*current {
            Some((showing, bar)) if *showing == what => change(bar),
            _ => {
                if let Some((_, bar)) = current.take() {
                    bar.finish_and_clear();
                }
                let bar = progress::counting(total as u64, what);
                change(&bar);
                *current = Some((what, bar));
            }
        }
    }
}

impl Watch for Bar {
    fn begin(&self, what: &'static str, steps: usize) {
        self.clear();
        self.with(what, steps, |_| {});
    }

    fn advance(&self, steps: usize) {
        if let Ok(current) = self.current.lock()
            && let Some((_, bar)) = &*current
        {
            bar.inc(steps as u64);
        }
    }
}

impl Observer for &Bar {
    fn preparing(&mut self, done: usize, all: usize) {
        self.with("queries measured", all, |bar| bar.set_position(done as u64));
    }

    fn step(&mut self, step: &Step) {
        self.with("steps", step.steps, |bar| {
            // The stage before may have had another number of them.
            bar.set_length(step.steps as u64);
            bar.set_position(step.step as u64);
            bar.set_message(format!("loss {:.4}", step.loss));
        });
    }

    fn validated(&mut self, validated: &Validated) {
        let Validated {
            step,
            ndcg,
            best,
            seconds,
        } = validated;
        self.with("steps", 0, |bar| {
            bar.suspend(|| {
                output::note(format_args!(
                    "step {step}: validation nDCG@10 {ndcg:.4}, best {best:.4}, {seconds:.0} s"
                ));
            });
        });
    }

    fn held_out(&mut self, held_out: &HeldOut) {
        let HeldOut {
            step,
            words,
            query,
            seconds,
        } = held_out;
        self.with("steps", 0, |bar| {
            bar.suspend(|| {
                output::note(format_args!(
                    "step {step}: held out, cosine of words {words:.4}, of queries {query:.4}, {seconds:.0} s"
                ));
            });
        });
    }

    fn note(&mut self, message: &str) {
        self.clear();
        output::note(message);
    }
}
