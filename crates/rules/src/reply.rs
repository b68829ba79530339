//! Local answers: `return`, `deny` and `http-error` arguments compiled (manual section 4.2).

use crate::error_file::ErrorFile;
use htx::{Head, Version, error_replies};
use sample::{Facts, LogFormat, LogStyle, ParseError, Parser};
use std::path::Path;
use stdx::leading_number;

/// Statuses that have an error file of their own.
pub const ERROR_FILE_STATUSES: [u16; 19] =
    [200, 400, 401, 403, 404, 405, 407, 408, 410, 413, 421, 422, 425, 429, 500, 501, 502, 503, 504];

/// The error files in effect for a transaction.
pub trait ErrorFiles {
    /// The answer for a status: of the named `http-errors` section, or of the proxy.
    fn find(&self, section: Option<&str>, status: u16) -> Option<ErrorAnswer<'_>>;
}

/// The answer configured for a status.
#[derive(Debug, Clone, Copy)]
pub enum ErrorAnswer<'a> {
    /// `errorfile`
    File(&'a ErrorFile),
    /// `http-error`
    Reply(&'a Reply),
}

/// No error file at all: the built-in replies remain.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoErrorFiles;

impl ErrorFiles for NoErrorFiles {
    fn find(&self, _: Option<&str>, _: u16) -> Option<ErrorAnswer<'_>> {
        None
    }
}

/// The outcome of rendering a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendered {
    /// Head and body are there to be sent.
    Send,
    /// Close without a byte: the error file is empty.
    Silent,
}

#[derive(Debug)]
enum Content {
    /// A head without a body.
    Empty,
    /// A payload with its type.
    Payload(Payload, Option<Box<[u8]>>),
    /// The error file for the status, of a section or of the proxy.
    Errors(Option<Box<str>>),
    /// An error file of its own.
    File(ErrorFile),
}

#[derive(Debug)]
enum Payload {
    Raw(Box<[u8]>),
    Format(LogFormat),
}

/// A compiled local answer.
#[derive(Debug)]
pub struct Reply {
    status: u16,
    content: Content,
    headers: Vec<(Box<[u8]>, LogFormat)>,
    /// Value of `www-authenticate`, or of `proxy-authenticate`, instead of any that the answer has.
    challenge: Option<Box<[u8]>>,
}

impl Reply {
    /// The proxy's answer for 401, which asks for a user and a password in `realm`; 407 if the
    /// client has sent the request to a proxy.
    pub fn challenge(realm: &str) -> Reply {
        let challenge = format!("Basic realm=\"{realm}\"").into_bytes().into();
        Reply { challenge: Some(challenge), ..Reply::error(401) }
    }

    /// The proxy's reply for `status`.
    pub fn error(status: u16) -> Reply {
        Reply { status, content: Content::Errors(None), headers: Vec::new(), challenge: None }
    }

    /// Parses the arguments of `return`, `deny` or `tarpit` up to `if` or `unless`; returns how
    /// many words they took. `default` is the status when none is named; a `deny` without content
    /// answers with the proxy's error file.
    pub fn parse(
        words: &[&str],
        default: u16,
        cx: &mut Parser<'_>,
    ) -> Result<(Reply, usize), ParseError> {
        let mut parts = Parts::default();
        let mut at = 0;
        while let Some(word) =
            words.get(at).filter(|w| !w.is_empty() && **w != "if" && **w != "unless")
        {
            at += parts.word(word, words, at, cx)?;
        }
        Ok((parts.finish(default, cx)?, at))
    }

    /// The status code; an error file may carry another.
    pub fn status(&self) -> u16 {
        match &self.content {
            Content::File(file) if !file.is_silent() => file.status(),
            _ => self.status,
        }
    }

    /// Parses the arguments of `http-error`, all of them. `errorfiles` and `default-errorfiles` are
    /// for the caller to resolve: [`Reply::section`], [`Reply::is_default`].
    pub fn parse_error(words: &[&str], cx: &mut Parser<'_>) -> Result<Reply, ParseError> {
        if !words.contains(&"status") {
            return Err(ParseError::new(0, "expects at least a status code"));
        }
        let (reply, used) = Reply::parse(words, 200, cx)?;
        if let Some(word) = words.get(used) {
            return Err(ParseError::new(used, format!("unexpected argument '{word}'")));
        }
        if !ERROR_FILE_STATUSES.contains(&reply.status) {
            let at = words.iter().position(|word| *word == "status").map_or(0, |at| at + 1);
            let message = format!("status code '{}' not handled", reply.status);
            return Err(ParseError::new(at, message));
        }
        Ok(reply)
    }

    /// The `http-errors` section of its answer.
    pub fn section(&self) -> Option<&str> {
        match &self.content {
            Content::Errors(section) => section.as_deref(),
            _ => None,
        }
    }

    /// Whether the reply refers to the proxy's error file, or else to the built-in one.
    pub fn is_default(&self) -> bool {
        matches!(self.content, Content::Errors(None))
    }

