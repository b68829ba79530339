//! A TLS 1.3 client that builds its records by hand, to send what no library sends.

use super::pair::{Memory, Pair, bind, connector, ecdsa, make, trusting};
use crate::{Acceptor, Defaults, Options, Store};
use openssl::sha::sha256;
use openssl::symm::{Cipher, encrypt_aead};

const SUITE: &str = "TLS_AES_128_GCM_SHA256";

/// The keys that seal its records (RFC 8446 section 7).
pub(crate) struct Hand {
    secret: Vec<u8>,
    number: u64,
}

/// A pair after its handshake, with a hand-made client from then on.
pub(crate) fn by_hand() -> (Pair, Hand) {
    let files = Memory::default().with("a.pem", make(&["a.test"], ecdsa(), None).pem());
    let defaults = Defaults { keeps_secrets: true, ..Defaults::default() };
    let line = bind(&["a.pem"], Options::default());
    let acceptor = Acceptor::new(line, defaults, &Store::default(), &files).unwrap();
    let mut settings = trusting();
    settings.options.ciphersuites = Some(SUITE.to_owned());
    let client = connector(settings, &files).unwrap().connect(0, None, None).unwrap();
    let mut pair = Pair::new(client, acceptor.accept().unwrap());
    let (client, server) = pair.shake();
    client.unwrap();
    server.unwrap();
    assert_eq!(pair.server.cipher(), SUITE);
    let digits = pair.server.secret("CLIENT_TRAFFIC_SECRET_0").unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let secret = (0..digits.len()).step_by(2).map(byte).collect();
    (pair, Hand { secret, number: 0 })
}

impl Hand {
    /// Encrypts application data into a record.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.seal(23, bytes)
    }

    /// A record that changes its keys, and wants the server to change its own.
    pub(crate) fn change_keys(&mut self) -> Vec<u8> {
        let record = self.seal(22, &[24, 0, 0, 1, 1]);
        (self.secret, self.number) = (expand(&self.secret, "traffic upd", 32), 0);
        record
    }

    fn seal(&mut self, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let (key, mut nonce) = (expand(&self.secret, "key", 16), expand(&self.secret, "iv", 12));
        for (to, from) in nonce[4..].iter_mut().zip(self.number.to_be_bytes()) {
            *to ^= from;
        }
        self.number += 1;
        let plain = [bytes, &[kind]].concat();
        let mut record = vec![23, 3, 3];
        record.extend(((plain.len() + 16) as u16).to_be_bytes());
        let mut tag = [0; 16];
        let sealed =
            encrypt_aead(Cipher::aes_128_gcm(), &key, Some(&nonce), &record, &plain, &mut tag);
        record.extend(sealed.unwrap());
        record.extend(tag);
        record
    }
}

/// HKDF-Expand-Label (RFC 8446 section 7.1) for results of one block.
fn expand(secret: &[u8], label: &str, length: u8) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let mut info = vec![0, length, label.len() as u8];
    info.extend(label.bytes());
    info.extend([0, 1]);
    let mut block = hmac(secret, &info).to_vec();
    block.truncate(length.into());
    block
}

/// HMAC with SHA-256 (RFC 2104) by a short key.
fn hmac(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let padded = |by: u8| {
        let mut key = key.to_vec();
        key.resize(64, 0);
        key.iter_mut().for_each(|byte| *byte ^= by);
        key
    };
    let inner = sha256(&[&padded(0x36), bytes].concat());
    sha256(&[&padded(0x5c)[..], &inner].concat())
}
