//! LMDB's errors as those of a store.

use becr_store::StoreError;
use std::io::ErrorKind;
use std::path::Path;

/// Turns the errors of the store at `path` into ours, for `map_err`.
pub(crate) fn engine(path: &Path) -> impl Fn(heed::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| match source {
        heed::Error::Io(e)
            if matches!(
                e.kind(),
                ErrorKind::StorageFull | ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded
            ) =>
        {
            StoreError::Full(path.clone())
        }
        source => StoreError::Engine {
            path: path.clone(),
            source: source.into(),
        },
    }
}
