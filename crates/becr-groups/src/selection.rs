//! From counts to the list of groups that an index will have.
//!
//! Counts, query log and vocabulary are three sorted streams that are read side by side. Without a
//! budget one pass decides. With one, a first pass adds up the bytes of equally useful groups, which
//! gives the usefulness at which the budget is spent; the second writes. Nothing is ever sorted, and
//! memory depends on how many different frequencies there are, not on how many groups.

use crate::Error;
use crate::file::{CountFile, Entries, Entry, is_pair};
use crate::list::{GroupList, Writer};
use crate::report::SelectionReport;
use crate::usefulness::{RecordBytes, Usefulness};
use crate::vocabulary::Vocabulary;
use std::collections::BTreeMap;
use std::path::Path;

/// Which groups to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Rules {
    /// Words in fewer documents are left out.
    pub min_word_documents: u64,
    /// Pairs in fewer documents are left out.
    pub min_pair_documents: u64,
    /// What these two count.
    #[serde(skip_serializing_if = "Frequency::is_default")]
    pub by: Frequency,
    /// The words of a pair are at most this far apart; unless given, as far as the model's window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_distance: Option<u32>,
    /// Leave out words that are no single WordPiece, and pairs with such a word.
    pub vocabulary_words_only: bool,
    /// The most that all records together may take, in bytes.
    pub budget: Option<u64>,
    /// What a record takes.
    pub record_bytes: RecordBytes,
}

impl Default for Rules {
    /// The paper's choice: what is met more than once, at 5 layers of 256 bits.
    fn default() -> Self {
        Self {
            min_word_documents: 2,
            min_pair_documents: 2,
            by: Frequency::default(),
            pair_distance: None,
            vocabulary_words_only: false,
            budget: None,
            record_bytes: RecordBytes::new(5 * 256 / 8, 0),
        }
    }
}

impl Rules {
    /// Every word and no pair: enough for a mixer, which finds out itself what words mean beside each other, and for models
    /// that read most queries with the encoder.
    pub fn words() -> Self {
        Self {
            min_word_documents: 1,
            min_pair_documents: u64::MAX,
            ..Self::default()
        }
    }

    /// Whether pairs can be among the groups; if not, they need not be counted.
    pub fn keep_pairs(&self) -> bool {
        self.min_pair_documents < u64::MAX
    }
}

/// How often a group is met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Frequency {
    /// In how many documents.
    #[default]
    Documents,
    /// How many times in all: the paper's collection frequency.
    Occurrences,
}

impl Frequency {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the groups are chosen from.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The counts of the corpus.
    pub counts: &'a CountFile,
    /// The counts of a query log, a query a document. Its groups are kept whatever their frequency in
    /// the corpus, as long as the budget allows.
    pub log: Option<&'a CountFile>,
    /// The WordPieces; they are always kept.
    pub vocabulary: &'a Vocabulary,
}

impl Sources<'_> {
    /// Chooses by `rules` and writes the list to `out`.
    pub fn select(&self, rules: &Rules, out: &Path) -> Result<(GroupList, SelectionReport), Error> {
        let totals = self.counts.totals();
        let mut writer = Writer::create(out, self.counts.window(), totals.documents)?;
        let mut report = SelectionReport::new(self.counts, self.vocabulary, rules);
        let mut cutoff = self.cutoff(rules)?;
        let mut candidates = Candidates::open(self)?;
        while candidates.advance()? {
            let candidate = &candidates.current;
            let verdict = match self.verdict(candidate, rules) {
                Verdict::Good if !cutoff.admits(candidate, rules) => Verdict::OverBudget,
                verdict => verdict,
            };
            if !matches!(verdict, Verdict::Piece | Verdict::Good) {
                report.cut.add(verdict, &candidate.key);
                continue;
            }
            let from_log = !candidate.piece && self.by_corpus(candidate, rules) != Verdict::Good;
            report.keep(candidate, from_log);
            writer.write(&candidate.key, candidate.documents)?;
        }
        Ok((writer.finish()?, report))
    }

    fn verdict(&self, candidate: &Candidate, rules: &Rules) -> Verdict {
        if candidate.piece {
            return Verdict::Piece;
        }
        if candidate.asked > 0 {
            return Verdict::Good;
        }
        self.by_corpus(candidate, rules)
    }

    /// What the rules say without the log.
    fn by_corpus(&self, candidate: &Candidate, rules: &Rules) -> Verdict {
        let enough = match is_pair(&candidate.key) {
            true => rules.min_pair_documents,
            false => rules.min_word_documents,
        };
        let met = match rules.by {
            Frequency::Documents => candidate.documents,
            Frequency::Occurrences => candidate.occurrences,
        };
        if met < enough {
            return Verdict::Rare;
        }
        let known = |word| self.vocabulary.has_word(word);
        if rules.vocabulary_words_only && !candidate.key.split(' ').all(known) {
            return Verdict::OutsideVocabulary;
        }
        Verdict::Good
    }

    /// How useful a group must be for all that are kept to fit the budget.
    fn cutoff(&self, rules: &Rules) -> Result<Cutoff, Error> {
        let Some(budget) = rules.budget else {
            return Ok(Cutoff::default());
        };
        let pieces = self.vocabulary.pieces().len() as u64;
        let needed = pieces * rules.record_bytes.unigram;
        let Some(mut room) = budget.checked_sub(needed) else {
            return Err(Error::Budget {
                budget,
                pieces,
                needed,
            });
        };
        let mut bytes: BTreeMap<Usefulness, u64> = BTreeMap::new();
        let mut candidates = Candidates::open(self)?;
        while candidates.advance()? {
            let candidate = &candidates.current;
            if matches!(self.verdict(candidate, rules), Verdict::Good) {
                *bytes.entry(candidate.usefulness(rules)).or_default() +=
                    rules.record_bytes.of(&candidate.key);
            }
        }
        for (&usefulness, &bytes) in bytes.iter().rev() {
            match room.checked_sub(bytes) {
                Some(rest) => room = rest,
                None => {
                    return Ok(Cutoff {
                        least: Some(usefulness),
                        room,
                    });
                }
            }
        }
        Ok(Cutoff::default())
    }
}

