//! The sizes of an index that exists, for `becr cost` to go on from.

use becr::StoreSizes;
use becr_groups::cost::predict::{Component, Measured, Scale};
use becr_index::FileSizes;
use std::path::Path;

/// The parts of the index in `dir`, each with what its size goes with.
///
/// Vocabularies grow more slowly than the collection that they come from; taking them to grow with the
/// tokens errs on the safe side.
pub(super) fn components(sizes: &StoreSizes, dir: &Path) -> anyhow::Result<Measured> {
    let (footprints, forward) = (
        sizes.records.footprints as f64,
        sizes.records.forward as f64,
    );
    let rest = (sizes.table("records") - footprints - forward).max(0.0);
    let tables = |names: &[&str]| names.iter().map(|name| sizes.table(name)).sum();
    let files = FileSizes::measure(dir)?;
    let in_tables: f64 = sizes.tables.iter().map(|table| table.bytes as f64).sum();
    let component = |name: &str, scale, bytes| Component {
        name: name.to_owned(),
        bytes,
        scale,
    };
    Ok(Measured {
        documents: sizes.totals.documents,
        tokens: sizes.totals.tokens,
        groups: sizes.groups,
        components: vec![
            component("footprints", Scale::Tokens, footprints),
            component("forward indexes", Scale::Tokens, forward),
            component("features, headers, page ends", Scale::Documents, rest),
            component("texts", Scale::Tokens, tables(&["texts"])),
            component(
                "document ids",
                Scale::Documents,
                tables(&["document ids", "document numbers", "pending"]),
            ),
            component(
                "words and stems",
                Scale::Tokens,
                tables(&["words", "spellings", "stems"]),
            ),
            component(
                "token groups",
                Scale::Groups,
                tables(&["token groups", "pair frequencies"]) + files.group_list as f64,
            ),
            component("first-stage index", Scale::Tokens, files.first_stage as f64),
            component(
                "free pages, model files",
                Scale::Fixed,
                (sizes.file_bytes as f64 - in_tables).max(0.0) + files.model as f64,
            ),
        ],
    })
}
