//! FastCGI parameters from a request head (manual section 10.1, table of parameters).

use htx::{FieldRef, Head, HeaderId, Version};
use wire::fcgi::{Pairs, pairs};

/// Request fields that an application does not get as `HTTP_*`, unless `pass-header` names them.
const HIDDEN: [HeaderId; 9] = [
    HeaderId::Authorization,
    HeaderId::ProxyAuthorization,
    HeaderId::Connection,
    HeaderId::KeepAlive,
    HeaderId::ProxyConnection,
    HeaderId::Te,
    HeaderId::Trailer,
    HeaderId::TransferEncoding,
    HeaderId::Upgrade,
];

const PREFIX: &[u8] = b"HTTP_";

/// A request that has no valid parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// Together they are larger than allowed.
    TooLarge,
    /// The decoded path has a NUL, or with `path-info` a line feed.
    Path,
    /// The decoded path leaves the document root by its `..` segments.
    OutsideRoot,
}

/// The parts of an `fcgi-app` section that parameters depend on.
#[derive(Clone, Copy, Debug)]
pub struct Application<'a> {
    /// `docroot`.
    pub docroot: &'a [u8],
    /// `index`, appended to a script name that ends with a slash; empty without one.
    pub index: &'a [u8],
    /// Names of `pass-header` whose conditions hold, as encoded pairs without values.
    pub passed: &'a [u8],
    /// Names and values of `set-param` whose conditions hold, as encoded pairs. They replace
    /// parameters of the same name.
    pub set: &'a [u8],
}

/// The pairs of a list that we have encoded.
fn listed(encoded: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    Pairs::new(encoded).map_while(Result::ok)
}

impl Application<'_> {
    fn index_behind(&self, script: &[u8]) -> &[u8] {
        if script.ends_with(b"/") { self.index } else { b"" }
    }
}

/// The script of a request, in its decoded path (see [`decode_path`]).
#[derive(Clone, Copy, Debug)]
pub enum ScriptPath<'a> {
    /// Without `path-info`: the whole path.
    Whole(&'a [u8]),
    /// The expression of `path-info` does not match: the whole path.
    Unmatched(&'a [u8]),
    /// The captures of `path-info`.
    Matched {
        /// First capture.
        script: &'a [u8],
        /// Second capture.
        path_info: Option<&'a [u8]>,
    },
}

/// Facts about a request that its head does not have.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// Its script.
    pub script: ScriptPath<'a>,
    /// Address of the client.
    pub remote_addr: Option<&'a [u8]>,
    /// Port of the client.
    pub remote_port: Option<&'a [u8]>,
    /// `SERVER_NAME` of a request without host.
    pub server_name: &'a [u8],
    /// `SERVER_PORT`.
    pub server_port: &'a [u8],
    /// Authentication scheme and user, if the proxy has authenticated the client.
    pub auth: Option<(&'a [u8], &'a [u8])>,
    /// Whether the client's connection uses TLS.
    pub tls: bool,
    /// Bytes of the body, which the application reads from its input.
    pub content_length: u64,
    /// `SERVER_SOFTWARE`.
    pub software: &'a [u8],
}

/// Appends a path with its `%XX` decoded; other percent signs stay.
pub fn decode_path(path: &[u8], out: &mut Vec<u8>) {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut rest = path;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let decoded = match (byte, behind) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        if let Some((high, low)) = decoded {
            out.push(high << 4 | low);
            rest = &behind[2..];
        } else {
            out.push(byte);
        }
    }
}

/// Appends the parameters of a request in HAProxy's order, at most `max` bytes.
///
/// # Errors
/// The request has no valid parameters; `out` is as before.
pub fn encode(
    head: &Head,
    app: &Application<'_>,
    facts: &RequestFacts<'_>,
    max: usize,
    out: &mut Vec<u8>,
) -> Result<(), ParamsError> {
    let (script, path_info) = split_script(facts.script)?;
    let start = out.len();
    let mut params = Params { app, out, end: start + max, is_full: false };
    params.fields(head);
    params.authentication_and_set(facts);
    params.paths(head, script, path_info);
    params.addresses(head, facts);
    params.files(script, path_info);
    params.content(head, facts);
    if params.is_full {
        out.truncate(start);
        return Err(ParamsError::TooLarge);
    }
    Ok(())
}

type Script<'a> = (&'a [u8], Option<&'a [u8]>);

fn split_script(script: ScriptPath<'_>) -> Result<Script<'_>, ParamsError> {
    let is_checked = !matches!(script, ScriptPath::Whole(_));
    let parts = match script {
        ScriptPath::Whole(path) | ScriptPath::Unmatched(path) => (path, None),
        ScriptPath::Matched { script, path_info } => (script, path_info),
    };
    for part in [parts.0, parts.1.unwrap_or_default()] {
        if part.contains(&0) || (is_checked && part.contains(&b'\n')) {
            return Err(ParamsError::Path);
        }
        if leaves_root(part) {
            return Err(ParamsError::OutsideRoot);
        }
    }
    Ok(parts)
}

/// Whether a path leaves its root by `..` segments.
fn leaves_root(path: &[u8]) -> bool {
    let mut depth = 0usize;
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return true,
            },
            _ => depth += 1,
        }
    }
    false
}

