//! `stick` rules applied: the server that a table remembers, and what a table is to remember.
//!
//! Keys are taken from the request before a server is chosen, and from the response when it is
//! there. They are stored once it is known which server answered (manual section 4.2, `stick`).

use crate::stages::stage::StageOutcome;
use crate::stages::tcp_content_rules;
use crate::stages::wait;
use engine::state::backend::reservation::Claim;
use engine::state::runtime::{Backend, BackendRef, Proxy, ProxyRef, Server};
use engine::state::session::sticking::Pending;
use engine::state::session::transaction::{Progress, Transaction};
use observability::telemetry::sample_context::View;
use reactor::Address;
use rules::{Need, StickRule};
use settings::Mode;
use std::sync::Arc;
use table::{DataType, Entry, Key, ServerKey};
use transport::stats::transaction_log::Failure;

/// The most keys that one request and its response can store.
const MAX_STORES: usize = 8;

/// The key by which tables of this kind remember a server.
fn key_of(server: &Server, kind: ServerKey) -> Arc<str> {
    match kind {
        ServerKey::Name => server.state.name().share(),
        ServerKey::Address => match &server.location.now().address {
            Address::Inet(address) => address.to_string().into(),
            Address::Unix(path) => path.to_string_lossy().into(),
            pair @ Address::Pair(_) => pair.to_string().into(),
        },
    }
}

/// `stick match` and `stick store-request`.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn request(
    tx: &mut Transaction,
    proxy: &BackendRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let done = take_request_keys(tx, proxy, &mut at.place.section);
    Ok(if done { StageOutcome::Next } else { StageOutcome::Wait(Need::Answer) })
}

/// The `stick store` rules of the backend.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn response(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let Some(backend) = tx.backend.clone().filter(|backend| backend.rules.sticking) else {
        return Ok(StageOutcome::Next);
    };
    if tx.client.mode == Mode::Tcp && backend.rules.sticking_response {
        // A rule that takes keys from the response needs some bytes of it.
        let complete = tcp_content_rules::read_server(tx)?;
        if !complete && tx.server.as_ref().is_some_and(|server| server.received().is_empty()) {
            return Ok(StageOutcome::Wait(Need::Bytes));
        }
    }
    let stored = store(tx, &backend, &mut at.place.section);
    Ok(if stored { StageOutcome::Next } else { StageOutcome::Wait(Need::Answer) })
}

/// Looks for the server that a table remembers, unless a cookie has named one, and takes the keys
/// that are to be stored, from the rule of number `at` on. `false`: that rule waits for an answer.
fn take_request_keys(tx: &mut Transaction, backend: &BackendRef, at: &mut usize) -> bool {
    for (number, rule) in rules(backend).enumerate().skip(*at) {
        *at = number;
        if rule.stores_response {
            continue;
        }
        let matches = rule.matches && tx.persistent_server.is_none();
        let stores = rule.stores_request && may_store(tx, rule, false);
        if !matches && !stores {
            continue;
        }
        let Some(applies) = applies(tx, rule) else { return false };
        if applies {
            if matches {
                tx.persistent_server = remembered(tx, &backend.back, rule);
            }
            if stores {
                take_key(tx, rule, false);
            }
        }
    }
    true
}

/// Stores the server with the keys taken from the request, and with those of the response, which
/// rules from the one of number `at` on take. `false`: that rule waits for an answer.
fn store(tx: &mut Transaction, backend: &BackendRef, at: &mut usize) -> bool {
    for (number, rule) in rules(backend).enumerate().skip(*at) {
        *at = number;
        if !rule.stores_response || !may_store(tx, rule, true) {
            continue;
        }
        match applies(tx, rule) {
            None => return false,
            Some(false) => {}
            Some(true) => take_key(tx, rule, true),
        }
    }
    let Some(server) = tx.claim.as_ref().map(Claim::server) else { return true };
    if !server.settings.non_stick {
        for pending in &tx.notes.stores {
            remember(tx, server, pending);
        }
    }
    tx.notes.stores.clear();
    true
}

fn applies(tx: &mut Transaction, rule: &StickRule) -> Option<bool> {
    wait::decide(tx, |view| rule.applies(view))
}

fn rules(backend: &Proxy) -> impl Iterator<Item = &StickRule> {
    backend.settings.rules.sticking.iter()
}

/// Each table stores one key of the request and one of the response.
fn may_store(tx: &Transaction, rule: &StickRule, response: bool) -> bool {
    let stores = &tx.notes.stores;
    let taken = |it: &Pending| Some(it.table) == rule.table() && it.response == response;
    stores.len() < MAX_STORES && !stores.iter().any(taken)
}

fn take_key(tx: &mut Transaction, rule: &StickRule, response: bool) {
    let key = rule.with_key(&View::of(tx), |table, key| (table.number(), key.clone().into_owned()));
    if let Some((table, key)) = key {
        tx.notes.used = true;
        tx.notes.stores.push(Pending { table, key, response });
    }
}

/// The server that the table of a rule remembers for this request, if it takes requests.
fn remembered(tx: &mut Transaction, back: &Backend, rule: &StickRule) -> Option<usize> {
    let now = tx.worker.millis();
    let find = |table: &table::Table, key: &Key<'_>| {
        let kind = table.settings().server_key;
        table.touch(key, now, |entry| server_of(back, entry, kind, now))
    };
    let slot = rule.with_key(&View::of(tx), find)???;
    back.servers[slot].state.accepts_persistent().then_some(slot)
}

/// The server that an entry names, by its key or else by its number.
fn server_of(back: &Backend, entry: &Entry, kind: ServerKey, now: u64) -> Option<usize> {
    let id = entry.get(DataType::ServerId, 0, now).filter(|id| *id != 0);
    let by_id = |server: &Server| Some(u64::from(server.state.id())) == id;
    let Some(key) = entry.server_key(now) else { return back.servers.slot_of(by_id) };
    let by_key = |server: &Server| match kind {
        ServerKey::Name => server.state.name() == *key,
        ServerKey::Address => *key_of(server, kind) == *key,
    };
    // Mostly the number says it too, and comparing numbers is quick.
    let quick = back.servers.slot_of(by_id);
    quick.filter(|slot| by_key(&back.servers[*slot])).or_else(|| back.servers.slot_of(by_key))
}

fn remember(tx: &Transaction, server: &Server, pending: &Pending) {
    let Some(table) = tx.worker.shared.tables.get(pending.table) else { return };
    let key = key_of(server, table.settings().server_key);
    table.enter(&pending.key, tx.worker.millis(), |entry| {
        entry.set_server(server.state.id(), Some(&key));
    });
}
