//! A model of a disk: what programs see of it, what is on it for good, and what is on its way.

use anyhow::{Context, ensure};
use becr_basics::SplitMix64 as Random;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a disk writes as a whole: a write of more may get there in part.
const PAGE: usize = 4096;
/// LMDB's readers; a mapped file that nobody syncs and the first who opens it makes anew.
const LOCK: &str = "lock.mdb";

/// A call that changes files.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) what: What,
}

/// What a call does. Paths are whole.
#[derive(Debug, Clone)]
pub(crate) enum What {
    Create {
        path: PathBuf,
    },
    /// At a place, or at the end; for good at once, if the file was opened that way.
    Write {
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
        is_synced: bool,
    },
    Truncate {
        path: PathBuf,
        length: u64,
    },
    /// Everything of a file or a folder that was done by events before this number.
    Sync {
        path: PathBuf,
        before: usize,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
        exchanges: bool,
    },
    Remove {
        path: PathBuf,
    },
    MakeFolder {
        path: PathBuf,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Write {
                path, at, bytes, ..
            } => {
                write!(
                    f,
                    "write {} bytes at {at:?} of {}",
                    bytes.len(),
                    path.display()
                )
            }
            other => write!(f, "{other:?}"),
        }
    }
}

type Node = usize;

#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

#[derive(Debug, Clone, Default)]
struct FileNode {
    /// As programs see it.
    seen: Vec<u8>,
    /// On the disk for good.
    kept: Vec<u8>,
    /// On their way, with the number of the event.
    pending: Vec<(usize, Change)>,
    /// When it was written, if nothing was since: a build that goes on looks whether its documents changed.
    modified: Option<SystemTime>,
}

type Entries = BTreeMap<String, Node>;
/// What a change does to names: what they stand for from then on.
type Names = Vec<(String, Option<Node>)>;

#[derive(Debug, Clone, Default)]
struct FolderNode {
    seen: Entries,
    kept: Entries,
    /// What an event does to names, as a whole.
    pending: Vec<(usize, Names)>,
}

#[derive(Debug, Clone)]
enum Inode {
    File(FileNode),
    Folder(FolderNode),
}

/// What becomes of that which was not synced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    /// The parts of a hundred that are lost of names, and of contents.
    names: usize,
    contents: usize,
    /// Whether a file may be as long as was written and have nothing in it.
    zeros: bool,
}

impl Loss {
    /// All or nothing now and then, since that is what happens most; some of it otherwise.
    pub(crate) fn any(random: &mut Random) -> Self {
        let parts = [0, 100, 10, 50, 90];
        Self {
            names: parts[random.below(parts.len())],
            contents: parts[random.below(parts.len())],
            zeros: random.below(3) == 0,
        }
    }
}

/// The files and folders below a folder.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    root: PathBuf,
    nodes: Vec<Inode>,
}

