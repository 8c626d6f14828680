//! Model directories as they come: whole, converted, and broken in every way we could think of.

use becr_model::{Config, Layers, Model, ModelError, Settings, Storage, Weights};
use std::path::Path;
use tempfile::TempDir;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nneural\nrank\n##ing\n";

fn config() -> Config {
    Config::new(7, 8, 2, 2, 12, 16)
}

/// A small model on disk.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let config = config();
    config.write(&directory.path().join("config.json")).unwrap();
    std::fs::write(directory.path().join("vocab.txt"), VOCABULARY).unwrap();
    let weights = Weights::random(&config, 5, 3.0);
    weights
        .write(&directory.path().join("model.safetensors"), Storage::F32)
        .unwrap();
    directory
}

/// Name, number format, shape and bytes.
type RawTensor = (String, String, Vec<usize>, Vec<u8>);

fn read_raw(path: &Path) -> Vec<RawTensor> {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensor = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        (
            name,
            format!("{:?}", view.dtype()),
            view.shape().to_vec(),
            view.data().to_vec(),
        )
    };
    let mut list: Vec<_> = file.tensors().into_iter().map(tensor).collect();
    list.sort();
    list
}

fn write_raw(path: &Path, tensors: &[RawTensor]) {
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert(
            name.clone(),
            serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}),
        );
        data.extend(bytes);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    std::fs::write(path, file).unwrap();
}

/// Changes the raw tensors of a fresh model and reads it.
fn with_tensors(change: impl FnOnce(&mut Vec<RawTensor>)) -> Result<Model, ModelError> {
    let directory = directory();
    let path = directory.path().join("model.safetensors");
    let mut tensors = read_raw(&path);
    change(&mut tensors);
    write_raw(&path, &tensors);
    Model::read(directory.path())
}

/// Changes `config.json` of a fresh model and reads it.
fn with_config(key: &str, value: serde_json::Value) -> Result<Model, ModelError> {
    let directory = directory();
    let path = directory.path().join("config.json");
    let mut config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    config[key] = value;
    std::fs::write(&path, config.to_string()).unwrap();
    Model::read(directory.path())
}

#[track_caller]
fn assert_says(result: Result<Model, ModelError>, parts: &[&str]) {
    let message = result.expect_err("this model must be refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

fn widen(to: &str, bytes: &[u8]) -> Vec<u8> {
    let values = bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b));
    match to {
        "F16" => values
            .flat_map(|x| half::f16::from_f32(x).to_le_bytes())
            .collect(),
        _ => values
            .flat_map(|x| half::bf16::from_f32(x).to_le_bytes())
            .collect(),
    }
}

#[test]
fn what_is_written_is_read() {
    let first = directory();
    let mut model = Model::read(first.path()).unwrap();
    model
        .config
        .other
        .insert("architectures".into(), serde_json::json!(["BertModel"]));
    model
        .config
        .other
        .insert("torch_dtype".into(), "float32".into());
    model.config.becr = Some(Settings {
        layers: Layers::Last,
        ..Settings::default()
    });
    let second = tempfile::tempdir().unwrap();
    model.write(second.path(), Storage::F32).unwrap();
    let again = Model::read(second.path()).unwrap();
    assert_eq!(
        (&again.weights, &again.config),
        (&model.weights, &model.config)
    );
    assert_eq!(again.tokenizer.bytes, VOCABULARY.as_bytes());
    assert_eq!(again.encoder_id(), model.encoder_id());
    model.write(second.path(), Storage::F16).unwrap();
    assert_eq!(
        Model::read(second.path()).unwrap().config.other["torch_dtype"],
        "float16"
    );
}

#[test]
fn half_precision_is_read_to_its_precision() {
    let exact = Model::read(directory().path()).unwrap().weights;
    for (kind, tolerance) in [("F16", 1.0 / 2048.0), ("BF16", 1.0 / 256.0)] {
        let model = with_tensors(|tensors| {
            for (_, dtype, _, bytes) in tensors {
                *bytes = widen(kind, bytes);
                *dtype = kind.into();
            }
        });
        let read = model.unwrap().weights;
        for (a, b) in exact.tensors().iter().zip(read.tensors()) {
            let close = a
                .data
                .iter()
                .zip(b.data)
                .all(|(x, y)| (x - y).abs() <= x.abs() * tolerance + 1e-7);
            assert!(close, "{kind} {}", a.name);
        }
    }
}

