//! BECR in burn, differentiable from the head down to the encoder's embeddings.

pub(crate) mod bins;
mod encoder;
mod head;
mod loss;
mod network;
mod parameter;
mod place;
#[cfg(test)]
mod tests;
mod vanilla;

pub(crate) use encoder::EncoderTensors;
pub(crate) use head::{HeadTensors, values};
pub(crate) use network::Network;
pub(crate) use parameter::{Group, Learned};
pub(crate) use place::Place;
pub(crate) use vanilla::Vanilla;
