//! Tests of the record layer: vectors, rules of the RFCs one by one, properties.

mod keys;
mod nonces;
mod rules;
mod traces;

use crate::{Direction, Opened, RecordError, RecordLayer, Suite};

/// The suites of TLS 1.3, and the ones that TLS 1.2 names.
const SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// The protocol version of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Tls12,
    Tls13,
}

/// Bytes of hexadecimal digits.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// Both ends of a session.
struct Pair {
    client: RecordLayer,
    server: RecordLayer,
}

impl Pair {
    fn new(version: Version, suite: &str) -> Self {
        let suite = Suite::of_name(suite).unwrap();
        let (client_reads, client_writes) = {
            let (client, server) = directions(version, suite).unwrap();
            (server, client)
        };
        let (server_reads, server_writes) = directions(version, suite).unwrap();
        Self {
            client: RecordLayer::new(client_reads, client_writes),
            server: RecordLayer::new(server_reads, server_writes),
        }
    }

    /// The client's data as a record.
    fn client_record(&mut self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.client.seal(&[data], &mut out).unwrap();
        out
    }
}

/// The directions of the client and of the server.
fn directions(version: Version, suite: Suite) -> Option<(Direction, Direction)> {
    match version {
        Version::Tls13 => {
            let secret = |byte| vec![byte; suite.hash.length()];
            let client = Direction::tls13(suite, &secret(1), 0)?;
            Some((client, Direction::tls13(suite, &secret(2), 0)?))
        }
        Version::Tls12 => Direction::tls12(suite, &[3; 48], (&[4; 32], &[5; 32]), (0, 0), Some(77)),
    }
}

/// All sessions that there are.
fn sessions() -> impl Iterator<Item = (Version, &'static str)> + Clone {
    let versions = [Version::Tls12, Version::Tls13];
    versions.into_iter().flat_map(|version| SUITES.map(|suite| (version, suite)))
}

/// Opens a record in both ways, which have to agree.
fn opened(layer: &mut RecordLayer, record: &[u8]) -> Result<(Opened, Vec<u8>), RecordError> {
    let mut place = record.to_vec();
    let (opened, offset) = layer.open_in_place(&mut place)?;
    let data = match opened {
        Opened::Data(count) => place[offset..offset + count].to_vec(),
        Opened::Aside | Opened::Closed => Vec::new(),
    };
    Ok((opened, data))
}
