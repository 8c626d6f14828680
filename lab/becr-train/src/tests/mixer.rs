//! The training of a mixer, on texts and a random encoder.

use super::sample::Sample;
use crate::config::Config;
use crate::mixer::{self, HeldOut};
use crate::{Observer, Step};
use becr_encoder::{Mixed, Mixer, Precision};
use becr_encoder_burn::{Cpu, MASKED, MixerInput, MixerLayout, MixerParameters};
use becr_model::{MIXER_FILE, Model};
use burn::tensor::{Tensor, TensorData};
use std::fs;
use std::path::Path;

const CHECKPOINT: &str = "m.training/mixer-seed-3/checkpoint.safetensors";

/// Remembers what it is told, and puts the checkpoint of a step aside.
#[derive(Default)]
struct Recorder {
    losses: Vec<f64>,
    held_out: Vec<HeldOut>,
    notes: Vec<String>,
    aside: Option<(usize, std::path::PathBuf, std::path::PathBuf)>,
}

impl Observer for Recorder {
    fn step(&mut self, step: &Step) {
        self.losses.push(step.loss);
    }

    fn held_out(&mut self, held_out: &HeldOut) {
        self.held_out.push(*held_out);
        if let Some((step, from, to)) = &self.aside
            && *step == held_out.step
        {
            fs::copy(from, to).unwrap();
        }
    }

    fn note(&mut self, message: &str) {
        self.notes.push(message.into());
    }
}

/// A configuration in a folder of its own, with texts of the sample's words.
fn config(folder: &Path, model: &Model, more: &str) -> Config {
    let words = [
        "river", "bank", "water", "money", "loan", "star", "moon", "bread", "oven", "the", "of",
        "quay", "small",
    ];
    let text = |seed: usize, count: usize| -> String {
        let word = |at: usize| words[(seed * 7 + at * (3 + seed % 5) + at * at) % words.len()];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    };
    let line = |n: usize| format!("q{n}\t{}\n", text(n, 1 + n % 6));
    let left_out = "ms1\tzebra zebra\n";
    let queries: String = (0..60).map(line).collect();
    fs::write(folder.join("queries.tsv"), queries + left_out).unwrap();
    let line = |n: usize| {
        format!(
            "{{\"id\": \"d{n}\", \"text\": \"{}\"}}\n",
            text(n + 100, 40)
        )
    };
    let corpus: String = (0..20).map(line).collect();
    fs::write(folder.join("corpus.jsonl"), corpus).unwrap();
    let base = model.directory.display();
    let toml = format!(
        "[model]\nbase = \"{base}\"\n[output]\nmodel = \"m\"\n[mixer]\nlayers = 1\nfeed_forward = 24\nheads = 2\npositions = 6\n\
         steps = 80\nbatch = 12\nlearning_rate = 5e-3\nwarm_up = 5\nseed = 3\nheld_out = 0.2\nevaluate_every = 20\n\
         checkpoint_every = 20\nqueries = [\"queries.tsv\"]\nleave_out = [\"ms\"]\ncorpora = [\"corpus.jsonl\"]\n{more}"
    );
    Config::parse(&toml, &folder.join("mixer.toml")).unwrap()
}

#[test]
fn a_mixer_learns_goes_on_and_is_served() {
    learns("");
}

#[test]
fn so_does_one_that_starts_from_the_encoders_layers() {
    learns("kind = \"encoder_layers\"\nstop_weight = 0.5\nsimilarity_weight = 2.0\n");
}

fn learns(more: &str) {
    let sample = Sample::relative();
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), &sample.model, more);
    let aside = folder.path().join("aside");
    let mut recorder = Recorder {
        // At that time the last checkpoint is that of step 40.
        aside: Some((60, folder.path().join(CHECKPOINT), aside.clone())),
        ..Recorder::default()
    };
    let outcome = mixer::train(&config, &mut recorder).unwrap();
    assert_eq!((outcome.steps, recorder.losses.len()), (80, 4));
    assert!(outcome.texts.held_out > 0 && outcome.texts.documents == 20);
    assert_eq!(outcome.texts.distinct_words, 13, "zebra was left out");
    let (first, last) = (recorder.losses[0], recorder.losses[3]);
    assert!(last < 0.9 * first, "{:?}", recorder.losses);
    let [early, .., late] = recorder.held_out[..] else {
        panic!("{:?}", recorder.held_out)
    };
    assert!(late.words > early.words && late.query > early.query);
    assert!(late.words <= 1.0 && late.query <= 1.0);

    // The same, killed after step 40.
    let mixed_file = folder.path().join("m").join(MIXER_FILE);
    let whole = fs::read(&mixed_file).unwrap();
    fs::remove_dir_all(folder.path().join("m")).unwrap();
    fs::rename(&aside, folder.path().join(CHECKPOINT)).unwrap();
    let mut resumed = Recorder::default();
    mixer::train(&config, &mut resumed).unwrap();
    assert!(resumed.notes.iter().any(|note| note.contains("step 40")));
    assert_eq!(resumed.losses, recorder.losses[2..]);
    assert_eq!(fs::read(&mixed_file).unwrap(), whole);

    served(
        &Model::read(folder.path().join("m")).unwrap(),
        &sample.model,
    );
}

