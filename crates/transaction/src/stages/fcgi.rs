//! Requests to FastCGI applications: their parameters, their bodies, and the date of answers.
//!
//! The parameters are encoded once, before a server is chosen: they depend on no server, and a
//! request without valid ones reaches none.

use crate::message::body_buffer;
use engine::state::backend::application::{application, max_params, script};
use engine::state::runtime::BackendRef;
use engine::state::session::transaction::Transaction;
use engine::state::thread_handle::LocalBackend;
use engine::state::worker::Worker;
use htx::{Head, HeaderId};
use mux::BodyKind;
use mux::fcgi::params::{decode_path, encode};
use mux::fcgi::{Application, ParamsError, RequestFacts};
use observability::telemetry::sample_context::View;
use rules::FcgiApp;
use sample::calendar::Date;
use sample::fetch::auth::basic_user;
use sample::{Answer, Facts, Hop, TlsFact, Value};
use settings::BackendApp;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use transport::codec::Machine;
use transport::socket::Transport;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use wire::fcgi::pairs;

/// Prepares a request for an application: its body gets a length, and its parameters are encoded.
///
/// # Errors
/// 400 for a body of unknown length that is larger than a buffer, 403 for a path that leaves the
/// document root, 500 for other requests without valid parameters. As [`body_buffer::wait`].
pub(crate) async fn prepare(tx: &mut Transaction, backend: &BackendRef) -> Result<(), Failure> {
    body_buffer::send_continue(tx);
    if tx.request_body == BodyKind::Chunked {
        body_buffer::wait_for_all(tx, backend).await?;
        // Applications read as many bytes as `CONTENT_LENGTH` says.
        if !tx.client_aborted && !body_buffer::is_whole(tx) {
            return Err(Failure::error(400, Cause::Proxy, Phase::Headers));
        }
    }
    encode_params(tx, backend)
}

/// Encodes the parameters of the request as it is now.
fn encode_params(tx: &mut Transaction, backend: &LocalBackend) -> Result<(), Failure> {
    let Some(fcgi) = application(&backend.back) else { return Ok(()) };
    let worker = tx.worker.clone();
    let mut scratch = [(); 3].map(|()| worker.take_scratch());
    let mut params = std::mem::take(&mut tx.notes.params);
    params.clear();
    let encoded = encode_with(tx, fcgi, &mut scratch, &mut params);
    scratch.into_iter().for_each(|scratch| worker.give_scratch(scratch));
    (tx.notes.params, tx.notes.used) = (params, true);
    encoded.map_err(|error| match error {
        ParamsError::OutsideRoot => Failure::error(403, Cause::Proxy, Phase::Headers),
        ParamsError::TooLarge | ParamsError::Path => {
            Failure::error(500, Cause::Internal, Phase::Headers)
        }
    })
}

/// Encodes the parameters of a request, in scratch memory for its path and the lists of its
/// application.
fn encode_with(
    tx: &mut Transaction,
    fcgi: &BackendApp,
    [path, passed, set]: &mut [Vec<u8>; 3],
    out: &mut Vec<u8>,
) -> Result<(), ParamsError> {
    let content_length = content_length(tx);
    let max = max_params(&tx.worker);
    let app = &fcgi.app;
    let view = View::of(tx);
    let facts: &dyn Facts = &view;
    let Some(head) = facts.request() else { return Err(ParamsError::Path) };
    passed_headers(app, facts, passed);
    set_params(app, facts, out, set);
    let Some(encoded) = head.path() else { return Err(ParamsError::Path) };
    decode_path(encoded, path);
    let (source, destination) = (facts.source(), facts.destination());
    let (remote, own) = (Ends::of(source), Ends::of(destination));
    let user = head.has(HeaderId::Authorization).then(|| basic_user(facts)).flatten();
    let request = RequestFacts {
        script: script(app, path),
        remote_addr: remote.address(),
        remote_port: remote.port(),
        server_name: own.address().unwrap_or_default(),
        server_port: own.port().unwrap_or_default(),
        auth: user.as_deref().map(|user| (&b"Basic"[..], user)),
        tls: is_encrypted(facts),
        content_length,
        software: &fcgi.software,
    };
    let app = Application { docroot: &app.docroot, index: &app.index, passed, set };
    encode(head, &app, &request, max, out)
}

/// Whether the client's connection uses TLS.
fn is_encrypted(facts: &dyn Facts) -> bool {
    matches!(facts.tls(Hop::Client, TlsFact::Used), Some(Value::Bool(true)))
}

/// Bytes of the body, which is known from here on.
fn content_length(tx: &Transaction) -> u64 {
    match tx.request_body {
        BodyKind::Length(length) => length,
        BodyKind::Chunked => tx.notes.bodies[0].as_ref().map_or(0, |body| body.len() as u64),
        BodyKind::None | BodyKind::UntilClose | BodyKind::Tunnel => 0,
    }
}

