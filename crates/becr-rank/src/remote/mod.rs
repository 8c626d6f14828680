//! Scoring where the documents lie: what goes there, what is done there, and what comes back.
//!
//! [`Ranker::score`] asks a store whether it can ([`DocumentStore::can_score`]). Then the query goes there once, with
//! everything that scoring takes from outside the documents: the head, the footprints of its token groups, its words and what the
//! collection knows of them. A [`RemoteQuery`] is the other end: it scores a record with the very code that scores it
//! here. What comes back are the parts of each score before they are rounded, with what the head needs of a document to
//! compare the list; the list is finished here.

mod codec;

use crate::deep::DeepQuery;
use crate::lexical::{FirstStageScale, LexicalQuery, Meaning, WordMap};
use crate::list::{ListRules, Row};
use crate::query::{GroupUse, QueryTerm};
use crate::score::{Buffers, Sums, Turn};
use crate::vector::{Compared, Means};
use crate::{Candidate, MAX_QUERY_WORDS, Parts, QueryPlan, RankError, RankQuery, Ranker, Scorer};
use becr_model::Head;
use becr_store::{DocumentStore, Record, Shape};
use becr_text::pieces::WordPieces;
use codec::{Reader, Writer};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The first byte of a query: the version of what follows.
const VERSION: u8 = 2;
/// Rankers that are kept: one for each head that queries come with.
const KEPT: usize = 8;
/// The largest shape that is taken.
const MOST_LAYERS: u16 = 64;
const MOST_BITS: u16 = 4096;

/// What a query is made of that its own form does not show any more.
#[derive(Debug, Clone)]
pub(crate) struct DeepInputs {
    /// As [`DeepQuery::new`] takes them.
    pub(crate) footprints: Vec<u32>,
    pub(crate) compared: Compared,
}

/// Rankers by the bytes they were made of.
#[derive(Default)]
pub struct RankerCache(Mutex<Vec<(Vec<u8>, Arc<Ranker>)>>);

/// A query that came from elsewhere, ready to score records.
pub struct RemoteQuery {
    ranker: Arc<Ranker>,
    query: RankQuery,
    flags: Flags,
}

/// How the rows of a list are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    is_one_vector: bool,
    own_bm25: bool,
    keeps_means: bool,
}

/// What is wrong with a query, or with what came back for it.
const UNREADABLE: &str = "it cannot be read";

impl Ranker {
    /// Has the candidates scored where they lie, as far as the store can. `None`: it cannot.
    pub(crate) fn remote_rows<S>(
        &self,
        query: &RankQuery,
        store: &S,
        candidates: &[Candidate<'_>],
        rules: &ListRules<'_>,
    ) -> Result<Option<(Vec<Row>, Means)>, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        // The store may have become able since the query was made.
        let is_whole = query.deep.is_none() || query.inputs.is_some();
        if !store.can_score() || !is_whole || candidates.is_empty() {
            return Ok(None);
        }
        let flags = Flags {
            is_one_vector: query.plan.scorer == Scorer::OneVector,
            own_bm25: rules.own_bm25,
            keeps_means: rules.feedback.is_some(),
        };
        let first_stage =
            |candidate: &Candidate<'_>| rules.first_stage.value(candidate.first_stage);
        let each: Vec<(u64, Vec<u8>)> = candidates
            .iter()
            .map(|candidate| {
                (
                    candidate.number,
                    self.extras(candidate, first_stage(candidate)),
                )
            })
            .collect();
        let Some(scored) = store.score(&self.encoded(query, flags), &each)? else {
            return Ok(None);
        };
        let (mut rows, mut means) = (Vec::with_capacity(candidates.len()), Means::default());
        for (place, (candidate, bytes)) in candidates.iter().zip(scored).enumerate() {
            let Some(bytes) = bytes else { continue };
            let (row, mean) = read_row(&bytes).ok_or(RankError::Remote)?;
            if flags.keeps_means
                && let Some(deep) = &query.deep
            {
                if mean.len() != self.shape.mean_bytes() {
                    return Err(RankError::Remote);
                }
                deep.vector.keep_bytes(mean, &mut means);
            }
            rows.push(Row {
                place,
                number: candidate.number,
                first_stage: first_stage(candidate),
                ..row
            });
        }
        Ok(Some((rows, means)))
    }

