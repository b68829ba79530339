//! Persistence by a cookie (manual section 4.2, `cookie`): the server that a client's cookie names, and what
//! becomes of the cookie on its way back. Never balances.

mod date;

use crate::judge::Persistence;
use crate::runtime::{Back, Server};
use crate::settings::{Cookie, CookieMode};
use crate::transaction::Transaction;
pub(crate) use date::Dates;
use htx::{Head, HeaderId, Method, list};
use reactor::Address;
use std::borrow::Cow;
use std::net::IpAddr;

/// What stands between a server and the cookie that it prefixes.
const PREFIXED: u8 = b'~';

/// Looks for the cookie in a request: which server it names, and what that is worth.
pub(crate) fn request(tx: &mut Transaction) {
    let Some(backend) = tx.backend.clone() else { return };
    let (Some(settings), Some(back)) = (backend.settings.back.as_ref(), backend.back.as_ref())
    else {
        return;
    };
    let Some(cookie) = &settings.cookie else { return };
    tx.posts = tx.space.request.method_id() == Method::Post;
    if tx.persistence == Persistence::Ignored {
        return;
    }
    let Some((field, start, end)) = locate(&tx.space.request, &cookie.name) else {
        note(tx, cookie, b'N');
        return;
    };
    let value = tx.space.request.as_fields().at(field).map_or(&[][..], |it| it.value);
    let value = value[start..end].get(cookie.name.len() + 1..).unwrap_or_default();
    let (named, dates, rest) = split(cookie, value);
    let slot = find(back, named);
    let rest = rest.map(<[u8]>::to_vec);
    let stale = dates.are_stale(cookie, tx.worker.second());
    tx.cookie_dates = if stale.is_some() { Dates::default() } else { dates };
    let forced = tx.persistence == Persistence::Forced || settings.persists;
    let stands = |slot: &usize| back.servers[*slot].state.accepts_persistent();
    let named = slot.filter(|slot| stale.is_none() && (forced || stands(slot)));
    let worth = match (slot, named) {
        (None, _) => b'I',
        (Some(_), None) => stale.unwrap_or(b'D'),
        (Some(slot), _) if !stands(&slot) => b'D',
        (Some(_), Some(_)) if tx.selected => b'U',
        (Some(_), Some(_)) => b'V',
    };
    note(tx, cookie, worth);
    if !tx.selected {
        tx.wanted = named;
    }
    if cookie.mode == CookieMode::Insert && cookie.indirect {
        cut(&mut tx.space.request, field, start, end);
    } else if let Some(rest) = rest {
        let kept = start + cookie.name.len() + 1;
        replace(&mut tx.space.request, field, (kept, end), &rest);
    }
}

/// Enters what the client's cookie is worth into the log; nothing is said about one that is only
/// looked at.
fn note(tx: &mut Transaction, cookie: &Cookie, worth: u8) {
    if !cookie.is_passive() {
        // Until a response says something of it.
        tx.notes.journal.cookie = (worth, b'N');
    }
}

/// The server's value, the dates and, in prefix mode, what the server itself has set.
fn split<'a>(cookie: &Cookie, value: &'a [u8]) -> (&'a [u8], Dates, Option<&'a [u8]>) {
    let at = |delimiter| value.iter().position(|byte| *byte == delimiter);
    match cookie.mode {
        CookieMode::Prefix => match at(PREFIXED) {
            Some(at) => (&value[..at], Dates::default(), Some(&value[at + 1..])),
            None => (value, Dates::default(), None),
        },
        CookieMode::Insert if cookie.max_idle + cookie.max_life > 0 => {
            let end = at(date::DELIMITER).unwrap_or(value.len());
            (&value[..end], Dates::parse(&value[end..]), None)
        }
        _ => (value, Dates::default(), None),
    }
}

/// The server that has this value.
fn find(back: &Back, value: &[u8]) -> Option<usize> {
    let key = back.dynamic_cookie.key();
    back.servers.slot_of(|server| {
        let own = value_of(server, key.as_deref());
        own.is_some_and(|it| !it.is_empty() && it.as_bytes() == value)
    })
}

impl Back {
    /// What a server is called in the persistence cookie, if anything.
    pub fn cookie_value(&self, server: &Server) -> Option<String> {
        value_of(server, self.dynamic_cookie.key().as_deref()).map(Cow::into_owned)
    }
}

/// A server's value in the cookie: its own, or one computed from its address with a key.
fn value_of<'a>(server: &'a Server, key: Option<&str>) -> Option<Cow<'a, str>> {
    if let Some(value) = &server.settings.cookie {
        return Some(Cow::Borrowed(value));
    }
    let key = key?;
    let Address::Inet(address) = &server.location.now().address else { return None };
    let mut text = key.as_bytes().to_vec();
    match address.ip() {
        IpAddr::V4(ip) => text.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => text.extend_from_slice(&ip.octets()),
    }
    text.extend_from_slice(&u32::from(address.port()).to_be_bytes());
    Some(Cow::Owned(format!("{:016x}", sample::hash::xxh64(&text, 0))))
}

/// The first cookie with this name: index of its field, and the place of `name=value` in it.
fn locate(head: &Head, name: &str) -> Option<(usize, usize, usize)> {
    for field in head.by_id(HeaderId::Cookie) {
        let mut start = 0;
        for part in field.value.split(|byte| *byte == b';') {
            let lead = part.iter().take_while(|byte| **byte == b' ').count();
            let trimmed = &part[lead..];
            if trimmed.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")) {
                return Some((field.index, start + lead, start + part.len()));
            }
            start += part.len() + 1;
        }
    }
    None
}