#[test]
fn int8_is_within_half_a_step_of_its_row() {
    let source = directory();
    let model = Model::read(source.path()).unwrap();
    let small = tempfile::tempdir().unwrap();
    model.write(small.path(), Storage::I8).unwrap();
    let tensors = read_raw(&small.path().join("model.safetensors"));
    let dtype = |name: &str| tensors.iter().find(|t| t.0 == name).map(|t| t.1.as_str());
    assert_eq!(dtype("embeddings.word_embeddings.weight"), Some("I8"));
    assert_eq!(
        dtype("embeddings.word_embeddings.weight.scale"),
        Some("F32")
    );
    assert_eq!(dtype("embeddings.LayerNorm.weight"), Some("F32"));
    let read = Model::read(small.path()).unwrap();
    assert!(
        read.weights.extra.is_empty(),
        "scales are not extra tensors"
    );
    for (a, b) in model.weights.tensors().iter().zip(read.weights.tensors()) {
        let row = *a.shape.last().unwrap();
        for (x, y) in a.data.chunks_exact(row).zip(b.data.chunks_exact(row)) {
            let step = x.iter().fold(0f32, |most, x| most.max(x.abs())) / 127.0;
            assert!(
                x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 0.5001 * step),
                "{}",
                a.name
            );
        }
    }
}

#[test]
fn prefixes_old_names_and_extra_tensors_are_understood() {
    let plain = Model::read(directory().path()).unwrap();
    let model = with_tensors(|tensors| {
        for (name, ..) in tensors.iter_mut() {
            *name = format!("bert.{name}")
                .replace("LayerNorm.weight", "LayerNorm.gamma")
                .replace("LayerNorm.bias", "LayerNorm.beta");
        }
        tensors.push((
            "bert.embeddings.position_ids".into(),
            "I64".into(),
            vec![1, 1],
            vec![0; 8],
        ));
        tensors.push((
            "classifier.weight".into(),
            "F32".into(),
            vec![1, 2],
            vec![0; 8],
        ));
    });
    let model = model.unwrap();
    assert_eq!(model.weights.prefix, "bert.");
    assert_eq!(model.weights.tensors().len(), plain.weights.tensors().len());
    assert_eq!(model.weights.layers, plain.weights.layers);
    assert_eq!(
        model.encoder_id(),
        plain.encoder_id(),
        "names do not make another encoder"
    );
    assert_eq!(
        model.weights.extra.keys().collect::<Vec<_>>(),
        ["classifier.weight"]
    );
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("model.safetensors");
    model.weights.write(&path, Storage::F32).unwrap();
    let names: Vec<String> = read_raw(&path).into_iter().map(|tensor| tensor.0).collect();
    assert!(names.contains(&"bert.embeddings.LayerNorm.weight".into()));
    assert!(names.contains(&"classifier.weight".into()));
}

#[test]
fn the_id_follows_what_footprints_depend_on() {
    let model = Model::read(directory().path()).unwrap();
    let id = model.encoder_id();
    assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()));
    let changed = |change: fn(&mut Model)| {
        let mut model = model.clone();
        change(&mut model);
        model.encoder_id()
    };
    fn settings(model: &mut Model) -> &mut Settings {
        model.config.becr.get_or_insert_default()
    }
    let others = [
        changed(|m| m.weights.layers[1].ffn_out.bias[3] += 1.0),
        changed(|m| m.tokenizer.bytes.push(b'\n')),
        changed(|m| settings(m).layers = Layers::Last),
        changed(|m| settings(m).bits = Some(128)),
        changed(|m| settings(m).bits = None),
        changed(|m| settings(m).relative = true),
        changed(|m| settings(m).hyperplanes.seed = 1),
        changed(|m| settings(m).hyperplanes.kind = becr_model::HyperplaneKind::Gaussian),
        changed(|m| m.config.num_attention_heads = 4),
    ];
    for (i, other) in others.iter().enumerate() {
        assert!(
            *other != id && !others[..i].contains(other),
            "change {i} went unnoticed"
        );
    }
    // Heads may be swapped on a living index.
    assert_eq!(changed(|m| settings(m).window = 1), id);
    assert_eq!(changed(|m| settings(m).kernels.sigma[0] = 0.5), id);
    assert_eq!(
        changed(|m| settings(m).layers = Layers::Chosen(vec![0, 1, 2])),
        id
    );
}

