//! Ranking texts that are in no index, beside documents that are.

use crate::opened::lock;
use crate::overlay::{Beside, Overlay};
use crate::rerank::{Candidate, RerankAnswer};
use crate::{Error, RankOptions, View};
use becr_index::Document;
use becr_index::full::{DocumentEncoder, Footprints};
use becr_store::DocumentStore;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A document to rank: one of the index, or a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TextCandidate<'a> {
    /// Its id, if it may be in the index. The index's document is ranked if there is one.
    pub id: Option<&'a str>,
    /// A title for the text.
    pub title: &'a str,
    /// What is ranked if the index does not have the id.
    pub text: Option<&'a str>,
    /// The score of the first stage, if it has one.
    pub score: Option<f32>,
    /// What the caller knows of this query and document.
    pub features: &'a [(String, f32)],
}

/// Where a candidate's footprints came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RankedFrom {
    /// The index has the document.
    Index,
    /// Its text was encoded for this query.
    Encoded,
    /// Its text had been encoded before.
    Cached,
    /// The index does not have the id, and there was no text: it comes last.
    Unknown,
}

/// A ranked list of documents and texts.
#[derive(Debug, Clone)]
pub struct TextAnswer {
    /// The ranking: places in the list of candidates.
    pub ranking: RerankAnswer,
    /// By candidate.
    pub from: Vec<RankedFrom>,
    /// WordPieces that were encoded.
    pub tokens: usize,
    /// How long that took.
    pub encoding: Duration,
}

/// Encoded texts, the latest used, up to a number of bytes. For one index; what was encoded for it is forgotten when
/// another has taken its place.
pub struct TextCache {
    capacity: usize,
    /// Two keys that nobody outside knows: texts cannot be made to share a hash.
    hashers: [RandomState; 2],
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// What the footprints are of: [`Opened::number`](crate::opened::Opened). Other documents of the same edition do not
    /// matter to a text; another encoder, precision or store does.
    of: u64,
    texts: HashMap<TextHash, (u64, Arc<Footprints>)>,
    /// From the time of last use, counted in uses.
    uses: BTreeMap<u64, TextHash>,
    clock: u64,
    bytes: usize,
}

type TextHash = [u64; 2];

impl TextCache {
    /// Keeps up to `bytes` of footprints.
    pub fn new(bytes: usize) -> Self {
        Self {
            capacity: bytes,
            hashers: Default::default(),
            kept: Mutex::default(),
        }
    }

    /// Bytes of footprints that are kept.
    pub fn bytes(&self) -> usize {
        lock(&self.kept).bytes
    }

    fn hash(&self, title: &str, text: &str) -> TextHash {
        self.hashers
            .each_ref()
            .map(|hasher| hasher.hash_one((title, text)))
    }

    fn get(&self, of: u64, hash: TextHash) -> Option<Arc<Footprints>> {
        let kept = &mut *lock(&self.kept);
        if kept.of != of {
            *kept = Kept {
                of,
                ..Kept::default()
            };
        }
        let (used, footprints) = kept.texts.get_mut(&hash)?;
        kept.clock += 1;
        kept.uses.remove(used);
        *used = kept.clock;
        kept.uses.insert(kept.clock, hash);
        Some(footprints.clone())
    }

    fn put(&self, of: u64, hash: TextHash, footprints: &Arc<Footprints>) {
        let kept = &mut *lock(&self.kept);
        if kept.of != of || bytes_of(footprints) > self.capacity {
            return;
        }
        kept.clock += 1;
        let entry = (kept.clock, footprints.clone());
        if let Some((used, before)) = kept.texts.insert(hash, entry) {
            kept.uses.remove(&used);
            kept.bytes -= bytes_of(&before);
        }
        kept.uses.insert(kept.clock, hash);
        kept.bytes += bytes_of(footprints);
        while kept.bytes > self.capacity
            && let Some((_, oldest)) = kept.uses.pop_first()
            && let Some((_, gone)) = kept.texts.remove(&oldest)
        {
            kept.bytes -= bytes_of(&gone);
        }
    }
}

/// Bytes that an entry takes, what the maps need for it too.
fn bytes_of(footprints: &Footprints) -> usize {
    let Footprints {
        tiles,
        mean,
        lengths,
        cls,
        ..
    } = footprints;
    tiles.len() + mean.len() + lengths.len() + 4 * cls.len() + 256
}

