//! Filters of payload: they see, hold back or replace what passes between the decoder of one side
//! and the encoder of the other (configuration manual, section 9).
//!
//! A [`FilterChain`] is the ordered list of the filters of one direction. Filters that only look or
//! delay share the buffer of the source, in which each of them has come to a place of its own:
//! nothing is copied. A filter that replaces payload has a buffer for its output, from which the
//! filters behind it read.

use htx::Fields;
use std::fmt::Debug;
use stdx::Tick;

pub mod pacer;
#[cfg(test)]
mod tests;

/// Payload that a filter may take.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The payload that the filter has not taken yet.
    pub payload: &'a [u8],
    /// The message ends behind this payload.
    pub last: bool,
}

/// The answer of a filter to an [`Offer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// So many bytes pass, or are consumed by a filter that replaces them: at least one if any was
    /// offered.
    Bytes(usize),
    /// No byte passes before this moment.
    Until(Tick),
    /// The filter has failed; the message cannot continue.
    Failed,
}

/// A filter of the payload of one message.
pub trait PayloadFilter: Debug {
    /// Whether its output replaces its input. Such a filter has the last offer of each message,
    /// even an empty one.
    fn replaces(&self) -> bool {
        false
    }

    /// Decides on the bytes of an offer. A filter that replaces payload appends to `output`: at
    /// most in proportion to its input.
    fn take(&mut self, offer: Offer<'_>, output: &mut Vec<u8>) -> Taken;

    /// The message has passed the filter whole.
    fn end(&mut self, _trailers: &Fields) {}
}

/// A filter, and its position in the payload.
#[derive(Debug)]
struct Stage {
    filter: Box<dyn PayloadFilter>,
    /// Bytes at the front of its input that the filter has passed.
    passed: usize,
    /// The end of the message has passed.
    ended: bool,
    /// Its output, if it replaces payload.
    output: Option<Vec<u8>>,
}

/// The filters of one direction, in the order in which payload passes them.
#[derive(Debug, Default)]
pub struct FilterChain {
    stages: Vec<Stage>,
}

/// The effect of one pass over the filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// Bytes at the front of the input that the filters are done with. They go out as they are
    /// unless a filter replaces payload.
    pub input: usize,
    /// The end of the message has passed all filters.
    pub ended: bool,
    /// The filters pass nothing before this moment.
    pub until: Option<Tick>,
    /// A filter has failed.
    pub failed: bool,
}

impl FilterChain {
    /// Adds a filter behind the others.
    pub fn push(&mut self, filter: Box<dyn PayloadFilter>) {
        let output = filter.replaces().then(Vec::new);
        self.stages.push(Stage { filter, passed: 0, ended: false, output });
    }

    /// Adds a filter in front of the others, before any payload has come.
    pub fn push_front(&mut self, filter: Box<dyn PayloadFilter>) {
        self.push(filter);
        self.stages.rotate_right(1);
    }

    /// Whether there is no filter.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Whether [`FilterChain::output`] is sent instead of the input.
    pub fn replaces(&self) -> bool {
        self.last_replacing().is_some()
    }

    /// Passes the input to the filters; its front is what earlier calls have left. The message ends
    /// behind the input if it is the `last`; the trailers are complete then.
    pub fn pass(&mut self, input: &[u8], last: bool, trailers: &Fields) -> Passed {
        let mut result = Passed::default();
        // Bytes that the next filter may see of the buffer it reads from, and whether the message
        // ends behind them.
        let (mut limit, mut ended) = (input.len(), last);
        for index in 0..self.stages.len() {
            let (before, rest) = self.stages.split_at_mut(index);
            let source = before.iter().rev().find_map(|stage| stage.output.as_deref());
            let stage = &mut rest[0];
            let window = source.unwrap_or(input).get(stage.passed..limit).unwrap_or_default();
            let taken = stage.offer(window, ended);
            match taken {
                Taken::Bytes(count) => stage.passed += count,
                Taken::Until(tick) => result.until = Tick::earlier(result.until, Some(tick)),
                Taken::Failed => result.failed = true,
            }
            let all = stage.passed == limit && matches!(taken, Taken::Bytes(_));
            if ended && all && !std::mem::replace(&mut stage.ended, true) {
                stage.filter.end(trailers);
            }
            ended = stage.ended;
            limit = match &stage.output {
                Some(output) => output.len(),
                None => stage.passed,
            };
        }
        result.ended = ended;
        result.input = self.forget();
        result
    }

    /// The output of the last filter that replaces payload, as far as the filters behind it have
    /// let it pass.
    pub fn output(&self) -> &[u8] {
        let Some(index) = self.last_replacing() else { return &[] };
        let output = self.stages[index].output.as_deref().unwrap_or_default();
        let behind = self.stages[index + 1..].last();
        behind.map_or(output, |stage| &output[..stage.passed])
    }

    /// Drops what [`FilterChain::output`] gave, and keeps the memory.
    pub fn drop_output(&mut self) {
        let (Some(index), count) = (self.last_replacing(), self.output().len()) else { return };
        if let Some(output) = &mut self.stages[index].output {
            output.drain(..count);
        }
        self.stages[index + 1..].iter_mut().for_each(|stage| stage.passed -= count);
    }

    /// The place of the last filter that replaces payload.
    fn last_replacing(&self) -> Option<usize> {
        self.stages.iter().rposition(|stage| stage.output.is_some())
    }

    /// Drops from each buffer the bytes that the last of its readers has passed; the result is how
    /// many of the input. The output of the last replacing filter is left for
    /// [`FilterChain::output`].
    fn forget(&mut self) -> usize {
        let mut first = 0;
        let mut of_input = None;
        for index in 0..self.stages.len() {
            let is_replaced_here = self.stages[index].output.is_some();
            if !is_replaced_here && index + 1 != self.stages.len() {
                continue;
            }
            let count = self.stages[index].passed;
            // The filters from `first` to `index` read from one buffer.
            let is_last_buffer = !is_replaced_here && of_input.is_some();
            if !is_last_buffer {
                self.stages[first..=index].iter_mut().for_each(|stage| stage.passed -= count);
                match of_input {
                    None => of_input = Some(count),
                    Some(_) => {
                        if let Some(output) = &mut self.stages[first - 1].output {
                            output.drain(..count);
                        }
                    }
                }
            }
            first = index + 1;
        }
        of_input.unwrap_or_default()
    }
}

impl Stage {
    fn offer(&mut self, payload: &[u8], last: bool) -> Taken {
        let finishes = last && self.output.is_some() && !self.ended;
        if payload.is_empty() && !finishes {
            return Taken::Bytes(0);
        }
        let mut none = Vec::new();
        let output = self.output.as_mut().unwrap_or(&mut none);
        match self.filter.take(Offer { payload, last }, output) {
            Taken::Bytes(count) => {
                debug_assert!(count > 0 || payload.is_empty(), "{:?} takes nothing", self.filter);
                Taken::Bytes(count.min(payload.len()))
            }
            other => other,
        }
    }
}
