//! Commands that left `becr`: they say where they are.

use crate::output;
use std::ffi::OsString;
use std::process::ExitCode;

/// Whatever was asked.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    _asked: Vec<OsString>,
}

pub(crate) fn run(command: &str) -> anyhow::Result<ExitCode> {
    let (first, features) = match command {
        "train" => (
            "`becr tune FILE` tunes a head to judgements (a file with a section [tune]); every other training",
            " --features train",
        ),
        _ => ("This command", ""),
    };
    output::error(format_args!(
        "becr {command}: {first} is in the laboratory's program now: `cargo run --release -p becr-lab{features} -- {command} …` in the \
         sources (lab/README.md)"
    ));
    Ok(ExitCode::from(2))
}
