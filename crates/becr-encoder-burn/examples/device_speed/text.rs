//! Documents to batches.

use anyhow::Context;
use becr_encoder::{Batch, Wanted};
use becr_model::Model;
use becr_text::pieces::WordPieces;
use rayon::prelude::*;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Documents that are tokenised at a time.
const BLOCK: usize = 512;

/// Texts in memory, title first.
pub(crate) struct Documents {
    pub(crate) texts: Vec<String>,
}

impl Documents {
    pub(crate) fn read(path: &Path, most: usize) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let name = path.to_string_lossy();
        let reader: Box<dyn Read> = if name.ends_with(".zst") {
            Box::new(zstd::Decoder::new(file)?)
        } else {
            Box::new(file)
        };
        let json = name.contains(".jsonl");
        let texts = BufReader::new(reader)
            .lines()
            .take(most)
            .map(|line| if json { title_and_text(&line?) } else { Ok(line?) })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { texts })
    }
}

fn title_and_text(line: &str) -> anyhow::Result<String> {
    let document: Value = serde_json::from_str(line)?;
    let field = |name: &str| document[name].as_str().unwrap_or_default().to_string();
    Ok(field("title") + "\n" + &field("text"))
}

/// Cuts documents into even segments.
pub(crate) struct Segments {
    pieces: WordPieces,
    most: usize,
}

impl Segments {
    pub(crate) fn new(model: &Model) -> anyhow::Result<Self> {
        Ok(Self {
            pieces: WordPieces::from_dir(&model.directory)?,
            most: model.config.max_position_embeddings - 2,
        })
    }

    /// Batches of about `tokens` tokens, tokenised on all cores.
    pub(crate) fn batches<'a>(
        &'a self,
        texts: &'a [String],
        tokens: usize,
    ) -> impl Iterator<Item = (Batch, Wanted)> + 'a {
        let mut documents = texts.chunks(BLOCK).flat_map(|block| self.tokenise(block));
        std::iter::from_fn(move || {
            let mut filling = (Batch::new(), Wanted::default());
            while filling.0.tokens() < tokens
                && let Some(document) = documents.next()
            {
                self.push(&document, &mut filling);
            }
            (!filling.0.is_empty()).then_some(filling)
        })
    }

    /// One batch of all texts.
    pub(crate) fn batch(&self, texts: &[String]) -> (Batch, Wanted) {
        let mut filling = (Batch::new(), Wanted::default());
        for document in self.tokenise(texts) {
            self.push(&document, &mut filling);
        }
        filling
    }

    fn tokenise(&self, texts: &[String]) -> Vec<Vec<u32>> {
        let texts = texts.par_iter();
        texts.map(|text| self.pieces.pieces(text).ids).collect()
    }

    fn push(&self, document: &[u32], (batch, wanted): &mut (Batch, Wanted)) {
        let special = self.pieces.special;
        let segments = document.len().div_ceil(self.most).max(1);
        for segment in 0..segments {
            let cut = |i: usize| i * document.len() / segments;
            let pieces = &document[cut(segment)..cut(segment + 1)];
            let framed = [&[special.cls], pieces, &[special.sep]].concat();
            let place = batch.push(framed);
            let inner = place.start + 1..place.end - 1;
            wanted.footprints.extend(inner.clone().map(|i| i..i + 1));
            wanted.vectors.push(place.start..place.start + 1);
            wanted.vectors.extend((!inner.is_empty()).then_some(inner));
        }
    }
}
