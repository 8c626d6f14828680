//! The engine's fields.

use super::analysis;
use super::medium::Medium;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, IndexSettings};

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

/// Creates an empty engine index on a medium.
pub(super) fn create(medium: Medium) -> tantivy::Result<(Index, Fields)> {
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
    let index = Index::create(medium, schema.build(), IndexSettings::default())?;
    register(&index);
    Ok((index, fields))
}

/// Opens the engine index on a medium.
pub(super) fn open(medium: Medium) -> tantivy::Result<(Index, Fields)> {
    let index = Index::open(medium)?;
    register(&index);
    let field = |name| index.schema().get_field(name);
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
