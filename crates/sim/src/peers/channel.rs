//! A peer's end of a connection, in the clear or with TLS.

use super::Flow;
use crate::net::{EndId, Net};
use std::io::{self, IoSlice};
use std::sync::Arc;
use tls::{Acceptor, Connector, HandshakeError, Scratch, Step, Wire};

/// TLS of a client.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The settings of its sessions.
    pub connector: Arc<Connector>,
    /// The server's name.
    pub name: String,
}

/// An end of a connection, with its TLS session if it is encrypted.
#[derive(Debug)]
pub(super) struct Channel {
    end: EndId,
    tls: Option<Box<SecureEnd>>,
}

#[derive(Debug)]
struct SecureEnd {
    session: tls::Conn,
    scratch: Scratch,
    /// Records that have not left, from `left` on.
    records: Vec<u8>,
    left: usize,
    /// Bytes of the caller in these records, which count as sent when they have left.
    promised: usize,
}

/// Records go to a buffer; the network gets them afterwards.
struct RecordWire<'a> {
    net: &'a mut Net,
    end: EndId,
    records: &'a mut Vec<u8>,
}

impl Wire for RecordWire<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.net.recv(self.end, buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.records.extend_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Channel {
    /// The end of a client that offers one protocol.
    pub(super) fn client(
        end: EndId,
        tls: Option<&ClientTls>,
        alpn: &[u8],
    ) -> Result<Self, HandshakeError> {
        let connect = |tls: &ClientTls| tls.connector.connect(0, Some(&tls.name), Some(alpn));
        Self::with(end, tls.map(connect))
    }

    /// The end of an origin.
    pub(super) fn server(end: EndId, tls: Option<&Arc<Acceptor>>) -> Result<Self, HandshakeError> {
        Self::with(end, tls.map(|acceptor| acceptor.accept()))
    }

    fn with(
        end: EndId,
        session: Option<Result<tls::Conn, HandshakeError>>,
    ) -> Result<Self, HandshakeError> {
        let secure = |session| {
            Box::new(SecureEnd {
                session,
                scratch: Scratch::default(),
                records: Vec::new(),
                left: 0,
                promised: 0,
            })
        };
        Ok(Self { end, tls: session.transpose()?.map(secure) })
    }

    pub(super) fn end(&self) -> EndId {
        self.end
    }

    /// Reads the available bytes; 0 at the end.
    fn recv(&mut self, net: &mut Net, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(secure) = &mut self.tls else { return net.recv(self.end, buffer) };
        let read = secure.recv(net, self.end, buffer);
        secure.push(net, self.end)?;
        read
    }

    /// Sends what fits. Bytes of an earlier call may count only now: the number may be greater than
    /// the length of `bytes`, which have to begin with what was not sent before.
    pub(super) fn send(&mut self, net: &mut Net, bytes: &[u8]) -> io::Result<usize> {
        let Some(secure) = &mut self.tls else { return net.send(self.end, bytes) };
        secure.send(net, self.end, bytes)
    }

    /// Reads all available bytes.
    pub(super) fn drain(&mut self, net: &mut Net, mut take: impl FnMut(&[u8])) -> Flow {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.recv(net, &mut buffer) {
                Ok(0) => return Flow::Ended,
                Ok(count) => take(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Flow::Open,
                Err(_) => return Flow::Broken,
            }
        }
    }

    /// Ends the sending direction; `false` if the connection is broken. A session whose last record
    /// has no room ends with that record, later.
    pub(super) fn shutdown(&mut self, net: &mut Net) -> bool {
        let said = self.tls.as_mut().map(|secure| secure.say_goodbye(net, self.end));
        match said {
            Some(Ok(false)) => true,
            Some(Err(_)) => false,
            None | Some(Ok(true)) => net.shutdown(self.end).is_ok(),
        }
    }

    /// Closes the connection.
    pub(super) fn close(mut self, net: &mut Net, reset: bool) {
        if let Some(secure) = self.tls.as_mut().filter(|_| !reset) {
            let _ = secure.say_goodbye(net, self.end);
        }
        net.close_end(self.end, reset);
    }
}

impl SecureEnd {
    /// Continues the handshake; `false` while it is under way.
    fn stands(&mut self, net: &mut Net, end: EndId) -> io::Result<bool> {
        if self.session.stands() {
            return Ok(true);
        }
        let mut wire = RecordWire { net, end, records: &mut self.records };
        let step = self.session.handshake(&mut wire, &self.scratch);
        let step = step.map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        Ok(step? == Step::Done)
    }

    fn recv(&mut self, net: &mut Net, end: EndId, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.stands(net, end)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut wire = RecordWire { net, end, records: &mut self.records };
        self.session.recv(&mut wire, &self.scratch, buffer)
    }

    fn send(&mut self, net: &mut Net, end: EndId, bytes: &[u8]) -> io::Result<usize> {
        let stands = self.stands(net, end)?;
        if !self.push(net, end)? || !stands {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.promised == 0 {
            let mut wire = RecordWire { net, end, records: &mut self.records };
            let parts = [IoSlice::new(bytes)];
            self.promised = self.session.send(&mut wire, &self.scratch, &parts)?;
            if !self.push(net, end)? {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        Ok(std::mem::take(&mut self.promised))
    }

    /// Sends records; `false`: some have to wait.
    fn push(&mut self, net: &mut Net, end: EndId) -> io::Result<bool> {
        while self.left < self.records.len() {
            match net.send(end, &self.records[self.left..]) {
                Ok(count) => self.left += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.records.clear();
        self.left = 0;
        Ok(true)
    }

    /// Announces the end; `false`: some records have to wait.
    fn say_goodbye(&mut self, net: &mut Net, end: EndId) -> io::Result<bool> {
        let mut wire = RecordWire { net, end, records: &mut self.records };
        self.session.close(&mut wire, &self.scratch);
        self.push(net, end)
    }
}
