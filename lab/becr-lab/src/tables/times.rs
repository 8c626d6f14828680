//! Times to re-rank one query's candidates: measured once by `becr-lab bench`, and kept as runs are.
//!
//! Three benchmarks are asked: `baselines` for the models that BECR is compared with and for the encoder over a query, `engine` for
//! footprints in memory, `rank` for what reading them from the store adds. Times that were measured elsewhere, on a machine
//! with a GPU or by another program, stand beside them in files of the same form.

use super::config::{KeptTimes, TimesConfig};
use super::quoted;
use super::steps::{Step, Steps};
use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A finished table.
pub(super) struct Times {
    lines: Vec<TimesLine>,
    fetched: Vec<RankRow>,
    words: Vec<u64>,
    cpus: Vec<String>,
    commands: Vec<String>,
}

/// A model on a device, by words of the query.
#[derive(Debug, Clone, PartialEq)]
struct TimesLine {
    model: String,
    encoder: String,
    implementation: String,
    device: String,
    ms: BTreeMap<u64, f64>,
}

/// What `becr-lab bench baselines` writes, and whoever measures the same elsewhere.
#[derive(Deserialize)]
struct BaselineFile {
    cpu: Option<String>,
    rows: Vec<BaselineRow>,
}

#[derive(Deserialize)]
struct BaselineRow {
    model: String,
    encoder: Option<String>,
    /// The layers that the encoder has, that of the embeddings among them.
    layers: Option<u64>,
    implementation: String,
    device: String,
    n: u64,
    ms: f64,
}

/// What `becr-lab bench engine` writes.
#[derive(Deserialize)]
struct EngineFile {
    rows: Vec<EngineRow>,
}

#[derive(Deserialize)]
struct EngineRow {
    implementation: String,
    groups: String,
    n: u64,
    layers: u64,
    ms: f64,
}

/// What `becr-lab bench rank` writes.
#[derive(Deserialize)]
struct RankFile {
    rows: Vec<RankRow>,
}

#[derive(Deserialize)]
struct RankRow {
    layers: u64,
    n: u64,
    lookup_ms: f64,
    fetch_ms: f64,
    total_ms: f64,
    cold: Option<ColdTimes>,
}

#[derive(Deserialize)]
struct ColdTimes {
    lookup_ms: f64,
    fetch_ms: f64,
}

/// The encoder over the words of a query, which BECR⁻ waits for: a part of a line, not one of its own.
const QUERY: &str = "encoder, query";

impl Times {
    pub(super) fn make(
        out: &Path,
        config: &TimesConfig,
        steps: &mut Steps,
    ) -> anyhow::Result<Self> {
        let mut commands = Vec::new();
        let mut measured = |name: &str, arguments: Vec<String>| -> anyhow::Result<PathBuf> {
            measure(out, name, arguments, steps, &mut commands)
        };
        let list = |numbers: &[u64]| {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            numbers.join(",")
        };
        let words = list(&config.query_words);
        let baselines = measured(
            "baselines",
            strings(["--n", &words, "--encoders", &config.encoders.join(",")]),
        )?;
        // One layer for KNRM.
        let layers: Vec<u64> = std::iter::once(1).chain(config.layers.clone()).collect();
        let only = [
            format!("n={words}"),
            format!("layers={}", list(&layers)),
            "bits=256".into(),
            "groups=composed,single".into(),
            "system=becr".into(),
        ];
        let mut engine = strings(["--threads", "1"]);
        only.iter()
            .for_each(|only| engine.extend(["--only".to_owned(), only.clone()]));
        let engine = measured("engine", engine)?;
        let rank = strings([
            "--n",
            &words,
            "--candidates",
            "150",
            "--layers",
            &list(&config.layers),
            "--documents",
            &config.records.to_string(),
            "--cold",
            &config.cold.to_string(),
        ]);
        let rank = measured("rank", rank)?;
        let mut made = Self {
            lines: Vec::new(),
            fetched: read::<RankFile>(&rank)?.rows,
            words: config.query_words.clone(),
            cpus: Vec::new(),
            commands,
        };
        let baselines: BaselineFile = read(&baselines)?;
        made.cpus.extend(baselines.cpu.clone());
        made.add_rows(baselines.rows.iter().filter(|row| row.model != QUERY));
        let engine: EngineFile = read(&engine)?;
        made.add_engine(&engine.rows, &baselines.rows);
        for KeptTimes { file, made_by } in &config.kept {
            let kept: BaselineFile = read(file)?;
            made.add_rows(kept.rows.iter().filter(|row| row.model != QUERY));
            made.commands.push(made_by.clone());
        }
        Ok(made)
    }

