//! HTTP/2 and FastCGI as a check speaks them: one request at a time, and the response to it.

use super::reply::Reply;
use engine::state::backend::application;
use htx::Head;
use mux::fcgi::params::{decode_path, encode};
use mux::fcgi::{Application, RequestFacts};
use mux::h2::Key;
use mux::{BodyKind, HeadStep};
use settings::BackendApp;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::sync::Arc;
use transport::streams::StreamMux;
use wire::h1::{HeadKind, HeadParser, Limits};

/// The connection of a check that carries streams.
#[derive(Debug)]
pub(super) struct StreamCheck {
    machine: StreamMux,
    scheme: &'static [u8],
    /// The application, for FastCGI.
    application: Option<CheckedApp>,
    /// The stream of the request at hand.
    key: Option<Key>,
    /// Bytes received and not yet parsed.
    input: Vec<u8>,
    /// The rest of the request's body.
    body: Vec<u8>,
    reply: Reply,
    /// The head of the reply has come.
    answered: bool,
    /// The connection is of no more use.
    over: bool,
}

/// The application that a check asks.
#[derive(Debug)]
pub(super) struct CheckedApp {
    pub(super) fcgi: Arc<BackendApp>,
    /// Address of the server.
    pub(super) server: Option<SocketAddr>,
    /// Longest parameters.
    pub(super) max_params: usize,
}

impl CheckedApp {
    /// The parameters of a request: as for clients, without an address of the client and without
    /// those of `set-param`, whose expressions have no request of a client. Empty if the request
    /// has no valid ones.
    fn params(&self, head: &Head, content_length: u64) -> Vec<u8> {
        let (app, mut path, mut params) = (&self.fcgi.app, Vec::new(), Vec::new());
        decode_path(head.path().unwrap_or_default(), &mut path);
        let (name, port) = match self.server {
            Some(server) => (server.ip().to_string(), server.port().to_string()),
            None => (String::new(), String::new()),
        };
        let application =
            Application { docroot: &app.docroot, index: &app.index, passed: &[], set: &[] };
        let facts = RequestFacts {
            script: application::script(app, &path),
            remote_addr: None,
            remote_port: Some(b"0"),
            server_name: name.as_bytes(),
            server_port: port.as_bytes(),
            auth: None,
            tls: false,
            content_length,
            software: &self.fcgi.software,
        };
        let encoded = encode(head, &application, &facts, self.max_params, &mut params);
        if encoded.is_ok() { params } else { Vec::new() }
    }
}

impl StreamCheck {
    /// A connection before its first byte.
    pub(super) fn new(
        machine: StreamMux,
        encrypted: bool,
        application: Option<CheckedApp>,
    ) -> Self {
        Self {
            machine,
            scheme: if encrypted { b"https" } else { b"http" },
            application,
            key: None,
            input: Vec::new(),
            body: Vec::new(),
            reply: Reply::default(),
            answered: false,
            over: false,
        }
    }

    /// Begins a request, given in the format of HTTP/1.
    pub(super) fn begin_request(&mut self, request: &[u8]) {
        let mut head = Head::default();
        let limits = Limits { head_bytes: u32::MAX, header_lines: u16::MAX, ..Limits::DEFAULT };
        let parsed = HeadParser::new().parse(HeadKind::Request, request, limits, &mut head);
        let body = parsed.ok().flatten().and_then(|length| request.get(length..));
        if let Some(key) = self.key.take() {
            self.machine.release(key);
        }
        (self.reply, self.answered) = (Reply::default(), false);
        let (Some(body), Some(key)) = (body, self.machine.open()) else {
            self.over = true;
            return;
        };
        let kind =
            if body.is_empty() { BodyKind::None } else { BodyKind::Length(body.len() as u64) };
        match &self.application {
            None => drop(self.machine.encode_head(key, &mut head, kind, self.scheme)),
            Some(application) => {
                let params = application.params(&head, body.len() as u64);
                if self.machine.send_params(key, head.method_id(), &params).is_err() {
                    self.over = true;
                }
            }
        }
        self.machine.encode_data(key, body.len() as u64);
        self.machine.encode_end(key, None);
        (self.key, self.body) = (Some(key), body.to_vec());
        self.go_on();
    }

    /// Takes received bytes; `ended` if these are the last.
    pub(super) fn receive(&mut self, bytes: &[u8], ended: bool) {
        self.input.extend_from_slice(bytes);
        match self.machine.handle_input(&self.input, 0) {
            Some(taken) => drop(self.input.drain(..taken)),
            None => self.over = true,
        }
        self.over |= ended;
        self.go_on();
    }

