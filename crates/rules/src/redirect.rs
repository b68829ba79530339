//! `redirect`: the location it builds and the reply around it (manual section 4.2).

use htx::target::Target;
use htx::{Head, HeaderId, Version};
use sample::{Facts, LogFormat, LogStyle, ParseError, Parser};
use stdx::leading_number;

/// How the location is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RedirectKind {
    Location,
    Prefix,
    Scheme,
}

/// A compiled redirection.
#[derive(Debug)]
pub struct Redirect {
    kind: RedirectKind,
    target: LogFormat,
    code: u16,
    drop_query: bool,
    append_slash: bool,
    ignore_empty: bool,
    cookie: Option<Box<[u8]>>,
}

/// Words that may follow `redirect`, for messages.
const EXPECTED: &str = "expects 'code', 'prefix', 'location', 'scheme', 'set-cookie', 'clear-cookie', \
                        'drop-query', 'ignore-empty' or 'append-slash'";

impl Redirect {
    /// Parses the words behind `redirect` up to `if` or `unless`; returns how many they were. With
    /// `formatted`, targets are log formats (in `http-request`), else plain texts.
    pub fn parse(
        words: &[&str],
        formatted: bool,
        cx: &Parser<'_>,
    ) -> Result<(Redirect, usize), ParseError> {
        let mut target = None;
        let mut redirect = Redirect {
            kind: RedirectKind::Location,
            target: LogFormat::literal(b""),
            code: 302,
            drop_query: false,
            append_slash: false,
            ignore_empty: false,
            cookie: None,
        };
        let mut at = 0;
        while let Some(word) = words.get(at).copied().filter(|word| !word.is_empty()) {
            let value = |at: usize| {
                words
                    .get(at + 1)
                    .copied()
                    .filter(|value| !value.is_empty())
                    .ok_or_else(|| ParseError::new(at, format!("'{word}': missing argument")))
            };
            match word {
                "if" | "unless" => break,
                "location" | "prefix" | "scheme" => {
                    target = Some((kind(word), at + 1, value(at)?));
                    at += 1;
                }
                "code" => {
                    redirect.code = code(value(at)?, cx).map_err(|error| error.shifted(at + 1))?;
                    at += 1;
                }
                "set-cookie" => {
                    redirect.cookie = Some(cookie(value(at)?, "; path=/;"));
                    at += 1;
                }
                "clear-cookie" => {
                    redirect.cookie = Some(cookie(value(at)?, "; path=/; Max-Age=0;"));
                    at += 1;
                }
                "drop-query" => redirect.drop_query = true,
                "append-slash" => redirect.append_slash = true,
                "ignore-empty" => redirect.ignore_empty = true,
                other => return Err(ParseError::new(at, format!("{EXPECTED} (was '{other}')"))),
            }
            at += 1;
        }
        let Some((kind, word, text)) = target else {
            let message = "redirection type expected ('prefix', 'location', or 'scheme')";
            return Err(ParseError::new(at.saturating_sub(1), message));
        };
        redirect.kind = kind;
        redirect.target = if formatted {
            LogFormat::parse(text, LogStyle::Header, cx).map_err(|error| error.shifted(word))?
        } else {
            LogFormat::literal(&sample::word::to_bytes(text))
        };
        Ok((redirect, at))
    }

    /// Whether the redirect needs no data of the request, which is gone when the response arrives.
    pub(crate) fn names_location(&self) -> bool {
        self.kind == RedirectKind::Location
    }

    /// The status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Appends the location to `out`.
    pub fn location(&self, facts: &dyn Facts, out: &mut Vec<u8>) {
        let request = facts.request();
        match self.kind {
            RedirectKind::Location => {
                self.target.write(facts, out);
                return;
            }
            RedirectKind::Prefix => {
                // A sole slash adds nothing in front of the path.
                if self.target.as_literal() != Some(b"/") {
                    self.target.write(facts, out);
                }
            }
            RedirectKind::Scheme => {
                self.target.write(facts, out);
                out.extend_from_slice(b"://");
                out.extend_from_slice(request.and_then(Head::host).unwrap_or_default());
            }
        }
        let path = match request.map(Head::target) {
            // The relative target would become a part of the host.
            Some(Target::Relative(_)) | None => b"",
            Some(target) => target.path_and_query().unwrap_or_default(),
        };
        let path = if path.is_empty() { b"/" } else { path };
        let path = if self.drop_query {
            path.split(|byte| *byte == b'?').next().unwrap_or_default()
        } else {
            path
        };
        out.extend_from_slice(path);
        if self.append_slash && !path.ends_with(b"/") {
            out.push(b'/');
        }
    }

    /// Whether an empty location makes the rule be skipped.
    pub(crate) fn may_be_skipped(&self) -> bool {
        self.ignore_empty && self.kind == RedirectKind::Location
    }

    /// Whether the rule is to be skipped, its location being empty.
    pub(crate) fn skipped(&self, facts: &dyn Facts, scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        self.location(facts, scratch);
        scratch.is_empty()
    }

    /// Makes `head` the reply; it has no body. `scratch` is emptied first.
    pub fn render(&self, facts: &dyn Facts, head: &mut Head, scratch: &mut Vec<u8>) {
        scratch.clear();
        self.location(facts, scratch);
        head.clear();
        // As HAProxy's redirections say, though its other answers of 302 do not.
        let reason = if self.code == 302 { "Found" } else { htx::start::reason(self.code) };
        head.set_response(Version::Http11, self.code, reason.as_bytes());
        head.push(b"content-length", b"0");
        head.push(HeaderId::Location.name().as_bytes(), scratch);
        if matches!(self.code, 302 | 303 | 307) {
            head.push(b"cache-control", b"no-cache");
        }
        if let Some(cookie) = &self.cookie {
            head.push(b"set-cookie", cookie);
        }
    }
}

fn cookie(word: &str, attributes: &str) -> Box<[u8]> {
    [&*sample::word::to_bytes(word), attributes.as_bytes()].concat().into()
}

fn kind(word: &str) -> RedirectKind {
    match word {
        "prefix" => RedirectKind::Prefix,
        "scheme" => RedirectKind::Scheme,
        _ => RedirectKind::Location,
    }
}

fn code(text: &str, cx: &Parser<'_>) -> Result<u16, ParseError> {
    match leading_number::number(text) {
        Some((code @ (301 | 302 | 303 | 307 | 308), odd)) => {
            odd.into_iter().for_each(|odd| cx.warn(format!("'code' : {odd}")));
            Ok(code)
        }
        _ => Err(ParseError::new(
            0,
            format!(
                "'code': unsupported HTTP code '{text}' (must be one of 301, 302, 303, 307 or 308)"
            ),
        )),
    }
}
