//! How long a query takes: networks of random weights on random documents, since what was learned does not change the speed.
//!
//! What can be known of documents before the query is there is ready when the clock starts, as it is for BECR: the vectors of
//! words (KNRM), of n-grams (CONV-KNRM) and of projected tokens (ColBERT). BERT and CEDR-KNRM read query and document together,
//! so nothing is.

use super::directory::Baseline;
use super::network::BaselineNetwork;
use super::options::{BaselineConfig, BaselineKind};
use super::reader::join;
use super::vectors::WordTable;
use crate::batch::{Batch, Deep, LatePairs, Sequences, Tokens, WordPairs, WordRows};
use crate::model::{Place, values};
use crate::random::Random;
use crate::trainer::{OnDevice, run_on};
use crate::{Device, TrainError};
use becr_model::{Config, Model, TokenizerFile, Weights};
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};
use std::time::{Duration, Instant};

/// Words of KNRM's and CONV-KNRM's table.
const WORDS: usize = 20_000;
/// Documents that BERT and CEDR-KNRM read together on a GPU, and how many of all they read on a CPU, where that takes seconds: each
/// document is read by itself, so that the others take as long.
const TOGETHER_ON_GPU: usize = 50;
const ENOUGH_ON_CPU: usize = 4;
/// Time for one figure, apart from the least number of repetitions.
const BUDGET: Duration = Duration::from_secs(3);
const REPETITIONS: std::ops::RangeInclusive<usize> = 2..=30;

/// A query's work.
#[derive(Debug, Clone)]
pub struct SpeedTest {
    /// The model.
    pub kind: BaselineKind,
    /// The shape of its encoder; KNRM and CONV-KNRM have none.
    pub encoder: Option<Config>,
    /// Candidates.
    pub documents: usize,
    /// Words or WordPieces of each.
    pub tokens: usize,
    /// Words of the query.
    pub query_words: usize,
}

impl SpeedTest {
    /// Seconds to score all documents of one query: the lower quartile of several times, after one to warm up.
    pub fn seconds(&self, device: Device) -> Result<f64, TrainError> {
        device.check()?;
        run_on(device, Measuring { test: self, device })
    }

    fn baseline(&self) -> Result<Baseline, TrainError> {
        let config = BaselineConfig::new(self.kind);
        // Kinds that read words take no encoder's shape.
        let small = || Config::new(8, 8, 1, 1, 8, 8);
        let shape = self.encoder.clone().unwrap_or_else(small);
        let model = Model {
            directory: std::path::PathBuf::new(),
            tokenizer: TokenizerFile {
                path: std::path::PathBuf::new(),
                bytes: Vec::new(),
            },
            weights: Weights::random(&shape, 1, 1.0),
            config: shape,
            head: None,
            mixer: None,
            words: None,
        };
        let table = WordTable {
            words: (0..WORDS).map(|word| word.to_string()).collect(),
            dimensions: config.dimensions,
            vectors: Vec::new(),
        };
        let table = self.kind.reads_words().then_some(table);
        Baseline::start(&config, &model, table, 1)
    }

    /// The query and so many documents.
    fn batch(&self, config: &BaselineConfig, documents: usize) -> Batch {
        let known = match &self.encoder {
            Some(shape) => shape.vocab_size,
            None => WORDS,
        };
        let mut random = Random::new(1, &[self.query_words as u64]);
        // 0 is padding.
        let mut ids = |count: usize| -> Vec<u32> {
            (0..count)
                .map(|_| 1 + random.below(known - 1) as u32)
                .collect()
        };
        let query = ids(self.query_words);
        let texts: Vec<Vec<u32>> = (0..documents).map(|_| ids(self.tokens)).collect();
        let longest = self
            .encoder
            .as_ref()
            .map_or(0, |shape| shape.max_position_embeddings);
        let deep = match self.kind {
            BaselineKind::Knrm | BaselineKind::ConvKnrm => {
                let row = |ids: &Vec<u32>| ids.iter().map(|id| *id as i32).collect();
                let texts: Vec<Vec<i32>> = texts.iter().map(row).collect();
                Deep::Words(Box::new(WordPairs {
                    queries: WordRows::of(&vec![row(&query); documents], 1),
                    documents: WordRows::of(&texts, 1),
                }))
            }
            BaselineKind::Bert | BaselineKind::CedrKnrm => {
                Deep::Pieces(Box::new(join([1, 2], &[query], &texts, longest)))
            }
            BaselineKind::Colbert => {
                let filled = ids(config.query_tokens.min(longest));
                let tokens = vec![vec![(0, 1.0); self.tokens]; documents];
                Deep::Late(Box::new(LatePairs {
                    terms: vec![1.0; filled.len()],
                    queries: Sequences::of(&[filled], 1, 1, longest),
                    documents: Sequences::default(),
                    tokens: Tokens::of(&tokens, 1),
                }))
            }
        };
        Batch {
            ids: vec![String::new()],
            candidates: documents,
            present: vec![true; documents],
            features: Vec::new(),
            fixed: Vec::new(),
            deep,
        }
    }

