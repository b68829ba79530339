//! The histograms of a row of the statistics.

use super::Kind;
use super::modules::Subject;
use engine::state::runtime::Backend;
use std::borrow::Cow;
use std::ops::Range;
use stdx::Summary;
use transport::stats::latency::{SPANS, Span};

/// Latencies of requests to all servers of a backend, deleted servers included: added up as the
/// rows of servers pass, because thousands of histograms at once would hold a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times([Summary; SPANS.len()]);

impl Times {
    /// Adds those of the servers in these slots.
    pub(super) fn add(&mut self, back: &Backend, slots: &Range<usize>) {
        for (span, summary) in SPANS.into_iter().zip(&mut self.0) {
            back.add_latencies(slots.clone(), span, summary);
        }
    }
}

impl Subject<'_> {
    /// Times of an object in microseconds; `None` for objects without times of their own.
    pub(crate) fn times(&self, span: Span) -> Option<Cow<'_, Summary>> {
        match self.kind {
            Kind::Frontend | Kind::Server => {
                Some(Cow::Owned(self.counters.latencies.summary(span)))
            }
            Kind::Backend => Some(Cow::Borrowed(&self.servers?.0[span as usize])),
            // Its times are its frontend's.
            Kind::Listener => None,
        }
    }
}
