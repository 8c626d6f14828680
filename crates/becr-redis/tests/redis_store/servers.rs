//! Real servers on free ports of this machine, ended when they are dropped. `$REDIS_SERVER` names another program of the protocol
//! than `redis-server`, such as `valkey-server`.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program() -> String {
    std::env::var("REDIS_SERVER").unwrap_or("redis-server".into())
}

/// Whether there is a Redis server to try with.
pub(crate) fn are_there() -> bool {
    let is_there = Command::new(program())
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: there is no redis-server on this machine");
        }
    }
    is_there
}

/// A server.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    /// Starts a server with these settings beside the usual ones.
    pub(crate) fn start(settings: &[&str]) -> Self {
        // A port may be taken by another process between the look and the start.
        for _ in 0..5 {
            let folder = tempfile::tempdir().unwrap();
            let port = free_port();
            let child = Command::new(program())
                .args([
                    "--port",
                    &port.to_string(),
                    "--bind",
                    "127.0.0.1",
                    "--save",
                    "",
                ])
                .args(["--appendonly", "no", "--dir"])
                .arg(folder.path())
                .args(settings)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let server = Self {
                child,
                port,
                _folder: folder,
            };
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(20) {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return server;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("no redis-server could be started");
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("redis://127.0.0.1:{}/{name}", self.port)
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it something by `redis-cli`.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let Output { stdout, .. } = Command::new("redis-cli")
            .args(["-p", &port])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&stdout).trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port whose cluster bus, 10,000 above, exists too.
fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
    }
}

/// Three masters, each with a replica.
pub(crate) struct SixNodes {
    pub(crate) nodes: Vec<Server>,
}

impl SixNodes {
    pub(crate) fn start(settings: &[&str]) -> Self {
        let mut all = vec!["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        all.extend(settings);
        let nodes: Vec<Server> = (0..6).map(|_| Server::start(&all)).collect();
        let addresses: Vec<String> = nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(&addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .output()
            .unwrap();
        assert!(
            created.status.success(),
            "{}",
            String::from_utf8_lossy(&created.stdout)
        );
        let cluster = Self { nodes };
        cluster.wait_until_whole();
        cluster
    }

    /// Waits until every node that runs says that all slots are served and replicas are in step.
    fn wait_until_whole(&self) {
        let begun = Instant::now();
        loop {
            let is_whole = self.nodes.iter().all(|node| {
                let info = node.ask(&["cluster", "info"]);
                let replication = node.ask(&["info", "replication"]);
                let is_linked = replication.contains("role:master")
                    && replication.contains("connected_slaves:1")
                    || replication.contains("master_link_status:up");
                info.contains("cluster_state:ok")
                    && info.contains("cluster_known_nodes:6")
                    && is_linked
            });
            if is_whole {
                return;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the cluster does not come up"
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Three of the nodes, so that one of them may be gone.
    pub(crate) fn url(&self, name: &str) -> String {
        let nodes: Vec<String> = self
            .nodes
            .iter()
            .take(3)
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect();
        format!("redis://{}/{name}", nodes.join(","))
    }
}
