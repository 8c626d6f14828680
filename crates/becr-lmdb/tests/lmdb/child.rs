//! Another process: this test program, started again with one of the ignored tests below.

use crate::{has, put};
use becr_lmdb::Store;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const FOLDER: &str = "BECR_TEST_STORE";

/// A process that does as it is told, line by line.
pub(crate) struct Other {
    child: Child,
    tell: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl Other {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::obey", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let tell = child.stdin.take().unwrap();
        let hear = BufReader::new(child.stdout.take().unwrap());
        Self { child, tell, hear }
    }

    /// Gives an order and waits for the answer.
    pub(crate) fn ask(&mut self, order: &str) -> String {
        writeln!(self.tell, "{order}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert!(
                self.hear.read_line(&mut line).unwrap() > 0,
                "the process ended"
            );
            // The test harness talks too.
            if let Some((_, answer)) = line.split_once("answer: ") {
                return answer.trim().to_owned();
            }
        }
    }

    /// Ends it as kill -9 does.
    pub(crate) fn kill(self) {}
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
#[ignore = "the other process of other tests, which start it: cargo test --release --test lmdb"]
#[allow(clippy::print_stdout)] // How it answers.
fn obey() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut store = Some(Store::open(&folder).unwrap());
    let mut snapshots = Vec::new();
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let (order, argument) = order.split_once(' ').unwrap_or((&order, ""));
        let open = store.get_or_insert_with(|| Store::open(&folder).unwrap());
        let answer = match order {
            "snapshot" => {
                snapshots.push(open.snapshot().unwrap());
                "taken".to_owned()
            }
            "has" => has(open, argument).to_string(),
            "put" => {
                put(open, argument, 64 << 10);
                "put".to_owned()
            }
            // Opens and closes the store so often.
            "reopen" => {
                snapshots.clear();
                for _ in 0..argument.parse().unwrap() {
                    drop(store.take());
                    store = Some(Store::open(&folder).unwrap());
                }
                "opened".to_owned()
            }
            other => panic!("no order {other}"),
        };
        println!("answer: {answer}");
    }
}
