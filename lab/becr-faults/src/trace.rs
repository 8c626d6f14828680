//! The system calls of a command that change files, as `strace` writes them down.

use crate::disk::{Disk, Event, What};
use crate::inject::SLOW_STORE;
use anyhow::{Context, bail, ensure};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Calls that change what is on a disk, or where the next write goes.
const CALLS: &str = "open,openat,creat,close,dup,dup2,dup3,fcntl,write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,\
    truncate,fallocate,fsync,fdatasync,syncfs,sync,msync,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,\
    link,linkat,symlink,symlinkat,copy_file_range,sendfile";

/// A command as it went when nothing was in its way.
pub(crate) struct Recording {
    start: Disk,
    pub(crate) events: Vec<Event>,
    /// How often a thread made a call, at the most, by the call's name.
    pub(crate) counts: HashMap<String, usize>,
}

impl Recording {
    /// Runs a command in a folder and records it.
    pub(crate) fn new(becr: &Path, folder: &Path, arguments: &[String]) -> anyhow::Result<Self> {
        let start = Disk::read(folder)?;
        let log = folder.with_extension("strace");
        let output = Command::new("strace")
            .args(["-f", "-qq", "-y", "-xx", "-s", "100000000", "-e"])
            .arg(format!("trace={CALLS}"))
            .args(["-e", SLOW_STORE])
            .arg("-o")
            .arg(&log)
            .arg(becr)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()?;
        ensure!(
            output.status.success(),
            "{arguments:?} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = std::fs::read_to_string(&log).context("strace's file")?;
        let mut reader = Reader::new(folder);
        let calls = calls(&text)?;
        for call in &calls {
            reader
                .read(call)
                .with_context(|| format!("{}({:.200})", call.name, call.arguments.join(", ")))?;
        }
        let recording = Self {
            start,
            counts: counts(&calls),
            events: reader.events,
        };
        // The model is right if it ends where the file system did.
        let end = recording.replay(recording.events.len());
        end.compare(folder)?;
        std::fs::remove_file(&log)?;
        Ok(recording)
    }

    /// The disk after so many calls.
    pub(crate) fn replay(&self, calls: usize) -> Disk {
        let mut disk = self.start.clone();
        for (at, event) in self.events[..calls].iter().enumerate() {
            disk.apply(at, event);
        }
        disk
    }
}

/// A call that came back.
struct Call {
    thread: u32,
    name: String,
    arguments: Vec<String>,
    result: String,
    /// The number of calls that had come back when it began.
    begun: usize,
}

fn calls(text: &str) -> anyhow::Result<Vec<Call>> {
    let mut open: HashMap<u32, (String, usize)> = HashMap::new();
    let mut calls: Vec<Call> = Vec::new();
    for line in text.lines() {
        let (thread, rest) = line.split_once(' ').context("a line without a thread")?;
        let (thread, rest) = (thread.parse()?, rest.trim_start());
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        let (whole, begun) = if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            open.insert(thread, (begin.to_owned(), calls.len()));
            continue;
        } else if rest.starts_with("<... ") {
            let (_, end) = rest.split_once("resumed>").context("a resumed call")?;
            let (begin, begun) = open.remove(&thread).context("the beginning of a call")?;
            (begin + end, begun)
        } else {
            (rest.to_owned(), calls.len())
        };
        let (name, rest) = whole.split_once('(').context("no call")?;
        let (arguments, result) = rest.rsplit_once(" = ").context("no result")?;
        let arguments = arguments.trim_end();
        let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
        calls.push(Call {
            thread,
            name: name.to_owned(),
            arguments: split(arguments),
            result: result.to_owned(),
            begun,
        });
    }
    Ok(calls)
}

