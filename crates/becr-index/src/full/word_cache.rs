//! The footprints of a model's WordPieces, kept between builds on this machine.
//!
//! Every index has a group for each WordPiece of the vocabulary, and they are the same for every collection: what one
//! build has computed the next one reads. A file belongs to one encoder, precision and implementation, because these
//! decide every bit.

use becr_encoder::Encoder;
use becr_footprint::lsh::Hyperplanes;
use becr_footprint::unpack;
use becr_model::{Model, WordVectors};
use becr_text::groups::TokenGroup;
use becr_text::pieces::WordPieces;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use twox_hash::XxHash3_128;

/// First bytes of a file; the number is that of the format.
const MAGIC: &[u8; 16] = b"becr words    1\n";
/// Fewer new WordPieces are encoded again faster than a file is worth.
const WORTH_KEEPING: usize = 1000;
/// Files kept; the least recently used go first.
const MOST_FILES: usize = 8;

/// WordPieces of one model, as the store keeps their groups.
pub(super) struct WordCache<'m> {
    /// Where the file is or will be; `None` if nothing is kept.
    path: Option<PathBuf>,
    key: String,
    /// Bytes of one WordPiece's group.
    width: usize,
    known: HashMap<String, Vec<u8>>,
    added: usize,
    /// What comes with the model.
    of_model: Option<WordsOfModel<'m>>,
}

/// The WordPieces that come with a model.
struct WordsOfModel<'m> {
    words: &'m WordVectors,
    pieces: &'m WordPieces,
    hyperplanes: &'m Hyperplanes,
}

impl WordsOfModel<'_> {
    /// The group of a WordPiece as the store keeps it: the footprint of its vector, and the vector.
    fn group(&self, piece: &str) -> Option<Vec<u8>> {
        let packed = self.words.get(self.pieces.id(piece)?)?;
        let mut vector = vec![0.0; self.hyperplanes.dim()];
        unpack(packed.iter().copied(), &mut vector);
        let mut footprint = vec![0; self.hyperplanes.width()];
        self.hyperplanes.footprint(&vector, &mut footprint).ok()?;
        let numbers = footprint.iter().chain(packed);
        Some(numbers.flat_map(|number| number.to_le_bytes()).collect())
    }
}

impl<'m> WordCache<'m> {
    /// What comes with the model, and what the user's cache directory has for this encoder. Anything unreadable is nothing.
    pub(super) fn open(encoder_id: &str, model: &'m Model, encoder: &'m Encoder) -> Self {
        let folder = folder(|name| std::env::var_os(name));
        let mut cache = Self::open_in(folder, encoder_id, encoder);
        let backend = encoder.backend();
        let (shape, words) = (backend.shape(), model.words.as_ref());
        // Only relative footprints keep vectors, and only those of one layer are relative.
        let words = words.filter(|words| {
            shape.relative
                && words.encoder_id == encoder_id
                && words.width() == shape.vector_width()
        });
        if let (Some(words), Some(hyperplanes)) = (words, backend.hyperplanes()) {
            cache.of_model = Some(WordsOfModel {
                words,
                pieces: encoder.word_pieces(),
                hyperplanes,
            });
        }
        cache
    }

    fn open_in(folder: Option<PathBuf>, encoder_id: &str, encoder: &Encoder) -> Self {
        let backend = encoder.backend();
        let width = backend.shape().group_bytes();
        let key = format!(
            "{encoder_id} {} {}",
            backend.precision(),
            backend.implementation().unwrap_or_default()
        );
        // An implementation that does not name itself may give other bits tomorrow.
        let folder = folder.filter(|_| backend.implementation().is_some());
        let name = format!("{:032x}.words", XxHash3_128::oneshot(key.as_bytes()));
        let path = folder.map(|folder| folder.join(name));
        let bytes = path.as_deref().and_then(|path| std::fs::read(path).ok());
        let known = bytes.and_then(|bytes| decode(&bytes, &key, width));
        if let (Some(path), true) = (&path, known.is_some()) {
            touch(path);
        }
        Self {
            path,
            key,
            width,
            known: known.unwrap_or_default(),
            added: 0,
            of_model: None,
        }
    }

    /// The group of a WordPiece, if it is known.
    pub(super) fn get(&self, group: &TokenGroup) -> Option<Vec<u8>> {
        let TokenGroup::Unigram(piece) = group else {
            return None;
        };
        // The model's come first: an index should not depend on what was built on this machine before.
        let of_model = self
            .of_model
            .as_ref()
            .and_then(|of_model| of_model.group(piece));
        of_model.or_else(|| self.known.get(piece).cloned())
    }

    /// True if [`get`](Self::get) gives something.
    pub(super) fn has(&self, group: &TokenGroup) -> bool {
        let TokenGroup::Unigram(piece) = group else {
            return false;
        };
        let comes_with = |of_model: &WordsOfModel<'_>| {
            let id = of_model.pieces.id(piece);
            id.is_some_and(|id| of_model.words.get(id).is_some())
        };
        self.of_model.as_ref().is_some_and(comes_with) || self.known.contains_key(piece)
    }

    /// Remembers a group if it is a WordPiece.
    pub(super) fn add(&mut self, encoder: &Encoder, group: &TokenGroup, bytes: &[u8]) {
        if let TokenGroup::Unigram(piece) = group
            && self.path.is_some()
            && bytes.len() == self.width
            && encoder.word_pieces().id(piece).is_some()
        {
            self.known.insert(piece.clone(), bytes.to_vec());
            self.added += 1;
        }
    }

    /// Writes what was added, to a temporary file that is renamed: another process sees the old file or the new one.
    /// A cache that cannot be written is none; the build does not depend on it.
    pub(super) fn keep(&mut self) {
        let Some(path) = self.path.clone() else {
            return;
        };
        if self.added < WORTH_KEEPING {
            return;
        }
        self.added = 0;
        match self.write(&path) {
            Ok(()) => remove_oldest(&path),
            Err(problem) => {
                tracing::warn!(path = %path.display(), %problem, "WordPieces cannot be kept");
            }
        }
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder)?;
        let part = folder.join(format!("{}.part", std::process::id()));
        let written = std::fs::write(&part, encode(&self.known, &self.key))
            .and_then(|()| std::fs::rename(&part, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        written
    }
}

