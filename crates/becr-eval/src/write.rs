//! Writing runs, and writing any file whole or not at all.

use crate::error::{Error, quote};
use crate::run::{Run, ranking};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a TREC run file. Queries keep their order; documents stand, and are ranked from 1, in the
/// order of [`ranking`], so that the same run always gives the same bytes and the rank column is what
/// an evaluation will see. An interrupted write leaves the old file or none. A path that ends in `.zst` is compressed.
///
/// # Errors
/// If an id or the tag is empty or has white space, if a score is not finite in single precision, or if writing fails.
pub fn write_run(path: impl AsRef<Path>, run: &Run) -> Result<(), Error> {
    check(run)?;
    let path = path.as_ref();
    let is_compressed = path.extension().is_some_and(|end| end == "zst");
    write_atomically(path, |out| match is_compressed {
        true => {
            let mut out = zstd::Encoder::new(out, LEVEL)?;
            write_lines(&mut out, run)?;
            out.finish().map(|_| ())
        }
        false => write_lines(out, run),
    })
}

/// Runs are written once and kept.
const LEVEL: i32 = 19;

/// [`write_run`] to any writer; `name` is named in errors.
///
/// # Errors
/// As [`write_run`].
pub fn write_run_to(mut out: impl Write, name: &Path, run: &Run) -> Result<(), Error> {
    check(run)?;
    write_lines(&mut out, run).map_err(|e| Error::io("write", name, e))
}

/// Calls `write` with a new file and puts it in the place of `path` once it is complete and on disk.
/// What is no ordinary file, such as `/dev/stdout` or a named pipe, is written to directly; `-` is standard output.
///
/// # Errors
/// If writing fails; `path` is then as it was.
pub fn write_atomically(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    let path = path.as_ref();
    let outcome = match fs::metadata(path) {
        _ if path.as_os_str() == "-" => {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush())
        }
        Ok(metadata) if !metadata.is_file() => write_through(path, write),
        // The link stays a link, the file behind it is replaced.
        Ok(_) => fs::canonicalize(path).and_then(|file| replace(&file, write)),
        Err(_) => replace(path, write),
    };
    outcome.map_err(|e| Error::io("write", path, e))
}

fn write_through(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
    write(&mut out)?;
    out.flush()
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The temporary file must lie on the same file system for the rename to be atomic.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut out = BufWriter::new(temporary(folder)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".becr-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Readable by others as the umask allows, as any file a command writes.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn check(run: &Run) -> Result<(), Error> {
    check_id("the run's tag", &run.tag)?;
    for (query, documents) in &run.queries {
        check_id("query", query)?;
        for (document, score) in documents {
            check_id("document", document)?;
            // Runs are read in single precision.
            if !(*score as f32).is_finite() {
                return Err(Error::Score {
                    query: quote(query),
                    document: quote(document),
                    score: *score,
                });
            }
        }
    }
    Ok(())
}

fn check_id(what: &'static str, id: &str) -> Result<(), Error> {
    match id.is_empty() || id.contains(|c: char| c.is_ascii_whitespace() || c == '\u{b}') {
        true => Err(Error::Identifier {
            what,
            found: quote(id),
        }),
        false => Ok(()),
    }
}

fn write_lines(out: &mut (impl Write + ?Sized), run: &Run) -> io::Result<()> {
    for (query, documents) in &run.queries {
        for (rank, (document, score)) in ranking(documents).into_iter().enumerate() {
            writeln!(
                out,
                "{query} Q0 {document} {} {score} {}",
                rank + 1,
                run.tag
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OnError, parse_run, read_run};
    use proptest::prelude::*;

    fn text(run: &Run) -> Result<String, Error> {
        let mut bytes = Vec::new();
        write_run_to(&mut bytes, Path::new("memory"), run)?;
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn documents_are_ranked_and_files_replaced_whole() {
        let mut run = Run::new("becr");
        run.push("2", "a", 0.5);
        run.push("2", "b", 0.5);
        run.push("2", "c", 12.25);
        run.push("1", "a", -1.0);
        let expected =
            "2 Q0 c 1 12.25 becr\n2 Q0 b 2 0.5 becr\n2 Q0 a 3 0.5 becr\n1 Q0 a 1 -1 becr\n";
        assert_eq!(text(&run).unwrap(), expected);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.run");
        fs::write(&path, "old").unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write_run(&path, &run).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(read_run(&path, OnError::Stop).unwrap().0.queries.len(), 2);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file stays behind"
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomically(&link, |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        write_atomically("/dev/null", |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_read_back_is_not_written() {
        let mut run = Run::new("becr");
        run.push("1", "my notes.txt", 1.0);
        assert!(
            text(&run)
                .unwrap_err()
                .to_string()
                .starts_with("document \"my notes.txt\": expected an id")
        );
        let mut run = Run::new("becr");
        run.push("1", "a", f64::NAN);
        assert!(
            text(&run)
                .unwrap_err()
                .to_string()
                .contains("expected a finite score that single precision can hold, found NaN")
        );
        let mut run = Run::new("becr");
        run.push("1", "a", 1e39);
        assert!(text(&run).is_err());
        assert!(text(&Run::new("")).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::btree_map(
                ("[!-~é]{1,4}", "[!-~ß]{1,6}"),
                any::<f64>().prop_filter("finite in single precision", |s| (*s as f32).is_finite()),
                0..40,
            ),
        ) {
            let mut run = Run::new("t");
            for ((query, document), score) in &rows {
                run.push(query, document.as_str(), *score);
            }
            let written = text(&run).unwrap();
            let (mut read, _) = parse_run(written.as_bytes(), Path::new("f"), OnError::Stop).unwrap();
            prop_assert_eq!(&text(&Run { tag: "t".into(), ..read.clone() }).unwrap(), &written);
            for documents in read.queries.values_mut().chain(run.queries.values_mut()) {
                documents.sort_by(|a, b| a.0.cmp(&b.0));
            }
            prop_assert_eq!(read.queries, run.queries);
        }
    }
}
