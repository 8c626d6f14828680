//! Connections to nodes: kept for the next one who asks, and never waited for longer than a question has time.

use crate::cluster::{Fault, Traffic};
use crate::{Address, Node, Options};
use redis::io::tcp::TcpSettings;
use redis::{Connection, ErrorKind, IntoConnectionInfo, RedisError, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections to a node that are kept.
const IDLE: usize = 16;
/// The shortest time that a socket can be told to wait.
const SHORTEST: Duration = Duration::from_millis(1);

/// Until when a question is to be answered, and how long one step of it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    end: Instant,
    step: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration, step: Duration) -> Self {
        Self {
            end: Instant::now() + limit,
            step,
        }
    }

    /// The same with shorter steps.
    pub(crate) fn with_step(self, step: Duration) -> Self {
        Self {
            step: step.min(self.step),
            ..self
        }
    }

    /// Whether less than this is left.
    pub(crate) fn is_within(&self, time: Duration) -> bool {
        self.end.saturating_duration_since(Instant::now()) < time
    }

    /// How long the next step may take: a node that hangs neither answers nor refuses.
    fn patience(&self) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        left.min(self.step).max(SHORTEST)
    }
}

/// Connections to the nodes of a cluster. Shared between threads; each takes connections of its own.
pub(crate) struct Connections {
    address: Address,
    options: Options,
    idle: Mutex<HashMap<Node, Vec<Connection>>>,
    sent: AtomicU64,
    received: AtomicU64,
    pipelines: AtomicU64,
}

impl Connections {
    pub(crate) fn new(address: Address, options: Options) -> Self {
        Self {
            address,
            options,
            idle: Mutex::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            pipelines: AtomicU64::new(0),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn traffic(&self) -> Traffic {
        Traffic {
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            pipelines: self.pipelines.load(Ordering::Relaxed),
        }
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<Node, Vec<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends bytes over a connection that was kept, or, if that is broken, over a new one.
    pub(crate) fn send(
        &self,
        node: &Node,
        bytes: &[u8],
        deadline: Deadline,
    ) -> Result<Connection, Fault> {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.pipelines.fetch_add(1, Ordering::Relaxed);
        let kept = self.idle().get_mut(node).and_then(Vec::pop);
        if let Some(mut connection) = kept
            && send(&mut connection, bytes, deadline).is_ok()
        {
            return Ok(connection);
        }
        let mut connection = self.connect(node, deadline)?;
        let sent = send(&mut connection, bytes, deadline);
        sent.map_err(|error| again(node, &error))?;
        Ok(connection)
    }

    fn connect(&self, node: &Node, deadline: Deadline) -> Result<Connection, Fault> {
        let connect = || {
            let settings = self.address.url(node).into_connection_info()?;
            // Whoever asks waits for the last packet of a pipeline; and our name, which the library would tell, costs a
            // round trip.
            let named = settings.redis_settings().clone().set_skip_set_lib_name();
            let settings = settings
                .set_tcp_settings(TcpSettings::default().set_nodelay(true))
                .set_redis_settings(named);
            let client = redis::Client::open(settings)?;
            let limit = deadline.with_step(self.options.connect_limit).patience();
            client.get_connection_with_timeout(limit)
        };
        connect().map_err(|error: RedisError| match error.kind() {
            ErrorKind::AuthenticationFailed => Fault::login(node, error.to_string()),
            _ => again(node, &error),
        })
    }

    /// The next answer on a connection.
    pub(crate) fn receive(
        &self,
        connection: &mut Connection,
        deadline: Deadline,
    ) -> Result<Value, RedisError> {
        // Usually the patience that it was sent with will do.
        if deadline.is_within(deadline.step) {
            connection.set_read_timeout(Some(deadline.patience()))?;
        }
        let value = connection.recv_response()?;
        self.received
            .fetch_add(wire_bytes(&value), Ordering::Relaxed);
        Ok(value)
    }

    /// Keeps a connection that has answered everything.
    pub(crate) fn keep(&self, node: &Node, connection: Connection) {
        let mut idle = self.idle();
        let kept = idle.entry(node.clone()).or_default();
        if kept.len() < IDLE {
            kept.push(connection);
        }
    }
}

/// A node that cannot be asked now.
pub(crate) fn again(node: &Node, error: &RedisError) -> Fault {
    let message = error.to_string();
    match error.is_timeout() {
        true => Fault::Silent(format!("{node}: it does not answer")),
        // The library passes on what rustls says, without a kind of its own.
        false if message.contains("certificate") => Fault::Untrusted {
            node: node.to_string(),
            message,
        },
        false => Fault::Again(format!("{node}: {message}")),
    }
}

fn send(connection: &mut Connection, bytes: &[u8], deadline: Deadline) -> Result<(), RedisError> {
    let patience = Some(deadline.patience());
    connection.set_read_timeout(patience)?;
    connection.set_write_timeout(patience)?;
    connection.send_packed_command(bytes)
}

/// Bytes of an answer as the protocol writes it.
fn wire_bytes(value: &Value) -> u64 {
    let digits = |n: usize| n.to_string().len() as u64;
    match value {
        Value::BulkString(bytes) => 5 + digits(bytes.len()) + bytes.len() as u64,
        Value::Array(items) => 3 + digits(items.len()) + items.iter().map(wire_bytes).sum::<u64>(),
        Value::Int(number) => 3 + number.to_string().len() as u64,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_protocol() {
        let value = Value::Array(vec![
            Value::BulkString(b"abc".to_vec()),
            Value::Nil,
            Value::Int(-12),
        ]);
        assert_eq!(
            wire_bytes(&value),
            "*3\r\n$3\r\nabc\r\n$-1\r\n:-12\r\n".len() as u64
        );
    }

    #[test]
    fn a_step_is_as_long_as_the_question_has_time() {
        let second = Duration::from_secs(1);
        let deadline = Deadline::after(60 * second, 2 * second);
        assert_eq!(deadline.patience(), 2 * second);
        assert_eq!(deadline.with_step(second).patience(), second);
        assert!(!deadline.is_within(second) && deadline.is_within(60 * second));
        let short = Deadline::after(second, 2 * second).patience();
        assert!(short <= second && short > second / 2, "{short:?}");
        let over = Deadline::after(Duration::ZERO, second);
        assert_eq!(over.patience(), SHORTEST);
    }
}
