#![doc = include_str!("../MODEL_CARD.md")]

/// The encoder's and the footprints' configuration, `config.json`.
pub const CONFIG: &str = include_str!("../config.json");
/// The tokenizer, `tokenizer.json`.
pub const TOKENIZER: &[u8] = include_bytes!("../tokenizer.json");
/// The encoder's weights, `model.safetensors`.
pub const WEIGHTS: &[u8] = include_bytes!("../model.safetensors");
/// The ranking head, `head.json`.
pub const HEAD: &[u8] = include_bytes!("../head.json");
