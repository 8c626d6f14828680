//! `becr groups`: which token groups an index has, for builds in several parts.

use super::corpus::{CorpusArgs, OnError, queries};
use crate::{models, output, progress};
use anyhow::Context;
use becr::{Observer, Stage};
use becr_groups::{
    CountFile, CountOptions, Counter, Frequency, GroupList, RecordBytes, Rules, Sources, Vocabulary,
};
use becr_model::Model;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which token groups to keep.
#[derive(clap::Args)]
pub(crate) struct RuleArgs {
    /// Leave out words that are in fewer documents [default: 1 for the bundled model, 2 for the paper's]
    #[arg(long, value_name = "N")]
    min_word_documents: Option<u64>,
    /// Leave out pairs that are in fewer documents [default: no pairs for the bundled model, 2 for the paper's]
    #[arg(long, value_name = "N")]
    min_pair_documents: Option<u64>,
    /// What the two above count: documents that have a group, or how often it occurs in all, the paper's rule.
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    count_by: CountBy,
    /// Leave out words that are no single WordPiece, and pairs with such a word.
    #[arg(long)]
    vocabulary_words_only: bool,
    /// Keep the most useful groups that fit, for example 512MiB or 2GiB; `none` for no limit.
    #[arg(long, default_value = "512MiB", value_name = "SIZE", value_parser = parse_budget)]
    token_budget: Budget,
    /// Queries that were asked, to learn from: their words and pairs are kept first.
    #[arg(long, value_name = "FILE")]
    query_log: Option<PathBuf>,
    /// Memory for counting.
    #[arg(long, default_value = "512MiB", value_name = "SIZE", value_parser = parse_size)]
    count_memory: u64,
}

/// What the frequency of a group counts.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum CountBy {
    /// Documents that have it.
    #[default]
    Documents,
    /// Its occurrences in all of them.
    Occurrences,
}

/// A limit, or none.
#[derive(Clone, Copy)]
struct Budget(Option<u64>);

impl RuleArgs {
    pub(crate) fn rules(&self, model: &Model) -> anyhow::Result<Rules> {
        let shape = becr_encoder::Shape::new(&model.config)?;
        shape
            .bits
            .context("the model keeps raw vectors, not footprints")?;
        // A row of LMDB takes some 24 bytes beside key and value.
        const OVERHEAD: u64 = 24;
        let usual = becr::models::rules(model);
        Ok(Rules {
            min_word_documents: self.min_word_documents.unwrap_or(usual.min_word_documents),
            min_pair_documents: self.min_pair_documents.unwrap_or(usual.min_pair_documents),
            by: match self.count_by {
                CountBy::Documents => Frequency::Documents,
                CountBy::Occurrences => Frequency::Occurrences,
            },
            pair_distance: None,
            vocabulary_words_only: self.vocabulary_words_only,
            budget: self.token_budget.0,
            record_bytes: RecordBytes::new(shape.group_bytes() as u64, OVERHEAD),
        })
    }

    pub(crate) fn query_log(&self) -> anyhow::Result<Vec<String>> {
        let Some(path) = &self.query_log else {
            return Ok(Vec::new());
        };
        let asked = queries(path, becr_corpus::TopicField::Title, OnError::Skip)?;
        Ok(asked.into_iter().map(|query| query.text).collect())
    }

    pub(crate) fn memory(&self) -> usize {
        self.count_memory as usize
    }
}