/// Appends the names of `pass-header` lines whose conditions hold.
fn passed_headers(app: &FcgiApp, facts: &dyn Facts, out: &mut Vec<u8>) {
    for line in &app.pass_headers {
        if line.condition.as_ref().is_none_or(|it| it.eval(facts) == Answer::Yes) {
            pairs::put(&line.name, &[], out);
        }
    }
}

/// Appends the parameters of `set-param` lines whose conditions hold; an empty value sets none.
fn set_params(app: &FcgiApp, facts: &dyn Facts, value: &mut Vec<u8>, out: &mut Vec<u8>) {
    for line in &app.set_params {
        if line.condition.as_ref().is_some_and(|it| it.eval(facts) != Answer::Yes) {
            continue;
        }
        line.value.write(facts, value);
        if !value.is_empty() {
            pairs::put(&line.name, &[value], out);
        }
        value.clear();
    }
}

/// Sends the parameters as the head of the request, and its end if it has no body.
///
/// # Errors
/// They exceed the limit of the connection.
pub(crate) fn send_params(
    tx: &mut Transaction,
    backend: &LocalBackend,
    mux: &Machine,
    transport: Option<&Transport>,
) -> Result<(), Failure> {
    if backend.back.settings.name_header.is_some() {
        // The request has a field for this server.
        encode_params(tx, backend)?;
    }
    let (method, ends) = (tx.space.request.method_id(), tx.request_body.is_empty());
    let sent = mux.send_params((method, ends), &tx.notes.params, transport);
    sent.map_err(|_| Failure::error(500, Cause::Internal, Phase::Headers))
}

/// Adds the date to an answer without one, as the origin server has to (RFC 9110 section 6.6.1).
pub(crate) fn add_date(worker: &Worker, head: &mut Head) {
    if head.has(HeaderId::Date) {
        return;
    }
    let mut date = worker.take_scratch();
    Date::new(worker.date(), 0).write_http(&mut date);
    head.push(b"date", &date);
    worker.give_scratch(date);
}

/// An address and its port as texts.
struct Ends {
    bytes: [u8; 56],
    /// Bytes of the address, and of the port behind it.
    lengths: [usize; 2],
}

impl Ends {
    fn of(socket: Option<SocketAddr>) -> Self {
        let mut this = Self { bytes: [0; 56], lengths: [0; 2] };
        let Some(socket) = socket else { return this };
        let mut rest = &mut this.bytes[..];
        let all = rest.len();
        // Both fit: 45 bytes and 5.
        let written = match socket.ip() {
            IpAddr::V4(address) => write_octets(address.octets(), &mut rest),
            IpAddr::V6(address) => write!(rest, "{address}"),
        };
        this.lengths[0] = if written.is_ok() { all - rest.len() } else { 0 };
        let before = rest.len();
        let written = rest.write_all(decimal(socket.port().into(), &mut [0; 5]));
        this.lengths[1] = if written.is_ok() { before - rest.len() } else { 0 };
        this
    }

    fn address(&self) -> Option<&[u8]> {
        let text = &self.bytes[..self.lengths[0]];
        Some(text).filter(|text| !text.is_empty())
    }

    fn port(&self) -> Option<&[u8]> {
        let text = &self.bytes[self.lengths[0]..][..self.lengths[1]];
        Some(text).filter(|text| !text.is_empty())
    }
}

fn write_octets(octets: [u8; 4], out: &mut &mut [u8]) -> std::io::Result<()> {
    for (number, octet) in octets.into_iter().enumerate() {
        if number > 0 {
            out.write_all(b".")?;
        }
        out.write_all(decimal(octet.into(), &mut [0; 5]))?;
    }
    Ok(())
}

/// A number of at most five digits: formatting by the standard library takes several times as long.
fn decimal(mut number: u32, digits: &mut [u8; 5]) -> &[u8] {
    let mut at = digits.len();
    while at > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    &digits[at..]
}

#[cfg(test)]
mod tests {
    //! Texts of addresses.
    use super::*;

    #[test]
    fn addresses_and_ports_are_texts() {
        for (address, text, port) in [
            ("127.0.0.1:80", "127.0.0.1", "80"),
            ("255.255.255.255:65535", "255.255.255.255", "65535"),
            ("1.20.0.9:0", "1.20.0.9", "0"),
            ("[::1]:443", "::1", "443"),
        ] {
            let ends = Ends::of(address.parse().ok());
            assert_eq!(ends.address(), Some(text.as_bytes()));
            assert_eq!(ends.port(), Some(port.as_bytes()));
        }
        assert_eq!(Ends::of(None).address(), None);
        assert_eq!(Ends::of(None).port(), None);
        let longest = "[1111:2222:3333:4444:5555:6666:7777:8888]:65535".parse().ok();
        assert_eq!(Ends::of(longest).port(), Some(&b"65535"[..]));
    }
}