/// `becr/words` in the user's cache directory (`XDG_CACHE_HOME`, else `~/.cache`); none with `BECR_CACHE=off`.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("BECR_CACHE").is_some_and(|value| value == "off") {
        return None;
    }
    let of_user = set("XDG_CACHE_HOME").map(PathBuf::from);
    let of_home = || Some(PathBuf::from(set("HOME")?).join(".cache"));
    Some(of_user.or_else(of_home)?.join("becr/words"))
}

/// The file: magic, checksum of what follows, then strings and groups, each after its length in four bytes: the key,
/// and every WordPiece with its group.
fn encode(known: &HashMap<String, Vec<u8>>, key: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let mut push = |bytes: &[u8]| {
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(bytes);
    };
    push(key.as_bytes());
    // In order, so that the same contents are the same file.
    let mut pieces: Vec<_> = known.iter().collect();
    pieces.sort_unstable();
    for (piece, group) in pieces {
        push(piece.as_bytes());
        push(group);
    }
    let checksum = XxHash3_128::oneshot(&body).to_le_bytes();
    [MAGIC, &checksum[..], &body].concat()
}

/// The WordPieces of a file; `None` if it is damaged or another encoder's.
fn decode(bytes: &[u8], key: &str, width: usize) -> Option<HashMap<String, Vec<u8>>> {
    let (checksum, mut body) = bytes.strip_prefix(MAGIC)?.split_at_checked(16)?;
    if XxHash3_128::oneshot(body).to_le_bytes() != checksum {
        return None;
    }
    let mut next = || -> Option<&[u8]> {
        let (length, rest) = body.split_first_chunk()?;
        let (found, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        body = rest;
        Some(found)
    };
    if next()? != key.as_bytes() {
        return None;
    }
    let mut known = HashMap::new();
    while let Some(piece) = next() {
        let group = next().filter(|group| group.len() == width)?;
        known.insert(String::from_utf8(piece.to_vec()).ok()?, group.to_vec());
    }
    Some(known)
}

/// Notes that a file is in use.
fn touch(path: &Path) {
    if let Ok(file) = std::fs::File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Keeps the folder from growing with every model that was ever tried.
fn remove_oldest(path: &Path) {
    let Some(entries) = path
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
    else {
        return;
    };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension() == path.extension())
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_unstable();
    let surplus = files.len().saturating_sub(MOST_FILES);
    for (_, file) in files.iter().take(surplus).filter(|(_, file)| file != path) {
        let _ = std::fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> HashMap<String, Vec<u8>> {
        (0u8..100)
            .map(|i| (format!("##w{i}"), vec![i, 255 - i, 7]))
            .collect()
    }

    #[test]
    fn a_file_gives_back_what_was_kept() {
        let bytes = encode(&pieces(), "encoder f32 avx2");
        assert_eq!(decode(&bytes, "encoder f32 avx2", 3), Some(pieces()));
        assert_eq!(bytes, encode(&pieces(), "encoder f32 avx2"));
    }

    #[test]
    fn damaged_and_foreign_files_are_none() {
        let bytes = encode(&pieces(), "encoder f32 avx2");
        assert_eq!(decode(&bytes, "encoder int8 avx2", 3), None);
        assert_eq!(decode(&bytes, "encoder f32 avx2", 4), None);
        for cut in [0, 15, 16, 31, 32, 40, bytes.len() - 1] {
            assert_eq!(decode(&bytes[..cut], "encoder f32 avx2", 3), None, "{cut}");
        }
        for place in [0, 20, 33, 60, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(decode(&damaged, "encoder f32 avx2", 3), None, "{place}");
        }
    }

    #[test]
    fn the_users_directory_can_be_chosen_and_switched_off() {
        let folder = |set: &[(&str, &str)]| {
            folder(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/ada");
        assert_eq!(folder(&[home]), Some("/home/ada/.cache/becr/words".into()));
        let xdg = ("XDG_CACHE_HOME", "/scratch");
        assert_eq!(folder(&[home, xdg]), Some("/scratch/becr/words".into()));
        assert_eq!(folder(&[home, xdg, ("BECR_CACHE", "off")]), None);
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn the_oldest_files_go_first() {
        let directory = tempfile::tempdir().unwrap();
        let file = |i: usize| directory.path().join(format!("{i}.words"));
        for i in 0..MOST_FILES + 3 {
            std::fs::write(file(i), "x").unwrap();
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(i as u64);
            let opened = std::fs::File::options().append(true).open(file(i)).unwrap();
            opened.set_modified(time).unwrap();
        }
        std::fs::write(directory.path().join("other"), "x").unwrap();
        remove_oldest(&file(MOST_FILES + 2));
        assert!((0..3).all(|i| !file(i).exists()));
        assert!((3..MOST_FILES + 3).all(|i| file(i).exists()));
        assert!(directory.path().join("other").exists());
    }
}
