//! `becr verify`: is the index what was written?
//!
//! The reading is done in a child process: a store whose own pages are damaged can bring its reader down
//! (with a signal, not an error), and the report must come all the same.

use crate::output;
use anyhow::Context;
use becr_index::manifest::Manifest;
use becr_index::verify::{Report, verify};
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
struct Findings {
    sound: bool,
    #[serde(flatten)]
    report: Report,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.child {
        output::json(&verify(&args.index)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    Manifest::read(&args.index)?;
    let report = in_child(args)?;
    let findings = Findings {
        sound: report.problems.is_empty(),
        report,
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

fn in_child(args: &Args) -> anyhow::Result<Report> {
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
    Ok(Report {
        problems: vec![problem],
        ..Report::default()
    })
}

fn print(findings: &Findings) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let Report {
        documents,
        groups,
        problems,
    } = &findings.report;
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
