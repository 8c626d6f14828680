//! Names that a server on loopback answers to.
//!
//! A page of a foreign site can have its own name point to 127.0.0.1 and then read what a server without tokens serves
//! (DNS rebinding). Its requests carry the foreign name, so names that are not known are refused.

use axum::http::uri::Authority;
use std::net::IpAddr;

/// Whether a server on loopback answers to this `Host`.
pub(crate) fn is_known(host: &str, known: &[String]) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    let name = authority.host();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || known.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_localhost_and_given_names_are_known() {
        let given = ["search.example".to_owned()];
        for host in [
            "localhost:8080",
            "127.0.0.1",
            "[::1]:80",
            "LOCALHOST",
            "search.example:1",
        ] {
            assert!(is_known(host, &given), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "",
            "a b",
            "127.0.0.1.evil.example:80",
        ] {
            assert!(!is_known(host, &given), "{host}");
        }
    }
}
