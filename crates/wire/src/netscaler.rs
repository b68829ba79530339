//! Decodes NetScaler Client IP insertion: the client's last IP and TCP headers before its first
//! byte.
//!
//! There are two forms, distinguished by the position of the IP header: the legacy one has the
//! magic number, a length of 4 bytes and the headers; the standard one has the magic number, a
//! length of 4 bytes, a type and a length of 2 bytes each, and the headers.

use crate::proxy_protocol::Addresses;
use std::net::{IpAddr, SocketAddr};

/// Reason why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetscalerError {
    /// A wrong magic number.
    Magic,
    /// The inserted headers are neither TCP over IPv4 nor TCP over IPv6, or are truncated.
    Unhandled,
}

/// Result of decoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetscalerStep {
    /// The header is incomplete.
    Partial,
    /// The header is complete.
    Complete {
        /// Addresses of the client's connection.
        ends: Addresses,
        /// Length of the header: the connection's own bytes follow.
        len: usize,
    },
}

/// Longest pair of headers: 60 bytes each, plus extension headers of IPv6.
const MAX_HEADERS: usize = 512;

/// Decodes the header at the beginning of `input`.
///
/// # Errors
/// There is no valid header: the connection has to be closed.
pub fn decode(magic: u32, input: &[u8]) -> Result<NetscalerStep, NetscalerError> {
    let magic = magic.to_be_bytes();
    let common = input.len().min(4);
    if input[..common] != magic[..common] {
        return Err(NetscalerError::Magic);
    }
    let Some([_, _, _, _, lengths @ ..]) = input.first_chunk::<12>() else {
        return Ok(NetscalerStep::Partial);
    };
    let [l0, l1, l2, l3, begin, _, high, low] = *lengths;
    // The first byte of a standard header's type is never that of an IP header.
    let (start, len) = match begin >> 4 {
        4 | 6 => (8, u32::from_be_bytes([l0, l1, l2, l3]) as usize),
        0 => (12, usize::from(u16::from_be_bytes([high, low]))),
        _ => return Err(NetscalerError::Unhandled),
    };
    if len > MAX_HEADERS {
        return Err(NetscalerError::Unhandled);
    }
    let Some(headers) = input.get(start..start + len) else { return Ok(NetscalerStep::Partial) };
    let ends = ends(headers).ok_or(NetscalerError::Unhandled)?;
    Ok(NetscalerStep::Complete { ends, len: start + len })
}

/// The addresses of an IP header and a TCP header.
fn ends(headers: &[u8]) -> Option<Addresses> {
    const TCP: u8 = 6;
    let first = *headers.first()?;
    let (from, to, tcp): (IpAddr, IpAddr, &[u8]) = match first >> 4 {
        4 => {
            let len = usize::from(first & 15) * 4;
            let fixed = headers.first_chunk::<20>().filter(|it| len >= 20 && it[9] == TCP)?;
            let ip = |at| fixed[at..].first_chunk::<4>().map(|it| IpAddr::from(*it));
            (ip(12)?, ip(16)?, headers.get(len..)?)
        }
        6 => {
            let fixed = headers.first_chunk::<40>().filter(|it| it[6] == TCP)?;
            let ip = |at| fixed[at..].first_chunk::<16>().map(|it| IpAddr::from(*it));
            (ip(8)?, ip(24)?, &headers[40..])
        }
        _ => return None,
    };
    let [a, b, c, d] = *tcp.first_chunk()?;
    let port = |high, low| u16::from_be_bytes([high, low]);
    Some((SocketAddr::new(from, port(a, b)), SocketAddr::new(to, port(c, d))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAGIC: u32 = 1234;

    fn ipv4() -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        ip.extend(tcp());
        ip
    }

    fn ipv6() -> Vec<u8> {
        let mut ip = vec![0x60, 0, 0, 0, 0, 20, 6, 64];
        ip.extend(0..32);
        ip.extend(tcp());
        ip
    }

    fn tcp() -> Vec<u8> {
        let mut tcp = vec![0, 42, 5, 57];
        tcp.resize(20, 0);
        tcp
    }

    fn legacy(headers: &[u8]) -> Vec<u8> {
        let len = (headers.len() as u32).to_be_bytes();
        [&MAGIC.to_be_bytes()[..], &len, headers].concat()
    }

    fn standard(headers: &[u8]) -> Vec<u8> {
        let total = (headers.len() as u32 + 12).to_be_bytes();
        let len = (headers.len() as u16).to_be_bytes();
        [&MAGIC.to_be_bytes()[..], &total, &[0, 1], &len, headers].concat()
    }

    #[test]
    fn both_forms_of_both_families() {
        let v4 = ("1.2.3.4:42".parse().unwrap(), "5.6.7.8:1337".parse().unwrap());
        let v6 = (
            "[1:203:405:607:809:a0b:c0d:e0f]:42".parse().unwrap(),
            "[1011:1213:1415:1617:1819:1a1b:1c1d:1e1f]:1337".parse().unwrap(),
        );
        for (headers, ends) in [(ipv4(), v4), (ipv6(), v6)] {
            for mut bytes in [legacy(&headers), standard(&headers)] {
                let len = bytes.len();
                bytes.extend_from_slice(b"GET /");
                assert_eq!(decode(MAGIC, &bytes), Ok(NetscalerStep::Complete { ends, len }));
                for cut in 0..len {
                    assert_eq!(decode(MAGIC, &bytes[..cut]), Ok(NetscalerStep::Partial), "{cut}");
                }
            }
        }
    }

    #[test]
    fn refused_headers() {
        let edit = |at: usize, byte| {
            let mut headers = ipv4();
            headers[at] = byte;
            legacy(&headers)
        };
        for (bytes, error) in [
            (b"GET / HTTP/1.1\r\n".to_vec(), NetscalerError::Magic),
            (edit(0, 0x55), NetscalerError::Unhandled),
            (edit(0, 0x44), NetscalerError::Unhandled),
            (edit(0, 0x4f), NetscalerError::Unhandled),
            (edit(9, 17), NetscalerError::Unhandled),
            (legacy(&ipv4()[..22]), NetscalerError::Unhandled),
            (legacy(&[0x45; 600]), NetscalerError::Unhandled),
        ] {
            assert_eq!(decode(MAGIC, &bytes), Err(error), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(tail in proptest::collection::vec(any::<u8>(), 0..80)) {
            let bytes = [&MAGIC.to_be_bytes()[..], &tail].concat();
            if let Ok(NetscalerStep::Complete { len, .. }) = decode(MAGIC, &bytes) {
                prop_assert!(len <= bytes.len());
            }
        }
    }
}
