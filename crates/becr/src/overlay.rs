//! A store and a few documents beside it, for the time of one query.

use becr_index::full::Footprints;
use becr_rank::MAX_QUERY_WORDS;
use becr_store::{
    Answer, DocumentStore, FetchBuffer, FoundRecord, Header, NewRecord, Question, StoreError, Text,
    VisitRecords, Words,
};
use becr_text::lexical::Analyzer;
use becr_text::words::Scanner;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Numbers of the documents beside the store begin here, far above those of any store.
const FIRST: u64 = 1 << 62;
/// The number of all words that the query does not ask for.
const OTHER_WORD: u32 = u32::MAX;

/// A document beside the store.
pub(crate) struct Beside<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
    pub(crate) footprints: Arc<Footprints>,
    /// γ·CLS.
    pub(crate) cls: f32,
}

/// A store that also has some other documents.
pub(crate) struct Overlay<'a, S> {
    store: &'a S,
    documents: &'a [Beside<'a>],
    records: Vec<Vec<u8>>,
    numbers: HashMap<&'a str, u64>,
    vocabulary: Vocabulary,
}

impl<'a, S: DocumentStore> Overlay<'a, S> {
    /// Puts documents beside a store, for one query: of their words, only those that it asks for have numbers.
    pub(crate) fn new(
        store: &'a S,
        documents: &'a [Beside<'a>],
        query: &str,
    ) -> Result<Self, StoreError> {
        let mut vocabulary = Vocabulary::of_query(query);
        for document in documents {
            vocabulary.meet(document.title);
            vocabulary.meet(document.text);
        }
        vocabulary.number(store)?;
        let record = |document: &Beside<'_>| {
            let footprints = &document.footprints;
            let record = NewRecord {
                tokens: footprints.tokens,
                cls: document.cls,
                footprints: &footprints.tiles,
                mean: &footprints.mean,
                share: footprints.share,
                lengths: &footprints.lengths,
                features: Vec::new(),
                words: Words {
                    title: vocabulary.numbers(document.title),
                    body: vocabulary.numbers(document.text),
                },
            };
            let refused = |reason: &'static str| StoreError::Refused {
                what: "a text".into(),
                reason: reason.into(),
            };
            record.encode(store.header().shape).map_err(refused)
        };
        let records = documents.iter().map(record).collect::<Result<_, _>>()?;
        let numbered = documents.iter().map(|document| document.id).zip(FIRST..);
        Ok(Self {
            store,
            documents,
            records,
            numbers: numbered.collect(),
            vocabulary,
        })
    }

    fn place(number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(FIRST)?).ok()
    }
}

impl<S: DocumentStore> DocumentStore for Overlay<'_, S> {
    fn header(&self) -> &Header {
        self.store.header()
    }

    fn path(&self) -> &Path {
        self.store.path()
    }

    fn look_up<'b>(
        &'b self,
        question: &Question<'_>,
        buffer: &'b mut FetchBuffer,
    ) -> Result<Answer<'b>, StoreError> {
        let mut answer = self.store.look_up(question, buffer)?;
        for (id, number) in question.ids.iter().zip(&mut answer.numbers) {
            if let Some(beside) = self.numbers.get(id) {
                *number = Some(*beside);
            }
        }
        for (word, number) in question.words.iter().zip(&mut answer.words) {
            *number = number.or_else(|| self.vocabulary.new_number(word));
        }
        for (stem, known) in question.stems.iter().zip(&mut answer.stems) {
            known.words.extend(self.vocabulary.new_words_of(stem));
        }
        Ok(answer)
    }

    fn fetch(
        &self,
        numbers: &[u64],
        buffer: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        let mut start = 0;
        for run in numbers.chunk_by(|a, b| (*a < FIRST) == (*b < FIRST)) {
            let mut flow = ControlFlow::Continue(());
            if run[0] < FIRST {
                self.store.fetch(run, buffer, &mut |at, found| {
                    flow = visit(start + at, found);
                    flow
                })?;
            } else {
                let found = |&number: &u64| {
                    let record = self.records.get(Self::place(number)?)?;
                    Some(FoundRecord::new(number, record, self.path()))
                };
                flow = visit(start, &run.iter().map(found).collect::<Vec<_>>());
            }
            if flow.is_break() {
                return Ok(());
            }
            start += run.len();
        }
        Ok(())
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        let text = |&number: &u64| match Self::place(number) {
            Some(place) => Ok(self.documents.get(place).map(|document| Text {
                title: document.title.to_owned(),
                text: document.text.to_owned(),
            })),
            None => Ok(self.store.texts(&[number])?.pop().flatten()),
        };
        numbers.iter().map(text).collect()
    }
}

