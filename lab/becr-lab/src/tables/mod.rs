//! `becr-lab tables`: the tables of an evaluation, from one file that says what is compared on what.
//!
//! Every figure comes from a run file that is kept, and every run from a command that the table names. What was done
//! before is not done again: a step is known by its command and by what it reads (`steps.rs`).

mod config;
mod lengths;
mod making;
mod operations;
mod relevance;
mod steps;
mod times;

use becr_cli::output;
use config::Config;
use relevance::Relevance;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use steps::Steps;
use times::Times;

/// Make the tables of an evaluation
///
/// A TOML file names collections, models, trainings and tables. Trainings, models,
/// indexes and runs that are missing are made by the commands that the footers of the
/// tables name; tables go out as Markdown, CSV and SVG. Asked again with nothing changed, it
/// makes nothing and writes the same bytes. lab/becr-lab/configs/tables.toml is an
/// example with comments: relevance, components switched off, bits and layers,
/// operations counted from shapes, and times, which are measured once and kept.
///
/// Examples:
///
///   becr-lab tables tables.toml
///
///   becr-lab tables tables.toml --check
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The file.
    config: PathBuf,
    /// Make nothing: fail if a step or a table is missing or no longer what the file says.
    #[arg(long)]
    check: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = Config::read(&args.config)?;
    std::fs::create_dir_all(&config.out)?;
    let mut steps = Steps::open(&config.out, args.check)?;
    for table in &config.tables {
        let made = Relevance::make(&config, table, &mut steps)?;
        write(&config.out, &table.name, &made.markdown(), args.check)?;
        let beside = |end: &str, text: &str| {
            let path = config.out.join(format!("{}{end}", table.name));
            write_file(&path, text, args.check)
        };
        beside(".csv", &made.csv())?;
        beside(".svg", &made.svg())?;
        if let Some(lengths) = made.lengths() {
            beside("-lengths.csv", &lengths.csv())?;
            beside("-lengths.svg", &lengths.svg())?;
        }
    }
    if let Some(workload) = &config.operations {
        let rows = operations::count(workload);
        write(
            &config.out,
            "operations",
            &operations::markdown(workload, &rows),
            args.check,
        )?;
        write_file(
            &config.out.join("operations.csv"),
            &operations::csv(&rows),
            args.check,
        )?;
    }
    if let Some(times) = &config.times {
        let made = Times::make(&config.out, times, &mut steps)?;
        write(&config.out, "times", &made.markdown(), args.check)?;
        write_file(&config.out.join("times.csv"), &made.csv(), args.check)?;
    }
    let (out, done, kept) = (&config.out, steps.done, steps.kept);
    match args.json {
        true => output::json(&serde_json::json!({
            "out": out,
            "steps_done": done,
            "steps_done_before": kept,
        }))?,
        false => output::note(format_args!(
            "{}: {done} steps done, {kept} were done before",
            out.display()
        )),
    }
    Ok(ExitCode::SUCCESS)
}

fn write(out: &Path, name: &str, text: &str, check: bool) -> anyhow::Result<()> {
    write_file(&out.join(format!("{name}.md")), text, check)
}

/// Writes a file unless it is as it should be.
fn write_file(path: &Path, text: &str, check: bool) -> anyhow::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    anyhow::ensure!(
        !check,
        "{}: is missing or not what the runs say; run the same command without --check",
        path.display()
    );
    becr_eval::write_atomically(path, |out| out.write_all(text.as_bytes()))?;
    Ok(())
}

/// A cell of a CSV file.
fn quoted(cell: &str) -> String {
    format!("\"{}\"", cell.replace('"', "\"\""))
}
