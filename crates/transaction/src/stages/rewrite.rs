//! Changes to messages besides the configured rules: forwarding headers, cookies.

use crate::retry::early_data;
use crate::stages::checkcache;
use crate::stages::cookie;
use crate::stages::stage::StageOutcome;
use engine::state::runtime::{BackendRef, ProxyRef};
use engine::state::session::transaction::Transaction;
use htx::Head;
use observability::telemetry::sample_context::View;
use sample::Facts as _;
use settings::{ForwardFor, HeaderNames, Proxy};
use std::io::Write as _;
use std::net::IpAddr;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Picks an option of a proxy.
type Pick = fn(&Proxy) -> &Option<ForwardFor>;

/// Makes the request ready for a server.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn request(tx: &mut Transaction, back: &BackendRef) -> Result<StageOutcome, Failure> {
    checkcache::note(tx, &back.back);
    cookie::request(tx, &back.back);
    tell_name(tx);
    early_data::mark_request(tx);
    let tells = |proxy: &Proxy| proxy.forward_for.is_some() || proxy.original_to.is_some();
    let front = tx.client.proxy.clone();
    if !tells(&front.settings) && !tells(&back.settings) {
        return Ok(StageOutcome::Next);
    }
    let options: [(Pick, bool); 2] =
        [(|proxy| &proxy.forward_for, true), (|proxy| &proxy.original_to, false)];
    for (pick, source) in options {
        let (front, back) = (pick(&front.settings).as_ref(), pick(&back.settings).as_ref());
        if front.is_none() && back.is_none() {
            continue;
        }
        let address = if source { View::of(tx).source() } else { View::of(tx).destination() };
        if let Some(address) = address {
            forward_for(&mut tx.space.request, front, back, address.ip());
        }
    }
    Ok(StageOutcome::Next)
}

/// `option http-restrict-req-hdr-names` of one proxy.
///
/// # Errors
/// 403: a name has a character that it must not have.
#[inline]
pub(crate) fn restrict_names(
    tx: &mut Transaction,
    proxy: &ProxyRef,
) -> Result<StageOutcome, Failure> {
    match proxy.settings.header_names {
        HeaderNames::Preserve => Ok(StageOutcome::Next),
        policy => restrict(tx, proxy, policy).map(|()| StageOutcome::Next),
    }
}

#[cold]
fn restrict(tx: &mut Transaction, proxy: &ProxyRef, policy: HeaderNames) -> Result<(), Failure> {
    let plain = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let head = &mut tx.space.request;
    if head.fields().all(|field| plain(field.name)) {
        return Ok(());
    }
    if policy == HeaderNames::Delete {
        head.as_fields_mut().remove_where(|field| !plain(field.name));
        return Ok(());
    }
    observability::telemetry::accounting::denied(tx, proxy);
    Err(Failure::error(403, Cause::Proxy, Phase::Request))
}

/// Builds the unique id once the frontend's rules have run, unless they have asked for it: rules of
/// the backend, and later users, see the same id.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn name(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    let _ = View::of(tx).unique_id();
    tx.notes.used = true;
    Ok(StageOutcome::Next)
}

/// Sends the unique id along as `unique-id-header`.
fn tell_name(tx: &mut Transaction) {
    if tx.client.proxy.settings.unique_id_header.is_none() {
        return;
    }
    let proxy = tx.client.proxy.clone();
    let Some(id) = View::of(tx).unique_id().map(|id| id.to_vec()) else { return };
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

#[cfg(test)]
mod tests;
