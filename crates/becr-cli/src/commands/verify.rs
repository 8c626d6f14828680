//! `becr verify`: is the index what was written?

use crate::output;
use becr::{IndexError, Verification};
use becr_index::manifest::Manifest;
use becr_store::StoreError;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check every checksum, every reference and every count of an index
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the index, or its address in a cluster.
    index: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct VerifyOutput {
    sound: bool,
    #[serde(flatten)]
    verification: Verification,
}

impl Args {
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    #[cfg(feature = "redis")]
    if crate::cluster::address(&args.index).is_some() {
        let options = becr::OpenOptions::new().cluster(crate::cluster::reading_all());
        return tell(args, options.open(&args.index)?.verify()?);
    }
    let verification = match becr_index::verify(&args.index) {
        Ok(verification) => verification,
        Err(error @ IndexError::NotAnIndex { .. }) if !Manifest::is_in(&args.index) => {
            return Err(error.into());
        }
        Err(error) if says_nothing(&error) => return Err(error.into()),
        Err(error) => unreadable(error.to_string()),
    };
    tell(args, verification)
}

/// Whether an index that could not be read may be sound all the same: it is not finished, or not ours to read.
fn says_nothing(error: &IndexError) -> bool {
    match error {
        IndexError::InterruptedBuild(_) | IndexError::BeingBuilt(_) => true,
        IndexError::Store(error) => matches!(error, StoreError::Lock(_)),
        IndexError::Io { source, .. } => source.kind() == ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// Whatever happens to the process that reads, there is a report.
pub(crate) fn fell(args: &Args, reason: String) -> anyhow::Result<ExitCode> {
    tell(args, unreadable(reason))
}

fn unreadable(problem: String) -> Verification {
    Verification {
        problems: vec![problem],
        ..Verification::default()
    }
}

fn tell(args: &Args, verification: Verification) -> anyhow::Result<ExitCode> {
    let findings = VerifyOutput {
        sound: verification.problems.is_empty(),
        verification,
    };
    if args.json {
        output::json(&findings)?;
    } else {
        print(&findings)?;
    }
    Ok(if findings.sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(findings: &VerifyOutput) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Verification {
        documents,
        groups,
        problems,
        unchecked,
        compacting_repairs,
    } = &findings.verification;
    for problem in problems {
        writeln!(out, "{}", output::name(problem))?;
    }
    for part in unchecked {
        output::note(format_args!("not checked: {part}"));
    }
    match findings.sound {
        true => writeln!(
            out,
            "sound: {}, {}",
            output::several(*documents, "document"),
            output::several(*groups, "token group")
        )?,
        false if *compacting_repairs => writeln!(
            out,
            "damaged: {}, all in the first stage; `becr compact INDEX` writes that anew from the documents",
            output::several(problems.len() as u64, "problem")
        )?,
        false => writeln!(
            out,
            "damaged: {}; restore the index from a copy or build it again",
            output::several(problems.len() as u64, "problem")
        )?,
    }
    out.flush()?;
    Ok(())
}
