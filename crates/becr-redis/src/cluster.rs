//! Asking a cluster: pipelines to every node at once, again where something moved or fell.
//!
//! [`Cluster::start`] sends, [`Cluster::finish`] receives: between them the caller may work on what came before. Requests
//! must be harmless when they are repeated: an answer that got lost is asked for again.

use crate::slots::Topology;
use crate::{Address, ClusterError, Node, Options};
use redis::{Connection, RedisError, ServerError, ServerErrorKind, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Connections to a node that are kept for the next one who asks.
const IDLE: usize = 16;
/// The pause before a second try, which then doubles.
const PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// A command, packed, and the slot of its keys.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) slot: u16,
    pub(crate) bytes: Vec<u8>,
}

/// Bytes that went over the network, as the protocol counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// To the nodes.
    pub sent: u64,
    /// From the nodes.
    pub received: u64,
    /// Pipelines: what one node was sent at once.
    pub pipelines: u64,
}

/// The nodes of a cluster and connections to them. Shared between threads; each takes connections of its own.
pub(crate) struct Cluster {
    address: Address,
    options: Options,
    topology: RwLock<Option<Arc<Topology>>>,
    idle: Mutex<HashMap<Node, Vec<Connection>>>,
    sent: AtomicU64,
    received: AtomicU64,
    pipelines: AtomicU64,
}

/// Requests that were sent and not yet answered.
pub(crate) struct InFlight {
    begun: Instant,
    parts: Vec<Part>,
    /// Requests that could not be sent, by place.
    failed: Vec<(usize, Fault)>,
}

/// What one node was sent.
struct Part {
    node: Node,
    connection: Connection,
    places: Vec<usize>,
    /// Replicas that must have taken the writes, if that was asked.
    replicas: Option<usize>,
}

