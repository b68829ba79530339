//! `tcp-check` and `http-check` lines into steps.

use super::expect::{Expect, Status};
use super::http::{HttpSend, RequestLine};
use super::pattern::{HeaderPattern, Pattern, TextPattern};
use super::send::{Send, from_hex};
use super::{Assign, Connect, ConnectPort, ConnectProtocol, Kind, Step, StepAction};
use sample::args::SetVar;
use sample::regex::Regex;
use sample::vars::Scope;
use sample::{Expr, LogFormat, LogStyle, ParseError, Parser, VarName, word};
use std::sync::Arc;
use stdx::leading_number;

/// A `tcp-check` line, from the word after it on; `before` are the steps of the lines before it.
///
/// # Errors
/// In HAProxy's words where it has any.
pub fn parse_tcp_check(
    words: &[&str],
    before: &[Arc<Step>],
    cx: &Parser<'_>,
) -> Result<Step, ParseError> {
    parse(Kind::Tcp, words, before, cx)
}

/// An `http-check` line, as above; `disable-on-404` and `send-state` are not steps.
///
/// # Errors
/// In HAProxy's words where it has any.
pub fn parse_http_check(
    words: &[&str],
    before: &[Arc<Step>],
    cx: &Parser<'_>,
) -> Result<Step, ParseError> {
    parse(Kind::Http, words, before, cx)
}

/// The words of a line, read from the left.
struct Words<'w, 'c> {
    kind: Kind,
    words: &'w [&'w str],
    at: usize,
    comment: Option<Box<str>>,
    cx: &'w Parser<'c>,
}

type Parsed<T> = Result<T, ParseError>;

fn directive(kind: Kind) -> &'static str {
    if kind == Kind::Http { "http-check" } else { "tcp-check" }
}

/// The steps that a line may be, for messages.
fn choices(kind: Kind) -> &'static str {
    match kind {
        Kind::Http => {
            "'disable-on-404', 'send-state', 'comment', 'connect', 'send', 'expect', \
             'set-var-fmt(*)', 'set-var(*)', 'unset-var(*)'."
        }
        _ => {
            "'comment', 'connect', 'send', 'send-lf', 'send-binary', 'send-binary-lf', 'expect', \
             'set-var-fmt(*)', 'set-var(*)', 'unset-var(*)'."
        }
    }
}

fn parse(kind: Kind, words: &[&str], before: &[Arc<Step>], cx: &Parser<'_>) -> Parsed<Step> {
    let name = words.first().copied().unwrap_or_default();
    let class = name.split('(').next().unwrap_or(name);
    let mut input = Words { kind, words, at: 1, comment: None, cx };
    let action = match (class, kind) {
        ("connect", _) => input.connect().map(StepAction::Connect),
        ("send", Kind::Http) => input.http_send().map(StepAction::HttpSend),
        ("send" | "send-lf" | "send-binary" | "send-binary-lf", _) if kind != Kind::Http => {
            input.send(class).map(StepAction::Send)
        }
        ("expect", _) => input.expect().map(|expect| StepAction::Expect(Box::new(expect))),
        ("comment", _) => input.comment_step(),
        ("set-var" | "set-var-fmt" | "unset-var", _) => input.assign(class).map(StepAction::Assign),
        _ => {
            let message = format!("only supports {} but got '{name}'", choices(kind));
            return Err(ParseError::new(0, message).context(format!("'{}' ", directive(kind))));
        }
    };
    let context = format!("'{} {class}' : ", directive(kind));
    let action = action.map_err(|error| error.context(&context))?;
    let step = Step { number: before.len() + 1, comment: input.comment, action };
    in_order(kind, &step, before).map_err(|error| error.context(&context))?;
    Ok(step)
}

