//! `becr sync`: an index that follows folders.

use super::corpus::OnError;
use crate::{backend, models, output, progress};
use anyhow::anyhow;
use becr::corpus::{Corpus, CorpusOptions, SkipReport};
use becr::{Build, Changed, Folder, Index, IndexError, OpenOptions, SyncOptions, SyncReport};
use becr_index::manifest::Manifest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// How many ids a dry run names of each kind.
const NAMED: usize = 20;

/// Bring an index in step with folders
///
/// Files that are new or were changed are encoded, documents whose files are gone are
/// removed. The folders are remembered: `becr sync INDEX` alone does it again. Where
/// there is no index yet, one is built. What `.gitignore` and `.becrignore` name is
/// left out. With several folders, ids begin with the folder's name.
///
/// Examples:
///
///   becr sync notes.becr ~/notes
///
///   becr sync notes.becr --dry-run
///
///   becr sync all.becr ~/notes ~/work/docs
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// The folders [default: those of the last time].
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take a folder without documents for what it is; it is an error otherwise, since a disk may not be mounted.
    #[arg(long)]
    allow_empty: bool,
    /// Remove documents that are in none of the folders also where these are not the folders of before.
    #[arg(long)]
    remove_others: bool,
    /// Allow large removals: every document of a subfolder (a tenth of the index or more), or half of the index. Without
    /// this flag they are an error, since a disk may not be mounted.
    #[arg(long)]
    allow_removal: bool,
    /// Read links to files outside of the folders, from now on; --follow-links=false ends it.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    follow_links: Option<bool>,
    /// Stop at a file that cannot be read, or skip and report it. The index keeps the documents of a skipped file as they
    /// were.
    #[arg(long, value_enum, default_value = "skip", env = "BECR_ON_ERROR")]
    on_error: OnError,
    /// Directory of the model or its hf:owner/name, for a new index or if it is no longer where it was [default: the
    /// bundled model, or the index's own].
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    backend: backend::Args,
    /// Name every file that was left out; twenty of each kind are named otherwise.
    #[arg(long)]
    list_left_out: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// What was done, as `--json` prints it.
#[derive(Serialize)]
struct Summary<'a> {
    index: &'a Path,
    folders: Vec<PathBuf>,
    dry_run: bool,
    /// Whether there was no index before.
    built: bool,
    added: &'a [String],
    changed: &'a [String],
    vanished: &'a [String],
    /// Documents of files that could not be read: they stay as they were.
    kept: &'a [String],
    unchanged: u64,
    /// Documents removed.
    removed: u64,
    /// Files that could not be read.
    skipped: u64,
    /// Files that are no documents, by the rule that left them out.
    left_out: BTreeMap<&'a str, &'a [String]>,
}

impl Args {
    /// The index, if there is one already.
    pub(crate) fn index(&self) -> Option<&Path> {
        Manifest::is_in(&self.index).then_some(&self.index)
    }

