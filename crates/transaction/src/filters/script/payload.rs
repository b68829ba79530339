//! The payload of one direction as filters of scripts see and change it.

use super::{ERROR, Ended, WAIT, complain, run};
use crate::message::script_facts::{ServiceFacts, facts_of};
use engine::state::session::script_filters::AttachedFilter;
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::{Fields, Head};
use mux::BodyKind;
use rules::ScriptFilter;
use sample::{Facts, Side};
use script::{ChannelBytes, ChannelState, FilterEvent, Host, ScriptError};
use settings::Mode;
use std::rc::Rc;
use stdx::Tick;
use transport::filters::{Offer, PayloadFilter, Taken};

/// The longest span of `filter.wake_time`, in milliseconds.
const MAX_WAIT: u64 = 3_600_000;

/// The filter of one direction, if the script has registered it for payload.
pub(in super::super) fn payload_filter(
    tx: &Transaction,
    line: &ScriptFilter,
    side: Side,
) -> Option<Box<dyn PayloadFilter>> {
    let mut all = tx.notes.script_filters.iter();
    let attached = all.find(|it| it.line == *line && it.data[side as usize].get())?;
    let http = tx.client.mode == Mode::Http;
    let mut facts = facts_of(tx);
    facts.request = tx.space.request.clone();
    let head = if side == Side::Request { &tx.space.request } else { &tx.space.response };
    Some(Box::new(ScriptPayload {
        worker: tx.worker.clone(),
        attached: attached.clone(),
        side,
        http,
        left: if http { announced(head) } else { None },
        held: Vec::new(),
        shown: 0,
        facts,
    }))
}

/// The length of a body that its head announces.
fn announced(head: &Head) -> Option<u64> {
    match super::framing(head, BodyKind::Length(0)) {
        BodyKind::Length(length) => Some(length),
        _ => None,
    }
}

/// The decision of a filter on the payload that it has seen.
enum Shown {
    /// So many bytes pass.
    Passes(usize),
    /// No bytes pass before this moment (`filter.wake_time`).
    Waits(Tick),
}

/// The payload of one direction.
struct ScriptPayload {
    worker: Rc<Worker>,
    attached: Rc<AttachedFilter>,
    side: Side,
    http: bool,
    /// Bytes that the head still announces: a filter that changes the length removes the field.
    left: Option<u64>,
    /// Payload that the filter has not let pass.
    held: Vec<u8>,
    /// Bytes at the front of the next offer that are among the held ones.
    shown: usize,
    facts: ServiceFacts,
}

impl std::fmt::Debug for ScriptPayload {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ScriptPayload").field("line", &self.attached.line).finish()
    }
}

impl PayloadFilter for ScriptPayload {
    fn replaces(&self) -> bool {
        true
    }

    fn take(&mut self, offer: Offer<'_>, output: &mut Vec<u8>) -> Taken {
        let before = output.len();
        self.held.extend_from_slice(offer.payload.get(self.shown..).unwrap_or_default());
        self.shown = 0;
        if !self.held.is_empty() && self.attached.data[self.side as usize].get() {
            match self.call(offer.last) {
                Some(Shown::Passes(count)) => output.extend(self.held.drain(..count)),
                Some(Shown::Waits(wake)) if !offer.payload.is_empty() => {
                    // The source offers the same bytes again, and reads no more than a buffer.
                    self.shown = offer.payload.len();
                    return Taken::Until(wake);
                }
                Some(Shown::Waits(_)) => {}
                None => return Taken::Failed,
            }
        } else {
            output.append(&mut self.held);
        }
        // Bytes that a filter still holds at the end of the message leave with it.
        if offer.last {
            output.append(&mut self.held);
        }
        if self.held.len() > self.worker.buffers.size() {
            complain(&self.attached.line.name, "it holds more than a buffer");
            return Taken::Failed;
        }
        match self.fits((output.len() - before) as u64, offer.last) {
            true => Taken::Bytes(offer.payload.len()),
            false => Taken::Failed,
        }
    }

    fn end(&mut self, _: &Fields) {
        if self.http && self.attached.data[self.side as usize].get() {
            let (attached, worker, side) = (self.attached.clone(), self.worker.clone(), self.side);
            run(&attached, &worker, (FilterEvent::HttpEnd, side, true), &mut self.host(true));
        }
    }
}

