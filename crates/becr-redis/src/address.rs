//! Where an index is: `redis://[user:password@]host:port[,host:port…]/name`.

use crate::ClusterError;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The port that is meant where none is named.
const PORT: u16 = 6379;
/// The longest name of an index.
const LONGEST_NAME: usize = 100;

/// A server, by host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Name or IP address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Where an index is: some nodes of the cluster, how to log in, and the index's name. Displayed without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) nodes: Vec<Node>,
    /// `user:password`, as the URL has it.
    login: Option<String>,
    is_tls: bool,
    pub(crate) name: String,
}

impl Address {
    /// Whether a path or an argument is meant as such an address.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("redis://") || text.starts_with("rediss://")
    }

    /// The index's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of one node, as the client library takes it.
    pub(crate) fn url(&self, node: &Node) -> String {
        let login = self
            .login
            .as_ref()
            .map_or(String::new(), |l| format!("{l}@"));
        format!("{}://{login}{node}/", self.scheme())
    }

    /// What errors call the store.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }

    fn scheme(&self) -> &'static str {
        if self.is_tls { "rediss" } else { "redis" }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.nodes.iter().map(Node::to_string).collect();
        write!(f, "{}://{}/{}", self.scheme(), nodes.join(","), self.name)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Address {
    type Err = ClusterError;

    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let refused = |reason: &'static str| ClusterError::Address { reason };
        let (is_tls, rest) = match (
            text.strip_prefix("redis://"),
            text.strip_prefix("rediss://"),
        ) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(refused("it does not begin with redis:// or rediss://")),
        };
        if is_tls && !cfg!(feature = "tls") {
            return Err(refused(
                "this program was built without TLS (the feature `tls` of becr-redis)",
            ));
        }
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login.to_owned()), rest),
            None => (None, rest),
        };
        let (nodes, name) = rest.split_once('/').unwrap_or((rest, ""));
        let nodes: Vec<Node> = nodes
            .split(',')
            .map(|node| read_node(node).ok_or_else(|| refused("a node is not written host:port")))
            .collect::<Result<_, _>>()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            return Err(refused(
                "after the nodes comes / and the name of the index: up to 100 letters, digits, '-', '_' and '.'",
            ));
        }
        Ok(Self {
            nodes,
            login,
            is_tls,
            name: name.to_owned(),
        })
    }
}

fn read_node(text: &str) -> Option<Node> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(PORT), str::parse).ok()?;
    let host = host.to_owned();
    (!host.is_empty()).then_some(Node { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_the_password() {
        let address: Address = "redis://me:s%40cret@a:7000,[::1]:7001,b/wiki-2"
            .parse()
            .unwrap();
        assert_eq!(
            address.to_string(),
            "redis://a:7000,[::1]:7001,b:6379/wiki-2"
        );
        assert_eq!(
            address.url(&address.nodes[1]),
            "redis://me:s%40cret@[::1]:7001/"
        );
        assert!(!format!("{address:?}").contains("cret"));
        for wrong in [
            "http://a/x",
            "redis://a",
            "redis://a/",
            "redis:///x",
            "redis://a:b/x",
            "redis://a:99999/x",
            "redis://a/x*",
            "redis://a/x/y",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }
}
