//! `filter compression`: the choice of an algorithm, the edits of heads, and the encoder of a body
//! (configuration manual, section 4.2, `compression`).

use compression::{
    Algorithm, Body, Encoder, Flush, HeadEdit, LevelControl, Limits, Load, Refusal, RequestFacts,
    ResponseFacts,
};
use engine::state::backend::application::application;
use engine::state::runtime::{BackendRef, FrontendRef, Proxy};
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::{Head, Method};
use mux::BodyKind;
use observability::telemetry::accounting;
use sample::Side;
use settings::{Compression, Filter};
use std::fmt::{Debug, Formatter};
use std::rc::Rc;
use transport::filters::{Offer, PayloadFilter, Taken};
use transport::stats::counters::Metric;

/// Settings of the backend and the frontend together: those of the backend go first, for algorithms
/// and types each.
struct Effective<'a> {
    algorithms: &'a [Algorithm],
    types: &'a [Vec<u8>],
    min_size: u64,
    offload: bool,
}

/// `compression` lines of the backend, then of the frontend, if the direction passes the filter in
/// one of them.
fn sections(tx: &Transaction, side: Side) -> Option<impl Iterator<Item = &Compression> + Clone> {
    let filters = |proxy: &Proxy| super::in_order(proxy, side).contains(&Filter::Compression);
    let (front, back): (&Proxy, &Proxy) = (&tx.client.proxy, tx.side());
    let both = [back, front].into_iter().filter_map(|it| it.settings.compression.as_ref());
    (filters(front) || filters(back)).then_some(both)
}

fn effective(tx: &Transaction) -> Option<Effective<'_>> {
    let both = sections(tx, Side::Response)?;
    let first = both.clone().find(|it| !it.algorithms.is_empty())?;
    if !first.direction.has_responses() {
        return None;
    }
    let types = both.clone().map(|it| it.types.as_slice()).find(|list| !list.is_empty());
    Some(Effective {
        algorithms: &first.algorithms,
        types: types.unwrap_or_default(),
        min_size: both.clone().map(|it| it.min_size).find(|size| *size > 0).unwrap_or(0),
        offload: both.clone().any(|it| it.offload),
    })
}

/// Decides whether the body of the request is compressed on its way to the server, and edits its
/// head then. A request whose body is compressed is sent once.
pub(super) fn request_body(tx: &mut Transaction) {
    let Some(algorithm) = request_algorithm(tx) else { return };
    let tuning = &tx.worker.shared.settings.compression.tuning;
    let memory = Encoder::most_memory(algorithm, tuning);
    if limits(&tx.worker).admit(&load(&tx.worker), memory).is_err() {
        if let BodyKind::Length(length) = tx.request_body {
            accounting::add_both(tx, Metric::CompressionBypassed, length);
        }
        return;
    }
    edit(&mut tx.space.request, HeadEdit::Remove { name: "content-length" });
    let value = algorithm.token();
    edit(&mut tx.space.request, HeadEdit::Add { name: "content-encoding", value });
    tx.notes.compressed_request = Some(algorithm);
    (tx.notes.used, tx.notes.sent_once) = (true, true);
}

/// The algorithm for the body of the request; `None`: it stays as it is.
fn request_algorithm(tx: &Transaction) -> Option<Algorithm> {
    let both = sections(tx, Side::Request)?;
    let first = both.clone().find(|it| it.request.algorithm.is_some())?;
    let algorithm = first.request.algorithm.filter(|it| *it != Algorithm::Identity)?;
    let min_size = both.clone().map(|it| it.request.min_size).find(|size| *size > 0).unwrap_or(0);
    let body = match tx.request_body {
        BodyKind::Length(length) if length >= min_size => Body::Length(length),
        BodyKind::Chunked => Body::Delimited,
        _ => return None,
    };
    // Applications of FastCGI get a length.
    let is_application = tx.backend.as_ref().is_some_and(|it| application(&it.back).is_some());
    if !first.direction.has_requests() || is_application {
        return None;
    }
    let request = &tx.space.request;
    // The conditions on a body are those of a response.
    let mut facts = ResponseFacts::new(200, request.version().at_least_11(), body);
    request.fields().for_each(|field| facts.field(field.name, field.value));
    let types = both.map(|it| it.request.types.as_slice()).find(|list| !list.is_empty());
    compression::decide(algorithm, &facts, types.unwrap_or_default()).ok().map(|_| algorithm)
}

