//! The kinds of rule sets: the keywords that begin their rules.

use sample::Side;

/// The rule sets of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSetKind {
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
    /// `quic-initial`
    QuicInitial,
}

impl RuleSetKind {
    /// Its bit in an action's set of rule sets.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The words that begin its rules.
    pub fn keyword(self) -> &'static str {
        match self {
            RuleSetKind::TcpConnection => "tcp-request connection",
            RuleSetKind::TcpSession => "tcp-request session",
            RuleSetKind::TcpRequest => "tcp-request content",
            RuleSetKind::TcpResponse => "tcp-response content",
            RuleSetKind::HttpRequest => "http-request",
            RuleSetKind::HttpResponse => "http-response",
            RuleSetKind::HttpAfterResponse => "http-after-response",
            RuleSetKind::QuicInitial => "quic-initial",
        }
    }

    /// The message that its rules are about.
    pub(crate) fn side(self) -> Side {
        match self {
            RuleSetKind::TcpResponse
            | RuleSetKind::HttpResponse
            | RuleSetKind::HttpAfterResponse => Side::Response,
            _ => Side::Request,
        }
    }
}
