//! `Host` and the authority of the request target (RFC 9112 section 3.2, RFC 9110 section 4.2.3):
//! their form, whether they agree, and default ports that are removed. A missing `Host` is
//! accepted.

use htx::authority::{is_authority, is_host_with_any_port};
use htx::target::{Target, split_port, without_userinfo};
use htx::{Head, HeaderId, Method};

/// Reason why a request has no trustworthy host.
pub(super) type BadHost = &'static str;

const INVALID: BadHost = "invalid authority in the request target";
const MISMATCH: BadHost = "host differs from the request target's";

/// Applies the rules to a request head. With `lenient`, target and `Host` may differ.
#[inline]
pub(super) fn normalize(head: &mut Head, lenient: bool) -> Result<(), BadHost> {
    if head.as_fields().may_repeat(HeaderId::Host) {
        merge(head)?;
    }
    if !lenient
        && head.first(HeaderId::Host).is_some_and(|field| !is_host_with_any_port(field.value))
    {
        return Err("invalid host");
    }
    if head.uri().first() == Some(&b'/') && head.method_id() != Method::Connect {
        return Ok(());
    }
    match agree(head, lenient) {
        Err(_) if lenient => Ok(()),
        result => result,
    }
}

/// Checks a target that is not a path against `Host`.
#[inline(never)]
fn agree(head: &mut Head, lenient: bool) -> Result<(), BadHost> {
    match (head.method_id(), head.target()) {
        (Method::Connect, Target::Authority(_)) => connect(head),
        (Method::Connect, _) => Err("CONNECT without host and port"),
        (_, Target::Absolute { .. }) => absolute(head, lenient),
        (Method::Options, Target::Asterisk) => Ok(()),
        // The HTTP/2 preface, which listeners may inspect before the protocol is known.
        (Method::Other, Target::Asterisk) if head.method() == b"PRI" => Ok(()),
        _ => Err("request target of no valid form"),
    }
}

/// Merges equal `Host` fields; different ones are an error.
#[inline(never)]
fn merge(head: &mut Head) -> Result<(), BadHost> {
    let Some(first) = head.first(HeaderId::Host) else { return Ok(()) };
    if head.by_id(HeaderId::Host).any(|f| !f.value.eq_ignore_ascii_case(first.value)) {
        return Err("conflicting host headers");
    }
    let kept = first.index;
    head.as_fields_mut().remove_where(|f| f.id == HeaderId::Host && f.index != kept);
    Ok(())
}

/// `CONNECT host:port`: the port is required; 80 and 443 are dropped from `Host`.
fn connect(head: &mut Head) -> Result<(), BadHost> {
    if !is_authority(head.uri()) {
        return Err(INVALID);
    }
    let authority = without_userinfo(head.uri());
    let (_, port) = split_port(authority);
    let port = port.filter(|p| is_port(p)).ok_or("CONNECT without host and port")?;
    let default = matches!(port, b"80" | b"443").then_some(port);
    let Some(host) = head.first(HeaderId::Host) else { return Ok(()) };
    let bare = without_default(host.value, default);
    if !bare.eq_ignore_ascii_case(without_default(authority, default)) {
        return Err(MISMATCH);
    }
    if bare.len() != host.value.len() {
        let (index, bare) = (host.index, bare.to_vec());
        head.replace_value(index, &bare);
    }
    Ok(())
}

/// `scheme://authority/...`: `Host` must agree; the scheme's default port is removed from the
/// target, and `Host` becomes the same authority (RFC 9112 section 3.2.2).
fn absolute(head: &mut Head, lenient: bool) -> Result<(), BadHost> {
    let Target::Absolute { scheme, authority, .. } = head.target() else { return Ok(()) };
    let default = match scheme {
        s if s.eq_ignore_ascii_case(b"http") => Some(&b"80"[..]),
        s if s.eq_ignore_ascii_case(b"https") => Some(&b"443"[..]),
        _ => None,
    };
    if !lenient && !is_authority(authority) {
        return Err(INVALID);
    }
    let named = without_userinfo(authority);
    let bare = without_default(named, default);
    let host = head.first(HeaderId::Host);
    if let Some(host) = host
        && !(named.is_empty() || lenient)
        && !without_default(host.value, default).eq_ignore_ascii_case(bare)
    {
        return Err(MISMATCH);
    }
    if bare.len() == named.len() {
        return Ok(());
    }
    let host = host.map(|f| (f.index, if named.is_empty() { f.value } else { bare }.to_vec()));
    let cut = scheme.len() + 3 + authority.len() - (named.len() - bare.len());
    let uri = [&head.uri()[..cut], &head.uri()[scheme.len() + 3 + authority.len()..]].concat();
    head.set_uri(&uri);
    if let Some((index, value)) = host {
        head.replace_value(index, &value);
    }
    Ok(())
}

/// An authority without an empty port or the default one.
fn without_default<'a>(authority: &'a [u8], default: Option<&[u8]>) -> &'a [u8] {
    let Some(default) = default else { return authority };
    match split_port(authority) {
        (host, Some(port)) if port.is_empty() || port == default => host,
        _ => authority,
    }
}

fn is_port(text: &[u8]) -> bool {
    (1..=5).contains(&text.len()) && text.iter().all(u8::is_ascii_digit)
}
