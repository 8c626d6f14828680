//! Training the encoder with the head.

use super::{Trained, Training};
use crate::learn::{Course, Picked, Scores, Source};
use crate::model::{EncoderTensors, HeadTensors, Learned, Network, Place, Vanilla, values};
use crate::texts::{Reading, TextSource};
use crate::{Candidate, Example, Observer, QueryMode, TrainError, Validation, validate};
use becr_eval::Run;
use becr_model::{Head, Model, Similarity, Weights};
use burn::tensor::backend::{AutodiffBackend, Backend};

impl Training<'_> {
    /// Learns encoder and head from the texts and features of the index.
    ///
    /// Validation re-ranks with the network itself, decomposed and on raw vectors: the index knows the old encoder only.
    pub(super) fn end_to_end<B: AutodiffBackend>(
        &self,
        device: B::Device,
        observer: &mut dyn Observer,
    ) -> Result<Trained, TrainError> {
        let (mut head, scale) = self.start(observer)?;
        let (options, model) = (self.options, self.trainer.model);
        if options.model.cls && head.others.cls.is_none() {
            head.others.cls = Some(vec![0.0; model.config.hidden_size]);
        }
        head.deep.similarity = options.model.similarity;
        if head.deep.similarity != Similarity::SumOfCosines {
            observer.note(
                "similarity = \"cosine_of_sum\": footprints give sums of cosines, so `becr index` will refuse this model",
            );
        }
        let place = Place::<B>::single(device);
        let fingerprint = self.fingerprint(&head);
        let mut weights = model.weights.clone();
        if options.model.vanilla_steps > 0 {
            self.vanilla(&head, &mut weights, &fingerprint, &place, observer)?;
        }
        let mut network = Network {
            head: HeadTensors::upload(&head, &scale, &options.model, &place),
            encoder: Some(self.upload(&weights, &place)?),
            place: place.clone(),
        };
        let reading = Reading::Apart(options.model.query);
        let course = Course {
            examples: self.examples,
            source: &self
                .texts(&head, self.examples, reading)?
                .with_noise(options.seed),
            options,
            steps: options.steps,
            place,
            folder: self.trainer.directory,
            fingerprint,
            validation_queries: self.validation.queries.len(),
        };
        let queries = queries(self.validation);
        let decomposed = Reading::Apart(QueryMode::Decomposed);
        let texts = self.texts(&head, &queries, decomposed)?;
        let mut served = self.served::<B>(&head, &scale, &weights, &course.place)?;
        let mut rerank = |network: &mut Network<B>| {
            take_over(network, &mut served);
            validate::ndcg(
                self.validation,
                &self.rerank(&served, self.validation, &texts)?,
            )
        };
        let outcome = match queries.is_empty() {
            true => course.run(&mut network, None, observer)?,
            false => course.run(&mut network, Some(&mut rerank), observer)?,
        };
        let test = match self.trainer.test {
            Some(lists) => {
                take_over(&mut network, &mut served);
                let queries = self::queries(lists);
                let texts = self.texts(&head, &queries, decomposed)?;
                Some(self.rerank(&served, lists, &texts)?)
            }
            None => None,
        };
        let mut trained = head.clone();
        network.head.download(&mut trained);
        if let Some(encoder) = &network.encoder {
            encoder.download(&mut weights);
        }
        let model = Model {
            weights,
            ..model.clone()
        };
        trained.encoder_id = model.encoder_id();
        Ok(Trained {
            test,
            ..self.made(trained, Some(model.weights), outcome)
        })
    }

    /// A network that only scores. One that learns would keep what every forward pass computed, for a backward pass that
    /// never comes: all validation queries at once.
    fn served<B: AutodiffBackend>(
        &self,
        head: &Head,
        scale: &[f32],
        weights: &Weights,
        place: &Place<B>,
    ) -> Result<Network<B::InnerBackend>, TrainError> {
        let place = Place {
            device: place.device.clone(),
            dtype: place.dtype,
        };
        Ok(Network {
            head: HeadTensors::upload(head, scale, &self.options.model, &place),
            encoder: Some(self.upload(weights, &place)?),
            place,
        })
    }

    /// Trains the vanilla ranker, and leaves its encoder in `weights`.
    fn vanilla<B: AutodiffBackend>(
        &self,
        head: &Head,
        weights: &mut Weights,
        fingerprint: &str,
        place: &Place<B>,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        let steps = self.options.model.vanilla_steps;
        observer.note(&format!("first, {steps} steps of a vanilla BERT ranker"));
        let dim = self.trainer.model.config.hidden_size;
        let mut vanilla = Vanilla::new(
            self.upload(weights, place)?
                .with_second_type(weights, place),
            dim,
            place.clone(),
        );
        let course = Course {
            examples: self.examples,
            source: &self.texts(head, self.examples, Reading::Joined)?,
            options: self.options,
            steps,
            place: place.clone(),
            folder: &self.trainer.directory.join("vanilla"),
            fingerprint: format!("{fingerprint} vanilla"),
            validation_queries: self.validation.queries.len(),
        };
        let queries = queries(self.validation);
        let texts = self.texts(head, &queries, Reading::Joined)?;
        let inner = Place::<B::InnerBackend> {
            device: place.device.clone(),
            dtype: place.dtype,
        };
        let encoder = self.upload(weights, &inner)?;
        let encoder = encoder.with_second_type(weights, &inner);
        let mut served = Vanilla::new(encoder, dim, inner);
        let mut rerank = |vanilla: &mut Vanilla<B>| {
            take_over(vanilla, &mut served);
            validate::ndcg(
                self.validation,
                &self.rerank(&served, self.validation, &texts)?,
            )
        };
        match queries.is_empty() {
            true => course.run(&mut vanilla, None, observer)?,
            false => course.run(&mut vanilla, Some(&mut rerank), observer)?,
        };
        vanilla.encoder.download(weights);
        Ok(())
    }

    fn upload<B: Backend>(
        &self,
        weights: &Weights,
        place: &Place<B>,
    ) -> Result<EncoderTensors<B>, TrainError> {
        let config = &self.trainer.model.config;
        let shape = becr_encoder::Shape::new(config)?;
        let options = &self.options.model;
        Ok(EncoderTensors::upload(
            config,
            weights,
            shape,
            options.similarity,
            options.noise,
            place,
        ))
    }

    fn texts<'a>(
        &'a self,
        head: &Head,
        examples: &'a [Example],
        reading: Reading,
    ) -> Result<TextSource<'a>, TrainError> {
        let most = self.trainer.model.config.max_position_embeddings;
        let options = &self.options.model;
        let (store, ranker) = (self.trainer.store, self.ranker(head)?);
        Ok(TextSource::new(
            store,
            ranker,
            &self.pieces,
            examples,
            reading,
            options,
            most,
        ))
    }

    fn rerank<B: Backend>(
        &self,
        network: &impl Scores<B>,
        lists: &Validation,
        texts: &TextSource<'_>,
    ) -> Result<Run, TrainError> {
        let mut run = Run::new("becr");
        // As many documents at a time as in training, so that there is room for them.
        let part = self.options.batch * (self.options.negatives + 1);
        for (example, query) in lists.queries.iter().enumerate() {
            for candidates in query.candidates.chunks(part) {
                let documents: Vec<Candidate> =
                    candidates.iter().map(|(_, candidate)| *candidate).collect();
                let picked = Picked { example, documents };
                let batch = texts.batch(&[picked], candidates.len(), 0)?;
                for ((id, _), score) in candidates.iter().zip(values(network.scores(&batch))) {
                    run.push(&query.id, id.as_str(), f64::from(score));
                }
            }
        }
        Ok(run)
    }
}

