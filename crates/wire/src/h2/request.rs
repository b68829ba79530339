//! Requests from and to header lists (RFC 9113 section 8.3.1, RFC 8441 section 4). HTTP/3 has the
//! same lists, so its requests are read here too (RFC 9114 section 4.3.1).
//!
//! The target becomes the absolute form, as in HAProxy, and `:authority` becomes `Host`. An
//! extended CONNECT becomes the equivalent HTTP/1 upgrade, and vice versa.

use htx::authority::is_host;
use htx::target::{Target, split_port, without_userinfo};
use htx::{Head, HeaderId, Method, Version, list};

use super::error::MalformedMessage;
pub use super::fields::ListLimits;
use super::fields::{self, ListMeter};
use super::hpack;
use crate::{upgrade, websocket};

/// A part of the text of the pseudo-fields.
type Span = (u32, u32);

/// Properties of a complete request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestInfo {
    /// Announced length of the body.
    pub length: Option<u64>,
    /// CONNECT: opaque bytes follow after its acceptance.
    pub connect: bool,
    /// An extended CONNECT, represented as an upgrade.
    pub extended: bool,
}

/// Requests accepted in violation of RFC 9113.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// Targets may have a fragment, against RFC 9113 section 8.3.1: the HTTP/1 parser is lenient,
    /// or rules remove fragments.
    pub fragments: bool,
    /// `:authority` and `Host` may have any form, and trailers may have a `content-length`.
    pub hosts: bool,
}

/// A request whose fields are being decoded. It is reused for the next list and keeps its memory.
#[derive(Debug)]
pub struct RequestReader {
    meter: ListMeter,
    /// Text of the pseudo-fields.
    text: Vec<u8>,
    method: Option<Span>,
    scheme: Option<Span>,
    authority: Option<Span>,
    path: Option<Span>,
    protocol: Option<Span>,
    /// Values of `cookie` fields, joined.
    cookie: Vec<u8>,
    /// Whether there was a `cookie` field.
    crumbs: bool,
    /// The start line was made: no pseudo-field may follow.
    begun: bool,
    tolerance: Tolerance,
    version: Version,
    trouble: Option<MalformedMessage>,
}

impl RequestReader {
    /// A reader of HTTP/2 requests before its first list.
    pub fn new(tolerance: Tolerance) -> Self {
        Self::of_version(tolerance, Version::Http2)
    }

    /// A reader before its first list, for requests of this version.
    pub fn of_version(tolerance: Tolerance, version: Version) -> Self {
        Self {
            meter: ListMeter::new(ListLimits { bytes: 0, fields: 0 }),
            text: Vec::new(),
            method: None,
            scheme: None,
            authority: None,
            path: None,
            protocol: None,
            cookie: Vec::new(),
            crumbs: false,
            begun: false,
            tolerance,
            version,
            trouble: None,
        }
    }

    /// Begins a list.
    pub fn begin(&mut self, limits: ListLimits) {
        self.meter = ListMeter::new(limits);
        self.text.clear();
        self.cookie.clear();
        (self.method, self.scheme, self.authority) = (None, None, None);
        (self.path, self.protocol) = (None, None);
        (self.begun, self.crumbs, self.trouble) = (false, false, None);
    }

