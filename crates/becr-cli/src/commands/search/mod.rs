//! `becr search`: one query to read, or a file of queries to a TREC run.

mod batch;
mod searcher;
mod text;

pub(crate) use searcher::{DEPTH, Searcher, Timing};

use super::corpus::OnError;
use super::explain::Reasons;
use crate::output;
use crate::ranking::{self, Covered, RankArgs, Ranking};
use anyhow::bail;
use becr_index::first_stage::FirstStage;
use becr_rank::{MAX_QUERY_WORDS, RankWorkspace};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Search an index
///
/// The first stage finds --depth candidates by BM25; these are re-ranked, and the
/// best --k are shown. Where more results are asked for than are re-ranked, the
/// others follow in the order of the first stage.
///
/// Examples:
///
///   becr search notes.becr "sourdough dense crumb"
///
///   becr search notes.becr "sourdough dense crumb" --explain --timing
///
///   becr search corpus.becr --queries queries.tsv --run-out becr.run --k 1000
///
///   becr search corpus.becr --queries queries.tsv --run-out bm25.run --first-stage
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// What to search for.
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    query: Option<String>,
    /// How many results [default: 10; 1000 with --queries].
    #[arg(long)]
    k: Option<usize>,
    /// How many candidates of the first stage are re-ranked.
    #[arg(long, default_value_t = DEPTH, env = "BECR_DEPTH")]
    depth: usize,
    /// Rank by BM25 alone.
    #[arg(long, conflicts_with_all = ["variant", "without", "explain"])]
    first_stage: bool,
    /// Tell of each result what speaks for it: the largest contributions to its score.
    #[arg(long, conflicts_with = "queries")]
    explain: bool,
    /// Tell where the time went.
    #[arg(long)]
    timing: bool,
    /// Print the results as JSON.
    #[arg(long, conflicts_with = "queries")]
    json: bool,
    #[command(flatten)]
    rank: RankArgs,
    #[command(flatten)]
    batch: Batch,
}

/// Many queries at once.
#[derive(clap::Args)]
struct Batch {
    /// A file of queries: TSV (id, text), JSON lines or TREC topics. All cores share the work.
    #[arg(long, value_name = "FILE", requires = "run_out")]
    queries: Option<PathBuf>,
    /// The TREC run to write.
    #[arg(
        long,
        value_name = "FILE",
        requires = "queries",
        conflicts_with = "query"
    )]
    run_out: Option<PathBuf>,
    /// Name of the run, its last column [default: becr, or becr-bm25 with --first-stage].
    #[arg(long, requires = "queries")]
    tag: Option<String>,
    /// Part of a TREC topic to search for.
    #[arg(long, value_enum, default_value_t, requires = "queries")]
    topic_field: TopicField,
    /// What to do with a query that cannot be read: stop, or skip and count it.
    #[arg(
        long,
        value_enum,
        default_value_t,
        requires = "queries",
        env = "BECR_ON_ERROR"
    )]
    on_error: OnError,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum TopicField {
    #[default]
    Title,
    Description,
    Both,
}

impl From<TopicField> for becr_corpus::TopicField {
    fn from(field: TopicField) -> Self {
        match field {
            TopicField::Title => Self::Title,
            TopicField::Description => Self::Description,
            TopicField::Both => Self::Both,
        }
    }
}

/// A query's answer, as `--json` prints it.
#[derive(Serialize)]
struct Answer<'a> {
    query: &'a str,
    results: Vec<Row>,
    /// Absent where BM25 ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Covered>,
    timing_ms: Timing,
}

#[derive(Serialize)]
struct Row {
    rank: usize,
    id: String,
    title: String,
    score: f32,
    first_stage_rank: usize,
    /// The parts of the score; absent where BM25 ranked.
    #[serde(flatten)]
    parts: Option<ScoreParts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Reasons>,
}

#[derive(Serialize)]
struct ScoreParts {
    deep: f32,
    lexi: f32,
    others: f32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let searcher = Searcher::open(args)?;
    match (&args.query, &args.batch.queries, &args.batch.run_out) {
        (Some(query), _, _) => {
            match becr_text::words::words(query).count() {
                0 => output::note("The query has no words."),
                words if words > MAX_QUERY_WORDS && searcher.ranking.is_some() => {
                    output::note(format_args!(
                        "The query has {words} words; re-ranking looks at the first {MAX_QUERY_WORDS}."
                    ));
                }
                _ => {}
            }
            let answer = searcher.answer(query, args.k.unwrap_or(10), args.explain)?;
            if args.json {
                output::json(&answer)?;
            } else {
                text::print(&answer, args.explain, args.timing)?;
            }
        }
        (None, Some(queries), Some(run_out)) => batch::run(&searcher, args, queries, run_out)?,
        _ => bail!("give a query, or --queries FILE with --run-out FILE"),
    }
    Ok(ExitCode::SUCCESS)
}

impl Searcher {
    fn open(args: &Args) -> anyhow::Result<Self> {
        let first_stage = FirstStage::open(&args.index)?;
        let obstacle = match args.first_stage {
            true => None,
            false => ranking::obstacle(&args.index, &args.rank)?,
        };
        if let Some(obstacle) = obstacle {
            if args.explain {
                bail!("{}: nothing to explain: {obstacle}", args.index.display());
            }
            output::note(format_args!("Ranked by BM25: {obstacle}."));
        }
        let ranking = match args.first_stage || obstacle.is_some() {
            true => None,
            false => Some(Ranking::open(&args.index, &args.rank)?),
        };
        Ok(Self {
            first_stage,
            ranking,
            depth: args.depth,
        })
    }

    fn answer<'a>(&self, query: &'a str, k: usize, explain: bool) -> anyhow::Result<Answer<'a>> {
        let found = self.search(query, k, &mut RankWorkspace::new())?;
        let mut results = Vec::new();
        for (rank, (place, score, scored)) in (1..).zip(found.order().take(k)) {
            let hit = &found.hits[place];
            results.push(Row {
                rank,
                id: hit.id.clone(),
                title: self.first_stage.title(hit)?,
                score,
                first_stage_rank: place + 1,
                parts: scored.map(|scored| ScoreParts {
                    deep: scored.deep,
                    lexi: scored.lexi,
                    others: scored.others,
                }),
                explanation: match (explain, &self.ranking, &found.ranked) {
                    (true, Some(ranking), Some(ranked)) if scored.is_some() => {
                        let entries = self.entries(&found.hits);
                        Some(Reasons::of(&ranking.explain(ranked, &entries, place)?))
                    }
                    _ => None,
                },
            });
        }
        Ok(Answer {
            query,
            results,
            coverage: found
                .ranked
                .as_ref()
                .map(|ranked| Covered::of(&ranked.query)),
            timing_ms: found.timing,
        })
    }
}
