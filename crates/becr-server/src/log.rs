//! The log: a line per request, as text or as JSON, on standard error.

use tracing_subscriber::filter::LevelFilter;

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object per line.
    Json,
    /// Not at all.
    Off,
}

/// Starts the log of this process. Does nothing if it has one already.
pub fn start(format: LogFormat) {
    let lines = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_target(false)
        .with_ansi(false)
        .with_writer(std::io::stderr);
    // An error says that a log was started before, which is as good.
    let _ = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
        LogFormat::Off => Ok(()),
    };
}
