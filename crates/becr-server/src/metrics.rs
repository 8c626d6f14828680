//! What is counted, in Prometheus' text format.

use becr::GroupCoverage;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper bounds of the histograms, in seconds.
const BOUNDS: [f64; 14] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

/// Counts of all requests.
#[derive(Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// By route, method and status.
    requests: BTreeMap<(String, String, u16), u64>,
    /// Seconds by route.
    durations: BTreeMap<String, Histogram>,
    /// Seconds by stage.
    stages: BTreeMap<&'static str, Histogram>,
    failures: BTreeMap<&'static str, u64>,
    /// Candidates by where their footprints came from.
    candidates: BTreeMap<&'static str, u64>,
    coverage: GroupCoverage,
    encoded_tokens: u64,
}

#[derive(Default)]
struct Histogram {
    /// By bound; those above all of them are in `count` alone.
    buckets: [u64; BOUNDS.len()],
    sum: f64,
    count: u64,
}

impl Histogram {
    fn observe(&mut self, seconds: f64) {
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.sum += seconds;
        self.count += 1;
    }

    fn write(&self, name: &str, label: &str, value: &str, out: &mut String) {
        let mut below = 0;
        for (bound, bucket) in BOUNDS.iter().zip(self.buckets) {
            below += bucket;
            line(
                out,
                format_args!("{name}_bucket{{{label}=\"{value}\",le=\"{bound}\"}} {below}"),
            );
        }
        line(
            out,
            format_args!(
                "{name}_bucket{{{label}=\"{value}\",le=\"+Inf\"}} {}",
                self.count
            ),
        );
        line(
            out,
            format_args!("{name}_sum{{{label}=\"{value}\"}} {}", self.sum),
        );
        line(
            out,
            format_args!("{name}_count{{{label}=\"{value}\"}} {}", self.count),
        );
    }
}

/// What is true now, and not counted.
pub(crate) struct Gauges {
    pub(crate) queue: usize,
    pub(crate) running: usize,
    pub(crate) connections: usize,
    /// Name, documents, edition, commit, bytes of kept texts.
    pub(crate) indexes: Vec<(String, u64, u64, u64, usize)>,
}

