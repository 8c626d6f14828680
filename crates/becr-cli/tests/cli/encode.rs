//! `becr encode` and `becr model convert` on a small random model.

use crate::becr;
use becr_model::{Config, Model, Storage, Weights};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nneural\nrank\n##ing\nmodel\n,\n";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    std::fs::create_dir(&model).unwrap();
    let config = Config::new(9, 16, 4, 2, 24, 12);
    config.write(&model.join("config.json")).unwrap();
    std::fs::write(model.join("vocab.txt"), VOCABULARY).unwrap();
    Weights::random(&config, 2, 10.0)
        .write(&model.join("model.safetensors"), Storage::F32)
        .unwrap();
    folder
}

/// The tensors of a file: shape and the values' bytes.
fn tensors(path: &Path) -> BTreeMap<String, (Vec<usize>, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let header_end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: BTreeMap<String, Value> = serde_json::from_slice(&bytes[8..header_end]).unwrap();
    let tensor = |(name, info): (String, Value)| {
        let numbers =
            |key: &str| -> Vec<usize> { serde_json::from_value(info[key].clone()).unwrap() };
        let offsets = numbers("data_offsets");
        (
            name,
            (
                numbers("shape"),
                bytes[header_end + offsets[0]..header_end + offsets[1]].to_vec(),
            ),
        )
    };
    header
        .into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .map(tensor)
        .collect()
}

fn encode(folder: &TempDir, arguments: &[&str]) -> crate::Outcome {
    becr(
        folder.path(),
        &[&["encode", "--model", "model"], arguments].concat(),
    )
}

#[test]
fn one_text_gives_every_layer_and_several_give_the_same_bits() {
    let folder = folder();
    let texts = ["neural ranking", "model", "", "neural neural neural, model"];
    let mut together = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let out = format!("{i}.safetensors");
        assert_eq!(
            encode(&folder, &["--text", text, "--out", &out]).code,
            Some(0)
        );
        together.extend(["--text", text]);
    }
    together.extend(["--out", "all.safetensors"]);
    assert_eq!(encode(&folder, &together).code, Some(0));
    let all = tensors(&folder.path().join("all.safetensors"));
    for (i, tokens) in [5, 3, 2, 7].into_iter().enumerate() {
        let one = tensors(&folder.path().join(format!("{i}.safetensors")));
        assert_eq!(one["hidden"].0, [5, tokens, 16]);
        assert!(
            one["hidden"] == all[&format!("hidden.{i}")],
            "text {i} depends on its company"
        );
    }
}

#[test]
fn footprints_and_json_name_tokens_and_words() {
    let folder = folder();
    let text = [
        "--text",
        "Neural ranking, model",
        "--footprints",
        "--layers",
        "0,4",
    ];
    let outcome = encode(&folder, &[&text[..], &["--out", "f.json"]].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let json: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("f.json")).unwrap()).unwrap();
    assert_eq!(json["layers"], serde_json::json!([0, 4]));
    let tokens = &json["texts"][0]["tokens"];
    assert_eq!(tokens[2], serde_json::json!({"token": "##ing", "word": 1}));
    assert_eq!(tokens[3], serde_json::json!({"token": ",", "word": null}));
    assert_eq!(
        json["texts"][0]["footprints"][1].as_array().unwrap().len(),
        5
    );
    assert_eq!(json["texts"][0]["cls"].as_array().unwrap().len(), 16);

    assert_eq!(
        encode(&folder, &[&text[..], &["--out", "f.safetensors"]].concat()).code,
        Some(0)
    );
    let (shape, bytes) = &tensors(&folder.path().join("f.safetensors"))["footprints"];
    assert_eq!(*shape, [2, 5, 8]);
    let hex: String = bytes.as_chunks().0[..8]
        .iter()
        .map(|b| format!("{:08x}", u32::from_le_bytes(*b)))
        .collect();
    assert_eq!(json["texts"][0]["footprints"][0][0], hex);

    assert_eq!(
        encode(&folder, &["--text", "model", "--out", "h.json"]).code,
        Some(0)
    );
    let json: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("h.json")).unwrap()).unwrap();
    let names: Vec<_> = (0..3)
        .map(|i| &json["texts"][0]["tokens"][i]["token"])
        .collect();
    assert_eq!(names, ["[CLS]", "model", "[SEP]"]);
    assert_eq!(
        json["texts"][0]["hidden"][4][2].as_array().unwrap().len(),
        16
    );
}