impl ScriptPayload {
    fn host(&mut self, last: bool) -> PayloadHost<'_> {
        PayloadHost {
            bytes: std::mem::take(&mut self.held),
            passed: 0,
            wake: None,
            side: self.side,
            http: self.http,
            last,
            room: self.worker.buffers.size(),
            facts: &self.facts,
            attached: &self.attached,
        }
    }

    /// Shows the payload to the filter; `None` if it fails.
    fn call(&mut self, last: bool) -> Option<Shown> {
        let event = if self.http { FilterEvent::HttpPayload } else { FilterEvent::TcpPayload };
        let (attached, worker, side) = (self.attached.clone(), self.worker.clone(), self.side);
        let http = self.http;
        let mut host = self.host(last);
        let ended = run(&attached, &worker, (event, side, http), &mut host);
        let (bytes, passed, wake) = (host.bytes, host.passed, host.wake);
        self.held = bytes;
        match (ended, wake) {
            (Ended::Failed | Ended::Number(ERROR), _) => None,
            (Ended::Plainly, _) => Some(Shown::Passes(self.held.len())),
            (Ended::Number(WAIT), Some(span)) if passed == 0 => {
                let span = span.clamp(1, MAX_WAIT) as u32;
                Some(Shown::Waits(worker.thread.tick().plus_ms(span)))
            }
            (Ended::Number(count), _) => {
                let count = usize::try_from(count).unwrap_or(0);
                Some(Shown::Passes(passed.saturating_add(count).min(self.held.len())))
            }
        }
    }

    /// Whether so many bytes are as many as the head announces.
    fn fits(&mut self, count: u64, last: bool) -> bool {
        let Some(left) = &mut self.left else { return true };
        let whole = count <= *left;
        *left = left.saturating_sub(count);
        if !whole || (last && *left > 0) {
            let text = "the length of the payload is not that of 'content-length'";
            complain(&self.attached.line.name, text);
            return false;
        }
        true
    }
}

/// The message as a filter sees it at its payload.
struct PayloadHost<'h> {
    bytes: Vec<u8>,
    /// Bytes at the front that the filter has forwarded.
    passed: usize,
    /// Milliseconds after which the filter wants to see the payload again.
    wake: Option<u64>,
    side: Side,
    http: bool,
    last: bool,
    room: usize,
    facts: &'h ServiceFacts,
    attached: &'h AttachedFilter,
}

impl Host for PayloadHost<'_> {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(self.facts)
    }

    fn channel_state(&self, side: Side) -> Result<ChannelState, ScriptError> {
        let own = side == self.side;
        let (length, passed) = if own { (self.bytes.len(), self.passed) } else { (0, 0) };
        let room = self.room.saturating_sub(length);
        let (input, output) = (length - passed, passed);
        Ok(ChannelState { input, output, room, open: !self.last, last: self.last && own })
    }

    fn channel(&self, side: Side) -> Result<ChannelBytes, ScriptError> {
        if side != self.side {
            return Err(ScriptError::refused("the other direction is not visible here"));
        }
        Ok(ChannelBytes { bytes: self.bytes.clone(), passed: self.passed })
    }

    fn edit_channel(&mut self, side: Side, to: ChannelBytes) -> Result<(), ScriptError> {
        if side != self.side {
            return Err(ScriptError::refused("the other direction is not visible here"));
        }
        (self.bytes, self.passed) = (to.bytes, to.passed);
        Ok(())
    }

    fn wake_after(&mut self, span: u64) -> Result<(), ScriptError> {
        self.wake = Some(span);
        Ok(())
    }

    fn data_filter(&mut self, side: Side, on: bool) -> Result<(), ScriptError> {
        self.attached.data[side as usize].set(on);
        Ok(())
    }

    fn end_message(&mut self, _: Side, on: bool) -> Result<(), ScriptError> {
        match self.http && on == self.last {
            // The end of the message follows its last byte by itself.
            true => Ok(()),
            false => {
                Err(ScriptError::refused("the end of the message is where its sender has put it"))
            }
        }
    }
}
