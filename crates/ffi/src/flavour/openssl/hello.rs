//! The client's first message, with OpenSSL. Never keeps anything of it.

use crate::hello::Refused;
use openssl::ssl::{ClientHelloResponse, SslAlert, SslContextBuilder, SslRef};

/// Shows each session of the context the client's first message before anything is decided, and the
/// ciphers in it.
pub fn choose_by_hello<F>(context: &mut SslContextBuilder, choose: F)
where
    F: Fn(&mut SslRef, &[u8]) -> Result<(), Refused> + Send + Sync + 'static,
{
    context.set_client_hello_callback(move |ssl, alert| {
        let ciphers = ssl.client_hello_ciphers().unwrap_or_default().to_vec();
        match choose(ssl, &ciphers) {
            Ok(()) => Ok(ClientHelloResponse::SUCCESS),
            Err(Refused::UnknownName) => {
                *alert = SslAlert::UNRECOGNIZED_NAME;
                Err(openssl::error::ErrorStack::get())
            }
            Err(Refused::Broken(error)) => Err(error),
        }
    });
}

/// Whether a known cipher with this in its name is among those of a client; only while its first
/// message is looked at.
pub fn offers(ssl: &SslRef, ciphers: &[u8], part: &str) -> bool {
    let known = ssl.bytes_to_cipher_list(ciphers, ssl.client_hello_isv2());
    known.is_ok_and(|known| known.suites.iter().any(|cipher| cipher.name().contains(part)))
}

/// The name of a cipher by its number on the wire.
pub fn cipher_name(ssl: &SslRef, number: [u8; 2]) -> Option<String> {
    let known = ssl.bytes_to_cipher_list(&number, false).ok()?;
    let cipher = known.suites.iter().chain(&known.signalling_suites).next()?;
    Some(cipher.name().to_owned())
}
