//! Handshakes of QUIC connections, which this build does not have with AWS-LC.

use crate::quic::Exchange;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslRef};

/// Whether the library has handshakes for QUIC.
pub const HAS_QUIC: bool = false;

/// A session that is never made.
pub(crate) struct AbsentSession {
    ssl: Ssl,
    exchange: Exchange,
}

impl AbsentSession {
    pub(crate) fn new(_: Ssl, _: Vec<u8>, _: bool) -> Result<Self, ErrorStack> {
        Err(ErrorStack::get())
    }

    pub(crate) fn ssl(&self) -> &SslRef {
        &self.ssl
    }

    pub(crate) fn take_ssl(&mut self) -> Option<Ssl> {
        None
    }

    pub(crate) fn exchange(&mut self) -> &mut Exchange {
        &mut self.exchange
    }

    pub(crate) fn advance(&mut self) -> Result<bool, ErrorStack> {
        Err(ErrorStack::get())
    }

    pub(crate) fn handle_late(&mut self) -> Result<(), ErrorStack> {
        Err(ErrorStack::get())
    }
}