    /// The configured status, whatever an error file says.
    pub fn key(&self) -> u16 {
        self.status
    }

    /// The status of the response, whatever an error file says.
    pub fn status_for(&self, facts: &dyn Facts) -> u16 {
        if self.challenge.is_some() && facts.is_proxied() { 407 } else { self.status }
    }

    /// Makes `head` the reply's head and appends its body to `body`.
    pub fn render(
        &self,
        facts: &dyn Facts,
        errors: &dyn ErrorFiles,
        head: &mut Head,
        body: &mut Vec<u8>,
    ) -> Rendered {
        let Some(challenge) = &self.challenge else {
            return self.compose(self.status, facts, errors, head, body);
        };
        let status = self.status_for(facts);
        let name: &[u8] = if status == 407 { b"proxy-authenticate" } else { b"www-authenticate" };
        let rendered = self.compose(status, facts, errors, head, body);
        if rendered == Rendered::Send {
            head.set(name, challenge);
        }
        rendered
    }

    fn compose(
        &self,
        status: u16,
        facts: &dyn Facts,
        errors: &dyn ErrorFiles,
        head: &mut Head,
        body: &mut Vec<u8>,
    ) -> Rendered {
        match &self.content {
            Content::File(file) => send_file(file, head, body),
            Content::Errors(section) => match errors.find(section.as_deref(), status) {
                Some(ErrorAnswer::File(file)) => send_file(file, head, body),
                // An error answer that refers to the error files of its proxy would refer to
                // itself.
                Some(ErrorAnswer::Reply(reply)) if !matches!(reply.content, Content::Errors(_)) => {
                    reply.render(facts, errors, head, body)
                }
                _ => {
                    // A section without the status leaves nothing but the status.
                    let built_in = section.is_none();
                    if built_in && let Some(text) = error_replies::fill(status, head) {
                        body.extend_from_slice(text.as_bytes());
                        return Rendered::Send;
                    }
                    self.start(status, facts, head);
                    length(status, 0, head);
                    Rendered::Send
                }
            },
            Content::Empty => {
                self.start(status, facts, head);
                length(status, 0, head);
                Rendered::Send
            }
            Content::Payload(payload, kind) => {
                let before = body.len();
                match payload {
                    Payload::Raw(bytes) => body.extend_from_slice(bytes),
                    Payload::Format(format) => format.write(facts, body),
                }
                self.start(status, facts, head);
                length(status, body.len() - before, head);
                if let Some(kind) = kind.as_ref().filter(|_| body.len() > before) {
                    head.push(b"content-type", kind);
                }
                Rendered::Send
            }
        }
    }

    fn start(&self, status: u16, facts: &dyn Facts, head: &mut Head) {
        head.clear();
        head.set_response(Version::Http11, status, htx::start::reason(status).as_bytes());
        let mut value = Vec::new();
        for (name, format) in &self.headers {
            if let Some(literal) = format.as_literal() {
                head.push(name, literal);
                continue;
            }
            value.clear();
            format.write(facts, &mut value);
            // A field without a value is left out, as the suite has it.
            if !value.is_empty() {
                head.push(name, &value);
            }
        }
    }
}

/// 204 and 304 have no length (RFC 9110 section 8.6).
fn length(status: u16, len: usize, head: &mut Head) {
    if !matches!(status, 204 | 304) {
        head.push(b"content-length", len.to_string().as_bytes());
    }
}

fn send_file(file: &ErrorFile, head: &mut Head, body: &mut Vec<u8>) -> Rendered {
    if file.is_silent() {
        return Rendered::Silent;
    }
    file.render(head, body);
    Rendered::Send
}

/// Says so of a field that follows from the body.
fn warn_of(name: &str, cx: &Parser<'_>) {
    if ["content-length", "transfer-encoding"].iter().any(|it| name.eq_ignore_ascii_case(it)) {
        cx.warn(format!("header '{name}' always ignored by the http reply."));
    }
}

/// The arguments read so far.
#[derive(Default)]
struct Parts<'w> {
    status: Option<(usize, u16)>,
    /// `deny_status` gave the status: an error file is the body unless another one is given.
    wants_file: bool,
    kind: Option<&'w str>,
    content: Option<(&'w str, Content)>,
    headers: Vec<(Box<[u8]>, LogFormat)>,
}

