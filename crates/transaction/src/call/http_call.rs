//! An HTTP request of the process itself, for scripts and operators.
//!
//! A request is a transaction of the hidden proxy `<HTTPCLIENT>`: names are resolved, connections
//! made and retried, heads encoded and payload forwarded as for any client, and it has a log line.
//! Its client side is an exchange in memory ([`transport::streams::call`]). A drop ends it.

use super::request::{HeadLimits, Prepared};
use crate::serve::http;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Parts};
use engine::state::worker::Worker;
use htx::Head;
use mux::StreamGone;
use reactor::Class;
use rules::action::edit::EditError;
use std::fmt;
use std::rc::Rc;
use stdx::Tick;
use transport::streams;
use transport::streams::CallExchange;

/// A request.
#[derive(Clone, Debug, Default)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: Vec<u8>,
    /// The URL, of `http` or `https`.
    pub url: Vec<u8>,
    /// Names and values of header fields.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
    /// The address to send it to, in place of that of the URL.
    pub to: Option<String>,
    /// Milliseconds that the server may be silent.
    pub timeout: Option<u32>,
}

/// The reason why a request could not be made, or its response not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// The configuration has nothing that makes requests.
    Absent,
    /// The URL is malformed, or of another scheme.
    Url,
    /// The address is malformed.
    Address,
    /// The method is malformed or not possible.
    Method,
    /// A header field is malformed.
    Header(EditError),
    /// `content-length` differs from the length of the body.
    Length,
    /// The head is larger than a buffer.
    Large,
    /// The transaction has ended before the response did.
    Truncated,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallError::Absent => "there is no HTTP client",
            CallError::Url => "invalid URL",
            CallError::Address => "invalid address",
            CallError::Method => "invalid method",
            CallError::Header(error) => return error.fmt(f),
            CallError::Length => "'content-length' is not the length of the body",
            CallError::Large => "the head of the request is too large",
            CallError::Truncated => "the response is truncated",
        })
    }
}

impl From<StreamGone> for CallError {
    fn from(_: StreamGone) -> Self {
        CallError::Truncated
    }
}

/// A request under way. Its calls wait on the running task.
#[derive(Debug)]
pub struct HttpCall {
    exchange: CallExchange,
    body: Vec<u8>,
    /// Bytes of the body that were sent; the transaction takes no more once `body` is empty.
    sent: usize,
}

impl HttpCall {
    /// Starts a request.
    ///
    /// # Errors
    /// The request is malformed, or there is no HTTP client.
    pub fn start(worker: &Rc<Worker>, request: HttpRequest) -> Result<Self, CallError> {
        let backend = worker.http_client().ok_or(CallError::Absent)?;
        let settings = &worker.shared.settings;
        let bytes = settings.buffer_size.saturating_sub(settings.max_rewrite);
        let limits = HeadLimits { bytes, fields: settings.max_headers };
        let mut prepared = Prepared::new(&request, limits)?;
        let head = std::mem::take(&mut prepared.head);
        let (stream, exchange) = streams::call(&worker.thread, head, prepared.body);
        let mut client = Box::new(Client::of_call(worker, backend, stream));
        prepared.direct(&mut client);
        let own = worker.clone();
        worker.thread.scheduler().spawn(Class::Normal, async move {
            let parts = Parts { client, arrival: Arrival::Data };
            drop(own.seats.run(http::run, parts).await);
        });
        Ok(Self { exchange, body: request.body, sent: 0 })
    }

    /// The head of the response, once it has arrived. The body of the request is sent meanwhile.
    ///
    /// # Errors
    /// The transaction has ended without a response.
    pub fn poll_response(&mut self) -> Result<Option<Head>, CallError> {
        self.upload();
        Ok(self.exchange.take_response()?.map(|(head, _)| head))
    }

    /// Reads payload of the response; `None` when there is none now, 0 at its end. The rest of the
    /// request's body is sent meanwhile.
    ///
    /// # Errors
    /// The response is truncated.
    pub fn poll_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, CallError> {
        self.upload();
        Ok(self.exchange.receive(buffer)?)
    }

    /// Waits until there is something to do, or for the moment `until`.
    pub async fn wait(&self, until: Option<Tick>) {
        self.exchange.wait(!self.body.is_empty(), until).await;
    }

    /// Whether the deadline `until` has passed.
    pub fn is_due(&self, until: Option<Tick>) -> bool {
        until.is_some_and(|until| until.is_due(self.exchange.now()))
    }

    /// Sends as much of the body as the exchange has room for.
    fn upload(&mut self) {
        while !self.body.is_empty() {
            match self.exchange.write(&self.body[self.sent..]) {
                Ok(0) => return,
                Ok(count) => self.sent += count,
                // The response tells why.
                Err(StreamGone) => self.sent = self.body.len(),
            }
            if self.sent == self.body.len() {
                self.exchange.finish();
                self.body = Vec::new();
            }
        }
    }
}