fn counts(calls: &[Call]) -> HashMap<String, usize> {
    let mut by_thread: HashMap<(u32, &str), usize> = HashMap::new();
    for call in calls {
        *by_thread.entry((call.thread, &call.name)).or_default() += 1;
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for ((_, name), count) in by_thread {
        let most = counts.entry(name.to_owned()).or_default();
        *most = count.max(*most);
    }
    counts
}

/// Arguments are separated by commas, but inside of brackets. Strings are in hexadecimal and have neither.
fn split(arguments: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in arguments.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// An open file: where the next write goes, and whether writes wait for the disk.
#[derive(Clone, Copy)]
struct Opened {
    at: u64,
    is_synced: bool,
    appends: bool,
}

struct Reader<'f> {
    root: &'f Path,
    events: Vec<Event>,
    /// How many events there were when so many calls had come back.
    known: Vec<usize>,
    /// By handle and path; a path changes when its file is renamed, and handles go by their newest path then.
    opened: HashMap<(String, PathBuf), Opened>,
}

impl<'f> Reader<'f> {
    fn new(root: &'f Path) -> Self {
        Self {
            root,
            events: Vec::new(),
            known: Vec::new(),
            opened: HashMap::new(),
        }
    }

    fn read(&mut self, call: &Call) -> anyhow::Result<()> {
        self.known.push(self.events.len());
        let number: i64 = leading_number(&call.result)?;
        if number < 0 {
            return Ok(());
        }
        let a = &call.arguments;
        match call.name.as_str() {
            "open" | "openat" | "creat" => self.open(call)?,
            "close" => {
                if let Some(key) = self.handle(&a[0])? {
                    self.opened.remove(&key);
                }
            }
            "dup" | "dup2" | "dup3" | "fcntl" => self.duplicate(call)?,
            "lseek" => {
                if let Some(opened) = self.opened_mut(&a[0])? {
                    opened.at = number as u64;
                }
            }
            "write" | "writev" => {
                let Some(key) = self.handle(&a[0])? else {
                    return Ok(());
                };
                let bytes = written(call, number)?;
                let opened = self
                    .opened
                    .get_mut(&key)
                    .context("a handle nobody opened")?;
                let at = (!opened.appends).then_some(opened.at);
                opened.at += bytes.len() as u64;
                let is_synced = opened.is_synced;
                self.push(What::Write {
                    path: key.1,
                    at,
                    bytes,
                    is_synced,
                });
            }
            "pwrite64" | "pwritev" | "pwritev2" => {
                let Some(key) = self.handle(&a[0])? else {
                    return Ok(());
                };
                let bytes = written(call, number)?;
                let at = Some(leading_number(&a[3])? as u64);
                let is_synced = self.opened.get(&key).is_some_and(|opened| opened.is_synced);
                self.push(What::Write {
                    path: key.1,
                    at,
                    bytes,
                    is_synced,
                });
            }
            "ftruncate" => {
                if let Some((_, path)) = self.handle(&a[0])? {
                    let length = leading_number(&a[1])? as u64;
                    self.push(What::Truncate { path, length });
                }
            }
            "truncate" => {
                if let Some(path) = self.path(None, &a[0])? {
                    let length = leading_number(&a[1])? as u64;
                    self.push(What::Truncate { path, length });
                }
            }
            "fsync" | "fdatasync" => {
                if let Some((_, path)) = self.handle(&a[0])? {
                    let before = self.known[call.begun.min(self.known.len() - 1)];
                    self.push(What::Sync { path, before });
                }
            }
            "sync" | "syncfs" | "msync" => bail!("a call that the model does not know"),
            "rename" => self.rename(None, &a[0], None, &a[1], "")?,
            "renameat" => self.rename(Some(&a[0]), &a[1], Some(&a[2]), &a[3], "")?,
            "renameat2" => self.rename(Some(&a[0]), &a[1], Some(&a[2]), &a[3], &a[4])?,
            "unlink" | "rmdir" => self.remove(None, &a[0])?,
            "unlinkat" => self.remove(Some(&a[0]), &a[1])?,
            "mkdir" => self.make_folder(None, &a[0])?,
            "mkdirat" => self.make_folder(Some(&a[0]), &a[1])?,
            // Of what has no path in the folder nothing is to be modelled.
            "link" | "linkat" | "symlink" | "symlinkat" | "copy_file_range" | "sendfile"
            | "fallocate" => {
                let is_inside = a.iter().any(|argument| {
                    decoded(argument).is_ok_and(|path| Path::new(&path).starts_with(self.root))
                });
                ensure!(!is_inside, "a call that the model does not know");
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, what: What) {
        self.events.push(Event { what });
    }

    fn open(&mut self, call: &Call) -> anyhow::Result<()> {
        let flags = call
            .arguments
            .iter()
            .find(|argument| argument.starts_with("O_"));
        let flags = flags.map_or("O_CREAT|O_TRUNC", String::as_str);
        let has = |flag: &str| flags.split('|').any(|has| has == flag);
        let Some((handle, path)) = self.handle(&call.result)? else {
            return Ok(());
        };
        if has("O_CREAT") {
            self.push(What::Create { path: path.clone() });
        }
        if has("O_TRUNC") {
            self.push(What::Truncate {
                path: path.clone(),
                length: 0,
            });
        }
        self.opened.insert(
            (handle, path),
            Opened {
                at: 0,
                is_synced: has("O_DSYNC") || has("O_SYNC"),
                appends: has("O_APPEND"),
            },
        );
        Ok(())
    }

    fn duplicate(&mut self, call: &Call) -> anyhow::Result<()> {
        if call.name == "fcntl" && !call.arguments[1].starts_with("F_DUPFD") {
            return Ok(());
        }
        let (Some(from), Some(to)) = (self.handle(&call.arguments[0])?, self.handle(&call.result)?)
        else {
            return Ok(());
        };
        // Both share a place from now on; nobody writes through both by turns.
        if let Some(&opened) = self.opened.get(&from) {
            self.opened.insert(to, opened);
        }
        Ok(())
    }

    fn rename(
        &mut self,
        from_folder: Option<&String>,
        from: &str,
        to_folder: Option<&String>,
        to: &str,
        flags: &str,
    ) -> anyhow::Result<()> {
        let (from, to) = (self.path(from_folder, from)?, self.path(to_folder, to)?);
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(());
        };
        let exchanges = flags.contains("RENAME_EXCHANGE");
        let moved = |path: &Path| -> Option<PathBuf> {
            if let Ok(rest) = path.strip_prefix(&from) {
                return Some(to.join(rest));
            }
            match path.strip_prefix(&to) {
                Ok(rest) if exchanges => Some(from.join(rest)),
                _ => None,
            }
        };
        let opened = std::mem::take(&mut self.opened);
        self.opened = opened
            .into_iter()
            .map(|((handle, path), opened)| {
                let path = moved(&path).map_or(path, |path| clean(&path));
                ((handle, path), opened)
            })
            .collect();
        self.push(What::Rename {
            from,
            to,
            exchanges,
        });
        Ok(())
    }

    fn remove(&mut self, folder: Option<&String>, path: &str) -> anyhow::Result<()> {
        if let Some(path) = self.path(folder, path)? {
            self.push(What::Remove { path });
        }
        Ok(())
    }

    fn make_folder(&mut self, folder: Option<&String>, path: &str) -> anyhow::Result<()> {
        if let Some(path) = self.path(folder, path)? {
            self.push(What::MakeFolder { path });
        }
        Ok(())
    }

    fn opened_mut(&mut self, argument: &str) -> anyhow::Result<Option<&mut Opened>> {
        let key = self.handle(argument)?;
        Ok(key.and_then(|key| self.opened.get_mut(&key)))
    }

    /// A handle as `3</path>`, if it is of a file in the folder that still has a name.
    fn handle(&self, argument: &str) -> anyhow::Result<Option<(String, PathBuf)>> {
        let Some((handle, rest)) = argument.split_once('<') else {
            return Ok(None);
        };
        if rest.contains("(deleted)") {
            return Ok(None);
        }
        let Some((path, _)) = rest.split_once('>') else {
            return Ok(None);
        };
        let path = PathBuf::from(decoded(path)?);
        Ok(path
            .starts_with(self.root)
            .then(|| (handle.trim().to_owned(), path)))
    }

    /// A path as it was given, if it is inside of the folder.
    fn path(&self, folder: Option<&String>, argument: &str) -> anyhow::Result<Option<PathBuf>> {
        let given = decoded(argument.trim_matches('"'))?;
        let base = match folder.and_then(|folder| folder.split_once('<')) {
            Some((_, path)) => PathBuf::from(decoded(path.trim_end_matches('>'))?),
            None => self.root.to_owned(),
        };
        let path = clean(&base.join(given));
        Ok(path.starts_with(self.root).then_some(path))
    }
}

/// A path without `.` and `..`; there are no links in the folder.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

fn leading_number(text: &str) -> anyhow::Result<i64> {
    let end = text
        .char_indices()
        .find(|&(at, letter)| !(letter.is_ascii_digit() || at == 0 && letter == '-'))
        .map_or(text.len(), |(at, _)| at);
    text[..end]
        .parse()
        .with_context(|| format!("no number: {text}"))
}

/// The bytes of a write, of one or several strings.
fn written(call: &Call, length: i64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in call.arguments[1].split('"').skip(1).step_by(2) {
        bytes.extend(unescaped(piece)?);
    }
    ensure!(
        bytes.len() >= length as usize,
        "{} of {length} bytes",
        bytes.len()
    );
    bytes.truncate(length as usize);
    Ok(bytes)
}

fn decoded(text: &str) -> anyhow::Result<String> {
    Ok(String::from_utf8(unescaped(text)?)?)
}

/// `\x41\x42`; anything else stands for itself.
fn unescaped(text: &str) -> anyhow::Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len() / 4), 0);
    while at < bytes.len() {
        match bytes.get(at..at + 4) {
            Some([b'\\', b'x', high, low]) => {
                let digit = |byte: &u8| (*byte as char).to_digit(16).context("a digit");
                plain.push((digit(high)? * 16 + digit(low)?) as u8);
                at += 4;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    Ok(plain)
}
