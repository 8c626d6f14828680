//! Re-ranking with vectors in the place of footprints.
//!
//! Every document is encoded once, whichever queries it is a candidate of, and forgotten when it has been compared with
//! all of them: memory is for the vectors of queries and a few documents, however long the documents are.

mod documents;
mod queries;

use anyhow::bail;
use becr::{Documents, Index, RerankAnswer, Scorer};
use becr_cli::progress;
use becr_cli::rerank::{Args, Rescore, Task};
use becr_encoder::Encoder;
use becr_model::Similarity;
use becr_rank::{RankWorkspace, RawVectors, Reading, ranking};
use documents::RawDocuments;
use queries::RawQueries;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers of query vectors that are held at once: 1 GiB of them. More queries than have these are read in turns.
const HELD: usize = 1 << 28;

/// Documents that are encoded together: on a GPU they are one batch.
const TOGETHER: usize = 64;

/// How the vectors of a term's token groups are joined.
#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Joined {
    /// Σ w·cos(group, token), as footprints are compared.
    #[default]
    SumOfCosines,
    /// cos(Σ w·group, token): the cosine of the composed vector.
    CosineOfSum,
}

impl From<Joined> for Similarity {
    fn from(joined: Joined) -> Self {
        match joined {
            Joined::SumOfCosines => Self::SumOfCosines,
            Joined::CosineOfSum => Self::CosineOfSum,
        }
    }
}

/// Vectors in the place of footprints, joined in this way.
pub(super) struct Raw(pub(super) Joined);

impl Rescore for Raw {
    fn check(&self, index: &Index, args: &Args) -> anyhow::Result<()> {
        check(index, args)
    }

    fn rescore(
        &self,
        index: &Index,
        args: &Args,
        tasks: &[Task<'_>],
        answers: &mut [Option<RerankAnswer>],
    ) -> anyhow::Result<()> {
        rescore(index, args, self.0, tasks, answers)
    }
}

/// Refuses what has no vectors that could take the place of footprints.
fn check(index: &Index, args: &Args) -> anyhow::Result<()> {
    let options = args.rank.options();
    let ranker = index.ranker()?;
    if options.scorer == Scorer::OneVector {
        bail!("--raw is about footprints, and one-vector compares none");
    }
    if ranker.plan(&options)?.reading == Reading::Mixed {
        bail!(
            "--raw compares the vectors of token groups, and this index's model mixes them; add --variant plain"
        );
    }
    if ranker.head().is_list_wise() {
        bail!(
            "--raw goes with heads that score each document by itself: this one goes by the list"
        );
    }
    if index.documents_are()? == Some(Documents::Vectors) {
        bail!(
            "this index keeps no footprints of tokens, so there is nothing that --raw could take the place of"
        );
    }
    Ok(())
}

/// Replaces the deep part of every score by that of raw vectors, and sorts anew.
fn rescore(
    index: &Index,
    args: &Args,
    joined: Joined,
    tasks: &[Task<'_>],
    answers: &mut [Option<RerankAnswer>],
) -> anyhow::Result<()> {
    if args.rank.options().without.deep {
        return Ok(());
    }
    let encoder = encoder(index, args)?;
    let documents = RawDocuments::new(index, &encoder)?;
    let shape = encoder.backend().shape();
    let each = shape.dim * shape.layers.len();
    let bar = progress::counting(
        uses(answers).values().map(Vec::len).sum::<usize>() as u64,
        "compared",
    );
    let mut first = 0;
    while first < answers.len() {
        // As many queries as there is room for the vectors of.
        let mut numbers = 0;
        let fits = |answer: &&Option<RerankAnswer>| {
            let vectors = answer.as_ref().map_or(0, |answer| answer.query.vectors());
            numbers += vectors * each;
            numbers <= HELD
        };
        let count = answers[first..].iter().take_while(fits).count().max(1);
        let part = &mut answers[first..first + count];
        let queries = RawQueries::new(index, &encoder, joined.into(), part)?;
        compare(&documents, &queries, part, &|| bar.inc(1))?;
        first += count;
    }
    bar.finish_and_clear();
    for (ranked, task) in answers.iter_mut().zip(tasks) {
        if let Some(ranked) = ranked {
            sort(ranked, task);
        }
    }
    Ok(())
}

/// What encodes: the index's own encoder, or what the flags say.
fn encoder(index: &Index, args: &Args) -> anyhow::Result<Arc<Encoder>> {
    if args.backend.is_default() {
        return Ok(index.encoder()?);
    }
    let model = index.model()?.as_ref().clone();
    Ok(Arc::new(args.backend.open(model)?))
}

/// Of every document, which answers have it and at which place of their order.
fn uses(answers: &[Option<RerankAnswer>]) -> BTreeMap<u64, Vec<(usize, usize)>> {
    let mut uses: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (answer, ranked) in answers.iter().enumerate() {
        for (place, (_, scored)) in ranked
            .iter()
            .flat_map(|ranked| ranked.order.iter())
            .enumerate()
        {
            uses.entry(scored.number).or_default().push((answer, place));
        }
    }
    uses
}

/// Compares every document with the queries that it is a candidate of.
fn compare(
    documents: &RawDocuments<'_>,
    queries: &RawQueries,
    answers: &mut [Option<RerankAnswer>],
    done: &(dyn Fn() + Sync),
) -> anyhow::Result<()> {
    let uses: Vec<(u64, Vec<(usize, usize)>)> = uses(answers).into_iter().collect();
    for part in uses.chunks(TOGETHER) {
        let numbers: Vec<u64> = part.iter().map(|(number, _)| *number).collect();
        let encoded = documents.encode(&numbers)?;
        let compared = part.par_iter().zip(&encoded);
        let scores = compared.map_init(RankWorkspace::new, |work, ((_, uses), (tokens, mean))| {
            let document = RawVectors { tokens, mean };
            let scores = uses.iter().map(|&(answer, place)| {
                let query = answers[answer].as_ref().map(|ranked| &ranked.query);
                let deep = match query {
                    Some(query) => queries.deep(answer, query, &document, work)?,
                    None => 0.0,
                };
                done();
                Ok((answer, place, deep))
            });
            scores.collect::<anyhow::Result<Vec<_>>>()
        });
        let scores: Vec<Vec<(usize, usize, f32)>> = scores.collect::<anyhow::Result<_>>()?;
        for (answer, place, deep) in scores.into_iter().flatten() {
            if let Some(ranked) = &mut answers[answer] {
                let scored = &mut ranked.order[place].1;
                scored.score += deep - scored.deep;
                scored.deep = deep;
            }
        }
    }
    Ok(())
}

fn sort(ranked: &mut RerankAnswer, task: &Task<'_>) {
    let scored: Vec<_> = ranked.order.iter().map(|(_, scored)| *scored).collect();
    let id = |(place, _): &(usize, _)| task.id(*place);
    let ids: Vec<&str> = ranked.order.iter().map(id).collect();
    let order = ranking(&scored, &ids);
    ranked.order = order.into_iter().map(|at| ranked.order[at]).collect();
}
