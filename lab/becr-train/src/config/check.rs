//! What a configuration must fulfil beyond the form of its values, and where its paths start.

use super::{BUNDLED, Config, HUB, Role, SetConfig, StoredWeights};
use crate::ModelOptions;
use crate::baseline::BaselineConfig;
use std::path::{Path, PathBuf};

impl Config {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.model.centre == Some(true) {
            return Err(
                "[model] centre: only false is an answer here; `becr model prepare --centre` measures one".into(),
            );
        }
        if self.model.base.is_none() && self.index.path.is_none() {
            return Err("[model] base: name a model directory, or an index in [index] path".into());
        }
        if self.output.model.file_name().is_none() {
            return Err("[output] model: name a directory for the trained model".into());
        }
        if self.index.path.is_some() {
            let model = &self.model;
            let made = [
                model.bits.is_some(),
                model.relative.is_some(),
                model.layers.is_some(),
                model.hyperplanes_seed.is_some(),
                model.hyperplanes.is_some(),
                model.centre.is_some(),
                model.window.is_some(),
            ];
            if made.contains(&true) {
                return Err("[model] layers, bits, relative, hyperplanes, hyperplanes_seed, centre and window are those of the index in [index] path; \
                     leave them out, or let the training make its own index".into());
            }
            if model.weights != StoredWeights::Keep {
                return Err("[model] weights: other weights would not fit the index in [index] path; leave it out".into());
            }
        }
        let share = |name: &str, value: f64| match (0.0..=1.0).contains(&value) {
            true => Ok(()),
            false => Err(format!(
                "{name}: expected a number from 0 to 1, found {value}"
            )),
        };
        share("[data] near_duplicate", self.data.near_duplicate)?;
        share("[validation] share", self.validation.share)?;
        let positive = |name: &str, value: usize| match value {
            0 => Err(format!("{name}: expected at least 1, found 0")),
            _ => Ok(()),
        };
        positive("[data] max_query_words", self.data.max_query_words)?;
        positive("[data] candidates", self.data.candidates)?;
        positive(
            "[data] max_document_words",
            self.data.max_document_words.unwrap_or(1),
        )?;
        if let Some(baseline) = &self.baseline {
            self.check_baseline(baseline)?;
        }
        match &self.mixer {
            None => positive("[[data.sets]]", self.data.sets.len())?,
            Some(_) if !self.data.sets.is_empty() || self.folds.is_some() => {
                return Err("[mixer] is trained by itself: leave [[data.sets]] and [folds] to a file of their own".into());
            }
            Some(_) if self.model.base.is_none() => {
                return Err("[model] base: name the model to train a mixer for".into());
            }
            Some(mixer) => mixer.check()?,
        }
        for (number, set) in self.data.sets.iter().enumerate() {
            let named =
                |message: String| format!("[[data.sets]] {} ({}): {message}", number + 1, set.name);
            self.check_set(set).map_err(named)?;
            share("drop_words", set.drop_words).map_err(named)?;
            if self.data.sets[..number]
                .iter()
                .any(|other| other.name == set.name)
            {
                return Err(named("an earlier set has this name; choose another".into()));
            }
        }
        if let Some(folds) = &self.folds {
            becr_eval::parse_measures(&folds.measures)
                .map_err(|e| format!("[folds] measures: {e}"))?;
        }
        Ok(())
    }

    fn check_baseline(&self, baseline: &BaselineConfig) -> Result<(), String> {
        if self.mixer.is_some() {
            return Err(
                "[baseline] and [mixer] are two trainings: give each a file of its own".into(),
            );
        }
        if self.train.model != ModelOptions::default() {
            return Err(
                "[train.model] is about BECR: a baseline's options are in [baseline]".into(),
            );
        }
        let model = &self.model;
        let made = model.layers.is_some()
            || model.bits.is_some()
            || model.relative.is_some()
            || model.hyperplanes_seed.is_some()
            || model.hyperplanes.is_some()
            || model.centre.is_some()
            || model.window.is_some()
            || model.head.is_some()
            || model.weights != StoredWeights::Keep;
        if made {
            return Err(
                "[model]: a baseline has no footprints and no head; name base alone".into(),
            );
        }
        baseline.check()
    }

    fn check_set(&self, set: &SetConfig) -> Result<(), String> {
        if set.name.is_empty() || set.name.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err("name: expected a word without blanks and slashes".into());
        }
        if set.qrels.is_some() && set.triples.is_some() {
            return Err("name qrels or triples, not both".into());
        }
        if (set.pagerank.is_some() || set.spam.is_some()) && set.corpus.is_empty() {
            return Err("pagerank and spam are numbers of the documents in corpus: name it".into());
        }
        if set.spam_threshold.is_some() && set.spam.is_none() {
            return Err("spam_threshold: name a file of spam scores, spam".into());
        }
        let judged = set.qrels.as_ref().or(set.triples.as_ref());
        let problem = match (&set.pairs, &set.queries, judged, &self.index.path) {
            (Some(_), None, None, _) if !set.corpus.is_empty() || set.run.is_some() => {
                "pairs bring their documents; leave corpus and run out"
            }
            (Some(_), None, None, Some(_)) => {
                "pairs bring their documents, but [index] path names an index that exists; name queries and qrels of its \
                 documents, or leave [index] path out"
            }
            (None, Some(_), Some(_), Some(_)) if !set.corpus.is_empty() => {
                "leave corpus out: the documents are those of the index in [index] path"
            }
            (None, Some(_), Some(_), None) if set.corpus.is_empty() => {
                "corpus: name the files of the documents, or an index in [index] path"
            }
            (Some(_), None, None, _) | (None, Some(_), Some(_), _) => match (&self.folds, set.role)
            {
                (Some(_), Role::Validation) => {
                    "role: with [folds] validation queries come from the folds; use \"split\" or \"train\""
                }
                _ => return Ok(()),
            },
            _ => "name either pairs, or queries and qrels (or triples)",
        };
        Err(problem.into())
    }

    pub(super) fn resolve(&mut self, folder: &Path) {
        let absolute = |path: &mut PathBuf| *path = folder.join(&path);
        absolute(&mut self.output.model);
        self.output.work.iter_mut().for_each(absolute);
        let is_name = |base: &Path| base == Path::new(BUNDLED) || is_of_hub(base);
        let base = self.model.base.iter_mut();
        base.filter(|base| !is_name(base)).for_each(absolute);
        self.model.head.iter_mut().for_each(absolute);
        self.index.path.iter_mut().for_each(absolute);
        for set in &mut self.data.sets {
            let single = [
                &mut set.pairs,
                &mut set.queries,
                &mut set.qrels,
                &mut set.triples,
                &mut set.run,
                &mut set.pagerank,
                &mut set.spam,
            ];
            single.into_iter().flatten().for_each(absolute);
            set.corpus.iter_mut().for_each(absolute);
        }
        if let Some(baseline) = &mut self.baseline {
            let files = [&mut baseline.vectors, &mut baseline.from];
            files.into_iter().flatten().for_each(absolute);
        }
        if let Some(mixer) = &mut self.mixer {
            let files = [&mut mixer.queries, &mut mixer.pairs, &mut mixer.corpora];
            files.into_iter().flatten().for_each(absolute);
        }
        if let Some(folds) = &mut self.folds {
            folds.file.iter_mut().for_each(absolute);
        }
    }
}

fn is_of_hub(base: &Path) -> bool {
    base.to_str().is_some_and(|base| base.starts_with(HUB))
}
