//! The model that comes with BECR, as bytes: gte-small in eight bits, its tokenizer, and a head that ranks.
//!
//! What it is worth, how it was made and under which licences it stands is in `MODEL_CARD.md` and `LICENSE.md` of this crate.
//! `becr::models::bundled` makes a model of it.

/// The encoder's and the footprints' configuration, `config.json`.
pub const CONFIG: &str = include_str!("../config.json");
/// The tokenizer, `tokenizer.json`.
pub const TOKENIZER: &[u8] = include_bytes!("../tokenizer.json");
/// The encoder's weights, `model.safetensors`.
pub const WEIGHTS: &[u8] = include_bytes!("../model.safetensors");
/// The ranking head, `head.json`.
pub const HEAD: &[u8] = include_bytes!("../head.json");
/// The mixer of composed queries, `mixer.safetensors`.
pub const MIXER: Option<&[u8]> = Some(include_bytes!("../mixer.safetensors"));
/// The vectors of its frequent WordPieces, `words.bin`.
pub const WORDS: Option<&[u8]> = Some(include_bytes!("../words.bin"));