    /// Takes the bytes to send now.
    pub(super) fn take_output(&mut self) -> Vec<u8> {
        let bytes = self.machine.output().to_vec();
        self.machine.advance_output(bytes.len());
        bytes
    }

    /// The received part of the reply; `None` while its head is awaited.
    ///
    /// # Errors
    /// The stream ended before a response.
    pub(super) fn reply(&self) -> Result<Option<&Reply>, super::reply::Malformed> {
        match (self.answered, self.over) {
            (true, _) => Ok(Some(&self.reply)),
            (false, true) => Err(super::reply::Malformed),
            (false, false) => Ok(None),
        }
    }

    /// Sends as much of the body as there is room for, and reads the reply so far.
    fn go_on(&mut self) {
        let Some(key) = self.key else { return };
        while !self.body.is_empty() {
            match self.machine.send(key, &[IoSlice::new(&self.body)]) {
                Ok(count @ 1..) => drop(self.body.drain(..count)),
                _ => break,
            }
        }
        while !self.answered {
            match self.machine.handle_head(key, &mut self.reply.head) {
                Ok(HeadStep::Complete { .. }) => self.answered = true,
                Ok(HeadStep::Interim { .. }) => {}
                Ok(HeadStep::NeedMore) => break,
                Err(_) => self.over = true,
            }
        }
        let mut buffer = [0; 4_096];
        while self.answered && !self.reply.complete {
            match self.machine.read(key, &mut buffer) {
                Ok(Some(count @ 1..)) => self.reply.body.extend_from_slice(&buffer[..count]),
                Ok(None) => break,
                Ok(Some(0)) | Err(_) => self.reply.complete = true,
            }
        }
        self.over |= !self.answered && self.machine.is_reset(key);
        self.reply.complete |= self.over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;
    use mux::Side;
    use mux::h2::{H2Conn, H2ConnSettings};

    fn new_talk() -> StreamCheck {
        let machine = H2Conn::new(Side::Server, H2ConnSettings::default());
        StreamCheck::new(machine.into(), false, None)
    }

    fn pass(from: &mut StreamCheck, to: &mut H2Conn) {
        let bytes = from.take_output();
        assert_eq!(to.handle_input(&bytes, 0), Ok(bytes.len()));
    }

    fn answer(talk: &mut StreamCheck, from: &mut H2Conn) {
        let bytes = from.output().to_vec();
        from.advance_output(bytes.len());
        talk.receive(&bytes, false);
    }

    #[test]
    fn a_request_and_its_answer() {
        let mut talk = new_talk();
        let mut server = H2Conn::new(Side::Client, H2ConnSettings::default());
        for round in 0..2 {
            talk.begin_request(b"POST /up HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody");
            pass(&mut talk, &mut server);
            let key = server.poll_opened().expect("a request");
            let mut head = Head::default();
            server.handle_head(key, &mut head).expect("a good one");
            assert_eq!((head.method(), head.path()), (&b"POST"[..], Some(&b"/up"[..])));
            let mut body = [0; 10];
            assert_eq!(server.read(key, &mut body), Ok(Some(4)), "round {round}");
            assert!(talk.reply().is_ok_and(|reply| reply.is_none()));
            head.set_response(Version::Http11, 200, b"OK");
            server.encode_head(key, &mut head, BodyKind::Length(2), b"http");
            answer(&mut talk, &mut server);
            let complete =
                |talk: &StreamCheck| talk.reply().expect("good").map(|reply| reply.complete);
            assert_eq!(complete(&talk), Some(false));
            server.encode_data(key, 2);
            server.encode_end(key, None);
            server.send(key, &[IoSlice::new(b"ok")]).expect("room");
            answer(&mut talk, &mut server);
            assert_eq!(complete(&talk), Some(true));
            assert_eq!(talk.reply().expect("good").map(|reply| &reply.body[..]), Some(&b"ok"[..]));
            server.release(key);
        }
    }

    #[test]
    fn malformed_responses_are_errors() {
        let mut talk = new_talk();
        talk.begin_request(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        talk.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n", false);
        assert!(talk.reply().is_err());
        let mut talk = new_talk();
        talk.begin_request(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        talk.receive(b"", true);
        assert!(talk.reply().is_err());
    }
}
