//! `becr explain`: why a document has its score, and why another has less.

mod html;
mod paint;
mod passages;
mod shade;
mod text;

use crate::output;
use crate::ranking::RankArgs;
use becr::{ExplainAnswer, ExplainOptions, FindBy, ScoreDifference, SearchOptions};
use becr_rank::WordPart;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Explain the score of a document, or the difference of two
///
/// The few largest reasons come first, in plain words; --all shows every one. Scores
/// are sums, so they can be taken apart: by part (deep, lexi, others), by query term,
/// by layer and kernel, by feature with its weight. With two documents, the difference
/// of their scores is taken apart the same way; its rows add up to it. A table has S_deep
/// and S_lexi by word of the query: what words close to it and what it itself adds. The
/// document's words are shaded by how similar they are to the query's terms, more than
/// the average word of the document, each in the colour of the term that it is closest to.
///
/// The scores are those of `becr search` with the same --depth: they are relative to the
/// list of candidates, by the score of the first stage at least. A document that is not
/// among the candidates has no such score. Where S_deep is relative to the list as a
/// whole, as heads may have it, terms contribute by how far they are above the average
/// candidate, and "like the best candidates" says what it counts to be near to those.
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
    /// Directory of the index, or its address in a cluster.
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
    /// Print the whole text; of a long one, the passages that stand out most are shown otherwise.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    whole: bool,
    /// Print every contribution, with values and weights.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    all: bool,
    /// Print the table of layers and kernels for every query term too; implies --all.
    #[arg(long, conflicts_with_all = ["json", "html"])]
    kernels: bool,
    /// By what its candidates are found: words, meaning or both.
    #[arg(long, value_name = "WAY", default_value_t, value_parser = clap::value_parser!(FindBy), env = "BECR_CANDIDATES")]
    candidates: FindBy,
    /// How many candidates of each kind the list has.
    #[arg(long, default_value_t = SearchOptions::DEPTH, value_parser = super::at_least_one, env = "BECR_DEPTH")]
    depth: usize,
    /// An index whose first stage finds the candidates: one in a cluster has none. Without it the documents that are named are
    /// the whole list there.
    #[arg(long, value_name = "DIR")]
    first_stage: Option<PathBuf>,
    #[command(flatten)]
    rank: RankArgs,
    /// Print as JSON, every number in it.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write a page to look at in a browser: one file, which needs nothing else.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(page) = &args.html {
        output::check_file(page)?;
    }
    let report = report(args)?;
    match &args.html {
        Some(path) => {
            let page = html::page(&report);
            becr_eval::write_atomically(path, |out| out.write_all(page.as_bytes()))?;
            if !output::is_standard(path) {
                output::note(format_args!("{}: open it in a browser", path.display()));
            }
        }
        None if args.json => output::json(&report)?,
        None => text::print(&report, args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The words of the query by which two documents differ.
fn told_words(difference: &ScoreDifference) -> impl Iterator<Item = &WordPart> {
    let words = difference.words.iter();
    words.filter(|part| part.deep.abs().max(part.lexi.abs()) >= 5e-4)
}

fn report(args: &Args) -> anyhow::Result<ExplainAnswer> {
    super::search::syntax::check(&args.query)?;
    let index = (args.rank).open_beside(&args.index, args.first_stage.as_deref())?;
    args.rank.check(&index)?;
    if !index.view()?.has_first_stage() {
        output::note(
            "The list is these documents alone, so their scores are not those of a longer one; --first-stage DIR names an index \
             that finds candidates.",
        );
    }
    let asked: Vec<&str> = std::iter::once(&args.document)
        .chain(&args.other)
        .map(String::as_str)
        .collect();
    let options = ExplainOptions {
        depth: args.depth,
        find_by: args.candidates,
        rank: args.rank.options(),
    };
    Ok(index.explain(&args.query, &asked, &options)?)
}
