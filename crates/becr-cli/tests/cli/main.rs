//! The `becr` command as a user meets it, one module per subcommand.

mod beside;
#[cfg(feature = "redis")]
mod cluster;
mod cost;
mod cross;
mod damage;
mod demo;
mod dice;
mod documented;
mod doors;
mod encode;
mod eval;
mod explain;
mod failures;
mod faults;
mod fixtures;
mod full;
mod full_disk;
mod head;
mod hub;
mod index;
mod kill;
mod manners;
mod modes;
mod moved;
mod ranked;
mod rerank;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod sync;
mod tune;
mod vectors;
mod words;

use std::path::Path;
use std::process::Command;

/// What a finished command left behind.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `becr` in a folder.
fn becr(folder: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_becr"))
        .args(arguments)
        .current_dir(folder)
        // Not the user's own.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("BECR_CONFIG", "off")
        .output()
        .expect("becr starts");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8 on standard output"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8 on standard error"),
    }
}
