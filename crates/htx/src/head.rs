//! One message head: start line and fields in one arena, reused without allocation. Codecs check
//! the syntax.

use std::ops::Range;

use crate::fields::{FieldRef, Fields, Runs};
use crate::header_id::HeaderId;
use crate::start::{Method, Version, reason};
use crate::target::{Target, without_userinfo};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Empty,
    Request,
    Response,
}

/// The head of a request or response. The start line is in the arena in HTTP/1 form, before the
/// first field, so that an unedited head is written in one piece.
#[derive(Clone, Debug, Default)]
pub struct Head {
    fields: Fields,
    kind: Kind,
    version: Version,
    method_id: Method,
    status: u16,
    /// The start line with its `\r\n`, in the arena.
    line: (u32, u32),
    method_len: u32,
    /// Length of the URI, or of the reason.
    text_len: u32,
    /// See [`Head::is_normalized`].
    normalized: bool,
    /// Scheme that the target does not show, in the arena.
    scheme: (u32, u32),
}

impl Head {
    /// Allocates this many bytes and fields in advance.
    pub fn with_capacity(bytes: usize, fields: usize) -> Self {
        Self { fields: Fields::with_capacity(bytes, fields), ..Self::default() }
    }

    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.kind = Kind::Empty;
        self.version = Version::Http11;
        self.method_id = Method::Other;
        self.status = 0;
        self.line = (0, 0);
        self.method_len = 0;
        self.text_len = 0;
        self.normalized = false;
        self.scheme = (0, 0);
    }

    /// Whether nothing was set since the last `clear`.
    pub fn is_empty(&self) -> bool {
        self.kind == Kind::Empty
    }

    /// Whether this is the head of a request.
    pub fn is_request(&self) -> bool {
        self.kind == Kind::Request
    }

    /// Whether this is the head of a response.
    pub fn is_response(&self) -> bool {
        self.kind == Kind::Response
    }

    /// The version that the peer announced.
    pub fn version(&self) -> Version {
        self.version
    }

    // ---- request line

    /// Starts a request head, or replaces its request line.
    pub fn set_request(&mut self, method: &[u8], uri: &[u8], version: Version) {
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        arena.extend_from_slice(method);
        arena.push(b' ');
        arena.extend_from_slice(uri);
        end_request_line(arena, version);
        self.kind = Kind::Request;
        self.version = version;
        self.method_id = Method::of(method);
        self.normalized = false;
        self.set_line(start, method.len(), uri.len());
    }

    /// Starts a request head whose target is absolute because its protocol (HTTP/2) names scheme
    /// and authority, not because the client uses a proxy: an HTTP/1 server gets only the path,
    /// unless the target is replaced (`is_normalized`) or its scheme is not http or https.
    pub fn set_request_target(
        &mut self,
        method: &[u8],
        scheme: &[u8],
        authority: &[u8],
        path: &[u8],
        version: Version,
    ) {
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        for part in [method, b" ", scheme, b"://", authority, path] {
            arena.extend_from_slice(part);
        }
        let uri_len = arena.len() - start - method.len() - 1;
        end_request_line(arena, version);
        self.kind = Kind::Request;
        self.version = version;
        self.method_id = Method::of(method);
        self.set_line(start, method.len(), uri_len);
        self.normalized = is_http(scheme);
    }

    /// Starts a request head with a scheme that the target does not show.
    pub fn set_request_of_scheme(
        &mut self,
        method: &[u8],
        scheme: &[u8],
        uri: &[u8],
        version: Version,
    ) {
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        arena.extend_from_slice(scheme);
        self.scheme = (start as u32, arena.len() as u32);
        self.set_request(method, uri, version);
    }

    /// The scheme of the target, else the one that the client's protocol named.
    pub fn scheme(&self) -> Option<&[u8]> {
        if let Target::Absolute { scheme, .. } = self.target() {
            return Some(scheme);
        }
        let (start, end) = (self.scheme.0 as usize, self.scheme.1 as usize);
        (start < end).then(|| &self.fields.arena()[start..end])
    }

    /// Scheme and authority of an absolute target, with the characters between them.
    fn origin(&self) -> &[u8] {
        let uri = self.uri();
        &uri[..origin_len(uri)]
    }

    /// The target without scheme and authority, as HTTP/1 servers get it; `None` if it is not
    /// normalized.
    pub fn origin_form(&self) -> Option<&[u8]> {
        self.normalized.then(|| &self.uri()[origin_len(self.uri())..])
    }

    /// Whether the target is absolute only because the client's protocol names scheme and
    /// authority.
    pub fn is_normalized(&self) -> bool {
        self.normalized
    }

    /// Starts a request head with a line in wire form: a method of this length, a space, the
    /// target, a space, the version's token and `\r\n`.
    ///
    /// The caller has checked the form.
    #[inline]
    pub fn begin_request(&mut self, line: &[u8], method_len: usize, version: Version) {
        debug_assert!(line[method_len..].starts_with(b" ") && line.ends_with(b"\r\n"));
        self.fields.begin(line);
        self.normalized = false;
        self.scheme = (0, 0);
        self.kind = Kind::Request;
        self.version = version;
        self.method_id = Method::of(&line[..method_len]);
        self.status = 0;
        let around = method_len + " HTTP/1.1\r\n".len() + 1;
        self.set_line(0, method_len, line.len() - around);
    }

    /// The method token as received; empty in a response.
    pub fn method(&self) -> &[u8] {
        &self.fields.arena()[self.method_range()]
    }

    /// The method as an enum, for comparisons.
    pub fn method_id(&self) -> Method {
        self.method_id
    }

    /// The request target as received; empty in a response.
    pub fn uri(&self) -> &[u8] {
        &self.fields.arena()[self.uri_range()]
    }

    /// Replaces the method of a request; does nothing to a response.
    pub fn set_method(&mut self, method: &[u8]) {
        if !self.is_request() {
            return;
        }
        let uri = self.uri_range();
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        arena.extend_from_slice(method);
        arena.push(b' ');
        arena.extend_from_within(uri.clone());
        end_request_line(arena, self.version);
        self.method_id = Method::of(method);
        self.set_line(start, method.len(), uri.len());
    }

    /// Replaces the target of a request; does nothing to a response.
    pub fn set_uri(&mut self, uri: &[u8]) {
        if !self.is_request() {
            return;
        }
        let method = self.method_range();
        self.normalized &= origin_len(uri) > 0 && uri.starts_with(self.origin());
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        arena.extend_from_within(method.clone());
        arena.push(b' ');
        arena.extend_from_slice(uri);
        end_request_line(arena, self.version);
        self.set_line(start, method.len(), uri.len());
    }

    /// The request target, parsed into its form.
    pub fn target(&self) -> Target<'_> {
        Target::parse(self.method_id, self.uri())
    }

    /// The path with its query, also of the absolute form; a target without a path unchanged.
    pub fn path_and_query(&self) -> &[u8] {
        self.target().path_and_query().unwrap_or_else(|| self.uri())
    }

    /// The path without the query, also of the absolute form; `None` if the target has none.
    pub fn path(&self) -> Option<&[u8]> {
        self.target().path()
    }

    /// The target's part after the question mark; `None` without one.
    pub fn query(&self) -> Option<&[u8]> {
        self.target().query()
    }

    /// The value of the first `Host` field.
    pub fn host(&self) -> Option<&[u8]> {
        self.first(HeaderId::Host).map(|f| f.value)
    }

    /// Host and port of the request: from the target if it has them (without user information),
    /// else from `Host`.
    pub fn authority(&self) -> Option<&[u8]> {
        self.target().authority().map(without_userinfo).or_else(|| self.host())
    }

    // ---- status line

    /// Starts a response head, or replaces its status line.
    pub fn set_response(&mut self, version: Version, status: u16, reason: &[u8]) {
        let arena = self.fields.arena_for_start_line();
        let start = arena.len();
        arena.extend_from_slice(version.h1_token().as_bytes());
        let digits = |n: u16| b'0' + (n % 10) as u8;
        arena.extend_from_slice(&[b' ', digits(status / 100), digits(status / 10), digits(status)]);
        arena.push(b' ');
        arena.extend_from_slice(reason);
        arena.extend_from_slice(b"\r\n");
        self.kind = Kind::Response;
        self.version = version;
        self.method_id = Method::Other;
        self.status = status;
        self.set_line(start, 0, reason.len());
    }

    /// Starts a response head with a line in wire form: the version's token, a space, `status` as
    /// three digits, a space, the reason and `\r\n`.
    ///
    /// The caller has checked the form.
    #[inline]
    pub fn begin_response(&mut self, line: &[u8], status: u16, version: Version) {
        debug_assert!(line.starts_with(version.h1_token().as_bytes()) && line.ends_with(b"\r\n"));
        self.fields.begin(line);
        self.kind = Kind::Response;
        self.version = version;
        self.method_id = Method::Other;
        self.status = status;
        self.set_line(0, 0, line.len() - "HTTP/1.1 200 \r\n".len());
    }

    /// The status code, 100 to 999; 0 in a request.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The reason phrase; empty in a request.
    pub fn reason(&self) -> &[u8] {
        &self.fields.arena()[self.reason_range()]
    }

    /// Replaces the status of a response, and its reason by the standard one; does nothing to a
    /// request.
    pub fn set_status(&mut self, status: u16) {
        if self.is_response() {
            self.set_response(self.version, status, reason(status).as_bytes());
        }
    }

    // ---- fields

    /// The live fields, in order.
    pub fn fields(&self) -> impl DoubleEndedIterator<Item = FieldRef<'_>> {
        self.fields.iter()
    }

    /// The fields as a [`Fields`].
    pub fn as_fields(&self) -> &Fields {
        &self.fields
    }

    /// The fields as a [`Fields`], for code that edits headers and trailers alike. To clear them,
    /// clear the head instead, because the start line is in the same arena.
    pub fn as_fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    /// The first field of a well-known header.
    #[inline]
    pub fn first(&self, id: HeaderId) -> Option<FieldRef<'_>> {
        self.fields.first(id)
    }

    /// The fields of a well-known header, in order.
    pub fn by_id(&self, id: HeaderId) -> impl DoubleEndedIterator<Item = FieldRef<'_>> {
        self.fields.by_id(id)
    }

    /// Whether a well-known header is present.
    #[inline]
    pub fn has(&self, id: HeaderId) -> bool {
        self.fields.has(id)
    }

    /// The value of the first field with this name, in any case.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.fields.get(name)
    }

    /// The fields with this name, in any case, in order.
    pub fn all<'a>(&'a self, name: &'a [u8]) -> impl DoubleEndedIterator<Item = FieldRef<'a>> {
        self.fields.all(name)
    }

    /// Appends a field; the name is stored in lower case.
    #[inline]
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.fields.push(name, value);
    }

    /// Removes all fields with this name, then appends one.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.fields.set(name, value);
    }

    /// Removes all fields with this name, in any case; returns their number.
    pub fn remove(&mut self, name: &[u8]) -> usize {
        self.fields.remove(name)
    }

    /// Removes all fields of a well-known header; returns their number.
    #[inline]
    pub fn remove_id(&mut self, id: HeaderId) -> usize {
        self.fields.remove_id(id)
    }

    /// Removes the field at an index; returns whether it was present.
    pub fn remove_at(&mut self, index: usize) -> bool {
        self.fields.remove_at(index)
    }

    /// Replaces the value of the field at an index, which keeps its place in the order; returns
    /// whether it was present.
    pub fn replace_value(&mut self, index: usize, value: &[u8]) -> bool {
        self.fields.replace_value(index, value)
    }

    // ---- writing out

    /// Start line and live lines as few contiguous pieces (HTTP/1 form, without the final empty
    /// line). An unedited head is one piece.
    pub fn runs(&self) -> Runs<'_> {
        self.fields.runs_after(self.line_range())
    }

    /// The live lines without the start line, as few contiguous pieces.
    pub fn field_runs(&self) -> Runs<'_> {
        self.fields.runs_behind(self.line_range())
    }

    /// The start line, with its `\r\n`.
    pub fn start_line(&self) -> &[u8] {
        &self.fields.arena()[self.line_range()]
    }

    /// Bytes that [`Head::runs`] yields: start line and live lines, without the final empty line.
    pub fn wire_len(&self) -> usize {
        self.line_range().len() + self.fields.wire_len()
    }

    /// Bytes of the arena in use, dead ones included.
    pub fn arena_used(&self) -> usize {
        self.fields.arena_used()
    }

    fn set_line(&mut self, start: usize, method_len: usize, text_len: usize) {
        let end = self.fields.arena().len();
        self.line = (start as u32, end as u32);
        self.method_len = method_len as u32;
        self.text_len = text_len as u32;
    }

    fn line_range(&self) -> Range<usize> {
        self.line.0 as usize..self.line.1 as usize
    }

    fn method_range(&self) -> Range<usize> {
        let start = self.line.0 as usize;
        start..start + self.method_len as usize
    }

    fn uri_range(&self) -> Range<usize> {
        if !self.is_request() {
            return 0..0;
        }
        let start = self.method_range().end + 1;
        start..start + self.text_len as usize
    }

    fn reason_range(&self) -> Range<usize> {
        if !self.is_response() {
            return 0..0;
        }
        let end = self.line.1 as usize - 2;
        end - self.text_len as usize..end
    }
}

/// Whether the scheme is http or https.
fn is_http(scheme: &[u8]) -> bool {
    scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https")
}

/// Length of `scheme://authority` at the front of a target; 0 without it.
fn origin_len(uri: &[u8]) -> usize {
    match Target::parse(Method::Other, uri) {
        Target::Absolute { scheme, authority, .. } => scheme.len() + 3 + authority.len(),
        _ => 0,
    }
}

fn end_request_line(arena: &mut Vec<u8>, version: Version) {
    arena.push(b' ');
    arena.extend_from_slice(version.h1_token().as_bytes());
    arena.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
