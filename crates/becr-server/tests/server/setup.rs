//! Indexes and servers to test with.

use becr::{Build, Document, Index};
use becr_server::{Server, ServerError, Settings, Stopper};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// A few documents, one of which tries to be markup.
pub(crate) fn documents() -> Vec<Document> {
    [
        (
            "bread",
            "Bread",
            "A dense crumb means that the dough was proved too briefly, or that the oven was cold.",
        ),
        (
            "rolls",
            "Rolls",
            "Rolls want a hot oven and steam; their crumb is light where the dough had time.",
        ),
        (
            "tea",
            "Tea",
            "Green tea wants water that no longer boils, and two minutes at most.",
        ),
        (
            "river",
            "The river bank",
            "Where the river slows, the bank is mud and reeds, and herons fish there.",
        ),
        (
            "loans",
            "Bank loans",
            "A bank lends money at interest and wants a house as its security.",
        ),
        (
            "xss",
            "<img src=x onerror=alert(1)>",
            "<script>document.title='owned'</script> a crumb of markup",
        ),
    ]
    .map(|(id, title, text)| Document::new(id, title, text))
    .into()
}

/// Where an index of [`documents`] lies that no test changes.
pub(crate) fn shared() -> &'static Path {
    static SHARED: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = SHARED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kitchen.becr");
        Build::new().run(&path, documents(), &()).unwrap();
        (folder, path)
    });
    path
}

/// A copy of it, to change.
pub(crate) fn own() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.becr");
    copy(shared(), &path);
    (folder, path)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A server in a thread of its own; ends with the test.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServerError>>>,
}

impl Running {
    /// Waits until it has ended.
    pub(crate) fn ended(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Settings for a free port.
pub(crate) fn settings() -> Settings {
    Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        threads: 2,
        ..Settings::default()
    }
}

pub(crate) fn serve(settings: Settings, path: &Path) -> Running {
    serve_all(settings, &[("kitchen", path)])
}

pub(crate) fn serve_all(settings: Settings, indexes: &[(&str, &Path)]) -> Running {
    let open = |(name, path): &(&str, &Path)| ((*name).to_owned(), Index::open(path).unwrap());
    let server = Server::bind(settings, indexes.iter().map(open).collect()).unwrap();
    Running {
        address: server.address(),
        stopper: server.stopper(),
        thread: Some(std::thread::spawn(move || server.run())),
    }
}
