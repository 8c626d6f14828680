//! Scoring where documents lie gives the same bits as scoring here, and takes no harm from what cannot be read.

use crate::collection::{Collection, Dice, head, list_head};
use becr_model::Head;
use becr_rank::{
    Candidate, Parts, RankOptions, RankWorkspace, RankerCache, RemoteQuery, RemoteWorkspace, Scorer,
};
use becr_store::{
    Answer, DocumentStore, FetchBuffer, Header, Question, StoreError, Text, VisitRecords,
};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;

/// A store whose documents are scored at the other end, which has nothing but the bytes that go there.
struct There<S> {
    store: S,
    rankers: RankerCache,
    /// The last query that went there.
    sent: RefCell<Vec<u8>>,
}

impl<S: DocumentStore> There<S> {
    fn new(store: S) -> Self {
        Self {
            store,
            rankers: RankerCache::default(),
            sent: RefCell::default(),
        }
    }

    fn records(&self, numbers: &[u64]) -> Vec<Option<Vec<u8>>> {
        let mut records = Vec::new();
        let fetched = self
            .store
            .fetch(numbers, &mut FetchBuffer::default(), &mut |_, found| {
                records.extend(
                    found
                        .iter()
                        .map(|found| found.map(|found| found.bytes().to_vec())),
                );
                ControlFlow::Continue(())
            });
        fetched.unwrap();
        records
    }
}

impl<S: DocumentStore> DocumentStore for There<S> {
    fn header(&self) -> &Header {
        self.store.header()
    }

    fn path(&self) -> &Path {
        self.store.path()
    }

    fn look_up<'a>(
        &'a self,
        question: &Question<'_>,
        buffer: &'a mut FetchBuffer,
    ) -> Result<Answer<'a>, StoreError> {
        self.store.look_up(question, buffer)
    }

    fn fetch(
        &self,
        _: &[u64],
        _: &mut FetchBuffer,
        _: &mut VisitRecords<'_>,
    ) -> Result<(), StoreError> {
        panic!("records are not to be fetched");
    }

    fn texts(&self, numbers: &[u64]) -> Result<Vec<Option<Text>>, StoreError> {
        self.store.texts(numbers)
    }

    fn can_score(&self) -> bool {
        true
    }

    fn score(
        &self,
        query: &[u8],
        documents: &[(u64, Vec<u8>)],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, StoreError> {
        self.sent.replace(query.to_vec());
        let query = RemoteQuery::decode(query, &self.rankers).unwrap();
        let mut work = RemoteWorkspace::default();
        let numbers: Vec<u64> = documents.iter().map(|(number, _)| *number).collect();
        let records = self.records(&numbers).into_iter().zip(documents);
        let scored = records.map(|(record, (_, extras))| {
            record.map(|record| query.score(&record, extras, &mut work).unwrap())
        });
        Ok(Some(scored.collect()))
    }
}

#[test]
fn scores_are_the_same_bits() {
    for seed in 0..6 {
        let collection = Collection::new(seed, 60);
        let here = collection.store.snapshot().unwrap();
        let there = There::new(collection.store.snapshot().unwrap());
        let given = vec![
            ("pagerank".to_owned(), 0.25),
            ("clicks".to_owned(), f32::NAN),
        ];
        let mut candidates: Vec<Candidate<'_>> = collection.candidates();
        candidates[3].features = &given;
        // Not there, and twice.
        candidates.push(Candidate {
            number: 1 << 40,
            ..Candidate::default()
        });
        candidates.push(candidates[1]);
        let unscored: Vec<Candidate<'_>> = candidates
            .iter()
            .map(|candidate| Candidate {
                first_stage: None,
                ..*candidate
            })
            .collect();
        let heads: [Head; 2] = [head(seed), list_head(seed)];
        for head in heads {
            let ranker = collection.ranker(head);
            let mut dice = Dice(seed + 11);
            for length in [0, 1, 3, 6] {
                let text = dice.words(length);
                for (scorer, without) in [
                    (Scorer::Composite, Parts::default()),
                    (Scorer::OneVector, Parts::default()),
                    (
                        Scorer::Composite,
                        Parts {
                            deep: true,
                            ..Parts::default()
                        },
                    ),
                    (
                        Scorer::Composite,
                        Parts {
                            lexi: true,
                            ..Parts::default()
                        },
                    ),
                    (
                        Scorer::Composite,
                        Parts {
                            others: true,
                            ..Parts::default()
                        },
                    ),
                ] {
                    let options = RankOptions {
                        scorer,
                        without,
                        ..RankOptions::default()
                    };
                    for candidates in [&candidates, &unscored] {
                        let work = &mut RankWorkspace::new();
                        let query = ranker.query(&here, &text, &options, None).unwrap();
                        let expected = ranker.score(&query, &here, candidates, work).unwrap();
                        let query = ranker.query(&there, &text, &options, None).unwrap();
                        let scored = ranker.score(&query, &there, candidates, work).unwrap();
                        assert_eq!(scored, expected, "{seed} {text:?} {options:?}");
                    }
                }
            }
        }
    }
}

/// A query with any bytes changed, cut or appended is refused or scores something: nothing panics.
#[test]
fn damaged_queries_do_no_harm() {
    for seed in [2, 3] {
        let collection = Collection::new(seed, 12);
        let there = There::new(collection.store.snapshot().unwrap());
        let ranker = collection.ranker(list_head(seed));
        let query = ranker.query(
            &there,
            "spring water of the river bank",
            &RankOptions::default(),
            None,
        );
        let work = &mut RankWorkspace::new();
        ranker
            .score(&query.unwrap(), &there, &collection.candidates(), work)
            .unwrap();
        let sent = there.sent.borrow().clone();
        let records = there.records(&[0, 1, 2, 3]);
        let (mut dice, mut refused) = (Dice(seed), 0);
        let mut work = RemoteWorkspace::default();
        for round in 0..4000 {
            let mut bytes = sent.clone();
            match round % 4 {
                0 => bytes.truncate(dice.below(sent.len())),
                1 => bytes.push(dice.next() as u8),
                // Small numbers make places and lengths that are just wrong.
                2 => {
                    let at = dice.below(sent.len() - 4);
                    bytes[at..at + 4].copy_from_slice(&(dice.below(9) as u32).to_le_bytes());
                }
                _ => {
                    let at = dice.below(sent.len());
                    bytes[at] ^= 1 << dice.below(8);
                }
            }
            match RemoteQuery::decode(&bytes, &there.rankers) {
                Err(_) => refused += 1,
                Ok(query) => {
                    for record in records.iter().flatten() {
                        let _ = query.score(record, &[0; 4], &mut work);
                        let _ = query.score(&record[..record.len() / 2], &[0; 4], &mut work);
                        assert!(query.score(record, &[1, 2], &mut work).is_err());
                        assert!(query.score(record, &[0xff; 12], &mut work).is_err());
                    }
                }
            }
        }
        assert!(refused > 2000, "{refused}");
    }
}
