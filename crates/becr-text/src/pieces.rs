//! WordPieces, through the `tokenizers` crate, and the word that each belongs to.

use crate::words::{Scanner, Span};
use std::path::{Path, PathBuf};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::{Model, Tokenizer};

/// Texts longer than this are tokenised in chunks cut at white space, to bound memory: the tokenizer
/// keeps an alignment for every byte of its input.
const CHUNK_BYTES: usize = 64 * 1024;

/// Why a tokenizer could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenizerError {
    /// The file is not there or cannot be read.
    #[error("{}: cannot read the tokenizer: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Neither `tokenizer.json` nor `vocab.txt` is in the model's directory.
    #[error("{}: no tokenizer.json and no vocab.txt; a model directory needs one of them", .0.display())]
    Missing(PathBuf),
    /// The file is there but it is no tokenizer.
    #[error("{name}: not a usable tokenizer: {reason}")]
    Malformed {
        /// The file, or what stands for it.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// BERT's special tokens are missing from the vocabulary.
    #[error("{name}: the vocabulary has no {token}; expected that of a BERT model")]
    NoSpecialToken {
        /// The file, or what stands for it.
        name: String,
        /// The token that is missing.
        token: &'static str,
    },
}

/// A WordPiece tokenizer.
#[derive(Debug, Clone)]
pub struct WordPieces {
    tokenizer: Tokenizer,
    /// Ids of BERT's special tokens.
    pub special: SpecialTokens,
}

/// Ids of BERT's special tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // their names say it
pub struct SpecialTokens {
    pub cls: u32,
    pub sep: u32,
    pub unk: u32,
    pub pad: u32,
}

/// The WordPieces of a text, without `[CLS]` and `[SEP]`. The vectors are parallel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Vocabulary ids.
    pub ids: Vec<u32>,
    /// Places in the text.
    pub spans: Vec<Span>,
    /// Position of the word each piece belongs to; `None` for punctuation.
    pub words: Vec<Option<u32>>,
}

/// The WordPieces of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokenised {
    /// Title first. Places and word positions count within their field.
    pub pieces: Pieces,
    /// How many of them belong to the title.
    pub title_pieces: usize,
}

