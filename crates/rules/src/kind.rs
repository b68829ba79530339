//! The kinds of rule sets: the keywords that begin their rules.

use sample::Side;

/// The rule sets of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruleset {
    /// `tcp-request connection`
    TcpConnection,
    /// `tcp-request session`
    TcpSession,
    /// `tcp-request content`
    TcpRequest,
    /// `tcp-response content`
    TcpResponse,
    /// `http-request`
    HttpRequest,
    /// `http-response`
    HttpResponse,
    /// `http-after-response`
    HttpAfterResponse,
}

impl Ruleset {
    /// Its bit in an action's set of rule sets.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The words that begin its rules.
    pub fn keyword(self) -> &'static str {
        match self {
            Ruleset::TcpConnection => "tcp-request connection",
            Ruleset::TcpSession => "tcp-request session",
            Ruleset::TcpRequest => "tcp-request content",
            Ruleset::TcpResponse => "tcp-response content",
            Ruleset::HttpRequest => "http-request",
            Ruleset::HttpResponse => "http-response",
            Ruleset::HttpAfterResponse => "http-after-response",
        }
    }

    /// The message that its rules are about.
    pub(crate) fn side(self) -> Side {
        match self {
            Ruleset::TcpResponse | Ruleset::HttpResponse | Ruleset::HttpAfterResponse => {
                Side::Response
            }
            _ => Side::Request,
        }
    }
}
