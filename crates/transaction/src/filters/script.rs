//! `filter lua.NAME`: filters of scripts see heads and payload (configuration manual, section 9).
//!
//! Their functions run to their end: a filter cannot wait. Their output replaces the payload.

mod payload;

use engine::state::runtime::{Proxy, ProxyRef};
use engine::state::session::script_filters::AttachedFilter;
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::Head;
use mux::BodyKind;
use observability::telemetry::sample_context::View;
pub(super) use payload::payload_filter;
use sample::{Facts, Side, Value};
use script::{ChannelBytes, ChannelState, FilterEvent, Host, Private, ScriptError, Step};
use settings::{Filter, Mode};
use std::rc::Rc;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The results of a filter's function: `filter.ERROR`, `filter.WAIT`.
const ERROR: i64 = -1;
const WAIT: i64 = 0;

/// Attaches the filters of a proxy, which see the request from now on.
pub(super) fn attach(tx: &mut Transaction, proxy: &ProxyRef) {
    let known = tx.notes.script_filters.len();
    for filter in &proxy.settings.filters {
        let Filter::Script(line) = filter else { continue };
        let Some(scripts) = tx.worker.shared.scripts.get().cloned() else { return };
        let Some(cell) = scripts.cell(line.per_thread, tx.worker.thread.index) else { return };
        let mut state = cell.wait();
        match state.attach_filter(line.number, scripts.timeouts.session) {
            Ok(object) => {
                tx.notes.used = true;
                let attached = AttachedFilter::new(line.clone(), object);
                tx.notes.script_filters.push(Rc::new(attached));
            }
            Err(fault) => complain(&line.name, &fault.text(state.number())),
        }
    }
    // An error is reported, and refuses nothing yet.
    let _ = tell(tx, FilterEvent::StartAnalyze, Side::Request, known);
}

fn complain(name: &str, text: &str) {
    script::alert(&format!("Lua filter '{name}' : {text}"));
}

/// Whether the transaction has filters of scripts.
#[inline]
pub(super) fn has_any(tx: &Transaction) -> bool {
    !tx.notes.script_filters.is_empty()
}

/// A response begins, or the direction of a session in which the server sends.
pub(super) fn response_begins(tx: &mut Transaction) {
    if tx.notes.script_filters.iter().all(|filter| filter.response_begun.replace(true)) {
        return;
    }
    // An error is reported, and refuses nothing yet.
    let _ = tell(tx, FilterEvent::StartAnalyze, Side::Response, 0);
}

/// The stream ends.
pub(super) fn end(tx: &mut Transaction) {
    for side in [Side::Request, Side::Response] {
        // The response has begun, so that it cannot be refused.
        let _ = tell(tx, FilterEvent::EndAnalyze, side, 0);
    }
}

/// The rules of the message have run, and only filters may change its head now.
///
/// # Errors
/// A filter refuses the message, or fails.
pub(super) fn head(tx: &mut Transaction, side: Side) -> Result<(), Failure> {
    tell(tx, FilterEvent::HttpHeaders, side, 0)?;
    if side == Side::Request && has_any(tx) {
        tx.request_body = framing(&tx.space.request, tx.request_body);
    }
    Ok(())
}

/// The delimitation of the body behind a head that filters have changed: one without a length is
/// chunked.
pub(super) fn framing(head: &Head, body: BodyKind) -> BodyKind {
    let BodyKind::Length(_) = body else { return body };
    let length = head.all(b"content-length").next().map(|field| field.value.to_vec());
    let length = length.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
    length.map_or(BodyKind::Chunked, BodyKind::Length)
}

