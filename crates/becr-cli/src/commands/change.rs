//! `becr add`, `update`, `delete`, `compact`, `merge`: an index that lives.

use super::corpus::CorpusArgs;
use crate::{backend, models, output, progress};
use becr::{Changed, Existing, Index, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `becr add` and `becr update`.
#[derive(clap::Args)]
pub(crate) struct PutArgs {
    /// Directory of the index.
    index: PathBuf,
    #[command(flatten)]
    corpus: CorpusArgs,
    /// Directory of the model or its hf:owner/name, if it is no longer where it was when the index was built.
    #[arg(long, value_name = "DIR", env = "BECR_MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    backend: backend::Args,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `becr add`.
#[derive(clap::Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    put: PutArgs,
    /// What to do with a document whose id the index has: refuse it and stop, skip it, or replace the one that is there.
    /// After an error, skip goes on with the documents that are not in yet.
    #[arg(long, value_enum, default_value_t)]
    existing: OnExisting,
}

/// What to do with documents that the index has.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum OnExisting {
    #[default]
    Refuse,
    Skip,
    Replace,
}

impl From<OnExisting> for Existing {
    fn from(on_existing: OnExisting) -> Self {
        match on_existing {
            OnExisting::Refuse => Self::Refuse,
            OnExisting::Skip => Self::Skip,
            OnExisting::Replace => Self::Replace,
        }
    }
}

/// Arguments of `becr delete`.
#[derive(clap::Args)]
pub(crate) struct DeleteArgs {
    /// Directory of the index.
    index: PathBuf,
    /// Ids of the documents to delete; `-` reads them from standard input, one a line.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `becr compact`.
#[derive(clap::Args)]
pub(crate) struct CompactArgs {
    /// Directory of the index.
    index: PathBuf,
    /// Print the sizes as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `becr merge`.
#[derive(clap::Args)]
pub(crate) struct MergeArgs {
    /// Directories of the parts.
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Directory of the joined index.
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Replace the index at --out.
    #[arg(long)]
    overwrite: bool,
    /// Print what was made as JSON.
    #[arg(long)]
    json: bool,
}

impl AddArgs {
    pub(crate) fn index(&self) -> &Path {
        self.put.index()
    }
}

impl PutArgs {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

impl DeleteArgs {
    fn ids(&self) -> anyhow::Result<Vec<String>> {
        let mut ids = Vec::new();
        for id in &self.ids {
            match id.as_str() {
                "-" => {
                    let lines = std::io::stdin().lines();
                    ids.extend(lines.collect::<Result<Vec<_>, _>>()?);
                }
                id => ids.push(id.to_owned()),
            }
        }
        ids.retain(|id| !id.is_empty());
        Ok(ids)
    }

    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

impl CompactArgs {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

impl MergeArgs {
    pub(crate) fn index(&self) -> Option<&Path> {
        self.parts.first().map(PathBuf::as_path)
    }
}

pub(crate) fn add(args: &AddArgs) -> anyhow::Result<ExitCode> {
    put(&args.put, args.existing.into())
}

pub(crate) fn put(args: &PutArgs, existing: Existing) -> anyhow::Result<ExitCode> {
    let opened = Index::open(&args.index)?;
    opened.check_changeable()?;
    let precision = opened.precision()?;
    drop(opened);
    let model = models::of_index(&args.index, args.model.as_deref())?;
    let encoder = Arc::new(args.backend.open_in(model.clone(), precision)?);
    let index = OpenOptions::new()
        .model(model)
        .encoder(encoder)
        .open(&args.index)?;
    note_folders(&index)?;
    let mut corpus = args.corpus.open()?;
    let stages = progress::Stages::reading(&corpus);
    let documents = corpus.by_ref();
    let before = index.unweighted()?;
    let changed = index.add(documents, existing, &stages);
    stages.clear();
    args.corpus.note(&corpus.skipped());
    if index.unweighted()? != before {
        super::index::note_unweighted(&index)?;
    }
    print(changed?, args.json)
}

/// What an index that follows folders does with documents from elsewhere.
fn note_folders(index: &Index) -> anyhow::Result<()> {
    if let Some(folder) = index.folders()?.first() {
        output::note(format_args!(
            "This index follows {}: the next `becr sync` undoes what is not in its folders.",
            folder.path.display()
        ));
    }
    Ok(())
}

pub(crate) fn delete(args: &DeleteArgs) -> anyhow::Result<ExitCode> {
    let index = Index::open(&args.index)?;
    note_folders(&index)?;
    let (changed, unknown) = index.delete(&args.ids()?)?;
    print(changed, args.json)?;
    for id in &unknown {
        output::note(format_args!("no document \"{}\"", output::name(id)));
    }
    Ok(if unknown.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

pub(crate) fn compact(args: &CompactArgs) -> anyhow::Result<ExitCode> {
    let stages = progress::Stages::default();
    let sizes = Index::open(&args.index)?.compact(&stages);
    stages.clear();
    let (before, after) = sizes?;
    if args.json {
        output::json(&serde_json::json!({ "bytes_before": before, "bytes": after }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    let (before, after) = (
        indicatif::BinaryBytes(before),
        indicatif::BinaryBytes(after),
    );
    writeln!(
        out,
        "{}: {before} before, {after} now",
        args.index.display()
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<ExitCode> {
    let stages = progress::Stages::default();
    output::check_directory(&args.out)?;
    let documents = becr_index::merge(&args.parts, &args.out, args.overwrite, &stages);
    stages.clear();
    let documents = documents?;
    if args.json {
        let parts = args.parts.len();
        output::json(&serde_json::json!({ "documents": documents, "parts": parts }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = output::stdout();
    writeln!(
        out,
        "{}: {} from {}",
        args.out.display(),
        output::several(documents, "document"),
        output::several(args.parts.len() as u64, "part")
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn print(changed: Changed, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        output::json(&changed)?;
    } else {
        let mut out = output::stdout();
        let Changed {
            added,
            replaced,
            deleted,
            skipped,
        } = changed;
        write!(out, "{added} added, {replaced} replaced, {deleted} deleted")?;
        match skipped {
            0 => writeln!(out)?,
            skipped => writeln!(out, ", {skipped} skipped")?,
        }
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}
