//! The validation of an object that its client gets stale meanwhile (RFC 5861 section 3): a request
//! of the process itself.
//!
//! It continues where the rules of the client's request end, behind `cache-use`: the same frontend,
//! backend, addresses and variables, but no entries of stick tables, no TLS session and no log
//! line. The frontend does not count it. Its client side is an exchange in memory, whose response
//! is read and dropped; caches store it on its way.

use crate::filters;
use crate::message::read_request;
use crate::serve::http;
use crate::stages::stage;
use crate::stages::stage::StageOutcome;
use crate::stages::table::{HTTP_REQUEST, Pass};
use engine::state::runtime::BackendRef;
use engine::state::session::cache_use::CacheUse;
use engine::state::session::client::Client;
use engine::state::session::transaction::{Arrival, Parts, Progress, RulePlace, Transaction};
use mux::BodyKind;
use observability::telemetry::accounting;
use observability::telemetry::trace::points as trace;
use reactor::Class;
use sample::{Value, VarName};
use transport::stats::transaction_log::Failure;
use transport::streams::{self, CallExchange};

/// Bytes of the response that are dropped at once.
const PIECE: usize = 16 << 10;

/// The state that the request takes over from the client's request.
struct Inherited {
    caches: CacheUse,
    variables: Vec<(VarName, Value<'static>)>,
    backend: Option<BackendRef>,
    place: RulePlace,
}

/// Begins the validation that the rules of a request have prepared, if they have.
pub(super) fn begin(tx: &mut Transaction) {
    let Some(validation) = tx.notes.cache.as_mut().and_then(|it| it.background.take()) else {
        return;
    };
    let (worker, place) = (tx.worker.clone(), validation.place);
    let (stream, exchange) = streams::call(&worker.thread, validation.head, BodyKind::None);
    let session = &tx.notes.variables.session;
    let client = Box::new(Client::of_validation(&tx.client, session, stream));
    let inherited = Inherited {
        caches: CacheUse::of_validation(validation.request, validation.stale, validation.ticket),
        variables: tx.notes.variables.transaction.values(),
        backend: tx.backend.clone(),
        place,
    };
    let scheduler = worker.thread.scheduler();
    scheduler.spawn(Class::Normal, run(client, inherited));
    scheduler.spawn(Class::Bulk, discard(exchange));
}

async fn run(client: Box<Client>, inherited: Inherited) {
    let mut tx = Transaction::new(Parts { client, arrival: Arrival::Data });
    trace::at(&tx, &trace::STREAM_NEW);
    trace::at(&tx, &trace::HTTP_NEW);
    filters::begin(&mut tx);
    if let Err(failure) = serve(&mut tx, inherited).await {
        http::fail(&mut tx, failure).await;
    }
    http::finish(tx);
}

async fn serve(tx: &mut Transaction, inherited: Inherited) -> Result<(), Failure> {
    if !read_request::at_once(tx, Arrival::Data)? {
        read_request::head(tx, Arrival::Data).await?;
    }
    let Inherited { caches, variables, backend, place } = inherited;
    accounting::background_request(tx);
    tx.notes.used = true;
    tx.notes.cache = Some(Box::new(caches));
    variables.into_iter().for_each(|(name, value)| tx.notes.variables.set(&name, Some(value)));
    http::list(tx);
    let at = Progress { place, ..Progress::at(HTTP_REQUEST, BodyKind::None) };
    if let Some(backend) = backend {
        accounting::enter_backend(tx, backend.clone());
        let entered = stage::request_from(tx, &backend.common, Pass::Backend, at).await?;
        return http::forward_to(tx, backend, entered).await;
    }
    let front = tx.client.proxy.common.clone();
    match stage::request_from(tx, &front, Pass::Frontend, at).await? {
        StageOutcome::Forward(backend) => http::enter(tx, backend).await,
        StageOutcome::Respond(respond) => http::answer(tx, respond).await,
        _ => Ok(()),
    }
}

/// Reads the response to its end.
async fn discard(exchange: CallExchange) {
    let mut piece = vec![0; PIECE];
    loop {
        let read = match exchange.take_response() {
            Ok(_) => exchange.receive(&mut piece),
            Err(_) => return,
        };
        match read {
            Ok(None) => exchange.wait(false, None).await,
            Ok(Some(0)) | Err(_) => return,
            Ok(Some(_)) => {}
        }
    }
}