/// Tells the filters from `first` on of an event without payload.
fn tell(tx: &mut Transaction, event: FilterEvent, side: Side, first: usize) -> Result<(), Failure> {
    for at in first..tx.notes.script_filters.len() {
        let attached = tx.notes.script_filters[at].clone();
        if event == FilterEvent::HttpHeaders && !passes(tx, &attached, side) {
            continue;
        }
        let http = tx.client.mode == Mode::Http;
        let mut view = View::of(tx);
        let worker = view.worker;
        let mut host = HeadHost { view: &mut view, attached: &attached };
        match run(&attached, worker, (event, side, http), &mut host) {
            Ended::Failed | Ended::Number(ERROR) => return Err(refusal(tx, side)),
            Ended::Number(WAIT) if event == FilterEvent::HttpHeaders => {
                complain(&attached.line.name, "a filter cannot wait for a message's head");
            }
            Ended::Number(_) | Ended::Plainly => {}
        }
    }
    Ok(())
}

/// Whether one direction passes a filter: not if `filter-sequence` leaves it out.
fn passes(tx: &Transaction, attached: &AttachedFilter, side: Side) -> bool {
    let front: &Proxy = &tx.client.proxy;
    let mut filters = [front, tx.side()].into_iter().flat_map(|it| super::in_order(it, side));
    filters.any(|filter| matches!(filter, Filter::Script(line) if *line == attached.line))
}

fn refusal(tx: &Transaction, side: Side) -> Failure {
    match (tx.client.mode, side) {
        (Mode::Tcp, _) => Failure::close(Cause::Proxy, Phase::Data),
        (Mode::Http, Side::Request) => Failure::error(400, Cause::Proxy, Phase::Request),
        (Mode::Http, Side::Response) => Failure::error(502, Cause::Proxy, Phase::Headers),
    }
}

/// The end of a function of a filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    /// Without a number, or there is no such function.
    Plainly,
    /// With a number.
    Number(i64),
    /// With an error.
    Failed,
}

/// Calls a function of a filter.
fn run(
    attached: &AttachedFilter,
    worker: &Worker,
    (event, side, http): (FilterEvent, Side, bool),
    host: &mut dyn Host,
) -> Ended {
    let line = &attached.line;
    let Some(scripts) = worker.shared.scripts.get() else { return Ended::Plainly };
    let cell = scripts.cell(line.per_thread, worker.thread.index);
    let Some(mut state) = cell.map(script::Cell::wait) else { return Ended::Plainly };
    let (object, limit) = (&attached.object, scripts.timeouts.session);
    match state.filter_event(object, event, (side == Side::Response, http), limit, host) {
        Step::Returned(Some(Value::Int(number))) => Ended::Number(number),
        Step::Failed(fault) => {
            complain(&line.name, &fault.text(state.number()));
            Ended::Failed
        }
        _ => Ended::Plainly,
    }
}

/// The transaction as a filter sees it at a head.
struct HeadHost<'h, 'v> {
    view: &'h mut View<'v>,
    attached: &'h AttachedFilter,
}

impl Host for HeadHost<'_, '_> {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(&*self.view)
    }

    fn context(&mut self) -> Option<&mut dyn rules::Context> {
        Some(&mut *self.view)
    }

    fn private(&mut self) -> Option<&mut Private> {
        self.view.notes.used = true;
        Some(&mut self.view.notes.private)
    }

    fn channel_state(&self, side: Side) -> Result<ChannelState, ScriptError> {
        let input = self.view.payload(side).map_or(0, <[u8]>::len);
        let room = self.view.worker.buffers.size().saturating_sub(input);
        Ok(ChannelState { input, output: 0, room, open: false, last: true })
    }

    fn channel(&self, side: Side) -> Result<ChannelBytes, ScriptError> {
        match self.view.client.mode {
            Mode::Http => {
                Err(ScriptError::refused("Cannot manipulate HAProxy channels in HTTP mode."))
            }
            Mode::Tcp => {
                let bytes = self.view.payload(side).unwrap_or_default().to_vec();
                Ok(ChannelBytes { bytes, passed: 0 })
            }
        }
    }

    fn wake_after(&mut self, _: u64) -> Result<(), ScriptError> {
        // A head does not wait: `filter.WAIT` is reported.
        Ok(())
    }

    fn data_filter(&mut self, side: Side, on: bool) -> Result<(), ScriptError> {
        self.attached.data[side as usize].set(on);
        Ok(())
    }
}
