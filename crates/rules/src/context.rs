//! `Context`: the parts of a transaction that rules may change; `Facts` has the parts that they may
//! read.

use crate::bandwidth::{BandwidthLimit, BandwidthValues};
use crate::script_call::{ScriptCall, ScriptStep};
use crate::spoe::SpoeEngine;
use htx::Head;
use sample::{Expr, Facts, Side, TableRef, VarName};
use std::net::SocketAddr;
use std::sync::Arc;
use table::Key;

/// Levels that `set-log-level` may name (manual: RFC 5424 severities, and `silent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// One of the eight severities, 0 (emerg) to 7 (debug).
    Severity(u8),
    /// No log at all.
    Silent,
}

impl LogLevel {
    /// Every level with its name.
    pub const TABLE: &[(&'static str, LogLevel)] = &[
        ("emerg", LogLevel::Severity(0)),
        ("alert", LogLevel::Severity(1)),
        ("crit", LogLevel::Severity(2)),
        ("err", LogLevel::Severity(3)),
        ("warning", LogLevel::Severity(4)),
        ("notice", LogLevel::Severity(5)),
        ("info", LogLevel::Severity(6)),
        ("debug", LogLevel::Severity(7)),
        ("silent", LogLevel::Silent),
    ];
}

/// The family of addresses that `do-resolve` likes better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `ipv4`
    V4,
    /// `ipv6`
    V6,
}

/// Timeouts that `set-timeout` may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// `timeout server`
    Server,
    /// `timeout tunnel`
    Tunnel,
}

/// `track-sc*`
#[derive(Debug)]
pub struct Track {
    /// The place to fill.
    pub slot: usize,
    /// Whether the entry is tracked until the connection ends, not just the stream.
    pub session: bool,
    pub(crate) key: Expr,
    pub(crate) table: Arc<TableRef>,
}

impl Track {
    /// The expression of the key.
    pub fn key(&self) -> &Expr {
        &self.key
    }
}

/// A transaction under evaluation.
pub trait Context: Facts {
    /// The head of one message, for editing; `None` before the head has arrived.
    fn head_mut(&mut self, side: Side) -> Option<&mut Head>;

    /// Bytes by which the head of one message may still grow (`tune.maxrewrite`).
    fn rewrite_room(&self, side: Side) -> usize;

    /// A rewrite did not fit (counter `wrew`).
    fn count_failed_rewrite(&mut self) {}

    /// `do-resolve`: asks a `resolvers` section for the address of a name, which the answer writes
    /// into the variable.
    fn resolve(&mut self, _resolvers: &Arc<str>, _name: (&str, Family), _variable: &Arc<VarName>) {}

    /// Starts the asker of this number; see [`Action::Ask`](crate::Action).
    fn ask(&mut self, _asker: usize) {}

    /// `send-spoe-group`: sends the messages of the group of this number to the agent of an engine.
    fn send_spoe_group(&mut self, _engine: &Arc<SpoeEngine>, _group: usize) {}

    /// `lua.NAME`: begins to call a function of a script.
    fn call_script(&mut self, _call: &ScriptCall) -> ScriptStep {
        ScriptStep::Next
    }

    /// Whether an answer is awaited that a rule has asked for.
    fn is_asked(&self) -> bool {
        false
    }

    /// `cache-use`: whether the cache of this name answers the request. With an answer that is
    /// awaited afterwards, the rule is evaluated again when it is there.
    fn use_cache(&mut self, _name: &Arc<str>) -> bool {
        false
    }

    /// `cache-store`: the response goes into the cache of this name if it may be stored.
    fn store_in_cache(&mut self, _name: &Arc<str>) {}

    /// `set-log-level`
    fn set_log_level(&mut self, level: LogLevel);

    /// The rule at this place decided: `last_rule_file`, `last_rule_line`.
    fn set_last_rule(&mut self, file: &Arc<str>, line: u32);

    /// Tracks the entry with this key in the table of this number, for the session or the stream.
    /// The place is free.
    fn track(&self, _rule: &Track, _table: usize, _key: &Key<'_>) {}

    /// `set-nice`: the task's weight, -1024 to 1024.
    fn set_nice(&mut self, _nice: i32) {}

    /// `set-src`: the client's address for all that follows at this layer.
    fn set_source(&mut self, _address: SocketAddr) {}

    /// `set-dst`: the address that counts as the destination of the client's connection.
    fn set_destination(&mut self, _address: SocketAddr) {}

    /// `expect-proxy layer4`: the connection begins with a PROXY protocol header.
    fn expect_proxy(&mut self) {}

    /// `expect-netscaler-cip layer4`: the connection begins with a NetScaler header.
    fn expect_netscaler(&mut self) {}

    /// `set-mark`: the mark of packets to the client.
    fn set_mark(&mut self, _mark: u32) {}

    /// `set-tos`: the type of service of packets to the client.
    fn set_tos(&mut self, _tos: u8) {}

    /// `set-timeout`, in milliseconds; never 0.
    fn set_limit(&mut self, _limit: Limit, _span: u32) {}

    /// `set-bandwidth-limit`: the limit holds for the stream from now on.
    fn set_bandwidth_limit(&mut self, _filter: &Arc<BandwidthLimit>, _values: BandwidthValues) {}

    /// `disable-l7-retry`: a request that a server has seen is not sent again.
    fn disable_retry(&mut self) {}

    /// `set-priority-class`, -2047 to 2047.
    fn set_priority_class(&mut self, _class: i16) {}

    /// `set-priority-offset`, in milliseconds, -524287 to 524287.
    fn set_priority_offset(&mut self, _offset: i32) {}

    /// `early-hint`: this field is in a 103 response that goes to the client when the rules have to
    /// wait, or are at their end.
    fn early_hint(&mut self, _name: &[u8], _value: &[u8]) {}

    /// A buffer for building values, empty; given back by [`Context::give_scratch`].
    fn take_scratch(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes a scratch buffer back, for the next rule.
    fn give_scratch(&mut self, _scratch: Vec<u8>) {}
}

/// The facts of a context.
pub(crate) fn facts(cx: &dyn Context) -> &dyn Facts {
    cx
}
