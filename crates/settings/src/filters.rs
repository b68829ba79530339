//! Filters of payload: `compression` and `filter` (configuration manual, sections 4.2 and
//! 9).

use super::SpoeFilter;
use ::compression::{Algorithm, Limits, Tuning};
use rules::{BandwidthLimit, ScriptFilter};
use std::sync::Arc;

/// A `filter` line, or `compression` lines in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    /// `filter trace`.
    Trace(TraceFilter),
    /// `filter compression`; implied in a section with `compression algo` and no other filter.
    Compression,
    /// `filter bwlim-in`, `filter bwlim-out`.
    BandwidthLimit(Arc<BandwidthLimit>),
    /// `filter spoe`.
    Spoe(Arc<SpoeFilter>),
    /// `filter lua.NAME`.
    Script(ScriptFilter),
}

impl Filter {
    /// Whether it prints a line for every stage of a stream.
    pub fn reports_stages(&self) -> bool {
        matches!(self, Self::Trace(trace) if !trace.quiet)
    }
}

/// `filter trace`: prints the messages and payload that pass (manual, section 9.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceFilter {
    /// `name`; `TRACE` by default.
    pub name: String,
    /// `random-forwarding`: forwards a random part of the available payload at a time.
    pub random_forwarding: bool,
    /// `hexdump`: prints the payload.
    pub hexdump: bool,
    /// `quiet`: prints nothing.
    pub quiet: bool,
}

/// `compression`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compression {
    /// `algo`, `algo-res`, in order of preference.
    pub algorithms: Vec<Algorithm>,
    /// `type`, `type-res`: prefixes of media types; when empty, every type but `multipart`.
    pub types: Vec<Vec<u8>>,
    /// `minsize-res`: the least length of a body, where it is known.
    pub min_size: u64,
    /// The same for the bodies of requests.
    pub request: RequestCompression,
    /// `direction`.
    pub direction: CompressionDirection,
    /// `offload`: removes `accept-encoding` from requests to servers.
    pub offload: bool,
}

/// Compression of the bodies of requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestCompression {
    /// `algo-req`.
    pub algorithm: Option<Algorithm>,
    /// `type-req`.
    pub types: Vec<Vec<u8>>,
    /// `minsize-req`.
    pub min_size: u64,
}

/// The messages that are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CompressionDirection {
    /// `request`
    Request,
    /// `response`
    #[default]
    Response,
    /// `both`
    Both,
}

impl CompressionDirection {
    /// Whether requests are compressed.
    pub fn has_requests(self) -> bool {
        self != Self::Response
    }

    /// Whether responses are compressed.
    pub fn has_responses(self) -> bool {
        self != Self::Request
    }
}

/// Limits and levels of compression in the whole process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessCompression {
    /// `maxcomprate`, `maxcompcpuusage`, `maxzlibmem`.
    pub limits: Limits,
    /// `tune.comp.maxlevel`, `tune.zlib.memlevel`, `tune.zlib.windowsize`.
    pub tuning: Tuning,
}
