//! Word vectors: files of GloVe and word2vec, and the words that a baseline knows.

use crate::TrainError;
use becr_text::words::words;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Words with their vectors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WordTable {
    /// The words, as `becr_text` writes them.
    pub words: Vec<String>,
    /// Length of a vector.
    pub dimensions: usize,
    /// `[word][dimension]`.
    pub vectors: Vec<f32>,
}

/// The longest word that is believed: a longer one means that the file is of another format.
const LONGEST_WORD: usize = 4096;

/// The longest vector that is believed.
const MOST_DIMENSIONS: usize = 65_536;

impl WordTable {
    /// Reads a file in GloVe's format (a word and its numbers a line), or in word2vec's (the same after a line with the
    /// numbers of words and dimensions, as text or as binary floats).
    ///
    /// Words are written as `becr_text` does, in lower case and without accents; the first of those that become the same
    /// counts, and what is no single word is left out. At most `most` words are taken, the first ones.
    pub fn read(path: &Path, most: usize) -> Result<Self, TrainError> {
        let file = File::open(path).map_err(TrainError::io(path))?;
        let mut reading = Reading {
            path,
            input: BufReader::with_capacity(1 << 20, file),
            line: 0,
        };
        let first = reading.text_line()?;
        let table = match first.as_deref().map(header) {
            None => return Err(reading.fault("the file is empty")),
            Some(Some((_, dimensions))) if dimensions > MOST_DIMENSIONS => {
                return Err(reading.fault(&format!("{dimensions} dimensions are not believed")));
            }
            Some(Some((count, dimensions))) => match reading.is_text(dimensions)? {
                true => reading.text(None, Some((count, dimensions)), most)?,
                false => reading.binary(count, dimensions, most)?,
            },
            Some(None) => reading.text(first, None, most)?,
        };
        match table.words.is_empty() {
            true => Err(reading.fault("no line has a word that could stand in a text")),
            false => Ok(table),
        }
    }

    /// Adds a word, unless it is there already or no word.
    fn add(&mut self, known: &mut HashMap<String, ()>, word: &str, vector: &[f32]) {
        let mut found = words(word).map(|word| word.text);
        let (Some(word), None) = (found.next(), found.next()) else {
            return;
        };
        if known.insert(word.clone(), ()).is_none() {
            self.words.push(word);
            self.vectors.extend_from_slice(vector);
        }
    }
}

/// The numbers of words and dimensions of word2vec's first line.
fn header(line: &str) -> Option<(usize, usize)> {
    let mut numbers = line.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(count)), Some(Ok(dimensions)), None) if dimensions > 0 => {
            Some((count, dimensions))
        }
        _ => None,
    }
}

struct Reading<'a> {
    path: &'a Path,
    input: BufReader<File>,
    /// Lines or words read so far.
    line: usize,
}

