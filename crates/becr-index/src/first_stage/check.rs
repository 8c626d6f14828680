//! Whether the engine's files are what it wrote: by the checksum at the end of each, without opening them.

use super::medium::Medium;
use super::{schema, writer::COMPONENTS};
use crate::IndexError;
use std::path::Path;
use tantivy::index::SegmentComponent;

/// The shortest end of a file that can be looked at: the length of the checksum's description, and a mark.
const SHORTEST: u64 = 8;

/// What is wrong with the files of the commit whose list of segments is `meta`, or of the one in the engine's own file: a
/// sentence each.
pub(crate) fn check(folder: &Path, meta: Option<&[u8]>) -> Result<Vec<String>, IndexError> {
    let engine = IndexError::engine_beside_store(folder);
    let medium = match meta {
        Some(meta) => Medium::held(folder, Some(meta)),
        None => Medium::open(folder),
    };
    let (index, _) = medium.and_then(schema::open).map_err(engine)?;
    let segments = index
        .searchable_segment_metas()
        .map_err(IndexError::engine(folder))?;
    let mut problems = Vec::new();
    for segment in &segments {
        let has =
            |part: &SegmentComponent| *part != SegmentComponent::Delete || segment.has_deletes();
        for part in COMPONENTS.into_iter().filter(has) {
            let name = segment.relative_path(part);
            let path = folder.join(&name);
            let problem = match std::fs::metadata(&path) {
                Err(e) => e.to_string(),
                Ok(meta) if meta.len() < SHORTEST => "it was cut short".to_owned(),
                Ok(_) => match index.directory().validate_checksum(&name) {
                    Ok(true) => continue,
                    Ok(false) => "its bytes are not those that were written".to_owned(),
                    Err(e) => e.to_string(),
                },
            };
            problems.push(format!("{}: {problem}", path.display()));
        }
    }
    Ok(problems)
}
