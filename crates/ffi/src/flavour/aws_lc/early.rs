//! What is said before a handshake is over: nothing, as AWS-LC is not told to hear it (`LACKS`). Never an error.

use openssl::ssl::{Error, SslRef, SslSessionRef, SslStream};
use std::io::{Read, Write};

pub(crate) fn read_early<S: Read + Write>(
    _: &mut SslStream<S>,
    _: &mut [u8],
) -> Result<usize, Error> {
    Ok(0)
}

pub(crate) fn write_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    bytes: &[u8],
) -> Result<usize, Error> {
    stream.ssl_write(bytes)
}

pub(crate) fn was_early_taken(_: &SslRef) -> bool {
    false
}

pub(crate) fn early_room(_: &SslSessionRef, _: u64) -> usize {
    0
}

pub(crate) fn protocol(_: &SslSessionRef) -> Option<&[u8]> {
    None
}
