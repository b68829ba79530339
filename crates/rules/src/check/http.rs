//! The requests of HTTP checks (`http-check send`, `option httpchk`).

use super::send::written;
use sample::{Facts, LogFormat};
use std::sync::Arc;

/// The request of `option httpchk`.
#[derive(Clone, Debug, Default)]
pub struct RequestLine {
    /// Method.
    pub method: Option<Box<str>>,
    /// Target.
    pub uri: Option<Arc<LogFormat>>,
    /// Version.
    pub version: Option<Box<str>>,
    /// Header fields, names in lower case.
    pub headers: Vec<(Box<str>, Arc<LogFormat>)>,
    /// Body.
    pub body: Option<Arc<LogFormat>>,
}

/// An `http-check send` step.
#[derive(Clone, Debug, Default)]
pub struct HttpSend(pub RequestLine);

impl HttpSend {
    /// The request as sent. `base` has the defaults of the step; if it `wins`, it also overrides
    /// the step. `state` is the value of the state header, if one is sent.
    pub fn build(
        &self,
        base: Option<(&RequestLine, bool)>,
        state: Option<&str>,
        facts: &dyn Facts,
    ) -> Vec<u8> {
        let empty = RequestLine::default();
        let (base, wins) = base.unwrap_or((&empty, false));
        let (first, second) = if wins { (base, &self.0) } else { (&self.0, base) };
        let method = first.method.as_deref().or(second.method.as_deref()).unwrap_or("OPTIONS");
        let version = first.version.as_deref().or(second.version.as_deref());
        let version = version.unwrap_or("HTTP/1.0");
        let uri = first.uri.as_ref().or(second.uri.as_ref());
        let mut uri = uri.map(|uri| written(uri, facts)).unwrap_or_default();
        let body = first.body.as_ref().or(second.body.as_ref());
        let body = body.map(|body| written(body, facts)).unwrap_or_default();
        if uri.is_empty() {
            uri.push(b'/');
        }
        let fields = base.headers.iter().chain(&self.0.headers);
        let fields: Vec<(&str, Vec<u8>)> = fields
            .filter(|(name, _)| !matches!(&**name, "content-length" | "transfer-encoding"))
            .map(|(name, value)| (&**name, written(value, facts)))
            // A format with an empty result sends no header field, as in HAProxy.
            .filter(|(_, value)| !value.is_empty())
            .collect();
        if let Some((_, host)) = fields.iter().find(|(name, _)| *name == "host") {
            replace_authority(&mut uri, host);
        }
        let mut out = Vec::with_capacity(128 + body.len());
        // As with HAProxy, versions of HTTP/2 are not written over HTTP/1.
        let token = if version.starts_with("HTTP/2") { "HTTP/1.1" } else { version };
        for part in [method.as_bytes(), b" ", &uri, b" ", token.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
        // Methods that usually have no body need not announce an empty one (RFC 9110 8.6).
        let silent = body.is_empty() && matches!(method, "OPTIONS" | "GET" | "HEAD" | "DELETE");
        let length = (!silent).then_some(body.len());
        write_fields(&fields, !keeps_alive(version), length, state, &mut out);
        out.extend_from_slice(&body);
        out
    }

    /// The request, if it is the same every time.
    pub(super) fn as_constant(&self, base: &RequestLine, wins: bool) -> Option<Vec<u8>> {
        let formats = |line: &RequestLine| {
            let headers = line.headers.iter().map(|(_, value)| value);
            headers.chain(&line.uri).chain(&line.body).all(|it| it.as_literal().is_some())
        };
        let constant = formats(base) && formats(&self.0);
        constant.then(|| self.build(Some((base, wins)), None, &sample::NoFacts))
    }
}

/// Whether a server keeps a connection of this version open unless told to close it.
fn keeps_alive(version: &str) -> bool {
    let Some([a, b'.', b]) = version.strip_prefix("HTTP/").map(str::as_bytes) else {
        return false;
    };
    a.is_ascii_digit() && b.is_ascii_digit() && (*a, *b) > (b'1', b'0')
}

fn write_fields(
    fields: &[(&str, Vec<u8>)],
    old: bool,
    length: Option<usize>,
    state: Option<&str>,
    out: &mut Vec<u8>,
) {
    let mut field = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    };
    let mut persistence = !old;
    for (name, value) in fields {
        if *name == "connection" {
            persistence = false;
            // The header is left out where the version already implies it.
            let usual: &[u8] = if old { b"close" } else { b"keep-alive" };
            if value.eq_ignore_ascii_case(usual) {
                continue;
            }
        }
        field(name, value);
    }
    if let Some(state) = state {
        field("x-haproxy-server-state", state.as_bytes());
    }
    if let Some(length) = length {
        field("content-length", length.to_string().as_bytes());
    }
    if persistence {
        field("connection", b"close");
    }
    out.extend_from_slice(b"\r\n");
}

/// In an absolute target, the host that the header field names.
fn replace_authority(uri: &mut Vec<u8>, host: &[u8]) {
    let Some(scheme) = memchr::memmem::find(uri, b"://").filter(|at| !uri[..*at].contains(&b'/'))
    else {
        return;
    };
    let from = scheme + 3;
    let len = uri[from..].iter().position(|b| matches!(b, b'/' | b'?' | b'#'));
    let to = len.map_or(uri.len(), |len| from + len);
    uri.splice(from..to, host.iter().copied());
}