    /// Adds the next field of the list to `head`, which was cleared before the first one.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8], head: &mut Head) {
        if self.trouble.is_none()
            && let Err(trouble) = self.take(name, value, head)
        {
            self.trouble = Some(trouble);
        }
    }

    #[inline]
    fn take(&mut self, name: &[u8], value: &[u8], head: &mut Head) -> Result<(), MalformedMessage> {
        self.meter.count(name, value)?;
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        let id = fields::check(name, value)?;
        // Cookie fields become one field: the list's size limits their number.
        if id != HeaderId::Cookie || !std::mem::replace(&mut self.crumbs, true) {
            self.meter.count_field()?;
        }
        if !self.begun {
            self.start_line(head)?;
        }
        let value = fields::trimmed(value);
        match id {
            HeaderId::Cookie => {
                if !self.cookie.is_empty() {
                    self.cookie.extend_from_slice(b"; ");
                }
                self.cookie.extend_from_slice(value);
            }
            // RFC 9114 section 4.3.1: a request with two hosts is malformed.
            HeaderId::Host if self.differs_from_authority(value) => {
                return Err(MalformedMessage::Stream("host and :authority differ"));
            }
            HeaderId::Host if self.authority.is_some() => {}
            // The field belongs to an upgrade that HTTP/2 does not have.
            HeaderId::Http2Settings => {}
            // Different recipients may choose different ones.
            HeaderId::Host if head.has(HeaderId::Host) => {
                return Err(MalformedMessage::Stream("repeated host"));
            }
            HeaderId::Host if !self.may_be_host(value) => {
                return Err(MalformedMessage::Status(400, "invalid host"));
            }
            id => head.as_fields_mut().push_lower(id, name, value),
        }
        Ok(())
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), MalformedMessage> {
        if self.begun {
            return Err(MalformedMessage::Stream("pseudo-field after a field"));
        }
        let place = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            b":protocol" => &mut self.protocol,
            _ => return Err(MalformedMessage::Stream("unknown pseudo-field")),
        };
        if place.is_some() {
            return Err(MalformedMessage::Stream("repeated pseudo-field"));
        }
        let start = self.text.len() as u32;
        self.text.extend_from_slice(value);
        *place = Some((start, self.text.len() as u32));
        Ok(())
    }

    fn text(&self, span: Option<Span>) -> Option<&[u8]> {
        let (start, end) = span?;
        self.text.get(start as usize..end as usize)
    }

    /// Makes the start line and `Host` from the pseudo-fields.
    fn start_line(&mut self, head: &mut Head) -> Result<(), MalformedMessage> {
        self.begun = true;
        if self.tolerance.hosts {
            self.authority = self.authority.filter(|(start, end)| start < end);
        }
        let method = self.text(self.method).ok_or(MalformedMessage::Stream("no :method"))?;
        if !fields::is_method(method) {
            return Err(MalformedMessage::Status(400, "invalid method"));
        }
        let scheme = self.text(self.scheme).unwrap_or_default();
        let authority = self.text(self.authority).map(|it| without_default_port(scheme, it));
        if authority.is_some_and(|text| !self.may_be_host(text)) {
            return Err(MalformedMessage::Status(400, "invalid :authority"));
        }
        if method == b"CONNECT" && self.protocol.is_none() {
            if self.scheme.is_some() || self.path.is_some() {
                return Err(MalformedMessage::Stream("CONNECT with :scheme or :path"));
            }
            let authority =
                authority.ok_or(MalformedMessage::Stream("CONNECT without :authority"))?;
            let port = split_port(authority).1;
            if port.is_none_or(<[u8]>::is_empty) {
                // RFC 9110 section 9.3.6.
                return Err(MalformedMessage::Status(400, "CONNECT without a port"));
            }
            head.set_request(method, authority, self.version);
        } else {
            self.usual_line(method, authority, head)?;
        }
        if let Some(authority) = authority {
            let host = without_userinfo(authority);
            head.as_fields_mut().push_lower(HeaderId::Host, b"host", host);
        }
        Ok(())
    }

    /// Whether `Host` names another host than `:authority` does, where the version forbids it.
    fn differs_from_authority(&self, host: &[u8]) -> bool {
        let scheme = self.text(self.scheme).unwrap_or_default();
        let usual = |text| without_default_port(scheme, text);
        self.version == Version::Http3
            && self
                .text(self.authority)
                .is_some_and(|it| !usual(it).eq_ignore_ascii_case(usual(host)))
    }

    /// Whether a host is valid: not empty and without user information (RFC 9113 section 8.3.1).
    fn may_be_host(&self, text: &[u8]) -> bool {
        let usual = !matches!(text, [] | [b':', ..]) && is_host(text);
        usual || self.tolerance.hosts && text.iter().all(u8::is_ascii_graphic)
    }

    /// Whether a byte is allowed in a path: visible ASCII except `#`, which begins a fragment.
    /// Bytes beyond ASCII are allowed, unlike in HTTP/1, because HAProxy accepts them and clients
    /// send them.
    fn fits(&self, byte: u8) -> bool {
        byte >= 0x7f || byte.is_ascii_graphic() && (self.tolerance.fragments || byte != b'#')
    }

    fn usual_line(
        &self,
        method: &[u8],
        authority: Option<&[u8]>,
        head: &mut Head,
    ) -> Result<(), MalformedMessage> {
        let path = self.text(self.path).ok_or(MalformedMessage::Stream("no :path"))?;
        let scheme = self.text(self.scheme).ok_or(MalformedMessage::Stream("no :scheme"))?;
        let asterisk = path == b"*" && method == b"OPTIONS";
        if !asterisk && (path.first() != Some(&b'/') || !path.iter().all(|byte| self.fits(*byte))) {
            return Err(MalformedMessage::Stream("invalid :path"));
        }
        if path.contains(&0x7f) {
            return Err(MalformedMessage::Status(400, "invalid :path"));
        }
        if !is_scheme(scheme) {
            return Err(MalformedMessage::Status(400, "invalid :scheme"));
        }
        let method = match self.text(self.protocol) {
            Some(_) if method != b"CONNECT" => {
                return Err(MalformedMessage::Stream(":protocol without CONNECT"));
            }
            Some(protocol) if !fields::is_method(protocol) => {
                return Err(MalformedMessage::Stream("invalid :protocol"));
            }
            Some(protocol) if upgrade::carries_requests(protocol) => {
                return Err(MalformedMessage::Status(
                    501,
                    "CONNECT to a protocol with requests in it",
                ));
            }
            Some(_) => b"GET",
            None => method,
        };
        match authority {
            Some(authority) if !asterisk => {
                head.set_request_target(method, scheme, authority, path, self.version);
            }
            _ => head.set_request_of_scheme(method, scheme, path, self.version),
        }
        Ok(())
    }

    /// Ends the list. `key` makes a key for websocket requests, which have none in HTTP/2.
    ///
    /// # Errors
    /// The list is not a valid request. The decoder is in step: the connection may continue.
    pub fn finish(
        &mut self,
        head: &mut Head,
        key: impl FnOnce() -> websocket::Key,
    ) -> Result<RequestInfo, MalformedMessage> {
        if self.trouble.is_none() && !self.begun {
            self.trouble = self.start_line(head).err();
        }
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        if !self.cookie.is_empty() {
            head.as_fields_mut().push_lower(HeaderId::Cookie, b"cookie", &self.cookie);
        }
        if let Some(protocol) = self.text(self.protocol) {
            head.push(b"connection", b"upgrade");
            head.push(b"upgrade", protocol);
            if protocol.eq_ignore_ascii_case(b"websocket") {
                head.set(b"sec-websocket-key", &key());
            }
        }
        let extended = self.protocol.is_some();
        let connect = head.method_id() == Method::Connect || extended;
        Ok(RequestInfo { length: fields::content_length(head)?, connect, extended })
    }
}

