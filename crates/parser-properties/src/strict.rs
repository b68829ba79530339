//! A strict HTTP/1 parser (RFC 9112), as a reference for the product.
//!
//! The parser shares no code with the product, parses whole messages only, and accepts beyond the
//! grammar only what `docs/http1-strictness.md` lists as forwarded: control characters and bytes
//! above 127 in values and reason phrases, visible ASCII in targets, a missing `Host`, chunks in
//! HTTP/1.0.

type Field = (Vec<u8>, Vec<u8>);

/// A valid message.
#[derive(Debug, Default)]
pub struct Message {
    /// Method, target and version; or version, status and reason.
    pub start: [Vec<u8>; 3],
    /// Header fields; names in lower case.
    pub fields: Vec<Field>,
    /// The body without its framing.
    pub body: Vec<u8>,
    /// Trailer fields.
    pub trailers: Vec<Field>,
    /// Bytes of the whole message.
    pub len: usize,
}

impl Message {
    /// The values of the fields with this name.
    pub fn values(&self, name: &str) -> Vec<&[u8]> {
        let named = self.fields.iter().filter(|field| field.0 == name.as_bytes());
        named.map(|field| field.1.as_slice()).collect()
    }
}

/// How the end of a body is determined.
enum Length {
    None,
    Bytes(usize),
    Chunks,
    Close,
}

/// Bytes that are consumed from the front.
struct Input<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    /// A line that ends with CRLF and contains no other CR, LF or NUL.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = &self.all[self.at..];
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = &rest[..end];
        self.at += end + 2;
        (!line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))).then_some(line)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.all[self.at..].get(..count)?;
        self.at += count;
        Some(taken)
    }

    fn fields(&mut self) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(fields);
            }
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = (&line[..colon], trim(&line[colon + 1..]));
            if !is_token(name) {
                return None;
            }
            fields.push((name.to_ascii_lowercase(), value.to_vec()));
        }
    }

    fn chunks(&mut self) -> Option<(Vec<u8>, Vec<Field>)> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            let size = std::str::from_utf8(&line[..digits]).ok()?;
            let size = usize::from_str_radix(size, 16).ok().filter(|size| size >> 52 == 0)?;
            if !are_extensions(&line[digits..]) {
                return None;
            }
            if size == 0 {
                return Some((body, self.fields()?));
            }
            body.extend_from_slice(self.bytes(size)?);
            if self.bytes(2)? != b"\r\n" {
                return None;
            }
        }
    }

    fn body(&mut self, message: &mut Message, length: Length) -> Option<()> {
        match length {
            Length::None => {}
            Length::Bytes(count) => message.body = self.bytes(count)?.to_vec(),
            Length::Chunks => (message.body, message.trailers) = self.chunks()?,
            Length::Close => {
                message.body = self.all[self.at..].to_vec();
                self.at = self.all.len();
            }
        }
        message.len = self.at;
        Some(())
    }
}

/// The request at the front of the input, if it is complete and valid.
pub fn request(input: &[u8]) -> Option<Message> {
    let mut rest = Input { all: input, at: 0 };
    let words: Vec<_> = rest.line()?.split(|byte| *byte == b' ').collect();
    let [method, target, version] = words[..] else { return None };
    if !is_token(method) || !is_target(method, target) || !is_version(version) {
        return None;
    }
    let start = [method, target, version].map(<[u8]>::to_vec);
    let mut message = Message { start, fields: rest.fields()?, ..Message::default() };
    let hosts = message.values("host");
    if hosts.len() > 1 || !hosts.iter().all(|host| is_host(host, false)) {
        return None;
    }
    let length = announced(&message)?.unwrap_or(Length::None);
    rest.body(&mut message, length)?;
    let framing: [&[u8]; 3] = [b"content-length", b"transfer-encoding", b"host"];
    let misleads = message.trailers.iter().any(|field| framing.contains(&field.0.as_slice()));
    (!misleads).then_some(message)
}

/// The response to a GET at the front of the input, if it is complete and valid. The end of the
/// input is the end of the connection.
pub fn response(input: &[u8]) -> Option<Message> {
    let mut rest = Input { all: input, at: 0 };
    let mut words = rest.line()?.splitn(3, |byte| *byte == b' ');
    let (version, status, reason) = (words.next()?, words.next()?, words.next()?);
    let [b'1'..=b'9', b, c] = status else { return None };
    if !is_version(version) || !b.is_ascii_digit() || !c.is_ascii_digit() {
        return None;
    }
    let start = [version, status, reason].map(<[u8]>::to_vec);
    let mut message = Message { start, fields: rest.fields()?, ..Message::default() };
    let length = announced(&message)?;
    let bodiless = status[0] == b'1' || matches!(status, b"204" | b"304");
    let length = if bodiless { Length::None } else { length.unwrap_or(Length::Close) };
    rest.body(&mut message, length)?;
    Some(message)
}

