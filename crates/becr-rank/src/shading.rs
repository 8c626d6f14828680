//! How near each word of a document's text is to each query term: what a reader is shown.

use crate::{RankError, RankQuery, RankWorkspace, Ranker};
use becr_store::{DocumentStore, Documents, Text};
use becr_text::lexical::is_stop_word;
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

/// Similarity of words that have nothing to do with each other: what is expected of a word before any was seen.
const UNRELATED: f32 = 0.2;
/// How many words that expectation counts for, so that a text of three words that all match is not its own average.
const EXPECTED: f32 = 16.0;
/// The average is not taken for higher than this: in a text that repeats the query, words still match.
const HIGHEST_AVERAGE: f32 = 0.6;

/// A word and how similar it is to each term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShadedWord {
    /// First byte of the word in its field.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// `[term]`: the largest similarity over the word's WordPieces.
    pub similarities: Vec<f32>,
    /// `[term]`: how far that stands out from the average word of the document, from 0 to 1. Contextual vectors of one
    /// text lie near to each other, so that all of them are near to a query that fits it, function words most of all:
    /// those have 0, unless the query asks for them.
    pub strengths: Vec<f32>,
}

impl ShadedWord {
    /// The term by which the word stands out most, and how far; `None` where the query has no terms.
    pub fn nearest(&self) -> Option<(usize, f32)> {
        let terms = self.strengths.iter().copied().enumerate();
        terms.reduce(|best, term| if term.1 > best.1 { term } else { best })
    }

    /// How far it stands out, from 0 to 1.
    pub fn strength(&self) -> f32 {
        self.nearest().map_or(0.0, |(_, strength)| strength)
    }
}

impl Shading {
    /// Fills the strengths in, from the similarities of all words.
    fn stand_out(&mut self, query: &RankQuery) {
        let all = self.title_words.iter().chain(&self.text_words);
        let count = all.clone().count() as f32;
        let averages: Vec<f32> = (0..query.terms().len())
            .map(|term| {
                let sum: f32 = all.clone().map(|word| word.similarities[term]).sum();
                let average = (sum + EXPECTED * UNRELATED) / (count + EXPECTED);
                average.clamp(0.0, HIGHEST_AVERAGE)
            })
            .collect();
        let fields = [
            (&self.title, &mut self.title_words),
            (&self.text, &mut self.text_words),
        ];
        for (text, words) in fields {
            for word in words {
                let spelling = text.get(word.start..word.end).unwrap_or_default();
                let spelling = spelling.to_lowercase();
                let is_silent = is_stop_word(&spelling)
                    && !query.terms().iter().any(|term| term.word == spelling);
                let similarities = word.similarities.iter().zip(&averages);
                let strength = |(similarity, average): (&f32, &f32)| match is_silent {
                    true => 0.0,
                    false => ((similarity - average) / (1.0 - average)).clamp(0.0, 1.0),
                };
                word.strengths = similarities.map(strength).collect();
            }
        }
    }
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
                strengths: Vec::new(),
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
        let mut shading = Shading {
            title: text.title,
            text: text.text,
            title_words,
            text_words,
        };
        shading.stand_out(query);
        Ok(shading)
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
                    strengths: Vec::new(),
                }
            });
            words.collect()
        };
        let mut shading = Shading {
            title_words: shaded(&text.title),
            text_words: shaded(&text.text),
            title: text.title,
            text: text.text,
        };
        shading.stand_out(query);
        shading
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
