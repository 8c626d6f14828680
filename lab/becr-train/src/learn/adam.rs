//! AdamW with two learning rates, and one limit for the gradient of all parameters together.

use crate::model::{Group, Learned};
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};

const GUARD: f64 = 1e-8;

/// How much of the running means a step keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decays {
    pub(crate) mean: f64,
    pub(crate) square: f64,
}

/// Those of heads, encoders and baselines.
const DECAYS: Decays = Decays {
    mean: 0.9,
    square: 0.999,
};

/// Gradients of all parameters, in the order in which they are visited.
pub(crate) struct Gradients<B: Backend>(Vec<Tensor<B, 2>>);

impl<B: Backend> Gradients<B> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds those of a loss.
    pub(crate) fn add<A>(&mut self, network: &mut impl Learned<A>, loss: &Tensor<A, 1>)
    where
        A: AutodiffBackend<InnerBackend = B>,
    {
        let all = loss.backward();
        let mut at = 0;
        network.visit(&mut |parameter| {
            let zeros = || parameter.value.clone().inner().zeros_like();
            let gradient = parameter.value.grad(&all).unwrap_or_else(zeros);
            match self.0.get_mut(at) {
                Some(sum) => *sum = sum.clone() + gradient,
                None => self.0.push(gradient),
            }
            at += 1;
        });
    }

    /// Their length.
    pub(crate) fn norm(&self) -> f64 {
        // One number comes back from the device, not one for each parameter.
        let squares = self
            .0
            .iter()
            .map(|gradient| gradient.clone().square().sum());
        let sum = Tensor::cat(squares.collect(), 0).sum();
        sum.into_data().iter::<f64>().sum::<f64>().sqrt()
    }

    /// The gradients themselves.
    #[cfg(test)]
    pub(crate) fn list(&self) -> &[Tensor<B, 2>] {
        &self.0
    }
}

/// The two learning rates of a step, and the decay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) head: f64,
    pub(crate) encoder: f64,
    pub(crate) decay: f64,
}

/// Running means of a parameter's gradient and of its square.
#[derive(Debug, Clone)]
pub(crate) struct Moments<B: Backend, const D: usize> {
    pub(crate) mean: Tensor<B, D>,
    pub(crate) square: Tensor<B, D>,
}

impl<B: Backend, const D: usize> Moments<B, D> {
    /// Takes a gradient in, and gives what a rate of 1 would take away from the values. `step` counts from 0.
    pub(crate) fn change(
        &mut self,
        gradient: Tensor<B, D>,
        decays: Decays,
        step: usize,
    ) -> Tensor<B, D> {
        // Both means begin at 0 and are too small at first.
        let grown = |decay: f64| 1.0 - decay.powi(step as i32 + 1);
        let Self { mean, square } = self;
        *mean =
            mean.clone().mul_scalar(decays.mean) + gradient.clone().mul_scalar(1.0 - decays.mean);
        *square = square.clone().mul_scalar(decays.square)
            + gradient.square().mul_scalar(1.0 - decays.square);
        let root = square
            .clone()
            .div_scalar(grown(decays.square))
            .sqrt()
            .add_scalar(GUARD);
        mean.clone().div_scalar(grown(decays.mean)) / root
    }
}

/// The optimizer's memory.
#[derive(Debug, Clone)]
pub(crate) struct Adam<B: Backend> {
    /// In the order in which parameters are visited.
    pub(crate) moments: Vec<Moments<B, 2>>,
}

impl<B: Backend> Adam<B> {
    /// Knows nothing yet.
    pub(crate) fn new<A>(network: &mut impl Learned<A>) -> Self
    where
        A: AutodiffBackend<InnerBackend = B>,
    {
        let mut moments = Vec::new();
        network.visit(&mut |parameter| {
            let zeros = parameter.value.clone().inner().zeros_like();
            moments.push(Moments {
                mean: zeros.clone(),
                square: zeros,
            });
        });
        Self { moments }
    }

    /// Changes every parameter. `step` counts from 0; gradients are multiplied by `factor` first.
    pub(crate) fn step<A>(
        &mut self,
        network: &mut impl Learned<A>,
        gradients: Gradients<B>,
        factor: f64,
        rates: Rates,
        step: usize,
    ) where
        A: AutodiffBackend<InnerBackend = B>,
    {
        let mut known = self.moments.iter_mut().zip(gradients.0);
        network.visit(&mut |parameter| {
            let Some((moments, gradient)) = known.next() else {
                return;
            };
            let change = moments.change(gradient.mul_scalar(factor), DECAYS, step);
            let rate = match parameter.group {
                Group::Encoder => rates.encoder,
                Group::Head => rates.head,
            };
            let mut value = parameter.value.clone().inner();
            if parameter.decays && rates.decay > 0.0 {
                value = value.mul_scalar(1.0 - rate * rates.decay);
            }
            value = value - change.mul_scalar(rate);
            if let Some(least) = parameter.least {
                value = value.clamp_min(least);
            }
            *parameter.value = Tensor::from_inner(value).require_grad();
        });
    }
}
