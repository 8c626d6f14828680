//! A file that appears under its name only when it is complete.

use crate::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Written as `NAME.partial`; [`Output::commit`] gives it its name. Dropped before, it is removed.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    purpose: Purpose,
    committed: bool,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A result, flushed to disk before it gets its name.
    Result,
    /// A step on the way, worthless after a crash.
    Scratch,
}

impl Output {
    pub(crate) fn create(path: &Path, purpose: Purpose) -> Result<Self, Error> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(Error::io(&partial, "create the file"))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: BufWriter::with_capacity(256 * 1024, file),
            purpose,
            committed: false,
        })
    }

    /// The name that the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Completes the file and gives it its name.
    pub(crate) fn commit(mut self) -> Result<(), Error> {
        let flushed = self.file.flush();
        flushed
            .and_then(|()| match self.purpose {
                Purpose::Result => self.file.get_ref().sync_all(),
                Purpose::Scratch => Ok(()),
            })
            .map_err(Error::io(&self.partial, "write the file"))?;
        fs::rename(&self.partial, &self.path).map_err(Error::io(&self.path, "create the file"))?;
        self.committed = true;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done if it cannot be removed, and the name says what it is.
            let _ = fs::remove_file(&self.partial);
        }
    }
}
