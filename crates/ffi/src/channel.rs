//! A TLS session that reads and writes through a wire that its caller lends for one call.
//!
//! So the library needs neither a socket nor a buffer of its own between calls, and a session that
//! rests can move to another thread.

use crate::errors::forget_errors;
use crate::flavour;
use foreign_types::ForeignTypeRef as _;
use openssl::error::ErrorStack;
use openssl::ssl::{Error, ShutdownResult, ShutdownState, Ssl, SslRef, SslStream};
use std::io::{self, Read, Write};
use std::ptr::NonNull;

/// The transport of records.
pub trait Wire {
    /// Receives bytes; 0 at the end.
    ///
    /// # Errors
    /// `WouldBlock` if no bytes are available.
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends what fits.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits now.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// The wire that is lent, for the length of a call.
struct Lent(Option<NonNull<dyn Wire>>);

// SAFETY: there is a wire only while `Channel::lend` runs, which borrows the channel exclusively:
// a channel that moves to another thread holds none.
unsafe impl Send for Lent {}

impl Lent {
    fn wire(&mut self) -> io::Result<&mut dyn Wire> {
        let mut wire = self.0.ok_or(io::ErrorKind::NotConnected)?;
        // SAFETY: `Channel::lend` made the pointer from an exclusive borrow and takes it away
        // before the borrow ends; no other code uses the borrow meanwhile.
        Ok(unsafe { wire.as_mut() })
    }
}

impl Read for Lent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wire()?.recv(buffer)
    }
}

impl Write for Lent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire()?.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A TLS session.
pub struct Channel(
    SslStream<Lent>,
    // Freed after the first field, because the library has its address.
    #[expect(dead_code, reason = "kept for the library")] Option<Box<flavour::QuicSession>>,
);

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Channel").field(&self.0.ssl().state_string_long()).finish()
    }
}

impl Channel {
    /// A session that has not begun; `ssl` must know already whether it accepts or connects.
    ///
    /// # Errors
    /// No memory.
    pub fn new(ssl: Ssl) -> Result<Self, ErrorStack> {
        SslStream::new(ssl, Lent(None)).map(|stream| Self(stream, None))
    }

    /// The session of a QUIC connection, which answers queries and carries nothing.
    pub(crate) fn of_quic(mut session: flavour::QuicSession) -> Result<Self, ErrorStack> {
        let ssl = session.take_ssl().ok_or_else(ErrorStack::get)?;
        SslStream::new(ssl, Lent(None)).map(|stream| Self(stream, Some(Box::new(session))))
    }

    /// The library's session object.
    pub fn ssl(&self) -> &SslRef {
        self.0.ssl()
    }

    /// Goes on with the handshake.
    ///
    /// # Errors
    /// The handshake has failed, or has to wait for the wire.
    pub fn handshake(&mut self, wire: &mut dyn Wire) -> Result<(), Error> {
        self.lend(wire, flavour::handshake)
    }

    /// Continues a client's handshake until it is over or early data can be read, as far as the
    /// library can do that without reading.
    ///
    /// # Errors
    /// As [`Channel::handshake`].
    pub fn begin_early(&mut self, wire: &mut dyn Wire) -> Result<(), Error> {
        self.lend(wire, flavour::begin_early)
    }

    /// Decrypts at most one record of a client's early data; 0 at its end. Continues the handshake
    /// as far as necessary: once that is over ([`Channel::is_over`]), the bytes read were not
    /// early.
    ///
    /// # Errors
    /// As [`Channel::handshake`].
    pub fn read_early(&mut self, wire: &mut dyn Wire, buffer: &mut [u8]) -> Result<usize, Error> {
        self.lend(wire, |stream| flavour::read_early(stream, buffer))
    }

    /// Whether the handshake is over.
    pub fn is_over(&self) -> bool {
        flavour::is_over(self.ssl())
    }

    /// Whether the server has accepted the early data.
    pub fn was_early_taken(&self) -> bool {
        flavour::was_early_taken(self.ssl())
    }

    /// Encrypts before the handshake is over: a server's response, or a client's early data.
    ///
    /// # Errors
    /// As [`Channel::read`].
    pub fn write_early(&mut self, wire: &mut dyn Wire, bytes: &[u8]) -> Result<usize, Error> {
        self.lend(wire, |stream| flavour::write_early(stream, bytes))
    }

    /// Decrypts at most one record's worth.
    ///
    /// # Errors
    /// The peer has closed or broken the protocol, or the wire has to be waited for.
    pub fn read(&mut self, wire: &mut dyn Wire, buffer: &mut [u8]) -> Result<usize, Error> {
        self.lend(wire, |stream| stream.ssl_read(buffer))
    }

    /// As [`Channel::read`], and what was read can be read again.
    ///
    /// # Errors
    /// As there.
    pub fn peek(&mut self, wire: &mut dyn Wire, buffer: &mut [u8]) -> Result<usize, Error> {
        self.lend(wire, |stream| stream.ssl_peek(buffer))
    }

    /// Encrypts.
    ///
    /// # Errors
    /// As [`Channel::read`].
    pub fn write(&mut self, wire: &mut dyn Wire, bytes: &[u8]) -> Result<usize, Error> {
        self.lend(wire, |stream| stream.ssl_write(bytes))
    }

    /// Closes the sending direction (`close_notify`).
    ///
    /// # Errors
    /// The session is broken.
    pub fn shutdown(&mut self, wire: &mut dyn Wire) -> Result<ShutdownResult, Error> {
        self.lend(wire, SslStream::shutdown)
    }

    /// Lets the session be resumed although its connection ends without `close_notify`: without
    /// this call, the library treats that as an attack.
    pub fn absolve(&mut self) {
        self.0.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
    }

    /// Has the library read as much as its buffer holds.
    pub fn set_read_ahead(&mut self) {
        let ssl = self.0.ssl().as_ptr();
        // SAFETY: the session is valid as long as the channel, which is exclusively borrowed.
        flavour::set_read_ahead(unsafe { SslRef::from_ptr_mut(ssl) }, true);
    }

    /// Lends the wire for the length of `act`, which must not move the stream: this is why it is
    /// private.
    fn lend<T>(&mut self, wire: &mut dyn Wire, act: impl FnOnce(&mut SslStream<Lent>) -> T) -> T {
        /// Takes the wire away again, also when `act` panics.
        struct Loan<'a>(&'a mut SslStream<Lent>);
        impl Drop for Loan<'_> {
            fn drop(&mut self) {
                self.0.get_mut().0 = None;
            }
        }
        // SAFETY: only the lifetime changes. The pointer is taken away by `Loan` before the borrow
        // of `wire` ends, and is reached through the stream that `Loan` borrows only.
        let lent = unsafe {
            std::mem::transmute::<NonNull<dyn Wire + '_>, NonNull<dyn Wire>>(NonNull::from(wire))
        };
        let loan = Loan(&mut self.0);
        loan.0.get_mut().0 = Some(lent);
        // Errors that another session has left in the queue would be taken for errors of this
        // session.
        forget_errors();
        act(loan.0)
    }
}