/// Queries with their candidates as examples.
fn queries(lists: &Validation) -> Vec<Example> {
    let queries = lists.queries.iter().map(|query| Example {
        id: query.id.clone(),
        query: query.query.clone(),
        positives: query
            .candidates
            .iter()
            .map(|(_, candidate)| *candidate)
            .collect(),
        negatives: Vec::new(),
    });
    queries.collect()
}

/// Gives what was learned so far to a network that only scores.
pub(crate) fn take_over<B: AutodiffBackend>(
    from: &mut impl Learned<B>,
    to: &mut impl Learned<B::InnerBackend>,
) {
    let mut values = Vec::new();
    from.visit(&mut |parameter| values.push(parameter.value.clone().inner()));
    let mut values = values.into_iter();
    to.visit(&mut |parameter| {
        *parameter.value = values
            .next()
            .expect("both networks have the same parameters");
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelOptions;
    use burn::backend::{Autodiff, Flex};

    /// A network whose weights are all `weight`.
    fn network<B: Backend>(weight: f32) -> Network<B> {
        let mut head = Head::blank("tiny", 2);
        for alpha in head.deep.alpha.iter_mut().flatten() {
            *alpha = weight;
        }
        let scale = vec![1.0; head.deep.alpha.iter().map(Vec::len).sum()];
        let place = Place::single(Default::default());
        Network {
            head: HeadTensors::upload(&head, &scale, &ModelOptions::default(), &place),
            encoder: None,
            place,
        }
    }

    #[test]
    fn what_is_served_is_what_was_learned() {
        let mut learning = network::<Autodiff<Flex>>(0.75);
        let mut served = network::<Flex>(0.25);
        take_over(&mut learning, &mut served);
        let mut alphas = Vec::new();
        served.visit(&mut |parameter| {
            if parameter.name == "alpha" {
                alphas = parameter.value.to_data().to_vec::<f32>().unwrap();
            }
        });
        assert!(!alphas.is_empty() && alphas.iter().all(|&alpha| alpha == 0.75));
    }
}