/// The encoder of the body of the request, whose head says that it is compressed.
pub(super) fn request_encoder(tx: &Transaction) -> Option<Box<dyn PayloadFilter>> {
    let algorithm = tx.notes.compressed_request?;
    Some(encoder(tx, algorithm).unwrap_or_else(|| Box::new(NoEncoder)))
}

/// In place of an encoder for which there is no memory, where the head is on its way.
#[derive(Debug)]
struct NoEncoder;

impl PayloadFilter for NoEncoder {
    fn replaces(&self) -> bool {
        true
    }

    fn take(&mut self, _: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        Taken::Failed
    }
}

/// Chooses the algorithm that the client takes, while its request is at hand.
pub(super) fn request_head(tx: &mut Transaction) {
    let Some(settings) = effective(tx) else { return };
    let request = &tx.space.request;
    let is_head = request.method_id() == Method::Head;
    let mut facts =
        RequestFacts::new(request.version().at_least_11(), is_head, settings.algorithms);
    request.fields().for_each(|field| facts.field(field.name, field.value));
    let offload = settings.offload && facts.is_offloaded();
    let wanted = match facts.algorithm() {
        Ok(algorithm) => Some(algorithm),
        // Every client accepts the body unchanged; as measured, it is sent in chunks then.
        Err(Refusal::Identity | Refusal::AcceptEncoding) => {
            settings.algorithms.iter().copied().find(|it| *it == Algorithm::Identity)
        }
        Err(_) => None,
    };
    tx.notes.coding = wanted;
    tx.notes.used = true;
    if offload {
        edit(&mut tx.space.request, compression::OFFLOAD);
    }
}

/// Decides whether the response is compressed. From here on rules see `res.comp`.
pub(super) fn response_begins(tx: &mut Transaction, body: BodyKind) {
    tx.notes.compressed = None;
    let Some(algorithm) = tx.notes.coding else { return };
    let Some(settings) = effective(tx) else { return };
    let body = match body {
        BodyKind::Length(length) => Body::Length(length),
        BodyKind::Chunked => Body::Delimited,
        BodyKind::None | BodyKind::UntilClose | BodyKind::Tunnel => Body::UntilClose,
    };
    if matches!(body, Body::Length(length) if length < settings.min_size) {
        return;
    }
    if compression::decide(algorithm, &facts_of(&tx.space.response, body), settings.types).is_err()
    {
        return;
    }
    let tuning = &tx.worker.shared.settings.compression.tuning;
    let memory = Encoder::most_memory(algorithm, tuning);
    if limits(&tx.worker).admit(&load(&tx.worker), memory).is_err() {
        if let Body::Length(length) = body {
            accounting::add_both(tx, Metric::CompressionBypassed, length);
        }
        return;
    }
    tx.notes.compressed = Some(algorithm);
}

fn facts_of(head: &Head, body: Body) -> ResponseFacts<'_> {
    let mut facts = ResponseFacts::new(head.status(), head.version().at_least_11(), body);
    head.fields().for_each(|field| facts.field(field.name, field.value));
    facts
}

/// Edits the head of a response that is compressed. The result is how its body is delimited then,
/// and its encoder; the body of `identity` has none.
pub(super) fn response_head(
    tx: &mut Transaction,
    body: BodyKind,
) -> (BodyKind, Option<Box<dyn PayloadFilter>>) {
    let Some(algorithm) = tx.notes.compressed.take() else { return (body, None) };
    let facts = facts_of(&tx.space.response, Body::Delimited);
    let none: &[&[u8]] = &[];
    // A rule may have made it unfit since, with a coding of its own or without a body.
    let fit = matches!(body, BodyKind::Length(_) | BodyKind::Chunked);
    let plan = compression::decide(algorithm, &facts, none).ok().filter(|_| fit);
    let Some(mut plan) = plan else { return (body, None) };
    let is_encoded = algorithm != Algorithm::Identity;
    // The encoder comes first: a head must not name a coding that its body does not get.
    let encoder = if is_encoded { encoder(tx, algorithm) } else { None };
    if is_encoded && encoder.is_none() {
        return (body, None);
    }
    tx.notes.compressed = Some(algorithm);
    plan.has_length = matches!(body, BodyKind::Length(_));
    let edits = plan.edits().filter(|edit| match edit {
        // The encoder of the head announces chunks by itself in versions that have them.
        HeadEdit::Add { name: "transfer-encoding", .. } => false,
        HeadEdit::Add { name: "content-encoding", .. } => is_encoded,
        _ => true,
    });
    edits.for_each(|it| edit(&mut tx.space.response, it));
    accounting::count_both(tx, Metric::CompressedResponses);
    (BodyKind::Chunked, encoder)
}

