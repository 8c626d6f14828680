//! The contents of one file: fetched, resumed, checked.

use crate::cache::{Cache, make_folder_of};
use crate::client::{Client, Metadata};
use crate::{HubError, Name, Observer};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

/// How often in a row a download may bring nothing before it is given up.
const FRUITLESS: usize = 3;

/// A file that is wanted.
pub(crate) struct Download<'a> {
    pub(crate) client: &'a Client,
    pub(crate) cache: &'a Cache,
    pub(crate) name: &'a Name,
    pub(crate) file: &'static str,
    pub(crate) metadata: &'a Metadata,
    pub(crate) observer: &'a dyn Observer,
    /// Between tries that bring nothing.
    pub(crate) pause: Duration,
}

impl Download<'_> {
    /// Fetches the contents, unless they are there.
    pub(crate) fn run(&self) -> Result<(), HubError> {
        let etag = &self.metadata.etag;
        let blob = self.cache.blob(etag);
        if blob.exists() {
            return Ok(());
        }
        let _lock = self.cache.lock(etag)?;
        if blob.exists() {
            // Another process has fetched them meanwhile.
            return Ok(());
        }
        let partial = self.cache.blob(&format!("{etag}.incomplete"));
        make_folder_of(&partial).map_err(HubError::io(&partial))?;
        self.observer.begin(self.file, self.metadata.size);
        let fetched = self.fetch(&partial);
        self.observer.end();
        fetched?;
        self.check(&partial)?;
        fs::rename(&partial, &blob).map_err(HubError::io(&blob))
    }

    /// Goes on until everything is there.
    fn fetch(&self, partial: &Path) -> Result<(), HubError> {
        let size = self.metadata.size;
        let mut fruitless = 0;
        loop {
            let before = length(partial);
            if before == size && partial.exists() {
                return Ok(());
            }
            let problem = match self.part(partial, before) {
                Ok(()) => "the connection was closed".to_owned(),
                Err(Stop::CutOff(problem)) => problem,
                Err(Stop::Error(error)) => return Err(*error),
            };
            let done = length(partial);
            if done == size {
                continue;
            }
            fruitless = if done > before { 0 } else { fruitless + 1 };
            if fruitless >= FRUITLESS || done > size {
                return Err(HubError::CutOff {
                    name: self.name.clone(),
                    file: self.file,
                    done,
                    size,
                    problem,
                });
            }
            if fruitless > 0 {
                // A server that is overloaded or starting needs a moment.
                std::thread::sleep(self.pause);
            }
        }
    }

    /// One connection: appends what comes.
    fn part(&self, partial: &Path, from: u64) -> Result<(), Stop> {
        // What is longer than the file is not its beginning.
        let from = if from > self.metadata.size { 0 } else { from };
        let answer = self.client.get(self.name, self.file, from)?;
        let status = answer.status().as_u16();
        let goes_on = from > 0 && status == 206;
        let mut out = OpenOptions::new()
            .create(true)
            .append(goes_on)
            .write(true)
            .truncate(!goes_on)
            .open(partial)
            .map_err(HubError::io(partial))?;
        if status == 416 {
            return Ok(());
        }
        self.observer.position(if goes_on { from } else { 0 });
        let mut body = answer.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = match body.read(&mut buffer) {
                Ok(0) => return Ok(out.sync_all().map_err(HubError::io(partial))?),
                Ok(count) => count,
                Err(error) => return Err(Stop::CutOff(error.to_string())),
            };
            out.write_all(&buffer[..count])
                .map_err(HubError::io(partial))?;
            self.observer.advance(count as u64);
        }
    }

    /// Large files are known by their SHA-256.
    fn check(&self, partial: &Path) -> Result<(), HubError> {
        let expected = &self.metadata.etag;
        if expected.len() != 64 {
            return Ok(());
        }
        let found = sha256(partial).map_err(HubError::io(partial))?;
        if found == expected.to_lowercase() {
            return Ok(());
        }
        fs::remove_file(partial).map_err(HubError::io(partial))?;
        Err(HubError::Damaged {
            name: self.name.clone(),
            file: self.file,
            expected: expected.clone(),
        })
    }
}

/// Why a connection brought less than everything.
enum Stop {
    /// Try again.
    CutOff(String),
    /// Give up.
    Error(Box<HubError>),
}

impl From<HubError> for Stop {
    fn from(error: HubError) -> Self {
        match error {
            // The hub was there a moment ago, and it may be again.
            HubError::Unreachable {
                address, problem, ..
            } => {
                // What comes after the question mark is a signature: long, and for nobody's eyes.
                let address = address.split('?').next().unwrap_or_default();
                Self::CutOff(format!("cannot reach {address}: {problem}"))
            }
            error => Self::Error(Box::new(error)),
        }
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits)
}