/// An authority without the default port of the scheme (RFC 9110 section 4.2.3).
fn without_default_port<'a>(scheme: &[u8], authority: &'a [u8]) -> &'a [u8] {
    let default: &[u8] = match scheme {
        _ if scheme.eq_ignore_ascii_case(b"http") => b":80",
        _ if scheme.eq_ignore_ascii_case(b"https") => b":443",
        _ => return authority,
    };
    authority.strip_suffix(default).unwrap_or(authority)
}

fn is_scheme(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// The protocol that a request asks to upgrade to, if HTTP/2 can express it: GET without a body,
/// which the caller has to check. Protocols that carry requests are ignored (RFC 9110 section 7.8).
pub fn protocol(head: &Head) -> Option<&[u8]> {
    let asked = head.method_id() == Method::Get
        && head.by_id(HeaderId::Connection).any(|f| list::has_token(f.value, b"upgrade"));
    let names = asked.then(|| head.first(HeaderId::Upgrade))?.map(|field| field.value)?;
    upgrade::items(names).find(|name| upgrade::is_allowed(name))
}

/// Writes the header block of a request. `scheme` is that of the connection, for a target without
/// one; `extended`: an upgrade is written as an extended CONNECT.
pub fn encode(head: &Head, scheme: &[u8], extended: bool, out: &mut Vec<u8>) {
    let protocol = protocol(head).filter(|_| extended);
    let target = head.target();
    let method: &[u8] = if protocol.is_some() { b"CONNECT" } else { head.method() };
    match method {
        b"GET" => out.push(0x82),
        b"POST" => out.push(0x83),
        method => hpack::indexed_name(2, method, out),
    }
    let connect = method == b"CONNECT" && protocol.is_none();
    let named = target.authority().map(without_userinfo);
    // The authority of CONNECT includes the port, which `Host` may lack (RFC 9113 section 8.5).
    let authority = if connect { named.or(head.host()) } else { head.host().or(named) };
    if let Some(authority) = authority.filter(|text| !text.is_empty()) {
        hpack::indexed_name(1, authority, out);
    }
    if !connect {
        match head.scheme().unwrap_or(scheme) {
            b"http" => out.push(0x86),
            b"https" => out.push(0x87),
            scheme => hpack::indexed_name(6, scheme, out),
        }
        path(head, target, out);
    }
    if let Some(protocol) = protocol {
        hpack::field(HeaderId::Other, b":protocol", protocol, out);
    }
    let mut trailers = false;
    for field in head.fields() {
        let keyless = protocol.is_some() && field.id == HeaderId::SecWebSocketKey;
        if field.id == HeaderId::Te {
            trailers |= list::has_token(field.value, b"trailers");
        } else if !(fields::is_dropped(field.id) || keyless) {
            hpack::field(field.id, field.name, field.value, out);
        }
    }
    if trailers {
        // Only `trailers` is allowed in TE (RFC 9113 section 8.2.2).
        hpack::field(HeaderId::Te, b"te", b"trailers", out);
    }
}

fn path(head: &Head, target: Target<'_>, out: &mut Vec<u8>) {
    match target.path_and_query().unwrap_or_else(|| head.uri()) {
        // See RFC 9113 section 8.3.1.
        b"" if head.method_id() == Method::Options => hpack::indexed_name(4, b"*", out),
        b"" | b"/" => out.push(0x84),
        query @ [b'?', ..] => hpack::indexed_name(4, &[b"/", query].concat(), out),
        path => hpack::indexed_name(4, path, out),
    }
}
