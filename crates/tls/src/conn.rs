//! The TLS session of one connection, on either side.
//!
//! The session holds no socket: each call lends it a [`Wire`] for records. Written bytes are
//! encrypted at once and count as sent when all of their records have left, so that a writer sees
//! what a plain socket would show. A read fills the caller's buffer from as many records as have
//! arrived.

use crate::error::{HandshakeError, Reason, waits};
use crate::handover::Handover;
use crate::hello::is_whole;
use crate::read_ahead::{BufferedWire, ReadAhead};
use crate::record_size::RecordSize;
use crate::scratch::Scratch;
use crate::session_facts::View;
use crate::session_kind::{CountedSession, SessionKind};
use crate::settings::Defaults;
use ffi::{Channel, Wire};
use openssl::error::ErrorStack;
use openssl::ssl::{Error, Ssl, SslRef};
use std::any::Any;
use std::io;

/// The version as the library writes it.
const TLS13: &str = "TLSv1.3";

/// `X509_V_ERR_HOSTNAME_MISMATCH`
const OTHER_NAME: u32 = 62;

mod early;
mod facts;
mod own_records;
mod reading;
mod writing;

use early::Early;
use own_records::OwnSession;

/// The progress of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The session is established.
    Done,
    /// More has to arrive.
    Receive,
    /// Records have to be sent first.
    Send,
}

/// The state of the read side.
#[derive(Debug, Default)]
enum End {
    #[default]
    Open,
    /// The peer has closed its side.
    Over,
    /// The next read returns the error.
    Broken(io::ErrorKind),
}

/// The owner of a session's state.
#[derive(Debug)]
enum Session {
    /// The object of the library.
    Library(Channel),
    /// The record layer of this process.
    Own(Box<OwnSession>),
}

/// A session.
#[derive(Debug)]
pub struct Conn {
    session: Session,
    /// Counts the session once its handshake is over.
    counted: Option<CountedSession>,
    /// The record layer of this process takes the session over after its handshake.
    may_take_over: bool,
    /// Records that have not been sent.
    out: Vec<u8>,
    /// How much of them has.
    left: usize,
    /// Bytes of the caller that are in these records.
    promised: usize,
    /// Bytes of these records that go with the next answer.
    held: usize,
    /// Bytes of these records that answer messages of the peer about the session.
    answers: u32,
    /// The number of reads in a row that had such messages alone.
    asides: u8,
    /// The last call was ended because it would have gone on for long.
    cut_short: bool,
    /// Tickets are sent as soon as they are made, because early data is accepted by their age.
    prompt: bool,
    /// The library holds decrypted bytes, so that a read may return some without new input.
    buffered: bool,
    end: End,
    stands: bool,
    /// Received before the session has asked for it.
    ahead: ReadAhead,
    /// Early data may be exchanged.
    early: Option<Box<Early>>,
    /// The most bytes of one record.
    longest: u32,
    /// Records are shorter for a while, if that is asked for.
    record_size: Option<Box<RecordSize>>,
    failure: Option<Box<HandshakeError>>,
    kept: Option<Box<dyn Any + Send>>,
}

impl Conn {
    /// A session that has not begun.
    pub(crate) fn new(ssl: Ssl, defaults: &Defaults) -> Result<Self, HandshakeError> {
        let channel = Channel::new(ssl).map_err(|_| HandshakeError::new(Reason::Broken))?;
        Ok(Self::over(channel, defaults))
    }

    /// Lets the record layer of this process go on with the session after its handshake.
    #[must_use]
    pub(crate) fn with_own_records(mut self) -> Self {
        self.may_take_over = true;
        self
    }

    /// A session over a channel.
    fn over(channel: Channel, defaults: &Defaults) -> Self {
        Self {
            session: Session::Library(channel),
            counted: None,
            may_take_over: false,
            out: Vec::new(),
            left: 0,
            promised: 0,
            held: 0,
            answers: 0,
            asides: 0,
            cut_short: false,
            prompt: false,
            buffered: false,
            end: End::Open,
            stands: false,
            ahead: ReadAhead::default(),
            early: None,
            longest: defaults.longest_record() as u32,
            record_size: defaults.record_size().map(Box::new),
            failure: None,
            kept: None,
        }
    }

