//! The store at one generation, as re-ranking, writing and checks ask it.

use crate::ClusterError;
use crate::cluster::{InFlight, Request};
use crate::keys::{self, Bucket, Namespace};
use crate::meta::Meta;
use crate::store::Shared;
use becr_store::row::{HEADER, Seen, see};
use becr_store::{
    Answer, DocumentFrequency, DocumentStore, FetchBuffer, FoundRecord, GroupRecord, Header,
    Question, Stem, StoreContents, StoreError, Table, Text, VisitRecords, VisitRows,
};
use becr_text::groups::TokenGroup;
use redis::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use twox_hash::XxHash3_64;

/// Records that are asked for and handed out together. The next ones are on their way meanwhile.
const CHUNK: usize = 32;
/// Rows of a table that are read together.
const ROWS: usize = 512;

/// The store as it was when the snapshot was taken.
pub struct Snapshot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) meta: Meta,
    pub(crate) names: Namespace,
    taken: Instant,
}

/// A row that is asked for.
pub(crate) type Row<'k> = (Table, Cow<'k, [u8]>);

/// A row that was found, with its header.
pub(crate) struct FoundRow(Vec<u8>);

impl FoundRow {
    pub(crate) fn value(&self) -> &[u8] {
        &self.0[HEADER..]
    }
}

/// Rows that are on their way.
struct Awaited {
    requests: Vec<Request>,
    /// Of each request the places of its rows.
    places: Vec<Vec<usize>>,
    flight: InFlight,
}

/// What came of a row.
enum Found {
    Row(FoundRow),
    /// It was deleted, or is yet to come.
    Nothing,
    /// The cluster has no such key.
    NoKey,
}

impl Snapshot {
    pub(crate) fn new(shared: Arc<Shared>, meta: Meta) -> Self {
        Self {
            names: meta.namespace(&shared.address.name),
            shared,
            meta,
            taken: Instant::now(),
        }
    }

    /// How many times the contents were written anew before.
    pub fn edition(&self) -> u64 {
        self.meta.edition
    }

    /// The files that came with this edition: names and contents, checked.
    pub fn files(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let read = |(name, length, sum): &(String, u64, u64)| {
            let request = Request {
                slot: self.names.file_slot(),
                bytes: redis::cmd("GET")
                    .arg(self.names.file(name))
                    .get_packed_command(),
            };
            match self.shared.cluster.one(request)? {
                Value::BulkString(bytes)
                    if bytes.len() as u64 == *length && XxHash3_64::oneshot(&bytes) == *sum =>
                {
                    Ok((name.clone(), bytes))
                }
                _ => Err(ClusterError::Gone),
            }
        };
        let files = self.meta.files.iter().map(read);
        let files = files.collect::<Result<_, ClusterError>>();
        files.map_err(|error| self.shared.error(error))
    }

