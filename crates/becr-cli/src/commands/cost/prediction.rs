//! What an index that was measured predicts for another collection.

use super::units::{bytes, short};
use crate::commands::measured::components;
use crate::progress::duration;
use becr::Index;
use becr_groups::cost::predict::{Measured, Prediction, Target, predict};
use becr_text::groups::TokenGroup;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Words that the pace of token groups is measured with.
const TRIAL: usize = 4096;

/// An index, a collection, and what the one says of the other.
#[derive(Serialize)]
pub(super) struct Forecast {
    index: PathBuf,
    measured: Measured,
    target: Target,
    prediction: Prediction,
    /// What a trial on this machine says of the time; none if the index's model is not at hand.
    encoding: Option<Time>,
}

/// How long encoding takes on this machine.
#[derive(Serialize)]
struct Time {
    tokens_per_second: f64,
    seconds: f64,
    groups_per_second: f64,
    group_seconds: f64,
}

impl Time {
    fn try_out(
        encoder: &becr::Encoder,
        documents: u64,
        tokens: f64,
        groups: u64,
    ) -> anyhow::Result<Self> {
        let document = encoder.document_of(tokens.ceil().max(1.0) as usize);
        let words = encoder.vocabulary_words().into_iter();
        let words: Vec<TokenGroup> = words.map(TokenGroup::Unigram).take(TRIAL).collect();
        let tokens_per_second = encoder.document_pace(&[document])?;
        let groups_per_second = encoder.group_pace(&words)?;
        Ok(Self {
            seconds: documents as f64 * tokens / tokens_per_second,
            tokens_per_second,
            group_seconds: groups as f64 / groups_per_second,
            groups_per_second,
        })
    }
}

impl Forecast {
    /// Measures the index in `dir`.
    pub(super) fn new(dir: &Path, target: Target) -> anyhow::Result<Self> {
        let index = Index::open(dir)?;
        anyhow::ensure!(
            !index.is_in_cluster()?,
            "an index in a cluster does not know its sizes: predict from the one that it was exported from"
        );
        let sizes = index.stats()?.store;
        let sizes = sizes.ok_or_else(|| becr::Error::Lexical(dir.to_owned()))?;
        let measured = components(&sizes, dir)?;
        if measured.documents == 0 {
            anyhow::bail!(
                "{}: an index without documents predicts nothing; add some",
                dir.display()
            );
        }
        let tokens = tokens_of(&measured, &target);
        let groups = target.groups.unwrap_or(measured.groups);
        let encoding = match index.encoder() {
            Ok(encoder) => Some(Time::try_out(&encoder, target.documents, tokens, groups)?),
            Err(_) => None,
        };
        Ok(Self {
            encoding,
            index: dir.to_owned(),
            prediction: predict(&measured, &target),
            measured,
            target,
        })
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (measured, target) = (&self.measured, &self.target);
        let per_document = measured.tokens as f64 / measured.documents as f64;
        let tokens = tokens_of(measured, target);
        let groups = target.groups.unwrap_or(measured.groups);
        writeln!(
            out,
            "measured   {} documents of {per_document:.1} tokens, {} token groups: {}",
            short(measured.documents as f64),
            short(measured.groups as f64),
            self.index.display(),
        )?;
        writeln!(
            out,
            "predicted  {} documents of {tokens:.1} tokens, {} token groups",
            short(target.documents as f64),
            short(groups as f64),
        )?;
        writeln!(out)?;
        writeln!(out, "{:<30} {:>13} {:>13}", "", "measured", "predicted")?;
        let parts = measured.components.iter();
        for (now, then) in parts.zip(&self.prediction.components) {
            writeln!(
                out,
                "{:<30} {:>13} {:>13}",
                now.name,
                bytes(now.bytes),
                bytes(then.bytes)
            )?;
        }
        let total = measured.components.iter().map(|part| part.bytes).sum();
        writeln!(
            out,
            "{:<30} {:>13} {:>13}",
            "all",
            bytes(total),
            bytes(self.prediction.bytes)
        )?;
        writeln!(
            out,
            "{} a document, without token groups. Words are taken to grow with the tokens, which is more than they do.",
            bytes(self.prediction.bytes_per_document)
        )?;
        let Some(time) = &self.encoding else {
            return Ok(());
        };
        writeln!(
            out,
            "Encoding on this machine, as now: {} for the documents at {} tokens/s, {} for the token groups at {}/s (less for \
             those that come with the model).",
            duration(time.seconds),
            short(time.tokens_per_second),
            duration(time.group_seconds),
            short(time.groups_per_second),
        )
    }
}

/// WordPieces of an average document of the collection to predict for.
fn tokens_of(measured: &Measured, target: &Target) -> f64 {
    let per_document = measured.tokens as f64 / measured.documents as f64;
    target.tokens_per_document.unwrap_or(per_document)
}