/// The file holds what was trained, and the CPU computes what burn does.
fn served(model: &Model, base: &Model) {
    assert_eq!(model.encoder_id(), base.encoder_id());
    let weights = model.mixer.as_ref().unwrap();
    weights
        .check_encoder(&base.encoder_id(), Path::new("m"))
        .unwrap();
    let last = weights.tensors().pop().unwrap();
    assert!(last.data.iter().any(|&x| x != 0.0), "{}", last.name);
    let dim = model.config.hidden_size;
    for count in [1, 4, 9] {
        let mut words: Vec<f32> = (0..count * dim)
            .map(|at| ((at * 37 % 101) as f32 - 50.0) / 50.0)
            .collect();
        for word in words.chunks_exact_mut(dim) {
            let length = word.iter().map(|x| x * x).sum::<f32>().sqrt();
            word.iter_mut().for_each(|x| *x /= length);
        }
        let burn = burn_forward(weights, &words, count);
        let mut mixed = Mixed::default();
        let mixer = Mixer::with_precision(weights, Precision::F32).unwrap();
        mixer.mix(&words, &mut mixed);
        let found: Vec<f32> = [mixed.query, mixed.terms].concat();
        assert_eq!(found.len(), burn.len());
        for (a, b) in found.iter().zip(&burn) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        let mut mixed = Mixed::default();
        Mixer::new(weights).unwrap().mix(&words, &mut mixed);
        for (a, b) in mixed.terms.chunks(dim).zip(burn[dim..].chunks(dim)) {
            let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            assert!(cosine > 0.995, "{cosine}");
        }
    }
}

/// Query and words, beside a second query that must not be seen.
fn burn_forward(weights: &becr_model::MixerWeights, words: &[f32], count: usize) -> Vec<f32> {
    let device = Default::default();
    let layout = MixerLayout::new(weights);
    let dim = words.len() / count;
    let slots = count + 3;
    let row = Tensor::<Cpu, 1>::from_data(
        TensorData::new(layout.row(weights), [layout.numbers()]),
        &device,
    );
    let parameters = MixerParameters::new(&layout, layout.cut(&row));
    let own = |slot: usize| slot <= count;
    let mut vectors = vec![0.0; slots * dim];
    vectors[dim..dim * (count + 1)].copy_from_slice(words);
    vectors[dim * (count + 2)..].fill(0.3);
    let columns = layout.places();
    let mut places = vec![0.0; slots * columns];
    for slot in 0..slots {
        let row = &mut places[slot * columns..][..columns];
        match slot == 0 || slot == count + 1 {
            true => row[layout.positions()] = 1.0,
            false => {
                row[(slot - 1).min(layout.positions() - 1)] = 1.0;
                row[layout.positions() + 1] = 1.0;
            }
        }
    }
    let mut mask = vec![MASKED; slots * slots];
    let mut means = vec![0.0; slots * slots];
    for at in 0..slots * slots {
        let (to, from) = (at / slots, at % slots);
        if own(to) == own(from) {
            mask[at] = 0.0;
        }
        if to == 0 && own(from) {
            means[at] = 1.0 / layout.sharers(count) as f32;
        }
    }
    let input = MixerInput {
        words: Tensor::from_data(TensorData::new(vectors, [1, slots, dim]), &device),
        places: Tensor::from_data(TensorData::new(places, [slots, columns]), &device),
        mask: Tensor::from_data(TensorData::new(mask, [1, 1, slots, slots]), &device),
        means: Tensor::from_data(TensorData::new(means, [1, slots, slots]), &device),
    };
    let mut mixed: Vec<f32> = parameters.forward(input).into_data().to_vec().unwrap();
    mixed.truncate((count + 1) * dim);
    for row in mixed.chunks_exact_mut(dim) {
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter_mut().for_each(|x| *x /= length);
    }
    mixed
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let sample = Sample::relative();
    let folder = tempfile::tempdir().unwrap();
    let with = |more: &str| config(folder.path(), &sample.model, more);
    let mut none = with("");
    let section = none.mixer.as_mut().unwrap();
    section.heads = 3;
    let message = mixer::train(&none, &mut ()).unwrap_err().to_string();
    assert!(
        message.contains("heads") && message.contains("16"),
        "{message}"
    );
    let other = Sample::new();
    let message = mixer::train(&config(folder.path(), &other.model, ""), &mut ())
        .unwrap_err()
        .to_string();
    assert!(message.contains("--relative"), "{message}");
    // A checkpoint of another training is not gone on from.
    let mut short = with("");
    short.mixer.as_mut().unwrap().steps = 20;
    mixer::train(&short, &mut ()).unwrap();
    let message = mixer::train(&with(""), &mut ()).unwrap_err().to_string();
    assert!(message.contains("--restart"), "{message}");
    mixer::forget(&with("")).unwrap();
    assert!(!folder.path().join(CHECKPOINT).exists());
}
