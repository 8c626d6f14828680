//! Where a redirect leads.

use ureq::http::Uri;

/// The address that `location` stands for in an answer from `base`, as RFC 3986 (5.2) has it.
pub(crate) fn resolve(base: &Uri, location: &str) -> Option<String> {
    let location = location.split('#').next()?.trim();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    // Before the first slash or question mark there is a colon only if there is a scheme.
    let start = location.split(['/', '?']).next()?;
    if start.contains(':') {
        return Some(location.to_owned());
    }
    if location.starts_with("//") {
        return Some(format!("{scheme}:{location}"));
    }
    let (path, query) = match location.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (location, String::new()),
    };
    let path = match path {
        "" => base.path().to_owned(),
        path if path.starts_with('/') => without_dots(path),
        path => {
            let (folder, _) = base.path().rsplit_once('/')?;
            without_dots(&format!("{folder}/{path}"))
        }
    };
    Some(format!("{scheme}://{authority}{path}{query}"))
}

/// Who gets the token is told by how an address begins, so that `..` must not lead elsewhere later.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => {}
            ".." => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_seen_from_the_address_that_gave_them() {
        let base: Uri = "https://hub:8443/a/b/config.json?x=1".parse().unwrap();
        for (location, expected) in [
            ("http://other/c?d=e", "http://other/c?d=e"),
            ("HTTPS://other/c", "HTTPS://other/c"),
            ("//other/c?d=//e", "https://other/c?d=//e"),
            ("/c/d?e=/f", "https://hub:8443/c/d?e=/f"),
            ("/c?next=http://x/", "https://hub:8443/c?next=http://x/"),
            ("c/d?e", "https://hub:8443/a/b/c/d?e"),
            ("c?next=http://x/", "https://hub:8443/a/b/c?next=http://x/"),
            ("./c", "https://hub:8443/a/b/c"),
            ("../c", "https://hub:8443/a/c"),
            ("../../../../c", "https://hub:8443/c"),
            ("..", "https://hub:8443/a/"),
            ("/c/../d", "https://hub:8443/d"),
            ("?y=2", "https://hub:8443/a/b/config.json?y=2"),
            ("c#part", "https://hub:8443/a/b/c"),
        ] {
            assert_eq!(
                resolve(&base, location).as_deref(),
                Some(expected),
                "{location}"
            );
        }
    }
}