    fn add(&mut self, [model, encoder, implementation, device]: [&str; 4], n: u64, ms: f64) {
        let is_same = |line: &&mut TimesLine| {
            let of = [
                &line.model,
                &line.encoder,
                &line.implementation,
                &line.device,
            ];
            of == [model, encoder, implementation, device]
        };
        if let Some(line) = self.lines.iter_mut().find(is_same) {
            line.ms.insert(n, ms);
            return;
        }
        self.lines.push(TimesLine {
            model: model.to_owned(),
            encoder: encoder.to_owned(),
            implementation: implementation.to_owned(),
            device: device.to_owned(),
            ms: BTreeMap::from([(n, ms)]),
        });
    }

    fn add_rows<'a>(&mut self, rows: impl Iterator<Item = &'a BaselineRow>) {
        for row in rows {
            let encoder = row.encoder.as_deref().unwrap_or("–");
            let of = [&row.model, encoder, &row.implementation, &row.device];
            self.add(of, row.n, row.ms);
        }
    }

    /// KNRM with LSH is one footprint a word at one layer; BECR⁻ the same at its layers, after the encoder has read the query.
    fn add_engine(&mut self, rows: &[EngineRow], baselines: &[BaselineRow]) {
        // The best implementation comes first; others are measured too.
        let best = rows.first().map_or("", |row| &row.implementation);
        let rows = || rows.iter().filter(|row| row.implementation == best);
        for row in rows().filter(|row| row.groups == "single" && row.layers == 1) {
            self.add(["KNRM, LSH", "–", "becr", "cpu"], row.n, row.ms);
        }
        for row in rows().filter(|row| row.groups == "single" && row.layers > 1) {
            for query in baselines {
                let has_layers = query.layers.is_none_or(|layers| row.layers <= layers);
                if query.model == QUERY && query.n == row.n && has_layers {
                    let model = format!("BECR⁻, L = {}", row.layers);
                    let encoder = query.encoder.as_deref().unwrap_or("–");
                    self.add([&model, encoder, "becr", "cpu"], row.n, row.ms + query.ms);
                }
            }
        }
        for row in rows().filter(|row| row.groups == "composed" && row.layers > 1) {
            let model = format!("BECR, L = {}", row.layers);
            self.add([&model, "–", "becr", "cpu"], row.n, row.ms);
        }
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = String::from(
            "# Time to re-rank 150 documents of 857 tokens, ms\n\n| model | encoder | implementation | device |",
        );
        self.words.iter().for_each(|n| {
            let _ = write!(text, " n = {n} |");
        });
        text += "\n|---|---|---|---|";
        self.words.iter().for_each(|_| text += "---:|");
        text.push('\n');
        for line in &self.lines {
            let names = [
                &line.model,
                &line.encoder,
                &line.implementation,
                &line.device,
            ];
            let cells = names.map(String::as_str).join(" | ");
            let _ = write!(text, "| {cells} |");
            for n in &self.words {
                let _ = match line.ms.get(n) {
                    Some(ms) => write!(text, " {} |", short(*ms)),
                    None => write!(text, " – |"),
                };
            }
            text.push('\n');
        }
        text += "\nWhat of it is fetched from the store, on one thread: token groups with ids and statistics, then the records. Warm is from the\n\
            page cache, cold with the file dropped from it. The last column is the whole of re-ranking, warm, with the lexical part.\n\n\
            | layers | n | groups, warm | records, warm | groups, cold | records, cold | all, warm |\n|---:|---:|---:|---:|---:|---:|---:|\n";
        for row in &self.fetched {
            let cold = |part: fn(&ColdTimes) -> f64| {
                row.cold
                    .as_ref()
                    .map_or("–".to_owned(), |cold| short(part(cold)))
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.layers,
                row.n,
                short(row.lookup_ms),
                short(row.fetch_ms),
                cold(|cold| cold.lookup_ms),
                cold(|cold| cold.fetch_ms),
                short(row.total_ms)
            );
        }
        text += "\nMeasured once and kept: another machine has other times. One thread on the CPU, 256 bits, random weights of the\n\
            encoder's shape, what is known of documents before the query in memory. BECR and KNRM with LSH compare footprints, BECR⁻ after the\n\
            encoder has read the query. BERT and CEDR-KNRM on a CPU are measured on four documents and multiplied.\n";
        for cpu in &self.cpus {
            let _ = writeln!(text, "The CPU here: {cpu}.");
        }
        text += "\nMade by:\n\n```\n";
        for command in &self.commands {
            let _ = writeln!(text, "{command}");
        }
        text += "```\n";
        text
    }

    pub(super) fn csv(&self) -> String {
        let mut text = String::from("model,encoder,implementation,device,query_words,ms\n");
        for line in &self.lines {
            for (n, ms) in &line.ms {
                let cells = [
                    &line.model,
                    &line.encoder,
                    &line.implementation,
                    &line.device,
                ];
                let cells = cells.map(|cell| quoted(cell));
                let _ = writeln!(text, "{},{n},{ms}", cells.join(","));
            }
        }
        for row in &self.fetched {
            let mut add = |what: &str, ms: f64| {
                let (layers, n) = (row.layers, row.n);
                let _ = writeln!(
                    text,
                    "\"{what}, L = {layers}\",\"–\",\"becr\",\"cpu\",{n},{ms}"
                );
            };
            add("groups fetched, warm", row.lookup_ms);
            add("records fetched, warm", row.fetch_ms);
            if let Some(cold) = &row.cold {
                add("groups fetched, cold", cold.lookup_ms);
                add("records fetched, cold", cold.fetch_ms);
            }
        }
        text
    }
}

