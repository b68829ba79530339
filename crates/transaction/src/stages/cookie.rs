//! Persistence by a cookie (manual section 4.2, `cookie`): the server that a client's cookie names,
//! and what becomes of the cookie on its way back.

mod field;

use crate::stages::checkcache;
use engine::state::backend::server_cookie;
use engine::state::runtime::Backend;
pub(crate) use engine::state::session::cookie_dates;
pub(crate) use engine::state::session::cookie_dates::Dates;
use engine::state::session::transaction::{Persistence, Transaction};
use field::Edit;
use htx::{Head, HeaderId, Method};
use settings::{Cookie, CookieMode};
use std::borrow::Cow;

/// Looks for the cookie in a request: the server that it names, and its validity.
pub(crate) fn request(tx: &mut Transaction, back: &Backend) {
    let settings = &back.settings;
    let Some(cookie) = &settings.cookie else { return };
    tx.is_post = tx.space.request.method_id() == Method::Post;
    let unheeded = is_unheeded(tx);
    let judge = CookieFacts {
        cookie,
        back,
        forced: tx.persistence == Persistence::Forced || settings.persists,
        now: tx.worker.second(),
    };
    let Some(found) = judge.all(&tx.space.request) else {
        note(tx, cookie, b'N');
        return;
    };
    note(tx, cookie, if unheeded { b'U' } else { found.worth });
    if !unheeded {
        (tx.cookie_dates, tx.persistent_server) = (found.dates, found.slot);
    }
    hand_on(&mut tx.space.request, cookie);
}

/// Whether rules override the cookie: the client then keeps its cookie, too.
fn is_unheeded(tx: &Transaction) -> bool {
    tx.selected_by_rule || tx.persistence == Persistence::Ignored
}

/// The server that the cookie has named does not answer, and another one gets the request.
pub(crate) fn redispatched(tx: &mut Transaction) {
    let worth = &mut tx.notes.journal.cookie.0;
    if *worth == b'V' {
        *worth = b'D';
    }
}

/// A decoded cookie.
struct DecodedCookie {
    /// The letter of its state in the log.
    worth: u8,
    /// The server that it leads to.
    slot: Option<usize>,
    dates: Dates,
}

/// The facts that decide the state of a cookie.
struct CookieFacts<'a> {
    cookie: &'a Cookie,
    back: &'a Backend,
    forced: bool,
    now: u32,
}

impl CookieFacts<'_> {
    /// The first cookie that leads to a server; otherwise the last that knows one; otherwise any.
    fn all(&self, head: &Head) -> Option<DecodedCookie> {
        let mut best: Option<DecodedCookie> = None;
        for field in head.by_id(HeaderId::Cookie) {
            for value in field::values(field.value, &self.cookie.name) {
                let found = self.one(value);
                if found.slot.is_some() {
                    return Some(found);
                }
                if best.is_none() || found.worth != b'I' {
                    best = Some(found);
                }
            }
        }
        best
    }

    fn one(&self, value: &[u8]) -> DecodedCookie {
        let (named, dates) = split(self.cookie, value);
        let slot = find(self.back, named);
        let stale = dates.are_stale(self.cookie, self.now);
        let dates = if stale.is_some() { Dates::default() } else { dates };
        let stands = |slot: &usize| self.back.servers[*slot].state.accepts_persistent();
        let named = slot.filter(|slot| stale.is_none() && (self.forced || stands(slot)));
        let worth = match (slot, named) {
            (None, _) => b'I',
            (Some(_), None) => stale.unwrap_or(b'D'),
            (Some(slot), Some(_)) if !stands(&slot) => b'D',
            (Some(_), Some(_)) => b'V',
        };
        DecodedCookie { worth, slot: named, dates }
    }
}

/// Rewrites the cookies of a request for the server.
fn hand_on(head: &mut Head, cookie: &Cookie) {
    let hides = cookie.mode == CookieMode::Insert && cookie.indirect;
    let mut next = 0;
    loop {
        let Some(field) = head.by_id(HeaderId::Cookie).find(|it| it.index >= next) else { return };
        let index = field.index;
        next = index + 1;
        let text = match hides {
            true => field::without(field.value, &cookie.name),
            false => field::cleaned(field.value, &cookie.name, cookie.mode == CookieMode::Prefix),
        };
        if let Some(text) = text {
            put(head, index, &text);
        }
    }
}

/// Replaces the value of a field; an empty value removes the field.
fn put(head: &mut Head, index: usize, text: &[u8]) {
    match text.is_empty() {
        true => head.remove_at(index),
        false => head.replace_value(index, text),
    };
}

/// Logs the state of the client's cookie, unless the cookie is only observed.
fn note(tx: &mut Transaction, cookie: &Cookie, worth: u8) {
    if !cookie.is_passive() {
        // This holds until the response has a cookie.
        tx.notes.journal.cookie = (worth, b'N');
    }
}

