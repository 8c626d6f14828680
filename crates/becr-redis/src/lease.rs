//! The right to write: one writer at a time, and a number that tells later writers from earlier ones.

use crate::store::Shared;
use crate::{ClusterError, scripts};
use redis::Value;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a lease that somebody else has is asked for again.
const PAUSE: Duration = Duration::from_millis(100);

/// The right to write, given back when it is dropped.
pub(crate) struct Lease<'s> {
    shared: &'s Shared,
    pub(crate) token: u64,
    renewed: Mutex<Instant>,
}

impl<'s> Lease<'s> {
    /// Takes the lease; waits a while if another writer has it.
    pub(crate) fn take(shared: &'s Shared) -> Result<Self, ClusterError> {
        let options = shared.cluster.options();
        let begun = Instant::now();
        let token = shared.ask(redis::cmd("INCR").arg(shared.key("token")))?;
        let Value::Int(token) = token else {
            return Err(ClusterError::Reply("INCR"));
        };
        let lease = Self {
            shared,
            token: token as u64,
            renewed: Mutex::new(begun),
        };
        while !lease.ask()? {
            if begun.elapsed() > options.lease_wait {
                let lease = options.lease;
                return Err(ClusterError::Leased { lease });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(lease)
    }

    /// Asks for the lease, or for more time; false if another writer has it.
    fn ask(&self) -> Result<bool, ClusterError> {
        let milliseconds = self.shared.cluster.options().lease.as_millis() as u64;
        let lease = scripts::lease(self.shared.key("lease"), self.token, milliseconds);
        let asked = Instant::now();
        let given = self.shared.ask(&lease)?;
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        Ok(given == Value::Int(1))
    }

    /// Asks for more time where a good part of it is over. To be called between steps of long work.
    pub(crate) fn renew(&self) -> Result<(), ClusterError> {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        if renewed.elapsed() < self.shared.cluster.options().lease / 4 {
            return Ok(());
        }
        match self.ask()? {
            true => Ok(()),
            false => Err(ClusterError::Fenced),
        }
    }
}

impl Drop for Lease<'_> {
    /// A lease that cannot be given back ends by itself.
    fn drop(&mut self) {
        let release = scripts::release(self.shared.key("lease"), self.token);
        let _ = self.shared.ask(&release);
    }
}
