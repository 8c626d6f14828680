//! `becr eval`: runs against judgements, side by side.

mod compare;
mod json;
mod lengths;
mod load;
mod text;

use super::corpus::OnError;
use crate::output;
use becr_eval::{Buckets, Correction, Measure, Scope, parse_measures, write_atomically};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// Measure runs against relevance judgements and test their differences
///
/// The conventions are trec_eval's: documents are ordered by score, ties by descending
/// document id; unjudged documents and negative grades are not relevant; queries without relevant
/// documents count as 0.
///
/// Files may be plain, gzip or zstd. A mark after a figure says that it differs from a baseline.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Judgements: `query iteration document grade`, or BEIR's three columns with their header
    #[arg(long, value_name = "FILE")]
    qrels: PathBuf,

    /// Runs to measure: `query Q0 document rank score tag`, or MS MARCO's `query document rank`
    #[arg(long = "run", value_name = "FILE", required = true, num_args = 1..)]
    runs: Vec<PathBuf>,

    /// Measures as ir_measures names them: nDCG, nDCG@k, P@k, R@k, RR, RR@k, AP, AP@k; all but nDCG
    /// take the lowest relevant grade, as in P(rel=2)@10
    #[arg(
        long,
        value_name = "LIST",
        default_value = "nDCG@10 P@20 RR@10 AP R@100"
    )]
    measures: Measures,

    /// Test every run against this one with a paired two-sided t-test over the queries both answer;
    /// baselines get the marks ‡ * § ¶ in the order given
    #[arg(long = "baseline", value_name = "FILE", num_args = 1..)]
    baselines: Vec<PathBuf>,

    /// Correct the p-values of each measure for the number of comparisons in the table
    #[arg(long, value_enum, default_value_t = CorrectionArg::None, requires = "baselines")]
    correction: CorrectionArg,

    /// Confidence level of marks and intervals
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = parse_confidence)]
    confidence: f64,

    /// Take the mean over all judged queries and count those without an answer as 0; otherwise it is
    /// over the queries that have both
    #[arg(long)]
    complete: bool,

    /// Show the values of every query
    #[arg(long)]
    per_query: bool,

    /// Break the means down by the number of words in the query, with confidence intervals
    #[arg(long, requires = "queries")]
    by_length: bool,

    /// The queries as `id TAB text`, JSON lines or TREC topics (titles), for --by-length
    #[arg(long, value_name = "FILE", requires = "by_length")]
    queries: Option<PathBuf>,

    /// Query lengths that are reported together, for --by-length
    #[arg(long, value_name = "LIST", default_value_t = Buckets::default())]
    lengths: Buckets,

    /// Draw --by-length as an SVG picture: differences to the baselines if there are any, otherwise means
    #[arg(long, value_name = "FILE", requires = "by_length")]
    svg: Option<PathBuf>,

    /// Print JSON: {"runs": [{"run", "aggregate": {measure: value}, "per_query": {measure: {query: value}}}]}
    #[arg(long)]
    json: bool,

    /// What to do with a line that cannot be understood: stop, or leave it out and say so
    #[arg(long, value_enum, default_value_t, env = "BECR_ON_ERROR")]
    on_error: OnError,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(svg) = &args.svg {
        crate::output::check_file(svg)?;
    }
    let systems = load::load(args)?;
    let comparisons = compare::compare(args, &systems);
    let breakdown = args
        .by_length
        .then(|| lengths::break_down(args, &systems))
        .transpose()?;
    if let (Some(path), Some(breakdown)) = (&args.svg, &breakdown) {
        let picture = breakdown.plot(args.confidence).to_string();
        write_atomically(path, |out| out.write_all(picture.as_bytes()))?;
        output::note(format_args!("wrote {}", path.display()));
    }
    if args.json {
        output::json(&json::report(
            args,
            &systems,
            &comparisons,
            breakdown.as_ref(),
        ))?;
    } else {
        text::print(args, &systems, &comparisons, breakdown.as_ref())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn scope(&self) -> Scope {
        if self.complete {
            Scope::Complete
        } else {
            Scope::Answered
        }
    }
}

/// 0.95 as `95 %`, without the digits of binary fractions.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// The list of measures as one argument.
#[derive(Clone)]
struct Measures(Vec<Measure>);

impl FromStr for Measures {
    type Err = becr_eval::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse_measures(text).map(Self)
    }
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if 0.0 < share && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1, such as 0.95".to_owned()),
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CorrectionArg {
    /// Every comparison on its own
    None,
    /// p times the number of comparisons
    Bonferroni,
    /// Holm's step-down method, as safe as Bonferroni's and never weaker
    Holm,
}

impl CorrectionArg {
    fn correction(self) -> Correction {
        match self {
            Self::None => Correction::None,
            Self::Bonferroni => Correction::Bonferroni,
            Self::Holm => Correction::Holm,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bonferroni => "bonferroni",
            Self::Holm => "holm",
        }
    }
}
