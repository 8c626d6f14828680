//! What a change must know of the store, asked for in few round trips.

use super::{Counted, Draft, Place, damaged};
use crate::{FetchBuffer, MAX_ID_BYTES, Question, StoreContents, StoreError, Words};
use std::ops::ControlFlow;

impl Draft {
    /// Asks the store what must be known of documents and words.
    pub(crate) fn ask(
        &mut self,
        store: &impl StoreContents,
        ids: &[&str],
        words: &[&str],
    ) -> Result<(), StoreError> {
        let is_new = |id: &&str| id.len() <= MAX_ID_BYTES && !self.places.contains_key(*id);
        let ids: Vec<&str> = ids.iter().copied().filter(is_new).collect();
        let is_new = |word: &&str| !self.vocabulary.has_asked(word);
        let mut words: Vec<&str> = words.iter().copied().filter(is_new).collect();
        words.sort_unstable();
        words.dedup();
        if ids.is_empty() && words.is_empty() {
            return Ok(());
        }
        let question = Question {
            ids: &ids,
            words: &words,
            ..Question::default()
        };
        let mut buffer = FetchBuffer::default();
        let answer = store.look_up(&question, &mut buffer)?;
        for (word, number) in words.iter().zip(answer.words) {
            self.vocabulary.answer(word, number);
        }
        let found: Vec<u64> = answer.numbers.iter().copied().flatten().collect();
        self.ask_for_words_of(store, &found)?;
        for (&id, number) in ids.iter().zip(answer.numbers) {
            let place = number.map_or(Place::Nowhere, Place::Stored);
            self.places.insert(id.to_owned(), place);
        }
        Ok(())
    }

    /// Reads the words of documents in the store, and how they are spelled.
    fn ask_for_words_of(
        &mut self,
        store: &impl StoreContents,
        numbers: &[u64],
    ) -> Result<(), StoreError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut fault = None;
        let mut stored = Vec::with_capacity(numbers.len());
        store.fetch(numbers, &mut FetchBuffer::default(), &mut |_, found| {
            for found in found {
                let number = numbers[stored.len()];
                let record = match found {
                    Some(found) => found.check(),
                    None => Err(damaged(
                        store,
                        format!("document {number}"),
                        "its record is missing",
                    )),
                };
                match record {
                    Ok(record) => stored.push(Counted {
                        words: record.forward().words(),
                        tokens: record.tokens() as u64,
                    }),
                    Err(error) => {
                        fault = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            ControlFlow::Continue(())
        })?;
        fault.map_or(Ok(()), Err)?;
        let words = stored.iter().flat_map(|counted| {
            let Words { title, body } = &counted.words;
            title.iter().chain(body).copied()
        });
        let mut words: Vec<u32> = words.filter(|&word| !self.vocabulary.knows(word)).collect();
        words.sort_unstable();
        words.dedup();
        if !words.is_empty() {
            let spellings = store.spellings(&words)?;
            for (&word, spelling) in words.iter().zip(spellings) {
                let missing = || damaged(store, format!("word {word}"), "its spelling is missing");
                self.vocabulary
                    .spelled(word, &spelling.ok_or_else(missing)?);
            }
        }
        self.stored.extend(numbers.iter().copied().zip(stored));
        Ok(())
    }
}
