//! `becr explain`: why a document has its score, and why another has less.

mod html;
mod paint;
mod reasons;
mod shade;
mod text;

pub(crate) use reasons::Reasons;

use crate::output;
use crate::ranking::{Covered, Entry, RankArgs, Ranked, Ranking};
use anyhow::Context;
use becr_index::first_stage::FirstStage;
use becr_model::Config;
use becr_rank::{Explanation, QueryTerm, RankWorkspace, Row, Shading};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Explain the score of a document, or the difference of two
///
/// Scores are sums, so they can be taken apart: by part (deep, lexi, others), by query
/// term, by layer and kernel, by feature with its weight. With two documents, the
/// difference of their scores is taken apart the same way; its rows add up to it. The
/// document's words are shaded by how similar they are to the query's terms, each in
/// the colour of the term that it is closest to.
///
/// The scores are those of `becr search` with the same --depth: one feature, the score
/// of the first stage, is relative to the list of candidates. A document that is not
/// among the candidates has no such score.
///
/// Examples:
///
///   becr explain notes.becr "sourdough dense crumb" bread.md
///
///   becr explain notes.becr "sourdough dense crumb" bread.md cake.md --html why.html
///
///   becr explain notes.becr "sourdough dense crumb" bread.md --term dense --kernels
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// What was searched for.
    query: String,
    /// The document.
    #[arg(value_name = "DOC")]
    document: String,
    /// A second document, to compare with.
    #[arg(value_name = "DOC2")]
    other: Option<String>,
    /// Shade the words by their similarity to this query term alone.
    #[arg(long, value_name = "WORD", conflicts_with_all = ["json", "html"])]
    term: Option<String>,
    /// Print the table of layers and kernels for every query term too.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    kernels: bool,
    /// How many candidates of the first stage the list has.
    #[arg(long, default_value_t = super::search::DEPTH, env = "BECR_DEPTH")]
    depth: usize,
    #[command(flatten)]
    rank: RankArgs,
    /// Print as JSON, every number in it.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write a page to look at in a browser: one file, which needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// All there is to say.
#[derive(Serialize)]
struct Report {
    query: String,
    /// Words of the query with a deep term: what they weigh and what they are composed of.
    terms: Vec<QueryTerm>,
    coverage: Covered,
    /// The layers that are compared, as the encoder counts them: 0 is the embedding layer.
    layers: Vec<usize>,
    /// The kernels' centres.
    kernels: Vec<f32>,
    documents: Vec<Explained>,
    /// What makes the first document's score differ from the second's.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

/// A document with its score taken apart.
#[derive(Serialize)]
struct Explained {
    id: String,
    title: String,
    /// Ranks among the candidates; absent if it is none of them.
    rank: Option<usize>,
    first_stage_rank: Option<usize>,
    explanation: Explanation,
    /// Similarities of its words to the terms at the last kept layer; absent if the index keeps no texts.
    shading: Option<Shading>,
}

#[derive(Serialize)]
struct Difference {
    score: f64,
    rows: Vec<Row>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let report = report(args)?;
    match &args.html {
        Some(path) => {
            let page = html::page(&report);
            becr_eval::write_atomically(path, |out| out.write_all(page.as_bytes()))?;
            output::note(format_args!("{}: open it in a browser", path.display()));
        }
        None if args.json => output::json(&report)?,
        None => text::print(&report, args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn report(args: &Args) -> anyhow::Result<Report> {
    let index = Ranking::open(&args.index, &args.rank)?;
    let hits = FirstStage::open(&args.index)?.search(&args.query, args.depth)?;
    let asked: Vec<&str> = std::iter::once(&args.document)
        .chain(&args.other)
        .map(String::as_str)
        .collect();
    let mut entries: Vec<Entry<'_>> = hits.iter().map(Entry::of_hit).collect();
    for &id in &asked {
        if !entries.iter().any(|entry| entry.id == id) {
            entries.push(Entry::without_score(id));
        }
    }
    let work = &mut RankWorkspace::new();
    let ranked = index.rank(&args.query, &entries, work)?;
    let mut documents = Vec::new();
    for id in asked {
        let place = entries.iter().position(|entry| entry.id == id);
        let place = place.filter(|place| !ranked.unknown.contains(place));
        let place = place.with_context(|| format!("no document \"{id}\" in this index"))?;
        documents.push(explained(&index, &ranked, &entries, place, hits.len())?);
    }
    let difference = match &documents[..] {
        [first, second] => Some(Difference {
            score: first.explanation.score - second.explanation.score,
            rows: first.explanation.difference(&second.explanation),
        }),
        _ => None,
    };
    let config = Config::read(&args.index.join("model").join("config.json"))?;
    Ok(Report {
        query: args.query.clone(),
        terms: ranked.query.terms().to_vec(),
        coverage: Covered::of(&ranked.query),
        layers: config.kept_layers().map_err(anyhow::Error::msg)?,
        kernels: index.ranker().kernels().mu().to_vec(),
        documents,
        difference,
    })
}

fn explained(
    index: &Ranking,
    ranked: &Ranked,
    entries: &[Entry<'_>],
    place: usize,
    hits: usize,
) -> anyhow::Result<Explained> {
    let explanation = index.explain(ranked, entries, place)?;
    let snapshot = index.store().snapshot()?;
    let is_candidate = place < hits;
    let mut candidates = ranked.order.iter().filter(|(at, _)| *at < hits);
    let rank = candidates.position(|(at, _)| *at == place);
    let shading = match snapshot.text(explanation.number)? {
        Some(_) => {
            let last = usize::from(index.ranker().shape().layers) - 1;
            let work = &mut RankWorkspace::new();
            let (query, number) = (&ranked.query, explanation.number);
            Some(
                index
                    .ranker()
                    .shading(query, &snapshot, number, last, work)?,
            )
        }
        None => None,
    };
    Ok(Explained {
        id: entries[place].id.to_owned(),
        title: shading
            .as_ref()
            .map_or(String::new(), |shading| shading.title.clone()),
        rank: rank.map(|rank| rank + 1),
        first_stage_rank: is_candidate.then_some(place + 1),
        explanation,
        shading,
    })
}
