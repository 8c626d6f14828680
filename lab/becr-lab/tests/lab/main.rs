//! The `becr-lab` command as a user meets it, one module per subcommand.

#[cfg(feature = "train")]
mod baseline;
mod bench_encoder;
mod bench_engine;
mod bench_json;
mod bench_rank;
mod composed;
mod folds;
#[path = "../../../../crates/becr-cli/tests/cli/fixtures.rs"]
#[allow(dead_code)]
mod full;
#[cfg(feature = "train")]
mod hub;
#[cfg(feature = "train")]
mod paper;
#[cfg(feature = "train")]
mod paper_recipes;
#[cfg(feature = "train")]
mod paper_small;
mod product;
#[path = "../../../../crates/becr-cli/tests/cli/ranked.rs"]
#[allow(dead_code)]
mod ranked;
mod raw;
mod tables;
#[cfg(feature = "train")]
mod train;
#[cfg(not(feature = "train"))]
mod train_absent;
mod variants;

use std::path::Path;
use std::process::Command;

/// What a finished command left behind.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs `becr-lab` in a folder: it has the commands of `becr`, too.
fn becr(folder: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_becr-lab"))
        .args(arguments)
        .current_dir(folder)
        // Not the user's own.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("BECR_CONFIG", "off")
        .output()
        .expect("becr-lab starts");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8 on standard output"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8 on standard error"),
    }
}
