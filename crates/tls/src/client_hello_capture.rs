//! The lists of a ClientHello, kept for sample fetches (`tune.ssl.capture-buffer-size`).
//!
//! The message is untrusted: every length in it is checked against the bytes that follow.

use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslRef};
use std::sync::OnceLock;
use stdx::xxhash::xxh64;

/// Type of the message (RFC 8446 section 4.1.2).
const CLIENT_HELLO: u8 = 1;
const SUPPORTED_GROUPS: u16 = 10;
const POINT_FORMATS: u16 = 11;

/// The lists that a client offers, each truncated to the room in the buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The version that it writes.
    pub version: u16,
    /// Ciphers, two bytes each.
    pub ciphers: Vec<u8>,
    /// `xxh64` of all ciphers, also of those beyond the room of the capture.
    pub ciphers_hash: u64,
    /// Types of extensions, two bytes each.
    pub extensions: Vec<u8>,
    /// Groups, two bytes each.
    pub groups: Vec<u8>,
    /// Formats of points, a byte each.
    pub formats: Vec<u8>,
}

/// Where a session keeps it, with the size of the buffer.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) size: usize,
    pub(crate) offer: OnceLock<Offer>,
}

impl Capture {
    pub(crate) fn new(size: usize) -> Self {
        Self { size, offer: OnceLock::new() }
    }

    /// The index of the session's data.
    pub(crate) fn index() -> Option<Index<Ssl, Self>> {
        static INDEX: OnceLock<Option<Index<Ssl, Capture>>> = OnceLock::new();
        *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
    }

    /// That of a session.
    pub(crate) fn of(ssl: &SslRef) -> Option<&Self> {
        ssl.ex_data(Self::index()?)
    }
}

impl Capture {
    /// Captures a message of a session, if it is to and the message is a ClientHello.
    pub(crate) fn note(ssl: &SslRef, message: &[u8]) {
        if let Some(capture) = Self::of(ssl)
            && let Some(offer) = Offer::read(message, capture.size)
        {
            // The first message is what counts, also when another one is asked for.
            let _ = capture.offer.set(offer);
        }
    }
}

impl Offer {
    /// Reads the message; `None` if it is no ClientHello.
    pub(crate) fn read(message: &[u8], size: usize) -> Option<Self> {
        let mut rest = Unread(message);
        if rest.take(1)? != [CLIENT_HELLO] {
            return None;
        }
        let mut rest = Unread(rest.counted(3)?);
        let version = u16::from_be_bytes(rest.take(2)?.try_into().ok()?);
        rest.take(32)?;
        rest.counted(1)?;
        let all_ciphers = rest.counted(2)?;
        rest.counted(1)?;
        let mut room = size;
        let ciphers = fitting(all_ciphers, 2, &mut room);
        let ciphers_hash = xxh64(all_ciphers, 0);
        let mut offer = Self { version, ciphers, ciphers_hash, ..Self::default() };
        offer.read_extensions(&mut rest, &mut room);
        Some(offer)
    }

    /// Reads the extensions that have arrived whole.
    fn read_extensions(&mut self, rest: &mut Unread<'_>, room: &mut usize) -> Option<()> {
        let mut list = Unread(rest.counted(2)?);
        let (mut types, mut groups, mut formats) = (Vec::new(), &[][..], &[][..]);
        while !list.0.is_empty() {
            let kind = list.take(2)?;
            let body = list.counted(2)?;
            types.extend_from_slice(kind);
            match u16::from_be_bytes(kind.try_into().ok()?) {
                SUPPORTED_GROUPS => groups = Unread(body).counted(2).unwrap_or_default(),
                POINT_FORMATS => formats = Unread(body).counted(1).unwrap_or_default(),
                _ => {}
            }
        }
        self.extensions = fitting(&types, 2, room);
        self.groups = fitting(groups, 2, room);
        self.formats = fitting(formats, 1, room);
        Some(())
    }

    /// A list of two bytes each without values that only keep servers tolerant (RFC 8701).
    pub fn without_grease(list: &[u8]) -> Vec<u8> {
        let grease = |pair: &[u8]| pair[0] == pair[1] && pair[0] & 0x0f == 0x0a;
        list.chunks_exact(2).filter(|pair| !grease(pair)).flatten().copied().collect()
    }
}

/// As many whole items as there is room for.
fn fitting(list: &[u8], item: usize, room: &mut usize) -> Vec<u8> {
    let length = list.len().min(*room) / item * item;
    *room -= length;
    list[..length].to_vec()
}

/// The unread rest of a message.
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a length of `width` bytes and the bytes that it counts.
    fn counted(&mut self, width: usize) -> Option<&'a [u8]> {
        let length = self.take(width)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Vec<u8> {
        let mut body = b"\x03\x03".to_vec();
        body.extend([7; 32]);
        body.extend(b"\x01s\x00\x06\x0a\x0a\x13\x01\xc0\x2b\x01\x00");
        body.extend(b"\x00\x14\x1a\x1a\x00\x00\x00\x0a\x00\x06\x00\x04\x2a\x2a\x00\x1d");
        body.extend(b"\x00\x0b\x00\x02\x01\x00");
        [&[1, 0, 0, body.len() as u8], &body[..]].concat()
    }

    #[test]
    fn offers_are_captured_up_to_the_room() {
        let offer = Offer::read(&hello(), 100).unwrap();
        assert_eq!(offer.version, 0x303);
        assert_eq!(offer.ciphers, b"\x0a\x0a\x13\x01\xc0\x2b");
        assert_eq!(offer.extensions, b"\x1a\x1a\x00\x0a\x00\x0b");
        assert_eq!((&offer.groups[..], &offer.formats[..]), (&b"\x2a\x2a\x00\x1d"[..], &b"\0"[..]));
        assert_eq!(Offer::without_grease(&offer.ciphers), b"\x13\x01\xc0\x2b");
        assert_eq!(Offer::without_grease(&offer.groups), b"\x00\x1d");
        let less = Offer::read(&hello(), 5).unwrap();
        assert_eq!((less.ciphers.len(), less.formats.len()), (4, 1));
        assert_eq!(less.ciphers_hash, xxh64(b"\x0a\x0a\x13\x01\xc0\x2b", 0), "of all of them");
        assert_eq!(Offer::read(b"\x02\0\0\0", 9), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..99), cut in 0usize..90) {
            let _ = Offer::read(&bytes, 50);
            let mut some = hello();
            some.truncate(cut);
            some.extend(bytes);
            let _ = Offer::read(&some, 50);
        }
    }
}