/// What the rules say of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Piece,
    Good,
    Rare,
    OutsideVocabulary,
    OverBudget,
}

/// Where the budget is spent. Among groups exactly as useful as that, the first keys get in.
#[derive(Debug, Default)]
struct Cutoff {
    least: Option<Usefulness>,
    room: u64,
}

impl Cutoff {
    fn admits(&mut self, candidate: &Candidate, rules: &Rules) -> bool {
        let Some(least) = self.least else {
            return true;
        };
        let usefulness = candidate.usefulness(rules);
        if usefulness != least {
            return usefulness > least;
        }
        match self.room.checked_sub(rules.record_bytes.of(&candidate.key)) {
            Some(rest) => self.room = rest,
            None => return false,
        }
        true
    }
}

/// A group, with what each of the sources knows of it.
#[derive(Debug, Default)]
pub(crate) struct Candidate {
    pub(crate) key: String,
    /// Documents of the corpus.
    pub(crate) documents: u64,
    /// Times it is met in them.
    pub(crate) occurrences: u64,
    /// Queries of the log.
    pub(crate) asked: u64,
    /// It is in the vocabulary.
    pub(crate) piece: bool,
}

impl Candidate {
    fn usefulness(&self, rules: &Rules) -> Usefulness {
        Usefulness::new(&self.key, self.documents, self.asked, &rules.record_bytes)
    }
}

/// Three sorted streams as one.
struct Candidates<'a> {
    counts: Stream,
    log: Option<Stream>,
    pieces: std::iter::Peekable<std::slice::Iter<'a, String>>,
    current: Candidate,
}

impl<'a> Candidates<'a> {
    fn open(sources: &Sources<'a>) -> Result<Self, Error> {
        if let Some(log) = sources
            .log
            .filter(|log| log.window() != sources.counts.window())
        {
            return Err(Error::Window {
                path: log.path().to_owned(),
                expected: sources.counts.window(),
                found: log.window(),
            });
        }
        Ok(Self {
            counts: Stream::open(sources.counts)?,
            log: sources.log.map(Stream::open).transpose()?,
            pieces: sources.vocabulary.pieces().iter().peekable(),
            current: Candidate::default(),
        })
    }

    /// Moves to the next group; `false` after the last.
    fn advance(&mut self) -> Result<bool, Error> {
        let heads = [
            self.counts.key(),
            self.log.as_ref().and_then(Stream::key),
            self.pieces.peek().map(|piece| piece.as_str()),
        ];
        let Some(key) = heads.into_iter().flatten().min() else {
            return Ok(false);
        };
        self.current.key.clear();
        self.current.key.push_str(key);
        let key = &self.current.key;
        (self.current.documents, self.current.occurrences) = self.counts.take(key)?;
        self.current.asked = match &mut self.log {
            Some(log) => log.take(key)?.0,
            None => 0,
        };
        self.current.piece = self.pieces.next_if(|piece| *piece == key).is_some();
        Ok(true)
    }
}

/// A count file and its next entry.
struct Stream {
    entries: Entries,
    head: Entry,
    ended: bool,
}

impl Stream {
    fn open(file: &CountFile) -> Result<Self, Error> {
        let mut entries = file.entries()?;
        let mut head = Entry::default();
        let ended = !entries.read(&mut head)?;
        Ok(Self {
            entries,
            head,
            ended,
        })
    }

    fn key(&self) -> Option<&str> {
        (!self.ended).then_some(self.head.key.as_str())
    }

    /// The documents of `key` and how often it is met in them, if it is next; moves on then.
    fn take(&mut self, key: &str) -> Result<(u64, u64), Error> {
        if self.key() != Some(key) {
            return Ok((0, 0));
        }
        let met = (self.head.documents, self.head.occurrences);
        self.ended = !self.entries.read(&mut self.head)?;
        Ok(met)
    }
}
