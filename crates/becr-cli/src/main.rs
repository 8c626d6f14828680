//! The `becr` command. Its code is in the library `becr_cli`, which `becr-lab` uses too.

use std::process::ExitCode;

fn main() -> ExitCode {
    becr_cli::becr()
}
