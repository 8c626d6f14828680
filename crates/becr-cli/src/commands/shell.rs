//! `becr completions`, `becr manual`: what shells and `man` take.

use crate::output;
use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print completions for a shell
///
/// Examples:
///
///   becr completions bash > ~/.local/share/bash-completion/completions/becr
///
///   becr completions zsh > ~/.zfunc/_becr
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Write manual pages, one for each command
///
/// Examples:
///
///   becr manual ~/.local/share/man/man1
///
///   becr manual - | man -l -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ManualArgs {
    /// Folder to write them to; it is made if it is not there. `-` writes all to standard output, one after the other.
    folder: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    // Into memory first: a closed pipe would panic inside of the generator.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "becr", &mut script);
    let mut out = output::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn manual(args: &ManualArgs) -> anyhow::Result<ExitCode> {
    let folder = &args.folder;
    if output::is_standard(folder) {
        return manual_to_stdout();
    }
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(crate::command(), folder))
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    output::note(format_args!("{}: see becr.1", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// The same pages as files have, in the order of their names.
fn manual_to_stdout() -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    clap_mangen::generate_to(crate::command(), folder.path())?;
    let pages: Result<Vec<_>, _> = folder.path().read_dir()?.collect();
    let mut pages: Vec<_> = pages?.iter().map(std::fs::DirEntry::path).collect();
    // By command, so that `becr.1` comes before `becr-add.1`.
    pages.sort_by_cached_key(|page| page.file_stem().map(ToOwned::to_owned));
    let mut out = output::stdout();
    for page in pages {
        out.write_all(&std::fs::read(page)?)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