impl Reading<'_> {
    fn fault(&self, problem: &str) -> TrainError {
        TrainError::Vectors {
            path: self.path.to_owned(),
            line: self.line,
            problem: problem.to_owned(),
        }
    }

    /// The next line; `None` at the end. What is not UTF-8 becomes �: such words meet no text.
    fn text_line(&mut self) -> Result<Option<String>, TrainError> {
        let mut bytes = Vec::new();
        let read = self.input.read_until(b'\n', &mut bytes);
        if read.map_err(TrainError::io(self.path))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
    }

    /// Whether what follows word2vec's first line is a line of numbers.
    fn is_text(&mut self, dimensions: usize) -> Result<bool, TrainError> {
        let ahead = self.input.fill_buf().map_err(TrainError::io(self.path))?;
        let line = ahead.split(|&byte| byte == b'\n').next().unwrap_or(&[]);
        let line = String::from_utf8_lossy(line);
        // A word's numbers may be cut where the buffer ends, so the first few decide.
        let mut numbers = line.split_whitespace().skip(1).take(dimensions.min(8));
        Ok(numbers.clone().count() > 0 && numbers.all(|n| n.parse::<f32>().is_ok()))
    }

    fn text(
        &mut self,
        first: Option<String>,
        header: Option<(usize, usize)>,
        most: usize,
    ) -> Result<WordTable, TrainError> {
        let mut table = WordTable {
            dimensions: header.map_or(0, |(_, dimensions)| dimensions),
            ..WordTable::default()
        };
        let mut known = HashMap::new();
        let mut next = first;
        let mut vector = Vec::new();
        while table.words.len() < most {
            let line = match next.take() {
                Some(line) => line,
                None => match self.text_line()? {
                    Some(line) => line,
                    None => break,
                },
            };
            if line.trim().is_empty() {
                continue;
            }
            // A word of GloVe may hold blanks: numbers are counted from the end.
            let cells: Vec<&str> = line.split(' ').filter(|cell| !cell.is_empty()).collect();
            if table.dimensions == 0 {
                table.dimensions = cells.len() - 1;
                if table.dimensions == 0 || table.dimensions > MOST_DIMENSIONS {
                    return Err(self.fault("expected a word and its numbers, between blanks"));
                }
            }
            if cells.len() <= table.dimensions {
                let expected = format!(
                    "expected a word and {} numbers, found {}",
                    table.dimensions,
                    cells.len().saturating_sub(1)
                );
                return Err(self.fault(&expected));
            }
            let (word, numbers) = cells.split_at(cells.len() - table.dimensions);
            vector.clear();
            for number in numbers {
                match number.parse::<f32>() {
                    Ok(value) if value.is_finite() => vector.push(value),
                    _ => return Err(self.fault(&format!("{number:?} is not a finite number"))),
                }
            }
            table.add(&mut known, &word.join(" "), &vector);
        }
        Ok(table)
    }

    fn binary(
        &mut self,
        count: usize,
        dimensions: usize,
        most: usize,
    ) -> Result<WordTable, TrainError> {
        let mut table = WordTable {
            dimensions,
            ..WordTable::default()
        };
        let mut known = HashMap::new();
        let mut bytes = vec![0; 4 * dimensions];
        for _ in 0..count {
            if table.words.len() == most {
                break;
            }
            self.line += 1;
            let mut word = Vec::new();
            let limit = (LONGEST_WORD + 1) as u64;
            let read = self.input.by_ref().take(limit).read_until(b' ', &mut word);
            read.map_err(TrainError::io(self.path))?;
            if word.pop() != Some(b' ') {
                return Err(self.fault(&format!(
                    "word {} of {count} is cut off or longer than {LONGEST_WORD} bytes",
                    self.line - 1
                )));
            }
            if self.input.read_exact(&mut bytes).is_err() {
                return Err(self.fault("the file ends within a vector"));
            }
            let (numbers, _) = bytes.as_chunks::<4>();
            let vector: Vec<f32> = numbers.iter().map(|n| f32::from_le_bytes(*n)).collect();
            if vector.iter().any(|value| !value.is_finite()) {
                return Err(
                    self.fault("a number is not finite; expected little-endian 32-bit floats")
                );
            }
            // Some writers end a vector with a line break.
            let word = String::from_utf8_lossy(&word);
            table.add(&mut known, word.trim_start_matches('\n'), &vector);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors");
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn read(bytes: &[u8]) -> Result<WordTable, String> {
        let (_folder, path) = file(bytes);
        WordTable::read(&path, 100).map_err(|error| error.to_string())
    }

    /// The same two words as word2vec's binary files have them, with and without line breaks.
    fn binary(end: &[u8]) -> Vec<u8> {
        let mut bytes = b"2 3\n".to_vec();
        for (word, vector) in [("River", [1.0f32, -2.0, 0.5]), ("bank", [0.25, 4.0, -1.5])] {
            bytes.extend(word.as_bytes());
            bytes.push(b' ');
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
            bytes.extend(end);
        }
        bytes
    }

    #[test]
    fn all_formats_say_the_same() {
        let expected = WordTable {
            words: vec!["river".into(), "bank".into()],
            dimensions: 3,
            vectors: vec![1.0, -2.0, 0.5, 0.25, 4.0, -1.5],
        };
        let glove = b"River 1 -2 0.5\nbank 0.25 4 -1.5\n";
        let word2vec = b"2 3\nRiver 1 -2 0.5\nbank 0.25 4 -1.5\n";
        for bytes in [&glove[..], word2vec, &binary(b""), &binary(b"\n")] {
            assert_eq!(read(bytes).unwrap(), expected);
        }
    }

    #[test]
    fn words_are_those_of_texts() {
        let table = read("a.b 1\nNaïve 2\nnaive 3\n, 4\nst louis 5\n".as_bytes()).unwrap();
        assert_eq!(
            (table.words, table.vectors),
            (vec!["naive".into()], vec![2.0])
        );
        let (_folder, path) = file(b"a 1\nb 2\nc 3\n");
        assert_eq!(WordTable::read(&path, 2).unwrap().words, ["a", "b"]);
    }

    #[test]
    fn faults_are_named() {
        for (bytes, told) in [
            (&b""[..], "empty"),
            (b"river\n", "expected a word and its numbers"),
            (
                b"a 1 2\nb 1\n",
                ":2: expected a word and 2 numbers, found 1",
            ),
            (b"a 1 2\nb 1 x\n", ":2: \"x\" is not a finite number"),
            (b"a NaN\n", "not a finite number"),
            (b", 1\n", "no line has a word"),
            (&binary(b"")[..30], "ends within a vector"),
            (b"2 9999999\nabc", "not believed"),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_words_or_an_error(bytes: Vec<u8>, header in 0..3usize) {
            let start: &[u8] = [&b""[..], b"3 2\n", b"1 1\n"][header];
            if let Ok(table) = read(&[start, &bytes].concat()) {
                prop_assert_eq!(table.vectors.len(), table.words.len() * table.dimensions);
            }
        }
    }
}