impl Pieces {
    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl WordPieces {
    /// Opens the tokenizer of a model directory: `tokenizer.json`, or else `vocab.txt`.
    pub fn from_dir(dir: &Path) -> Result<Self, TokenizerError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| TokenizerError::Read {
                path: path.to_owned(),
                source,
            })
        };
        let (json, vocab) = (dir.join("tokenizer.json"), dir.join("vocab.txt"));
        if json.exists() {
            Self::from_json(&read(&json)?, &json.display().to_string())
        } else if vocab.exists() {
            Self::from_vocab(&read(&vocab)?, &vocab.display().to_string())
        } else {
            Err(TokenizerError::Missing(dir.to_owned()))
        }
    }

    /// Reads the bytes of a `tokenizer.json`; `name` stands for them in errors.
    pub fn from_json(bytes: &[u8], name: &str) -> Result<Self, TokenizerError> {
        let tokenizer = Tokenizer::from_bytes(bytes).map_err(|e| malformed(name, &e))?;
        Self::new(tokenizer, name)
    }

    /// Reads the bytes of a `vocab.txt`, one piece a line, for an uncased model.
    pub fn from_vocab(bytes: &[u8], name: &str) -> Result<Self, TokenizerError> {
        let vocabulary = WordPiece::read_bytes(bytes).map_err(|e| malformed(name, &e))?;
        let model = WordPiece::builder().vocab(vocabulary).build();
        let model = model.map_err(|e| malformed(name, &e))?;
        let mut tokenizer = Tokenizer::new(model);
        tokenizer
            .with_normalizer(Some(BertNormalizer::default()))
            .map_err(|e| malformed(name, &e))?
            .with_pre_tokenizer(Some(BertPreTokenizer));
        Self::new(tokenizer, name)
    }

    fn new(mut tokenizer: Tokenizer, name: &str) -> Result<Self, TokenizerError> {
        // Files in the wild come with truncation and padding switched on: we cut and pad ourselves.
        tokenizer
            .with_truncation(None)
            .map_err(|e| malformed(name, &e))?;
        tokenizer.with_padding(None);
        // A text that says "[SEP]" means those letters.
        tokenizer.set_encode_special_tokens(true);
        let id = |token| {
            tokenizer
                .token_to_id(token)
                .ok_or_else(|| TokenizerError::NoSpecialToken {
                    name: name.to_owned(),
                    token,
                })
        };
        let special = SpecialTokens {
            cls: id("[CLS]")?,
            sep: id("[SEP]")?,
            unk: id("[UNK]")?,
            pad: id("[PAD]")?,
        };
        // Tokenising once here turns a broken pipeline into an error now rather than a surprise later.
        tokenizer
            .encode_fast("probe", false)
            .map_err(|e| malformed(name, &e))?;
        Ok(Self { tokenizer, special })
    }

    /// The WordPieces of `text`, each with its place and its word.
    pub fn pieces(&self, text: &str) -> Pieces {
        let mut pieces = Pieces::default();
        for (start, chunk) in chunks(text) {
            // Encoding fails only for a model without an unknown token, which `new` has excluded.
            let Ok(encoding) = self.tokenizer.encode(chunk, false) else {
                continue;
            };
            pieces.ids.extend_from_slice(encoding.get_ids());
            let spans = encoding.get_offsets().iter();
            pieces.spans.extend(spans.map(|&(from, to)| Span {
                start: start + from,
                end: start + to,
            }));
        }
        pieces.words = words_of(text, &pieces.spans);
        pieces
    }

    /// How many WordPieces a text has. Once there are more than `most`, the rest is not looked at: what is too long anyway
    /// costs no more than what is not.
    pub fn count(&self, text: &str, most: usize) -> usize {
        let mut count = 0;
        for (_, chunk) in chunks(text) {
            let encoding = self.tokenizer.encode_fast(chunk, false);
            count += encoding.map_or(0, |encoding| encoding.len());
            if count > most {
                break;
            }
        }
        count
    }

    /// The WordPieces of one word as vocabulary strings, continuations with their `##`. These are the
    /// groups that stand in for a word the token store does not have.
    pub fn split_word(&self, word: &str) -> Vec<String> {
        self.pieces(word)
            .ids
            .into_iter()
            .filter_map(|id| self.tokenizer.id_to_token(id))
            .collect()
    }

    /// The WordPieces of a document, title first: the tokens that its footprints are of.
    pub fn document(&self, title: &str, text: &str) -> Tokenised {
        let mut pieces = self.pieces(title);
        let title_pieces = pieces.len();
        let text = self.pieces(text);
        pieces.ids.extend(text.ids);
        pieces.spans.extend(text.spans);
        pieces.words.extend(text.words);
        Tokenised {
            pieces,
            title_pieces,
        }
    }

    /// The id of a vocabulary entry, for example `##ing`.
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.tokenizer.token_to_id(piece)
    }

    /// The vocabulary entry of an id.
    pub fn piece(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// Every vocabulary entry with its id, by id.
    pub fn vocabulary(&self) -> Vec<(u32, String)> {
        let vocabulary = self.tokenizer.get_model().get_vocab();
        let mut entries: Vec<_> = vocabulary
            .into_iter()
            .map(|(piece, id)| (id, piece))
            .collect();
        entries.sort_unstable();
        entries
    }
}

fn malformed(name: &str, reason: &dyn std::fmt::Display) -> TokenizerError {
    TokenizerError::Malformed {
        name: name.to_owned(),
        reason: reason.to_string(),
    }
}

/// `text` in pieces of about [`CHUNK_BYTES`], cut before white space where there is any, each with its
/// place. Tokenisation never looks across white space, so the cuts do not show.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        if rest.is_empty() {
            return None;
        }
        let limit = rest.floor_char_boundary(CHUNK_BYTES);
        let cut = match rest.len() <= CHUNK_BYTES {
            true => rest.len(),
            false => rest[..limit]
                .rfind([' ', '\n', '\t', '\r'])
                .filter(|&at| at > 0)
                .unwrap_or(limit),
        };
        let chunk = (start, &rest[..cut]);
        start += cut;
        Some(chunk)
    })
}