#[test]
fn relative_footprints_need_what_they_need() {
    let refused = |hidden_size: usize, change: fn(&mut Settings)| {
        let mut config = Config::new(7, hidden_size, 2, 2, 12, 16);
        let mut settings = Settings {
            layers: Layers::Last,
            relative: true,
            ..Settings::default()
        };
        change(&mut settings);
        config.becr = Some(settings);
        config
            .check("config.json".as_ref())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(refused(8, |_| ()), None);
    for error in [
        refused(12, |_| ()),
        refused(8, |s| s.bits = None),
        refused(8, |s| s.layers = Layers::All),
    ] {
        assert!(error.unwrap().contains("becr.relative"));
    }
    // A setting of earlier versions: refused where it meant something.
    let old = |value: serde_json::Value| {
        let mut settings = Settings::default();
        settings.other.insert("document_vector_bits".into(), value);
        let mut config = config();
        config.becr = Some(settings);
        config.check("config.json".as_ref())
    };
    assert!(old(serde_json::Value::Null).is_ok());
    assert!(
        old(1024.into())
            .unwrap_err()
            .to_string()
            .contains("--relative")
    );
}

#[test]
fn broken_weights_name_the_file_and_the_tensor() {
    let query = "encoder.layer.1.attention.self.query.weight";
    let at = |tensors: &mut Vec<RawTensor>| tensors.iter().position(|t| t.0 == query).unwrap();
    let file = "model.safetensors";
    assert_says(
        with_tensors(|t| {
            let i = at(t);
            t.remove(i);
        }),
        &[file, query, "missing", "[8, 8]"],
    );
    assert_says(
        with_tensors(|t| {
            let i = at(t);
            t[i].2 = vec![4, 16];
        }),
        &[file, query, "[4, 16]", "[8, 8]"],
    );
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        let broken = with_tensors(|t| {
            let i = at(t);
            t[i].3[20..24].copy_from_slice(&value.to_le_bytes());
        });
        assert_says(broken, &[file, query, word, "element 5"]);
    }
    assert_says(
        with_tensors(|t| {
            let i = at(t);
            t[i].1 = "I32".into();
        }),
        &[file, query, "I32", "F16"],
    );
    let int8 = |t: &mut Vec<RawTensor>| {
        let i = at(t);
        t[i].1 = "I8".into();
        t[i].3 = vec![1; 64];
    };
    assert_says(
        with_tensors(int8),
        &[file, "query.weight.scale", "missing", "[8]"],
    );
    let short_scale = |t: &mut Vec<RawTensor>| {
        int8(t);
        t.push((format!("{query}.scale"), "F32".into(), vec![7], vec![0; 28]));
    };
    assert_says(
        with_tensors(short_scale),
        &[file, "query.weight.scale", "[7]", "[8]"],
    );
}

#[test]
fn truncated_files_name_the_tensor_that_is_cut() {
    let directory = directory();
    let path = directory.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    let last = read_raw(&path).len();
    assert_eq!(last, 5 + 2 * 16);
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    for keep in [0, 7, 8, header - 1, header, header + 100, whole.len() - 1] {
        std::fs::write(&path, &whole[..keep]).unwrap();
        assert_says(
            Model::read(directory.path()),
            &["model.safetensors", "truncated", &format!("found {keep}")],
        );
    }
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["encoder.layer.1.output.LayerNorm.bias"],
    );
    std::fs::write(&path, &whole[..header + 100]).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["embeddings.word_embeddings.weight"],
    );
    std::fs::write(&path, b"\x10\0\0\0\0\0\0\0{\"not\": a header").unwrap();
    assert_says(
        Model::read(directory.path()),
        &["model.safetensors", "not a valid safetensors file"],
    );
}

