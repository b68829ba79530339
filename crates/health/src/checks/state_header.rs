//! The header that `http-check send-state` adds to a check.

use crate::checks::check_run::Subject;
use balance::OpState;
use engine::state::worker::Worker;
use reactor::Address;

/// The value of `X-Haproxy-Server-State`.
pub(super) fn text(worker: &Worker, subject: &Subject<'_>) -> String {
    let Subject { proxy, back, server, .. } = *subject;
    let (address, port) = match &server.location.now().address {
        Address::Inet(address) => (address.ip().to_string(), address.port().to_string()),
        Address::Unix(_) | Address::Pair(_) => ("unix".to_owned(), "unix".to_owned()),
    };
    let usable = back.servers.iter().filter(|it| it.state.is_usable());
    let total: u32 = usable.map(|it| it.state.shown_weight()).sum();
    let state = &server.state;
    format!(
        "{}; address={address}; port={port}; name={}/{}; node={}; weight={}/{total}; scur={}/{}; \
         qcur={}",
        word(state),
        proxy.name(),
        state.name(),
        worker.shared.settings.node,
        state.shown_weight(),
        server.sessions.current(),
        back.sessions.current(),
        server.queue.len(),
    )
}

/// `UP`, `DOWN` or `NOLB`, with the progress towards the next state if the server is in transition.
fn word(state: &balance::Server) -> String {
    let word = match state.state().0 {
        OpState::Stopped => "DOWN",
        OpState::Stopping => "NOLB",
        OpState::Starting | OpState::Running => "UP",
    };
    let health = state.check_record().health;
    match health.in_transition() {
        true => {
            let (now, of) = health.fraction();
            format!("{word} {now}/{of}")
        }
        false => word.to_owned(),
    }
}
