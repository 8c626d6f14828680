//! A connection that asks one search after the other.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub(super) struct Connection {
    stream: BufReader<TcpStream>,
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            stream: BufReader::new(stream),
            buffer: Vec::new(),
        })
    }

    /// Asks, reads the whole answer, and returns its status.
    pub(super) fn search(&mut self, query: &str, k: usize) -> io::Result<u16> {
        let body = serde_json::json!({"query": query, "k": k, "details": false}).to_string();
        let request = format!(
            "POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), 0, 0);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if status == 0 {
                let found = line
                    .split(' ')
                    .nth(1)
                    .and_then(|status| status.parse().ok());
                status = found.ok_or(io::ErrorKind::InvalidData)?;
            } else if let Some((name, value)) = line.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = value
                        .trim()
                        .parse()
                        .map_err(|_| io::ErrorKind::InvalidData)?;
                }
            } else {
                break;
            }
        }
        self.buffer.resize(length, 0);
        self.stream.read_exact(&mut self.buffer)?;
        Ok(status)
    }
}
