//! Re-ranking with vectors in the place of footprints.

use super::Task;
use crate::progress;
use crate::ranking::RankArgs;
use anyhow::{Context, bail};
use becr::{Documents, Index, RerankAnswer};
use becr_footprint::VectorDocument;
use becr_rank::{RankQuery, RankWorkspace, RawVectors, ranking};
use becr_text::groups::TokenGroup;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::collections::HashMap;

/// Documents and token groups, encoded again.
struct Vectors {
    documents: HashMap<u64, (VectorDocument, Vec<f32>)>,
    groups: HashMap<String, Vec<f32>>,
    dim: usize,
    layers: usize,
}

/// Whole queries and composed documents have no vectors to compare.
pub(super) fn check(index: &Index, args: &RankArgs) -> anyhow::Result<()> {
    if !args.is_plain(index)? {
        bail!(
            "--raw goes with the score of token groups as a whole, without --mode encoded, one-vector and --without"
        );
    }
    let asked = becr_rank::Options {
        variant: args.options().variant,
        ..becr_rank::Options::default()
    };
    if index.ranker()?.mixes(&asked) {
        bail!(
            "--raw compares the vectors of token groups, and this index's model mixes them; add --variant plain"
        );
    }
    if index.ranker()?.head().is_list_wise() {
        bail!(
            "--raw goes with heads that score each document by itself: this one goes by the list"
        );
    }
    if index.documents_are()? == Some(Documents::Composed) {
        bail!("the documents of this index are composed: there are no vectors to compare");
    }
    if index.documents_are()? == Some(Documents::Vectors) {
        bail!(
            "this index keeps no footprints of tokens, so there is nothing that --raw could take the place of"
        );
    }
    Ok(())
}

/// Replaces the deep part of every score by that of raw vectors, and sorts anew.
pub(super) fn rescore(
    index: &Index,
    tasks: &[Task<'_>],
    answers: &mut [Option<RerankAnswer>],
) -> anyhow::Result<()> {
    let vectors = Vectors::encode(index, answers)?;
    let ranker = index.ranker()?;
    let pairs = answers.par_iter_mut().zip(tasks);
    pairs.try_for_each_init(RankWorkspace::new, |work, (ranked, task)| {
        let Some(ranked) = ranked else {
            return Ok(());
        };
        let query = vectors.query(&ranked.query);
        for (_, scored) in &mut ranked.order {
            let (tokens, mean) = &vectors.documents[&scored.number];
            let document = RawVectors { tokens, mean };
            let deep = ranker.raw_deep(&ranked.query, &query, &document, work)?;
            scored.score += deep - scored.deep;
            scored.deep = deep;
        }
        let scored: Vec<_> = ranked.order.iter().map(|(_, scored)| *scored).collect();
        let id = |(place, _): &(usize, _)| task.candidates[*place].0.as_str();
        let ids: Vec<&str> = ranked.order.iter().map(id).collect();
        let order = ranking(&scored, &ids);
        ranked.order = order.into_iter().map(|at| ranked.order[at]).collect();
        Ok(())
    })
}

impl Vectors {
    fn encode(index: &Index, answers: &[Option<RerankAnswer>]) -> anyhow::Result<Self> {
        let encoder = index.encoder()?;
        let shape = encoder.backend().shape();
        let (dim, layers) = (shape.dim, shape.layers.len());
        let found = answers.iter().flatten();
        let numbers: BTreeSet<u64> = found
            .clone()
            .flat_map(|ranked| ranked.order.iter().map(|(_, scored)| scored.number))
            .collect();
        let names: BTreeSet<&str> = found
            .flat_map(|ranked| ranked.query.terms())
            .flat_map(|term| term.groups.iter().map(|used| used.group.as_str()))
            .collect();
        let bar = progress::counting((numbers.len() + names.len()) as u64, "encoded");
        let view = index.view()?;
        let snapshot = view.snapshot()?;
        let mut texts = Vec::new();
        for number in numbers {
            let text = snapshot
                .text(number)?
                .context("the index keeps no texts to encode again; build it without --no-text")?;
            texts.push((number, text));
        }
        // Each document is a task of its own: one alone is too short to keep many cores busy.
        let documents = texts.par_iter().map(|(number, text)| {
            let raw = encoder.raw_document(&text.title, &text.text)?;
            let tokens = VectorDocument::new(layers, raw.tokens, dim, &raw.vectors)?;
            bar.inc(1);
            Ok((*number, (tokens, raw.mean)))
        });
        let documents = documents.collect::<anyhow::Result<_>>()?;
        let groups = names.par_iter().map(|&name| {
            let group = match name.split_once(' ') {
                Some((first, second)) => TokenGroup::Pair(first.into(), second.into()),
                None => TokenGroup::Unigram(name.into()),
            };
            bar.inc(1);
            Ok((name.to_owned(), encoder.raw_group(&group)?))
        });
        let groups = groups.collect::<anyhow::Result<_>>()?;
        bar.finish_and_clear();
        Ok(Self {
            documents,
            groups,
            dim,
            layers,
        })
    }

    /// The distinct vectors of a query, `[layer][vector][dim]`.
    fn query(&self, query: &RankQuery) -> Vec<f32> {
        let (dim, count) = (self.dim, query.vectors());
        let mut vectors = vec![0.0; self.layers * count * dim];
        for used in query.terms().iter().flat_map(|term| &term.groups) {
            let group = &self.groups[&used.group];
            let slots = group.len() / (self.layers * dim);
            for layer in 0..self.layers {
                let from = (layer * slots + usize::from(used.second)) * dim;
                let to = (layer * count + used.vector) * dim;
                vectors[to..to + dim].copy_from_slice(&group[from..from + dim]);
            }
        }
        vectors
    }
}