#[test]
fn files_of_any_kind_are_read() {
    let folder = folder();
    let lines = concat!(
        "{\"id\": \"1\", \"title\": \"model\", \"text\": \"neural \\ud800 ranking\"}\n",
        "{\"id\": \"2\", \"text\": \"model \\u0000\\u0007\"}\n",
    );
    std::fs::write(folder.path().join("two.jsonl"), lines).unwrap();
    let outcome = encode(
        &folder,
        &["--file", "two.jsonl", "--footprints", "--out", "two.json"],
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let json: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("two.json")).unwrap()).unwrap();
    let token = |text: usize, i: usize| json["texts"][text]["tokens"][i]["token"].as_str();
    assert_eq!(
        (token(0, 0), token(0, 1), token(0, 3)),
        (Some("model"), Some("neural"), Some("##ing"))
    );
    assert_eq!(json["texts"][0]["tokens"][0]["title"], true);
    assert_eq!((token(1, 0), token(1, 1)), (Some("model"), None));

    // Not UTF-8: to take it for something else would encode other words than it has.
    let other = [&b"neural \xff"[..], "model ".repeat(20).as_bytes()].concat();
    std::fs::write(folder.path().join("long.txt"), other).unwrap();
    let arguments = ["--file", "long.txt", "--out", "long.safetensors"];
    let refused = encode(&folder, &arguments);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("not UTF-8"), "{}", refused.stderr);

    // Longer than the model's twelve positions: three even segments of 7 pieces.
    std::fs::write(
        folder.path().join("long.txt"),
        format!("neural {}", "model ".repeat(20)),
    )
    .unwrap();
    assert_eq!(
        encode(
            &folder,
            &["--file", "long.txt", "--out", "long.safetensors"]
        )
        .code,
        Some(0)
    );
    let long = tensors(&folder.path().join("long.safetensors"));
    assert_eq!(long["hidden"].0[1], 21 + 2 * 3);
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder();
    for (arguments, code, say) in [
        (
            &["--text", "a", "--out", "x.txt"][..],
            1,
            ".safetensors or .json",
        ),
        (
            &["--text", "a", "--out", "x.json", "--layers", "9"],
            2,
            "expected",
        ),
        (
            &["--text", "a", "--out", "x.json", "--layers", "0,9"],
            1,
            "layer 9",
        ),
        (
            &["--text", "a", "--out", "no/where.safetensors"],
            1,
            "no/where.safetensors",
        ),
        (&["--out", "x.json"], 2, "--text"),
        (
            &["--file", "missing.txt", "--out", "x.json"],
            1,
            "missing.txt",
        ),
    ] {
        let outcome = encode(&folder, arguments);
        assert_eq!(
            outcome.code,
            Some(code),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains(say),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    std::fs::remove_file(folder.path().join("model/model.safetensors")).unwrap();
    let outcome = encode(&folder, &["--text", "a", "--out", "x.json"]);
    assert!(
        outcome.code == Some(1) && outcome.stderr.contains("model.safetensors"),
        "{}",
        outcome.stderr
    );
}

#[cfg(not(feature = "burn"))]
#[test]
fn burn_is_a_feature() {
    for (flags, say) in [
        (["--backend", "burn", "--device", "cpu"], "--features burn"),
        (["--backend", "burn", "--device", "cuda"], "--features cuda"),
        (
            ["--backend", "native", "--device", "cuda"],
            "--backend burn",
        ),
    ] {
        let arguments = [&["--text", "a", "--out", "x.json"], &flags[..]].concat();
        let outcome = encode(&folder(), &arguments);
        assert_eq!(outcome.code, Some(1));
        assert!(outcome.stderr.contains(say), "{}", outcome.stderr);
    }
}

#[cfg(feature = "burn")]
#[test]
fn burn_agrees_with_our_own_code() {
    let folder = folder();
    let states = |backend: &str, out: &str| -> Vec<f32> {
        let texts = ["--text", "neural ranking", "--text", "model"];
        let arguments = [&texts[..], &["--out", out, "--backend", backend]].concat();
        let outcome = encode(&folder, &arguments);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let tensors = tensors(&folder.path().join(out));
        let bytes = tensors
            .values()
            .flat_map(|(_, bytes)| bytes.chunks_exact(4));
        bytes
            .map(|x| f32::from_le_bytes(x.try_into().unwrap()))
            .collect()
    };
    let native = states("native", "native.safetensors");
    let burn = states("burn", "burn.safetensors");
    assert_eq!(native.len(), burn.len());
    let pairs = native.iter().zip(&burn);
    let difference = pairs.fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()));
    assert!(difference < 2e-4, "{difference}");
}

/// What is looked at are whole tokens, at any layers, also where the model's footprints are relative.
#[test]
fn relative_models_are_encoded_as_others_are() {
    let folder = folder();
    let prepare = |more: &str| {
        let command = format!("model prepare {more}");
        becr(folder.path(), &command.split(' ').collect::<Vec<_>>())
    };
    let outcome = prepare("model --out relative --layers 1 --relative");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(prepare("relative --out no --layers 5").code == Some(1));
    let outcome = prepare("relative --out whole --layers 5 --relative=false");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for footprints in [false, true] {
        let look = |model: &str| {
            let out = format!("{model}.safetensors");
            let command = format!("encode --model {model} --text neural --out {out}");
            let mut arguments: Vec<&str> = command.split(' ').collect();
            arguments.extend(footprints.then_some("--footprints"));
            let outcome = becr(folder.path(), &arguments);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            tensors(&folder.path().join(out))
        };
        assert_eq!(look("relative"), look("model"));
    }
}

#[test]
fn models_convert() {
    let folder = folder();
    for dtype in ["f16", "int8", "f32"] {
        let outcome = becr(
            folder.path(),
            &[
                "model", "convert", "model", "--out", dtype, "--dtype", dtype,
            ],
        );
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let model = Model::read(folder.path().join(dtype)).unwrap();
        assert!(
            outcome.stdout.contains(&model.encoder_id()),
            "{}",
            outcome.stdout
        );
    }
    let [exact, copy] = ["model", "f32"].map(|name| Model::read(folder.path().join(name)).unwrap());
    assert_eq!(exact.weights, copy.weights);
}

#[test]
fn the_instructions_can_be_chosen() {
    let folder = folder();
    let run = |simd: &str| {
        let arguments = [
            "encode",
            "--model",
            "model",
            "--text",
            "neural model",
            "--out",
            "x.safetensors",
        ];
        let becr = std::process::Command::new(env!("CARGO_BIN_EXE_becr"))
            .args(arguments)
            .env("BECR_SIMD", simd)
            .current_dir(folder.path())
            .output()
            .unwrap();
        (becr.status.code(), String::from_utf8(becr.stderr).unwrap())
    };
    assert_eq!(run("portable").0, Some(0));
    let (code, message) = run("sse9");
    assert!(
        code == Some(1) && message.contains("BECR_SIMD=sse9"),
        "{message}"
    );
}