#[test]
fn other_architectures_are_refused_by_name() {
    assert_says(
        with_config("model_type", "roberta".into()),
        &["config.json", "model_type", "roberta", "bert"],
    );
    assert_says(
        with_config("model_type", serde_json::Value::Null),
        &["config.json", "model_type", "missing"],
    );
    assert_says(
        with_config("hidden_act", "relu".into()),
        &["config.json", "hidden_act", "relu", "gelu"],
    );
    let relative = with_config("position_embedding_type", "relative_key".into());
    assert_says(
        relative,
        &[
            "config.json",
            "position_embedding_type",
            "relative_key",
            "absolute",
        ],
    );
}

#[test]
fn impossible_configurations_are_refused() {
    for (key, value, say) in [
        ("num_attention_heads", 3.into(), "does not divide"),
        ("num_attention_heads", 0.into(), "is 0"),
        ("hidden_size", (-1).into(), "line 1"),
        ("vocab_size", 1_000_000_000.into(), "vocab_size"),
        ("layer_norm_eps", (-1.0).into(), "layer_norm_eps"),
        (
            "max_position_embeddings",
            2.into(),
            "max_position_embeddings",
        ),
        ("becr", serde_json::json!({"layers": 5}), "becr.layers"),
        ("becr", serde_json::json!({"layers": [0, 9]}), "becr.layers"),
        ("becr", serde_json::json!({"layers": "some"}), "layers"),
        ("becr", serde_json::json!({"bits": 100}), "becr.bits"),
        ("becr", serde_json::json!({"window": 0}), "becr.window"),
        (
            "becr",
            serde_json::json!({"kernels": {"mu": [0.0]}}),
            "becr.kernels",
        ),
        (
            "becr",
            serde_json::json!({"kernels": {"mu": [0.0], "sigma": [0.0]}}),
            "becr.kernels",
        ),
    ] {
        assert_says(with_config(key, value), &["config.json", say]);
    }
}

#[test]
fn vocabularies_must_fit() {
    let directory = directory();
    let vocabulary = directory.path().join("vocab.txt");
    std::fs::write(&vocabulary, format!("{VOCABULARY}extra\n")).unwrap();
    let parts = [
        "vocab.txt",
        "\"extra\"",
        "id 7",
        "embeddings.word_embeddings.weight",
        "7 rows",
    ];
    assert_says(Model::read(directory.path()), &parts);
    std::fs::write(&vocabulary, "[PAD]\n[UNK]\n[CLS]\n").unwrap();
    assert_says(Model::read(directory.path()), &["vocab.txt", "[SEP]"]);
    std::fs::write(&vocabulary, b"[PAD]\n\xff\n").unwrap();
    assert_says(
        Model::read(directory.path()),
        &["vocab.txt", "line 2", "UTF-8"],
    );
    std::fs::remove_file(&vocabulary).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["tokenizer.json", "vocab.txt"],
    );

    let json = directory.path().join("tokenizer.json");
    let tokenizer = serde_json::json!({
        "added_tokens": [{"id": 9, "content": "[NEW]"}],
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3}},
    });
    std::fs::write(&json, tokenizer.to_string()).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["tokenizer.json", "[NEW]", "id 9"],
    );
    std::fs::write(&json, r#"{"model": {"type": "BPE", "vocab": {}}}"#).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["tokenizer.json", "WordPiece", "BPE"],
    );
    std::fs::write(&json, "{").unwrap();
    assert_says(Model::read(directory.path()), &["tokenizer.json", "line 1"]);
}

#[test]
fn missing_files_say_what_a_model_is() {
    let directory = directory();
    std::fs::remove_file(directory.path().join("model.safetensors")).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["model.safetensors", "not found"],
    );
    std::fs::remove_file(directory.path().join("config.json")).unwrap();
    assert_says(
        Model::read(directory.path()),
        &["config.json", "not found", "directory"],
    );
}