    fn number_row(table: Table, number: u64) -> Row<'static> {
        (table, Cow::Owned(number.to_be_bytes().to_vec()))
    }

    fn text_row(table: Table, text: &str) -> Row<'_> {
        (table, becr_store::keys::of_text(text))
    }

    /// Asks for rows: one command for each bucket, which also reads its mark.
    fn start<'r>(
        &self,
        rows: impl Iterator<Item = (usize, &'r Row<'r>)>,
        key: impl Fn(usize, Bucket, &Row<'_>) -> Vec<u8>,
    ) -> Awaited {
        let mut buckets: BTreeMap<Bucket, (Vec<usize>, redis::Cmd)> = BTreeMap::new();
        for (place, row) in rows {
            let bucket = self.names.bucket(row.0, &row.1);
            let (places, command) = buckets.entry(bucket).or_insert_with(|| {
                let mut command = redis::cmd("MGET");
                command.arg(self.names.mark(bucket));
                (Vec::new(), command)
            });
            places.push(place);
            command.arg(key(place, bucket, row));
        }
        let (mut requests, mut places) = (Vec::new(), Vec::new());
        for (bucket, (rows, command)) in buckets {
            requests.push(Request {
                slot: self.names.slot(bucket),
                bytes: command.get_packed_command(),
            });
            places.push(rows);
        }
        Awaited {
            flight: self.shared.cluster.start(&requests),
            requests,
            places,
        }
    }

    fn start_rows(&self, rows: &[Row<'_>]) -> Awaited {
        let key = |_, bucket, row: &Row<'_>| self.names.row(bucket, row.0, &row.1);
        self.start(rows.iter().enumerate(), key)
    }

    /// Takes the rows that come, as this generation sees them.
    fn finish(&self, awaited: Awaited, rows: &[Row<'_>]) -> Result<Vec<Found>, ClusterError> {
        let mut found: Vec<Found> = rows.iter().map(|_| Found::NoKey).collect();
        let mut older = self.take(awaited, rows, &mut found)?;
        while !older.is_empty() {
            let since: BTreeMap<usize, u64> = older.into_iter().collect();
            let key =
                |place, bucket, row: &Row<'_>| self.names.old(bucket, since[&place], row.0, &row.1);
            let awaited = self.start(since.keys().map(|&place| (place, &rows[place])), key);
            since.keys().for_each(|&place| found[place] = Found::NoKey);
            older = self.take(awaited, rows, &mut found)?;
            let is_there = |place: &usize| {
                !matches!(found[*place], Found::NoKey) || older.iter().any(|(at, _)| at == place)
            };
            if !since.keys().all(is_there) {
                return Err(ClusterError::Gone);
            }
        }
        Ok(found)
    }

    /// Takes answers; returns the places of rows that are to be looked up as they were, and since when.
    fn take(
        &self,
        awaited: Awaited,
        rows: &[Row<'_>],
        found: &mut [Found],
    ) -> Result<Vec<(usize, u64)>, ClusterError> {
        let values = self
            .shared
            .cluster
            .finish(awaited.flight, &awaited.requests)?;
        let mut older = Vec::new();
        for (value, places) in values.into_iter().zip(awaited.places) {
            let Value::Array(values) = value else {
                return Err(ClusterError::Reply("MGET"));
            };
            let mut values = values.into_iter();
            if !matches!(values.next(), Some(Value::BulkString(_))) {
                return Err(ClusterError::Gone);
            }
            for (place, value) in places.into_iter().zip(values) {
                let Value::BulkString(bytes) = value else {
                    continue;
                };
                let (table, key) = &rows[place];
                let bucket = self.names.bucket(*table, key);
                let of_row = self.names.row(bucket, *table, key);
                found[place] = match see(&bytes, &of_row, *table, self.meta.generation) {
                    Some(Seen::Value(_)) => Found::Row(FoundRow(bytes)),
                    Some(Seen::Nothing) => Found::Nothing,
                    Some(Seen::Older(since)) => {
                        older.push((place, since));
                        Found::Nothing
                    }
                    None => return Err(ClusterError::Row(named(&rows[place]))),
                };
            }
        }
        Ok(older)
    }

    /// Rows as this generation sees them, in the order in which they were asked for. One round trip, and another for
    /// those that were changed since.
    pub(crate) fn rows_of(&self, rows: &[Row<'_>]) -> Result<Vec<Option<FoundRow>>, ClusterError> {
        self.check_age()?;
        let found = self.finish(self.start_rows(rows), rows)?;
        let found = found.into_iter().map(|found| match found {
            Found::Row(row) => Some(row),
            Found::Nothing | Found::NoKey => None,
        });
        Ok(found.collect())
    }

    /// What later generations replace is kept for a while only.
    pub(crate) fn check_age(&self) -> Result<(), ClusterError> {
        let (age, limit) = (
            self.taken.elapsed(),
            self.shared.cluster.options().retention / 2,
        );
        match age > limit {
            true => Err(ClusterError::Aged { age, limit }),
            false => Ok(()),
        }
    }

    fn ask(&self, rows: &[Row<'_>]) -> Result<Vec<Option<FoundRow>>, StoreError> {
        self.rows_of(rows).map_err(|error| self.shared.error(error))
    }

    fn unreadable(&self, row: &Row<'_>) -> StoreError {
        self.shared.damaged(named(row), "it cannot be read")
    }

    fn strings(&self, rows: &[Row<'_>]) -> Result<Vec<Option<String>>, StoreError> {
        let found = self.ask(rows)?;
        let read = |(row, found): (&Row<'_>, Option<FoundRow>)| {
            let Some(found) = found else { return Ok(None) };
            let read = String::from_utf8(found.value().to_vec()).map(Some);
            read.map_err(|_| self.unreadable(row))
        };
        rows.iter().zip(found).map(read).collect()
    }

    /// The keys of a table's rows, in their order: what any generation has.
    fn keys_of(&self, table: Table) -> Result<Vec<Vec<u8>>, ClusterError> {
        let mut keys = Vec::new();
        for key in crate::store::scan_keys(&self.shared, &self.names.pattern(table))? {
            keys.extend(self.names.of_row(table, &key).map(<[u8]>::to_vec));
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Reads rows in the order of their keys until it is told to stop; returns how many there are.
    fn visit_rows<'k>(
        &self,
        keys: impl Iterator<Item = Row<'k>>,
        visit: &mut VisitRows<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let (mut keys, mut seen) = (keys.peekable(), 0);
        while keys.peek().is_some() {
            let rows: Vec<Row<'_>> = keys.by_ref().take(ROWS).collect();
            for (row, found) in rows.iter().zip(self.ask(&rows)?) {
                let Some(found) = found else { continue };
                seen += 1;
                if visit(&row.1, found.value()).is_break() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(seen))
    }
}

/// A row, for people.
fn named((table, key): &Row<'_>) -> String {
    let key = match keys::is_numbered(*table) {
        true => keys::number(key).to_string(),
        false => String::from_utf8_lossy(key).into_owned(),
    };
    format!("the row {key} of {table:?}")
}

/// How the answer to a question is put together.
struct Parts<'q> {
    rows: Vec<Row<'q>>,
    /// Pieces of words, in the order of their rows at the end.
    pieces: Vec<TokenGroup>,
}

impl<'q> Parts<'q> {
    fn of(
        question: &Question<'q>,
        pieces: &'q [TokenGroup],
        group_keys: &'q [Cow<'q, str>],
    ) -> Self {
        let text = |table| move |text: &&'q str| Snapshot::text_row(table, text);
        let mut rows: Vec<Row<'q>> = question.ids.iter().map(text(Table::Numbers)).collect();
        rows.extend(question.words.iter().map(text(Table::Words)));
        rows.extend(question.stems.iter().map(text(Table::Stems)));
        let (pairs, groups) = group_keys.split_at(question.pairs.len());
        rows.extend(
            pairs
                .iter()
                .map(|key| Snapshot::text_row(Table::Pairs, key)),
        );
        rows.extend(
            groups
                .iter()
                .map(|key| Snapshot::text_row(Table::Groups, key)),
        );
        Self {
            rows,
            pieces: pieces.to_vec(),
        }
    }
}

impl DocumentStore for Snapshot {
    fn header(&self) -> &Header {
        &self.meta.header
    }

    fn path(&self) -> &Path {
        &self.shared.path
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        // Pieces are asked for before it is known which words are missing: that saves a round trip.
        let mut pieces = Vec::new();
        if let Some(split) = question.pieces {
            for group in question.groups {
                if let TokenGroup::Unigram(word) = group {
                    pieces.extend(split(word).into_iter().map(TokenGroup::Unigram));
                }
            }
        }
        let groups = question.pairs.iter().chain(question.groups).chain(&pieces);
        let group_keys: Vec<Cow<'_, str>> = groups.map(TokenGroup::key).collect();
        let Parts { rows, pieces } = Parts::of(question, &pieces, &group_keys);
        let found = self.ask(&rows)?;
        let mut rows = rows.iter().zip(&found);
        let mut next = |count: usize| rows.by_ref().take(count).collect::<Vec<_>>();
        let number = |(row, found): (&Row<'_>, &Option<FoundRow>)| match found {
            None => Ok(None),
            Some(found) => match found.value().first_chunk() {
                Some(number) => Ok(Some(u64::from_be_bytes(*number))),
                None => Err(self.unreadable(row)),
            },
        };
        let numbers = next(question.ids.len())
            .into_iter()
            .map(number)
            .collect::<Result<_, _>>()?;
        let words = next(question.words.len()).into_iter().map(|row| {
            let number = number(row)?;
            Ok::<_, StoreError>(number.map(|number| number as u32))
        });
        let words = words.collect::<Result<_, _>>()?;
        let stems = next(question.stems.len())
            .into_iter()
            .map(|(row, found)| match found {
                None => Ok(Stem::default()),
                Some(found) => Stem::read(found.value()).ok_or_else(|| self.unreadable(row)),
            });
        let stems = stems.collect::<Result<_, _>>()?;
        let pairs = next(question.pairs.len())
            .into_iter()
            .map(|(row, found)| match found {
                None => Ok(None),
                Some(found) => {
                    let read = DocumentFrequency::read(found.value()).map(Some);
                    read.ok_or_else(|| self.unreadable(row))
                }
            });
        let pairs = pairs.collect::<Result<_, _>>()?;
        buffer.clear();
        rows.for_each(|(_, found)| buffer.push(found.as_ref().map(FoundRow::value)));
        let mut values = buffer.values();
        let mut group = |group: &TokenGroup| match values.next().flatten() {
            None => Ok(None),
            Some(bytes) => {
                let slots = GroupRecord::slots(group);
                let record = GroupRecord::decode(bytes, slots, self.meta.header.shape);
                let what = || format!("the token group \"{group}\"");
                record
                    .map(Some)
                    .map_err(|reason| self.shared.damaged(what(), reason))
            }
        };
        let groups = question
            .groups
            .iter()
            .map(&mut group)
            .collect::<Result<_, _>>()?;
        let mut known = Vec::new();
        for piece in pieces {
            if let Some(record) = group(&piece)? {
                known.push((piece, record));
            }
        }
        Ok(Answer {
            totals: self.meta.totals,
            feature_names: self.meta.feature_names.clone(),
            numbers,
            words,
            stems,
            pairs,
            groups,
            pieces: known,
        })
    }

    fn fetch(
        &self,
        numbers: &[u64],
        _: &mut FetchBuffer,
        visit: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        let error = |error| self.shared.error(error);
        self.check_age().map_err(error)?;
        let rows: Vec<Row<'_>> = numbers
            .iter()
            .map(|&n| Self::number_row(Table::Records, n))
            .collect();
        let mut chunks = rows.chunks(CHUNK);
        let mut awaited = chunks.next().map(|chunk| (chunk, self.start_rows(chunk)));
        let mut first = 0;
        while let Some((chunk, flight)) = awaited.take() {
            awaited = chunks.next().map(|chunk| (chunk, self.start_rows(chunk)));
            let found = self.finish(flight, chunk).map_err(error)?;
            let mut records = Vec::with_capacity(found.len());
            for (found, &number) in found.iter().zip(&numbers[first..]) {
                records.push(match found {
                    Found::Row(row) => {
                        Some(FoundRecord::new(number, row.value(), &self.shared.path))
                    }
                    Found::Nothing => None,
                    // A number that was given away has a key, also where the document was deleted.
                    Found::NoKey if number < self.meta.totals.next_document => {
                        return Err(error(ClusterError::Gone));
                    }
                    Found::NoKey => None,
                });
            }
            if visit(first, &records).is_break() {
                return Ok(());
            }
            first += chunk.len();
        }
        Ok(())
    }

    fn can_score(&self) -> bool {
        self.shared.module.is_worth_a_try()
    }

    fn score(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, StoreError> {
        self.score_there(query, documents)
            .map_err(|error| self.shared.error(error))
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        let rows: Vec<Row<'_>> = numbers
            .iter()
            .map(|&n| Self::number_row(Table::Texts, n))
            .collect();
        let found = self.ask(&rows)?;
        let read = |(row, found): (&Row<'_>, Option<FoundRow>)| match found {
            None => Ok(None),
            Some(found) => match Text::decode(found.value()) {
                Some(text) => Ok(Some(text)),
                None => Err(self.unreadable(row)),
            },
        };
        rows.iter().zip(found).map(read).collect()
    }
}

impl StoreContents for Snapshot {
    fn generation(&self) -> Result<u64, StoreError> {
        Ok(self.meta.generation)
    }

    fn companion(&self) -> Result<Option<&[u8]>, StoreError> {
        Ok(self.meta.companion.as_deref())
    }

    fn ids(&self, numbers: &[u64]) -> Result<Vec<Option<String>>, StoreError> {
        let rows: Vec<Row<'_>> = numbers
            .iter()
            .map(|&n| Self::number_row(Table::Ids, n))
            .collect();
        self.strings(&rows)
    }

    fn spellings(&self, words: &[u32]) -> Result<Vec<Option<String>>, StoreError> {
        let row = |&word: &u32| Self::number_row(Table::Spellings, word.into());
        let rows: Vec<Row<'_>> = words.iter().map(row).collect();
        self.strings(&rows)
    }

    fn rows(&self, table: Table) -> Result<u64, StoreError> {
        Ok(self.meta.rows[keys::place(table)])
    }

    /// Reads numbered tables by number, others after looking for their keys on every node; an error if not all rows were
    /// found that there must be.
    fn scan(&self, table: Table, visit: &mut VisitRows<'_>) -> Result<(), StoreError> {
        let seen = match keys::is_numbered(table) {
            true => {
                let next = match table {
                    Table::Spellings => self.meta.totals.next_word,
                    _ => self.meta.totals.next_document,
                };
                self.visit_rows((0..next).map(|n| Self::number_row(table, n)), visit)?
            }
            false => {
                let keys = self
                    .keys_of(table)
                    .map_err(|error| self.shared.error(error))?;
                let rows = keys.iter().map(|key| (table, Cow::Borrowed(&key[..])));
                self.visit_rows(rows, visit)?
            }
        };
        let expected = self.meta.rows[keys::place(table)];
        match seen.is_none_or(|seen| seen == expected) {
            true => Ok(()),
            false => Err(self.shared.damaged(
                format!("the table {table:?}"),
                &format!(
                    "it has {} rows and should have {expected}",
                    seen.unwrap_or_default()
                ),
            )),
        }
    }
}
