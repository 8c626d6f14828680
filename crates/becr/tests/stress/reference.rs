//! The same documents in memory, searched and ranked one thing after the other.

use crate::collection::{Collection, State, Step};
use crate::search::{Found, Sample};
use becr::Index;
use becr_groups::GroupList;
use becr_rank::{Candidate, RankOptions, RankWorkspace, Ranker};
use becr_store::{DocumentStore, Update};
use becr_text::lexical::Analyzer;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Two sums of the same parts in another order, and in another precision.
const ROUNDING: f64 = 1e-5;

pub(crate) struct Reference<'a> {
    collection: &'a Collection,
    store: becr_memory::Store,
    ranker: Arc<Ranker>,
    work: RankWorkspace,
    /// How many more samples have their candidates searched for document by document, which takes milliseconds.
    bm25_checks: usize,
    /// Stems of title and body of each document.
    stems: BTreeMap<String, [Vec<String>; 2]>,
}

impl<'a> Reference<'a> {
    pub(crate) fn new(index: &Index, collection: &'a Collection) -> Self {
        let view = index.view().unwrap();
        let snapshot = view.snapshot().unwrap();
        let store = becr_memory::Store::new(snapshot.header().clone());
        let mut update = Update::begin(&store).unwrap();
        let groups = GroupList::open(&index.path().join("groups.list")).unwrap();
        for entry in groups.iter().unwrap() {
            let group = entry.unwrap().group;
            let record = snapshot.embedded().unwrap().group(&group).unwrap().unwrap();
            update.put_group(&group, record.footprints()).unwrap();
        }
        update.commit().unwrap();
        Self {
            collection,
            store,
            ranker: index.ranker().unwrap(),
            work: RankWorkspace::new(),
            bm25_checks: 80,
            stems: BTreeMap::new(),
        }
    }

    pub(crate) fn put(&mut self, steps: &[Step]) {
        let mut update = Update::begin(&self.store).unwrap();
        for step in steps {
            match *step {
                Step::Delete(number) => {
                    update.delete(&format!("d{number}")).unwrap();
                    self.stems.remove(&format!("d{number}"));
                }
                Step::Put(number, version) => {
                    let version = self.collection.version(number, version);
                    update.put(&version.document()).unwrap();
                    let stems = [stems(&version.title), stems(&version.text)];
                    self.stems.insert(version.id.clone(), stems);
                }
                Step::Tick(tick) => {
                    let clock = self.collection.clock(tick);
                    update.put(&clock.document()).unwrap();
                    self.stems
                        .insert(clock.id.clone(), [stems(""), stems(&clock.text)]);
                }
            }
        }
        update.commit().unwrap();
    }

    /// The candidates are the best by BM25, and the scores those of the ranker, bit by bit.
    pub(crate) fn check(&mut self, sample: &Sample, state: &State) {
        let context = format!("tick {} {:?}", sample.tick, sample.query);
        assert_eq!(self.stems.len(), state.versions.len() + 1, "{context}");
        let mut results: Vec<_> = sample.results.iter().collect();
        results.sort_by_key(|found| found.first_stage_rank);
        if self.bm25_checks > 0 {
            self.bm25_checks -= 1;
            self.check_candidates(sample, &results, &context);
        }
        self.check_scores(sample, &results, &context);
    }

    fn check_candidates(&self, sample: &Sample, results: &[&Found], context: &str) {
        let bm25 = self.bm25(&sample.query);
        let mut best: Vec<f64> = bm25
            .values()
            .copied()
            .filter(|&score| score > 0.0)
            .collect();
        best.sort_by(|a, b| b.total_cmp(a));
        assert_eq!(results.len(), best.len().min(30), "{context}");
        for (found, expected) in results.iter().zip(&best) {
            let own = bm25.get(found.id.as_str()).copied().unwrap_or(f64::NAN);
            for value in [own, f64::from(found.first_stage_score)] {
                let near = (value - expected).abs() <= ROUNDING * expected;
                assert!(near, "{context}: {found:?}, expected {expected}, is {own}");
            }
        }
    }

    fn check_scores(&mut self, sample: &Sample, results: &[&Found], context: &str) {
        let snapshot = self.store.snapshot();
        let query = self
            .ranker
            .query(&snapshot, &sample.query, &RankOptions::default(), None)
            .unwrap();
        let ids: Vec<&str> = results.iter().map(|found| found.id.as_str()).collect();
        let numbers = snapshot.numbers(&ids).unwrap();
        let candidates: Vec<Candidate<'_>> = results
            .iter()
            .zip(numbers)
            .map(|(found, number)| Candidate {
                number: number.unwrap(),
                first_stage: Some(found.first_stage_score),
                features: &[],
            })
            .collect();
        let scored = self
            .ranker
            .score(&query, &snapshot, &candidates, &mut self.work);
        for (found, scored) in results.iter().zip(scored.unwrap()) {
            let scored = scored.unwrap();
            assert_eq!(
                found.score.to_bits(),
                scored.score.to_bits(),
                "{context}: {found:?}"
            );
        }
        assert!(
            sample.results.is_sorted_by(|a, b| a.score >= b.score),
            "{context}"
        );
    }

    /// The formula, document by document.
    fn bm25(&self, query: &str) -> HashMap<&str, f64> {
        let documents = self.stems.len() as f64;
        let mut scores = HashMap::new();
        for field in 0..2 {
            let length: usize = self.stems.values().map(|fields| fields[field].len()).sum();
            let average = length as f64 / documents;
            for stem in stems(query) {
                let has = |fields: &&[Vec<String>; 2]| fields[field].contains(&stem);
                let df = self.stems.values().filter(has).count() as f64;
                let idf = (1.0 + (documents - df + 0.5) / (df + 0.5)).ln();
                for (id, fields) in &self.stems {
                    let tf = fields[field].iter().filter(|s| **s == stem).count() as f64;
                    let norm = 1.2 * (0.25 + 0.75 * fields[field].len() as f64 / average);
                    *scores.entry(id.as_str()).or_insert(0.0) += idf * tf * 2.2 / (tf + norm);
                }
            }
        }
        scores
    }
}

fn stems(text: &str) -> Vec<String> {
    let analyzer = Analyzer::default();
    becr_text::words::words(text)
        .map(|word| analyzer.stem(&word.text).into_owned())
        .collect()
}
