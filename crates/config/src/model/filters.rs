//! Filters of payload (sections 4.2 `compression` and `filter`, and 9).
use super::{At, LogTarget, TraceFilter};
use crate::diag::Place;
use ::rules::{BandwidthLimit, ScriptFilter, SpoeEngine};
use std::sync::{Arc, OnceLock};

/// A `filter` line, or the filter that `compression` implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// `filter trace`.
    Trace(TraceFilter),
    /// `filter compression`.
    Compression,
    /// `filter cache`: the name of the cache.
    Cache(String),
    /// `filter fcgi-app`: the name of the application.
    FcgiApp(String),
    /// `filter bwlim-in`, `filter bwlim-out`.
    BandwidthLimit(Arc<BandwidthLimit>),
    /// `filter spoe`.
    Spoe(Arc<SpoeLine>),
    /// `filter lua.NAME`.
    Script(ScriptFilter),
}

/// A `filter spoe` line with the engine that its file describes.
#[derive(Debug)]
pub struct SpoeLine {
    /// The engine.
    pub engine: Arc<SpoeEngine>,
    /// The line of the agent.
    pub place: Place,
    /// `log global`: the targets of `global` are its targets, too.
    pub global_logs: bool,
    /// Its own targets.
    pub logs: Vec<LogTarget>,
    /// `max-frame-size`.
    pub max_frame_size: Option<At<u32>>,
    /// Its number among these lines, and that of its agent's backend among the proxies.
    pub resolved: OnceLock<(usize, usize)>,
}

impl PartialEq for SpoeLine {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SpoeLine {}
