//! Documents in memory, and batches of their tokens.

use anyhow::Context;
use becr_encoder::{Batch, Document, Encoder, Wanted};
use rayon::prelude::*;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Reads `.jsonl`, `.jsonl.zst`, or plain text, one document a line.
pub(crate) fn read(path: &Path, most: usize) -> anyhow::Result<Vec<Document>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let name = path.to_string_lossy();
    let reader: Box<dyn Read> = if name.ends_with(".zst") {
        Box::new(zstd::Decoder::new(file)?)
    } else {
        Box::new(file)
    };
    let lines = BufReader::new(reader).lines().take(most);
    lines
        .map(|line| document(line?, name.contains(".jsonl")))
        .collect()
}

fn document(line: String, json: bool) -> anyhow::Result<Document> {
    if !json {
        return Ok(Document::new("", "", line));
    }
    let value: Value = serde_json::from_str(&line)?;
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_string();
    Ok(Document::new("", field("title"), field("text")))
}

/// All documents as batches of about `tokens` tokens, with every WordPiece wanted.
pub(crate) fn batches(
    encoder: &Encoder,
    documents: &[Document],
    tokens: usize,
) -> Vec<(Batch, Wanted)> {
    let tokenised: Vec<_> = documents.par_iter().map(|d| encoder.tokenise(d)).collect();
    let mut batches = vec![(Batch::new(), Wanted::default())];
    for sequence in tokenised.iter().flat_map(|t| encoder.sequences(t)) {
        if batches
            .last()
            .is_some_and(|(batch, _)| batch.tokens() >= tokens)
        {
            batches.push((Batch::new(), Wanted::default()));
        }
        if let Some((batch, wanted)) = batches.last_mut() {
            let place = batch.push(sequence);
            let pieces = place.start + 1..place.end - 1;
            wanted.footprints.extend(pieces.map(|i| i..i + 1));
            wanted.vectors.push(place);
        }
    }
    batches
}
