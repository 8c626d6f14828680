//! The encoder: batches to a device, bits back.

use crate::Cpu;
use crate::footprints::{Projection, pooled};
use crate::forward::{Input, MASKED};
use crate::parameters::{Parameters, Purpose};
use crate::results::{Launched, Results, values};
use crate::shapes::{Chunk, Shapes};
use crate::spans::{Layout, Pooling};
use crate::turn::{NAME, Turn, error};
use becr_encoder::{
    Backend, Batch, Centre, EncodeError, Encoded, HiddenStates, Shape, Wanted, hyperplanes,
};
use becr_footprint::lsh::Hyperplanes;
use becr_model::{Centres, Config, Weights};
use burn::tensor::backend::Backend as Device;
use burn::tensor::{DType, Int, Tensor, TensorData, Transaction};

/// Tokens that go through the model together on a CPU. It bounds the memory that attention takes.
const CPU_TOKENS: usize = 4096;

/// The forward pass on a device of burn's.
#[derive(Debug)]
pub struct BurnEncoder<B: Device> {
    device: B::Device,
    parameters: Parameters<B>,
    projection: Option<Projection<B>>,
    hyperplanes: Option<Hyperplanes>,
    centres: Option<Centres>,
    /// The projections of the centres of documents and of token groups at each kept layer.
    projected_centres: [Vec<Tensor<B, 2>>; 2],
    shape: Shape,
    shapes: Shapes,
    turn: Turn,
    /// What computes, if it has a name.
    implementation: Option<String>,
}

/// An encoder on burn's CPU backend.
///
/// Behind a trait object, so that burn is compiled here and not again in the crates that use it.
pub fn on_cpu(config: &Config, weights: &Weights) -> Result<Box<dyn Backend>, EncodeError> {
    let shapes = Shapes::exact(CPU_TOKENS);
    let encoder = BurnEncoder::<Cpu>::new(config, weights, Default::default(), shapes)?;
    Ok(Box::new(encoder))
}

impl<B: Device> BurnEncoder<B> {
    /// Uploads a model, without the layers behind the last kept one.
    pub fn new(
        config: &Config,
        weights: &Weights,
        device: B::Device,
        shapes: Shapes,
    ) -> Result<Self, EncodeError> {
        let shape = Shape::new(config)?;
        let depth = shape.layers.last().copied().unwrap_or(0);
        let hyperplanes = hyperplanes(config)?;
        let planes = hyperplanes.as_ref();
        let turn = Turn::new();
        let (parameters, projection, projected_centres) =
            turn.run("uploading the model", || {
                let projection = planes.map(|planes| Projection::upload(planes, &device));
                let projected = |centre: Centre| match &projection {
                    None => Vec::new(),
                    Some(projection) => {
                        let rows = centre.rows(weights.centres.as_ref(), &shape);
                        rows.into_iter().map(|row| projection.centre(row)).collect()
                    }
                };
                let centres = [Centre::Documents, Centre::Groups].map(projected);
                let parameters = Parameters::upload(
                    config,
                    weights,
                    depth,
                    Purpose::Inference,
                    (&device, DType::F32),
                );
                Ok((parameters, projection, centres))
            })?;
        Ok(Self {
            device,
            parameters,
            projection,
            hyperplanes,
            centres: weights.centres.clone(),
            projected_centres,
            shape,
            shapes,
            turn,
            implementation: None,
        })
    }

    /// Gives what computes a name, for [`Backend::implementation`].
    #[must_use]
    pub fn named(mut self, implementation: String) -> Self {
        self.implementation = Some(implementation);
        self
    }

    /// Queues all of a batch before anything is read, so that the device goes from chunk to chunk without a pause.
    fn launch(
        &self,
        batch: &Batch,
        centre: Centre,
        layout: &Layout,
        mut launched: Launched<B>,
    ) -> Launched<B> {
        let centres = &self.projected_centres[usize::from(centre == Centre::Groups)];
        for (number, chunk) in layout.chunks.iter().enumerate() {
            self.launch_chunk(batch, layout, (number, chunk), centres, &mut launched);
        }
        launched
    }

    fn launch_chunk(
        &self,
        batch: &Batch,
        layout: &Layout,
        (number, chunk): (usize, &Chunk),
        centres: &[Tensor<B, 2>],
        launched: &mut Launched<B>,
    ) {
        let footprints = &mut launched.footprints.pooling[number];
        let vectors = &mut launched.vectors.pooling[number];
        let projection = (self.projection.as_ref()).filter(|_| *footprints != Pooling::Nothing);
        let footprint_pool = footprints.upload(chunk, &self.device);
        let wants_vectors = *vectors != Pooling::Nothing;
        let vector_pool = vectors.upload(chunk, &self.device);
        if projection.is_none() && !wants_vectors {
            return;
        }
        let mut packed = Vec::new();
        let mut means = None;
        self.forward(batch, layout, chunk, |layer, hidden| {
            if let Some(projection) = projection {
                let centre = centres.get(packed.len());
                packed.push(projection.footprints(hidden, footprint_pool.as_ref(), centre));
            }
            if wants_vectors && Some(&layer) == self.shape.layers.last() {
                means = Some(match &vector_pool {
                    Some(pool) => pooled(hidden.clone(), pool),
                    None => hidden.clone(),
                });
            }
        });
        launched.output(number, packed, means);
    }

