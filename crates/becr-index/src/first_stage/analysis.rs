//! Our words and stems as the engine's tokenizer.

use becr_text::lexical::Analyzer;
use becr_text::words::Scanner;
use std::sync::Arc;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Its name in the schema.
pub(super) const NAME: &str = "becr_stems";

/// A tokenizer for `tantivy` that gives the stems of all words, stop words included.
#[derive(Clone, Default)]
pub struct StemTokenizer {
    analyzer: Arc<Analyzer>,
    word: String,
    token: Token,
}

/// The stems of one text.
pub struct StemStream<'a> {
    scanner: Scanner<'a>,
    analyzer: &'a Analyzer,
    word: &'a mut String,
    token: &'a mut Token,
}

impl Tokenizer for StemTokenizer {
    type TokenStream<'a> = StemStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> StemStream<'a> {
        self.token.reset();
        StemStream {
            scanner: Scanner::new(text),
            analyzer: &self.analyzer,
            word: &mut self.word,
            token: &mut self.token,
        }
    }
}

impl TokenStream for StemStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(span) = self.scanner.next_into(self.word) else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(&self.analyzer.stem(self.word));
        self.token.position = self.token.position.wrapping_add(1);
        (self.token.offset_from, self.token.offset_to) = (span.start, span.end);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
