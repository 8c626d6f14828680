//! `becr search`: one query to read, or a file of queries to a TREC run.

mod batch;
mod text;

use super::corpus::OnError;
use super::explain::Reasons;
use crate::output;
use crate::ranking::{self, Covered, Entry, RankArgs, Ranked, Ranking};
use anyhow::bail;
use becr_index::first_stage::{FirstStage, Hit};
use becr_rank::{MAX_QUERY_WORDS, RankWorkspace, Scored};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How many candidates are re-ranked unless said otherwise.
pub(crate) const DEPTH: usize = 150;

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

/// An index opened for searching: with a first stage alone, or with a ranker too.
pub(crate) struct Searcher {
    pub(crate) first_stage: FirstStage,
    pub(crate) ranking: Option<Ranking>,
    depth: usize,
}

/// What a search found.
pub(crate) struct Found {
    /// The first stage's list.
    pub(crate) hits: Vec<Hit>,
    /// The ranker's, of the first hits.
    pub(crate) ranked: Option<Ranked>,
    pub(crate) timing: Timing,
}

/// Milliseconds by stage; those of the ranker are absent where it was not asked.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Timing {
    first_stage: f64,
    #[serde(flatten)]
    ranking: Option<RankTiming>,
    total: f64,
}

#[derive(Clone, Copy, Default, Serialize)]
struct RankTiming {
    look_up: f64,
    fetch: f64,
    lexical: f64,
    deep: f64,
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

    /// An index with everything, searched as it is by default.
    pub(crate) fn ranked(index: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            first_stage: FirstStage::open(index)?,
            ranking: Some(Ranking::open(index, &RankArgs::default())?),
            depth: DEPTH,
        })
    }

    pub(crate) fn search(
        &self,
        query: &str,
        k: usize,
        work: &mut RankWorkspace,
    ) -> anyhow::Result<Found> {
        let begun = Instant::now();
        let wanted = match self.ranking {
            Some(_) => k.max(self.depth),
            None => k,
        };
        let hits = self.first_stage.search(query, wanted)?;
        let first_stage = milliseconds(begun.elapsed());
        let ranked = match &self.ranking {
            Some(ranking) => Some(ranking.rank(query, &self.entries(&hits), work)?),
            None => None,
        };
        let stages = ranked.as_ref().map(|ranked| RankTiming {
            look_up: milliseconds(ranked.timing.look_up),
            fetch: milliseconds(ranked.timing.fetch),
            lexical: milliseconds(ranked.timing.lexical),
            deep: milliseconds(ranked.timing.deep),
        });
        Ok(Found {
            hits,
            ranked,
            timing: Timing {
                first_stage,
                ranking: stages,
                total: milliseconds(begun.elapsed()),
            },
        })
    }

    /// The candidates among the hits.
    pub(crate) fn entries<'a>(&self, hits: &'a [Hit]) -> Vec<Entry<'a>> {
        hits.iter().take(self.depth).map(Entry::of_hit).collect()
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

impl Found {
    /// All hits in their final order: place among the hits, score, and its parts if it was re-ranked. What the
    /// ranker did not see comes behind, in the order of the first stage.
    pub(crate) fn order(&self) -> impl Iterator<Item = (usize, f32, Option<&Scored>)> {
        let ranked = self.ranked.as_ref();
        let first = ranked.into_iter().flat_map(|ranked| &ranked.order);
        let first = first.map(|(place, scored)| (*place, scored.score, Some(scored)));
        let seen = ranked.map_or(0, |ranked| ranked.order.len() + ranked.unknown.len());
        let unknown = ranked
            .into_iter()
            .flat_map(|ranked| ranked.unknown.iter().copied());
        let lowest = ranked.and_then(|ranked| Some(ranked.order.last()?.1.score));
        let behind = unknown
            .chain(seen..self.hits.len())
            .zip(ranking::behind(lowest));
        let rest = behind.map(move |(place, score)| match ranked {
            Some(_) => (place, score, None),
            None => (place, self.hits[place].score, None),
        });
        first.chain(rest)
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