/// The server's value, and the dates. A client may still have these dates from a time when the
/// cookie had a limit.
fn split<'a>(cookie: &Cookie, value: &'a [u8]) -> (&'a [u8], Dates) {
    let before =
        |delimiter| value.iter().position(|byte| *byte == delimiter).unwrap_or(value.len());
    match cookie.mode {
        CookieMode::Prefix => (&value[..before(field::PREFIXED)], Dates::default()),
        CookieMode::Insert => {
            let end = before(cookie_dates::DELIMITER);
            (&value[..end], Dates::parse(&value[end..]))
        }
        _ => (&value[..before(cookie_dates::DELIMITER)], Dates::default()),
    }
}

/// The server that has this value.
fn find(back: &Backend, value: &[u8]) -> Option<usize> {
    let key = back.dynamic_cookie.key();
    back.servers.slot_of(|server| {
        let own = server_cookie::value_of(server, key.as_deref());
        own.is_some_and(|it| !it.is_empty() && *it == *value)
    })
}

/// Makes a server's response ready for the client: tells it which server to ask for next time.
pub(crate) fn response(tx: &mut Transaction) {
    let Some(backend) = tx.backend.clone() else { return };
    let Some(cookie) = &backend.back.settings.cookie else { return };
    if cookie.is_passive() {
        return;
    }
    tx.notes.journal.cookie.1 = b'N';
    let Some(claim) = tx.claim.as_ref() else { return };
    let valid = matches!(tx.notes.journal.cookie.0, b'V' | b'D');
    let known = tx.persistent_server == Some(claim.slot()) && valid;
    let (unheeded, direct) = (is_unheeded(tx), claim.server().is_direct());
    let key = backend.back.dynamic_cookie.key();
    let value = server_cookie::value_of(claim.server(), key.as_deref()).map(Cow::into_owned);
    let provided = from_server(tx, cookie, value.as_deref(), known);
    let allowed = !cookie.post_only || tx.is_post;
    if cookie.mode != CookieMode::Insert || provided || !allowed || unheeded || direct {
        return;
    }
    let Some(value) = value else {
        // A server without a value has no client to keep.
        tx.notes.journal.cookie.1 = b'I';
        return insert(tx, cookie, [&*cookie.name, b"=", NEVER].concat());
    };
    let now = tx.worker.second();
    let refreshed = tx.cookie_dates.refreshed(cookie, now);
    if !known || refreshed.is_some() {
        tx.notes.journal.cookie.1 = if known { b'U' } else { b'I' };
        let dates = refreshed.unwrap_or_else(|| Dates::default().first(cookie, now));
        let mut pair = [&*cookie.name, b"=", &value].concat();
        dates.write(cookie, &mut pair);
        insert(tx, cookie, pair);
    }
}

/// Edits the cookie that the server sets. `true`: the cookie is the server's to set.
fn from_server(tx: &mut Transaction, cookie: &Cookie, value: Option<&[u8]>, known: bool) -> bool {
    let head = &mut tx.space.response;
    let mut next = 0;
    let mut provided = false;
    while let Some((index, listed)) = set_by_server(head, &cookie.name, next) {
        next = index + 1;
        let (letter, edit) = match (cookie.mode, value) {
            _ if cookie.preserve => {
                provided = true;
                (b'P', None)
            }
            (CookieMode::Insert, _) => (b'D', Some(Edit::Drop)),
            _ if cookie.indirect && known => (b'D', Some(Edit::Drop)),
            (CookieMode::Rewrite, Some(value)) => (b'R', Some(Edit::Value(value))),
            (CookieMode::Prefix, Some(value)) => (b'R', Some(Edit::Prefix(value))),
            _ => (b'P', None),
        };
        tx.notes.journal.cookie.1 = letter;
        let (Some(edit), Some(field)) = (edit, head.as_fields().at(index)) else { continue };
        let text = field::edited(field.value, &cookie.name, listed, edit);
        put(head, index, &text);
    }
    provided
}

/// The next field from an index on in which the server sets the cookie, and whether it may set
/// several there (`Set-Cookie2`).
fn set_by_server(head: &Head, name: &[u8], from: usize) -> Option<(usize, bool)> {
    head.fields().filter(|field| field.index >= from).find_map(|field| {
        let listed = match field.id {
            HeaderId::SetCookie => false,
            _ if field.name.eq_ignore_ascii_case(b"set-cookie2") => true,
            _ => return None,
        };
        field::sets(field.value, name, listed).then_some((field.index, listed))
    })
}

/// The attribute that removes a cookie from a client.
const NEVER: &[u8] = b"; Expires=Thu, 01-Jan-1970 00:00:01 GMT";

fn insert(tx: &mut Transaction, cookie: &Cookie, mut line: Vec<u8>) {
    let head = &mut tx.space.response;
    line.extend_from_slice(b"; path=/");
    for attribute in &cookie.attributes {
        line.extend_from_slice(b"; ");
        line.extend_from_slice(attribute);
    }
    head.push(b"set-cookie", &line);
    if cookie.nocache && checkcache::may_be_kept(tx.only_reads, head) {
        head.push(b"cache-control", b"private");
    }
}

#[cfg(test)]
mod tests;