    /// Runs a chunk through the model and shows the hidden states of kept layers.
    fn forward(
        &self,
        batch: &Batch,
        layout: &Layout,
        chunk: &Chunk,
        mut show: impl FnMut(usize, &Tensor<B, 2>),
    ) {
        let input = self.input(batch, layout, chunk);
        self.parameters.forward(input, |layer, hidden| {
            if self.shape.layers.contains(&layer) {
                show(layer, hidden);
            }
        });
    }

    fn input(&self, batch: &Batch, layout: &Layout, chunk: &Chunk) -> Input<B> {
        let &Chunk { rows, length, .. } = chunk;
        let mut ids = vec![0i32; rows * length];
        // A row without a sequence attends to all of its nothing, which keeps it finite.
        let mut mask = vec![0.0; rows * length];
        for (row, tokens) in layout.rows(chunk).enumerate() {
            let start = row * length;
            let end = start + tokens.len();
            for (place, &id) in ids[start..end].iter_mut().zip(&batch.ids()[tokens]) {
                *place = id as i32;
            }
            mask[end..start + length].fill(MASKED);
        }
        let ids = TensorData::new(ids, [rows, length]);
        let mask = TensorData::new(mask, [rows, 1, 1, length]);
        Input {
            ids: Tensor::<B, 2, Int>::from_data(ids, &self.device),
            mask: Tensor::from_data(mask, &self.device),
            positions: None,
            second: None,
        }
    }
}

impl<B: Device> Backend for BurnEncoder<B> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn implementation(&self) -> Option<String> {
        self.implementation.clone()
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn side_by_side(&self) -> usize {
        1 // one queue, see `Turn`
    }

    fn hyperplanes(&self) -> Option<&Hyperplanes> {
        self.hyperplanes.as_ref()
    }

    fn centres(&self) -> Option<&Centres> {
        self.centres.as_ref()
    }

    fn hidden_states(&self, batch: &Batch) -> Result<HiddenStates, EncodeError> {
        batch.check(&self.shape)?;
        let dim = self.shape.dim;
        let mut layers = vec![vec![0.0; batch.tokens() * dim]; self.shape.layers.len()];
        let layout = Layout::new(batch, &self.shapes, self.shape.max_tokens);
        for chunk in &layout.chunks {
            let states = self.turn.run("computing hidden states", || {
                let mut kept = Transaction::<B>::default();
                self.forward(batch, &layout, chunk, |_, hidden| {
                    kept = std::mem::take(&mut kept).register(hidden.clone());
                });
                kept.try_execute()
                    .map_err(|problem| error(format!("reading hidden states: {problem}")))
            })?;
            for (states, layer) in states.iter().zip(&mut layers) {
                let states = values::<f32>(states)?;
                for (row, tokens) in layout.rows(chunk).enumerate() {
                    let found = &states[row * chunk.length * dim..][..tokens.len() * dim];
                    layer[tokens.start * dim..tokens.end * dim].copy_from_slice(found);
                }
            }
        }
        Ok(HiddenStates { dim, layers })
    }

    fn encode(&self, batch: &Batch, wanted: &Wanted) -> Result<Encoded, EncodeError> {
        batch.check(&self.shape)?;
        wanted.check(batch)?;
        if self.projection.is_none() && !wanted.footprints.is_empty() {
            return Err(EncodeError::RawVectors);
        }
        let layout = Layout::new(batch, &self.shapes, self.shape.max_tokens);
        let footprints = Results::new(layout.locate(&wanted.footprints)?);
        let vectors = Results::new(layout.locate(&wanted.vectors)?);
        let launched = Launched::new(footprints, vectors);
        let returned = self.turn.run("encoding a batch", || {
            self.launch(batch, wanted.centre, &layout, launched).read()
        })?;
        let mut encoded = returned.unpack(&self.shape)?;
        let centres = wanted.centre.rows(self.centres.as_ref(), &self.shape);
        if let Some(centre) = centres.last() {
            for vector in encoded.vectors.chunks_exact_mut(self.shape.dim) {
                vector.iter_mut().zip(*centre).for_each(|(x, c)| *x -= c);
            }
        }
        Ok(encoded)
    }
}
