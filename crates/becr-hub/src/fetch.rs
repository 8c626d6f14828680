//! From a name to a directory.

use crate::cache::Cache;
use crate::client::Client;
use crate::download::Download;
use crate::{HubError, Name, Settings};
use std::path::PathBuf;

/// A model has these.
const NEEDED: [(&str, &str); 2] = [
    (
        "config.json",
        "check owner, name and revision: this is no model",
    ),
    (
        "model.safetensors",
        "it may have its weights in other formats or in several files: save it with \
         save_pretrained(…, safe_serialization=True) elsewhere and give that directory",
    ),
];

/// These it may have; one of the first two it must, which is for those to say who read the directory.
const WELCOME: [&str; 5] = [
    "tokenizer.json",
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "head.json",
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

    /// The directory of a model, whose files are fetched if the cache has not got them. Where the hub cannot be reached,
    /// what the cache has will do, and the observer is told.
    ///
    /// # Errors
    /// If the hub has not got the model, or cannot be reached and the cache has not got it either; if a download is cut
    /// off again and again, or its contents are damaged; if the cache cannot be written.
    pub fn fetch(&self, name: &Name, observer: &dyn Observer) -> Result<PathBuf, HubError> {
        let cache = Cache::new(&self.settings.cache, name);
        let kept = cache.commit(name).map(|commit| cache.snapshot(&commit));
        let missing = NEEDED.into_iter().map(|(file, _)| file).find(|file| {
            let path = kept.as_ref().map(|kept| kept.join(file));
            !path.is_some_and(|path| path.exists())
        });
        let kept = kept.filter(|_| missing.is_none());
        match (kept, missing) {
            // A commit never changes.
            (Some(kept), _) if self.settings.offline || name.is_commit() => Ok(kept),
            (_, Some(file)) if self.settings.offline => Err(HubError::Offline {
                name: name.clone(),
                file,
                cache: self.settings.cache.clone(),
            }),
            (kept, _) => match (self.ask(name, &cache, observer), kept) {
                (Err(HubError::Unreachable { address, .. }), Some(kept)) => {
                    observer.note(&format!(
                        "{name}: cannot reach {address}; using {}",
                        kept.display()
                    ));
                    Ok(kept)
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
        let needed = NEEDED
            .into_iter()
            .map(|(file, remedy)| (file, Some(remedy)));
        let welcome = WELCOME.into_iter().map(|file| (file, None));
        for (file, remedy) in needed.chain(welcome) {
            let metadata = match (self.client.metadata(&pinned, file)?, remedy) {
                (Some(metadata), _) => metadata,
                (None, None) => continue,
                (None, Some(remedy)) => {
                    return Err(HubError::Missing {
                        name: name.clone(),
                        address: self.client.address(name, file),
                        remedy,
                    });
                }
            };
            pinned.revision.clone_from(&metadata.commit);
            let download = Download {
                client: &self.client,
                cache,
                name: &pinned,
                file,
                metadata: &metadata,
                observer,
            };
            download.run()?;
            cache.link(&metadata.commit, file, &metadata.etag)?;
        }
        cache.remember(name, &pinned.revision)?;
        Ok(cache.snapshot(&pinned.revision))
    }
}
