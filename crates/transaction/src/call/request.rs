//! A request of the process itself: the caller's wishes, and the head that is made of them.

use super::http_call::{CallError, HttpRequest};
use super::url::{Url, UrlHost, address};
use engine::state::session::client::Client;
use htx::target::split_port;
use htx::{Head, Version};
use mux::BodyKind;
use reactor::Address;
use rules::edit::check_field;
use sample::{Value, VarName};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The sender of a request, unless its caller names one.
const AGENT: &[u8] = b"HAProxy";
/// Fields about the client's connection, and those that the proxy writes itself.
const DROPPED: &[&[u8]] = &[
    b"connection",
    b"expect",
    b"http2-settings",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
];
/// Idempotent methods (RFC 9110 section 9.2.2).
const REPEATABLE: &[&[u8]] = &[b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"TRACE"];

/// Limits on the head of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadLimits {
    pub(super) bytes: usize,
    pub(super) fields: usize,
}

/// A request that was found sound.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) head: Head,
    pub(super) body: BodyKind,
    url: Url,
    to: Option<Address>,
    /// The name that a server over TLS has to have.
    name: String,
    is_repeatable: bool,
    timeout: Option<u32>,
}

impl Prepared {
    /// Checks a request and writes its head.
    ///
    /// # Errors
    /// A part of it is not usable.
    pub(super) fn new(request: &HttpRequest, limits: HeadLimits) -> Result<Self, CallError> {
        let url = Url::parse(&request.url).ok_or(CallError::Url)?;
        let to = match &request.to {
            None => None,
            Some(text) => Some(address(text, url.port).ok_or(CallError::Address)?),
        };
        let method = &*request.method;
        let token = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'-';
        if method.is_empty() || !method.iter().all(token) || method == b"CONNECT" {
            return Err(CallError::Method);
        }
        let mut head = Head::default();
        let scheme: &[u8] = if url.is_tls { b"https" } else { b"http" };
        head.set_request_target(method, scheme, &url.authority, &url.path, Version::Http11);
        let body = write_fields(request, &url, &mut head)?;
        if head.wire_len() > limits.bytes || head.fields().count() > limits.fields {
            return Err(CallError::Large);
        }
        let name = asked_name(&head).unwrap_or_else(|| url.host.name());
        let is_repeatable = REPEATABLE.contains(&method);
        Ok(Self { head, body, to, name, is_repeatable, timeout: request.timeout, url })
    }

    /// Tells the rules of the hidden proxy, and the way to the server, where the request goes.
    pub(super) fn direct(&self, client: &mut Client) {
        let set = |name: &str, value: Value<'static>| {
            if let Ok(name) = VarName::parse(name) {
                client.variables.set(&name, Some(value));
            }
        };
        let mut ends = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), self.url.port);
        match (&self.to, &self.url.host) {
            (Some(Address::Inet(address)), _) => ends = *address,
            (Some(_), _) => {}
            (None, UrlHost::Ip(ip)) => ends.set_ip(*ip),
            (None, UrlHost::Name(host)) => {
                set("sess.httpclient_host", text(host));
                set("sess.httpclient_port", Value::Int(self.url.port.into()));
            }
        }
        if self.url.is_tls {
            set("sess.httpclient_name", text(&self.name));
        }
        if !self.is_repeatable {
            set("sess.httpclient_once", Value::Bool(true));
        }
        if let Some(span) = self.timeout {
            set("sess.httpclient_timeout", Value::Int(span.into()));
        }
        let rare = client.rare.edit();
        rare.destination = Some(ends);
        rare.target = self.to.clone().filter(|to| to.inet().is_none());
    }
}

/// Writes the caller's fields, and required fields that are missing.
fn write_fields(request: &HttpRequest, url: &Url, head: &mut Head) -> Result<BodyKind, CallError> {
    let mut length = None;
    for (name, value) in &request.headers {
        check_field(name, value).map_err(CallError::Header)?;
        let name = name.to_ascii_lowercase();
        if name == b"content-length" {
            length = Some(value.trim_ascii());
        } else if !DROPPED.contains(&&*name) {
            head.push(&name, value);
        }
    }
    for (name, value) in
        [(&b"host"[..], &*url.authority), (b"accept", b"*/*"), (b"user-agent", AGENT)]
    {
        if head.get(name).is_none() {
            head.push(name, value);
        }
    }
    let size = request.body.len();
    match length {
        Some(length) if length != size.to_string().as_bytes() => Err(CallError::Length),
        Some(_) => Ok(BodyKind::Length(size as u64)),
        None if size == 0 => Ok(BodyKind::None),
        None => Ok(BodyKind::Chunked),
    }
}

fn text(text: &str) -> Value<'static> {
    Value::str(text.as_bytes()).into_shared()
}

/// The host that the caller has written into the head.
fn asked_name(head: &Head) -> Option<String> {
    let (host, _) = split_port(head.get(b"host")?);
    UrlHost::parse(host).map(|host| host.name())
}
