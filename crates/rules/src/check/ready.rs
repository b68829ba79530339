//! The checks of options for well-known protocols (`option redis-check` and its kin), as scripts.
//!
//! Where text and regular expressions say enough, a script is written as its lines would be.

use super::expect::Expect;
use super::pattern::Pattern;
use super::protocol::Protocol;
use super::send::Send;
use super::{Connect, Kind, Script, Step, StepAction, parse};
use sample::{ParseError, Parser};
use std::sync::Arc;

/// A protocol with the arguments of its option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready<'a> {
    /// `option redis-check`
    Redis,
    /// `option smtpchk`: the greeting sent, without its line end.
    Smtp(&'a str),
    /// `option mysql-check`: the user, and whether the server is older than 4.1.
    Mysql(Option<(&'a str, bool)>),
    /// `option pgsql-check`: the user.
    Pgsql(&'a str),
    /// `option ldap-check`
    Ldap,
    /// `option spop-check`
    Spop,
    /// `option ssl-hello-chk`
    SslHello,
}

/// The rest of an answer, without its line end.
const REST: &str = "%[res.payload(4,0),ltrim(' '),cut_crlf]";
/// The whole answer, without its line end.
const WHOLE: &str = "%[res.payload(0,0),cut_crlf]";

impl Ready<'_> {
    /// The script.
    ///
    /// # Errors
    /// No word of an option leads to an error.
    pub fn script(self, cx: &Parser<'_>) -> Result<Script, ParseError> {
        let mut steps = Writer { steps: Vec::new(), cx };
        match self {
            Self::Redis => steps.redis()?,
            Self::Smtp(hello) => steps.smtp(hello)?,
            Self::Mysql(user) => steps.mysql(user),
            Self::Pgsql(user) => steps.pgsql(user)?,
            Self::Ldap => {
                steps.send(LDAP_BIND.to_vec());
                steps.look(Protocol::LdapBind);
            }
            Self::Spop => {
                steps.send(SPOP_HELLO.to_vec());
                steps.look(Protocol::SpopHello);
            }
            Self::SslHello => steps.ssl_hello()?,
        }
        Ok(Script { kind: Kind::Ready, steps: steps.steps, ..Script::default() })
    }
}

/// An anonymous simple bind of LDAPv3, as message 1.
const LDAP_BIND: &[u8] = b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00";

/// HELLO of a health check: versions, the longest frame, no capabilities.
const SPOP_HELLO: &[u8] = b"\x00\x00\x00\x4e\x01\x00\x00\x00\x01\x00\x00\
    \x12supported-versions\x08\x032.0\
    \x0emax-frame-size\x03\xfc\xf0\x06\
    \x0ccapabilities\x08\x00\
    \x0bhealthcheck\x11";

/// QUIT of MySQL.
const MYSQL_QUIT: &[u8] = b"\x01\x00\x00\x00\x01";

/// Writes steps one after the other.
struct Writer<'c, 'p> {
    steps: Vec<Arc<Step>>,
    cx: &'c Parser<'p>,
}

impl Writer<'_, '_> {
    fn push(&mut self, action: StepAction) {
        let number = self.steps.len() + 1;
        self.steps.push(Arc::new(Step { number, comment: None, action }));
    }

    fn connect(&mut self) {
        // The connection closes without a reset, because some of these servers count broken
        // connections.
        self.push(StepAction::Connect(Connect { linger: true, ..Connect::usual() }));
    }

    fn send(&mut self, bytes: Vec<u8>) {
        self.push(StepAction::Send(Send::Bytes(bytes.into())));
    }

    fn look(&mut self, protocol: Protocol) {
        self.push(StepAction::Expect(Box::new(Expect::new(Pattern::Protocol(protocol)))));
    }

    fn line(&mut self, words: &[&str]) -> Result<(), ParseError> {
        let step = parse::parse_tcp_check(words, &self.steps, self.cx)?;
        self.steps.push(Arc::new(step));
        Ok(())
    }

    fn redis(&mut self) -> Result<(), ParseError> {
        self.send(b"*1\r\n$4\r\nPING\r\n".to_vec());
        self.line(&[
            "expect",
            "string",
            "+PONG\r\n",
            "error-status",
            "L7STS",
            "on-error",
            WHOLE,
            "on-success",
            "Redis server is ok",
        ])
    }

    fn smtp(&mut self, hello: &str) -> Result<(), ParseError> {
        const CODE: &str = "res.payload(0,3)";
        self.connect();
        self.line(&[
            "expect",
            "min-recv",
            "4",
            "error-status",
            "L7RSP",
            "on-error",
            WHOLE,
            "rstring",
            "^[0-9]{3}[ \\r]",
        ])?;
        let good = |least: &'static [&'static str], regex: &'static str| {
            let status = ["error-status", "L7STS", "on-error", REST, "on-success", REST];
            let mut words = vec!["expect"];
            words.extend_from_slice(least);
            words.extend(status);
            words.extend(["status-code", CODE, "rstring", regex]);
            words
        };
        self.line(&good(&["min-recv", "4"], "^2[0-9]{2}[ \\r]"))?;
        self.send(format!("{hello}\r\n").into_bytes());
        // The last line of an answer has no dash behind its code.
        self.line(&good(&[], "^2[0-9]{2}(-[^\\r]*\\r\\n2[0-9]{2})*[ \\r]"))?;
        self.send(b"QUIT\r\n".to_vec());
        self.line(&good(&["min-recv", "4"], "^2[0-9]{2}[- \\r]"))
    }

    fn mysql(&mut self, user: Option<(&str, bool)>) {
        self.connect();
        match user {
            None => self.look(Protocol::MysqlGreeting),
            Some((user, old)) => {
                // The request does not wait for the greeting and does not depend on it.
                self.send(mysql_hello(user.as_bytes(), old));
                self.look(Protocol::MysqlGreeting);
                self.look(Protocol::MysqlResult);
            }
        }
    }

    fn pgsql(&mut self, user: &str) -> Result<(), ParseError> {
        self.connect();
        let mut body = b"\x00\x03\x00\x00user\0".to_vec();
        body.extend_from_slice(user.as_bytes());
        body.extend_from_slice(b"\0\0");
        let len = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
        self.send([&len.to_be_bytes()[..], &body].concat());
        self.line(&[
            "expect",
            "min-recv",
            "5",
            "error-status",
            "L7RSP",
            "on-error",
            "%[res.payload(6,0)]",
            "!rstring",
            "^E",
        ])?;
        self.line(&[
            "expect",
            "min-recv",
            "9",
            "error-status",
            "L7STS",
            "on-success",
            "PostgreSQL server is ok",
            "on-error",
            "PostgreSQL unknown error",
            "rbinary",
            "^52000000[0-9A-F]{2}000000(00|02|03|04|05|06|07|09|0A)",
        ])
    }

    fn ssl_hello(&mut self) -> Result<(), ParseError> {
        self.send(ssl_hello());
        self.line(&[
            "expect",
            "min-recv",
            "5",
            "ok-status",
            "L6OK",
            "error-status",
            "L6RSP",
            "tout-status",
            "L6TOUT",
            "on-error",
            "%[str()]",
            "rbinary",
            "^1[56]",
        ])
    }
}

