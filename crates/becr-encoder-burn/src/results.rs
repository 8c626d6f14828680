//! What a device computes of a batch, on its way back.

use crate::spans::{Located, Pooling};
use crate::turn::error;
use becr_encoder::{EncodeError, Encoded, Shape};
use burn::tensor::backend::Backend as Device;
use burn::tensor::{Element, Int, Tensor, TensorData, Transaction};
use rayon::prelude::*;

/// Where the results of spans will be found.
pub(crate) struct Results {
    /// The chunk of every span, and the row of its result there.
    places: Vec<(usize, usize)>,
    /// What every chunk has to compute.
    pub(crate) pooling: Vec<Pooling>,
    /// The first output tensor of every chunk that has any.
    first: Vec<Option<usize>>,
}

impl Results {
    pub(crate) fn new(located: Located) -> Self {
        Self {
            first: vec![None; located.pooling.len()],
            places: located.places,
            pooling: located.pooling,
        }
    }

    /// The values of every chunk in its `offset`-th output tensor.
    fn chunks<'a, E: Element>(
        &self,
        outputs: &'a [TensorData],
        offset: usize,
    ) -> Result<Vec<&'a [E]>, EncodeError> {
        let chunks = self.first.iter();
        chunks
            .map(|first| first.map_or(Ok(&[][..]), |first| values(&outputs[first + offset])))
            .collect()
    }
}

/// The values of a tensor that was read.
pub(crate) fn values<E: Element>(data: &TensorData) -> Result<&[E], EncodeError> {
    data.as_slice()
        .map_err(|problem| error(format!("the device returned other numbers: {problem:?}")))
}

/// A batch that the device is working on.
pub(crate) struct Launched<B: Device> {
    outputs: Transaction<B>,
    count: usize,
    pub(crate) footprints: Results,
    pub(crate) vectors: Results,
}

impl<B: Device> Launched<B> {
    pub(crate) fn new(footprints: Results, vectors: Results) -> Self {
        Self {
            outputs: Transaction::default(),
            count: 0,
            footprints,
            vectors,
        }
    }

    /// Notes the outputs of a chunk: footprints of each layer, and the vectors of the last.
    pub(crate) fn output(
        &mut self,
        chunk: usize,
        footprints: Vec<Tensor<B, 2, Int>>,
        vectors: Option<Tensor<B, 2>>,
    ) {
        let mut outputs = std::mem::take(&mut self.outputs);
        if !footprints.is_empty() {
            self.footprints.first[chunk] = Some(self.count);
            self.count += footprints.len();
            outputs = footprints.into_iter().fold(outputs, Transaction::register);
        }
        if let Some(vectors) = vectors {
            self.vectors.first[chunk] = Some(self.count);
            self.count += 1;
            outputs = outputs.register(vectors);
        }
        self.outputs = outputs;
    }

    /// Waits for the device and reads what it computed.
    pub(crate) fn read(self) -> Result<Returned, EncodeError> {
        let outputs = if self.count == 0 {
            Vec::new()
        } else {
            let read = self.outputs.try_execute();
            read.map_err(|problem| error(format!("reading a batch: {problem}")))?
        };
        Ok(Returned {
            outputs,
            footprints: self.footprints,
            vectors: self.vectors,
        })
    }
}

/// What came back from the device, chunk by chunk.
pub(crate) struct Returned {
    outputs: Vec<TensorData>,
    footprints: Results,
    vectors: Results,
}

impl Returned {
    /// Puts footprints and vectors into the order in which they were asked for.
    pub(crate) fn unpack(self, shape: &Shape) -> Result<Encoded, EncodeError> {
        Ok(Encoded {
            footprints: self.footprints(shape)?,
            vectors: self.vectors(shape)?,
        })
    }

    fn footprints(&self, shape: &Shape) -> Result<Vec<u32>, EncodeError> {
        let words = shape.width();
        let places = &self.footprints.places;
        let mut footprints = vec![0; shape.layers.len() * places.len() * words];
        if places.is_empty() {
            return Ok(footprints);
        }
        let layers = footprints.par_chunks_exact_mut(places.len() * words);
        layers.enumerate().try_for_each(|(layer, footprints)| {
            let chunks = self.footprints.chunks::<i32>(&self.outputs, layer)?;
            for (out, &(chunk, row)) in footprints.chunks_exact_mut(words).zip(places) {
                let packed = &chunks[chunk][row * words..][..words];
                for (out, &word) in out.iter_mut().zip(packed) {
                    *out = word as u32;
                }
            }
            Ok::<_, EncodeError>(())
        })?;
        Ok(footprints)
    }

    fn vectors(&self, shape: &Shape) -> Result<Vec<f32>, EncodeError> {
        let dim = shape.dim;
        let chunks = self.vectors.chunks::<f32>(&self.outputs, 0)?;
        let places = &self.vectors.places;
        let mut vectors = Vec::with_capacity(places.len() * dim);
        for &(chunk, row) in places {
            vectors.extend_from_slice(&chunks[chunk][row * dim..][..dim]);
        }
        Ok(vectors)
    }
}
