//! What is done to an index while something goes wrong, and what must hold afterwards.

use crate::trace::Recording;
use anyhow::{Context, bail, ensure};
use becr_model::{Config, Storage, Weights};
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const WORDS: [&str; 10] = [
    "river", "bank", "money", "loan", "the", "fish", "boat", "of", "spring", "water",
];
/// The index that commands change.
const LIVE: &str = "live";
/// Stands for a name of the state's own.
const NAME: &str = "{name}";

/// Where states are made, and what with.
pub(crate) struct World {
    pub(crate) becr: PathBuf,
    pub(crate) root: PathBuf,
    redis: Option<Redis>,
}

/// A server that ends with the machine.
struct Redis {
    server: Child,
    port: u16,
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A command with a beginning and an end.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The folder in which it begins.
    pub(crate) template: PathBuf,
    pub(crate) command: Vec<String>,
    /// What is typed after a fault.
    retry: Vec<String>,
    /// Whether the retry is of use when the work is done already.
    can_repeat: bool,
    /// The digests of the index before, if there is one, and after.
    before: Option<String>,
    after: String,
    /// Whether states between the two are right.
    has_between: bool,
    /// None for a command that changes no files.
    pub(crate) recording: Option<Recording>,
    /// Every state is made in one folder, one after the other: a build that goes on looks whether its documents have the
    /// same path.
    pub(crate) place: Mutex<PathBuf>,
    /// How often it makes a call.
    pub(crate) counts: HashMap<String, usize>,
}

impl World {
    pub(crate) fn new(becr: &Path, root: &Path) -> anyhow::Result<Self> {
        let world = Self {
            becr: becr.to_owned(),
            root: root.to_owned(),
            redis: start_redis(root)?,
        };
        let base = root.join("base");
        fs::create_dir(&base)?;
        model(&base.join("model"))?;
        corpus(&base.join("base.jsonl"), 0..30, 0)?;
        corpus(&base.join("more.jsonl"), 40..60, 0)?;
        corpus(&base.join("changed.jsonl"), 10..25, 5)?;
        fs::create_dir(base.join("notes"))?;
        for n in 0..24 {
            fs::write(base.join(format!("notes/{n}.md")), text(n, 0))?;
        }
        let build = |corpus: &str, out: &str| {
            world.run(
                &base,
                &strings(&["index", corpus, "--out", out, "--model", "model"]),
            )
        };
        build("base.jsonl", LIVE)?;
        // As many segments as are left alone: the next commit has them merged in the background.
        for n in 30..36 {
            corpus(&base.join("one.jsonl"), n..n + 1, 0)?;
            world.run(&base, &strings(&["add", LIVE, "one.jsonl"]))?;
        }
        // Parts of a merge have the same token groups, or none.
        for (corpus, part) in [("base.jsonl", "part"), ("more.jsonl", "other")] {
            let build = [
                "index", corpus, "--out", part, "--model", "model", "--mode", "encoded",
            ];
            world.run(&base, &strings(&build))?;
        }
        Ok(world)
    }

    /// Runs `becr`, which must succeed.
    pub(crate) fn run(&self, folder: &Path, arguments: &[String]) -> anyhow::Result<Output> {
        let output = self.call(folder, arguments)?;
        ensure!(
            output.status.success(),
            "{}: {:?}: {}{}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output)
    }

    fn call(&self, folder: &Path, arguments: &[String]) -> anyhow::Result<Output> {
        let output = Command::new(&self.becr)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !said.contains("panicked"),
            "{}: {said}",
            arguments.join(" ")
        );
        Ok(output)
    }

    /// What an index in a cluster says of its contents; `verify` compares them with each other.
    fn contents(&self, folder: &Path, index: &str) -> anyhow::Result<String> {
        let output = self.run(folder, &strings(&["stats", index, "--json"]))?;
        let stats: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(format!("{} {}", stats["encoder_id"], stats["documents"]))
    }

    fn digest(&self, folder: &Path, index: &str) -> anyhow::Result<String> {
        let output = self.run(folder, &strings(&["stats", index, "--digest", "--json"]))?;
        let stats: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let digest = stats["store"]["digest"].as_str();
        Ok(digest.context("no digest")?.to_owned())
    }
}

