//! `becr-lab bench`: the benchmarks of `becr-bench`, with this command's output and progress bars.

pub(crate) use becr_bench::Args;
use becr_bench::Console;
use becr_cli::{output, progress};
use std::io::Write;
use std::process::ExitCode;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut out: Box<dyn Write> = match args.prints_json() {
        true => Box::new(std::io::stderr()),
        false => Box::new(output::stdout()),
    };
    let mut console = Console {
        out: &mut out,
        note: |message| output::note(message),
        bar: progress::counting,
    };
    becr_bench::run(args, &mut console)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
