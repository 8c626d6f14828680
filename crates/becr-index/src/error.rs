//! What can go wrong with an index.

use becr_model::QueryMode;
use std::io;
use std::path::PathBuf;

/// Why an index could not be built, opened or searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The file system refused.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// There is an index already and nobody said to replace it.
    #[error("{}: there is an index here already; say that it may be replaced, or choose another place", .0.display())]
    Exists(PathBuf),
    /// The target holds something that we did not write.
    #[error("{}: not empty and not a BECR index; it is left alone, choose another place", .0.display())]
    NotOurs(PathBuf),
    /// Where a build would work is something that no build of this index left.
    #[error(
        "{}: a build would work here, but this is not what a build of this index left; it is left alone, move it away \
         or choose another place", .0.display()
    )]
    NotOurBuild(PathBuf),
    /// A file system is mounted on the target, which then cannot be replaced in one step.
    #[error("{}: a file system is mounted here, and an index cannot take its place; choose a folder inside of it", .0.display())]
    MountPoint(PathBuf),
    /// A file of the index is not what was written.
    #[error("{}: {reason}; restore the index from a copy or build it again", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// How it shows.
        reason: String,
    },
    /// An address of a cluster where a directory is needed.
    #[error(
        "this is made in a directory, not in a cluster; make it there, and `becr export` writes it to redis://…"
    )]
    Address,
    /// Documents cannot be composed without the token groups.
    #[error(
        "documents of this index are composed from its token groups, which are not at hand here: texts cannot be ranked beside \
         them; index the texts and send ids"
    )]
    ComposedElsewhere,
    /// Another process is building the same index.
    #[error("{}: another build of this index is under way; wait for it or choose another place", .0.display())]
    Busy(PathBuf),
    /// The index is not there yet.
    #[error("{}: this index is being built by another process; wait for it to end", .0.display())]
    BeingBuilt(PathBuf),
    /// The index is not there, but a part of it.
    #[error("{}: the build of this index was interrupted; the same build goes on where it stopped", .0.display())]
    InterruptedBuild(PathBuf),
    /// Another process is changing the index.
    #[error("{}: another process is writing to this index; wait for it to end", .0.display())]
    SecondWriter(PathBuf),
    /// An interrupted build of something else is there.
    #[error(
        "{}: an interrupted build with other options or other documents; go on with that one, \
         or say that it may be replaced to start over", .0.display()
    )]
    Unfinished(PathBuf),
    /// A lexical index is built whole.
    #[error("{}: a lexical index cannot be changed; build it again, in seconds, or build one with a model", .0.display())]
    Lexical(PathBuf),
    /// A part was named twice.
    #[error("{}: named twice among the parts", .0.display())]
    SamePart(PathBuf),
    /// Two parts have the same document.
    #[error("document \"{id}\" of {} is in an earlier part already; parts must not overlap", part.display())]
    Overlap {
        /// The document.
        id: String,
        /// The later of the two parts.
        part: PathBuf,
    },
    /// A document of this id is there already.
    #[error(
        "document \"{0}\" is in the index already; to put a new version in its place is an update"
    )]
    KnownId(String),
    /// Nothing to merge.
    #[error("there is nothing to merge; name the parts")]
    NoParts,
    /// Parts with different token groups.
    #[error(
        "{} and {} were built with different token groups; build all parts with one list",
        first.display(), other.display()
    )]
    OtherGroups {
        /// The first part.
        first: PathBuf,
        /// The one that differs.
        other: PathBuf,
    },
    /// Parts for queries of different kinds.
    #[error(
        "{} is for {}, {} for {}; build all parts for one mode",
        first.display(), queries(*.mode), other.display(), queries(*.found)
    )]
    OtherMode {
        /// The first part.
        first: PathBuf,
        /// Its mode.
        mode: QueryMode,
        /// The one that differs.
        other: PathBuf,
        /// Its mode.
        found: QueryMode,
    },
    /// An index for encoded queries alone, with something that takes token groups.
    #[error(
        "an index for encoded queries alone has no token groups: give it no list of groups and no query log, and do not \
         compose its documents; or build it for composed queries too"
    )]
    NoTokenGroups,
    /// An encoder of another precision than the index was built in.
    #[error(
        "{}: this index was encoded in {has}, which does not mix with {asked}; encode in {has}, or build it again",
        path.display()
    )]
    Precision {
        /// The index.
        path: PathBuf,
        /// What it was built in.
        has: becr_encoder::Precision,
        /// What was asked for.
        asked: becr_encoder::Precision,
    },
    /// The document store failed.
    #[error(transparent)]
    Store(#[from] becr_store::StoreError),
    /// Footprints could not be laid out.
    #[error(transparent)]
    Footprint(#[from] becr_footprint::Error),
    /// The model keeps raw vectors.
    #[error("{}: this model keeps raw vectors; an index needs footprints, set \"bits\" in its config.json", .0.display())]
    RawModel(PathBuf),
    /// The model composes vectors in a way that footprints do not know.
    #[error(
        "{}: \"similarity\" is \"cosine_of_sum\", the cosine of a term's composed vector, which cannot be told from \
         footprints; train the model with similarity = \"sum_of_cosines\", or, if it was not trained, take the key out \
         of the file", .0.display()
    )]
    Similarity(PathBuf),
    /// The model's files could not be read or written.
    #[error(transparent)]
    Model(#[from] becr_model::ModelError),
    /// The model's ranking head does not belong to it.
    #[error("{}: {reason}; train a head for this model, or remove the file to build without one", path.display())]
    Head {
        /// The head.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The encoder failed.
    #[error(transparent)]
    Encode(#[from] becr_encoder::EncodeError),
    /// The source of the documents failed.
    #[error("{0}")]
    Source(#[source] crate::SourceError),
    /// A document that no index can hold.
    #[error("document \"{id}\": {reason}")]
    Document {
        /// Its id, cut short if it is long.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A document of this id came before.
    #[error("document \"{0}\" comes twice; an index has an id once")]
    RepeatedId(String),
    /// There was nothing to index.
    #[error("there is no document, so nothing was indexed")]
    NoDocuments,
    /// A change ended early; what was committed before stays.
    #[error("{source}; {}", before(changed, "the others are not"))]
    Incomplete {
        /// What was done.
        changed: crate::Changed,
        /// Why it ended.
        source: Box<IndexError>,
    },
    /// The observer asked to stop.
    #[error("stopped before the end, as was asked")]
    Stopped,
    /// A sync ended early; what was committed before stays.
    #[error("{source}; {}", before(changed, "the same sync goes on from there"))]
    HalfSynced {
        /// What was done.
        changed: crate::Changed,
        /// Why it ended.
        source: Box<IndexError>,
    },
    /// What changed cannot be told of an index without texts.
    #[error(
        "{}: this index keeps no texts, so what changed cannot be told; build it with texts, or add and delete documents one by one",
        .0.display()
    )]
    NoTexts(PathBuf),
    /// A writer that failed half-way is used again.
    #[error("{}: an earlier change failed half-way and was not published; open the index for writing again", .0.display())]
    FailedWriter(PathBuf),
    /// Token groups could not be chosen.
    #[error(transparent)]
    Groups(#[from] becr_groups::Error),
    /// The directory is no index.
    #[error("{}: not a BECR index ({reason}); build one first", path.display())]
    NotAnIndex {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The index was written by another version of the format.
    #[error("{}: index format {found}, this program reads format {expected}; build the index again", path.display())]
    Format {
        /// The directory.
        path: PathBuf,
        /// The version found there.
        found: u32,
        /// The version this program reads.
        expected: u32,
    },
    /// Files of the first stage are gone or damaged; the documents are in the store.
    #[error("{}: first-stage index: {source}; compacting the index writes it anew from the documents", path.display())]
    FirstStageDamaged {
        /// The directory.
        path: PathBuf,
        /// What tantivy said.
        source: tantivy::TantivyError,
    },
    /// The first-stage engine failed.
    #[error("{}: first-stage index: {source}", path.display())]
    Engine {
        /// The directory.
        path: PathBuf,
        /// What tantivy said.
        source: tantivy::TantivyError,
    },
}

/// Whether the engine's files are not what it wrote, and not something else in the way.
fn is_damage(error: &tantivy::TantivyError) -> bool {
    use tantivy::TantivyError::{DataCorruption, OpenReadError};
    use tantivy::directory::error::OpenReadError as Open;
    match error {
        DataCorruption(_) | OpenReadError(Open::FileDoesNotExist(_)) => true,
        // Without a number of the system's it is the engine that could not make sense of a file.
        OpenReadError(Open::IoError { io_error, .. }) => io_error.raw_os_error().is_none(),
        _ => false,
    }
}

/// What a change that ended early had done.
fn before(changed: &crate::Changed, rest: &str) -> String {
    match changed.added + changed.replaced {
        0 => "nothing was added before that".to_owned(),
        1 => format!("1 document before that is in the index, {rest}"),
        count => format!("{count} documents before that are in the index, {rest}"),
    }
}

fn queries(mode: QueryMode) -> &'static str {
    match mode {
        QueryMode::Composed => "composed queries too",
        QueryMode::Encoded => "encoded queries alone",
    }
}

impl IndexError {
    /// An [`IndexError::Io`] for `map_err`.
    pub(crate) fn io(
        path: &std::path::Path,
        action: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            path,
            action,
            source,
        }
    }

    /// Whether it is the first stage that could not be read.
    pub(crate) fn is_of_first_stage(&self) -> bool {
        matches!(self, Self::Engine { .. } | Self::FirstStageDamaged { .. })
    }

    /// An [`IndexError::Engine`] for `map_err`.
    pub(crate) fn engine<E: Into<tantivy::TantivyError>>(
        path: &std::path::Path,
    ) -> impl Fn(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| Self::Engine {
            path: path.clone(),
            source: source.into(),
        }
    }

    /// The same for the first stage of an index whose documents are in a store: damage can be mended there.
    pub(crate) fn engine_beside_store<E: Into<tantivy::TantivyError>>(
        path: &std::path::Path,
    ) -> impl Fn(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| {
            let (path, source) = (path.clone(), source.into());
            match is_damage(&source) {
                true => Self::FirstStageDamaged { path, source },
                false => Self::Engine { path, source },
            }
        }
    }
}
