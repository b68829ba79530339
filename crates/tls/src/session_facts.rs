//! Facts about an established session, for queries after the library's object is freed.

use crate::client_hello_capture::Offer;
use crate::key_log::KeyLog;
use crate::parsed_certificate::KeptCertificate;
use crate::verify_result::Checked;
use openssl::ssl::SslRef;
use openssl::x509::X509;

/// The fields of variable length, in the order of their place in `bytes`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Alpn,
    Npn,
    ServerName,
    SessionId,
    SessionKey,
    UniqueId,
    ClientRandom,
    ServerRandom,
}

const FIELDS: usize = 8;

/// The source of answers to queries about a session.
pub(crate) enum View<'a> {
    Library(&'a SslRef),
    Facts(&'a SessionFacts),
}

/// Facts of a session that do not change after its handshake.
pub(crate) struct SessionFacts {
    pub(crate) version: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) cipher_bits: Option<(i32, i32)>,
    pub(crate) verify_result: u32,
    pub(crate) is_resumed: bool,
    pub(crate) has_shown: bool,
    pub(crate) was_early_taken: bool,
    /// The certificate that we have shown, which sessions share.
    pub(crate) own_certificate: Option<X509>,
    pub(crate) fields: FieldBytes,
    pub(crate) rare: Option<Box<RareFacts>>,
}

/// Facts that most sessions do not have.
#[derive(Default)]
pub(crate) struct RareFacts {
    pub(crate) checked: Checked,
    pub(crate) peer: Option<KeptCertificate>,
    /// The certificates that the client has shown beside its own.
    pub(crate) peer_chain: Option<Box<[u8]>>,
    pub(crate) secrets: Option<KeyLog>,
    pub(crate) offer: Option<Offer>,
}

impl std::fmt::Debug for SessionFacts {
    /// Without keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionFacts")
            .field("version", &self.version)
            .field("cipher", &self.cipher)
            .finish_non_exhaustive()
    }
}

impl SessionFacts {
    /// A field, if the session has it.
    pub(crate) fn field(&self, field: Field) -> Option<&[u8]> {
        self.fields.get(field)
    }
}

/// The fields of variable length, one after the other.
pub(crate) struct FieldBytes {
    bytes: Box<[u8]>,
    /// Where each of them ends.
    ends: [u16; FIELDS],
    /// Fields that the session has: an empty one is not a missing one.
    present: u8,
}

impl FieldBytes {
    /// Copies fields, in their order. `None`: they are too long.
    pub(crate) fn new(fields: [Option<&[u8]>; FIELDS]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(fields.iter().flatten().map(|it| it.len()).sum());
        let (mut ends, mut present) = ([0; FIELDS], 0);
        for (place, field) in fields.iter().enumerate() {
            bytes.extend_from_slice(field.unwrap_or_default());
            ends[place] = u16::try_from(bytes.len()).ok()?;
            present |= u8::from(field.is_some()) << place;
        }
        Some(Self { bytes: bytes.into(), ends, present })
    }

    fn get(&self, field: Field) -> Option<&[u8]> {
        let place = field as usize;
        let from = if place == 0 { 0 } else { self.ends[place - 1] };
        let bytes = self.bytes.get(usize::from(from)..usize::from(self.ends[place]));
        bytes.filter(|_| self.present & 1 << place != 0)
    }
}

impl Drop for FieldBytes {
    /// Wipes the session key.
    fn drop(&mut self) {
        self.bytes.fill(0);
        // Without a read the compiler would leave out the zeroes.
        std::hint::black_box(&self.bytes);
    }
}

impl RareFacts {
    pub(crate) fn is_empty(&self) -> bool {
        self.checked == Checked::default()
            && self.peer.is_none()
            && self.peer_chain.is_none()
            && self.secrets.is_none()
            && self.offer.is_none()
    }
}
