//! `filter spoe`: the events of a stream at which its engines send messages.

use crate::filters;
use crate::stages::stage::StageOutcome;
use engine::state::session::transaction::{Progress, Transaction};
use observability::telemetry::spoe;
use rules::{Need, SpoeEvent};
use transport::stats::transaction_log::Failure;

/// Begins to ask about an event; `false`: it sends no messages.
fn begin(tx: &mut Transaction, event: SpoeEvent) -> bool {
    if !filters::has_any(tx) {
        return false;
    }
    let Some(pending) = spoe::at_event(tx, event) else { return false };
    tx.notes.used = true;
    tx.notes.asked.begin(pending);
    true
}

/// A stage that has agents asked about an event, once.
fn stage(
    tx: &mut Transaction,
    at: &mut Progress,
    event: SpoeEvent,
) -> Result<StageOutcome, Failure> {
    let first = std::mem::replace(&mut at.place.section, 1) == 0;
    let asks = first && begin(tx, event);
    Ok(if asks { StageOutcome::Wait(Need::Answer) } else { StageOutcome::Next })
}

/// A function of the table of stages for each event.
macro_rules! stages {
    ($($name:ident: $event:ident;)*) => {
        $(
            #[doc = concat!("The stage of the event `", stringify!($event), "`.")]
            ///
            /// # Errors
            /// None: the table wants a result.
            pub(crate) fn $name<P>(
                tx: &mut Transaction,
                _: &P,
                at: &mut Progress,
            ) -> Result<StageOutcome, Failure> {
                stage(tx, at, SpoeEvent::$event)
            }
        )*
    };
}

stages! {
    client_session: ClientSession;
    frontend_tcp: FrontendTcpRequest;
    frontend_http: FrontendHttpRequest;
    backend_tcp: BackendTcpRequest;
    backend_http: BackendHttpRequest;
    server_session: ServerSession;
    tcp_response: TcpResponse;
    http_response: HttpResponse;
}