impl<'w> Parts<'w> {
    /// Parses one argument; returns the number of its words.
    fn word(
        &mut self,
        word: &'w str,
        words: &[&'w str],
        at: usize,
        cx: &Parser<'_>,
    ) -> Result<usize, ParseError> {
        let value = |offset: usize, what: &str| {
            words
                .get(at + offset)
                .copied()
                .filter(|value| !value.is_empty())
                .ok_or_else(|| ParseError::new(at, format!("'{word}' expects {what}")))
        };
        match word {
            "deny_status" if self.status.is_some() => {
                Err(ParseError::new(at, "'deny_status' follows a status that is given"))
            }
            "status" | "deny_status" => {
                let text = value(1, "<status_code> as argument")?;
                let found = leading_number::number(text).filter(|it| (200..=599).contains(&it.0));
                let (status, odd) = found.ok_or_else(|| {
                    ParseError::new(at + 1, format!("Unexpected status code '{text}'"))
                })?;
                odd.into_iter().for_each(|odd| cx.warn(format!("'{word}' : {odd}")));
                self.status = Some((at + 1, status));
                self.wants_file |= word == "deny_status";
                Ok(2)
            }
            "content-type" => {
                self.kind = Some(value(1, "<ctype> as argument")?);
                Ok(2)
            }
            "hdr" => {
                const BOTH: &str = "<name> and <value> as arguments";
                let (name, text) = (value(1, BOTH)?, value(2, BOTH)?);
                let format = LogFormat::parse(text, LogStyle::Header, cx)
                    .map_err(|error| error.shifted(at + 2))?;
                warn_of(name, cx);
                self.headers.push((name.as_bytes().into(), format));
                Ok(3)
            }
            "default-errorfiles" => {
                self.content(word, Content::Errors(None), at)?;
                Ok(1)
            }
            "errorfiles" | "errorfile" | "file" | "lf-file" | "string" | "lf-string" => {
                let argument = value(1, "a value as argument")?;
                let content = content(word, argument, cx).map_err(|error| error.shifted(at + 1))?;
                self.content(word, content, at)?;
                Ok(2)
            }
            other => Err(ParseError::new(
                at,
                format!(
                    "expects 'status', 'content-type', 'default-errorfiles', 'errorfile', \
                     'errorfiles', 'file', 'lf-file', 'string', 'lf-string' or 'hdr', or either 'if' \
                     or 'unless' followed by a condition but found '{other}'"
                ),
            )),
        }
    }

    fn content(&mut self, word: &'w str, content: Content, at: usize) -> Result<(), ParseError> {
        if let Some((before, _)) = self.content {
            let message = format!("unexpected '{word}' argument, '{before}' already defined");
            return Err(ParseError::new(at, message));
        }
        self.content = Some((word, content));
        Ok(())
    }

    fn finish(self, default: u16, cx: &mut Parser<'_>) -> Result<Reply, ParseError> {
        let status = self.status.map_or(default, |(_, status)| status);
        let known = ERROR_FILE_STATUSES.contains(&status);
        let mut content = match self.content {
            Some((_, content)) => content,
            None if default != 200
                && (known || self.wants_file)
                && self.headers.is_empty()
                && self.kind.is_none() =>
            {
                Content::Errors(None)
            }
            None => Content::Empty,
        };
        match &mut content {
            Content::Payload(payload, kind) => {
                *kind = self.kind.map(|kind| sample::word::to_bytes(kind).into());
                let empty = matches!(payload, Payload::Raw(bytes) if bytes.is_empty());
                if matches!(status, 204 | 304) && !empty {
                    let message = format!("No body expected for {status} responses.");
                    return Err(ParseError::new(0, message));
                }
                if kind.is_none() && !empty {
                    let message =
                        "a content type must be defined when non-empty payload is configured";
                    return Err(ParseError::new(0, message));
                }
            }
            Content::Errors(section) if !known => {
                let word = self.status.map_or(0, |(word, _)| word);
                let files = if section.is_some() { "errorfiles" } else { "default-errorfiles" };
                let message = format!(
                    "status code '{status}' not handled by default with '{files}' argument."
                );
                return Err(ParseError::new(word, message));
            }
            other => {
                if let Some(kind) = self.kind {
                    let reason = match other {
                        Content::Empty => "neither errorfile nor payload defined",
                        _ => "it is an error file",
                    };
                    cx.warn(format!(
                        "content-type '{kind}' ignored by the http reply because {reason}"
                    ));
                }
            }
        }
        Ok(Reply { status, content, headers: self.headers, challenge: None })
    }
}

fn content(word: &str, argument: &str, cx: &Parser<'_>) -> Result<Content, ParseError> {
    let read = || {
        (cx.shared.files)(Path::new(argument))
            .map_err(|_| ParseError::new(0, format!("error opening file '{argument}'")))
    };
    let format = |text: &str| LogFormat::parse(text, LogStyle::Header, cx).map(Payload::Format);
    Ok(match word {
        "errorfiles" => Content::Errors(Some(argument.into())),
        "errorfile" => {
            let file = ErrorFile::parse(&read()?);
            Content::File(file.map_err(|message| {
                ParseError::new(0, format!("error file '{argument}' : {message}"))
            })?)
        }
        "file" => Content::Payload(Payload::Raw(read()?.into()), None),
        "lf-file" => {
            let text = String::from_utf8_lossy(&read()?).into_owned();
            Content::Payload(format(&text).map_err(|e| ParseError::new(0, e.message))?, None)
        }
        "lf-string" => Content::Payload(format(argument)?, None),
        _ => Content::Payload(Payload::Raw(sample::word::to_bytes(argument).into()), None),
    })
}