/// The words of documents that a query asks for: its own, and those of the same stems.
struct Vocabulary {
    analyzer: Analyzer,
    /// Stems of the query's words.
    asked: HashSet<String>,
    /// Words of the documents; with a number if the query asks for them.
    words: HashMap<String, Option<u32>>,
    /// Words that the store does not have, by stem.
    new: HashMap<String, Vec<(String, u32)>>,
}

impl Vocabulary {
    fn of_query(query: &str) -> Self {
        let analyzer = Analyzer::default();
        let words = becr_text::words::words(query).take(MAX_QUERY_WORDS);
        let asked = words.map(|word| analyzer.stem(&word.text).into_owned());
        Self {
            asked: asked.collect(),
            analyzer,
            words: HashMap::new(),
            new: HashMap::new(),
        }
    }

    /// Takes the words of a text up.
    fn meet(&mut self, text: &str) {
        let (mut scanner, mut word) = (Scanner::new(text), String::new());
        while scanner.next_into(&mut word).is_some() {
            if !self.words.contains_key(&word) {
                let is_asked = self.asked.contains(self.analyzer.stem(&word).as_ref());
                self.words
                    .insert(word.clone(), is_asked.then_some(OTHER_WORD));
            }
            word.clear();
        }
    }

    /// Numbers the words that the query asks for: as the store has them, others above its own.
    fn number(&mut self, store: &impl DocumentStore) -> Result<(), StoreError> {
        let asked = self.words.iter().filter(|(_, number)| number.is_some());
        let mut words: Vec<String> = asked.map(|(word, _)| word.clone()).collect();
        words.sort_unstable();
        let question: Vec<&str> = words.iter().map(String::as_str).collect();
        let question = Question {
            words: &question,
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = store.look_up(&question, &mut buffer)?;
        let mut next = answer.totals.next_word;
        for (word, number) in words.into_iter().zip(answer.words) {
            let number = number.unwrap_or_else(|| {
                let number = u32::try_from(next).unwrap_or(OTHER_WORD - 1);
                next += 1;
                let stem = self.analyzer.stem(&word).into_owned();
                self.new
                    .entry(stem)
                    .or_default()
                    .push((word.clone(), number));
                number
            });
            self.words.insert(word, Some(number));
        }
        Ok(())
    }

    /// A text as numbers of words.
    fn numbers(&self, text: &str) -> Vec<u32> {
        let (mut scanner, mut word) = (Scanner::new(text), String::new());
        let mut numbers = Vec::new();
        while scanner.next_into(&mut word).is_some() {
            numbers.push(
                self.words
                    .get(&word)
                    .copied()
                    .flatten()
                    .unwrap_or(OTHER_WORD),
            );
            word.clear();
        }
        numbers
    }

    /// The number of a word that the store does not have.
    fn new_number(&self, word: &str) -> Option<u32> {
        let words = self.new.get(self.analyzer.stem(word).as_ref())?;
        let (_, number) = words.iter().find(|(known, _)| known == word)?;
        Some(*number)
    }

    fn new_words_of(&self, stem: &str) -> impl Iterator<Item = u32> {
        let words = self.new.get(stem).into_iter().flatten();
        words.map(|(_, number)| *number)
    }
}
