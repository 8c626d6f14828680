//! `becr verify`: is the index what was written?
//!
//! The reading is done in a child process: a store whose own pages are damaged can bring its reader down
//! (with a signal, not an error), and the report must come all the same.

use crate::output;
use anyhow::Context;
use becr::{Index, Verification};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Check every checksum, every reference and every count of an index
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the index.
    index: PathBuf,
    /// Print the findings as JSON.
    #[arg(long)]
    json: bool,
    /// Do the reading: what the command calls itself with.
    #[arg(long, hide = true)]
    child: bool,
}

#[derive(Serialize, Deserialize)]
struct VerifyOutput {
    sound: bool,
    #[serde(flatten)]
    verification: Verification,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.child {
        output::json(&Index::open(&args.index)?.verify()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    becr_index::manifest::Manifest::read(&args.index)?;
    let verification = in_child(args)?;
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

fn in_child(args: &Args) -> anyhow::Result<Verification> {
    let child = Command::new(std::env::current_exe()?)
        .args(["verify", "--child"])
        .arg(&args.index)
        .output()
        .context("cannot start the process that reads the index")?;
    if child.status.success() {
        return Ok(serde_json::from_slice(&child.stdout)?);
    }
    let said = String::from_utf8_lossy(&child.stderr);
    let said = said.trim().trim_start_matches("error: ");
    let problem = match child.status.code() {
        Some(_) => said.to_owned(),
        None => format!(
            "reading the index ended with {}: the store's own pages are damaged",
            child.status
        ),
    };
    Ok(Verification {
        problems: vec![problem],
        ..Verification::default()
    })
}

fn print(findings: &VerifyOutput) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Verification {
        documents,
        groups,
        problems,
    } = &findings.verification;
    for problem in problems {
        writeln!(out, "{problem}")?;
    }
    match findings.sound {
        true => writeln!(out, "sound: {documents} documents, {groups} token groups")?,
        false => writeln!(
            out,
            "damaged: {} problems; restore the index from a copy or build it again",
            problems.len()
        )?,
    }
    out.flush()?;
    Ok(())
}