    /// What one candidate alone has: the first stage's feature, and features of the caller's by their places in the head.
    fn extras(&self, candidate: &Candidate<'_>, first_stage: f32) -> Vec<u8> {
        let mut out = Writer::default();
        out.float(first_stage);
        for (place, feature) in self.head.others.features.iter().enumerate() {
            let mut given = candidate.features.iter().rev();
            let given = given.find(|(name, value)| *name == feature.name && value.is_finite());
            if let Some((_, value)) = given {
                out.number(place as u32);
                out.float(*value);
            }
        }
        out.0
    }

    /// A query as it goes to where the documents lie.
    fn encoded(&self, query: &RankQuery, flags: Flags) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(VERSION);
        let Shape {
            layers,
            bits,
            vector,
        } = self.shape;
        [layers, bits, vector]
            .iter()
            .for_each(|&number| out.number(number.into()));
        // Numbers and lists of them: there is nothing that JSON does not have.
        out.bytes(&serde_json::to_vec(&self.head).unwrap_or_default());
        let without = query.plan.without;
        for flag in [
            without.deep,
            without.lexi,
            without.others,
            flags.is_one_vector,
            flags.own_bm25,
            flags.keeps_means,
        ] {
            out.byte(flag.into());
        }
        out.list(&query.named, |out, number| out.option(*number));
        match query.deep.as_ref().and(query.inputs.as_ref()) {
            None => out.byte(0),
            Some(inputs) => {
                out.byte(1);
                write_deep(&mut out, query.terms(), inputs);
            }
        }
        write_lexical(&mut out, &query.lexical);
        out.0
    }
}

fn write_deep(out: &mut Writer, terms: &[QueryTerm], inputs: &DeepInputs) {
    out.list(terms, |out, term| {
        out.float(term.weight);
        out.list(&term.groups, |out, used| {
            out.number(used.vector as u32);
            out.float(used.weight);
        });
    });
    out.list(&inputs.footprints, |out, word| out.number(*word));
    match &inputs.compared {
        Compared::Terms => out.byte(0),
        Compared::Sum => out.byte(1),
        Compared::Vector(words) => {
            out.byte(2);
            out.list(words, |out, word| out.number(*word));
        }
    }
}

fn write_lexical(out: &mut Writer, query: &LexicalQuery) {
    let fields = |out: &mut Writer, values: &[f32; 2]| values.iter().for_each(|x| out.float(*x));
    let pair = |out: &mut Writer, pair: &(u32, u32)| {
        out.number(pair.0);
        out.number(pair.1);
    };
    out.list(&query.stems, fields);
    out.list(&query.pairs, fields);
    out.list(&query.followers, |out, followers| out.list(followers, pair));
    out.list(&query.near, pair);
    for (constant, slope) in query.norms {
        out.float(constant);
        out.float(slope);
    }
    out.number(query.window as u32);
    out.list(&query.meanings, |out, (number, meaning)| {
        out.number(*number);
        out.option(meaning.stem);
        out.option(meaning.word);
    });
}

