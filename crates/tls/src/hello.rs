//! The fields of a ClientHello that choose a certificate.
//!
//! The message is untrusted: every length in it is checked against the bytes that follow.

use crate::ecdsa::{self, CurveOffer};
use ffi::FirstMessage;

const SERVER_NAME: u16 = 0;
const SUPPORTED_GROUPS: u16 = 10;
const SIGNATURE_ALGORITHMS: u16 = 13;
const SUPPORTED_VERSIONS: u16 = 43;

const TLS13: [u8; 2] = [3, 4];

/// The longest host name (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Kinds of keys that certificates have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum KeyKind {
    Ecdsa,
    Rsa,
    Dsa,
}

impl KeyKind {
    /// In the order of preference.
    pub(crate) const ALL: [Self; 3] = [Self::Ecdsa, Self::Rsa, Self::Dsa];
}

/// The fields that are read.
#[derive(Debug, Default)]
pub(crate) struct Hello {
    /// The host name as received.
    pub(crate) asked: Option<Vec<u8>>,
    /// The host name in lower case.
    pub(crate) name: Option<Vec<u8>>,
    /// The client has sent an invalid name, such as an empty one.
    pub(crate) nameless: bool,
    /// Its ciphers, two bytes each.
    pub(crate) ciphers: Vec<u8>,
    /// Whether it offers TLS 1.3, whose ciphers work with every key.
    pub(crate) tls13: bool,
    /// Its groups for key exchange and its signature schemes, two bytes each.
    pub(crate) groups: Option<Vec<u8>>,
    pub(crate) schemes: Option<Vec<u8>>,
    /// Kinds of keys that the client can verify, by place in [`KeyKind::ALL`].
    pub(crate) verifies: [bool; 3],
}

impl Hello {
    /// Reads the message at hand.
    pub(crate) fn read(first: &FirstMessage<'_>) -> Self {
        let named = first.extension(SERVER_NAME).map(name_as_sent);
        let nameless = matches!(named, Some(Err(Malformed)));
        let asked = named.and_then(Result::ok).flatten();
        let versions = first.extension(SUPPORTED_VERSIONS).and_then(<[u8]>::split_first);
        let tls13 = has_tls13(first.ciphers())
            && versions.is_some_and(|(_, list)| ecdsa::contains(list, TLS13));
        let list = |kind| {
            let bytes = first.extension(kind)?;
            Some(counted(&mut &*bytes).unwrap_or_default().to_vec())
        };
        let schemes = list(SIGNATURE_ALGORITHMS);
        let verifies = schemes.as_deref().map_or([true; 3], signatures);
        let signs = tls13 || ecdsa::is_among(first.ciphers());
        Self {
            asked: asked.map(<[u8]>::to_vec),
            name: asked.map(<[u8]>::to_ascii_lowercase),
            nameless,
            ciphers: first.ciphers().to_vec(),
            verifies: [verifies[0] && signs, verifies[1], verifies[2]],
            tls13,
            groups: list(SUPPORTED_GROUPS),
            schemes,
        }
    }

    pub(crate) fn curves(&self) -> CurveOffer<'_> {
        CurveOffer { groups: self.groups.as_deref(), schemes: self.schemes.as_deref() }
    }

    pub(crate) fn can_verify(&self, kind: KeyKind) -> bool {
        self.verifies[kind as usize]
    }
}

/// The type of handshake records, and the lengths of the headers of a record and of a message (RFC
/// 8446 sections 5.1 and 4).
const HANDSHAKE: u8 = 22;
const RECORD_HEADER: usize = 5;
const MESSAGE_HEADER: usize = 4;

/// Whether the received bytes suffice to answer a client: they contain its whole first message, in
/// any number of records, or are no such message.
pub(crate) fn is_whole(mut bytes: &[u8]) -> bool {
    let mut header = Vec::with_capacity(MESSAGE_HEADER);
    let mut body = 0;
    while let Some((record, rest)) = bytes.split_at_checked(RECORD_HEADER) {
        if record[0] != HANDSHAKE {
            return true;
        }
        let length = usize::from(record[3]) << 8 | usize::from(record[4]);
        let content = &rest[..length.min(rest.len())];
        let (own, more) = content.split_at(content.len().min(MESSAGE_HEADER - header.len()));
        header.extend_from_slice(own);
        body += more.len();
        if let [_, high, middle, low] = header[..]
            && body >= usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low)
        {
            return true;
        }
        bytes = &rest[content.len()..];
    }
    false
}