/// Why a request is to be sent again.
#[derive(Debug, Clone)]
enum Fault {
    /// To this node alone, for this time.
    Ask(Node, String),
    /// After a look at who has which slots.
    Again(String),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cluster {
    pub(crate) fn new(address: Address, options: Options) -> Self {
        Self {
            address,
            options,
            topology: RwLock::default(),
            idle: Mutex::default(),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            pipelines: AtomicU64::new(0),
        }
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

    /// One request and its answer.
    pub(crate) fn one(&self, request: Request) -> Result<Value, ClusterError> {
        let mut values = self.all(&[request])?;
        values.pop().ok_or(ClusterError::Reply("a request"))
    }

    /// All requests and their answers, in their order.
    pub(crate) fn all(&self, requests: &[Request]) -> Result<Vec<Value>, ClusterError> {
        self.finish(self.start(requests), requests)
    }

    /// The same for writes: every node's replicas have taken them before this returns.
    pub(crate) fn write(&self, requests: &[Request]) -> Result<Vec<Value>, ClusterError> {
        let flight = self.send(requests, &(0..requests.len()).collect::<Vec<_>>(), true);
        self.receive(flight, requests, true, self.options.write_time_limit)
    }

    /// Sends requests, each to the master of its slot, without waiting for answers.
    pub(crate) fn start(&self, requests: &[Request]) -> InFlight {
        self.send(requests, &(0..requests.len()).collect::<Vec<_>>(), false)
    }

    /// Waits for the answers, in the order of the requests. What moved or fell is asked again until the time limit.
    pub(crate) fn finish(
        &self,
        flight: InFlight,
        requests: &[Request],
    ) -> Result<Vec<Value>, ClusterError> {
        self.receive(flight, requests, false, self.options.time_limit)
    }

    fn send(&self, requests: &[Request], places: &[usize], is_write: bool) -> InFlight {
        let mut flight = InFlight {
            begun: Instant::now(),
            parts: Vec::new(),
            failed: Vec::new(),
        };
        let topology = match self.topology() {
            Ok(topology) => topology,
            Err(last) => {
                let fault = Fault::Again(last);
                flight.failed = places.iter().map(|&at| (at, fault.clone())).collect();
                return flight;
            }
        };
        let mut by_master: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &place in places {
            match topology.master(requests[place].slot) {
                Some(master) => by_master.entry(master).or_default().push(place),
                None => {
                    let nobody = Fault::Again("no node has the slot of a key".into());
                    flight.failed.push((place, nobody));
                }
            }
        }
        for (master, places) in by_master {
            let (node, replicas) = &topology.masters[master];
            let mut bytes = Vec::new();
            places
                .iter()
                .for_each(|&at| bytes.extend_from_slice(&requests[at].bytes));
            let replicas = self.options.replicas.unwrap_or(*replicas);
            let replicas = (is_write && replicas > 0).then_some(replicas);
            if let Some(replicas) = replicas {
                let limit = self.options.response_limit.as_millis() as u64 * 3 / 4;
                let mut wait = redis::cmd("WAIT");
                wait.arg(replicas)
                    .arg(limit)
                    .write_packed_command(&mut bytes);
            }
            match self.send_to(node, &bytes) {
                Ok(connection) => flight.parts.push(Part {
                    node: node.clone(),
                    connection,
                    places,
                    replicas,
                }),
                Err(error) => {
                    let fault = Fault::Again(format!("{node}: {error}"));
                    let failed = places.into_iter().map(|place| (place, fault.clone()));
                    flight.failed.extend(failed);
                }
            }
        }
        flight
    }

    /// Sends bytes over a connection that was kept, or, if that is broken, over a new one.
    fn send_to(&self, node: &Node, bytes: &[u8]) -> Result<Connection, RedisError> {
        self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.pipelines.fetch_add(1, Ordering::Relaxed);
        let kept = lock(&self.idle).get_mut(node).and_then(Vec::pop);
        if let Some(mut connection) = kept
            && connection.send_packed_command(bytes).is_ok()
        {
            return Ok(connection);
        }
        let mut connection = self.connect(node)?;
        connection.send_packed_command(bytes)?;
        Ok(connection)
    }

    fn connect(&self, node: &Node) -> Result<Connection, RedisError> {
        let client = redis::Client::open(self.address.url(node))?;
        let connection = client.get_connection_with_timeout(self.options.connect_limit)?;
        connection.set_read_timeout(Some(self.options.response_limit))?;
        connection.set_write_timeout(Some(self.options.response_limit))?;
        Ok(connection)
    }

    fn keep(&self, node: Node, connection: Connection) {
        let mut idle = lock(&self.idle);
        let kept = idle.entry(node).or_default();
        if kept.len() < IDLE {
            kept.push(connection);
        }
    }

    fn receive(
        &self,
        mut flight: InFlight,
        requests: &[Request],
        is_write: bool,
        limit: Duration,
    ) -> Result<Vec<Value>, ClusterError> {
        let begun = flight.begun;
        let mut values = vec![Value::Nil; requests.len()];
        let mut pause = PAUSE;
        loop {
            let mut failed = std::mem::take(&mut flight.failed);
            for part in flight.parts.drain(..) {
                self.receive_part(part, &mut values, &mut failed)?;
            }
            let Some((_, last)) = failed.last() else {
                return Ok(values);
            };
            if begun.elapsed() + pause > limit {
                let last = match last {
                    Fault::Ask(_, message) | Fault::Again(message) => message.clone(),
                };
                let waited = begun.elapsed();
                return Err(ClusterError::Unreachable { waited, last });
            }
            let mut again = Vec::new();
            for (place, fault) in failed {
                match fault {
                    Fault::Again(_) => again.push(place),
                    Fault::Ask(node, _) => match self.ask(&node, &requests[place]) {
                        Some(value) => values[place] = value,
                        None => again.push(place),
                    },
                }
            }
            if again.is_empty() {
                return Ok(values);
            }
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
            self.refresh();
            flight = self.send(requests, &again, is_write);
        }
    }

    /// Takes the answers of one node. What is to be sent again goes to `failed`.
    fn receive_part(
        &self,
        mut part: Part,
        values: &mut [Value],
        failed: &mut Vec<(usize, Fault)>,
    ) -> Result<(), ClusterError> {
        let node = &part.node;
        for (at, &place) in part.places.iter().enumerate() {
            let received = part.connection.recv_response();
            let server = match received {
                Ok(Value::ServerError(error)) => error,
                Ok(value) => {
                    self.received
                        .fetch_add(wire_bytes(&value), Ordering::Relaxed);
                    values[place] = value;
                    continue;
                }
                Err(error) => {
                    let fault = Fault::Again(format!("{node}: {error}"));
                    let rest = part.places[at..].iter();
                    failed.extend(rest.map(|&place| (place, fault.clone())));
                    return Ok(());
                }
            };
            failed.push((place, fault(node, &server)?));
        }
        if let Some(expected) = part.replicas {
            match part.connection.recv_response() {
                Ok(Value::Int(found)) if found >= expected as i64 => {}
                Ok(Value::Int(found)) => {
                    let node = node.to_string();
                    return Err(ClusterError::Unreplicated {
                        node,
                        found,
                        expected,
                    });
                }
                other => {
                    let fault = Fault::Again(format!("{node}: {other:?}"));
                    failed.extend(part.places.iter().map(|&place| (place, fault.clone())));
                    return Ok(());
                }
            }
        }
        self.keep(part.node, part.connection);
        Ok(())
    }

    /// Asks a node that is about to get a slot.
    fn ask(&self, node: &Node, request: &Request) -> Option<Value> {
        let mut bytes = redis::cmd("ASKING").get_packed_command();
        bytes.extend_from_slice(&request.bytes);
        let mut connection = self.send_to(node, &bytes).ok()?;
        connection.recv_response().ok()?;
        match connection.recv_response().ok()? {
            Value::ServerError(_) => None,
            value => {
                self.keep(node.clone(), connection);
                Some(value)
            }
        }
    }

    /// Who has which slots, as far as is known; asked when first needed.
    pub(crate) fn topology(&self) -> Result<Arc<Topology>, String> {
        let known = self.topology.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(topology) = &*known {
            return Ok(topology.clone());
        }
        drop(known);
        self.look_for_topology()
    }

    /// Asks again. What goes wrong here shows in the next request.
    fn refresh(&self) {
        let _ = self.look_for_topology();
    }

    fn look_for_topology(&self) -> Result<Arc<Topology>, String> {
        let known = self.topology.read().unwrap_or_else(PoisonError::into_inner);
        let mut nodes: Vec<Node> = known
            .iter()
            .flat_map(|t| t.masters.iter())
            .map(|m| m.0.clone())
            .collect();
        drop(known);
        nodes.extend(self.address.nodes.iter().cloned());
        let mut last = String::new();
        for node in &nodes {
            match self.topology_of(node) {
                Ok(topology) => {
                    let topology = Arc::new(topology);
                    let mut known = self
                        .topology
                        .write()
                        .unwrap_or_else(PoisonError::into_inner);
                    *known = Some(topology.clone());
                    return Ok(topology);
                }
                Err(error) => last = format!("{node}: {error}"),
            }
        }
        Err(last)
    }

    fn topology_of(&self, node: &Node) -> Result<Topology, String> {
        let bytes = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        let mut connection = self.send_to(node, &bytes).map_err(|e| e.to_string())?;
        match connection.recv_response() {
            // A server that is no cluster has everything.
            Ok(Value::ServerError(error)) if says(&error, "cluster support disabled") => {
                self.keep(node.clone(), connection);
                Ok(Topology::single(node.clone()))
            }
            Ok(Value::ServerError(error)) => Err(told(&error)),
            Ok(reply) => {
                self.keep(node.clone(), connection);
                let read = Topology::read(&reply, node);
                read.ok_or_else(|| "it knows of no node that has slots".into())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends each request once, and takes the answers: an error of a node is its answer. `None` if a node cannot be
    /// reached.
    pub(crate) fn once(&self, requests: &[Request]) -> Option<Vec<Value>> {
        let mut flight = self.start(requests);
        if !flight.failed.is_empty() {
            return None;
        }
        let mut values = vec![Value::Nil; requests.len()];
        for mut part in flight.parts.drain(..) {
            for &place in &part.places {
                let value = part.connection.recv_response().ok()?;
                self.received
                    .fetch_add(wire_bytes(&value), Ordering::Relaxed);
                values[place] = value;
            }
            self.keep(part.node, part.connection);
        }
        Some(values)
    }

    /// Asks every master the same, one after the other, until `ask` has no more to ask of it.
    pub(crate) fn each_master(
        &self,
        mut ask: impl FnMut(
            &mut dyn FnMut(&redis::Cmd) -> Result<Value, ClusterError>,
        ) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let unreachable = |last: String| ClusterError::Unreachable {
            waited: self.options.connect_limit,
            last,
        };
        let topology = self.topology().map_err(unreachable)?;
        for (node, _) in &topology.masters {
            let failed = |error: RedisError| unreachable(format!("{node}: {error}"));
            let mut connection = self.connect(node).map_err(failed)?;
            ask(&mut |command| {
                let bytes = command.get_packed_command();
                self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                connection.send_packed_command(&bytes).map_err(failed)?;
                match connection.recv_response().map_err(failed)? {
                    Value::ServerError(error) => Err(ClusterError::Refused {
                        node: node.to_string(),
                        message: told(&error),
                    }),
                    value => {
                        self.received
                            .fetch_add(wire_bytes(&value), Ordering::Relaxed);
                        Ok(value)
                    }
                }
            })?;
        }
        Ok(())
    }
}

/// What to do about an error that a node answered: again, or give up.
fn fault(node: &Node, error: &ServerError) -> Result<Fault, ClusterError> {
    let message = format!("{node}: {}", told(error));
    match error.kind() {
        Some(ServerErrorKind::Ask) => {
            let asked = error.details().and_then(redirected);
            Ok(asked.map_or(Fault::Again(message.clone()), |to| Fault::Ask(to, message)))
        }
        Some(
            ServerErrorKind::Moved
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::MasterDown
            | ServerErrorKind::BusyLoading
            | ServerErrorKind::ReadOnly,
        ) => Ok(Fault::Again(message)),
        // A master that sees too few replicas: they may be on their way back.
        None if error.code() == "NOREPLICAS" => Ok(Fault::Again(message)),
        None if error.code() == "OOM" => Err(ClusterError::OutOfMemory {
            node: node.to_string(),
        }),
        _ if says(error, "FENCED") => Err(ClusterError::Fenced),
        // A script passes an error of a command on within its own.
        _ if says(error, "OOM command not allowed") => Err(ClusterError::OutOfMemory {
            node: node.to_string(),
        }),
        _ => Err(ClusterError::Refused {
            node: node.to_string(),
            message: told(error),
        }),
    }
}

/// The node of "slot host:port".
fn redirected(details: &str) -> Option<Node> {
    let (host, port) = details.split_whitespace().nth(1)?.rsplit_once(':')?;
    Some(Node {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: port.parse().ok()?,
    })
}

fn told(error: &ServerError) -> String {
    format!("{} {}", error.code(), error.details().unwrap_or_default())
}

fn says(error: &ServerError, words: &str) -> bool {
    error.code().contains(words)
        || error
            .details()
            .is_some_and(|details| details.contains(words))
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
    fn redirections_are_read() {
        let node = redirected("3999 127.0.0.1:6381").unwrap();
        assert_eq!(node.to_string(), "127.0.0.1:6381");
        assert_eq!(redirected("1 ::1:7000").unwrap().to_string(), "[::1]:7000");
        assert!(redirected("3999").is_none());
        assert!(redirected("3999 host:port").is_none());
    }

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
}