impl RemoteQuery {
    /// Reads a query. What does not fit together is refused: nothing that was read here makes scoring fail.
    pub fn decode(bytes: &[u8], rankers: &RankerCache) -> Result<Self, &'static str> {
        let mut bytes = Reader(bytes);
        if bytes.byte() != Some(VERSION) {
            return Err("it is of another version");
        }
        let unreadable = UNREADABLE;
        let mut number = || u16::try_from(bytes.number()?).ok();
        let (Some(layers), Some(bits), Some(vector)) = (number(), number(), number()) else {
            return Err(unreadable);
        };
        let shape = Shape {
            layers,
            bits,
            vector,
        };
        if !(1..=MOST_LAYERS).contains(&layers)
            || !(32..=MOST_BITS).contains(&bits)
            || bits % 32 != 0
            || vector > MOST_BITS
        {
            return Err("its layers, bits or vectors are impossible");
        }
        let head = bytes.bytes().ok_or(unreadable)?;
        let ranker = rankers.ranker(head, shape)?;
        let mut flag = || Some(bytes.byte()? != 0);
        let mut without = Parts::default();
        let mut flags = Flags::default();
        for place in [
            &mut without.deep,
            &mut without.lexi,
            &mut without.others,
            &mut flags.is_one_vector,
            &mut flags.own_bm25,
            &mut flags.keeps_means,
        ] {
            *place = flag().ok_or(unreadable)?;
        }
        let scorer = match flags.is_one_vector {
            true => Scorer::OneVector,
            false => Scorer::Composite,
        };
        let named = bytes.list(Reader::option).ok_or(unreadable)?;
        if named.len() != ranker.head.others.features.len() {
            return Err("its named features are not those of its head");
        }
        let deep = match bytes.byte().ok_or(unreadable)? {
            0 => None,
            _ => Some(read_deep(&mut bytes, &ranker)?),
        };
        let lexical = read_lexical(&mut bytes).ok_or(unreadable)?;
        if !bytes.is_over() {
            return Err("there is more than a query");
        }
        Ok(Self {
            query: RankQuery::remote(QueryPlan::remote(scorer, without), deep, lexical, named),
            ranker,
            flags,
        })
    }

    /// Scores a record; `extras` is what only this candidate has. The result is for whoever sent the query.
    pub fn score(
        &self,
        record: &[u8],
        extras: &[u8],
        work: &mut RemoteWorkspace,
    ) -> Result<Vec<u8>, String> {
        let record = Record::decode(record)?;
        let (ranker, query) = (&*self.ranker, &self.query);
        let document = ranker
            .document(&record)
            .map_err(|error| error.to_string())?;
        let mut extras = Reader(extras);
        let first_stage = extras.float().ok_or(UNREADABLE)?;
        let mut features = Vec::new();
        while !extras.is_over() {
            let (place, value) = extras.number().zip(extras.float()).ok_or(UNREADABLE)?;
            let feature = ranker
                .head
                .others
                .features
                .get(place as usize)
                .ok_or(UNREADABLE)?;
            features.push((feature.name.clone(), value));
        }
        let candidate = Candidate {
            features: &features,
            ..Candidate::default()
        };
        let buffers = &mut work.0;
        buffers.lexical[crate::lexical::FIRST_STAGE] = first_stage;
        let turn = Turn {
            place: 0,
            record,
            document,
            next: &[],
        };
        let row = ranker.row(query, &self.rules(), &turn, &candidate, buffers);
        let row = row.map_err(|error| error.to_string())?;
        let mean = match self.flags.keeps_means {
            true => turn.record.mean(),
            false => &[],
        };
        Ok(write_row(&row, mean))
    }

    /// What of the list's rules one row depends on.
    fn rules(&self) -> ListRules<'static> {
        ListRules {
            first_stage: FirstStageScale::of(std::iter::empty()),
            is_list_wise: true,
            scale: None,
            feedback: None,
            own_bm25: self.flags.own_bm25,
        }
    }
}

/// Buffers for scoring elsewhere: keep one per thread.
#[derive(Default)]
pub struct RemoteWorkspace(Buffers);

impl RankerCache {
    fn ranker(&self, head: &[u8], shape: Shape) -> Result<Arc<Ranker>, &'static str> {
        let mut key = head.to_vec();
        for number in [shape.layers, shape.bits, shape.vector] {
            key.extend_from_slice(&number.to_le_bytes());
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ranker)) = lock().iter().find(|(known, _)| *known == key) {
            return Ok(ranker.clone());
        }
        // Not by its format: a head in memory may have keys of a later one than it names.
        let head: Head = serde_json::from_slice(head).map_err(|_| "its head cannot be read")?;
        let checked = head.check(Path::new("head of a query"));
        checked.map_err(|_| "its head has numbers that are none")?;
        // Words are split before a query is sent: no vocabulary is needed here.
        let pieces = WordPieces::from_vocab(b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "none");
        let pieces = pieces.map_err(|_| UNREADABLE)?;
        let ranker =
            Ranker::new(head, shape, pieces).map_err(|_| "its head does not fit the records")?;
        let ranker = Arc::new(ranker);
        let mut kept = lock();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((key, ranker.clone()));
        Ok(ranker)
    }
}

