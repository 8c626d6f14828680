//! Documents: cut into segments that the model can take, encoded in batches, put together again.

use crate::flow::in_order;
use crate::{Batch, EncodeError, Encoder, Wanted};
use becr_basics::Document;
use becr_footprint::Relation;
use becr_text::pieces::{Pieces, Tokenised};
use rayon::prelude::*;
use std::mem::take;
use std::ops::Range;

/// A document as the index stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedDocument {
    /// The WordPieces, title first. Places and word positions count within their field.
    pub pieces: Pieces,
    /// How many of them belong to the title.
    pub title_pieces: usize,
    /// `[layers, pieces, words]`: one footprint per WordPiece and kept layer, without `[CLS]` and `[SEP]`.
    pub footprints: Vec<u32>,
    /// The vector of `[CLS]` at the last kept layer, averaged over the segments.
    pub cls: Vec<f32>,
    /// The mean of all WordPieces' vectors at the last kept layer; zeros for a document without text.
    pub mean: Vec<f32>,
    /// What the footprints are relative to, if they are.
    pub relation: Option<Relation>,
}

impl EncodedDocument {
    /// The footprint of a WordPiece at the `layer`-th kept layer; `words` is [`Shape::width`](crate::Shape::width).
    pub fn footprint(&self, layer: usize, piece: usize, words: usize) -> &[u32] {
        &self.footprints[(layer * self.pieces.len() + piece) * words..][..words]
    }
}

impl Encoder {
    /// Cuts a document into the sequences that the model is given: even segments in `[CLS]` and `[SEP]`.
    pub fn sequences(&self, tokenised: &Tokenised) -> impl Iterator<Item = Vec<u32>> {
        let ids = &tokenised.pieces.ids;
        segments(ids.len(), self.backend.shape().max_tokens - 2)
            .map(|segment| self.sequence(&ids[segment]).collect())
    }

    /// Encodes one document.
    pub fn document(&self, title: &str, text: &str) -> Result<EncodedDocument, EncodeError> {
        let tokenised = self.pieces.document(title, text);
        let mut encoded = self.encode_together(vec![tokenised])?;
        // One document went in, so one comes out.
        Ok(encoded.remove(0))
    }

    /// Encodes a stream of documents, several batches at a time, makes of each what `finish` says, and hands that on in
    /// order. Memory is bounded by the batch, times twice the threads (and by the longest document, whose vectors are all kept
    /// where footprints are relative), not by the stream. It ends at the first error.
    pub fn documents<T: Send, E: From<EncodeError> + Send>(
        &self,
        documents: impl IntoIterator<Item = Document>,
        finish: impl Fn(Document, EncodedDocument) -> Result<T, E> + Sync,
        mut emit: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        // A stream that ended at a fault must not go on behind it.
        let mut documents = documents.into_iter().fuse();
        let batches = std::iter::from_fn(|| self.next_batch(&mut documents));
        let work = |batch: Vec<Document>| -> Result<Vec<T>, E> {
            let tokenised = batch.iter().map(|document| self.tokenise(document));
            let encoded = self.encode_together(tokenised.collect())?;
            let documents = batch.into_iter().zip(encoded);
            documents
                .map(|(document, encoded)| finish(document, encoded))
                .collect()
        };
        in_order(batches, self.threads(), work, |finished| {
            finished?.into_iter().try_for_each(&mut emit)
        })
    }

