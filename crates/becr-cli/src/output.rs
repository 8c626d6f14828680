//! What the user sees: results on standard output, everything else on standard error.

use anyhow::Context;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::sync::OnceLock;

/// When to use colours and bold type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

static COLOUR: OnceLock<Colour> = OnceLock::new();

static QUIET: OnceLock<bool> = OnceLock::new();

/// Has nothing but errors said on standard error.
pub(crate) fn be_quiet(quiet: bool) {
    let _ = QUIET.set(quiet);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.get().copied().unwrap_or_default()
}

/// Sets when to use colours, once.
pub(crate) fn choose_colour(colour: Colour) {
    let _ = COLOUR.set(colour);
}

/// Whether standard output takes colours.
pub(crate) fn has_colours() -> bool {
    match COLOUR.get().copied().unwrap_or_default() {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            io::stdout().is_terminal() && !refused
        }
    }
}

/// Bold type, where there is any.
pub(crate) fn bold(text: &str) -> Cow<'_, str> {
    match has_colours() && !text.is_empty() {
        true => format!("\x1b[1m{text}\x1b[0m").into(),
        false => text.into(),
    }
}

/// Standard output, buffered. Write to it with `writeln!(out, …)?`: a closed pipe then surfaces as an
/// error that `main` turns into a quiet end, where `println!` would panic.
pub fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Prints `value` as indented JSON.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = stdout();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Says something to the user on standard error, unless they want to hear of errors alone.
pub fn note(message: impl std::fmt::Display) {
    if !is_quiet() {
        say(message);
    }
}

/// Nothing can be done if standard error is closed.
fn say(message: impl std::fmt::Display) {
    // Names of files and documents come from outside.
    let message = message.to_string();
    let _ = writeln!(io::stderr().lock(), "{}", printable(&message));
}

/// Says an error that has no causes.
pub fn error(message: impl std::fmt::Display) {
    say(format_args!("error: {message}"));
}

/// Begins the lines of an error after its first.
const CONTINUED: &str = "\n  | ";

/// Prints an error with its causes, but for those that the message before them has told already.
pub(crate) fn report(error: &anyhow::Error) {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    // A line break in a file name must not start a line that looks like a second error.
    let message = message.trim_end().replace('\n', CONTINUED);
    match crate::hints::hint(error) {
        Some(hint) => say(format_args!("error: {message} ({hint})")),
        None => say(format_args!("error: {message}")),
    }
}

/// True if the reader of our standard output went away, as `becr … | head` does.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Says what was passed over, if anything was.
pub fn note_report(report: &impl std::fmt::Display) {
    let text = report.to_string();
    if !text.is_empty() {
        note(text.trim_end());
    }
}

/// Says what was left out of a corpus: in short, or with every file.
pub(crate) fn note_left_out(report: &becr::corpus::SkipReport, all: bool) {
    note_report(report);
    if !report.is_cut() {
        return;
    }
    if !all {
        note("(--list-left-out names all of these files)");
        return;
    }
    for (rule, names) in &report.files {
        note(format_args!("all files: {rule}\n  {}", names.join("\n  ")));
    }
}

/// A number of things: `1 document`, `2 documents`.
pub(crate) fn several(count: u64, one: &str) -> String {
    format!("{count} {}", noun(count, one))
}

/// The name of so many things, without their number.
pub(crate) fn noun(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => one.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{one}s"),
    }
}

/// A file that was written, as it is called in a message.
pub(crate) fn written(path: &Path) -> String {
    match is_standard(path) {
        true => "standard output".to_owned(),
        false => path.display().to_string(),
    }
}

/// Refuses `-` for a directory: an index is no stream.
pub(crate) fn check_directory(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        !is_standard(path),
        "-: an index is a directory and cannot go to standard output; name one (./- for one that is called so)"
    );
    Ok(())
}

/// Whether a path means standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses a file that could not be written when the work is done: its folder is missing, or may not be written.
pub fn check_file(path: &Path) -> anyhow::Result<()> {
    if is_standard(path) {
        return Ok(());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let checked = match path.metadata() {
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Written in its own place, or replaced by a new file in its folder.
        Ok(meta) if !meta.is_file() => Ok(()),
        _ => tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map(drop),
    };
    checked.with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses a folder that could not be written to when the work is done; one that is missing is made then.
pub(crate) fn check_folder(path: &Path) -> anyhow::Result<()> {
    let is_there = |folder: &&Path| folder.symlink_metadata().is_ok();
    let above = path.ancestors().find(is_there).unwrap_or(Path::new("."));
    tempfile::tempfile_in(above).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// Whether a character would turn the order of others around.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The id or title of a document, or the name of a file, for the terminal: in one line, with escapes for what would break it,
/// steer the terminal, or turn the order of characters around.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    let is_special = |c: char| c.is_control() || turns(c);
    if !text.contains(is_special) {
        return text.into();
    }
    let mut named = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_special(c) {
            true => named.extend(c.escape_default()),
            false => named.push(c),
        }
    }
    named.into()
}

/// Text of a document for the terminal: characters that would steer it, or turn the order of the others around, become
/// spaces.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c);
    match text.contains(steers) {
        true => text.replace(steers, " ").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_cannot_be_written_are_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        check_file(&folder.path().join("new")).unwrap();
        check_file(Path::new("/dev/null")).unwrap();
        assert!(check_file(folder.path()).is_err());
        assert!(check_file(&folder.path().join("missing/new")).is_err());
        check_folder(&folder.path().join("a/b")).unwrap();
        check_folder(Path::new("relative")).unwrap();
        assert!(check_folder(Path::new("/dev/null/x")).is_err());
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_document_does_not_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\r\n\tc é"), "a [31mb \n\tc é");
        assert_eq!(printable("a\u{9b}2J \u{202e}gnp.exe"), "a 2J  gnp.exe");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(
            name("a\n\u{1b}[31mb\t\u{9b}2J"),
            "a\\n\\u{1b}[31mb\\t\\u{9b}2J"
        );
        assert_eq!(name("Größe \u{202e}gnp.exe"), "Größe \\u{202e}gnp.exe");
    }

    #[test]
    fn one_is_not_several() {
        assert_eq!(several(1, "document"), "1 document");
        assert_eq!(several(0, "query"), "0 queries");
        assert_eq!(several(2, "token group"), "2 token groups");
    }
}
