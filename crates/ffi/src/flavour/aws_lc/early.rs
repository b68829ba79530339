//! What is said before a handshake is over: nothing, as AWS-LC is not told to hear it (`LACKS`). Never an error.

use openssl::ssl::{Error, SslStream};
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
