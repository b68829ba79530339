//! `filter spoe` lines.

use super::Logs;
use rules::SpoeEngine;
use std::sync::Arc;

/// A `filter spoe` line: an engine with its names resolved. Two lines are equal if they are the
/// same object.
#[derive(Debug)]
pub struct SpoeFilter {
    /// Number among these lines of the process, from 0.
    pub number: usize,
    /// The engine.
    pub engine: Arc<SpoeEngine>,
    /// Number of the backend of its agent.
    pub backend: usize,
    /// Where it logs.
    pub logs: Arc<Logs>,
}

impl PartialEq for SpoeFilter {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SpoeFilter {}