/// All commands; those of a cluster where there is a server.
pub(crate) fn all(world: &World) -> anyhow::Result<Vec<Scenario>> {
    let add = ["add", LIVE, "more.jsonl"];
    let build = ["index", "more.jsonl", "--out", "new", "--model", "model"];
    let overwrite = [
        "index",
        "more.jsonl",
        "--out",
        LIVE,
        "--model",
        "model",
        "--overwrite",
    ];
    let merge = ["merge", "part", "other", "--out", "new"];
    let over_merge = ["merge", "part", "other", "--out", LIVE, "--overwrite"];
    let mut all = vec![
        Scenario::new(
            world,
            "add",
            &add,
            &[&add[..], &["--existing", "skip"]].concat(),
        )?,
        Scenario::new(world, "update", &["update", LIVE, "changed.jsonl"], &[])?,
        Scenario::new(
            world,
            "delete",
            &["delete", LIVE, "d1", "d7", "d30", "d33"],
            &[],
        )?
        .once(),
        Scenario::synced(world)?,
        Scenario::new(world, "compact", &["compact", LIVE], &[])?,
        Scenario::new(world, "index", &build, &[])?.once(),
        Scenario::new(world, "overwrite", &overwrite, &[])?,
        Scenario::new(world, "merge", &merge, &[])?.once(),
        Scenario::new(world, "merge over", &over_merge, &[])?,
    ];
    if world.redis.is_some() {
        all.push(Scenario::exported(world)?);
    }
    Ok(all)
}

impl Scenario {
    /// A command in a folder of its own. Without another one it is repeated as it is.
    fn new(
        world: &World,
        name: &'static str,
        command: &[&str],
        retry: &[&str],
    ) -> anyhow::Result<Self> {
        let template = world
            .root
            .join(format!("template-{}", name.replace(' ', "-")));
        copy(&world.root.join("base"), &template)?;
        Self::recorded(world, name, template, command, retry)
    }

    fn recorded(
        world: &World,
        name: &'static str,
        template: PathBuf,
        command: &[&str],
        retry: &[&str],
    ) -> anyhow::Result<Self> {
        let index = index_of(command);
        let before = match template.join(index).exists() {
            true => Some(world.digest(&template, index)?),
            false => None,
        };
        let work = world.root.join(name.replace(' ', "-"));
        copy(&template, &work)?;
        let recording = Recording::new(&world.becr, &work, &strings(command))
            .with_context(|| format!("recording {name}"))?;
        let after = world.digest(&work, index)?;
        fs::remove_dir_all(&work)?;
        Ok(Self {
            name,
            template,
            command: strings(command),
            retry: strings(if retry.is_empty() { command } else { retry }),
            can_repeat: true,
            before,
            after,
            has_between: false,
            place: Mutex::new(work),
            counts: recording.counts.clone(),
            recording: Some(recording),
        })
    }

    fn once(self) -> Self {
        Self {
            can_repeat: false,
            ..self
        }
    }

    /// A folder of which some files are new, some changed and some gone.
    fn synced(world: &World) -> anyhow::Result<Self> {
        let template = world.root.join("template-sync");
        copy(&world.root.join("base"), &template)?;
        let name = strings(&["sync", LIVE, "notes", "--remove-others"]);
        world.run(&template, &name)?;
        // Single commits again, for merges.
        for n in 24..30 {
            fs::write(template.join(format!("notes/{n}.md")), text(n, 0))?;
            world.run(&template, &strings(&["sync", LIVE]))?;
        }
        for n in 0..30 {
            let path = template.join(format!("notes/{n}.md"));
            match n % 4 {
                0 => fs::write(path, text(n, 3))?,
                1 => fs::remove_file(path)?,
                _ => {}
            }
        }
        for n in 40..50 {
            fs::write(template.join(format!("notes/{n}.md")), text(n, 0))?;
        }
        let scenario = Self::recorded(world, "sync", template, &["sync", LIVE], &[])?;
        Ok(Self {
            has_between: true,
            ..scenario
        })
    }

    fn exported(world: &World) -> anyhow::Result<Self> {
        let template = world.root.join("template-export");
        copy(&world.root.join("base"), &template)?;
        let port = world.redis.as_ref().map_or(0, |redis| redis.port);
        let address = format!("redis://127.0.0.1:{port}/{NAME}");
        let command = strings(&["export", "part", &address]);
        let counts = ["sendto", "recvfrom", "write", "read", "connect", "writev"];
        Ok(Self {
            name: "export",
            after: world.contents(&template, "part")?,
            template,
            place: Mutex::new(world.root.join("export")),
            retry: command.clone(),
            command,
            can_repeat: true,
            before: None,
            has_between: false,
            recording: None,
            counts: counts.map(|call| (call.to_owned(), 60)).into(),
        })
    }