/// Steps have an order: connect, send, expect.
fn in_order(kind: Kind, step: &Step, before: &[Arc<Step>]) -> Parsed<()> {
    let first = before.iter().find(|step| step.acts());
    if step.is_connect() && first.is_some_and(|first| !first.is_connect()) {
        let message = "first step MUST also be a 'connect', optionally preceded by a 'set-var', \
                       an 'unset-var' or a 'comment', when there is a 'connect' step in the \
                       tcp-check ruleset.";
        return Err(ParseError::new(0, message));
    }
    let Some(last) = before.iter().rev().find(|step| step.acts()).filter(|_| kind == Kind::Http)
    else {
        return Ok(());
    };
    let (what, missing) = match (step, last) {
        (step, last) if step.is_connect() && !last.is_expect() => ("connect", "expect"),
        (step, last) if step.is_send() && !last.is_connect() => ("send", "connect"),
        (step, last) if step.is_expect() && last.is_connect() => ("expect", "send"),
        _ => return Ok(()),
    };
    let number = step.number;
    let message =
        format!("unable to add http-check {what} rule at step {number} (missing {missing} rule).");
    Err(ParseError::new(0, message))
}

impl<'w> Words<'w, '_> {
    fn peek(&self) -> Option<&'w str> {
        self.words.get(self.at).copied().filter(|word| !word.is_empty())
    }

    fn next(&mut self) -> Option<&'w str> {
        let word = self.peek();
        self.at += usize::from(word.is_some());
        word
    }

    /// An error about the word before the next one.
    fn fail(&self, message: impl std::fmt::Display) -> ParseError {
        ParseError::new(self.at.saturating_sub(1), message)
    }

    /// The argument of `name`; it may be empty.
    fn value(&mut self, name: &str, what: &str) -> Parsed<&'w str> {
        let value = self.words.get(self.at).copied();
        self.at += 1;
        value.ok_or_else(|| self.fail(format!("'{name}' expects {what} as argument.")))
    }

    /// The argument of `name`, which must not be empty.
    fn text(&mut self, name: &str) -> Parsed<&'w str> {
        let text = self.value(name, "a string")?;
        match text.is_empty() {
            true => Err(self.fail(format!("'{name}' expects a string as argument."))),
            false => Ok(text),
        }
    }

    fn note(&mut self) -> Parsed<()> {
        self.comment = Some(self.value("comment", "a string")?.into());
        Ok(())
    }

    fn format(&self, text: &str) -> Parsed<LogFormat> {
        LogFormat::parse(text, LogStyle::Header, self.cx).map_err(|error| {
            let why = format!("'{text}' invalid log-format string ({error}).");
            ParseError::at(self.at.saturating_sub(1), error.offset, why)
        })
    }

    fn regex(&self, text: &str, ignore_case: bool) -> Parsed<Regex> {
        Regex::from_bytes(&word::to_bytes(text), ignore_case).map_err(|error| self.fail(error))
    }

    fn expr(&mut self, what: &str) -> Parsed<Expr> {
        let (start, mut used) = (self.at, 0);
        let rest = self.words.get(start..).unwrap_or_default();
        let expr = Expr::parse(rest, &mut used, self.cx).map_err(|error| {
            error.shifted(start).context(format!("error detected while parsing {what} : "))
        })?;
        self.at += used;
        Ok(expr)
    }

    /// HAProxy silently ignores the words behind the last one that counts.
    fn ignores_the_rest(&mut self) {
        while let Some(word) = self.next() {
            let what = self.words[0];
            let message = format!("'{word}' is ignored behind the last argument of '{what}'");
            self.cx.hint(self.at - 1, message);
        }
    }

    fn comment_step(&mut self) -> Parsed<StepAction> {
        let text = self.next().ok_or_else(|| self.fail("expects a string as argument."))?;
        self.comment = Some(text.into());
        self.ignores_the_rest();
        Ok(StepAction::Comment)
    }

    fn connect(&mut self) -> Parsed<Connect> {
        let mut connect = Connect::default();
        while let Some(name) = self.next() {
            match name {
                "default" => connect.as_server = true,
                "port" => connect.port = Some(self.port()?),
                "addr" => self.address(&mut connect)?,
                "send-proxy" => connect.send_proxy = true,
                "linger" => connect.linger = true,
                "comment" => self.note()?,
                "via-socks4" => connect.via_socks4 = true,
                "proto" => connect.protocol = self.protocol()?,
                "ssl" => connect.ssl = true,
                "sni" => connect.sni = Some(self.value("sni", "a string")?.into()),
                "alpn" => {
                    let names = self.value("alpn", "a comma-delimited ALPN protocol list")?;
                    connect.alpn = Some(self.protocols(names)?);
                }
                _ => {
                    let message = format!(
                        "expects 'comment', 'port', 'addr', 'send-proxy', 'via-socks4', 'linger', \
                         'ssl', 'sni', 'alpn', 'proto' or 'default' but got '{name}' as argument."
                    );
                    return Err(self.fail(message));
                }
            }
        }
        Ok(connect)
    }

    /// Protocol names joined by commas, in wire format (RFC 7301 section 3.1).
    fn protocols(&self, names: &str) -> Parsed<Box<[u8]>> {
        let mut wire = Vec::new();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            let length = u8::try_from(name.len()).ok();
            let length = length.ok_or_else(|| {
                self.fail(format!("'{names}' contains an ALPN name that is too long."))
            })?;
            wire.push(length);
            wire.extend_from_slice(name.as_bytes());
        }
        Ok(wire.into())
    }

    /// The protocol of the connection, for requests.
    fn protocol(&mut self) -> Parsed<Option<ConnectProtocol>> {
        let name = self.next().unwrap_or_default();
        let of_http = match name {
            "none" => false,
            "h1" | "h2" | "fcgi" => true,
            "" => return Err(self.fail("'proto' expects a MUX protocol as argument.")),
            _ => return Err(self.fail(format!("'proto' : unknown MUX protocol '{name}'."))),
        };
        let kind = directive(self.kind);
        if of_http != (self.kind == Kind::Http) {
            return Err(self.fail(format!("'proto' : invalid MUX protocol '{name}' for {kind}.")));
        }
        match name {
            "none" => Ok(None),
            "fcgi" => Ok(Some(ConnectProtocol::Fcgi)),
            "h2" => Ok(Some(ConnectProtocol::H2)),
            _ => Ok(Some(ConnectProtocol::H1)),
        }
    }

    fn port(&mut self) -> Parsed<ConnectPort> {
        let text = self.peek().ok_or_else(|| {
            self.fail("expects a port number or a sample fetch expression as argument.")
        })?;
        if let Ok(port) = text.parse::<i64>() {
            self.at += 1;
            let port = u16::try_from(port).ok().filter(|port| *port > 0);
            let port = port.ok_or_else(|| self.fail("expects a valid TCP port (from 1 to 65535)"));
            return port.map(ConnectPort::Fixed);
        }
        self.expr("port expression").map(ConnectPort::Computed)
    }

    /// An address, perhaps with a port.
    fn address(&mut self, connect: &mut Connect) -> Parsed<()> {
        let text = self.value("addr", "an IP address or hostname")?;
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if text.parse::<std::net::IpAddr>().is_err() => (host, Some(port)),
            _ => (text, None),
        };
        if let Some(port) = port {
            let number = port.parse::<u16>().ok().filter(|port| *port > 0);
            let number = number.ok_or_else(|| self.fail(format!("invalid port '{port}'")))?;
            connect.port.get_or_insert(ConnectPort::Fixed(number));
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse().ok().or_else(|| (self.cx.shared.names)(host));
        let unknown = || self.fail(format!("could not resolve address '{host}'."));
        connect.address = Some(address.ok_or_else(unknown)?);
        Ok(())
    }

    fn send(&mut self, class: &str) -> Parsed<Send> {
        let expected = match class {
            "send-binary" | "send-binary-lf" => "expects a binary string as argument.",
            _ => "expects a string as argument.",
        };
        let text = self.next().ok_or_else(|| self.fail(expected))?;
        let send = match class {
            "send" => Send::Bytes(word::to_bytes(text).into()),
            "send-lf" => Send::Format(self.format(text)?),
            "send-binary" => Send::Bytes(self.hex(text)?),
            _ => Send::HexFormat(self.format(text)?),
        };
        match self.next() {
            None => Ok(send),
            Some("comment") => self.note().map(|()| send),
            Some(other) => Err(self.fail(format!("expects 'comment', but got '{other}'."))),
        }
    }

    fn hex(&self, text: &str) -> Parsed<Box<[u8]>> {
        let wrong = || self.fail(format!("'{text}' invalid binary string."));
        from_hex(text.as_bytes()).map(Into::into).ok_or_else(wrong)
    }

    fn http_send(&mut self) -> Parsed<HttpSend> {
        let mut line = RequestLine::default();
        let mut host = None;
        while let Some(name) = self.next() {
            match name {
                "meth" => line.method = Some(self.text(name)?.into()),
                "ver" => line.version = Some(self.version(name)?),
                "uri" => {
                    let uri = self.text(name)?;
                    line.uri = Some(Arc::new(LogFormat::literal(&word::to_bytes(uri))));
                }
                "uri-lf" => {
                    let uri = self.text(name)?;
                    line.uri = Some(Arc::new(self.format(uri)?));
                }
                "body" => {
                    let body = self.text(name)?;
                    line.body = Some(Arc::new(LogFormat::literal(&word::to_bytes(body))));
                }
                "body-lf" => {
                    let body = self.text(name)?;
                    line.body = Some(Arc::new(self.format(body)?));
                }
                "hdr" => {
                    let header = self.value(name, "a name and a value")?.to_ascii_lowercase();
                    let value = self.value(name, "a name and a value")?;
                    if value.is_empty() {
                        let message = "'hdr' expects <name> and <value> as arguments.";
                        return Err(self.fail(message.to_owned()));
                    }
                    if let Some(before) = host.filter(|_| header == "host") {
                        let name = self.words[self.at - 2];
                        let defined = format!("already defined (previous value is '{before}')");
                        return Err(self.fail(format!("'{name}' header {defined}.")));
                    }
                    host = host.or_else(|| (header == "host").then_some(value));
                    line.headers.push((header.into(), Arc::new(self.format(value)?)));
                }
                "comment" => self.note()?,
                _ => {
                    let message = format!(
                        "expects 'comment', 'meth', 'uri', 'uri-lf', 'ver', 'hdr', 'body' or \
                         'body-lf' but got '{name}' as argument."
                    );
                    return Err(self.fail(message));
                }
            }
        }
        Ok(HttpSend(line))
    }

    fn version(&mut self, name: &str) -> Parsed<Box<str>> {
        // Sent as it is, because a server may expect another word.
        self.text(name).map(Into::into)
    }

    /// `set-var(name[,cond...]) expr`, `set-var-fmt(...) fmt`, `unset-var(name)`.
    fn assign(&mut self, class: &str) -> Parsed<Assign> {
        let name = self.words[0];
        let inner = name[class.len()..].strip_prefix('(').and_then(|name| name.strip_suffix(')'));
        let missing = "the variable's name is expected in parentheses: scope.name";
        let inner = inner.ok_or_else(|| ParseError::new(0, missing))?;
        let place = class.len() + 1;
        let target = SetVar::parse(inner.split(','));
        let target = target.map_err(|error| ParseError::at(0, place, error))?;
        if !is_in_scope(&target.name) {
            let scopes = "a check has only variables of the scopes 'proc', 'sess' and 'check'";
            return Err(ParseError::at(0, place, scopes));
        }
        let assign = match class {
            "set-var" => Assign::Set(target, self.expr("expression")?),
            "set-var-fmt" => {
                let text = self.next().ok_or_else(|| self.fail("expects a log-format string"))?;
                Assign::SetFormat(target, self.format(text)?)
            }
            _ => Assign::Unset(target.name),
        };
        self.ignores_the_rest();
        Ok(assign)
    }

    fn expect(&mut self) -> Parsed<Expect> {
        let mut expect = Expect::new(Pattern::Status(Vec::new()));
        let mut found = None;
        while found.is_none() {
            let Some(name) = self.next() else {
                return Err(self.fail("expects at least a matching pattern as arguments."));
            };
            if !self.option(name, &mut expect)? {
                let (negated, word) = match name.strip_prefix('!') {
                    Some("") => (true, self.next().unwrap_or_default()),
                    Some(word) => (true, word),
                    None => (false, name),
                };
                expect.negated = negated;
                found = Some(self.pattern(word)?);
            }
        }
        if let Some(pattern) = found {
            expect.pattern = pattern;
        }
        while let Some(name) = self.next() {
            if !self.option(name, &mut expect)? {
                return Err(self.fail(format!("cannot handle unexpected argument '{name}'.")));
            }
        }
        Ok(expect)
    }

    /// An option of `expect`; false if `name` is none.
    fn option(&mut self, name: &str, expect: &mut Expect) -> Parsed<bool> {
        use Status::{
            L4Connection, L4Ok, L4Timeout, L6Ok, L6Response, L6Timeout, L7Ok, L7OkConditional,
            L7Response, L7Status, L7Timeout,
        };
        match name {
            "min-recv" => {
                let text = self.value(name, "an integer")?;
                let found = leading_number::number::<i64>(text);
                let found = found.filter(|it| (-1..=i64::from(i32::MAX)).contains(&it.0));
                let wrong = "'min-recv' expects -1 or an integer from 0 to INT_MAX.";
                let (number, odd) = found.ok_or_else(|| self.fail(wrong))?;
                odd.into_iter().for_each(|odd| self.cx.warn(format!("'{name}' : {odd}")));
                expect.min_recv = usize::try_from(number).ok();
            }
            "comment" => self.note()?,
            "ok-status" => expect.ok = self.status(name, &[L7Ok, L7OkConditional, L6Ok, L4Ok])?,
            "error-status" => {
                let allowed = [L7OkConditional, L7Response, L7Status, L6Response, L4Connection];
                expect.error = Some(self.status(name, &allowed)?);
            }
            "tout-status" => {
                expect.timeout = self.status(name, &[L7Timeout, L6Timeout, L4Timeout])?;
            }
            "on-success" | "on-error" => {
                let text = self.value(name, "a string")?;
                let format = Some(self.format(text)?);
                match name {
                    "on-success" => expect.on_success = format,
                    _ => expect.on_error = format,
                }
            }
            "status-code" => expect.code = Some(self.expr("status-code expression")?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn status(&mut self, name: &str, allowed: &[Status]) -> Parsed<Status> {
        let text = self.value(name, "a string")?;
        let names = Status::NAMES.iter().filter(|(_, status)| allowed.contains(status));
        let found = names.clone().find(|(word, _)| word.eq_ignore_ascii_case(text));
        found.map(|(_, status)| *status).ok_or_else(|| {
            let names: Vec<_> = names.map(|(word, _)| format!("'{word}'")).collect();
            self.fail(format!("'{name}' only supports {} (got '{text}').", names.join(", ")))
        })
    }

    fn pattern(&mut self, word: &str) -> Parsed<Pattern> {
        let http = self.kind == Kind::Http;
        Ok(match word {
            "string" => Pattern::Text(word::to_bytes(self.value(word, "a pattern")?).into()),
            "rstring" => {
                let text = self.value(word, "a pattern")?;
                Pattern::Regex(self.regex(text, false)?)
            }
            "string-lf" => {
                let text = self.value(word, "a pattern")?;
                Pattern::Format(self.format(text)?)
            }
            "binary" if !http => {
                let text = self.value(word, "a pattern")?;
                Pattern::Binary(self.hex(text)?)
            }
            "rbinary" if !http => {
                let text = self.value(word, "a pattern")?;
                Pattern::BinaryRegex(self.regex(text, true)?)
            }
            "binary-lf" if !http => {
                let text = self.value(word, "a pattern")?;
                Pattern::HexFormat(self.format(text)?)
            }
            "status" if http => Pattern::Status(self.statuses()?),
            "rstatus" if http => {
                let text = self.value(word, "a pattern")?;
                Pattern::StatusRegex(self.regex(text, false)?)
            }
            "hdr" | "fhdr" if http => Pattern::Header(self.header(word == "fhdr")?),
            _ => return Err(self.no_pattern(word)),
        })
    }

    fn no_pattern(&self, word: &str) -> ParseError {
        let supported = match self.kind {
            Kind::Http => {
                "min-recv, [!]string', '[!]rstring', '[!]string-lf', '[!]status', '[!]rstatus', \
                 [!]hdr, [!]fhdr or comment"
            }
            _ => {
                "min-recv, '[!]binary', '[!]string', '[!]rstring', '[!]rbinary', '[!]string-lf', \
                 '[!]binary-lf' or comment"
            }
        };
        self.fail(format!("'only supports {supported} but got '{word}' as argument."))
    }

    fn statuses(&mut self) -> Parsed<Vec<(u16, u16)>> {
        let list = self
            .next()
            .ok_or_else(|| self.fail("'status' expects a list of status codes as argument."))?;
        let bad = list.char_indices().find(|(_, c)| !c.is_ascii_digit() && !matches!(c, ',' | '-'));
        if let Some((at, c)) = bad {
            let message = format!("invalid character '{c}' in the list of status codes");
            return Err(ParseError::at(self.at - 1, at, message));
        }
        // As with HAProxy, numbers that no status has are not refused, nor are empty parts.
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(if text.is_empty() { 0 } else { u16::MAX }))
        };
        let range = |part: &str| {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (low, high) = (number(low)?, number(high)?);
            (low <= high).then_some((low, high))
        };
        let wrong = |part: &str| self.fail(format!("invalid status code or range '{part}'"));
        list.split(',').map(|part| range(part).ok_or_else(|| wrong(part))).collect()
    }

    fn header(&mut self, full: bool) -> Parsed<HeaderPattern> {
        let name = match self.next() {
            Some(word @ ("name" | "name-lf")) => self.text_pattern(word, true)?,
            other => {
                let got = other.unwrap_or_default();
                return Err(self.fail(format!("expects 'name' or 'name-lf', but got '{got}'.")));
            }
        };
        let value = match self.peek() {
            Some(word @ ("value" | "value-lf")) => {
                self.at += 1;
                Some(self.text_pattern(word, false)?)
            }
            _ => None,
        };
        Ok(HeaderPattern { full, name, value })
    }

    /// `[ -m <method> ] <pattern>`; words that end in `-lf` take a format.
    fn text_pattern(&mut self, word: &str, any_case: bool) -> Parsed<TextPattern> {
        let format = word.ends_with("-lf");
        let method = match self.peek() {
            Some("-m") => {
                self.at += 1;
                self.value("-m", "a matching method")?
            }
            _ => "str",
        };
        let text = self.value(word, "a pattern")?;
        if method == "reg" {
            if format {
                return Err(self.fail("log-format string is not supported with 'reg' matching."));
            }
            return self.regex(text, any_case).map(TextPattern::Regex);
        }
        let text = match format {
            true => self.format(text)?,
            false => LogFormat::literal(&word::to_bytes(text)),
        };
        Ok(match method {
            "str" => TextPattern::Exact(text),
            "beg" => TextPattern::Begin(text),
            "end" => TextPattern::End(text),
            "sub" => TextPattern::Within(text),
            _ => {
                let message = format!(
                    "-m flag only supports 'str', 'beg', 'end', 'sub' or 'reg' (got '{method}')"
                );
                return Err(ParseError::new(self.at - 2, message));
            }
        })
    }
}

/// Whether checks, which have no streams, have variables of this scope.
fn is_in_scope(name: &VarName) -> bool {
    matches!(name.scope(), Scope::Proc | Scope::Sess | Scope::Check)
}
