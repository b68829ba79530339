//! Version 2 of the PROXY protocol: a binary header with typed values (section 2.2).

use super::{
    Addresses, MAX_AUTHORITY, MAX_UNIQUE_ID, ProxyHeader, ProxyHeaderError, ProxyHeaderStep,
    ProxyTls, aligned,
};
use std::net::{IpAddr, SocketAddr};
use stdx::hash::crc32c;

pub(super) const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// Bytes of signature, version and command, family, length.
const FIXED: usize = 16;
/// Longest header accepted: the smallest configurable buffer is larger.
pub const MAX_LEN: usize = 4096;
/// Bytes of a pair of unix addresses.
const UNIX: usize = 216;

mod kind {
    pub(super) const ALPN: u8 = 0x01;
    pub(super) const AUTHORITY: u8 = 0x02;
    pub(super) const CRC32C: u8 = 0x03;
    pub(super) const UNIQUE_ID: u8 = 0x05;
    pub(super) const SSL: u8 = 0x20;
    pub(super) const SSL_VERSION: u8 = 0x21;
    pub(super) const SSL_CN: u8 = 0x22;
    pub(super) const SSL_CIPHER: u8 = 0x23;
    pub(super) const SSL_SIG_ALG: u8 = 0x24;
    pub(super) const SSL_KEY_ALG: u8 = 0x25;
    pub(super) const NETNS: u8 = 0x30;
}

/// Decodes a header; `input` begins with the signature.
pub(super) fn decode(input: &[u8]) -> Result<ProxyHeaderStep<'_>, ProxyHeaderError> {
    let Some(command) = input.get(SIGNATURE.len()) else { return Ok(ProxyHeaderStep::Partial) };
    if command >> 4 != 2 {
        return Err(ProxyHeaderError::Foreign);
    }
    let Some(fixed) = input.get(..FIXED) else { return Ok(ProxyHeaderStep::Partial) };
    let len = FIXED + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if len > MAX_LEN {
        return Err(ProxyHeaderError::Invalid);
    }
    let proxied = match command & 15 {
        0 => false,
        1 => true,
        _ => return Err(ProxyHeaderError::Invalid),
    };
    let family = family(fixed[13])?;
    let Some(whole) = input.get(..len) else { return Ok(ProxyHeaderStep::Partial) };
    let header = match proxied {
        true => header(whole, family)?,
        // LOCAL concerns the connection itself: its content is ignored (section 2.2).
        false => ProxyHeader::default(),
    };
    Ok(ProxyHeaderStep::Complete { header, len })
}

/// Address family of a header.
#[derive(Clone, Copy)]
enum Family {
    /// Unspecified: no addresses.
    Unspecified,
    /// IPv4 or IPv6 addresses (4 or 16 bytes) with ports; used only for streams.
    Inet { ip: usize, stream: bool },
    /// Unix paths.
    Unix,
}

fn family(byte: u8) -> Result<Family, ProxyHeaderError> {
    let stream = match byte & 15 {
        0 => None,
        1 => Some(true),
        2 => Some(false),
        _ => return Err(ProxyHeaderError::Invalid),
    };
    match (byte >> 4, stream) {
        (0, _) | (1..=3, None) => Ok(Family::Unspecified),
        (1, Some(stream)) => Ok(Family::Inet { ip: 4, stream }),
        (2, Some(stream)) => Ok(Family::Inet { ip: 16, stream }),
        (3, _) => Ok(Family::Unix),
        _ => Err(ProxyHeaderError::Invalid),
    }
}

fn header(whole: &[u8], family: Family) -> Result<ProxyHeader<'_>, ProxyHeaderError> {
    let body = &whole[FIXED..];
    let (ends, values) = match family {
        // The length of the addresses is unknown, so values after them cannot be found.
        Family::Unspecified => (None, None),
        Family::Unix => (None, Some(body.get(UNIX..).ok_or(ProxyHeaderError::Invalid)?)),
        Family::Inet { ip, stream } => {
            let (addresses, values) =
                body.split_at_checked(2 * ip + 4).ok_or(ProxyHeaderError::Invalid)?;
            let ends = if ip == 4 { ends::<4>(addresses) } else { ends::<16>(addresses) };
            (ends.filter(|_| stream), Some(values))
        }
    };
    let mut header = ProxyHeader { ends, ..ProxyHeader::default() };
    for value in Values(values.unwrap_or_default()) {
        let (kind, value) = value?;
        match kind {
            kind::ALPN => header.alpn = Some(value),
            kind::AUTHORITY => header.authority = Some(at_most(MAX_AUTHORITY, value)?),
            kind::UNIQUE_ID => header.unique_id = Some(at_most(MAX_UNIQUE_ID, value)?),
            kind::CRC32C => {
                verify(whole, value)?;
                header.checksum = true;
            }
            kind::SSL => header.tls = Some(tls(value)?),
            kind::NETNS => header.namespace = Some(value),
            _ => {}
        }
    }
    Ok(header)
}

fn ends<const N: usize>(addresses: &[u8]) -> Option<Addresses>
where
    IpAddr: From<[u8; N]>,
{
    let (from, rest) = addresses.split_first_chunk::<N>()?;
    let (to, rest) = rest.split_first_chunk::<N>()?;
    let (from_port, rest) = rest.split_first_chunk()?;
    let to_port = rest.first_chunk()?;
    let end =
        |ip: &[u8; N], port: &[u8; 2]| SocketAddr::new((*ip).into(), u16::from_be_bytes(*port));
    Some((end(from, from_port), end(to, to_port)))
}

