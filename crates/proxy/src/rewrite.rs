//! What happens to messages on their way besides the configured rules: forwarding headers, cookies.
//! Never refuses a message.

use crate::journal::{Cause, Failure, Phase};
use crate::judge::Persistence;
use crate::runtime::ProxyRef;
use crate::settings::{Cookie, ForwardFor, HeaderNames, Proxy};
use crate::transaction::Transaction;
use htx::{Head, HeaderId, list};
use sample::Facts as _;
use std::io::Write as _;
use std::net::IpAddr;

/// Picks an option of a proxy.
type Pick = fn(&Proxy) -> &Option<ForwardFor>;

/// Makes the request ready for a server.
pub(crate) fn request(tx: &mut Transaction) {
    find_cookie(tx);
    name_request(tx);
    let (front, back) = (tx.client.proxy.clone(), tx.backend.clone());
    let of = |proxy: &Option<ProxyRef>, pick: Pick| {
        proxy.as_ref().and_then(|proxy| pick(&proxy.settings).clone())
    };
    let front = Some(front);
    let options: [(Pick, bool); 2] =
        [(|proxy| &proxy.forward_for, true), (|proxy| &proxy.original_to, false)];
    for (pick, source) in options {
        let (front, back) = (of(&front, pick), of(&back, pick));
        if front.is_none() && back.is_none() {
            continue;
        }
        let address = if source { tx.view().source() } else { tx.view().destination() };
        if let Some(address) = address {
            forward_for(&mut tx.space.request, front.as_ref(), back.as_ref(), address.ip());
        }
    }
}

/// `option http-restrict-req-hdr-names` of one proxy.
///
/// # Errors
/// 403: a name has a character that it must not have.
pub(crate) fn restrict_names(tx: &mut Transaction, proxy: &ProxyRef) -> Result<(), Failure> {
    let policy = proxy.settings.header_names;
    let plain = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let head = &mut tx.space.request;
    if policy == HeaderNames::Preserve || head.fields().all(|field| plain(field.name)) {
        return Ok(());
    }
    if policy == HeaderNames::Delete {
        head.as_fields_mut().remove_where(|field| !plain(field.name));
        return Ok(());
    }
    crate::report::denied(tx, proxy, crate::counters::Metric::DeniedRequests);
    Err(Failure::new(403, Cause::Proxy, Phase::Request))
}

/// Builds the unique id while the request is there, whoever asks for it later, and sends it along
/// as `unique-id-header`.
fn name_request(tx: &mut Transaction) {
    let proxy = tx.client.proxy.clone();
    let Some(id) = tx.view().unique_id().map(|id| id.to_vec()) else { return };
    tx.notes.used = true;
    if let Some(name) = &proxy.settings.unique_id_header {
        tx.space.request.push(name.as_bytes(), &id);
    }
}

/// `option forwardfor`: the backend's header name holds, both must agree that it is wanted.
fn forward_for(
    head: &mut Head,
    front: Option<&ForwardFor>,
    back: Option<&ForwardFor>,
    client: IpAddr,
) {
    let excepted = |option: &&ForwardFor| {
        option.except.is_some_and(|(network, bits)| contains(network, bits, client))
    };
    let given = [back, front].into_iter().flatten();
    if given.clone().any(|option| excepted(&option)) {
        return;
    }
    let Some(name) = given.clone().map(|option| option.header.as_bytes()).next() else { return };
    if given.clone().all(|option| option.if_none) && head.get(name).is_some() {
        return;
    }
    let mut text = [0u8; 48];
    let mut rest = &mut text[..];
    // 48 bytes hold any address.
    let _ = write!(rest, "{client}");
    let left = rest.len();
    let used = text.len() - left;
    head.push(name, &text[..used]);
}

/// Whether a network holds an address; families never mix.
pub(crate) fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            bits == 0 || (a.to_bits() ^ b.to_bits()).checked_shr(32 - u32::from(bits)) == Some(0)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            bits == 0 || (a.to_bits() ^ b.to_bits()).checked_shr(128 - u32::from(bits)) == Some(0)
        }
        _ => false,
    }
}

/// Looks for the persistence cookie: which server it names, and what that is worth.
fn find_cookie(tx: &mut Transaction) {
    let Some(backend) = tx.backend.clone() else { return };
    let (Some(settings), Some(back)) = (backend.settings.back.as_ref(), backend.back.as_ref())
    else {
        return;
    };
    let Some(cookie) = &settings.cookie else { return };
    if tx.persistence == Persistence::Ignored {
        return;
    }
    let Some((field, start, end)) = locate(&tx.space.request, &cookie.name) else {
        tx.notes.journal.cookie.0 = b'N';
        return;
    };
    let value = tx.space.request.as_fields().at(field).map_or(&[][..], |it| it.value);
    let name_end = cookie.name.len() + 1;
    let named = value[start..end].get(name_end..).unwrap_or_default();
    let slot = back.servers.iter().position(|server| {
        server.settings.cookie.as_ref().is_some_and(|it| it.as_bytes() == named)
    });
    let forced = tx.persistence == Persistence::Forced;
    let usable = |slot: &usize| forced || back.servers[*slot].state.accepts_persistent();
    let named = slot.filter(usable);
    if !tx.selected {
        tx.wanted = named;
    }
    tx.notes.journal.cookie.0 = match (slot, named) {
        (None, _) => b'I',
        (Some(_), None) => b'D',
        (Some(_), Some(_)) => b'V',
    };
    if cookie.indirect {
        cut(&mut tx.space.request, field, start, end);
    }
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

/// Makes a server's response ready for the client: tells it which server to ask for next time.
pub(crate) fn response(tx: &mut Transaction) {
    let Some(backend) = tx.backend.clone() else { return };
    let Some(cookie) = backend.settings.back.as_ref().and_then(|back| back.cookie.as_ref()) else {
        return;
    };
    tx.notes.journal.cookie.1 = b'N';
    let Some(claim) = tx.claim.as_ref().filter(|_| cookie.insert) else { return };
    let known = tx.wanted == Some(claim.slot()) && tx.notes.journal.cookie.0 == b'V';
    let Some(value) = claim.server().settings.cookie.clone().filter(|_| !known) else { return };
    tx.notes.journal.cookie.1 = b'I';
    insert(&mut tx.space.response, cookie, &value);
}

fn insert(head: &mut Head, cookie: &Cookie, value: &str) {
    let mut line = format!("{}={value}; path=/", cookie.name);
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
