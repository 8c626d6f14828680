//! What to type, where the library says what to do.

use becr::corpus::{CorpusError, ErrorKind};
use becr::{Error, IndexError};
use std::borrow::Cow;

/// The flags or the command that help with an error, if any do.
pub(crate) fn hint(error: &anyhow::Error) -> Option<Cow<'static, str>> {
    error.chain().find_map(|cause| {
        let index = cause.downcast_ref::<IndexError>().and_then(of_index);
        index
            .or_else(|| cause.downcast_ref::<Error>().and_then(of_library))
            .or_else(|| cause.downcast_ref::<CorpusError>().and_then(of_corpus))
    })
}

fn of_library(error: &Error) -> Option<Cow<'static, str>> {
    let hint = match error {
        Error::Index(error) => return of_index(error),
        Error::Lexical(_) => {
            Some("`becr index CORPUS --out DIR`, without --lexical-only, builds one")
        }
        Error::EncodedOnly(_) => {
            Some("--mode encoded, or `becr index` without --mode encoded builds one for both")
        }
        Error::NoHead(_) => Some("name a head of the same encoder with --head FILE"),
        Error::NoFirstStage(_) => Some("--first-stage=DIR names one, `becr rerank` takes a run"),
        Error::InCluster(_) => Some("`becr export INDEX redis://…` takes its place, in one step"),
        Error::NoFolders(_) => Some("`becr sync INDEX FOLDER…`"),
        Error::Others { .. } => Some("--remove-others removes them; with --dry-run it names them"),
        Error::Loss { .. } => Some("--allow-removal removes them; with --dry-run it names them"),
        Error::AllVanished { .. } => Some("--allow-empty removes them"),
        Error::Corpus(error) => return of_corpus(error),
        Error::ModelOfIndex { .. } => Some("name its directory with --model"),
        _ => None,
    };
    hint.map(Cow::Borrowed)
}

fn of_corpus(error: &CorpusError) -> Option<Cow<'static, str>> {
    match &error.kind {
        ErrorKind::NothingInFolder { .. } => {
            Some("`becr sync` takes it as it is with --allow-empty".into())
        }
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some("check the path; nothing was changed".into())
        }
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Some("name a folder; `becr add` takes files".into())
        }
        _ => Some("mend it, or pass --on-error skip to leave such documents out".into()),
    }
}

fn of_index(error: &IndexError) -> Option<Cow<'static, str>> {
    let hint = match error {
        IndexError::Exists(_) => Some("--overwrite replaces it, --out names another place"),
        IndexError::Unfinished(_) => Some(
            "the command that began it goes on with it; `becr index --overwrite` replaces it, another place leaves it alone",
        ),
        IndexError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Some("get the permission for it, or work on a copy of your own")
        }
        IndexError::OtherGroups { .. } => Some("--groups FILE gives all parts one list"),
        IndexError::NoTokenGroups => {
            Some("leave --mode encoded out, or else --groups and --query-log")
        }
        IndexError::Precision { .. } => Some("leave --precision out"),
        IndexError::KnownId(_) => Some(
            "`becr update` puts a new version in its place, `becr add --existing skip` leaves the old one there",
        ),
        IndexError::InterruptedBuild(_) => {
            Some("give the same `becr index` or `becr sync` command again")
        }
        IndexError::FirstStageDamaged { .. } => Some("`becr compact INDEX`"),
        IndexError::NotAnIndex { .. } => Some("`becr index CORPUS --out DIR` builds one"),
        IndexError::Source(_) => {
            Some("mend it, or pass --on-error skip to leave such documents out")
        }
        IndexError::NoDocuments => {
            Some("check the path of the corpus, and --format if it is no folder of texts")
        }
        IndexError::HalfSynced { source, .. } => return of_index(source),
        IndexError::Incomplete { source, changed } => {
            let hint = of_index(source);
            if changed.added + changed.replaced == 0 {
                return hint;
            }
            let go_on = "`becr add --existing skip` goes on from there";
            return Some(match hint {
                Some(hint) => format!("{hint}; {go_on}").into(),
                None => go_on.into(),
            });
        }
        _ => None,
    };
    hint.map(Cow::Borrowed)
}
