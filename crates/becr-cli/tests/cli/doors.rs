//! The product stands without the laboratory.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn nothing_under_crates_depends_on_the_laboratory() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(&root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lab = root.join("lab");
    let (mut inside, mut outside) = (Vec::new(), 0);
    for package in list(&metadata, "packages") {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        if manifest.starts_with(&lab) {
            inside.push(&package["id"]);
            continue;
        }
        outside += 1;
        // Of every kind: normal, of builds, of tests.
        for dependency in list(package, "dependencies") {
            let path = dependency["path"].as_str().unwrap_or_default();
            assert!(
                !Path::new(path).starts_with(&lab),
                "{} depends on {}, which is in lab/",
                package["name"],
                dependency["name"]
            );
        }
    }
    assert!(outside > 20, "{outside}");
    assert!(inside.len() >= 3, "{inside:?}");
    // Nor is the laboratory built without being asked for.
    for default in list(&metadata, "workspace_default_members") {
        assert!(!inside.contains(&default), "{default}");
    }
}
