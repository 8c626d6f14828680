//! An index that follows folders.

use crate::{Changed, Error, Index};
use becr_corpus::{Corpus, CorpusOptions, Folder, OnError, SkipReport};
use becr_index::Observer;
use becr_index::full::DocumentEncoder;
use becr_index::live::LiveIndex;
use becr_index::sync::{Difference, SyncPlan, compare};
use std::path::{Path, PathBuf};

/// How to bring an index in step with its folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncOptions {
    /// Compare, and change nothing.
    pub dry_run: bool,
    /// Take a folder without documents for what it is. It is an error otherwise: a disk may not be mounted.
    pub allow_empty: bool,
    /// Remove documents that are in none of the folders also where these are not the folders of before. It is an error
    /// otherwise: they may have come from elsewhere.
    pub remove_others: bool,
    /// Remove documents also where a subfolder has lost all of its own or the index more than half, which is an error
    /// otherwise: [`Error::Loss`].
    pub allow_removal: bool,
    /// Read links to files outside of the folders. Remembered with them; `None` leaves it as it is.
    pub follow_links: Option<bool>,
    /// What to do with a file that cannot be read. Where it is skipped, as it is by default, what the index has of it stays
    /// as it was, and everything else is brought in step.
    pub on_error: OnError,
}

impl Default for SyncOptions {
    fn default() -> Self {
        Self {
            dry_run: false,
            allow_empty: false,
            remove_others: false,
            allow_removal: false,
            follow_links: None,
            on_error: OnError::Skip,
        }
    }
}

/// What a sync did, or would do.
#[derive(Debug, Clone, Default)]
pub struct SyncReport {
    /// The folders.
    pub folders: Vec<Folder>,
    /// What differed, by id.
    pub difference: Difference,
    /// What was changed; nothing by a dry run.
    pub changed: Changed,
    /// What was left out of the folders, and why.
    pub skipped: SkipReport,
}

impl Index {
    /// The folders that the index follows; none if it follows none.
    pub fn folders(&self) -> Result<Vec<Folder>, Error> {
        Ok(self.opened()?.manifest.folders.clone())
    }

    /// The file that a document was read from, where the index follows folders and the file is there.
    pub fn file_of(&self, id: &str) -> Result<Option<PathBuf>, Error> {
        let opened = self.opened()?;
        let mut files = opened
            .manifest
            .folders
            .iter()
            .filter_map(|folder| folder.file(id));
        Ok(files.find(|file| file.is_file()))
    }

    /// Brings the index in step with folders: encodes files that are new or not what they were, and removes documents whose
    /// files are gone. The folders are remembered; without any, those of before are meant.
    ///
    /// Documents are compared with what the index has of them, text by text. Each batch is a generation, the removals
    /// are one, and a sync that was interrupted is gone on with by the next.
    pub fn sync(
        &self,
        folders: &[PathBuf],
        options: &SyncOptions,
        observer: &dyn Observer,
    ) -> Result<SyncReport, Error> {
        self.check_changeable()?;
        let before = self.folders()?;
        let mut folders = match folders {
            [] if before.is_empty() => return Err(Error::NoFolders(self.path().to_owned())),
            [] => before.clone(),
            folders => named(folders, &before)?,
        };
        for folder in &mut folders {
            folder.follow_links = options.follow_links.unwrap_or(folder.follow_links);
        }
        let mut corpus = Corpus::open_folders(
            &folders,
            &CorpusOptions {
                on_error: options.on_error,
                allow_empty: options.allow_empty,
                ..CorpusOptions::default()
            },
        )?;
        let places = |folders: &[Folder]| -> Vec<PathBuf> {
            folders.iter().map(|folder| folder.path.clone()).collect()
        };
        let is_same = places(&folders) == places(&before);
        let settle = |difference: &mut Difference, corpus: &Corpus| -> Result<(), Error> {
            difference.keep(|id| corpus.unread().may_hold(id));
            check(self.path(), difference, options, is_same)
        };
        let report = SyncReport {
            folders,
            ..SyncReport::default()
        };
        if options.dry_run {
            let view = self.view()?;
            let snapshot = view.snapshot()?;
            let embedded = snapshot.embedded();
            let embedded = embedded.ok_or_else(|| Error::InCluster(self.path().to_owned()))?;
            let mut difference = compare(self.path(), embedded, corpus.by_ref(), observer)?;
            settle(&mut difference, &corpus)?;
            return Ok(SyncReport {
                difference,
                skipped: corpus.skipped(),
                ..report
            });
        }
        let mut live = LiveIndex::open(self.path())?;
        let mut plan = SyncPlan::new(&live, corpus.by_ref(), observer)?;
        settle(&mut plan.difference, &corpus)?;
        // First of all, so that a sync that is interrupted can be gone on with without naming them.
        live.set_folders(&report.folders)?;
        let mut changed = Changed::default();
        let differ = plan.difference.added.len() + plan.difference.changed.len();
        if differ > 0 {
            changed = self.encode(&mut live, &mut plan, observer)?;
        }
        if !plan.difference.vanished.is_empty() {
            changed.deleted = plan.remove(&mut live)?.deleted;
        }
        if let Err(error) = live.finish() {
            tracing::warn!(%error, "merging the first stage failed");
        }
        tracing::info!(?changed, "synced");
        Ok(SyncReport {
            difference: std::mem::take(&mut plan.difference),
            changed,
            skipped: corpus.skipped(),
            ..report
        })
    }

