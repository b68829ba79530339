//! Responses: whether one may be stored, for how long it is fresh, and which of its fields are kept
//! (RFC 9111 sections 3, 4.2 and 5.2.2).

use crate::directives::{Directives, Extent, is_named, seconds};
use crate::http_date;
use crate::vary::{Selecting, Variant, VaryFault, variant};
use htx::list::items;
use htx::{FieldRef, Head, HeaderId};

/// The settings of a `cache` section about responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRules {
    /// Longest time in seconds that a response stays fresh (`max-age`).
    pub max_age: u32,
    /// Most bytes of head, content and trailers (`max-object-size`).
    pub max_object_size: u32,
    /// Whether responses with `Vary` are stored (`process-vary`).
    pub process_vary: bool,
    /// Longest time in seconds that a stale response is served while it is validated; 0: never.
    pub stale_while_revalidate: u32,
    /// Longest time in seconds that a stale response is served instead of an error; 0: never.
    pub stale_if_error: u32,
    /// Time in seconds that a stale response with a validator is kept to be validated; 0: not at
    /// all.
    pub keep_for_validation: u32,
}

/// Why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreRefusal {
    /// Its status is not 200.
    Status,
    /// `no-store`
    NoStore,
    /// `private`
    Private,
    /// `no-cache`, also if it names `Set-Cookie` only, as HAProxy does.
    NoCache,
    /// Its `Vary` or its encoding.
    Vary(VaryFault),
    /// The response has neither an explicit lifetime nor a validator.
    NoLifetime,
    /// The response is stale already.
    Stale,
    /// Its `Age` is no number.
    InvalidAge,
    /// The response is larger than `max-object-size`.
    TooLarge,
}

/// How long a response may be used, in seconds from its reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Its age on reception.
    pub age: u32,
    /// The freshness lifetime in seconds; not 0.
    pub fresh: u32,
    /// The time after it during which the response may be served while it is validated (RFC 5861
    /// section 3).
    pub while_revalidate: u32,
    /// The time after `fresh` during which the response may be served instead of an error (RFC 5861
    /// section 4).
    pub if_error: u32,
    /// The time after `fresh` during which the response may be validated.
    pub for_validation: u32,
}

/// A response that may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storable {
    /// How long it may be used.
    pub lifetime: Lifetime,
    /// Its secondary key.
    pub variant: Variant,
    /// The length that it announces.
    pub declared_len: Option<u64>,
    /// The date that `If-Modified-Since` is compared with: `Last-Modified`, else `Date`, else
    /// `now`.
    pub modified: i64,
}

/// Judges a response to a request that may be stored, received `now` (seconds since the epoch).
pub fn judge(
    response: &Head,
    request: &Selecting,
    rules: &StoreRules,
    now: i64,
) -> Result<Storable, StoreRefusal> {
    if response.status() != 200 {
        return Err(StoreRefusal::Status);
    }
    let directives = Directives::of(response);
    permitted(response, &directives)?;
    let variant = variant(response, request, rules.process_vary).map_err(StoreRefusal::Vary)?;
    let lifetime = lifetime(response, &directives, rules, now)?;
    let declared_len = declared_len(response);
    if declared_len.is_some_and(|len| len > rules.max_object_size.into()) {
        return Err(StoreRefusal::TooLarge);
    }
    let date = |id| response.first(id).and_then(|f| http_date::parse(f.value, now));
    let modified = date(HeaderId::LastModified).or_else(|| date(HeaderId::Date)).unwrap_or(now);
    Ok(Storable { lifetime, variant, declared_len, modified })
}

fn permitted(response: &Head, directives: &Directives) -> Result<(), StoreRefusal> {
    if directives.no_store {
        return Err(StoreRefusal::NoStore);
    }
    if directives.private != Extent::Absent {
        return Err(StoreRefusal::Private);
    }
    match directives.no_cache {
        Extent::Whole => Err(StoreRefusal::NoCache),
        Extent::Fields if is_named(response, b"set-cookie") => Err(StoreRefusal::NoCache),
        _ => Ok(()),
    }
}

fn declared_len(response: &Head) -> Option<u64> {
    if response.has(HeaderId::TransferEncoding) {
        return None;
    }
    let value = response.first(HeaderId::ContentLength)?.value;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// How long a response is fresh (section 4.2): `s-maxage`, else `max-age`, else `Expires`; with a
/// validator only, for as long as the section allows.
pub fn lifetime(
    response: &Head,
    directives: &Directives,
    rules: &StoreRules,
    now: i64,
) -> Result<Lifetime, StoreRefusal> {
    let age = age(response)?;
    let explicit = directives.s_maxage.or(directives.max_age);
    let fresh = match explicit {
        Some(seconds) => seconds.saturating_sub(age),
        None if response.has(HeaderId::Expires) => until_expiry(response, now),
        None if has_validator(response) => rules.max_age.saturating_sub(age),
        None => return Err(StoreRefusal::NoLifetime),
    };
    let fresh = fresh.min(rules.max_age);
    if fresh == 0 {
        return Err(StoreRefusal::Stale);
    }
    // `s-maxage` forbids stale responses as `proxy-revalidate` does (section 5.2.2.10).
    let never_stale = directives.must_revalidate
        || directives.no_cache != Extent::Absent
        || directives.s_maxage.is_some();
    let window = |wanted: Option<u32>, most: u32| match wanted {
        Some(seconds) if !never_stale => seconds.min(most),
        _ => 0,
    };
    let while_revalidate = window(directives.stale_while_revalidate, rules.stale_while_revalidate);
    let if_error = window(directives.stale_if_error, rules.stale_if_error);
    let for_validation = if has_validator(response) { rules.keep_for_validation } else { 0 };
    Ok(Lifetime { age, fresh, while_revalidate, if_error, for_validation })
}

/// The age that a response arrives with (section 5.1): the first member, where there is a list.
fn age(response: &Head) -> Result<u32, StoreRefusal> {
    let Some(field) = response.first(HeaderId::Age) else { return Ok(0) };
    let first = items(field.value).next().unwrap_or_default();
    seconds(first).ok_or(StoreRefusal::InvalidAge)
}

/// Seconds until `Expires` (section 5.3); 0 if that is no date.
fn until_expiry(response: &Head, now: i64) -> u32 {
    let expires = response.first(HeaderId::Expires).and_then(|f| http_date::parse(f.value, now));
    let left = expires.map_or(0, |expires| expires.saturating_sub(now));
    left.clamp(0, crate::directives::MAX_SECONDS.into()) as u32
}

fn has_validator(response: &Head) -> bool {
    response.has(HeaderId::ETag) || response.has(HeaderId::LastModified)
}

/// Whether a field of a response is kept (section 3.1): not those of a connection or a proxy, not
/// those that `Connection` or `no-cache` names, and not `Age`, which is computed again.
pub fn is_kept(response: &Head, field: &FieldRef<'_>) -> bool {
    let hop = matches!(
        field.id,
        HeaderId::Connection
            | HeaderId::KeepAlive
            | HeaderId::ProxyConnection
            | HeaderId::ProxyAuthenticate
            | HeaderId::ProxyAuthorization
            | HeaderId::Te
            | HeaderId::TransferEncoding
            | HeaderId::Upgrade
            | HeaderId::Age
    );
    let named = || {
        let mut lines = response.by_id(HeaderId::Connection);
        lines.any(|line| htx::list::has_token(line.value, field.name))
    };
    !hop && field.name != b"proxy-authentication-info"
        && !named()
        && !is_named(response, field.name)
}

#[cfg(test)]
mod tests;