impl View {
    /// Ranks candidates that the index has and texts that it does not have, in one list. Texts are encoded by the index's
    /// model, at most `budget` WordPieces for this query ([`Error::TextBudget`]); `texts` keeps what was encoded. The
    /// index's statistics are not changed by them: a word that no document has counts as the rarest.
    pub fn rerank_texts(
        &self,
        query: &str,
        candidates: &[TextCandidate<'_>],
        options: &RankOptions,
        texts: &TextCache,
        budget: usize,
    ) -> Result<TextAnswer, Error> {
        let ranking = self.ranking(options)?;
        let mut from = self.sources(candidates)?;
        let begun = Instant::now();
        let (footprints, tokens) = self.encoded(candidates, &mut from, texts, budget)?;
        let encoding = begun.elapsed();
        let gamma = match footprints.is_empty() {
            true => None,
            false => (self.state().opened.files.head()?).and_then(|head| head.others.cls),
        };
        let names = names(candidates);
        let beside: Vec<Beside<'_>> = footprints
            .into_iter()
            .map(|(place, footprints)| Beside {
                id: &names[place],
                title: candidates[place].title,
                text: candidates[place].text.unwrap_or_default(),
                cls: footprints.gamma_cls(gamma.as_deref()),
                footprints,
            })
            .collect();
        let entry = |place: usize| Candidate {
            id: match (from[place], candidates[place].id) {
                (RankedFrom::Index | RankedFrom::Unknown, Some(id)) => id,
                _ => &names[place],
            },
            score: candidates[place].score,
            features: candidates[place].features,
        };
        let entries: Vec<Candidate<'_>> = (0..candidates.len()).map(entry).collect();
        let answer = {
            let snapshot = self.snapshot()?;
            self.with_workspace(|work| match beside.is_empty() {
                // A cluster may score these itself.
                true => ranking.rank_in(&*snapshot, query, &entries, work),
                false => {
                    let overlay = Overlay::new(&*snapshot, &beside, query)?;
                    ranking.rank_in(&overlay, query, &entries, work)
                }
            })?
        };
        answer
            .unknown
            .iter()
            .for_each(|&place| from[place] = RankedFrom::Unknown);
        Ok(TextAnswer {
            ranking: answer,
            from,
            tokens,
            encoding,
        })
    }

    /// Which candidates the index has; the others are yet to be encoded, if they have a text.
    fn sources(&self, candidates: &[TextCandidate<'_>]) -> Result<Vec<RankedFrom>, Error> {
        // Without any text, ranking itself tells which ids the index does not have.
        if candidates.iter().all(|candidate| candidate.text.is_none()) {
            return Ok(vec![RankedFrom::Index; candidates.len()]);
        }
        let ids: Vec<&str> = candidates
            .iter()
            .filter_map(|candidate| candidate.id)
            .collect();
        let mut numbers = self.snapshot()?.numbers(&ids)?.into_iter();
        let source = |candidate: &TextCandidate<'_>| {
            let number = candidate.id.and_then(|_| numbers.next().flatten());
            match (number, candidate.text) {
                (Some(_), _) => RankedFrom::Index,
                (None, Some(_)) => RankedFrom::Encoded,
                (None, None) => RankedFrom::Unknown,
            }
        };
        Ok(candidates.iter().map(source).collect())
    }

    /// The footprints of texts, by place among the candidates; and how many WordPieces were encoded for it.
    #[allow(clippy::type_complexity)]
    fn encoded(
        &self,
        candidates: &[TextCandidate<'_>],
        from: &mut [RankedFrom],
        texts: &TextCache,
        budget: usize,
    ) -> Result<(Vec<(usize, Arc<Footprints>)>, usize), Error> {
        let state = self.state();
        let store = state.opened.store()?;
        let of = state.opened.number;
        let wanted = (0..candidates.len()).filter(|&place| from[place] == RankedFrom::Encoded);
        let mut done: HashMap<TextHash, Arc<Footprints>> = HashMap::new();
        let mut missing: Vec<(TextHash, usize)> = Vec::new();
        let mut places = Vec::new();
        for place in wanted.collect::<Vec<_>>() {
            let TextCandidate { title, text, .. } = candidates[place];
            let hash = texts.hash(title, text.unwrap_or_default());
            places.push((place, hash));
            if done.contains_key(&hash) || missing.iter().any(|(known, _)| *known == hash) {
                // The same text again in the same list: encoded once.
                from[place] = RankedFrom::Cached;
            } else if let Some(footprints) = texts.get(of, hash) {
                from[place] = RankedFrom::Cached;
                done.insert(hash, footprints);
            } else {
                missing.push((hash, place));
            }
        }
        let mut tokens = 0;
        if !missing.is_empty() {
            let encoder = state.options.encoder_of(&state.opened)?;
            // Before anything is copied, and no further than the budget goes.
            for &(_, place) in &missing {
                let TextCandidate { title, text, .. } = candidates[place];
                for text in [title, text.unwrap_or_default()] {
                    tokens += encoder.word_pieces().count(text, budget - tokens);
                    if tokens > budget {
                        return Err(Error::TextBudget { tokens, budget });
                    }
                }
            }
            let document = |&(_, place): &(TextHash, usize)| {
                let TextCandidate { title, text, .. } = candidates[place];
                Document::new("", title, text.unwrap_or_default())
            };
            let documents: Vec<Document> = missing.iter().map(document).collect();
            let raw = || becr_index::IndexError::RawModel(state.opened.dir.clone());
            let encoder = DocumentEncoder::of_encoder(&encoder).ok_or_else(raw)?;
            let documents = match store.embedded() {
                Some(store) => encoder.encode_all(store, documents)?,
                None => encoder.encode_all_as(store.documents(), documents)?,
            };
            for ((hash, _), footprints) in missing.into_iter().zip(documents) {
                let footprints = Arc::new(footprints);
                texts.put(of, hash, &footprints);
                done.insert(hash, footprints);
            }
        }
        let found = |(place, hash)| Some((place, done.get(&hash)?.clone()));
        Ok((places.into_iter().filter_map(found).collect(), tokens))
    }
}

/// Names for texts, by place: such that no candidate's id is one of them.
fn names(candidates: &[TextCandidate<'_>]) -> Vec<String> {
    let mut prefix = "\0".to_owned();
    let ids = || candidates.iter().filter_map(|candidate| candidate.id);
    while ids().any(|id| id.starts_with(&prefix)) {
        prefix.push('\0');
    }
    // Of one length, so that equal scores stay in the order of the list.
    (0..candidates.len())
        .map(|place| format!("{prefix}{place:08}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprints(bytes: usize) -> Arc<Footprints> {
        Arc::new(Footprints {
            tokens: 1,
            tiles: vec![0; bytes],
            mean: Vec::new(),
            share: 0.0,
            lengths: Vec::new(),
            cls: Vec::new(),
        })
    }

    #[test]
    fn the_cache_keeps_what_was_used_last_within_its_bytes() {
        let cache = TextCache::new(3 * bytes_of(&footprints(1000)));
        let of = 0;
        let hash = |text: &str| cache.hash("", text);
        let kept = |text: &str| cache.get(of, hash(text)).is_some();
        for text in ["a", "b", "c"] {
            assert!(!kept(text));
            cache.put(of, hash(text), &footprints(1000));
        }
        assert!(kept("a"));
        cache.put(of, hash("d"), &footprints(1000));
        assert!(kept("a") && !kept("b") && kept("c") && kept("d"));
        // The same text again takes no more room, a text that is too large none at all.
        cache.put(of, hash("d"), &footprints(1000));
        cache.put(of, hash("e"), &footprints(100_000));
        assert!(kept("a") && kept("c") && kept("d") && !kept("e"));
        assert_eq!(cache.bytes(), 3 * bytes_of(&footprints(1000)));
        // Of another index nothing is of use, and what was begun for the old one is not put there.
        let other = 1;
        assert!(cache.get(other, hash("a")).is_none());
        cache.put(of, hash("a"), &footprints(1000));
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn a_title_is_not_the_beginning_of_a_text() {
        let cache = TextCache::new(0);
        assert_ne!(cache.hash("a", "b"), cache.hash("", "ab"));
    }

    #[test]
    fn names_of_texts_are_nobodys_ids() {
        let id = |id| TextCandidate {
            id: Some(id),
            ..TextCandidate::default()
        };
        let candidates = [
            id("\u{0}00000001"),
            id("\u{0}\u{0}x"),
            TextCandidate::default(),
        ];
        let names = names(&candidates);
        for candidate in &candidates {
            assert!(!names.iter().any(|name| Some(name.as_str()) == candidate.id));
        }
        assert!(names.is_sorted());
    }
}