/// The position of the word that each piece lies in.
fn words_of(text: &str, spans: &[Span]) -> Vec<Option<u32>> {
    let mut scanner = Scanner::new(text);
    let mut buffer = String::new();
    let mut position = 0;
    let mut word = scanner.next_into(&mut buffer);
    let of = |span: &Span| {
        while word.is_some_and(|word| word.end <= span.start) {
            word = scanner.next_into(&mut buffer);
            position += 1;
        }
        word.filter(|word| span.start < word.end && word.start < span.end)
            .map(|_| position)
    };
    spans.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nrank\n##ing\nneural\ncafe\n,\n!\nmodel\n##s\n[\n]\nsep\n東\nx\n=";

    fn tokenizer() -> WordPieces {
        WordPieces::from_vocab(VOCABULARY.as_bytes(), "vocab.txt").unwrap()
    }

    fn split(text: &str) -> Vec<(String, Option<u32>)> {
        let tokenizer = tokenizer();
        let pieces = tokenizer.pieces(text);
        let name = |&id: &u32| tokenizer.piece(id).unwrap();
        pieces.ids.iter().map(name).zip(pieces.words).collect()
    }

    #[test]
    fn pieces_know_their_words() {
        assert_eq!(
            split("Neural, ranking! models"),
            [
                ("neural".into(), Some(0)),
                (",".into(), None),
                ("rank".into(), Some(1)),
                ("##ing".into(), Some(1)),
                ("!".into(), None),
                ("model".into(), Some(2)),
                ("##s".into(), Some(2)),
            ]
        );
        let text = "a Café";
        let pieces = tokenizer().pieces(text);
        let span = pieces.spans[1];
        assert_eq!(&text[span.start..span.end], "Café");
    }

    #[test]
    fn special_tokens_in_a_text_are_letters() {
        let names: Vec<String> = split("[SEP]").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["[", "sep", "]"]);
    }

    #[test]
    fn words_split_into_vocabulary_entries() {
        assert_eq!(tokenizer().split_word("rankings"), ["rank", "##ing", "##s"]);
        assert_eq!(tokenizer().split_word("zebra"), ["[UNK]"]);
    }

    #[test]
    fn long_texts_are_cut_where_it_does_not_show() {
        let text = "neural ranking models, ".repeat(20_000);
        let pieces = tokenizer().pieces(&text);
        let once = tokenizer().pieces("neural ranking models, ");
        assert_eq!(pieces.len(), once.len() * 20_000);
        assert_eq!(pieces.words.last(), Some(&None));
        assert_eq!(pieces.words[pieces.len() - 2], Some(59_999));
        let unbroken = "x".repeat(1_000_000);
        assert!(!tokenizer().pieces(&unbroken).is_empty());
    }

    #[test]
    fn counting_stops_where_it_is_too_much() {
        let tokenizer = tokenizer();
        let text = "neural ranking models, ".repeat(20_000);
        let all = tokenizer.pieces(&text).len();
        assert_eq!(tokenizer.count(&text, usize::MAX), all);
        assert_eq!(tokenizer.count(&text, all), all);
        // Of a text of many chunks the first alone.
        let counted = tokenizer.count(&text, 10);
        assert!(counted > 10 && counted < all / 5, "{counted} of {all}");
        assert_eq!(tokenizer.count("", 0), 0);
    }

    #[test]
    fn broken_tokenizers_are_refused() {
        let error = WordPieces::from_vocab(b"[CLS]\n[SEP]\n[UNK]", "vocab.txt").unwrap_err();
        assert!(error.to_string().contains("[PAD]"), "{error}");
        assert!(WordPieces::from_vocab(&[0xff, 0xfe], "vocab.txt").is_err());
        assert!(WordPieces::from_json(b"{\"version\": ", "tokenizer.json").is_err());
    }

    proptest! {
        #[test]
        fn every_piece_of_a_word_maps_to_it(text in any::<String>()) {
            let pieces = tokenizer().pieces(&text);
            let words: Vec<_> = crate::words::words(&text).collect();
            for (span, word) in pieces.spans.iter().zip(&pieces.words) {
                prop_assert!(text.get(span.start..span.end).is_some());
                if let Some(position) = word {
                    let place = words[*position as usize].span;
                    prop_assert!(place.start < span.end && span.start < place.end);
                }
            }
            let mut covered: Vec<u32> = pieces.words.iter().flatten().copied().collect();
            covered.dedup();
            prop_assert_eq!(covered, (0..words.len() as u32).collect::<Vec<_>>());
        }
    }
}