    /// The command, or what is typed after it, with the state's own names.
    pub(crate) fn named(arguments: &[String], number: usize) -> Vec<String> {
        let name = format!("state-{number}");
        let named = |argument: &String| argument.replace(NAME, &name);
        arguments.iter().map(named).collect()
    }

    /// What holds in every state: the index is sound, and as it was before or after; as after, if the command said that it
    /// was done. And the command succeeds when it is given again, and leaves nothing.
    pub(crate) fn check(
        &self,
        world: &World,
        folder: &Path,
        number: usize,
        is_done: bool,
    ) -> anyhow::Result<()> {
        let command = Self::named(&self.command, number);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let index = index_of(&words);
        let state = self.state(world, folder, index, is_done)?;
        let is_after = state.as_ref() == Some(&self.after);
        if is_done {
            ensure!(is_after, "what was acknowledged is lost: {state:?}");
        } else {
            let is_known = is_after || state == self.before || self.has_between && state.is_some();
            ensure!(is_known, "half of a change: {state:?}");
        }
        if !is_after || self.can_repeat {
            let retry = Self::named(&self.retry, number);
            world
                .run(folder, &retry)
                .context("the same command again")?;
        }
        let end = self.state(world, folder, index, true)?;
        ensure!(
            end.as_ref() == Some(&self.after),
            "it ends otherwise: {end:?}"
        );
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            ensure!(
                !name.ends_with(".partial") && !name.ends_with(".old"),
                "{name} is left"
            );
        }
        Ok(())
    }

    /// The digest of the index, which is sound; none if there is no index and may be none.
    fn state(
        &self,
        world: &World,
        folder: &Path,
        index: &str,
        must_be: bool,
    ) -> anyhow::Result<Option<String>> {
        if index.starts_with("redis://") {
            world.run(folder, &strings(&["verify", "part"]))?;
            let outcome = world.call(folder, &strings(&["verify", index]))?;
            let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
            if !must_be && said.contains("no index of this name") {
                return Ok(None);
            }
            ensure!(outcome.status.success(), "verify: {said}");
            return world.contents(folder, index).map(Some);
        }
        if !folder.join(index).exists() {
            ensure!(self.before.is_none() && !must_be, "the index is gone");
            return Ok(None);
        }
        world.run(folder, &strings(&["verify", index]))?;
        world.run(
            folder,
            &strings(&["search", index, "river bank", "--first-stage"]),
        )?;
        world.digest(folder, index).map(Some)
    }
}

/// The index that a command changes.
fn index_of<'a>(command: &[&'a str]) -> &'a str {
    let out = command.iter().position(|&word| word == "--out");
    match out.and_then(|at| command.get(at + 1)) {
        Some(index) => index,
        None if command[0] == "export" => command[2],
        None => command[1],
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// An encoder of random weights, small enough for a build in no time.
fn model(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir(folder)?;
    let mut vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n##s\n".to_owned();
    WORDS
        .iter()
        .try_for_each(|word| writeln!(vocabulary, "{word}"))?;
    let config = Config::new(15, 16, 2, 2, 24, 40);
    config.write(&folder.join("config.json"))?;
    fs::write(folder.join("vocab.txt"), vocabulary)?;
    let weights = Weights::random(&config, 3, 10.0);
    weights.write(&folder.join("model.safetensors"), Storage::F32)?;
    Ok(())
}

fn text(n: usize, version: usize) -> String {
    let word = |k: usize| WORDS[(n * 7 + k * k * 11 + k * 3 + version) % WORDS.len()];
    let words: Vec<&str> = (0..5 + n % 20).map(word).collect();
    words.join(" ")
}

fn corpus(path: &Path, numbers: std::ops::Range<usize>, version: usize) -> anyhow::Result<()> {
    let mut lines = String::new();
    for n in numbers {
        let text = text(n, version);
        writeln!(
            lines,
            r#"{{"id": "d{n}", "title": "{}", "text": "{text}"}}"#,
            WORDS[n % 10]
        )?;
    }
    Ok(fs::write(path, lines)?)
}

/// A Redis server without a cluster on a free port, if the program is there.
fn start_redis(root: &Path) -> anyhow::Result<Option<Redis>> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let server = Command::new("redis-server")
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(["--appendonly", "no", "--dir"])
        .arg(root)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(server) = server else {
        eprintln!("there is no redis-server: exports are not tried");
        return Ok(None);
    };
    let redis = Redis { server, port };
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if begun.elapsed() > Duration::from_secs(20) {
            bail!("redis-server does not answer");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Some(redis))
}
