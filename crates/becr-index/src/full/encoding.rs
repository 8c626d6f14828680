//! From an encoded document to what the store keeps of it.

use crate::{Document, IndexError};
use becr_encoder::{EncodedDocument, Encoder, Shape};
use becr_footprint::lsh::Hyperplanes;
use becr_footprint::{DocumentLayout, Relation};
use becr_lmdb::Store;
use becr_model::Model;
use becr_store::Documents;

/// Encodes documents for one store.
pub struct DocumentEncoder<'a> {
    /// The encoder.
    pub encoder: &'a Encoder,
    pub(super) hyperplanes: Hyperplanes,
    shape: Shape,
}

/// The parts of a record that come from the encoder.
#[derive(Debug)]
pub struct Footprints {
    /// WordPieces, or words of a composed document.
    pub tokens: u32,
    /// Footprints of all layers in tile layout, layer after layer.
    pub tiles: Vec<u8>,
    /// The mean vector as a record has it.
    pub mean: Vec<u8>,
    /// How much of it there is in the tokens, if footprints are relative to it.
    pub share: f32,
    /// The lengths of what the tokens add to it, if footprints are relative.
    pub lengths: Vec<u8>,
    /// The `[CLS]` vector; empty for a composed document.
    pub cls: Vec<f32>,
}

impl Footprints {
    /// γ·CLS: what a record keeps of the `[CLS]` vector.
    pub fn gamma_cls(&self, gamma: Option<&[f32]>) -> f32 {
        crate::head::gamma_cls(gamma, &self.cls)
    }

    /// The mean vector alone.
    pub(super) fn without_tokens(self) -> Self {
        Self {
            tiles: Vec::new(),
            lengths: Vec::new(),
            share: 0.0,
            ..self
        }
    }

    /// Of whole tokens, and the footprint of their mean.
    pub(super) fn whole(tokens: usize, tiles: Vec<u8>, mean: &[u32], cls: Vec<f32>) -> Self {
        Self {
            tokens: tokens as u32,
            tiles,
            mean: mean.iter().flat_map(|word| word.to_le_bytes()).collect(),
            share: 0.0,
            lengths: Vec::new(),
            cls,
        }
    }

    /// Of what tokens add to their document's vector.
    pub(super) fn relative(
        tokens: usize,
        tiles: Vec<u8>,
        relation: Relation,
        cls: Vec<f32>,
    ) -> Self {
        Self {
            share: relation.share,
            lengths: relation.lengths,
            ..Self::whole(tokens, tiles, &relation.vector, cls)
        }
    }
}

impl<'a> DocumentEncoder<'a> {
    /// For the footprints of `model`, computed by `encoder`.
    pub fn new(model: &Model, encoder: &'a Encoder) -> Result<Self, IndexError> {
        let hyperplanes = becr_encoder::hyperplanes(&model.config)?;
        let hyperplanes =
            hyperplanes.ok_or_else(|| IndexError::RawModel(model.directory.clone()))?;
        Ok(Self {
            encoder,
            hyperplanes,
            shape: encoder.backend().shape().clone(),
        })
    }

    /// For the footprints of the encoder's own model; `None` if it keeps raw vectors.
    pub fn of_encoder(encoder: &'a Encoder) -> Option<Self> {
        Some(Self {
            encoder,
            hyperplanes: encoder.backend().hyperplanes()?.clone(),
            shape: encoder.backend().shape().clone(),
        })
    }

    /// Encodes or composes documents, as `store` has them, without keeping them: their footprints, in order.
    pub fn encode_all(
        &self,
        store: &Store,
        documents: Vec<Document>,
    ) -> Result<Vec<Footprints>, IndexError> {
        let mut all = Vec::with_capacity(documents.len());
        self.footprints_for(store, documents.into_iter().map(Ok), |_, footprints| {
            all.push(footprints);
            Ok(())
        })?;
        Ok(all)
    }

    /// The same for a store that is elsewhere and has documents of this kind. Composed ones are an error: they need its token
    /// groups.
    pub fn encode_all_as(
        &self,
        kind: Documents,
        documents: Vec<Document>,
    ) -> Result<Vec<Footprints>, IndexError> {
        if kind == Documents::Composed {
            return Err(IndexError::ComposedElsewhere);
        }
        let mut all = Vec::with_capacity(documents.len());
        self.encode(documents.into_iter().map(Ok), |_, footprints| {
            all.push(match kind {
                Documents::Vectors => footprints.without_tokens(),
                _ => footprints,
            });
            Ok(())
        })?;
        Ok(all)
    }

    /// Brings footprints into tiles and hashes the mean vector, unless they are relative to it.
    pub(crate) fn footprints(&self, document: &EncodedDocument) -> Result<Footprints, IndexError> {
        let tokens = document.pieces.len();
        let bits = self.shape.width() * 32;
        let layout = DocumentLayout::new(self.shape.layers.len(), tokens, bits)?;
        let mut tiles = vec![0; layout.bytes()];
        layout.tile(&document.footprints, &mut tiles)?;
        let cls = document.cls.clone();
        Ok(match &document.relation {
            Some(relation) => Footprints::relative(tokens, tiles, relation.clone(), cls),
            None => {
                let mut mean = vec![0; self.hyperplanes.width()];
                self.hyperplanes.footprint(&document.mean, &mut mean)?;
                Footprints::whole(tokens, tiles, &mean, cls)
            }
        })
    }
}
