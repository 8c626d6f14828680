//! `becr search`: one query to read, or a file of queries to a TREC run.

mod batch;
mod open;
pub(super) mod syntax;
mod text;

use super::at_least_one;
use super::corpus::OnError;
use crate::output;
use crate::ranking::RankArgs;
use anyhow::{Context, bail};
use becr::{
    Details, FindBy, GroupCoverage, Index, RankOptions, Reasons, ScoreParts, SearchOptions,
    SearchResult, SearchTiming, Snippet, Suggestion,
};
use becr_rank::MAX_QUERY_WORDS;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Search an index
///
/// Words find --depth candidates by BM25, meaning as many whose vectors are nearest to
/// the query's; these are re-ranked, and the best --k are shown. Where more results are
/// asked for than are re-ranked, the others follow in the order of BM25.
///
/// Examples:
///
///   becr search notes.becr "sourdough dense crumb"
///
///   becr search notes.becr sourdough dense crumb -k 3 --explain --timing
///
///   becr search notes.becr "why does my bread not rise" --mode encoded
///
///   becr search corpus.becr --queries queries.tsv --run-out becr.run --k 1000
///
///   becr search corpus.becr --queries queries.tsv --run-out bm25.run --first-stage
///
///   becr search redis://redis-1:7000/corpus sourdough dense crumb --first-stage=corpus.becr
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the index, or its address in a cluster.
    index: PathBuf,
    /// What to search for; several words need no quotes.
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    query: Vec<String>,
    /// How many results [default: 10; 1000 with --queries].
    #[arg(long, short, value_parser = at_least_one)]
    k: Option<usize>,
    /// How many candidates are re-ranked: so many by words, and as many by meaning.
    #[arg(long, default_value_t = SearchOptions::DEPTH, value_parser = at_least_one, env = "BECR_DEPTH")]
    depth: usize,
    /// By what documents are found: by words (BM25), by meaning (the documents' vectors), or by both.
    #[arg(long, value_name = "WAY", default_value_t, value_parser = clap::value_parser!(FindBy), env = "BECR_CANDIDATES")]
    candidates: FindBy,
    /// Rank by BM25 alone; or, with =DIR, find candidates in that index: one in a cluster has no first stage.
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        hide_default_value = true
    )]
    first_stage: FirstStage,
    /// Tell of each result what speaks for it: the largest contributions to its score.
    #[arg(long, conflicts_with = "queries")]
    explain: bool,
    /// Leave the passages of the results out, which takes time with many results.
    #[arg(long, conflicts_with = "queries")]
    no_snippets: bool,
    /// Open the file of this result, by its rank, with the program of your desktop or of $BECR_OPENER.
    #[arg(long, value_name = "RANK", conflicts_with = "queries", value_parser = at_least_one)]
    open: Option<usize>,
    /// Tell where the time went.
    #[arg(long)]
    timing: bool,
    /// Print the results as JSON; with --queries what was written, and the times by stage.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rank: RankArgs,
    #[command(flatten)]
    batch: Batch,
}

/// What `--first-stage` says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FirstStage {
    /// Nothing: candidates of the index's own first stage are re-ranked.
    Own,
    /// They are not re-ranked.
    Alone,
    /// They come from this index.
    Of(PathBuf),
}

impl From<&str> for FirstStage {
    /// Booleans are what configuration files have.
    fn from(text: &str) -> Self {
        match text {
            "false" => Self::Own,
            "true" => Self::Alone,
            path => Self::Of(path.into()),
        }
    }
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
    results: Vec<ResultRow>,
    /// Absent where BM25 ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<GroupCoverage>,
    /// Words of the query that no document has, and what may have been meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion>,
    timing_ms: SearchTiming,
}

#[derive(Serialize)]
struct ResultRow {
    rank: usize,
    id: String,
    title: String,
    score: f32,
    /// By words; null for one that meaning alone found.
    first_stage_rank: Option<usize>,
    /// By meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning_rank: Option<usize>,
    /// The file, where the index follows folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// The parts of the score; absent where BM25 ranked.
    #[serde(flatten)]
    parts: Option<ScoreParts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Reasons>,
    /// The passage that is nearest to the query, and where the words stand in it that are near; absent where BM25 ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Snippet>,
}

