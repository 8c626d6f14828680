//! The `becr` command; the library beside it does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    becr_cli::becr()
}