/// The target as the client has sent it; that of HTTP/2 without scheme and authority, which are
/// fields of their own there.
fn request_uri(head: &Head) -> &[u8] {
    match head.version() {
        Version::Http2 | Version::Http3 => head.path_and_query(),
        _ => head.uri(),
    }
}

/// The encoder of one request's parameters.
struct Params<'a> {
    app: &'a Application<'a>,
    out: &'a mut Vec<u8>,
    end: usize,
    is_full: bool,
}

impl Params<'_> {
    /// Appends a parameter whose name is `prefix` and `name`.
    fn put(&mut self, name: &[u8], prefix: &[u8], parts: &[&[u8]]) {
        let len = parts.iter().map(|part| part.len()).sum();
        let name_len = prefix.len() + name.len();
        if self.is_full || self.out.len() + pairs::encoded_len(name_len, len) > self.end {
            self.is_full = true;
            return;
        }
        self.is_full = !pairs::put_parts([prefix, name], parts, self.out);
    }

    /// Appends a parameter unless `set-param` has one of this name.
    fn default(&mut self, name: &[u8], parts: &[&[u8]]) {
        if !listed(self.app.set).any(|(set, _)| set == name) {
            self.put(name, b"", parts);
        }
    }

    fn fields(&mut self, head: &Head) {
        for field in head.fields() {
            if !self.passes(&field) {
                continue;
            }
            let start = self.out.len();
            self.put(field.name, PREFIX, &[field.value]);
            if self.is_full {
                return;
            }
            let name = self.out.len() - field.value.len() - PREFIX.len() - field.name.len();
            let name = name..self.out.len() - field.value.len();
            for byte in &mut self.out[name.clone()][PREFIX.len()..] {
                let is_kept = byte.is_ascii_alphanumeric();
                *byte = if is_kept { byte.to_ascii_uppercase() } else { b'_' };
            }
            let own = &self.out[name];
            if listed(self.app.set).any(|(set, _)| set == own) {
                self.out.truncate(start);
            }
        }
    }

    /// Whether a field becomes a parameter. `Proxy` never does: applications take `HTTP_PROXY` for
    /// the address of a proxy.
    fn passes(&self, field: &FieldRef<'_>) -> bool {
        let is_own = matches!(field.id, HeaderId::ContentType | HeaderId::ContentLength);
        if is_own || field.name.eq_ignore_ascii_case(b"proxy") {
            return false;
        }
        let mut passed = listed(self.app.passed);
        let mut is_passed = || passed.any(|(name, _)| name.eq_ignore_ascii_case(field.name));
        !HIDDEN.contains(&field.id) || is_passed()
    }

    fn authentication_and_set(&mut self, facts: &RequestFacts<'_>) {
        if let Some((scheme, _)) = facts.auth {
            self.default(b"AUTH_TYPE", &[scheme]);
        }
        for (name, value) in listed(self.app.set) {
            self.put(name, b"", &[value]);
        }
        if let Some((_, user)) = facts.auth {
            self.default(b"REMOTE_USER", &[user]);
        }
    }

    fn paths(&mut self, head: &Head, script: &[u8], path_info: Option<&[u8]>) {
        let app = self.app;
        self.default(b"GATEWAY_INTERFACE", &[b"CGI/1.1"]);
        self.default(b"DOCUMENT_ROOT", &[app.docroot]);
        self.default(b"SCRIPT_NAME", &[script, app.index_behind(script)]);
        if let Some(path_info) = path_info {
            self.default(b"PATH_INFO", &[path_info]);
        }
        self.default(b"REQUEST_URI", &[request_uri(head)]);
        self.default(b"REQUEST_METHOD", &[head.method()]);
        if let Some(query) = head.query().filter(|query| !query.is_empty()) {
            self.default(b"QUERY_STRING", &[query]);
        }
    }

    fn addresses(&mut self, head: &Head, facts: &RequestFacts<'_>) {
        self.default(b"SERVER_NAME", &[head.host().unwrap_or(facts.server_name)]);
        self.default(b"SERVER_PORT", &[facts.server_port]);
        self.default(b"SERVER_PROTOCOL", &[head.version().token().as_bytes()]);
        if facts.tls {
            self.default(b"HTTPS", &[b"on"]);
        }
        if let Some(address) = facts.remote_addr {
            self.default(b"REMOTE_ADDR", &[address]);
        }
        if let Some(port) = facts.remote_port {
            self.default(b"REMOTE_PORT", &[port]);
        }
    }

    fn files(&mut self, script: &[u8], path_info: Option<&[u8]>) {
        let app = self.app;
        self.default(b"SCRIPT_FILENAME", &[app.docroot, script, app.index_behind(script)]);
        if let Some(path_info) = path_info {
            self.default(b"PATH_TRANSLATED", &[app.docroot, path_info]);
        }
    }

    fn content(&mut self, head: &Head, facts: &RequestFacts<'_>) {
        if let Some(field) = head.first(HeaderId::ContentType) {
            self.default(b"CONTENT_TYPE", &[field.value]);
        }
        let mut digits = [0; 20];
        let length = crate::length::format_decimal(facts.content_length, &mut digits);
        self.default(b"CONTENT_LENGTH", &[length]);
        self.default(b"SERVER_SOFTWARE", &[facts.software]);
    }
}
