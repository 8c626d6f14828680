//! Asking a cluster: pipelines to every node at once, again where something moved or fell.
//!
//! [`Cluster::start`] sends, [`Cluster::finish`] receives: between them the caller may work on what came before. Requests
//! must be harmless when they are repeated: an answer that got lost is asked for again.

use crate::connections::{Connections, Deadline, again};
use crate::slots::Topology;
use crate::{Address, ClusterError, Node, Options};
use redis::{Connection, ServerError, ServerErrorKind, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

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

/// The nodes of a cluster and connections to them. Shared between threads.
pub(crate) struct Cluster {
    connections: Connections,
    topology: RwLock<Option<Arc<Topology>>>,
}

/// Requests that were sent and not yet answered.
pub(crate) struct InFlight {
    begun: Instant,
    deadline: Deadline,
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

/// Why a request was not answered.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// To be sent to this node alone, for this time.
    Ask(Node, String),
    /// To be sent again after a look at who has which slots.
    Again(String),
    /// The same: nothing was heard, for whatever reason.
    Silent(String),
    /// The same, as certificates are renewed: the node is not known to be what it says.
    Untrusted { node: String, message: String },
    /// Not to be sent again: the node does not let us in.
    Login { node: String, message: String },
}

impl Fault {
    pub(crate) fn login(node: &Node, message: String) -> Self {
        let node = node.to_string();
        Self::Login { node, message }
    }

    /// How much it says of what to do.
    fn specificity(&self) -> u8 {
        match self {
            Self::Silent(_) => 0,
            Self::Ask(..) | Self::Again(_) => 1,
            Self::Untrusted { .. } => 2,
            Self::Login { .. } => 3,
        }
    }

    /// Which of two faults is told: the one that says more, whichever node happened to be asked last; of equals the later.
    fn or_later(self, later: Self) -> Self {
        match self.specificity() > later.specificity() {
            true => self,
            false => later,
        }
    }

    /// What is told when there is no time left.
    fn into_error(self, waited: Duration) -> ClusterError {
        match self {
            Self::Ask(_, last) | Self::Again(last) | Self::Silent(last) => {
                ClusterError::Unreachable { waited, last }
            }
            Self::Untrusted { node, message } => ClusterError::Certificate { node, message },
            Self::Login { node, message } => ClusterError::Login { node, message },
        }
    }
}

impl Cluster {
    pub(crate) fn new(address: Address, options: Options) -> Self {
        Self {
            connections: Connections::new(address, options),
            topology: RwLock::default(),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        self.connections.options()
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.connections.traffic()
    }

    /// The end of a question that is asked now.
    fn deadline(&self, limit: Duration) -> Deadline {
        Deadline::after(limit, self.options().response_limit)
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
        self.receive(self.begin(requests, true), requests, true)
    }

    /// Sends requests, each to the master of its slot, without waiting for answers.
    pub(crate) fn start(&self, requests: &[Request]) -> InFlight {
        self.begin(requests, false)
    }

    /// Waits for the answers, in the order of the requests. What moved or fell is asked again until the time limit.
    pub(crate) fn finish(
        &self,
        flight: InFlight,
        requests: &[Request],
    ) -> Result<Vec<Value>, ClusterError> {
        self.receive(flight, requests, false)
    }

    fn begin(&self, requests: &[Request], is_write: bool) -> InFlight {
        let limit = match is_write {
            true => self.options().write_time_limit,
            false => self.options().time_limit,
        };
        let places: Vec<usize> = (0..requests.len()).collect();
        self.send(requests, &places, is_write, self.deadline(limit))
    }

    fn send(
        &self,
        requests: &[Request],
        places: &[usize],
        is_write: bool,
        deadline: Deadline,
    ) -> InFlight {
        let mut flight = InFlight {
            begun: Instant::now(),
            deadline,
            parts: Vec::new(),
            failed: Vec::new(),
        };
        let topology = match self.topology(deadline) {
            Ok(topology) => topology,
            Err(fault) => {
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
            let replicas = self.options().replicas.unwrap_or(*replicas);
            let replicas = (is_write && replicas > 0).then_some(replicas);
            if let Some(replicas) = replicas {
                let limit = self.options().response_limit.as_millis() as u64 * 3 / 4;
                let mut wait = redis::cmd("WAIT");
                wait.arg(replicas)
                    .arg(limit)
                    .write_packed_command(&mut bytes);
            }
            match self.connections.send(node, &bytes, deadline) {
                Ok(connection) => flight.parts.push(Part {
                    node: node.clone(),
                    connection,
                    places,
                    replicas,
                }),
                Err(fault) => {
                    let failed = places.into_iter().map(|place| (place, fault.clone()));
                    flight.failed.extend(failed);
                }
            }
        }
        flight
    }

    fn receive(
        &self,
        mut flight: InFlight,
        requests: &[Request],
        is_write: bool,
    ) -> Result<Vec<Value>, ClusterError> {
        let (begun, deadline) = (flight.begun, flight.deadline);
        let mut values = vec![Value::Nil; requests.len()];
        let mut pause = PAUSE;
        // Over all tries: the last one has the least time, and ends in silence where one before it had a reason.
        let mut told = Fault::Silent("no node was asked".into());
        loop {
            let mut failed = std::mem::take(&mut flight.failed);
            for part in flight.parts.drain(..) {
                self.receive_part(part, &mut values, &mut failed, deadline)?;
            }
            if failed.is_empty() {
                return Ok(values);
            }
            for (_, fault) in &failed {
                told = told.or_later(fault.clone());
            }
            if matches!(told, Fault::Login { .. }) || deadline.is_within(pause) {
                return Err(told.into_error(begun.elapsed()));
            }
            let mut again = Vec::new();
            for (place, fault) in failed {
                match fault {
                    Fault::Again(_)
                    | Fault::Silent(_)
                    | Fault::Untrusted { .. }
                    | Fault::Login { .. } => again.push(place),
                    Fault::Ask(node, _) => match self.ask(&node, &requests[place], deadline) {
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
            self.refresh(deadline);
            flight = self.send(requests, &again, is_write, deadline);
        }
    }

    /// Takes the answers of one node. What is to be sent again goes to `failed`.
    fn receive_part(
        &self,
        mut part: Part,
        values: &mut [Value],
        failed: &mut Vec<(usize, Fault)>,
        deadline: Deadline,
    ) -> Result<(), ClusterError> {
        let node = &part.node;
        for (at, &place) in part.places.iter().enumerate() {
            let received = self.connections.receive(&mut part.connection, deadline);
            let server = match received {
                Ok(Value::ServerError(error)) => error,
                Ok(value) => {
                    values[place] = value;
                    continue;
                }
                Err(error) => {
                    let fault = again(node, &error);
                    let rest = part.places[at..].iter();
                    failed.extend(rest.map(|&place| (place, fault.clone())));
                    return Ok(());
                }
            };
            failed.push((place, fault(node, &server)?));
        }
        if let Some(expected) = part.replicas {
            match self.connections.receive(&mut part.connection, deadline) {
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
                    let fault = match other {
                        Err(error) => again(node, &error),
                        Ok(other) => Fault::Again(format!("{node}: {other:?}")),
                    };
                    failed.extend(part.places.iter().map(|&place| (place, fault.clone())));
                    return Ok(());
                }
            }
        }
        self.connections.keep(&part.node, part.connection);
        Ok(())
    }

    /// Asks a node that is about to get a slot.
    fn ask(&self, node: &Node, request: &Request, deadline: Deadline) -> Option<Value> {
        let mut bytes = redis::cmd("ASKING").get_packed_command();
        bytes.extend_from_slice(&request.bytes);
        let mut connection = self.connections.send(node, &bytes, deadline).ok()?;
        self.connections.receive(&mut connection, deadline).ok()?;
        match self.connections.receive(&mut connection, deadline).ok()? {
            Value::ServerError(_) => None,
            value => {
                self.connections.keep(node, connection);
                Some(value)
            }
        }
    }

    /// Who has which slots, as far as is known; asked when first needed.
    fn topology(&self, deadline: Deadline) -> Result<Arc<Topology>, Fault> {
        let known = self.topology.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(topology) = &*known {
            return Ok(topology.clone());
        }
        drop(known);
        self.look_for_topology(deadline)
    }

    /// The same, for whoever can do without.
    pub(crate) fn known_topology(&self) -> Option<Arc<Topology>> {
        self.topology(self.deadline(self.options().time_limit)).ok()
    }

    /// Asks again. What goes wrong here shows in the next request.
    fn refresh(&self, deadline: Deadline) {
        let _ = self.look_for_topology(deadline);
    }

    fn look_for_topology(&self, deadline: Deadline) -> Result<Arc<Topology>, Fault> {
        let known = self.topology.read().unwrap_or_else(PoisonError::into_inner);
        let masters = known.iter().flat_map(|t| t.masters.iter());
        let mut nodes: Vec<Node> = masters.map(|master| master.0.clone()).collect();
        drop(known);
        for node in &self.connections.address().nodes {
            if !nodes.contains(node) {
                nodes.push(node.clone());
            }
        }
        // A node that hangs must not take the time of those that answer.
        let each = deadline.with_step(self.options().connect_limit);
        let mut told = Fault::Silent("no node was asked".into());
        for node in &nodes {
            match self.topology_of(node, each) {
                Ok(topology) => {
                    let topology = Arc::new(topology);
                    let known = self.topology.write();
                    *known.unwrap_or_else(PoisonError::into_inner) = Some(topology.clone());
                    return Ok(topology);
                }
                Err(fault) => told = told.or_later(fault),
            }
            if deadline.is_within(Duration::from_nanos(1)) {
                break;
            }
        }
        Err(told)
    }

    fn topology_of(&self, node: &Node, deadline: Deadline) -> Result<Topology, Fault> {
        let bytes = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
        let mut connection = self.connections.send(node, &bytes, deadline)?;
        match self.connections.receive(&mut connection, deadline) {
            // A server that is no cluster has everything.
            Ok(Value::ServerError(error)) if says(&error, "cluster support disabled") => {
                self.connections.keep(node, connection);
                Ok(Topology::single(node.clone()))
            }
            Ok(Value::ServerError(error)) if matches!(error.code(), "NOAUTH" | "NOPERM") => {
                Err(Fault::login(node, told(&error)))
            }
            Ok(Value::ServerError(error)) => Err(Fault::Again(format!("{node}: {}", told(&error)))),
            Ok(reply) => {
                self.connections.keep(node, connection);
                let read = Topology::read(&reply, node);
                let nobody = || Fault::Again(format!("{node}: it knows of no node that has slots"));
                read.ok_or_else(nobody)
            }
            Err(error) => Err(again(node, &error)),
        }
    }

    /// Sends each request once, and takes the answers: an error of a node is its answer. `None` if a node cannot be
    /// reached.
    pub(crate) fn once(&self, requests: &[Request]) -> Option<Vec<Value>> {
        let mut flight = self.start(requests);
        if !flight.failed.is_empty() {
            return None;
        }
        // One try of several: whoever asks has another way, which needs its time.
        let deadline = self.deadline(self.options().response_limit);
        let mut values = vec![Value::Nil; requests.len()];
        for mut part in flight.parts.drain(..) {
            for &place in &part.places {
                let received = self.connections.receive(&mut part.connection, deadline);
                values[place] = received.ok()?;
            }
            self.connections.keep(&part.node, part.connection);
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
        let begun = Instant::now();
        let error = |fault: Fault| fault.into_error(begun.elapsed());
        let whole = self.deadline(self.options().time_limit);
        let topology = self.topology(whole).map_err(error)?;
        for (node, _) in &topology.masters {
            ask(&mut |command| {
                let deadline = self.deadline(self.options().time_limit);
                let bytes = command.get_packed_command();
                let sent = self.connections.send(node, &bytes, deadline);
                let mut connection = sent.map_err(error)?;
                let received = self.connections.receive(&mut connection, deadline);
                match received.map_err(|fault| error(again(node, &fault)))? {
                    Value::ServerError(error) => Err(ClusterError::Refused {
                        node: node.to_string(),
                        message: told(&error),
                    }),
                    value => {
                        self.connections.keep(node, connection);
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

    /// A node that answers everything alike, or nothing at all.
    fn node(answer: Option<&'static str>) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for mut stream in listener.incoming().flatten() {
                match answer {
                    None => held.push(stream),
                    Some(answer) => drop(std::thread::spawn(move || {
                        while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {
                            let _ = stream.write_all(answer.as_bytes());
                        }
                    })),
                }
            }
        });
        address
    }

    #[test]
    fn the_fault_that_says_most_is_told_whichever_node_comes_last() {
        let (silent, closed) = (
            node(None),
            node(Some("-NOAUTH Authentication required.\r\n")),
        );
        let options = Options {
            time_limit: Duration::from_millis(400),
            connect_limit: Duration::from_millis(100),
            response_limit: Duration::from_millis(100),
            ..Options::default()
        };
        for nodes in [[&silent, &closed], [&closed, &silent]] {
            let address = format!("redis://{},{}/x", nodes[0], nodes[1]);
            let cluster = Cluster::new(address.parse().unwrap(), options.clone());
            let ping = Request {
                slot: 0,
                bytes: redis::cmd("PING").get_packed_command(),
            };
            let error = cluster.one(ping).unwrap_err();
            assert!(
                matches!(error, ClusterError::Login { .. }),
                "{address}: {error}"
            );
        }
    }

    #[test]
    fn a_certificate_says_more_than_silence() {
        let node: Node = redirected("0 127.0.0.1:1").unwrap();
        let of = |kind, message: &'static str| {
            again(
                &node,
                &redis::RedisError::from(std::io::Error::new(kind, message)),
            )
        };
        let untrusted = || {
            of(
                std::io::ErrorKind::InvalidData,
                "invalid peer certificate: UnknownIssuer",
            )
        };
        let silent = || of(std::io::ErrorKind::TimedOut, "timed out");
        for told in [
            untrusted().or_later(silent()),
            silent().or_later(untrusted()),
        ] {
            let error = told.into_error(Duration::from_secs(5)).to_string();
            assert!(
                error.contains("127.0.0.1:1") && error.contains("SSL_CERT_FILE"),
                "{error}"
            );
        }
        let refused = of(std::io::ErrorKind::ConnectionRefused, "connection refused");
        let error = refused
            .or_later(silent())
            .into_error(Duration::from_secs(5));
        assert!(error.to_string().contains("refused"), "{error}");
    }
}
