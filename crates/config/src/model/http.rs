//! HTTP settings of a proxy (section 4.2).
use crate::diag::Place;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Connection mode of HTTP (section 4); the stronger of frontend and backend wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionMode {
    /// KAL: both sides stay open.
    #[default]
    KeepAlive,
    /// SCL: `option http-server-close`.
    ServerClose,
    /// CLO: `option httpclose`.
    Close,
}

/// `http-reuse`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpReuse {
    /// A server connection serves one client connection.
    Never,
    /// The first request of a client connection takes no idle connection.
    #[default]
    Safe,
    /// As safe, unless the idle connection was reused before.
    Aggressive,
    /// Any idle connection.
    Always,
}

/// `retry-on`: what is tried once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryOn {
    /// Requests that could not be sent.
    pub conn_failure: bool,
    /// Requests whose connection ended without a word.
    pub empty_response: bool,
    /// Requests whose answer makes no sense.
    pub junk_response: bool,
    /// Requests that were not answered in time.
    pub response_timeout: bool,
    /// Requests that a server would not take before its handshake was over.
    pub early_rejected: bool,
    /// Requests answered with one of these statuses.
    pub statuses: Vec<u16>,
}

impl RetryOn {
    /// Nothing.
    pub fn never() -> Self {
        Self {
            conn_failure: false,
            empty_response: false,
            junk_response: false,
            response_timeout: false,
            early_rejected: false,
            statuses: Vec::new(),
        }
    }
}

impl Default for RetryOn {
    fn default() -> Self {
        Self { conn_failure: true, ..Self::never() }
    }
}

/// `option redispatch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redispatch {
    /// 0: off. N > 0: every Nth retry. N < 0: on the Nth retry before the last one (-1 is the
    /// last).
    pub interval: i32,
}

/// `option http-restrict-req-hdr-names`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderNames {
    /// Names with other characters are passed on.
    #[default]
    Preserve,
    /// They are removed.
    Delete,
    /// Their request is answered with 403.
    Reject,
}

/// `option forwardfor`, `option originalto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardFor {
    /// `except`: clients for which nothing is added.
    pub except: Option<Network>,
    /// `header`: its name, `X-Forwarded-For` by default.
    pub header: String,
    /// `if-none`: only when the header is absent.
    pub if_none: bool,
}

/// An address and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// First address, with the host bits cleared.
    pub address: IpAddr,
    /// Length of the prefix.
    pub bits: u8,
}

impl Network {
    /// True when `address` is inside. Families never mix.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                self.bits == 0 || (a.to_bits() ^ b.to_bits()) >> (32 - u32::from(self.bits)) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                self.bits == 0 || (a.to_bits() ^ b.to_bits()) >> (128 - u32::from(self.bits)) == 0
            }
            _ => false,
        }
    }
}

/// The side that sets the persistence cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CookieMode {
    /// The server.
    #[default]
    Server,
    /// `rewrite`: the server, and its value is replaced.
    Rewrite,
    /// `insert`: the proxy.
    Insert,
    /// `prefix`: the server, and its value is completed.
    Prefix,
}

/// `cookie`: persistence by a cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    /// Name of the cookie.
    pub name: String,
    /// The side that sets it.
    pub mode: CookieMode,
    /// `indirect`: hidden from servers, and not set again when the client has it.
    pub indirect: bool,
    /// `nocache`: replies that set it are not cacheable.
    pub nocache: bool,
    /// `postonly`: inserted into responses to POST alone.
    pub post_only: bool,
    /// `preserve`: a server may set it itself.
    pub preserve: bool,
    /// `dynamic`: servers without a value get one computed from their address.
    pub dynamic: bool,
    /// `maxidle`, seconds; 0 is no limit.
    pub max_idle: u32,
    /// `maxlife`, seconds; 0 is no limit.
    pub max_life: u32,
    /// Attributes appended to `Set-Cookie`: `domain=..`, `HttpOnly`, `Secure`, `attr`.
    pub attributes: Vec<String>,
}

/// A reply that replaces a built-in error reply.
#[derive(Clone, Debug)]
pub enum ErrorReply {
    /// `errorfile`: a raw response that `rules::ErrorFile::parse` accepts; an empty one closes the
    /// connection without a byte.
    File(Arc<[u8]>),
    /// `errorloc`, `errorloc302`, `errorloc303`: a redirect with this status to this location.
    Location {
        /// 302 or 303.
        status: u16,
        /// Where to.
        url: Arc<str>,
    },
    /// `http-error`: an answer like those of rules.
    Reply(Arc<rules::Reply>),
}

/// `stats *`: the statistics page of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsPage {
    /// `stats uri`, `/haproxy?stats` by default.
    pub uri: Option<String>,
    /// `stats refresh`, seconds; 0 is never.
    pub refresh: u32,
    /// `stats realm`.
    pub realm: Option<String>,
    /// `stats auth`: users and passwords.
    pub users: Vec<(Vec<u8>, Vec<u8>)>,
    /// `stats hide-version`.
    pub hide_version: bool,
    /// `stats show-legends`.
    pub show_legends: bool,
    /// `stats show-modules`.
    pub show_modules: bool,
    /// `stats show-node`: the name shown; empty for that of the process.
    pub show_node: Option<String>,
    /// `stats show-desc`: the text shown; empty for that of the process.
    pub show_desc: Option<String>,
    /// `stats scope`: proxies shown; `.` is this one; empty is all.
    pub scope: Vec<String>,
}

/// An `http-errors` section (section 3.8).
#[derive(Clone, Debug)]
pub struct HttpErrors {
    /// Its name, unique.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// Its files by status: raw responses that `rules::ErrorFile::parse` accepts.
    pub files: BTreeMap<u16, Arc<[u8]>>,
}
