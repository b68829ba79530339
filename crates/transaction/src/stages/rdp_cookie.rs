//! `persist rdp-cookie`: the server that a terminal server's cookie names by its address.

use crate::stages::stage::StageOutcome;
use engine::state::runtime::BackendRef;
use engine::state::session::transaction::{Persistence, Transaction};
use observability::telemetry::sample_context::View;
use reactor::Address;
use sample::{Type, Value};
use std::net::{Ipv4Addr, SocketAddr};
use transport::stats::transaction_log::Failure;

/// Looks for the cookie in the client's first bytes, and for the server that it names.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn request(tx: &mut Transaction, backend: &BackendRef) -> Result<StageOutcome, Failure> {
    look(tx, backend);
    Ok(StageOutcome::Next)
}

fn look(tx: &mut Transaction, backend: &BackendRef) {
    let back = &backend.back;
    let Some(expr) = &back.settings.rdp_cookie else { return };
    if tx.persistent_server.is_some() || tx.persistence == Persistence::Ignored {
        return;
    }
    let forced = tx.persistence == Persistence::Forced || back.settings.persists;
    let address = match expr.eval_as(Type::Bin, &View::of(tx)) {
        Ok(Value::Bin(value)) => parse(&value),
        _ => None,
    };
    let Some(address) = address.map(Address::Inet) else { return };
    tx.persistent_server = back.servers.slot_of(|server| {
        let usable = forced || server.state.accepts_persistent();
        usable && server.location.now().address == address
    });
}

/// `<address>.<port>.<anything>`: both as numbers in the byte order of the machines that they come
/// from, the lowest byte first.
fn parse(value: &[u8]) -> Option<SocketAddr> {
    let mut numbers = std::str::from_utf8(value).ok()?.split('.');
    let address: u32 = numbers.next()?.parse().ok()?;
    let port: u16 = numbers.next()?.parse().ok()?;
    numbers.next()?;
    Some(SocketAddr::from((Ipv4Addr::from(address.to_le_bytes()), port.swap_bytes())))
}

#[cfg(test)]
mod tests {
    //! Tests of valid and invalid cookies.
    use super::*;

    #[test]
    fn an_address_and_a_port_have_their_bytes_turned() {
        let parsed = |text: &str| parse(text.as_bytes()).map(|it| it.to_string());
        assert_eq!(parsed("16777343.15629.0000").as_deref(), Some("127.0.0.1:3389"));
        assert_eq!(parsed("3640205228.15629.0000").as_deref(), Some("172.31.249.216:3389"));
        for text in ["", "1.2", "x.15629.0", "4294967296.1.0", "1.65536.0", "-1.1.0"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