/// Takes one cookie out of a field; the field goes when it was the only one.
fn cut(head: &mut Head, field: usize, start: usize, end: usize) {
    let Some(value) = head.as_fields().at(field).map(|it| it.value.to_vec()) else { return };
    let before = value[..start].trim_ascii_end();
    let before = before.strip_suffix(b";").unwrap_or(before);
    let after = value[end..].strip_prefix(b";").unwrap_or(&value[end..]).trim_ascii_start();
    let kept = match (before.is_empty(), after.is_empty()) {
        (true, _) => after.to_vec(),
        (false, true) => before.to_vec(),
        (false, false) => [before, b"; ", after].concat(),
    };
    match kept.is_empty() {
        true => head.remove_at(field),
        false => head.replace_value(field, &kept),
    };
}

/// Puts another text into a field.
fn replace(head: &mut Head, field: usize, place: (usize, usize), text: &[u8]) {
    let Some(value) = head.as_fields().at(field).map(|it| it.value.to_vec()) else { return };
    head.replace_value(field, &[&value[..place.0], text, &value[place.1..]].concat());
}

/// Makes a server's response ready for the client: tells it which server to ask for next time.
pub(crate) fn response(tx: &mut Transaction) {
    let Some(backend) = tx.backend.clone() else { return };
    let Some(cookie) = backend.settings.back.as_ref().and_then(|back| back.cookie.as_ref()) else {
        return;
    };
    if cookie.is_passive() {
        return;
    }
    tx.notes.journal.cookie.1 = b'N';
    let Some(claim) = tx.claim.as_ref() else { return };
    let valid = matches!(tx.notes.journal.cookie.0, b'V' | b'D');
    let known = tx.wanted == Some(claim.slot()) && valid;
    let key = backend.back.as_ref().and_then(|back| back.dynamic_cookie.key());
    let value = value_of(claim.server(), key.as_deref()).map(Cow::into_owned);
    let provided = from_server(tx, cookie, value.as_deref(), known);
    if cookie.mode != CookieMode::Insert || provided {
        return;
    }
    let allowed = !cookie.post_only || tx.posts;
    let Some(value) = value.filter(|_| allowed) else { return };
    let now = tx.worker.second();
    let refreshed = tx.cookie_dates.refreshed(cookie, now);
    if !known || refreshed.is_some() {
        tx.notes.journal.cookie.1 = if known { b'U' } else { b'I' };
        let dates = refreshed.unwrap_or_else(|| Dates::default().first(cookie, now));
        insert(&mut tx.space.response, cookie, &value, dates);
    }
}

/// What becomes of the cookie where the server sets it. `true`: it is the server's to set.
fn from_server(tx: &mut Transaction, cookie: &Cookie, value: Option<&str>, known: bool) -> bool {
    let head = &mut tx.space.response;
    let mut next = 0;
    let mut provided = false;
    while let Some((field, (start, end))) = set_by_server(head, &cookie.name, next) {
        next = field + 1;
        tx.notes.journal.cookie.1 = match (cookie.mode, value) {
            _ if cookie.preserve => {
                provided = true;
                b'P'
            }
            (CookieMode::Insert, _) => {
                head.remove_at(field);
                b'D'
            }
            _ if cookie.indirect && known => {
                head.remove_at(field);
                b'D'
            }
            (CookieMode::Rewrite, Some(value)) => {
                replace(head, field, (start, end), value.as_bytes());
                b'R'
            }
            (CookieMode::Prefix, Some(value)) => {
                replace(head, field, (start, start), format!("{value}~").as_bytes());
                b'R'
            }
            _ => b'P',
        };
    }
    provided
}

/// The next field from an index on in which the server sets the cookie, and where its value is.
fn set_by_server(head: &Head, name: &str, from: usize) -> Option<(usize, (usize, usize))> {
    head.by_id(HeaderId::SetCookie).filter(|field| field.index >= from).find_map(|field| {
        let lead = field.value.iter().take_while(|byte| **byte == b' ').count();
        let rest = field.value[lead..].strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        let start = field.value.len() - rest.len();
        let end = rest.iter().position(|byte| *byte == b';').unwrap_or(rest.len());
        Some((field.index, (start, start + rest[..end].trim_ascii_end().len())))
    })
}

fn insert(head: &mut Head, cookie: &Cookie, value: &str, dates: Dates) {
    let mut line = format!("{}={value}", cookie.name);
    dates.write(cookie, &mut line);
    line.push_str("; path=/");
    for attribute in &cookie.attributes {
        line.push_str("; ");
        line.push_str(attribute);
    }
    head.push(b"set-cookie", line.as_bytes());
    if cookie.nocache && is_cacheable(head) {
        head.push(b"cache-control", b"private");
    }
}

/// Whether a response invites caches to keep it, and neither forbids it nor explicitly wants it:
/// the ones that `nocache` is about, as measured.
fn is_cacheable(head: &Head) -> bool {
    let marks = [HeaderId::ETag, HeaderId::Expires, HeaderId::LastModified];
    let mut invites = marks.iter().any(|id| head.has(*id));
    for field in head.by_id(HeaderId::CacheControl) {
        for item in list::items(field.value) {
            let name = item.split(|byte| *byte == b'=').next().unwrap_or(item);
            let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
            if is(b"no-cache") || is(b"no-store") || is(b"private") || is(b"public") {
                return false;
            }
            invites |= is(b"max-age") || is(b"s-maxage");
        }
    }
    invites
}

#[cfg(test)]
mod tests;
