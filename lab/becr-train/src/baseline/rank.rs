//! Re-ranking with a baseline that was trained.

use super::directory::Baseline;
use super::network::BaselineNetwork;
use super::reader::TextReader;
use crate::batch::Batch;
use crate::learn::Scores;
use crate::model::{Place, values};
use crate::trainer::{OnDevice, run_on};
use crate::{Device, TrainError};
use burn::tensor::backend::{AutodiffBackend, Backend};
use std::path::Path;

/// Documents that go through the network together, on a CPU and on a GPU.
const TOGETHER: usize = 16;
const TOGETHER_ON_GPU: usize = 64;

/// A query and its documents, titles and texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueryTexts {
    /// The query.
    pub query: String,
    /// Title and text of each document.
    pub documents: Vec<(String, String)>,
}

/// A trained baseline that scores texts.
///
/// ```no_run
/// use becr_train::Device;
/// use becr_train::baseline::{BaselineRanker, QueryTexts};
///
/// let ranker = BaselineRanker::open("colbert".as_ref(), Device::Cpu)?;
/// let texts = QueryTexts {
///     query: "what do owls eat".into(),
///     documents: vec![("Owls".into(), "They eat mice.".into()), ("".into(), "A river bank.".into())],
/// };
/// let scores = ranker.scores(1, &mut |_| Ok(texts.clone()))?;
/// assert_eq!(scores[0].len(), 2);
/// # Ok::<(), becr_train::TrainError>(())
/// ```
pub struct BaselineRanker {
    baseline: Baseline,
    reader: TextReader,
    device: Device,
}

/// Why texts could not be had.
pub type TextError = Box<dyn std::error::Error + Send + Sync>;

impl BaselineRanker {
    /// Opens the directory that a training wrote.
    pub fn open(directory: &Path, device: Device) -> Result<Self, TrainError> {
        device.check()?;
        let baseline = Baseline::read(directory)?;
        Ok(Self {
            reader: TextReader::new(&baseline)?,
            baseline,
            device,
        })
    }

    /// What it is.
    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The scores of the documents of so many queries. `texts` is asked for one query after the other, so that no more
    /// than one is in memory.
    pub fn scores(
        &self,
        queries: usize,
        texts: &mut dyn FnMut(usize) -> Result<QueryTexts, TextError>,
    ) -> Result<Vec<Vec<f32>>, TrainError> {
        run_on(
            self.device,
            Scoring {
                ranker: self,
                queries,
                texts,
            },
        )
    }
}

struct Scoring<'a> {
    ranker: &'a BaselineRanker,
    queries: usize,
    texts: &'a mut dyn FnMut(usize) -> Result<QueryTexts, TextError>,
}

impl OnDevice for Scoring<'_> {
    type Made = Vec<Vec<f32>>;

    fn on<B: AutodiffBackend>(self, device: B::Device) -> Result<Self::Made, TrainError> {
        let BaselineRanker {
            baseline, reader, ..
        } = self.ranker;
        // Nothing is learned, so no gradients are kept.
        let place = Place::<B::InnerBackend>::single(device);
        let network = BaselineNetwork::upload(baseline, &place)?;
        let together = match self.ranker.device {
            Device::Cpu => TOGETHER,
            Device::Cuda(_) => TOGETHER_ON_GPU,
        };
        (0..self.queries)
            .map(|query| {
                let texts = (self.texts)(query).map_err(TrainError::Texts)?;
                Ok(scores(&network, reader, &texts, together))
            })
            .collect()
    }
}

fn scores<B: Backend>(
    network: &BaselineNetwork<B>,
    reader: &TextReader,
    texts: &QueryTexts,
    together: usize,
) -> Vec<f32> {
    // Those of about the same length go together, since the longest sets the length of all.
    let length = |place: &usize| {
        let (title, text) = &texts.documents[*place];
        title.len() + text.len()
    };
    let mut places: Vec<usize> = (0..texts.documents.len()).collect();
    places.sort_by_key(length);
    let mut scores = vec![0.0; places.len()];
    for places in places.chunks(together) {
        let texts_of = places.iter().map(|&place| {
            let (title, text) = &texts.documents[place];
            Some((title.as_str(), text.as_str()))
        });
        let read: Vec<Option<(&str, &str)>> = texts_of.collect();
        let candidates = read.len();
        let batch = Batch {
            ids: vec![String::new()],
            candidates,
            present: vec![true; candidates],
            features: Vec::new(),
            fixed: Vec::new(),
            deep: reader.read(&[&texts.query], &read, candidates),
        };
        for (place, score) in places.iter().zip(values(network.scores(&batch))) {
            scores[*place] = score;
        }
    }
    scores
}