/// Whether a cipher of TLS 1.3 is offered: these say nothing of signatures.
fn has_tls13(ciphers: &[u8]) -> bool {
    ciphers.chunks_exact(2).any(|id| id[0] == 0x13)
}

/// The first host name of the contents of an extension (RFC 6066 section 3), in lower case.
pub fn server_name(bytes: &[u8]) -> Option<Vec<u8>> {
    name_as_sent(bytes).ok().flatten().map(<[u8]>::to_ascii_lowercase)
}

/// The extension is not of the form of RFC 6066, or its host name cannot be one.
#[derive(Debug, PartialEq, Eq)]
struct Malformed;

/// `None`: the names are of other kinds than host names.
fn name_as_sent(bytes: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut rest = counted(&mut &*bytes).filter(|list| !list.is_empty()).ok_or(Malformed)?;
    while let [kind, after @ ..] = rest {
        rest = after;
        let name = counted(&mut rest).ok_or(Malformed)?;
        if *kind == 0 {
            let fine = (1..=LONGEST_NAME).contains(&name.len()) && !name.contains(&0);
            return if fine { Ok(Some(name)) } else { Err(Malformed) };
        }
    }
    Ok(None)
}

/// Kinds of keys among signature algorithms (RFC 8446 section 4.2.3).
fn signatures(schemes: &[u8]) -> [bool; 3] {
    let mut found = [false; 3];
    for scheme in schemes.chunks_exact(2) {
        match (scheme[0], scheme[1]) {
            // `rsa_pss_pss_*` are for keys of another kind.
            (8, 4..=6) | (1..=6, 1) => found[KeyKind::Rsa as usize] = true,
            (8, 7 | 8) | (1..=6, 3) | (8, 0x1a..=0x1c) => found[KeyKind::Ecdsa as usize] = true,
            (1..=6, 2) => found[KeyKind::Dsa as usize] = true,
            _ => {}
        }
    }
    found
}

/// Takes a length of two bytes and as many bytes off the front.
fn counted<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (taken, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_first_message_may_take_several_records() {
        let record = |content: &[u8]| [&[22, 3, 1, 0, content.len() as u8], content].concat();
        let whole = [record(b"\x01\0"), record(b"\0\x06abc"), record(b"def")].concat();
        for len in 0..whole.len() {
            assert!(!is_whole(&whole[..len]), "{len}");
        }
        assert!(is_whole(&whole) && is_whole(&record(b"\x01\0\0\x03abc")));
        assert!(is_whole(b"GET / HTTP/1.1\r\n"), "no message at all");
        assert!(!is_whole(b"") && !is_whole(&record(b"").repeat(9)));
    }

    #[test]
    fn names_are_found() {
        assert_eq!(server_name(b"\0\x06\0\0\x03A.b").as_deref(), Some(&b"a.b"[..]));
        assert_eq!(server_name(b"\0\x06\0\0\x04A.b"), None);
        assert_eq!(server_name(b"\0\x03\0\0\0"), None);
        assert_eq!(server_name(b""), None);
        for wrong in [&b""[..], b"\0\0", b"\0\x03\0\0\0", b"\0\x04\0\0\0a", b"\0\x04\0\0\x01\0"] {
            assert_eq!(name_as_sent(wrong), Err(Malformed), "{wrong:?}");
        }
        assert_eq!(name_as_sent(b"\0\x04\x01\0\x01a"), Ok(None), "another kind of name");
    }

    #[test]
    fn signature_algorithms_show_usable_kinds_of_keys() {
        assert_eq!(signatures(b"\x04\x03\x08\x04"), [true, true, false]);
        assert_eq!(signatures(b"\x02\x02"), [false, false, true]);
        assert_eq!(signatures(b"\x04"), [false; 3]);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = server_name(&bytes);
            let _ = signatures(&bytes);
        }
    }
}