impl Metrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn request(&self, route: &str, method: &str, status: u16, time: Duration) {
        // Methods are the client's choice: only those that are served get a row of their own.
        let known = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"];
        let method = if known.contains(&method) {
            method
        } else {
            "other"
        };
        let counts = &mut *self.counts();
        let key = (route.to_owned(), method.to_owned(), status);
        *counts.requests.entry(key).or_default() += 1;
        let duration = counts.durations.entry(route.to_owned()).or_default();
        duration.observe(time.as_secs_f64());
    }

    pub(crate) fn stage(&self, stage: &'static str, milliseconds: f64) {
        self.counts()
            .stages
            .entry(stage)
            .or_default()
            .observe(milliseconds / 1e3);
    }

    pub(crate) fn failure(&self, kind: &'static str) {
        *self.counts().failures.entry(kind).or_default() += 1;
    }

    pub(crate) fn coverage(&self, coverage: &GroupCoverage) {
        self.counts().coverage.add(coverage);
    }

    pub(crate) fn candidates(&self, from: &'static str, count: u64) {
        *self.counts().candidates.entry(from).or_default() += count;
    }

    pub(crate) fn encoded(&self, tokens: usize) {
        self.counts().encoded_tokens += tokens as u64;
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::new();
        let counts = self.counts();
        head(
            &mut out,
            "becr_requests_total",
            "counter",
            "Requests by route, method and status.",
        );
        for ((route, method, status), count) in &counts.requests {
            line(
                &mut out,
                format_args!(
                    "becr_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}} {count}"
                ),
            );
        }
        let name = "becr_request_duration_seconds";
        head(
            &mut out,
            name,
            "histogram",
            "From a request's head to its answer.",
        );
        for (route, histogram) in &counts.durations {
            histogram.write(name, "route", route, &mut out);
        }
        let name = "becr_stage_duration_seconds";
        head(&mut out, name, "histogram", "Time by stage of an answer.");
        for (stage, histogram) in &counts.stages {
            histogram.write(name, "stage", stage, &mut out);
        }
        head(
            &mut out,
            "becr_failures_total",
            "counter",
            "Requests that failed, by kind.",
        );
        for (kind, count) in &counts.failures {
            line(
                &mut out,
                format_args!("becr_failures_total{{kind=\"{kind}\"}} {count}"),
            );
        }
        let name = "becr_candidates_total";
        head(
            &mut out,
            name,
            "counter",
            "Candidates by where their footprints came from.",
        );
        for (from, count) in &counts.candidates {
            line(&mut out, format_args!("{name}{{from=\"{from}\"}} {count}"));
        }
        let name = "becr_token_groups_total";
        head(
            &mut out,
            name,
            "counter",
            "Token groups of queries, asked for and found.",
        );
        let GroupCoverage {
            words,
            words_found,
            pairs,
            pairs_found,
        } = counts.coverage;
        for (kind, asked, found) in [("word", words, words_found), ("pair", pairs, pairs_found)] {
            line(
                &mut out,
                format_args!("{name}{{kind=\"{kind}\",found=\"true\"}} {found}"),
            );
            line(
                &mut out,
                format_args!(
                    "{name}{{kind=\"{kind}\",found=\"false\"}} {}",
                    asked - found
                ),
            );
        }
        let name = "becr_encoded_tokens_total";
        head(
            &mut out,
            name,
            "counter",
            "WordPieces of raw texts that were encoded.",
        );
        line(&mut out, format_args!("{name} {}", counts.encoded_tokens));
        drop(counts);
        for (name, help, value) in [
            (
                "becr_queue_depth",
                "Requests that wait for a thread.",
                gauges.queue,
            ),
            (
                "becr_running",
                "Requests that a thread works on.",
                gauges.running,
            ),
            (
                "becr_connections",
                "Connections that are open.",
                gauges.connections,
            ),
        ] {
            head(&mut out, name, "gauge", help);
            line(&mut out, format_args!("{name} {value}"));
        }
        let of_index = |out: &mut String,
                        name: &str,
                        help: &str,
                        of: fn(&(String, u64, u64, u64, usize)) -> u64| {
            head(out, name, "gauge", help);
            for index in &gauges.indexes {
                line(
                    out,
                    format_args!("{name}{{index=\"{}\"}} {}", escaped(&index.0), of(index)),
                );
            }
        };
        of_index(&mut out, "becr_index_documents", "Documents.", |index| {
            index.1
        });
        of_index(
            &mut out,
            "becr_index_edition",
            "Edition of the state that is served.",
            |index| index.2,
        );
        of_index(
            &mut out,
            "becr_index_commit",
            "Commit of the state that is served.",
            |index| index.3,
        );
        of_index(
            &mut out,
            "becr_text_cache_bytes",
            "Footprints of raw texts kept.",
            |index| index.4 as u64,
        );
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    line(
        out,
        format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"),
    );
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

/// A label's value.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_count_upwards() {
        let metrics = Metrics::default();
        for ms in [0.2, 3.0, 9000.0] {
            metrics.stage("deep", ms);
        }
        let gauges = Gauges {
            queue: 3,
            running: 1,
            connections: 2,
            indexes: vec![("a\"b".into(), 7, 0, 1, 9)],
        };
        let text = metrics.text(&gauges);
        for expected in [
            "becr_stage_duration_seconds_bucket{stage=\"deep\",le=\"0.00025\"} 1",
            "becr_stage_duration_seconds_bucket{stage=\"deep\",le=\"0.005\"} 2",
            "becr_stage_duration_seconds_bucket{stage=\"deep\",le=\"5\"} 2",
            "becr_stage_duration_seconds_bucket{stage=\"deep\",le=\"+Inf\"} 3",
            "becr_stage_duration_seconds_count{stage=\"deep\"} 3",
            "becr_queue_depth 3",
            "becr_index_documents{index=\"a\\\"b\"} 7",
        ] {
            assert!(
                text.lines().any(|line| line == expected),
                "{expected} in\n{text}"
            );
        }
    }
}
