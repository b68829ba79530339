//! Filters of payload: `compression` and `filter` (configuration manual, sections 4.2 and
//! 9).

use ::compression::{Algorithm, Limits, Tuning};
use rules::BandwidthLimit;
use std::sync::Arc;

/// A `filter` line, or what stands for one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    /// `filter trace`.
    Trace(TraceFilter),
    /// `filter compression`; a section with `compression algo` and without other filters has it
    /// too.
    Compression,
    /// `filter bwlim-in`, `filter bwlim-out`.
    BandwidthLimit(Arc<BandwidthLimit>),
}

/// `filter trace`: prints what filters see (manual, section 9.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceFilter {
    /// `name`, else `TRACE`.
    pub name: String,
    /// `random-forwarding`: a part of the available payload passes at a time, drawn by chance.
    pub random_forwarding: bool,
    /// `hexdump`: payload is printed.
    pub hexdump: bool,
    /// `quiet`: nothing is printed.
    pub quiet: bool,
}

/// `compression`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compression {
    /// `algo`, in order of preference.
    pub algorithms: Vec<Algorithm>,
    /// `type`: prefixes of media types; without any, every type but `multipart`.
    pub types: Vec<Vec<u8>>,
    /// `offload`: servers see no `accept-encoding`.
    pub offload: bool,
}

/// Limits and levels of compression in the whole process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessCompression {
    /// `maxcomprate`, `maxcompcpuusage`, `maxzlibmem`.
    pub limits: Limits,
    /// `tune.comp.maxlevel`, `tune.zlib.memlevel`, `tune.zlib.windowsize`.
    pub tuning: Tuning,
}
