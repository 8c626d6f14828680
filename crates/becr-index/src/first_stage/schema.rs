//! The engine's fields.

use super::medium::Medium;
use super::{FOLDER, analysis};
use crate::IndexError;
use std::path::Path;
use tantivy::Index;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};

/// Handles of the fields, by name.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// External document id: a term, to delete by; a column, to read hits from without the row store.
    pub(super) id: Field,
    /// Title: searched, and stored for display.
    pub(super) title: Field,
    /// Body: searched.
    pub(super) body: Field,
    /// Number of words in the title, as a column: what exact statistics are made of.
    pub(super) title_words: Field,
    /// Number of words in the body.
    pub(super) body_words: Field,
}

pub(super) const ID: &str = "id";
pub(super) const TITLE_WORDS: &str = "title_words";
pub(super) const BODY_WORDS: &str = "body_words";

/// Creates an empty engine index below `dir`.
pub(super) fn create(dir: &Path) -> Result<(Index, Fields), IndexError> {
    let folder = dir.join(FOLDER);
    std::fs::create_dir(&folder).map_err(IndexError::io(&folder, "cannot create"))?;
    // Word positions are in the document records; BM25 needs frequencies only.
    let stems = TextFieldIndexing::default()
        .set_tokenizer(analysis::NAME)
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = TextOptions::default().set_indexing_options(stems);
    let mut schema = Schema::builder();
    let fields = Fields {
        id: schema.add_text_field(ID, STRING | FAST),
        title: schema.add_text_field("title", text.clone() | STORED),
        body: schema.add_text_field("body", text),
        title_words: schema.add_u64_field(TITLE_WORDS, FAST),
        body_words: schema.add_u64_field(BODY_WORDS, FAST),
    };
    let index = Index::create_in_dir(&folder, schema.build()).map_err(IndexError::engine(dir))?;
    register(&index);
    Ok((index, fields))
}

/// Opens the engine index below `dir`.
pub(super) fn open(dir: &Path) -> Result<(Index, Fields), IndexError> {
    let folder = dir.join(FOLDER);
    if !folder.is_dir() {
        let reason = format!("no folder {FOLDER}");
        return Err(IndexError::NotAnIndex {
            path: dir.to_owned(),
            reason,
        });
    }
    let engine = IndexError::engine(dir);
    let index = Medium::open(&folder).and_then(Index::open);
    let index = index.map_err(&engine)?;
    register(&index);
    let field = |name| index.schema().get_field(name).map_err(&engine);
    let fields = Fields {
        id: field(ID)?,
        title: field("title")?,
        body: field("body")?,
        title_words: field(TITLE_WORDS)?,
        body_words: field(BODY_WORDS)?,
    };
    Ok((index, fields))
}

fn register(index: &Index) {
    index
        .tokenizers()
        .register(analysis::NAME, analysis::StemTokenizer::default());
}
