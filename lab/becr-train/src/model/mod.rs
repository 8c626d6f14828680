//! BECR in burn, differentiable from the head down to the encoder's embeddings.

pub(crate) mod bins;
mod encoder;
mod head;
mod kernels;
mod loss;
mod network;
mod parameter;
mod place;
#[cfg(test)]
pub(crate) mod tests;
mod vanilla;

pub(crate) use encoder::{EncoderTensors, unit};
pub(crate) use head::{HeadTensors, values};
pub(crate) use kernels::gaussian;
pub(crate) use network::Network;
pub(crate) use parameter::{Group, Learned, Parameter};
pub(crate) use place::Place;
pub(crate) use vanilla::Vanilla;