impl Disk {
    /// A folder as it is, everything in it on disk.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut disk = Self {
            root: root.to_owned(),
            nodes: vec![Inode::Folder(FolderNode::default())],
        };
        disk.read_folder(root, 0)?;
        Ok(disk)
    }

    fn read_folder(&mut self, path: &Path, node: Node) -> anyhow::Result<()> {
        let mut entries = Entries::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let new = self.nodes.len();
            entries.insert(name, new);
            if entry.path().is_dir() {
                self.nodes.push(Inode::Folder(FolderNode::default()));
                self.read_folder(&entry.path(), new)?;
            } else {
                let bytes = fs::read(entry.path())?;
                self.nodes.push(Inode::File(FileNode {
                    seen: bytes.clone(),
                    kept: bytes,
                    pending: Vec::new(),
                    modified: Some(entry.metadata()?.modified()?),
                }));
            }
        }
        self.nodes[node] = Inode::Folder(FolderNode {
            seen: entries.clone(),
            kept: entries,
            pending: Vec::new(),
        });
        Ok(())
    }

    fn find(&self, path: &Path) -> Option<Node> {
        let mut node = 0;
        for part in path.strip_prefix(&self.root).ok()?.components() {
            let Inode::Folder(folder) = &self.nodes[node] else {
                return None;
            };
            node = *folder.seen.get(part.as_os_str().to_str()?)?;
        }
        Some(node)
    }

    /// The folder that has a name, and the name.
    fn place(&mut self, path: &Path) -> Option<(&mut FolderNode, String)> {
        let name = path.file_name()?.to_str()?.to_owned();
        let parent = self.find(path.parent()?)?;
        match &mut self.nodes[parent] {
            Inode::Folder(folder) => Some((folder, name)),
            Inode::File(_) => None,
        }
    }

    fn name(&mut self, event: usize, changes: Vec<(PathBuf, Option<Node>)>) {
        // Both ends of a rename are in one folder, or each is changed by itself.
        let mut by_folder: HashMap<PathBuf, Names> = HashMap::new();
        for (path, node) in changes {
            let Some((folder, name)) = self.place(&path) else {
                continue;
            };
            match node {
                Some(node) => drop(folder.seen.insert(name.clone(), node)),
                None => drop(folder.seen.remove(&name)),
            }
            let parent = path.parent().unwrap_or(&path).to_owned();
            by_folder.entry(parent).or_default().push((name, node));
        }
        for (parent, changes) in by_folder {
            if let Some(Inode::Folder(folder)) =
                self.find(&parent).map(|node| &mut self.nodes[node])
            {
                folder.pending.push((event, changes));
            }
        }
    }

    fn file(&mut self, path: &Path) -> Option<&mut FileNode> {
        match self.find(path).map(|node| &mut self.nodes[node]) {
            Some(Inode::File(file)) => Some(file),
            _ => None,
        }
    }

    pub(crate) fn apply(&mut self, number: usize, event: &Event) {
        match &event.what {
            What::Create { path } => {
                if self.find(path).is_none() {
                    self.nodes.push(Inode::File(FileNode::default()));
                    self.name(number, vec![(path.clone(), Some(self.nodes.len() - 1))]);
                }
            }
            What::MakeFolder { path } => {
                self.nodes.push(Inode::Folder(FolderNode::default()));
                self.name(number, vec![(path.clone(), Some(self.nodes.len() - 1))]);
            }
            What::Write {
                path,
                at,
                bytes,
                is_synced,
            } => {
                if let Some(file) = self.file(path) {
                    let at = at.map_or(file.seen.len(), |at| at as usize);
                    let change = Change::Write {
                        at,
                        bytes: bytes.clone(),
                    };
                    file.modified = None;
                    change.make(&mut file.seen);
                    match is_synced {
                        true => change.make(&mut file.kept),
                        false => file.pending.push((number, change)),
                    }
                }
            }
            What::Truncate { path, length } => {
                if let Some(file) = self.file(path) {
                    let change = Change::Truncate {
                        length: *length as usize,
                    };
                    file.modified = None;
                    change.make(&mut file.seen);
                    file.pending.push((number, change));
                }
            }
            What::Sync { path, before } => self.sync(path, *before),
            What::Rename {
                from,
                to,
                exchanges,
            } => {
                let (of_from, of_to) = (self.find(from), self.find(to));
                let there = if *exchanges { of_to } else { None };
                if of_from.is_some() {
                    self.name(number, vec![(from.clone(), there), (to.clone(), of_from)]);
                }
            }
            What::Remove { path } => self.name(number, vec![(path.clone(), None)]),
        }
    }

    fn sync(&mut self, path: &Path, before: usize) {
        let Some(node) = self.find(path) else { return };
        match &mut self.nodes[node] {
            Inode::File(file) => {
                let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut file.pending)
                    .into_iter()
                    .partition(|(event, _)| *event < before);
                done.iter()
                    .for_each(|(_, change)| change.make(&mut file.kept));
                file.pending = open;
            }
            Inode::Folder(folder) => {
                let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut folder.pending)
                    .into_iter()
                    .partition(|(event, _)| *event < before);
                done.iter()
                    .for_each(|(_, changes)| rename(&mut folder.kept, changes));
                folder.pending = open;
            }
        }
    }

    /// Whether a folder is what programs see here.
    pub(crate) fn compare(&self, folder: &Path) -> anyhow::Result<()> {
        self.compare_folder(0, folder)
    }

    fn compare_folder(&self, node: Node, path: &Path) -> anyhow::Result<()> {
        let Inode::Folder(folder) = &self.nodes[node] else {
            return Ok(());
        };
        let mut names: Vec<String> = fs::read_dir(path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        let seen: Vec<&String> = folder.seen.keys().collect();
        ensure!(
            names.iter().collect::<Vec<_>>() == seen,
            "the model is wrong in {}: {seen:?} for {names:?}",
            path.display()
        );
        for (name, &node) in &folder.seen {
            let path = path.join(name);
            match &self.nodes[node] {
                Inode::Folder(_) => self.compare_folder(node, &path)?,
                Inode::File(file) => ensure!(
                    name == LOCK || fs::read(&path)? == file.seen,
                    "the model is wrong in {}",
                    path.display()
                ),
            }
        }
        Ok(())
    }

    /// Writes into a folder what is left when some of what is on its way does not arrive.
    pub(crate) fn materialise(
        &self,
        folder: &Path,
        loss: &Loss,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        self.write_folder(0, folder, loss, random)
    }

    fn write_folder(
        &self,
        node: Node,
        path: &Path,
        loss: &Loss,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let Inode::Folder(folder) = &self.nodes[node] else {
            return Ok(());
        };
        fs::create_dir(path).with_context(|| path.display().to_string())?;
        let mut entries = folder.kept.clone();
        for (_, changes) in &folder.pending {
            if random.below(100) >= loss.names {
                rename(&mut entries, changes);
            }
        }
        for (name, &node) in &entries {
            let path = path.join(name);
            match &self.nodes[node] {
                Inode::Folder(_) => self.write_folder(node, &path, loss, random)?,
                Inode::File(file) => {
                    fs::write(&path, file.left(loss, random))?;
                    if let Some(modified) = file.modified {
                        fs::File::options()
                            .write(true)
                            .open(&path)?
                            .set_modified(modified)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl FileNode {
    fn left(&self, loss: &Loss, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.kept.clone();
        for (_, change) in &self.pending {
            match change {
                Change::Truncate { .. } => {
                    if random.below(100) >= loss.contents {
                        change.make(&mut bytes);
                    }
                }
                Change::Write { at, bytes: new } => {
                    // Page by page: a page gets there or not.
                    let mut from = 0;
                    while from < new.len() {
                        let to = new.len().min((at + from) / PAGE * PAGE + PAGE - at);
                        if random.below(100) >= loss.contents {
                            let page = Change::Write {
                                at: at + from,
                                bytes: new[from..to].to_vec(),
                            };
                            page.make(&mut bytes);
                        } else if loss.zeros && bytes.len() < at + to {
                            bytes.resize(at + to, 0);
                        }
                        from = to;
                    }
                }
            }
        }
        bytes
    }
}

impl Change {
    fn make(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                if file.len() < at + bytes.len() {
                    file.resize(at + bytes.len(), 0);
                }
                file[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::Truncate { length } => file.resize(*length, 0),
        }
    }
}

fn rename(entries: &mut Entries, changes: &[(String, Option<Node>)]) {
    for (name, node) in changes {
        match node {
            Some(node) => drop(entries.insert(name.clone(), *node)),
            None => drop(entries.remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Loss = Loss {
        names: 100,
        contents: 100,
        zeros: false,
    };
    const NOTHING: Loss = Loss {
        names: 0,
        contents: 0,
        zeros: false,
    };

    /// What a folder has after these events and this loss: names and contents.
    fn left(events: &[What], loss: &Loss) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        fs::create_dir(&before).unwrap();
        fs::write(before.join("old"), "old").unwrap();
        let mut disk = Disk::read(&before).unwrap();
        for (number, what) in events.iter().enumerate() {
            let within = |path: &Path| before.join(path);
            let what = match what.clone() {
                What::Create { path } => What::Create {
                    path: within(&path),
                },
                What::Write {
                    path,
                    at,
                    bytes,
                    is_synced,
                } => What::Write {
                    path: within(&path),
                    at,
                    bytes,
                    is_synced,
                },
                What::Sync { path, before } => What::Sync {
                    path: within(&path),
                    before,
                },
                What::Rename {
                    from,
                    to,
                    exchanges,
                } => What::Rename {
                    from: within(&from),
                    to: within(&to),
                    exchanges,
                },
                other => other,
            };
            disk.apply(number, &Event { what });
        }
        disk.materialise(&after, loss, &mut Random::new(1)).unwrap();
        let mut left: Vec<_> = fs::read_dir(&after)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        left.sort();
        left
    }

    fn of(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| (name.to_string(), text.to_string());
        pairs.iter().map(owned).collect()
    }

    /// A file that is written anew and renamed over the old one, with more and more of it synced.
    #[test]
    fn what_is_synced_stays_and_what_is_not_may_go() {
        let path = |name: &str| PathBuf::from(name);
        let write = What::Write {
            path: path("new"),
            at: Some(0),
            bytes: b"new".to_vec(),
            is_synced: false,
        };
        let rename = What::Rename {
            from: path("new"),
            to: path("old"),
            exchanges: false,
        };
        let sync = |name: &str, before| What::Sync {
            path: path(name),
            before,
        };
        let create = What::Create { path: path("new") };
        let careless = [create.clone(), write.clone(), rename.clone()];
        assert_eq!(left(&careless, &ALL), of(&[("old", "old")]));
        assert_eq!(left(&careless, &NOTHING), of(&[("old", "new")]));
        // The name is on the disk and the contents are not.
        let half = [&careless[..], &[sync("", 3)]].concat();
        assert_eq!(left(&half, &ALL), of(&[("old", "")]));
        let careful = [create, write, sync("new", 2), rename, sync("", 4)];
        assert_eq!(left(&careful, &ALL), of(&[("old", "new")]));
        // A sync that began before the write need not have it.
        let early = [
            &careless[..2],
            &[sync("new", 1), careless[2].clone(), sync("", 4)],
        ]
        .concat();
        assert_eq!(left(&early, &ALL), of(&[("old", "")]));
    }
}
