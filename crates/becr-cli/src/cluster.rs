//! What the commands tell the library of a cluster.

use becr::cluster::Options;
use std::path::Path;
use std::time::Duration;

/// A lease that nobody renews ends within this time: what a writer waits for one that was killed.
const LEASE_WAIT: Duration = Duration::from_secs(70);
/// Work on a whole index may take days.
const DAYS: Duration = Duration::from_secs(30 * 24 * 3600);

/// The address in a path that is one.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| becr::cluster::is_address(path))
}

/// For writing.
pub(crate) fn writing() -> Options {
    Options {
        lease_wait: LEASE_WAIT,
        ..Options::default()
    }
}

/// For reading all of an index, in one state of it.
pub(crate) fn reading_all() -> Options {
    Options {
        retention: DAYS,
        ..Options::default()
    }
}

/// For ranking.
pub(crate) fn ranking(no_module: bool) -> Options {
    Options {
        module: !no_module,
        ..Options::default()
    }
}