    /// Documents that make about one batch; a WordPiece is about four bytes of text. `None` at the end.
    fn next_batch(&self, documents: &mut impl Iterator<Item = Document>) -> Option<Vec<Document>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < 4 * self.batch_tokens
            && let Some(document) = documents.next()
        {
            bytes += document.title.len() + document.text.len() + 8; // [CLS] and [SEP] count too
            batch.push(document);
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// The WordPieces of a document, title first.
    pub fn tokenise(&self, document: &Document) -> Tokenised {
        self.pieces.document(&document.title, &document.text)
    }

    fn encode_together(
        &self,
        tokenised: Vec<Tokenised>,
    ) -> Result<Vec<EncodedDocument>, EncodeError> {
        let shape = self.backend.shape();
        let longest = shape.max_tokens - 2;
        let mut documents: Vec<_> = tokenised
            .into_iter()
            .map(|tokenised| blank(tokenised, shape))
            .collect();
        let mut batch = Segments::new(documents.len(), shape.relative);
        for number in 0..documents.len() {
            for segment in segments(documents[number].pieces.len(), longest) {
                if !batch.places.is_empty()
                    && batch.tokens.tokens() + segment.len() + 2 > self.batch_tokens
                {
                    batch.flush(self, &mut documents)?;
                }
                batch.push(
                    number,
                    &segment,
                    self.sequence(&documents[number].pieces.ids[segment.clone()]),
                );
            }
        }
        batch.flush(self, &mut documents)?;
        if let (true, Some(planes)) = (shape.relative, self.backend.hyperplanes()) {
            let relate = |(document, vectors): (&mut EncodedDocument, Vec<f32>)| {
                let (relation, footprints) = Relation::new(planes, &vectors, &document.mean)?;
                document.footprints = footprints;
                document.relation = Some(relation);
                Ok::<(), EncodeError>(())
            };
            (documents.par_iter_mut().zip(batch.vectors)).try_for_each(relate)?;
        }
        Ok(documents)
    }
}

/// A document whose footprints are yet to come.
fn blank(tokenised: Tokenised, shape: &crate::Shape) -> EncodedDocument {
    let Tokenised {
        pieces,
        title_pieces,
    } = tokenised;
    EncodedDocument {
        footprints: vec![0; shape.layers.len() * pieces.len() * shape.width()],
        cls: vec![0.0; shape.dim],
        mean: vec![0.0; shape.dim],
        relation: None,
        pieces,
        title_pieces,
    }
}

/// Cuts `pieces` WordPieces into as few segments of at most `longest` as possible, whose sizes differ by at most
/// one. Without any pieces there is still one segment, for the sake of its `[CLS]`.
pub fn segments(pieces: usize, longest: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let count = pieces.div_ceil(longest).max(1);
    (0..count).map(move |i| i * pieces / count..(i + 1) * pieces / count)
}

/// Segments of documents that are encoded together.
struct Segments {
    tokens: Batch,
    wanted: Wanted,
    /// Which document, and which of its pieces.
    places: Vec<(usize, Range<usize>)>,
    /// True if the vectors of all pieces are wanted and not their footprints, which are relative.
    relative: bool,
    /// The vectors of each document's pieces so far, if they are wanted.
    vectors: Vec<Vec<f32>>,
}

impl Segments {
    fn new(documents: usize, relative: bool) -> Self {
        Self {
            tokens: Batch::new(),
            wanted: Wanted::default(),
            places: Vec::new(),
            relative,
            vectors: vec![Vec::new(); documents],
        }
    }

    fn push(
        &mut self,
        document: usize,
        segment: &Range<usize>,
        sequence: impl Iterator<Item = u32>,
    ) {
        let tokens = self.tokens.push(sequence);
        let inner = tokens.start + 1..tokens.end - 1;
        self.wanted.vectors.push(tokens.start..tokens.start + 1);
        if !inner.is_empty() && !self.relative {
            self.wanted.vectors.push(inner.clone());
        }
        let wanted = match self.relative {
            true => &mut self.wanted.vectors,
            false => &mut self.wanted.footprints,
        };
        wanted.extend(inner.map(|token| token..token + 1));
        self.places.push((document, segment.clone()));
    }

    /// Encodes what has gathered and gives every document its part.
    fn flush(
        &mut self,
        encoder: &Encoder,
        documents: &mut [EncodedDocument],
    ) -> Result<(), EncodeError> {
        let (tokens, wanted) = (take(&mut self.tokens), take(&mut self.wanted));
        let places = take(&mut self.places);
        if places.is_empty() {
            return Ok(());
        }
        let shape = encoder.backend.shape();
        let encoded = encoder.backend.encode(&tokens, &wanted)?;
        let (words, spans) = (shape.width(), wanted.footprints.len());
        let mut vectors = encoded.vectors.chunks_exact(shape.dim);
        let mut first = 0;
        for (number, segment) in places {
            let document = &mut documents[number];
            let pieces = document.pieces.len();
            if !self.relative {
                for layer in 0..shape.layers.len() {
                    let from = &encoded.footprints[(layer * spans + first) * words..]
                        [..segment.len() * words];
                    let start = (layer * pieces + segment.start) * words;
                    document.footprints[start..start + from.len()].copy_from_slice(from);
                }
                first += segment.len();
            }
            let segments = pieces.div_ceil(shape.max_tokens - 2).max(1);
            add(&mut document.cls, vectors.next(), 1.0 / segments as f32);
            if self.relative {
                let kept = &mut self.vectors[number];
                if kept.is_empty() {
                    kept.reserve_exact(pieces * shape.dim);
                }
                for vector in vectors.by_ref().take(segment.len()) {
                    add(&mut document.mean, Some(vector), 1.0 / pieces as f32);
                    kept.extend_from_slice(vector);
                }
            } else if !segment.is_empty() {
                add(
                    &mut document.mean,
                    vectors.next(),
                    segment.len() as f32 / pieces as f32,
                );
            }
        }
        Ok(())
    }
}

fn add(sum: &mut [f32], vector: Option<&[f32]>, weight: f32) {
    sum.iter_mut()
        .zip(vector.unwrap_or_default())
        .for_each(|(sum, x)| *sum += weight * x);
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn segments_are_even_and_cover_everything() {
        for pieces in 0..2000 {
            let list: Vec<_> = segments(pieces, 510).collect();
            let sizes = list.iter().map(ExactSizeIterator::len);
            let (least, most) = (sizes.clone().min().unwrap(), sizes.clone().max().unwrap());
            assert!(most <= 510 && most - least <= 1, "{pieces}: {list:?}");
            assert_eq!(list.len(), pieces.div_ceil(510).max(1));
            assert!(list.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((list[0].start, list[list.len() - 1].end), (0, pieces));
        }
    }
}
