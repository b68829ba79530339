//! A client connection for exchanges of several steps with a deadline, as those of health checks
//! and alert mails.
//!
//! Received bytes stay in one buffer until the caller drops them ([`ByteClient::forget`]).

use crate::io::tls_handshake;
use crate::state::worker::Worker;
use buf::Buf;
use reactor::{Address, ConnectOptions, Socket, Tick};
use settings::{Encryption, ServerName};
use std::cell::Ref;
use std::io::{self, IoSlice};
use std::net::SocketAddrV4;
use std::rc::Rc;
use transport::socket::Transport;
use transport::socket::is_transient;
use wire::socks4;

/// Why a step of the connection failed.
#[derive(Debug)]
pub enum ByteClientError {
    /// The deadline has passed.
    Late,
    /// The error of the system.
    Broken(io::Error),
}

/// Why the connection receives nothing more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputEnd {
    /// The peer has closed its side.
    Closed,
    /// The connection was reset, or failed otherwise, behind the bytes that came.
    Broken,
    /// The buffer is full.
    Full,
}

/// The connection and its deadline.
pub struct ByteClient {
    worker: Rc<Worker>,
    socket: Option<Transport>,
    input: Buf,
    /// Why the connection receives nothing more; `None` while it receives.
    end: Option<InputEnd>,
    linger: bool,
    deadline: Tick,
    connect_ms: u32,
    /// Milliseconds for answers, counted from when the connection is established, but no less than
    /// what is left of the time for connecting; `None` if one deadline holds for the whole
    /// exchange.
    answer_ms: Option<u32>,
}

impl ByteClient {
    /// A line without a connection. Its time runs from now on: `connect_ms` for the connection,
    /// then `answer_ms` for answers; without `answer_ms`, `connect_ms` holds for everything.
    pub fn new(worker: &Rc<Worker>, connect_ms: u32, answer_ms: Option<u32>) -> Self {
        Self {
            socket: None,
            input: worker.buffers.take_anyway(),
            end: None,
            linger: false,
            deadline: worker.thread.tick().plus_ms(connect_ms),
            connect_ms,
            answer_ms,
            worker: worker.clone(),
        }
    }

    /// Closes the current connection, if any, and makes a new one.
    pub async fn connect(&mut self, to: &Address, linger: bool) -> Result<(), ByteClientError> {
        self.dial(to, linger, &ConnectOptions::default()).await
    }

    /// As [`ByteClient::connect`], with options of the connection beyond its address.
    pub async fn dial(
        &mut self,
        to: &Address,
        linger: bool,
        how: &ConnectOptions,
    ) -> Result<(), ByteClientError> {
        self.hang_up();
        (self.end, self.linger) = (None, linger);
        self.forget();
        if self.answer_ms.is_some() {
            self.deadline = self.now().plus_ms(self.connect_ms);
        }
        let socket = Socket::dial(&self.worker.thread, to, how).map_err(ByteClientError::Broken)?;
        self.socket = Some(socket.into());
        self.send(b"").await?;
        if let Some(span) = self.answer_ms {
            self.deadline = self.deadline.or_later(self.now().plus_ms(span));
        }
        Ok(())
    }

    /// Pauses the connection, and gives its buffer back.
    pub fn rest(&mut self) {
        if let Some(socket) = &self.socket {
            socket.want_nothing();
        }
        self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
    }

    /// Resumes the connection, with this deadline.
    pub fn resume(&mut self, deadline: Tick) {
        if self.input.room() == 0 {
            self.input = self.worker.buffers.take_anyway();
        }
        self.deadline = deadline;
    }