    fn options(&self) -> SyncOptions {
        SyncOptions {
            dry_run: self.dry_run,
            allow_empty: self.allow_empty,
            remove_others: self.remove_others,
            // A dry run says what would go.
            allow_removal: self.allow_removal || self.dry_run,
            follow_links: self.follow_links,
            on_error: self.on_error.into(),
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let is_new = args.index().is_none();
    let report = match is_new {
        true => build(args)?,
        false => sync(args)?,
    };
    output::note_left_out(&report.skipped, args.list_left_out);
    print(args, &report, is_new)?;
    Ok(ExitCode::SUCCESS)
}

fn sync(args: &Args) -> anyhow::Result<SyncReport> {
    let mut open = OpenOptions::new();
    // The encoder is loaded by the library, and only where there is something to encode, unless it is another.
    if args.model.is_some() || !args.backend.is_default() {
        let index = Index::open(&args.index)?;
        index.check_changeable()?;
        let model = models::of_index(&args.index, args.model.as_deref())?;
        let encoder = args.backend.open_in(model.clone(), index.precision()?)?;
        open = open.model(model).encoder(Arc::new(encoder));
    }
    let index = open.open(&args.index)?;
    let stages = progress::Stages::default();
    let report = index.sync(&args.folders, &args.options(), &stages);
    stages.clear();
    Ok(report?)
}

/// Builds the index, as there is none.
fn build(args: &Args) -> anyhow::Result<SyncReport> {
    if args.folders.is_empty() {
        let index = args.index.display();
        return Err(match Manifest::read(&args.index) {
            Err(error @ (IndexError::InterruptedBuild(_) | IndexError::BeingBuilt(_))) => {
                error.into()
            }
            _ => anyhow!("{index}: there is no index here; `becr sync {index} FOLDER…` builds one"),
        });
    }
    output::check_directory(&args.index)?;
    let is_begun = is_begun(&args.index);
    let mut folders: Vec<Folder> = becr::folders(&args.folders)?;
    for folder in &mut folders {
        folder.follow_links = args.follow_links.unwrap_or_default();
    }
    let options = CorpusOptions {
        on_error: args.on_error.into(),
        allow_empty: args.allow_empty,
        ..CorpusOptions::default()
    };
    let mut corpus = Corpus::open_folders(&folders, &options)?;
    let mut report = SyncReport {
        folders: folders.clone(),
        ..SyncReport::default()
    };
    let added = &mut report.difference.added;
    let stages = progress::Stages::reading(&corpus);
    if args.dry_run {
        for document in corpus.by_ref() {
            added.push(document?.id);
        }
    } else {
        let model = models::model(args.model.as_deref())?;
        let encoder = args.backend.open_new(model.clone())?;
        let mut build = Build::new()
            .model(model)
            .encoder(Arc::new(encoder))
            .allow_empty(args.allow_empty)
            .folders(folders);
        // Files may change before an interrupted build is gone on with: it is finished with the documents that it had read,
        // and brought in step then.
        build = build.identity(format!("sync {}", serde_json::to_string(&report.folders)?));
        let documents = corpus.by_ref().inspect(|document| {
            if let Ok(document) = document {
                added.push(document.id.clone());
            }
        });
        let built = build.run(&args.index, documents, &stages);
        stages.clear();
        let (index, built) = built?;
        super::index::note_unweighted(&index)?;
        report.changed = Changed {
            added: built.documents,
            ..Changed::default()
        };
        if is_begun {
            let more = index.sync(&[], &args.options(), &stages);
            stages.clear();
            let more = more?;
            report.changed.added += more.changed.added;
            report.changed.deleted = more.changed.deleted;
            report.difference = more.difference;
            // They were added just before.
            report.difference.unchanged = 0;
        }
    }
    report.skipped = corpus.skipped();
    Ok(report)
}

fn left_out(report: &SkipReport) -> BTreeMap<&str, &[String]> {
    let rules = report.files.iter();
    let rules = rules.filter(|(rule, _)| report.left_out.contains_key(*rule));
    rules
        .map(|(rule, names)| (*rule, names.as_slice()))
        .collect()
}

/// Whether a build of this index was interrupted, or is under way.
fn is_begun(index: &Path) -> bool {
    matches!(
        Manifest::read(index),
        Err(IndexError::InterruptedBuild(_) | IndexError::BeingBuilt(_))
    )
}

fn print(args: &Args, report: &SyncReport, built: bool) -> anyhow::Result<()> {
    let (difference, changed) = (&report.difference, &report.changed);
    if args.json {
        let folders = report.folders.iter();
        return output::json(&Summary {
            index: &args.index,
            folders: folders.map(|folder| folder.path.clone()).collect(),
            dry_run: args.dry_run,
            built: built && !args.dry_run,
            added: &difference.added,
            changed: &difference.changed,
            vanished: &difference.vanished,
            kept: &difference.kept,
            unchanged: difference.unchanged,
            removed: changed.deleted,
            skipped: report.skipped.total_faults(),
            left_out: left_out(&report.skipped),
        });
    }
    let mut out = output::stdout();
    if args.dry_run {
        for (sign, ids) in [
            ('+', &difference.added),
            ('~', &difference.changed),
            ('-', &difference.vanished),
        ] {
            for id in ids.iter().take(NAMED) {
                writeln!(out, "{sign} {}", output::name(id))?;
            }
            if ids.len() > NAMED {
                writeln!(out, "{sign} and {} more", ids.len() - NAMED)?;
            }
        }
    }
    let (would, vanished) = match args.dry_run {
        true => ("would be ", difference.vanished.len() as u64),
        false => ("", changed.deleted),
    };
    // A build that went on where another stopped does not read all documents again.
    let added = (difference.added.len() as u64).max(changed.added);
    writeln!(
        out,
        "{}: {added} {would}added, {} {would}changed, {vanished} {would}removed, {} unchanged",
        args.index.display(),
        difference.changed.len(),
        difference.unchanged,
    )?;
    out.flush()?;
    if !difference.kept.is_empty() {
        let count = output::several(difference.kept.len() as u64, "document");
        output::note(format_args!(
            "{count} of files that could not be read stay as they were"
        ));
    }
    Ok(())
}
