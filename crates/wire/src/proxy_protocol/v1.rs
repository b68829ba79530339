//! Version 1 of the PROXY protocol: one line of text, at most 107 bytes (section 2.1).

use super::{Addresses, ProxyHeader, ProxyHeaderError, ProxyHeaderStep, aligned};
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) const SIGNATURE: &[u8] = b"PROXY ";

/// Longest line, with its end.
const MAX_LEN: usize = 107;

/// Decodes a header; `input` begins with the signature.
pub(super) fn decode(input: &[u8]) -> Result<ProxyHeaderStep<'_>, ProxyHeaderError> {
    let seen = &input[..input.len().min(MAX_LEN)];
    let Some(end) = memchr::memchr2(b'\r', b'\n', seen) else {
        return if input.len() < MAX_LEN {
            Ok(ProxyHeaderStep::Partial)
        } else {
            Err(ProxyHeaderError::Invalid)
        };
    };
    match (seen[end], seen.get(end + 1)) {
        (b'\r', Some(b'\n')) => {}
        (b'\r', None) if input.len() < MAX_LEN => return Ok(ProxyHeaderStep::Partial),
        _ => return Err(ProxyHeaderError::Invalid),
    }
    let line = std::str::from_utf8(&seen[SIGNATURE.len().min(end)..end]);
    let ends = ends(line.map_err(|_| ProxyHeaderError::Invalid)?)?;
    Ok(ProxyHeaderStep::Complete {
        header: ProxyHeader { ends, ..ProxyHeader::default() },
        len: end + 2,
    })
}

/// Parses the words after `PROXY `.
fn ends(text: &str) -> Result<Option<Addresses>, ProxyHeaderError> {
    let mut words = text.split(' ');
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        // The rest of the line is ignored.
        return Ok(None);
    }
    let ip: fn(&str) -> Option<IpAddr> = match family {
        "TCP4" => |word| word.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        "TCP6" => |word| word.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        _ => return Err(ProxyHeaderError::Unhandled),
    };
    let mut next = || words.next().ok_or(ProxyHeaderError::Invalid);
    let (from, to) = (ip(next()?), ip(next()?));
    let (from_port, to_port) = (port(next()?), port(next()?));
    match (from, to, from_port, to_port, words.next()) {
        (Some(from), Some(to), Some(from_port), Some(to_port), None) => {
            Ok(Some((SocketAddr::new(from, from_port), SocketAddr::new(to, to_port))))
        }
        _ => Err(ProxyHeaderError::Invalid),
    }
}

/// A port without leading zeroes.
fn port(word: &str) -> Option<u16> {
    let plain = word == "0" || !word.starts_with('0');
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| plain && digits)
}

/// Appends a header; `UNKNOWN` without addresses.
pub fn encode(ends: Option<Addresses>, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = match ends.map(aligned) {
        None => out.write_all(b"PROXY UNKNOWN\r\n"),
        Some((from, to)) => {
            let family = if from.is_ipv4() { '4' } else { '6' };
            let (from_ip, to_ip, from_port, to_port) = (from.ip(), to.ip(), from.port(), to.port());
            write!(out, "PROXY TCP{family} {from_ip} {to_ip} {from_port} {to_port}\r\n")
        }
    };
}