fn read_deep(bytes: &mut Reader<'_>, ranker: &Ranker) -> Result<DeepQuery, &'static str> {
    let term = |bytes: &mut Reader<'_>| {
        let weight = bytes.float()?;
        let groups = bytes.list(|bytes| {
            Some(GroupUse {
                group: String::new(),
                second: false,
                distance: 0,
                vector: bytes.number()? as usize,
                weight: bytes.float()?,
            })
        })?;
        Some(QueryTerm {
            position: 0,
            word: String::new(),
            weight,
            groups,
        })
    };
    let terms = bytes.list(term).ok_or(UNREADABLE)?;
    let footprints = bytes.list(Reader::number).ok_or(UNREADABLE)?;
    let compared = match bytes.byte() {
        Some(0) => Compared::Terms,
        Some(1) => Compared::Sum,
        Some(2) => Compared::Vector(bytes.list(Reader::number).ok_or(UNREADABLE)?),
        _ => return Err(UNREADABLE),
    };
    let shape = ranker.shape;
    let each = usize::from(shape.layers) * usize::from(shape.bits) / 32 + usize::from(shape.vector);
    let vectors = footprints.len() / each;
    let mut groups = terms.iter().flat_map(|term| &term.groups);
    if !(1..=MAX_QUERY_WORDS).contains(&terms.len())
        || vectors == 0
        || !footprints.len().is_multiple_of(each)
        || groups.any(|used| used.vector >= vectors)
        || terms.iter().any(|term| term.groups.is_empty())
        || matches!(&compared, Compared::Vector(words) if words.len() * 4 != shape.mean_bytes())
    {
        return Err("its terms and footprints do not fit together");
    }
    let deep = DeepQuery::new(&ranker.head.deep, shape, &terms, footprints, &compared);
    deep.map_err(|_| "the engine does not take its footprints")
}

fn read_lexical(bytes: &mut Reader<'_>) -> Option<LexicalQuery> {
    let fields = |bytes: &mut Reader<'_>| Some([bytes.float()?, bytes.float()?]);
    let pair = |bytes: &mut Reader<'_>| Some((bytes.number()?, bytes.number()?));
    let stems = bytes.list(fields)?;
    let pairs = bytes.list(fields)?;
    let followers = bytes.list(|bytes| bytes.list(pair))?;
    let near = bytes.list(pair)?;
    let norms = [
        (bytes.float()?, bytes.float()?),
        (bytes.float()?, bytes.float()?),
    ];
    let window = bytes.number()? as usize;
    let meanings = bytes.list(|bytes| {
        let number = bytes.number()?;
        let (stem, word) = (bytes.option()?, bytes.option()?);
        Some((number, Meaning { stem, word }))
    })?;
    let is_below = |place: u32, list: usize| (place as usize) < list;
    let is_sound = followers
        .iter()
        .flatten()
        .all(|(word, pair)| is_below(*word, followers.len()) && is_below(*pair, pairs.len()))
        && near
            .iter()
            .all(|(a, b)| is_below(*a, stems.len()) && is_below(*b, stems.len()))
        && meanings.iter().all(|(_, meaning)| {
            meaning.stem.is_none_or(|stem| is_below(stem, stems.len()))
                && meaning
                    .word
                    .is_none_or(|word| is_below(word, followers.len()))
        });
    if !is_sound {
        return None;
    }
    let mut near_of = vec![Vec::new(); stems.len()];
    for (pair, &(a, b)) in near.iter().enumerate() {
        near_of[a as usize].push((pair as u32, b));
        near_of[b as usize].push((pair as u32, a));
    }
    Some(LexicalQuery {
        map: WordMap::new(&meanings),
        meanings,
        stems,
        pairs,
        followers,
        near,
        near_of,
        norms,
        window,
        words: Vec::new(),
    })
}

fn write_row(row: &Row, mean: &[u8]) -> Vec<u8> {
    let mut out = Writer::default();
    let Sums { deep, lexi, others } = row.sums;
    [deep, lexi, others]
        .iter()
        .for_each(|part| out.double(*part));
    out.byte(row.vector.is_some().into());
    out.float(row.vector.unwrap_or_default());
    out.float(row.bm25);
    out.0.extend_from_slice(mean);
    out.0
}

fn read_row(bytes: &[u8]) -> Option<(Row, &[u8])> {
    let mut bytes = Reader(bytes);
    let sums = Sums {
        deep: bytes.double()?,
        lexi: bytes.double()?,
        others: bytes.double()?,
    };
    let has_vector = bytes.byte()? != 0;
    let vector = Some(bytes.float()?).filter(|_| has_vector);
    let bm25 = bytes.float()?;
    let row = Row {
        vector,
        bm25,
        ..Row::of_sums(sums)
    };
    Some((row, bytes.0))
}
