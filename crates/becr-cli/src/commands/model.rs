//! `becr model`: look after model directories.

use crate::output;
use becr_model::{Model, Storage};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Convert(ConvertArgs),
}

/// Copy a model with its weights stored in another number format.
///
/// f32 and f16 are read by Hugging Face's loader too; int8 (one scale per row) is a quarter of f32 and is read by
/// BECR only. The ranking head goes along where no weight changes its value.
#[derive(clap::Args)]
pub(crate) struct ConvertArgs {
    /// Directory of the model.
    model: PathBuf,
    /// Directory to write.
    #[arg(long)]
    out: PathBuf,
    /// How to store the weights.
    #[arg(long, value_enum)]
    dtype: Dtype,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Dtype {
    F32,
    F16,
    Int8,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Convert(args) => convert(args),
    }
}

fn convert(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let model = Model::read(&args.model)?;
    let storage = match args.dtype {
        Dtype::F32 => Storage::F32,
        Dtype::F16 => Storage::F16,
        Dtype::Int8 => Storage::I8,
    };
    model.write(&args.out, storage)?;
    // Read it back: a model that was written is a model that opens.
    let written = Model::read(&args.out)?;
    if let Some(head) = &model.head {
        match written.encoder_id() == model.encoder_id() {
            true => head.write(&args.out.join(becr_model::HEAD_FILE))?,
            false => output::note(
                "The head was not taken along: rounded weights are another encoder, train a head for it.",
            ),
        }
    }
    let bytes = std::fs::metadata(args.out.join("model.safetensors"))?.len();
    let mut out = output::stdout();
    writeln!(
        out,
        "{}: {}, encoder_id {}",
        args.out.display(),
        indicatif::BinaryBytes(bytes),
        written.encoder_id()
    )?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
