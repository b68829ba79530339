//! What is said before a handshake is over, with OpenSSL. Never judged.

use openssl::ssl::{Error, SslStream};
use std::io::{Read, Write};

pub(crate) fn read_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    stream.read_early_data(buffer)
}

pub(crate) fn write_early<S: Read + Write>(
    stream: &mut SslStream<S>,
    bytes: &[u8],
) -> Result<usize, Error> {
    stream.write_early_data(bytes)
}
