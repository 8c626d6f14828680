//! How near each word of a document's text is to each query term: what a reader is shown.

use crate::{RankError, RankQuery, RankWorkspace, Ranker};
use becr_store::{DocumentStore, Documents, Text};
use becr_text::words::Span;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// A document's text with the similarity of its words to the query's terms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shading {
    /// The title as it was written.
    pub title: String,
    /// The text as it was written.
    pub text: String,
    /// The words of the title, in order.
    pub title_words: Vec<ShadedWord>,
    /// The words of the text, in order.
    pub text_words: Vec<ShadedWord>,
}

/// A word and how similar it is to each term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShadedWord {
    /// First byte of the word in its field.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// `[term]`: the largest similarity over the word's WordPieces.
    pub similarities: Vec<f32>,
}

impl Ranker {
    /// The similarity of every word of a document to every term at the `layer`-th kept layer. Needs the text,
    /// which the index may have been told not to keep. Where only documents' vectors are kept, the same stem is
    /// similar and nothing else.
    pub fn shading<S>(
        &self,
        query: &RankQuery,
        store: &S,
        number: u64,
        layer: usize,
        work: &mut RankWorkspace,
    ) -> Result<Shading, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let layers = usize::from(self.shape.layers);
        if layer >= layers {
            return Err(RankError::NoLayer {
                asked: layer,
                layers,
            });
        }
        let text = store.texts(&[number])?.pop().flatten();
        let text = text.ok_or(RankError::Text {
            number,
            reason: "its text was not kept; build the index with texts to see them",
        })?;
        if self.documents == Documents::Vectors {
            return Ok(self.same_stems(query, text));
        }
        let (mut similarities, mut words) = (Vec::new(), Vec::new());
        let candidate = crate::Candidate {
            number,
            ..Default::default()
        };
        let candidates = std::slice::from_ref(&candidate);
        self.features(query, store, candidates, work, |examined| {
            examined.similarities(&mut similarities)?;
            words = self.tokens(&text);
            if words.len() != examined.tokens() {
                return Err(RankError::Text {
                    number,
                    reason: "its text and its footprints do not have the same tokens",
                });
            }
            Ok::<(), RankError>(())
        })?;
        let (terms, tokens) = (query.terms().len(), words.len());
        let layer = match terms * tokens {
            0 => &[][..],
            size => &similarities[layer * size..][..size],
        };
        let mut shaded: HashMap<(bool, usize), ShadedWord> = HashMap::new();
        for (token, word) in words.iter().enumerate() {
            let Some((in_title, span)) = *word else {
                continue;
            };
            let entry = shaded.entry((in_title, span.start));
            let word = entry.or_insert_with(|| ShadedWord {
                start: span.start,
                end: span.end,
                similarities: vec![f32::NEG_INFINITY; terms],
            });
            for (term, most) in word.similarities.iter_mut().enumerate() {
                *most = most.max(layer[term * tokens + token]);
            }
        }
        let mut fields = [Vec::new(), Vec::new()];
        for ((in_title, _), word) in shaded {
            fields[usize::from(!in_title)].push(word);
        }
        fields
            .iter_mut()
            .for_each(|words| words.sort_by_key(|word| word.start));
        let [title_words, text_words] = fields;
        Ok(Shading {
            title: text.title,
            text: text.text,
            title_words,
            text_words,
        })
    }

    /// Without footprints of tokens: 1 for words of a term's stem, 0 for others.
    fn same_stems(&self, query: &RankQuery, text: Text) -> Shading {
        let stems = query
            .terms()
            .iter()
            .map(|term| self.analyzer.stem(&term.word));
        let stems: Vec<_> = stems.collect();
        let shaded = |text: &str| -> Vec<ShadedWord> {
            let words = becr_text::words::words(text).map(|word| {
                let own = self.analyzer.stem(&word.text);
                let similarity = |stem: &Cow<'_, str>| if *stem == own { 1.0 } else { 0.0 };
                ShadedWord {
                    start: word.span.start,
                    end: word.span.end,
                    similarities: stems.iter().map(similarity).collect(),
                }
            });
            words.collect()
        };
        Shading {
            title_words: shaded(&text.title),
            text_words: shaded(&text.text),
            title: text.title,
            text: text.text,
        }
    }

    /// For each token of a document, whether it stands in the title and the place of its word; `None` for
    /// punctuation.
    fn tokens(&self, text: &Text) -> Vec<Option<(bool, Span)>> {
        let spans = |text: &str| -> Vec<Span> {
            becr_text::words::words(text)
                .map(|word| word.span)
                .collect()
        };
        let (title, body) = (spans(&text.title), spans(&text.text));
        if self.documents == Documents::Composed {
            let title = title.into_iter().map(|span| Some((true, span)));
            return title
                .chain(body.into_iter().map(|span| Some((false, span))))
                .collect();
        }
        let tokenised = self.pieces.document(&text.title, &text.text);
        let place = |(at, word): (usize, &Option<u32>)| {
            let in_title = at < tokenised.title_pieces;
            let spans = if in_title { &title } else { &body };
            Some((in_title, *spans.get((*word)? as usize)?))
        };
        tokenised
            .pieces
            .words
            .iter()
            .enumerate()
            .map(place)
            .collect()
    }
}
