//! Our messages as Python exceptions. The classes are written in Python: `becr/errors.py`.

use becr::{Error, IndexError};
use becr_encoder::EncodeError;
use becr_model::ModelError as ModelFault;
use pyo3::{PyErr, import_exception};

import_exception!(becr.errors, BecrError);
import_exception!(becr.errors, NotFoundError);
import_exception!(becr.errors, InvalidInputError);
import_exception!(becr.errors, DamagedError);
import_exception!(becr.errors, BusyError);
import_exception!(becr.errors, ExistsError);
import_exception!(becr.errors, ModelError);
import_exception!(becr.errors, ForkError);

/// Makes an exception of a message.
type Class = fn(String) -> PyErr;

/// The exception for an error of the library.
pub(crate) fn raised(error: Error) -> PyErr {
    let (class, hint) = class(&error);
    let message = match hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    class(message)
}

/// The exception for a model that cannot be read.
pub(crate) fn of_model(error: ModelFault) -> PyErr {
    raised(error.into())
}

/// The exception for text that cannot be encoded.
pub(crate) fn of_encoder(error: EncodeError) -> PyErr {
    raised(error.into())
}

/// The exception for judgements or runs.
pub(crate) fn of_evaluation(error: becr_eval::Error) -> PyErr {
    let message = match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    match error {
        becr_eval::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            NotFoundError::new_err(message)
        }
        _ => InvalidInputError::new_err(message),
    }
}

/// The class, and what to write in Python to follow the message's advice.
fn class(error: &Error) -> (Class, Option<&'static str>) {
    let invalid: Class = InvalidInputError::new_err;
    let (class, hint): (Class, _) = match error {
        Error::Index(error) => return of_index(error),
        Error::Store(error) => return (of_store(error), None),
        Error::Rank(error) => return (of_rank(error), None),
        Error::UnknownDocument(_) | Error::Gone { .. } => (NotFoundError::new_err, None),
        Error::Config { .. } => (DamagedError::new_err, None),
        Error::ModelOfIndex { .. } => (ModelError::new_err, Some("Index.open(path, model=...)")),
        Error::NoHead(_) => (ModelError::new_err, Some("Index.open(path, head=...)")),
        Error::Model(_) | Error::Encode(_) | Error::Tokenizer(_) | Error::NoModel => {
            (ModelError::new_err, None)
        }
        Error::EncodedOnly(_) => (invalid, Some("mode=\"encoded\"")),
        Error::Lexical(_) => (invalid, Some("Index.build without lexical=True")),
        Error::Options(_) | Error::TextBudget { .. } | Error::Corpus(_) => (invalid, None),
        _ => (BecrError::new_err, None),
    };
    (class, hint)
}

fn of_index(error: &IndexError) -> (Class, Option<&'static str>) {
    let (class, hint): (Class, _) = match error {
        IndexError::NotAnIndex { .. } | IndexError::InterruptedBuild(_) => {
            (NotFoundError::new_err, None)
        }
        IndexError::Exists(_) | IndexError::Unfinished(_) => {
            (ExistsError::new_err, Some("overwrite=True"))
        }
        IndexError::NotOurs(_) | IndexError::NotOurBuild(_) | IndexError::MountPoint(_) => {
            (ExistsError::new_err, None)
        }
        IndexError::DamagedFile { .. } | IndexError::Engine { .. } => (DamagedError::new_err, None),
        IndexError::FirstStageDamaged { .. } => (DamagedError::new_err, Some("Index.compact")),
        IndexError::Busy(_) | IndexError::BeingBuilt(_) | IndexError::SecondWriter(_) => {
            (BusyError::new_err, None)
        }
        IndexError::KnownId(_) => (
            InvalidInputError::new_err,
            Some("Index.update, or existing=\"skip\""),
        ),
        IndexError::Lexical(_)
        | IndexError::NoTokenGroups
        | IndexError::Source(_)
        | IndexError::Document { .. }
        | IndexError::RepeatedId(_)
        | IndexError::NoDocuments => (InvalidInputError::new_err, None),
        IndexError::Precision { .. }
        | IndexError::RawModel(_)
        | IndexError::Similarity(_)
        | IndexError::Model(_)
        | IndexError::Head { .. }
        | IndexError::Encode(_) => (ModelError::new_err, None),
        IndexError::Store(error) => (of_store(error), None),
        IndexError::Incomplete { source, .. } | IndexError::HalfSynced { source, .. } => {
            return of_index(source);
        }
        _ => (BecrError::new_err, None),
    };
    (class, hint)
}

fn of_store(error: &becr_store::StoreError) -> Class {
    use becr_store::StoreError::{
        Conflict, Damaged, Lock, LongId, Missing, OtherEncoder, Readers, Refused, Replaced,
        Truncated,
    };
    match error {
        Damaged { .. } | Truncated { .. } | Missing(_) => DamagedError::new_err,
        Conflict { .. } | Lock(_) | Readers { .. } | Replaced(_) => BusyError::new_err,
        OtherEncoder { .. } => ModelError::new_err,
        LongId { .. } | Refused { .. } => InvalidInputError::new_err,
        _ => BecrError::new_err,
    }
}

fn of_rank(error: &becr_rank::RankError) -> Class {
    use becr_rank::RankError::{
        Layers, Mixer, NoDocument, OtherEncoder, Record, Similarity, Store, UnknownFeature,
    };
    match error {
        Store(error) => of_store(error),
        Record => DamagedError::new_err,
        NoDocument(_) => NotFoundError::new_err,
        Layers { .. } | OtherEncoder { .. } | Similarity | UnknownFeature { .. } | Mixer { .. } => {
            ModelError::new_err
        }
        _ => BecrError::new_err,
    }
}