/// Authentication of a user without a password, then QUIT.
fn mysql_hello(user: &[u8], old: bool) -> Vec<u8> {
    let mut body = Vec::new();
    if old {
        // Capabilities and the longest packet.
        body.extend_from_slice(b"\x00\x80\x00\x00\x01");
    } else {
        // Capabilities, the longest packet, the character set, and what is reserved.
        body.extend_from_slice(b"\x00\x82\x00\x00\x00\x80\x00\x01\x21");
        body.extend_from_slice(&[0; 23]);
    }
    body.extend_from_slice(user);
    body.extend_from_slice(b"\0\0");
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    let mut hello = vec![len[0], len[1], len[2], 1];
    hello.append(&mut body);
    hello.extend_from_slice(MYSQL_QUIT);
    hello
}

/// The random field of a ClientHello, which nothing depends on.
const HELLO_RANDOM: &[u8; 32] = b"weir asks whether you speak SSL.";

/// A ClientHello of SSLv3 with every cipher of its days.
fn ssl_hello() -> Vec<u8> {
    let ciphers: Vec<u8> =
        (1..=0x1b).chain(0x2f..=0x3a).flat_map(|cipher: u16| cipher.to_be_bytes()).collect();
    let mut hello = b"\x16\x03\x00\x00\x79\x01\x00\x00\x75\x03\x00".to_vec();
    hello.extend_from_slice(HELLO_RANDOM);
    // No session; the ciphers; no compression.
    hello.push(0);
    hello.extend_from_slice(&(ciphers.len() as u16).to_be_bytes());
    hello.extend_from_slice(&ciphers);
    hello.extend_from_slice(b"\x01\x00");
    hello
}
