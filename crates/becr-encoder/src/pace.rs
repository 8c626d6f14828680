//! How fast an encoder is on this machine: about a second of the work to come, done for the clock alone.

use crate::flow::Threads;
use crate::{Document, EncodeError, Encoder};
use becr_text::groups::TokenGroup;
use std::time::Instant;

/// Token groups tried on each thread at the least: enough to keep the matrix units busy, done in a fraction of a second.
const GROUPS: usize = 512;

impl Encoder {
    /// A document of about so many WordPieces, where there is none to try: words of the vocabulary.
    pub fn document_of(&self, tokens: usize) -> Document {
        let words = self.vocabulary_words();
        let text: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .cycle()
            .take(tokens)
            .collect();
        Document::new("trial", "", text.join(" "))
    }

    /// The words that are one WordPiece.
    pub fn vocabulary_words(&self) -> Vec<String> {
        let pieces = self.pieces.vocabulary().into_iter().map(|(_, piece)| piece);
        let is_word = |piece: &String| piece.bytes().all(|byte| byte.is_ascii_lowercase());
        pieces.filter(is_word).collect()
    }

    /// WordPieces a second, of documents like these, on all threads. The documents are repeated until every thread has
    /// some batches. A device takes one batch at a time, of as many tokens as it computes in a second: it has a part of one for
    /// its kernels to be compiled, and another for the clock.
    pub fn document_pace(&self, like: &[Document]) -> Result<f64, EncodeError> {
        if self.is_on_a_device() {
            self.documents_per_second(like, self.batch_tokens / 4)?;
            return self.documents_per_second(like, self.batch_tokens / 4);
        }
        // Several batches for each thread, as the work to come has.
        self.documents_per_second(like, 4 * rayon::current_num_threads() * self.batch_tokens)
    }

    /// Whether all batches go through one device, on a machine of several threads.
    pub fn is_on_a_device(&self) -> bool {
        self.backend.side_by_side() == 1 && rayon::current_num_threads() > 1
    }

    /// Who works on a batch.
    pub(crate) fn threads(&self) -> Threads {
        match self.is_on_a_device() {
            true => Threads::All,
            false => Threads::One,
        }
    }

    /// The pace of about so many tokens, where one is about four bytes.
    fn documents_per_second(&self, like: &[Document], tokens: usize) -> Result<f64, EncodeError> {
        let enough = 4 * tokens;
        let mut bytes = 0;
        let documents = like.iter().cycle().take_while(|document| {
            let wanted = bytes < enough;
            bytes += document.title.len() + document.text.len() + 8;
            wanted
        });
        let mut pieces = 0;
        let started = Instant::now();
        let finish = |_, encoded: crate::EncodedDocument| Ok(encoded.pieces.len());
        self.documents(documents.cloned(), finish, |tokens| {
            pieces += tokens;
            Ok::<(), EncodeError>(())
        })?;
        Ok(pieces as f64 / started.elapsed().as_secs_f64())
    }

    /// Token groups a second, of groups like these, on all threads.
    pub fn group_pace(&self, like: &[TokenGroup]) -> Result<f64, EncodeError> {
        // A batch each at least, of three tokens a group at the least.
        let each = match self.is_on_a_device() {
            true => GROUPS,
            false => GROUPS.max(self.batch_tokens / 3),
        };
        let enough = each * rayon::current_num_threads();
        let groups: Vec<TokenGroup> = like.iter().cycle().take(enough).cloned().collect();
        let started = Instant::now();
        self.groups(&groups)?;
        Ok(groups.len() as f64 / started.elapsed().as_secs_f64())
    }
}