fn at_most(limit: usize, value: &[u8]) -> Result<&[u8], ProxyHeaderError> {
    if value.len() <= limit { Ok(value) } else { Err(ProxyHeaderError::Invalid) }
}

/// Verifies the checksum, which is computed with zeros in its place (section 2.2.3).
fn verify(whole: &[u8], value: &[u8]) -> Result<(), ProxyHeaderError> {
    let given = u32::from_be_bytes(value.try_into().map_err(|_| ProxyHeaderError::Invalid)?);
    let place = value.as_ptr().addr() - whole.as_ptr().addr();
    let mut blank = whole.to_vec();
    blank[place..place + 4].fill(0);
    if crc32c(&blank) == given { Ok(()) } else { Err(ProxyHeaderError::Invalid) }
}

fn tls(value: &[u8]) -> Result<ProxyTls<'_>, ProxyHeaderError> {
    let (fixed, values) = value.split_first_chunk::<5>().ok_or(ProxyHeaderError::Invalid)?;
    let [client, verify @ ..] = *fixed;
    let mut tls = ProxyTls {
        encrypted: client & 1 != 0,
        certificate: (client & 2 != 0, client & 4 != 0),
        verify: u32::from_be_bytes(verify),
        ..ProxyTls::default()
    };
    for value in Values(values) {
        let (kind, value) = value?;
        match kind {
            kind::SSL_VERSION => tls.version = Some(value),
            kind::SSL_CN => tls.common_name = Some(value),
            kind::SSL_CIPHER => tls.cipher = Some(value),
            kind::SSL_SIG_ALG => tls.signature = Some(value),
            kind::SSL_KEY_ALG => tls.key = Some(value),
            _ => {}
        }
    }
    Ok(tls)
}

/// Iterator of typed values: one byte of type, two of length, the value.
struct Values<'a>(&'a [u8]);

impl<'a> Iterator for Values<'a> {
    type Item = Result<(u8, &'a [u8]), ProxyHeaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.0);
        let Some(([kind, high, low], rest)) = rest.split_first_chunk() else {
            return Some(Err(ProxyHeaderError::Invalid));
        };
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let Some((value, rest)) = rest.split_at_checked(len) else {
            return Some(Err(ProxyHeaderError::Invalid));
        };
        self.0 = rest;
        Some(Ok((*kind, value)))
    }
}

/// Appends a header. Without addresses the command is `LOCAL`.
///
/// A value that would make the header longer than [`MAX_LEN`] is left out.
pub fn encode(header: &ProxyHeader<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(SIGNATURE);
    match header.ends.map(aligned) {
        None => out.extend_from_slice(&[0x20, 0, 0, 0]),
        Some((from, to)) => {
            out.extend_from_slice(&[0x21, if from.is_ipv4() { 0x11 } else { 0x21 }, 0, 0]);
            for end in [from, to] {
                match end.ip() {
                    IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
                    IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
                }
            }
            out.extend_from_slice(&from.port().to_be_bytes());
            out.extend_from_slice(&to.port().to_be_bytes());
        }
    }
    let mut put = |kind, value: Option<&[u8]>| {
        let Some(value) = value else { return };
        if out.len() - start + 3 + value.len() <= MAX_LEN {
            append(kind, value, out);
        }
    };
    put(kind::ALPN, header.alpn);
    put(kind::AUTHORITY, header.authority.map(|it| &it[..it.len().min(MAX_AUTHORITY)]));
    put(kind::CRC32C, header.checksum.then_some(&[0; 4]));
    put(kind::UNIQUE_ID, header.unique_id.map(|it| &it[..it.len().min(MAX_UNIQUE_ID)]));
    let tls = header.tls.map(|tls| encode_tls(&tls));
    put(kind::SSL, tls.as_deref());
    put(kind::NETNS, header.namespace);
    let len = u16::try_from(out.len() - start - FIXED).unwrap_or(u16::MAX);
    out[start + 14..start + FIXED].copy_from_slice(&len.to_be_bytes());
    if header.checksum {
        seal(&mut out[start..]);
    }
}

fn append(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    out.push(kind);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&value[..usize::from(len)]);
}

fn encode_tls(tls: &ProxyTls<'_>) -> Vec<u8> {
    let flags = [tls.encrypted, tls.certificate.0, tls.certificate.1];
    let client = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
    let mut value = vec![client];
    value.extend_from_slice(&tls.verify.to_be_bytes());
    let values = [
        (kind::SSL_VERSION, tls.version),
        (kind::SSL_CN, tls.common_name),
        (kind::SSL_KEY_ALG, tls.key),
        (kind::SSL_SIG_ALG, tls.signature),
        (kind::SSL_CIPHER, tls.cipher),
    ];
    for (kind, text) in values {
        if let Some(text) = text {
            append(kind, text, &mut value);
        }
    }
    value
}

/// Writes the checksum into its place.
fn seal(header: &mut [u8]) {
    let sum = crc32c(header).to_be_bytes();
    let addresses = match header[13] >> 4 {
        1 => 12,
        2 => 36,
        _ => 0,
    };
    let mut at = FIXED + addresses;
    while let Some([kind, high, low]) =
        header.get(at..at + 3).and_then(|it| it.first_chunk().copied())
    {
        if kind == kind::CRC32C {
            header[at + 3..at + 7].copy_from_slice(&sum);
            return;
        }
        at += 3 + usize::from(u16::from_be_bytes([high, low]));
    }
}