impl ResultRow {
    fn new(result: SearchResult, index: &Index) -> Result<Self, becr::Error> {
        Ok(Self {
            path: index.file_of(&result.id)?,
            rank: result.rank,
            id: result.id,
            title: result.title.unwrap_or_default(),
            score: result.score,
            first_stage_rank: result.first_stage_rank,
            meaning_rank: result.meaning_rank,
            parts: result.parts,
            explanation: result.reasons,
            snippet: result.snippet,
        })
    }
}

impl Args {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(out) = &args.batch.run_out {
        output::check_file(out)?;
        if args.json && output::is_standard(out) {
            bail!("the run goes to standard output: leave --json out, or give --run-out a file");
        }
    }
    let beside = match &args.first_stage {
        FirstStage::Of(path) => Some(path.as_path()),
        _ => None,
    };
    let index = args.rank.open_beside(&args.index, beside)?;
    let rank = args.rank_options(&index)?;
    if rank.is_some() && args.candidates != FindBy::Words && index.view()?.lacks_column()? {
        output::note(format_args!(
            "This index is of an earlier version: documents are found by words alone. `becr compact {}` lets meaning find them, too.",
            args.index.display()
        ));
    }
    match (&args.batch.queries, &args.batch.run_out) {
        (Some(queries), Some(run_out)) => batch::run(&index, rank, args, queries, run_out)?,
        _ if args.query.is_empty() => bail!("give a query, or --queries FILE with --run-out FILE"),
        _ => {
            let query = &args.query.join(" ");
            syntax::check(query)?;
            match becr_text::words::words(query).count() {
                0 => output::note("The query has no words."),
                words if words > MAX_QUERY_WORDS && rank.is_some() => {
                    output::note(format_args!(
                        "The query has {words} words; re-ranking looks at the first {MAX_QUERY_WORDS}."
                    ));
                }
                _ => {}
            }
            let options = SearchOptions {
                k: args.k.unwrap_or(10),
                depth: args.depth,
                find_by: args.candidates,
                rank,
                details: Details {
                    title: true,
                    reasons: args.explain,
                    snippet: !args.no_snippets,
                },
            };
            let found = index.search(query, &options)?;
            let rows = found.results.into_iter();
            let rows: Result<Vec<_>, _> = rows.map(|row| ResultRow::new(row, &index)).collect();
            let answer = Answer {
                query,
                results: rows?,
                coverage: found.coverage,
                suggestions: suggestions(&index, query)?,
                timing_ms: found.timing,
            };
            if args.json {
                output::json(&answer)?;
            } else {
                text::print(&answer, args.explain, args.timing)?;
            }
            if let Some(rank) = args.open {
                open::file(&answer.results, rank)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What may have been meant by words that no document has. An index without a store does not know its words.
fn suggestions(index: &Index, query: &str) -> anyhow::Result<Vec<Suggestion>> {
    match index.view()?.suggestions(query) {
        Err(becr::Error::Lexical(_)) => Ok(Vec::new()),
        found => Ok(found?),
    }
}

impl Args {
    /// How to rank; `None` if BM25 does, because it was asked to or because the index allows nothing else.
    fn rank_options(&self, index: &Index) -> anyhow::Result<Option<RankOptions>> {
        if self.first_stage == FirstStage::Alone {
            if self.explain || self.rank.is_chosen() {
                let message = "--first-stage ranks by BM25 alone: it goes with none of --mode, --scorer, --without and --explain";
                clap::Error::raw(
                    clap::error::ErrorKind::ArgumentConflict,
                    format!("{message}\n"),
                )
                .exit();
            }
            return Ok(None);
        }
        if let Some(obstacle) = index.obstacle()? {
            if self.explain {
                return Err(obstacle).context("nothing to explain");
            }
            output::note(format_args!("Ranked by BM25: {obstacle}."));
            return Ok(None);
        }
        self.rank.check(index)?;
        Ok(Some(self.rank.options()))
    }
}