/// The announced length; the outer `None`: the fields contradict each other.
fn announced(message: &Message) -> Option<Option<Length>> {
    let (lengths, codings) =
        (message.values("content-length"), message.values("transfer-encoding"));
    match (&lengths[..], &codings[..]) {
        ([], []) => Some(None),
        ([length], []) if length.iter().all(u8::is_ascii_digit) => {
            let number = std::str::from_utf8(length).ok()?.parse::<u64>().ok()?;
            Some(Some(Length::Bytes(usize::try_from(number).ok()?)))
        }
        ([], [coding]) if coding.eq_ignore_ascii_case(b"chunked") => Some(Some(Length::Chunks)),
        _ => None,
    }
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

fn is_token(text: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(fits)
}

fn is_version(text: &[u8]) -> bool {
    matches!(text, b"HTTP/1.0" | b"HTTP/1.1")
}

fn is_target(method: &[u8], target: &[u8]) -> bool {
    let visible = target.iter().all(|byte| (0x21..0x7f).contains(byte) && *byte != b'#');
    let (connect, options) = (method == b"CONNECT", method == b"OPTIONS");
    let Ok(text) = std::str::from_utf8(target) else { return false };
    visible
        && match text.split_once("://") {
            _ if connect => {
                let port = text.rsplit_once(':').map_or("", |(_, port)| port);
                is_authority(text) && !port.is_empty() && !port.ends_with(']')
            }
            _ if text.starts_with('/') => true,
            // The HTTP/2 preface has this form, too.
            _ if text == "*" => options || method == b"PRI",
            Some((scheme, rest)) => {
                let letter = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
                let others = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
                letter && others && is_authority(rest.split(['/', '?']).next().unwrap_or(""))
            }
            None => false,
        }
}

/// `[ userinfo "@" ] host [ ":" port ]` with a host that is not empty.
fn is_authority(text: &str) -> bool {
    let (user, host) = text.split_once('@').unwrap_or(("", text));
    let user = user.bytes().filter(|byte| *byte != b':').collect::<Vec<_>>();
    is_name(&user) && is_host(host.as_bytes(), true) && !host.is_empty() && !host.starts_with(':')
}

/// `host [ ":" port ]`; the host may be empty. In `Host`, rules and servers check whether a port is
/// a number.
fn is_host(text: &[u8], numeric: bool) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let (host, port) = match text.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        Some((literal, rest)) => {
            let (address, zone) = literal.split_once("%25").unwrap_or((literal, "0"));
            let right = address.parse::<std::net::Ipv6Addr>().is_ok();
            if !right || zone.is_empty() || !is_name(zone.as_bytes()) {
                return false;
            }
            ("", rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let digits = |port: &str| match numeric {
        true => port.bytes().all(|byte| byte.is_ascii_digit()),
        false => port.split(':').all(|part| is_name(part.as_bytes())),
    };
    is_name(host.as_bytes()) && (port.is_empty() || port.strip_prefix(':').is_some_and(digits))
}

/// A registered name without the comma, which would turn a `Host` into a list.
fn is_name(text: &[u8]) -> bool {
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        let right = match byte {
            b'%' => (0..2).all(|_| rest.next().is_some_and(u8::is_ascii_hexdigit)),
            byte => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+;=".contains(byte),
        };
        if !right {
            return false;
        }
    }
    true
}

/// `*( BWS ";" BWS name [ BWS "=" BWS value ] )`, with trailing blanks.
fn are_extensions(text: &[u8]) -> bool {
    let mut rest = trim(text);
    while let [b';', more @ ..] = rest {
        rest = trim(more);
        rest = trim(&rest[token_len(rest)..]);
        if let [b'=', value @ ..] = rest {
            let value = trim(value);
            rest = match value {
                [b'"', inside @ ..] => match quoted_len(inside) {
                    Some(len) => trim(&inside[len..]),
                    None => return false,
                },
                value => trim(&value[token_len(value)..]),
            };
        }
    }
    rest.is_empty()
}

fn token_len(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_token(&[**byte])).count()
}

/// Length of a quoted string with its last mark.
fn quoted_len(inside: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match inside.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            byte if byte.is_ascii_control() && *byte != b'\t' => return None,
            _ => at += 1,
        }
        if matches!(inside.get(at - 1), Some(byte) if byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
    }
}