/// Runs a benchmark unless its result is kept.
fn measure(
    out: &Path,
    benchmark: &str,
    arguments: Vec<String>,
    steps: &mut Steps,
    commands: &mut Vec<String>,
) -> anyhow::Result<PathBuf> {
    let name = format!("times/{benchmark}.json");
    let file = out.join(&name);
    let mut all = strings(["bench", benchmark]);
    all.extend(arguments);
    let mut step = Step {
        name,
        arguments: all,
        reads: Vec::new(),
        after: Vec::new(),
    };
    let key = steps.key(&step)?;
    let written = file.display().to_string();
    step.arguments.extend(["--json".to_owned(), written]);
    commands.push(steps.command(&step, &key));
    if steps.is_done(&step.name, &key) && file.is_file() {
        steps.keep();
        return Ok(file);
    }
    ensure!(
        cfg!(feature = "train"),
        "[times]: this becr-lab was built without the baselines; build it with `--features train`"
    );
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    steps.run(&step, key, || Ok(BTreeMap::new()))?;
    Ok(file)
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: expected what `becr-lab bench --json` writes",
            path.display()
        )
    })
}

fn strings<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(String::from).to_vec()
}

/// Three digits that count.
fn short(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0}"),
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms => format!("{ms:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn becr_minus_waits_for_the_encoder() {
        let engine = |groups: &str, layers, ms| EngineRow {
            implementation: "avx512".into(),
            groups: groups.into(),
            n: 3,
            layers,
            ms,
        };
        let mut slower = engine("composed", 5, 99.0);
        slower.implementation = "portable".into();
        let rows = [
            engine("single", 1, 1.0),
            engine("single", 5, 4.0),
            engine("single", 13, 9.0),
            engine("composed", 1, 2.0),
            engine("composed", 5, 8.0),
            slower,
        ];
        let query = BaselineRow {
            model: QUERY.into(),
            encoder: Some("MiniLM-L6".into()),
            layers: Some(7),
            implementation: "becr".into(),
            device: "cpu".into(),
            n: 3,
            ms: 2.5,
        };
        let mut times = Times {
            lines: Vec::new(),
            fetched: Vec::new(),
            words: vec![3, 5],
            cpus: Vec::new(),
            commands: Vec::new(),
        };
        times.add_engine(&rows, &[query]);
        let found: Vec<(&str, f64)> = times
            .lines
            .iter()
            .map(|line| (line.model.as_str(), line.ms[&3]))
            .collect();
        let expected = [
            ("KNRM, LSH", 1.0),
            ("BECR⁻, L = 5", 6.5),
            ("BECR, L = 5", 8.0),
        ];
        assert_eq!(found, expected);
        let text = times.markdown();
        assert!(
            text.contains("| BECR⁻, L = 5 | MiniLM-L6 | becr | cpu | 6.50 | – |"),
            "{text}"
        );
    }
}