    fn encode(
        &self,
        live: &mut LiveIndex,
        plan: &mut SyncPlan,
        observer: &dyn Observer,
    ) -> Result<Changed, Error> {
        let (model, encoder) = self.model_and_encoder_for(live)?;
        let encoder = DocumentEncoder::new(&model, &encoder)?;
        Ok(plan.put(live, &encoder, observer)?)
    }
}

/// Refuses to remove what nobody said may go.
fn check(
    index: &Path,
    difference: &Difference,
    options: &SyncOptions,
    is_meant: bool,
) -> Result<(), Error> {
    let vanished = &difference.vanished;
    let Some(example) = vanished.first() else {
        return Ok(());
    };
    let found = difference.added.len() + difference.changed.len() + difference.unchanged as usize;
    if found == 0 && difference.kept.is_empty() && !options.allow_empty {
        return Err(Error::AllVanished {
            index: index.to_owned(),
            count: vanished.len(),
        });
    }
    if !is_meant && !options.remove_others {
        return Err(Error::Others {
            index: index.to_owned(),
            count: vanished.len(),
            example: example.clone(),
        });
    }
    let (total, (lost, emptied)) = (difference.before(), difference.lost());
    let share = |count: usize, least: f64| count as f64 >= least * total as f64;
    let worst = emptied.into_iter().max_by_key(|(_, count)| *count);
    let worst = worst.filter(|(_, count)| *count >= FEW_IN_FOLDER && share(*count, MUCH_IN_FOLDER));
    let is_much = lost >= FEW && share(lost, MUCH);
    if (worst.is_some() || is_much)
        && !(options.allow_removal || options.remove_others || options.allow_empty)
    {
        return Err(Error::Loss {
            index: index.to_owned(),
            count: vanished.len(),
            total,
            folder: worst.map(|(folder, _)| folder.to_owned()),
        });
    }
    Ok(())
}

/// A subfolder that lost all of its documents is asked about from this share of the index's documents on, and from this many.
const MUCH_IN_FOLDER: f64 = 0.1;
const FEW_IN_FOLDER: usize = 2;
/// Documents lost anywhere are asked about from this share on, and from this many.
const MUCH: f64 = 0.5;
const FEW: usize = 10;

/// Folders as an index remembers them, for one that is built: to be read with [`Corpus::open_folders`] and given to
/// [`Build::folders`](crate::Build::folders). [`Index::sync`] makes them by itself.
pub fn folders(paths: &[PathBuf]) -> Result<Vec<Folder>, Error> {
    named(paths, &[])
}

/// Folders as they are remembered: absolute, each once, with the names that those of before have.
fn named(given: &[PathBuf], before: &[Folder]) -> Result<Vec<Folder>, Error> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in given {
        let path = absolute(path)?;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let mut folders = Folder::together(&paths);
    for folder in &mut folders {
        if let Some(known) = before.iter().find(|known| known.path == folder.path) {
            folder.name.clone_from(&known.name);
            folder.follow_links = known.follow_links;
        }
    }
    Ok(folders)
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    // Through links, which may lead elsewhere tomorrow, a folder stays what its path says.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let plain = || absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    let has_dots = absolute
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    let path = if has_dots {
        plain()
    } else {
        absolute.components().collect()
    };
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(Error::FolderPath(path)),
    }
}