    /// The TLS session of the connection.
    pub fn session(&self) -> Option<Ref<'_, tls::Conn>> {
        self.socket.as_ref()?.session()
    }

    /// Runs the TLS handshake; all bytes sent afterwards are encrypted.
    pub async fn encrypt(
        &mut self,
        encryption: &Encryption,
    ) -> Result<(), tls_handshake::TlsHandshakeFailure> {
        let Some(transport) = &mut self.socket else {
            return Err(tls_handshake::TlsHandshakeFailure::Late);
        };
        let name = match &encryption.name {
            ServerName::Fixed(name) => Some(name.as_str()),
            ServerName::None | ServerName::Sample(_) => None,
        };
        let begun = tls_handshake::begin(&self.worker, transport, encryption, name);
        begun.map_err(tls_handshake::TlsHandshakeFailure::Failed)?;
        let result = tls_handshake::run(transport, Some(self.deadline), &mut || Ok(())).await;
        if result.is_ok() {
            let resumed = tls_handshake::is_resumed(transport);
            self.worker.shared.tls.count_back(self.worker.millis(), resumed);
        }
        result
    }

    /// Whether the handshake has chosen a protocol (RFC 7301).
    pub fn has_chosen(&self, protocol: &[u8]) -> bool {
        let session = self.socket.as_ref().and_then(Transport::session);
        session.is_some_and(|session| session.protocol() == Some(protocol))
    }

    /// Sends all of the bytes. An empty slice waits until the connection is established.
    pub async fn send(&mut self, mut bytes: &[u8]) -> Result<(), ByteClientError> {
        loop {
            match self.socket()?.send(&[IoSlice::new(bytes)], false) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_transient(&error) => self.wait(Transport::want_write).await?,
                Err(error) => return Err(ByteClientError::Broken(error)),
            }
            if bytes.is_empty() && self.socket()?.is_writable() {
                return Ok(());
            }
        }
    }

    /// Reads the bytes that have arrived, up to a full buffer.
    ///
    /// # Errors
    /// The connection broke while the buffer was empty.
    pub fn read(&mut self) -> Result<(), ByteClientError> {
        while self.end.is_none() {
            if self.input.room() == 0 {
                self.end = Some(InputEnd::Full);
                break;
            }
            let Some(socket) = &self.socket else { break };
            match socket.recv(self.input.space()) {
                Ok(0) => self.end = Some(InputEnd::Closed),
                Ok(count) => self.input.filled(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if self.input.is_empty() => return Err(ByteClientError::Broken(error)),
                // Bytes received before the error are still of use.
                Err(_) => self.end = Some(InputEnd::Broken),
            }
        }
        Ok(())
    }

    /// Waits until the connection can be read.
    pub async fn wait_for_more(&self) -> Result<(), ByteClientError> {
        self.wait(Transport::want_read).await
    }

    async fn wait(&self, want: fn(&Transport)) -> Result<(), ByteClientError> {
        let socket = self.socket()?;
        if self.deadline.is_due(self.now()) {
            return Err(ByteClientError::Late);
        }
        socket.want_nothing();
        want(socket);
        self.worker.thread.scheduler().wait(Some(self.deadline)).await;
        Ok(())
    }

    /// The bytes received and not dropped yet.
    pub fn received(&self) -> &[u8] {
        self.input.data()
    }

    /// Whether the connection receives nothing more: it has ended, or the buffer is full.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Why the connection receives nothing more; `None` while it receives.
    pub fn end(&self) -> Option<InputEnd> {
        self.end
    }

    /// Asks the SOCKS4 proxy at the other end to connect to `to`.
    pub async fn pass_on(&mut self, to: SocketAddrV4) -> Result<(), ByteClientError> {
        let mut request = Vec::new();
        socks4::encode_request(to, &mut request);
        self.send(&request).await?;
        loop {
            self.read()?;
            if let Some(reply) = self.input.data().first_chunk() {
                let granted = socks4::is_granted(reply);
                self.input.consume(socks4::REPLY_LEN);
                let denied = || io::Error::other("SOCKS4 Proxy deny the request");
                return if granted { Ok(()) } else { Err(ByteClientError::Broken(denied())) };
            }
            if self.has_ended() {
                let text = "SOCKS4 Proxy handshake aborted by server";
                return Err(ByteClientError::Broken(io::Error::other(text)));
            }
            self.wait_for_more().await?;
        }
    }

    /// Moves the received bytes to `out`; a connection whose buffer was full receives again.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.input.data());
        self.input.clear();
        if self.end == Some(InputEnd::Full) {
            self.end = None;
        }
    }

    /// Makes the running task the one that the connection wakes.
    pub fn own(&self) {
        if let Some(socket) = &self.socket {
            socket.own();
        }
    }

    /// Drops the received bytes.
    pub fn forget(&mut self) {
        self.input.clear();
    }

    /// The local address of the connection.
    pub fn local(&self) -> Option<std::net::SocketAddr> {
        self.socket.as_ref()?.socket().local_address()
    }

    fn now(&self) -> Tick {
        self.worker.thread.tick()
    }

    fn socket(&self) -> Result<&Transport, ByteClientError> {
        self.socket
            .as_ref()
            .ok_or_else(|| ByteClientError::Broken(io::ErrorKind::NotConnected.into()))
    }

    fn hang_up(&mut self) {
        if let Some(socket) = self.socket.take()
            && !self.linger
        {
            socket.reset_on_close();
        }
    }
}

impl Drop for ByteClient {
    fn drop(&mut self) {
        self.hang_up();
        self.worker.release(std::mem::replace(&mut self.input, Buf::empty()));
    }
}