    /// What is known of the documents. ColBERT's vectors are random: any are as good, and encoding them would take minutes.
    fn documents<B: Backend>(
        &self,
        network: &BaselineNetwork<B>,
        batch: &Batch,
        projection: usize,
        place: &Place<B>,
    ) -> Vec<Tensor<B, 3>> {
        if self.kind != BaselineKind::Colbert {
            return network.documents(batch);
        }
        let shape = [batch.candidates, self.tokens, projection];
        let mut random = Random::new(2, &[]);
        let count = shape.iter().product();
        let values = (0..count).map(|_| random.below(2000) as f32 / 1e3 - 1.0);
        vec![place.tensor(values.collect(), shape)]
    }
}

struct Measuring<'a> {
    test: &'a SpeedTest,
    device: Device,
}

impl OnDevice for Measuring<'_> {
    type Made = f64;

    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<f64, TrainError> {
        let test = self.test;
        let reads_both = matches!(test.kind, BaselineKind::Bert | BaselineKind::CedrKnrm);
        let (measured, together) = match (reads_both, self.device) {
            (false, _) => (test.documents, test.documents),
            (true, Device::Cpu) => (test.documents.min(ENOUGH_ON_CPU), 1),
            (true, Device::Cuda(_)) => (test.documents, TOGETHER_ON_GPU.min(test.documents)),
        };
        let baseline = test.baseline()?;
        let place = Place::<B::InnerBackend>::single(device);
        let network = BaselineNetwork::upload(&baseline, &place)?;
        let batch = test.batch(&baseline.config, together);
        let known = test.documents(&network, &batch, baseline.config.projection, &place);
        let parts = measured.div_ceil(together);
        let begun = Instant::now();
        let mut times = Vec::new();
        // The first warms up.
        while times.len() < *REPETITIONS.start()
            || times.len() < *REPETITIONS.end() && begun.elapsed() < BUDGET
        {
            let once = Instant::now();
            for _ in 0..parts {
                // Reading the scores waits for the device.
                std::hint::black_box(values(network.scores_with(&batch, &known)));
            }
            times.push(once.elapsed().as_secs_f64());
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let scale = test.documents as f64 / (parts * together) as f64;
        Ok(times[times.len() / 4] * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_timed() {
        let shape = Config::new(50, 16, 2, 2, 24, 24);
        for kind in [
            BaselineKind::Knrm,
            BaselineKind::ConvKnrm,
            BaselineKind::Bert,
            BaselineKind::CedrKnrm,
            BaselineKind::Colbert,
        ] {
            let test = SpeedTest {
                kind,
                encoder: (!kind.reads_words()).then(|| shape.clone()),
                documents: 5,
                tokens: 30,
                query_words: 3,
            };
            let config = BaselineConfig::new(kind);
            let batch = test.batch(&config, 5);
            assert_eq!(batch.present.len(), 5);
            if let Deep::Pieces(pairs) = &batch.deep {
                // 24 positions take 18 of 30 tokens beside the query and three marks.
                assert_eq!(pairs.pieces, 2);
            }
            assert!(test.seconds(Device::Cpu).unwrap() > 0.0, "{kind}");
        }
    }
}