    /// The session of a QUIC connection whose handshake is over. The connection answers queries;
    /// the transport protects packets itself.
    pub(crate) fn of_quic(channel: Channel, defaults: &Defaults) -> Self {
        let mut conn = Self::over(channel, defaults);
        conn.stands = true;
        conn
    }

    /// Lets the client say something before the handshake is over.
    #[must_use]
    pub(crate) fn hearing_early(mut self) -> Self {
        self.early = Some(Box::new(Early::new()));
        self.prompt = true;
        self
    }

    /// Has the library keep the session behind its handshake, or lets the record layer go on now.
    #[cfg(test)]
    pub(crate) fn delay_take_over(&mut self, delays: bool) {
        self.may_take_over = !delays;
        if !delays {
            self.settle();
        }
    }

    /// Keeps a token until the session is dropped, such as a slot in a count.
    pub fn keep(&mut self, token: Box<dyn Any + Send>) {
        self.kept = Some(token);
    }

    /// Bytes that have been received before the session begins.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.ahead.feed(bytes);
        self.buffered = !self.ahead.is_empty();
    }

    /// Goes on with the handshake: until it is over, or, at first, until the client has sent early
    /// data (see [`Conn::is_early`]).
    ///
    /// # Errors The handshake has failed; the alert to the peer has been sent, if possible.
    pub fn handshake(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
    ) -> Result<Step, HandshakeError> {
        if !self.stands || self.is_early() {
            if let Err(error) = self.advance(wire, scratch) {
                self.buffered = false;
                self.note_failure(&error);
                let flushed = self.flush(wire, scratch);
                return match waits(&error) {
                    Some(_) => flushed
                        .map(|left| if left { Step::Receive } else { Step::Send })
                        .map_err(|_| HandshakeError::new(Reason::Broken)),
                    None => Err(self.judge(HandshakeError::of(&error))),
                };
            }
            self.stands = true;
            self.settle();
            self.buffered = self.has_more();
            if self.may_hold() {
                self.hold(scratch);
                return Ok(Step::Done);
            }
        }
        match self.flush(wire, scratch) {
            Ok(true) => Ok(Step::Done),
            Ok(false) => Ok(Step::Send),
            Err(_) => Err(HandshakeError::new(Reason::Broken)),
        }
    }

    /// The handshake is over, or early data has arrived: another record layer goes on if it may.
    fn settle(&mut self) {
        self.take_over();
        let kind = match &self.session {
            Session::Library(_) => SessionKind::Library,
            Session::Own(_) => SessionKind::Own,
        };
        self.counted = Some(CountedSession::new(kind));
    }

    /// Whether a client has asked for something already, which is answered soon, and needs nothing
    /// before that: all that is left to say are tickets.
    fn may_hold(&self) -> bool {
        let tls13 = || self.version() == TLS13;
        let asked = self.buffered && self.has_unsent() && self.accepts();
        asked && !self.prompt && tls13()
    }

    /// Keeps unsent bytes for the next answer, in a buffer of their size.
    fn hold(&mut self, scratch: &Scratch) {
        let rest = self.out[self.left..].to_vec();
        self.release(scratch);
        (self.held, self.out) = (rest.len(), rest);
    }

    /// A failure that verification has caused is one of verification.
    fn judge(&self, mut fault: HandshakeError) -> HandshakeError {
        let checked = self.checked();
        let failed = self.verify_result() != 0;
        if fault.reason == Reason::Handshake && failed {
            if checked.certificate_error == OTHER_NAME {
                fault.reason = Reason::Name;
            } else if checked.certificate_error != 0 {
                fault.reason = Reason::Certificate;
            } else if checked.authority_error != 0 {
                fault.reason = Reason::Authority;
            }
        }
        // A client that closes after the server's answer has rejected it: the handshake has failed.
        let answered = || self.accepts() && self.has_answered();
        if fault.reason == Reason::Closed && answered() {
            fault.reason = Reason::Handshake;
        }
        fault
    }

    /// Whether the library has answered the client's first message, which takes most of the
    /// handshake's CPU.
    pub fn has_answered(&self) -> bool {
        self.library().is_none_or(|ssl| ssl.current_cipher().is_some())
    }

    /// Gives up on a client that closed before it was answered; returns the reason to report. The
    /// remaining input is received, so that closing the socket does not send a reset.
    pub fn forsake(&mut self, wire: &mut dyn Wire) -> HandshakeError {
        match is_whole(self.ahead.exhaust(wire)) {
            true => HandshakeError::new(Reason::Handshake),
            false => HandshakeError::new(Reason::Closed),
        }
    }

    /// Whether it is the server's side.
    pub fn accepts(&self) -> bool {
        // Sessions with servers stay with the library.
        self.library().is_none_or(|ssl| ssl.is_server())
    }

    /// Whether the handshake is over.
    pub fn stands(&self) -> bool {
        self.stands
    }

    /// Whether the library takes the handshake for over.
    pub(crate) fn is_over(&self) -> bool {
        match &self.session {
            Session::Library(channel) => channel.is_over(),
            Session::Own(_) => true,
        }
    }

    /// Whether the server has accepted the early data, once the handshake is over.
    pub fn was_early_taken(&self) -> bool {
        match &self.session {
            Session::Library(channel) => channel.was_early_taken(),
            Session::Own(own) => own.facts.was_early_taken,
        }
    }

    /// Whether the library holds decrypted bytes, so that a read may return some without new input.
    #[inline]
    pub fn has_buffered(&self) -> bool {
        self.buffered
    }

    /// Whether records wait to be sent.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.left < self.out.len()
    }

    /// Sends close_notify to the peer, if the socket takes it.
    pub fn close(&mut self, wire: &mut dyn Wire, scratch: &Scratch) {
        if self.stands && !matches!(self.end, End::Broken(_)) {
            if self.is_early() {
                // Only a session whose handshake is over can be ended in good order.
                let _ = self.advance(wire, scratch);
            }
            if !self.close_own(scratch) {
                let _ = self.run(wire, scratch, Channel::shutdown);
            }
        }
        let _ = self.flush(wire, scratch);
    }

    /// Gives the memory of records back that will never leave.
    pub fn release(&mut self, scratch: &Scratch) {
        scratch.give(std::mem::take(&mut self.out));
        (self.left, self.held, self.answers) = (0, 0, 0);
    }

    /// Runs the library with a wire that collects all output.
    ///
    /// # Errors
    /// As `act` has them, and without a session of the library.
    pub(crate) fn run<T>(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        act: impl FnOnce(&mut Channel, &mut dyn Wire) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Session::Library(channel) = &mut self.session else {
            return Err(ErrorStack::get().into());
        };
        let out = output(&mut self.out, scratch);
        let (before, ahead, eager) = (out.len(), &mut self.ahead, !self.stands);
        let mut gather = BufferedWire { wire, out, ahead, eager, received: 0, scratch };
        let result = act(channel, &mut gather);
        self.cut_short = !eager && gather.was_cut_short();
        if eager {
            Handover::note_output(channel.ssl(), &self.out[before..]);
        }
        self.ahead.rest(scratch);
        result
    }

    /// Sends records. `false`: some have to wait.
    fn flush(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> io::Result<bool> {
        while self.left < self.out.len() {
            match wire.send(&self.out[self.left..]) {
                Ok(count) => self.left += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        self.release(scratch);
        Ok(true)
    }

    /// The library's object, if it has the session.
    pub(crate) fn library(&self) -> Option<&SslRef> {
        match &self.session {
            Session::Library(channel) => Some(channel.ssl()),
            Session::Own(_) => None,
        }
    }

    /// The source of answers to queries about the session.
    pub(crate) fn view(&self) -> View<'_> {
        match &self.session {
            Session::Library(channel) => View::Library(channel.ssl()),
            Session::Own(own) => View::Facts(&own.facts),
        }
    }

    /// The first error of the library that ended a call.
    pub fn failure(&self) -> Option<&HandshakeError> {
        self.failure.as_deref()
    }

    /// Takes note of an error of the library; the first one stays.
    fn note_failure(&mut self, error: &Error) {
        if self.failure.is_none() && error.ssl_error().is_some_and(|it| !it.errors().is_empty()) {
            self.failure = Some(Box::new(HandshakeError::of(error)));
        }
    }
}

/// The output, with a buffer of the thread if it has none.
fn output<'a>(out: &'a mut Vec<u8>, scratch: &Scratch) -> &'a mut Vec<u8> {
    if out.capacity() == 0 {
        *out = scratch.take();
    }
    out
}

impl Drop for Conn {
    fn drop(&mut self) {
        if self.stands
            && !matches!(self.end, End::Broken(_))
            && let Session::Library(channel) = &mut self.session
        {
            channel.absolve();
        }
    }
}
