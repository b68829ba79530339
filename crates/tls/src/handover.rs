//! The state of a handshake that the record layer goes on with: secrets, counters, a nonce.
//!
//! The library tells secrets by its key log callback and records by its message callback. Counters
//! begin with new keys, so that tickets and Finished messages under them are counted.

use crate::client_hello_capture::Capture;
use ffi::Watch;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslRef, SslVersion};
use records::{Direction, RecordLayer, Suite};
use std::sync::OnceLock;
use stdx::{Mutex, SecretBytes};

/// The type of a ChangeCipherSpec record: new keys follow it up to TLS 1.2.
const CHANGE_CIPHER_SPEC: u8 = 20;

/// The server's Finished message of TLS 1.2 with AES-GCM, as a record: its header, 8 bytes of
/// nonce, and 16 bytes each of message and tag.
const FINISHED_HEADER: [u8; 5] = [22, 3, 3, 0, 40];
const FINISHED_RECORD: usize = 45;

/// Secrets and record counts that the library has reported for a session.
#[derive(Default)]
pub(crate) struct Handover(Mutex<Told>);

#[derive(Default)]
struct Told {
    client: Option<SecretBytes<48>>,
    server: Option<SecretBytes<48>>,
    /// Records since the keys of the direction.
    received: u64,
    sent: u64,
    /// The explicit nonce of the Finished message that was sent.
    finished: Option<u64>,
}

impl Handover {
    /// Where a session has its own.
    pub(crate) fn index() -> Option<Index<Ssl, Self>> {
        static INDEX: OnceLock<Option<Index<Ssl, Handover>>> = OnceLock::new();
        *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
    }

    fn of(ssl: &SslRef) -> Option<&Self> {
        ssl.ex_data(Self::index()?)
    }

    /// Takes note of a secret by its label in the format `SSLKEYLOGFILE`, in hexadecimal digits.
    pub(crate) fn note_secret(ssl: &SslRef, label: &str, digits: &str) {
        let Some(Self(told)) = Self::of(ssl) else { return };
        let mut told = told.lock();
        match label {
            "CLIENT_TRAFFIC_SECRET_0" => (told.client, told.received) = (secret(digits), 0),
            "SERVER_TRAFFIC_SECRET_0" => (told.server, told.sent) = (secret(digits), 0),
            _ => {}
        }
    }

    fn note_record(ssl: &SslRef, is_sent: bool, kind: u8) {
        let Some(Self(told)) = Self::of(ssl) else { return };
        let mut told = told.lock();
        let count = if is_sent { &mut told.sent } else { &mut told.received };
        *count = if kind == CHANGE_CIPHER_SPEC { 0 } else { *count + 1 };
    }

    /// Takes note of records that the library has written in one step: the Finished message of TLS
    /// 1.2 ends them.
    pub(crate) fn note_output(ssl: &SslRef, records: &[u8]) {
        let last = records.last_chunk::<FINISHED_RECORD>();
        let Some(rest) = last.and_then(|last| last.strip_prefix(&FINISHED_HEADER)) else { return };
        if let Some((nonce, Self(told))) = rest.first_chunk().zip(Self::of(ssl)) {
            told.lock().finished = Some(u64::from_be_bytes(*nonce));
        }
    }

    /// The record layer of a server whose handshake is over. `None`: the library has to go on.
    pub(crate) fn record_layer(ssl: &SslRef) -> Option<RecordLayer> {
        if ffi::has_pending(ssl) || ffi::has_short_fragments(ssl) {
            return None;
        }
        let suite = Suite::of_name(ssl.current_cipher()?.standard_name()?)?;
        let told = Self::of(ssl)?.0.lock();
        match ssl.version2()? {
            SslVersion::TLS1_3 => {
                let reader = Direction::tls13(suite, told.client.as_ref()?, told.received)?;
                let writer = Direction::tls13(suite, told.server.as_ref()?, told.sent)?;
                Some(RecordLayer::new(reader, writer))
            }
            SslVersion::TLS1_2 => {
                let mut master = [0; 48];
                let length = ssl.session()?.master_key(&mut master);
                let randoms = (ffi::client_random(ssl), ffi::server_random(ssl));
                let (reader, writer) = Direction::tls12(
                    suite,
                    SecretBytes::<48>::new(&master[..length]).as_deref()?,
                    (&randoms.0, &randoms.1),
                    (told.received, told.sent),
                    told.finished,
                )?;
                master.fill(0);
                std::hint::black_box(&master);
                Some(RecordLayer::new(reader, writer))
            }
            _ => None,
        }
    }
}

fn secret(digits: &str) -> Option<SecretBytes<48>> {
    let mut bytes = [0; 48];
    let length = digits.len() / 2;
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    let secret = SecretBytes::new(bytes.get(..length)?);
    bytes.fill(0);
    std::hint::black_box(&bytes);
    secret
}

/// The observer of all messages and records of clients' sessions.
pub(crate) struct Observer;

impl Watch for Observer {
    fn received(ssl: &SslRef, message: &[u8]) {
        Capture::note(ssl, message);
    }

    fn record(ssl: &SslRef, is_sent: bool, kind: u8) {
        Handover::note_record(ssl, is_sent, kind);
    }
}
