//! Filters of scripts as a stream has them.

use rules::ScriptFilter;
use script::FilterObject;
use std::cell::Cell;

/// A filter of a stream.
#[derive(Debug)]
pub struct AttachedFilter {
    /// Its line.
    pub line: ScriptFilter,
    /// Its object.
    pub object: FilterObject,
    /// Whether it sees the payload of the request, of the response.
    pub data: [Cell<bool>; 2],
    /// Whether the filter was called for the beginning of the response.
    pub response_begun: Cell<bool>,
}

impl AttachedFilter {
    /// A filter that sees no payload yet.
    pub fn new(line: ScriptFilter, object: FilterObject) -> Self {
        Self { line, object, data: Default::default(), response_begun: Cell::new(false) }
    }
}