fn edit(head: &mut Head, edit: HeadEdit) {
    match edit {
        HeadEdit::Remove { name } => {
            head.remove(name.as_bytes());
        }
        HeadEdit::Add { name, value } => head.push(name.as_bytes(), value.as_bytes()),
        HeadEdit::Prefix { name, prefix } => {
            let found = head.fields().position(|field| field.name == name.as_bytes());
            let Some(index) = found else { return };
            let old = head.fields().nth(index).map(|field| field.value.to_vec());
            let value = [prefix.as_bytes(), &old.unwrap_or_default()].concat();
            head.replace_value(index, &value);
        }
    }
}

fn limits(worker: &Worker) -> Limits {
    worker.shared.compression_limits()
}

/// The state of the process, as far as limits ask for it.
fn load(worker: &Worker) -> Load {
    let limits = limits(worker);
    if limits == Limits::default() {
        return Load { idle_percent: 100, ..Load::default() };
    }
    let of_all = &worker.shared.compression;
    let idle_percent = if limits.cpu_percent < 100 { worker.idle_percent() } else { 100 };
    Load {
        rate: of_all.per_second(worker.millis()).0,
        idle_percent: idle_percent.min(100) as u8,
        memory: of_all.memory(),
    }
}

/// The encoder of a body; `None` if there is no memory for it.
fn encoder(tx: &Transaction, algorithm: Algorithm) -> Option<Box<dyn PayloadFilter>> {
    let tuning = tx.worker.shared.settings.compression.tuning;
    let encoder = Encoder::new(algorithm, &tuning).ok()?;
    let memory = encoder.memory();
    tx.worker.shared.compression.take_memory(memory);
    Some(Box::new(Compressor {
        encoder,
        memory,
        level: LevelControl::new(tuning.level),
        worker: tx.worker.clone(),
        front: tx.client.proxy.clone(),
        back: tx.backend.clone(),
    }))
}

/// The encoder of one body, which counts bytes in and out.
struct Compressor {
    encoder: Encoder,
    /// Bytes of memory that are counted for it.
    memory: usize,
    level: LevelControl,
    worker: Rc<Worker>,
    front: FrontendRef,
    back: Option<BackendRef>,
}

impl Debug for Compressor {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Compressor").finish_non_exhaustive()
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        self.worker.shared.compression.give_memory(self.memory);
    }
}

impl PayloadFilter for Compressor {
    fn replaces(&self) -> bool {
        true
    }

    fn take(&mut self, offer: Offer<'_>, output: &mut Vec<u8>) -> Taken {
        let before = output.len();
        // Each piece can be decoded when it arrives: the client waits for no later one.
        let flush = if offer.last { Flush::Finish } else { Flush::Sync };
        let outcome = {
            let mut scratch = self.worker.encoder_scratch.borrow_mut();
            let scratch = scratch.get_or_insert_default();
            self.encoder.append(offer.payload, output, flush, scratch)
        };
        if outcome.is_err() {
            return Taken::Failed;
        }
        self.count(offer.payload.len(), output.len() - before);
        Taken::Bytes(offer.payload.len())
    }
}

impl Compressor {
    fn count(&mut self, consumed: usize, produced: usize) {
        let worker = &self.worker;
        worker.shared.compression.count(worker.millis(), consumed, produced);
        let back = self.back.as_ref().map(|it| it.block());
        for block in [Some(self.front.block()), back].into_iter().flatten() {
            block.add(Metric::CompressedIn, consumed as u64);
            block.add(Metric::CompressedOut, produced as u64);
        }
        let limits = limits(worker);
        if limits != Limits::default()
            && let Some(level) = self.level.step(&limits, &load(worker))
        {
            self.encoder.set_level(level);
        }
        let memory = self.encoder.memory();
        if memory != self.memory {
            worker.shared.compression.take_memory(memory);
            worker.shared.compression.give_memory(std::mem::replace(&mut self.memory, memory));
        }
    }
}