/// Count, merge and choose token groups, for builds in several parts
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Count the words and pairs of a corpus, or of a part of it
    Count {
        #[command(flatten)]
        corpus: CorpusArgs,
        /// File of counts to write.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        /// Largest distance of the words of a pair.
        #[arg(long, default_value_t = 3)]
        window: u32,
        /// Memory to use.
        #[arg(long, default_value = "512MiB", value_name = "SIZE", value_parser = parse_size)]
        count_memory: u64,
        /// Print what was counted as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add up the counts of several parts
    Merge {
        /// Files of counts.
        #[arg(required = true)]
        counts: Vec<PathBuf>,
        /// File of counts to write.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        /// Print what was made as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Choose the groups of an index from counts
    Select {
        /// File of counts.
        counts: PathBuf,
        /// Directory of the model, or hf:owner/name or hf:owner/name@revision of the Hugging Face hub
        /// [default: the bundled model].
        #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
        model: Option<PathBuf>,
        /// List of groups to write, for `becr index --groups`.
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        rules: RuleArgs,
        /// Queries to report the coverage of.
        #[arg(long, value_name = "FILE")]
        cover: Option<PathBuf>,
        /// Print the report as JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    let (Command::Count { out, .. } | Command::Merge { out, .. } | Command::Select { out, .. }) =
        command;
    output::check_file(out)?;
    match command {
        Command::Count {
            corpus,
            out,
            window,
            count_memory,
            json,
        } => {
            let options = CountOptions {
                window: *window,
                memory: *count_memory as usize,
                scratch: folder_of(out),
            };
            let documents = count(corpus, &options, out)?;
            if *json {
                output::json(&serde_json::json!({ "counts": out, "documents": documents }))?;
            }
        }
        Command::Merge { counts, out, json } => {
            let files: Vec<CountFile> = counts
                .iter()
                .map(|path| CountFile::open(path))
                .collect::<Result<_, _>>()?;
            CountFile::merge(&files, out, &folder_of(out), 256 << 20)?;
            if *json {
                output::json(&serde_json::json!({ "counts": out, "parts": files.len() }))?;
            }
        }
        Command::Select {
            counts,
            model,
            out,
            rules,
            cover,
            json,
        } => {
            select(
                counts,
                model.as_deref(),
                out,
                rules,
                cover.as_deref(),
                *json,
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn count(corpus: &CorpusArgs, options: &CountOptions, out: &Path) -> anyhow::Result<u64> {
    let source = corpus;
    let mut corpus = source.open()?;
    let stages = progress::Stages::reading(&corpus);
    stages.begin(Stage::Counting, None);
    let mut counter = Counter::new(options);
    let mut documents = 0;
    for document in corpus.by_ref() {
        let document = document?;
        documents += 1;
        counter.add(&[&document.title, &document.text])?;
        stages.advance(1);
    }
    stages.clear();
    source.note(&corpus.skipped());
    counter.finish(out)?;
    Ok(documents)
}

fn select(
    counts: &Path,
    model: Option<&Path>,
    out: &Path,
    args: &RuleArgs,
    cover: Option<&Path>,
    json: bool,
) -> anyhow::Result<()> {
    let counts = CountFile::open(counts)?;
    let model = models::model(model)?;
    let pieces = becr_encoder::word_pieces(&model.tokenizer)?;
    let vocabulary = Vocabulary::new(pieces.vocabulary().into_iter().map(|(_, piece)| piece));
    let scratch = tempfile::tempdir_in(folder_of(out))?;
    let count_queries = |texts: &[String], name: &str| -> anyhow::Result<CountFile> {
        let options = CountOptions {
            window: counts.window(),
            memory: args.memory(),
            scratch: scratch.path().to_owned(),
        };
        let mut counter = Counter::new(&options);
        texts.iter().try_for_each(|text| counter.add(&[text]))?;
        Ok(counter.finish(&scratch.path().join(name))?)
    };
    let log = args.query_log()?;
    let log = if log.is_empty() {
        None
    } else {
        Some(count_queries(&log, "log")?)
    };
    let sources = Sources {
        counts: &counts,
        log: log.as_ref(),
        vocabulary: &vocabulary,
    };
    let (list, report) = sources.select(&args.rules(&model)?, out)?;
    let coverage = match cover {
        Some(path) => {
            let texts: Vec<String> = queries(path, becr_corpus::TopicField::Title, OnError::Stop)?
                .into_iter()
                .map(|query| query.text)
                .collect();
            Some(GroupList::coverage(
                &list,
                &count_queries(&texts, "cover")?,
            )?)
        }
        None => None,
    };
    if json {
        return output::json(&serde_json::json!({ "report": report, "coverage": coverage }));
    }
    let mut out = output::stdout();
    writeln!(out, "{report}")?;
    if let Some(coverage) = coverage {
        writeln!(out, "{coverage}")?;
    }
    out.flush()?;
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

fn parse_budget(text: &str) -> Result<Budget, String> {
    if text == "none" {
        Ok(Budget(None))
    } else {
        parse_size(text).map(|size| Budget(Some(size)))
    }
}

/// A number of bytes with an optional unit.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 8] = [
        ("KiB", 10),
        ("MiB", 20),
        ("GiB", 30),
        ("TiB", 40),
        ("K", 10),
        ("M", 20),
        ("G", 30),
        ("T", 40),
    ];
    let expected = || format!("expected a size such as 512MiB or 2GiB, found {text:?}");
    let unit = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let number: u64 = number.trim().parse().map_err(|_| expected())?;
    number
        .checked_shl(shift)
        .filter(|bytes| bytes >> shift == number)
        .ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_units() {
        assert_eq!(parse_size("10"), Ok(10));
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("3 K"), Ok(3 << 10));
        assert!(parse_size("many").is_err());
        assert!(parse_size("99999999999T").is_err());
    }
}
