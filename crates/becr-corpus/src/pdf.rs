//! PDF, through `pdftotext` of poppler: a child process, so that a file that it cannot bear harms nobody else.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ErrorKind;

const PROGRAM: &str = "pdftotext";
/// How long one file may take: books of a thousand pages take some seconds.
const LONGEST: Duration = Duration::from_secs(60);
/// The most text of one file. Files that unpack to more are made to do harm.
const MOST: usize = 64 * 1024 * 1024;
/// What is shown of the program's complaint.
const COMPLAINT: usize = 200;

/// Whether the program is there.
pub(crate) fn is_installed() -> bool {
    static INSTALLED: LazyLock<bool> = LazyLock::new(|| {
        let mut command = Command::new(PROGRAM);
        command
            .arg("-v")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok()
    });
    *INSTALLED
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, ErrorKind> {
    read(PROGRAM.as_ref(), path, LONGEST, MOST)
}

fn read(program: &Path, path: &Path, longest: Duration, most: usize) -> Result<String, ErrorKind> {
    let fault = |detail: String| ErrorKind::Pdf { detail };
    let mut child = Command::new(program)
        .args(["-q", "-enc", "UTF-8", "-eol", "unix"])
        .arg(no_option(path))
        .arg("-")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| fault(format!("{PROGRAM} cannot be run: {error}")))?;
    let output = beside(child.stdout.take(), most + 1, false);
    let complaint = beside(child.stderr.take(), COMPLAINT, true);
    let ended = wait(&mut child, longest, &|| output.is_finished());
    let (output, complaint) = (joined(output), joined(complaint));
    let status = match ended {
        Ok(Some(status)) => status,
        Ok(None) => {
            return Err(fault(format!(
                "{PROGRAM} took more than {} s",
                longest.as_secs()
            )));
        }
        Err(error) => return Err(fault(error.to_string())),
    };
    if output.len() > most {
        return Err(ErrorKind::TooLong { limit: most });
    }
    if !status.success() {
        let complaint = String::from_utf8_lossy(&complaint);
        let complaint = complaint.lines().next().unwrap_or_default().trim();
        return Err(fault(format!("{PROGRAM} ended with {status}: {complaint}")));
    }
    // Pages end with form feeds.
    let text = String::from_utf8_lossy(&output).replace('\u{c}', "\n\n");
    Ok(text.trim().to_owned())
}

/// The path as an argument that is not taken for an option or for standard input.
fn no_option(path: &Path) -> OsString {
    match path.as_os_str().as_encoded_bytes().first() {
        Some(b'-') => Path::new(".").join(path).into_os_string(),
        _ => path.as_os_str().to_owned(),
    }
}

/// Keeps up to so many bytes, on a thread of its own. What comes after them is passed over, or else the pipe is closed, by which
/// the program ends.
fn beside(
    pipe: Option<impl Read + Send + 'static>,
    most: usize,
    to_the_end: bool,
) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before a failure is kept; the status of the program says more than the failure.
            let _ = pipe.by_ref().take(most as u64).read_to_end(&mut bytes);
            if to_the_end {
                let _ = io::copy(&mut pipe, &mut io::sink());
            }
        }
        bytes
    })
}

fn joined(reader: thread::JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().unwrap_or_default()
}

/// Waits for the end; `None` if the program had to be ended.
fn wait(
    child: &mut Child,
    longest: Duration,
    has_all: &dyn Fn() -> bool,
) -> io::Result<Option<std::process::ExitStatus>> {
    let ends = Instant::now() + longest;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= ends {
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        // Soon after its output is read, the program is gone.
        pause = match has_all() {
            true => Duration::from_millis(1),
            false => (pause * 2).min(Duration::from_millis(50)),
        };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program in place of the real one, which may not be installed.
    fn read_with(script: &str, name: &str) -> Result<String, ErrorKind> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        read(&program, Path::new(name), Duration::from_secs(1), 1000)
    }

    #[test]
    fn text_errors_and_limits() {
        assert_eq!(
            read_with("printf 'one\\ftwo\\n'", "x.pdf").unwrap(),
            "one\n\ntwo"
        );
        let arguments = read_with("echo \"$@\"", "-x.pdf").unwrap();
        assert_eq!(arguments, "-q -enc UTF-8 -eol unix ./-x.pdf -");
        let failed = read_with("echo 'Syntax Error: no trailer' >&2; exit 1", "x.pdf").unwrap_err();
        assert!(failed.to_string().contains("no trailer"), "{failed}");
        let started = Instant::now();
        let late = read_with("exec sleep 30", "x.pdf").unwrap_err();
        assert!(late.to_string().contains("more than 1 s"), "{late}");
        assert!(started.elapsed() < Duration::from_secs(15));
        let long = read_with("exec yes", "x.pdf").unwrap_err();
        assert!(matches!(long, ErrorKind::TooLong { limit: 1000 }), "{long}");
        let missing = read(Path::new("/no/program"), Path::new("x"), LONGEST, 10).unwrap_err();
        assert!(missing.to_string().contains("cannot be run"), "{missing}");
    }
}
