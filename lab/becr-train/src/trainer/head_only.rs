//! Training with the encoder frozen.

use super::{Trained, Training};
use crate::frozen::Frozen;
use crate::learn::Course;
use crate::model::{HeadTensors, Network, Place};
use crate::{Observer, TrainError, validate};
use burn::tensor::backend::AutodiffBackend;

impl Training<'_> {
    /// Learns the head from the footprints and features of the index.
    pub(super) fn head_only<B: AutodiffBackend>(
        &self,
        device: B::Device,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let (head, scale) = self.start(observer)?;
        let (options, store) = (self.options, self.trainer.store);
        let place = Place::<B>::single(device);
        let mut network = Network {
            head: HeadTensors::upload(&head, &scale, &options.model, &place),
            encoder: None,
            place: place.clone(),
        };
        let course = Course {
            examples: self.examples,
            source: &Frozen::new(store, self.ranker(&head)?, self.examples, &options.model),
            options,
            steps: options.steps,
            place,
            folder: self.trainer.directory,
            fingerprint: self.fingerprint(&head),
            validation_queries: self.validation.queries.len(),
        };
        let mut rerank = |network: &mut Network<B>| {
            let mut current = head.clone();
            network.head.download(&mut current);
            let run = validate::rerank(self.validation, store, &self.ranker(&current)?)?;
            validate::ndcg(self.validation, &run)
        };
        let outcome = match self.validation.queries.is_empty() {
            true => course.run(&mut network, None, observer)?,
            false => course.run(&mut network, Some(&mut rerank), observer)?,
        };
        let mut trained = head.clone();
        network.head.download(&mut trained);
        Ok(self.made(trained, None, outcome))
    }
}
