//! From a name to a directory.

use crate::cache::Cache;
use crate::client::{Answered, Client};
use crate::download::Download;
use crate::{HubError, Name, Settings};
use std::path::PathBuf;

/// What is fetched, and in this order: the configuration tells the commit that all others are of, and the weights come last,
/// so that a model which has them has the rest. With what to do if a file that must be there is not; the others are
/// welcome, and one of the first two of them is needed, which is for those to say who read the directory.
const FILES: [(&str, Option<&str>); 9] = [
    (
        "config.json",
        Some("check owner, name and revision: this is no model"),
    ),
    ("tokenizer.json", None),
    ("vocab.txt", None),
    ("tokenizer_config.json", None),
    ("special_tokens_map.json", None),
    ("head.json", None),
    ("mixer.safetensors", None),
    ("words.bin", None),
    (
        "model.safetensors",
        Some(
            "it may have its weights in other formats or in several files: save it with \
             save_pretrained(…, safe_serialization=True) elsewhere and give that directory",
        ),
    ),
];

/// Is told how a download goes.
pub trait Observer {
    /// A file of so many bytes is about to come.
    fn begin(&self, file: &'static str, size: u64);
    /// So many bytes of it are there already.
    fn position(&self, bytes: u64);
    /// More bytes have come.
    fn advance(&self, bytes: u64);
    /// No more come.
    fn end(&self);
    /// Something worth knowing.
    fn note(&self, message: &str);
}

/// Nobody is told.
impl Observer for () {
    fn begin(&self, _: &'static str, _: u64) {}
    fn position(&self, _: u64) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}

/// The hub, as the settings have it.
pub struct Hub {
    settings: Settings,
    client: Client,
}

impl Hub {
    /// Makes ready to ask; nothing is asked yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let client = Client::new(&settings);
        Self { settings, client }
    }

    /// The directory of a model, whose files are fetched if the cache has not got them. Where the hub cannot be reached
    /// or breaks off again and again, what the cache has will do, and the observer is told.
    ///
    /// # Errors
    /// If the hub has not got the model, or cannot be reached or breaks off and the cache has not got it either; if contents
    /// are damaged; if the cache cannot be written.
    pub fn fetch(&self, name: &Name, observer: &dyn Observer) -> Result<PathBuf, HubError> {
        let cache = Cache::new(&self.settings.cache, name);
        let commit = cache.commit(name);
        let unknown = FILES.into_iter().filter(|(file, remedy)| {
            let known = |commit: &String| is_known(&cache, commit, file, remedy.is_none());
            !commit.as_ref().is_some_and(known)
        });
        let (missing, unknown): (Vec<_>, Vec<_>) =
            unknown.partition(|(_, remedy)| remedy.is_some());
        let kept = commit
            .filter(|_| missing.is_empty())
            .map(|commit| cache.snapshot(&commit));
        let note = |why: String, kept: PathBuf| {
            observer.note(&format!("{name}: {why}; using {}", kept.display()));
            Ok(kept)
        };
        match kept {
            // A commit never changes.
            Some(kept) if unknown.is_empty() && (self.settings.offline || name.is_commit()) => {
                Ok(kept)
            }
            Some(kept) if self.settings.offline => {
                let files: Vec<&str> = unknown.into_iter().map(|(file, _)| file).collect();
                let files = files.join(", ");
                note(
                    format!("HF_HUB_OFFLINE is set, so the hub was not asked for {files}"),
                    kept,
                )
            }
            None if self.settings.offline => Err(HubError::Offline {
                name: name.clone(),
                file: missing[0].0,
                cache: self.settings.cache.clone(),
            }),
            kept => match (self.ask(name, &cache, observer), kept) {
                (Err(HubError::Unreachable { address, .. }), Some(kept)) => {
                    note(format!("cannot reach {address}"), kept)
                }
                (Err(HubError::CutOff { file, problem, .. }), Some(kept)) => {
                    note(format!("{file} was cut off: {problem}"), kept)
                }
                (asked, _) => asked,
            },
        }
    }

    fn ask(
        &self,
        name: &Name,
        cache: &Cache,
        observer: &dyn Observer,
    ) -> Result<PathBuf, HubError> {
        // All files are those of one commit, even if a new one is made meanwhile.
        let mut pinned = name.clone();
        let mut commit = name.is_commit().then(|| name.revision.clone());
        for (file, remedy) in FILES {
            let known = |commit: &String| is_known(cache, commit, file, remedy.is_none());
            if commit.as_ref().is_some_and(known) {
                continue;
            }
            let metadata = match (self.client.metadata(&pinned, file)?, remedy) {
                (Answered::Here(metadata), _) => metadata,
                (Answered::Nowhere { certain }, None) => {
                    if certain {
                        cache.mark_absent(&pinned.revision, file);
                    }
                    continue;
                }
                (Answered::Nowhere { .. }, Some(remedy)) => {
                    return Err(HubError::Missing {
                        name: name.clone(),
                        address: self.client.address(name, file),
                        remedy,
                    });
                }
            };
            pinned.revision.clone_from(&metadata.commit);
            commit = Some(metadata.commit.clone());
            let download = Download {
                client: &self.client,
                cache,
                name: &pinned,
                file,
                metadata: &metadata,
                observer,
                pause: self.settings.pause,
            };
            download.run()?;
            cache.link(&metadata.commit, file, &metadata.etag)?;
        }
        cache.remember(name, &pinned.revision)?;
        Ok(cache.snapshot(&pinned.revision))
    }
}

/// Whether the hub need not be asked for a file of a commit: it is there, or known not to be, if that will do.
fn is_known(cache: &Cache, commit: &str, file: &str, may_lack: bool) -> bool {
    cache.has(commit, file) || (may_lack && cache.lacks(commit, file))
}
