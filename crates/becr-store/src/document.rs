//! A document as it is handed to a store.

/// The longest external id, in bytes: the longest word that the first-stage index takes.
pub const MAX_ID_BYTES: usize = 65_530;

/// A document to be stored.
#[derive(Debug, Clone, Default)]
pub struct NewDocument<'a> {
    /// External id.
    pub id: &'a str,
    /// Title: its words go into the forward index.
    pub title: &'a str,
    /// Text: likewise.
    pub text: &'a str,
    /// Keep title and text for display.
    pub keep_text: bool,
    /// WordPieces.
    pub tokens: u32,
    /// γ·CLS.
    pub cls: f32,
    /// Footprints of all layers in tile layout, layer after layer.
    pub footprints: &'a [u8],
    /// The mean vector, [`Shape::mean_bytes`](crate::Shape::mean_bytes) of it.
    pub mean: &'a [u8],
    /// How much of it there is in the tokens, if footprints are relative to it.
    pub share: f32,
    /// The lengths of what the tokens add to it, one per token, if footprints are relative.
    pub lengths: &'a [u8],
    /// Named features.
    pub features: &'a [(String, f32)],
}
