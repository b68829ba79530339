//! Whether a shared cache may keep a response, for `option checkcache` and `cookie ... nocache`: with a cookie it
//! would hand one client's session to another.

use engine::state::runtime::Backend;
use engine::state::session::transaction::Transaction;
use health::servers::events;
use htx::{Head, HeaderId, Method, list};
use observability::logging::log::level;
use observability::telemetry::accounting;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Remembers of a request on its way to a server whether caches keep what answers it.
pub(crate) fn note(tx: &mut Transaction, back: &Backend) {
    if checks(back) || marks(back) {
        let method = tx.space.request.method_id();
        tx.only_reads =
            matches!(method, Method::Get | Method::Head | Method::Options | Method::Trace);
    }
}

/// Refuses such a response, and tells the administrator.
///
/// # Errors
/// 502: the response must not be cached and does not say so.
pub(crate) fn check(tx: &mut Transaction) -> Result<(), Failure> {
    let Some(backend) = tx.backend.clone().filter(|backend| checks(&backend.back)) else {
        return Ok(());
    };
    if !shares_cookie(tx.only_reads, &tx.space.response) {
        return Ok(());
    }
    accounting::count_both(tx, Metric::DeniedResponses);
    let server = tx.claim.as_ref().map(|claim| claim.server());
    if let Some(server) = &server {
        server.counters.of(tx.worker.thread.index).count(Metric::DeniedResponses);
    }
    let name = server.map(|server| server.state.name());
    let name = name.as_deref().unwrap_or("<STATS>");
    let text = format!(
        "Blocking cacheable cookie in response from instance {}, server {name}.",
        backend.name()
    );
    events::announce(&tx.worker, &backend.back, level::ALERT, &text);
    Err(Failure::error(502, Cause::Proxy, Phase::Headers))
}

fn checks(back: &Backend) -> bool {
    back.settings.check_cache
}

/// Whether a cookie that is inserted makes a response private (`nocache`).
fn marks(back: &Backend) -> bool {
    back.settings.cookie.as_ref().is_some_and(|cookie| cookie.nocache)
}

/// Statuses whose responses may be kept without explicit permission (RFC 9110 section 15.1, in
/// HAProxy's selection).
const KEPT: [u16; 11] = [200, 203, 204, 206, 300, 301, 404, 405, 410, 414, 501];

/// Whether a cache may hand the response with its cookie to another client.
fn shares_cookie(asks: bool, response: &Head) -> bool {
    let sets = |name: &[u8]| matches!(name, b"set-cookie" | b"set-cookie2");
    response.fields().any(|field| sets(field.name)) && leave(asks, response).with_cookie
}

/// Whether a shared cache may keep a response, and its cookies.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cacheability {
    response: bool,
    /// The response with the cookies that it sets.
    with_cookie: bool,
}

/// Whether a shared cache may keep a response, with or without its cookies.
pub(crate) fn may_be_kept(asks: bool, response: &Head) -> bool {
    leave(asks, response).response
}

/// Whether a shared cache may keep a response: method and status or `public` allow it, no directive
/// forbids it, and a directive says how long. `asks`: the request's method only reads.
fn leave(asks: bool, response: &Head) -> Cacheability {
    let kept = |all| Cacheability { response: all, with_cookie: all };
    let mut leave = kept(asks && KEPT.contains(&response.status()));
    let mut dated = false;
    for field in response.fields() {
        match field.id {
            HeaderId::ETag | HeaderId::Expires | HeaderId::LastModified => dated = true,
            HeaderId::Pragma if field.value.eq_ignore_ascii_case(b"no-cache") => {
                leave = kept(false);
            }
            HeaderId::CacheControl => {
                for item in list::items(field.value) {
                    match Directive::of(item) {
                        Directive::Public => leave = kept(true),
                        Directive::Forbids => leave = kept(false),
                        Directive::ForbidsCookies => leave.with_cookie = false,
                        Directive::Lasts => dated = true,
                        Directive::Other => {}
                    }
                }
            }
            _ => {}
        }
    }
    if dated { leave } else { kept(false) }
}

/// The meaning of an item of `Cache-Control` for shared caches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directive {
    Public,
    Forbids,
    ForbidsCookies,
    Lasts,
    Other,
}

impl Directive {
    fn of(item: &[u8]) -> Self {
        let item = item.to_ascii_lowercase();
        let age = |name: &[u8]| item.strip_prefix(name);
        match &item[..] {
            b"public" => Self::Public,
            b"private" | b"no-cache" | b"no-store" | b"max-age=0" | b"s-maxage=0" => Self::Forbids,
            _ if item.starts_with(b"no-cache=\"set-cookie\"") => Self::ForbidsCookies,
            _ if item.starts_with(b"no-cache=\"set-cookie,") => Self::ForbidsCookies,
            _ if age(b"max-age=").or(age(b"s-maxage=")).is_some() => Self::Lasts,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;

    fn shares(asks: bool, status: u16, fields: &[(&str, &str)]) -> bool {
        let mut head = Head::default();
        head.set_response(Version::Http11, status, b"");
        for (name, value) in fields {
            head.push(name.as_bytes(), value.as_bytes());
        }
        shares_cookie(asks, &head)
    }

    const COOKIE: (&str, &str) = ("set-cookie", "a=b");

    #[test]
    fn headers_decide_as_in_haproxy() {
        for (value, expected) in [
            ("private", false),
            ("PRIVATE", false),
            ("no-cache", false),
            ("no-store", false),
            ("max-age=0", false),
            ("s-maxage=0", false),
            ("no-cache=\"set-cookie\"", false),
            ("no-cache=\"set-cookie, foo\"", false),
            ("no-cache=\"foo\"", true),
            ("no-cache=\"foo, set-cookie\"", true),
            ("no-cache=set-cookie", true),
            ("public, no-cache", false),
            ("no-cache, public", true),
            ("max-age=10, s-maxage=0", false),
            ("max-age=10", true),
            ("privatex", true),
            ("foo, private", false),
        ] {
            let fields = [COOKIE, ("etag", "x"), ("cache-control", value)];
            assert_eq!(shares(true, 200, &fields), expected, "{value}");
            assert!(!shares(true, 200, &fields[1..]), "no cookie");
        }
        for (name, value, expected) in [
            ("pragma", "no-cache", false),
            ("pragma", "foo", false),
            ("cache-control", "public", false),
            ("cache-control", "max-age=5", true),
            ("cache-control", "s-maxage=5", true),
            ("expires", "0", true),
            ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("etag", "x", true),
        ] {
            let fields = [("set-cookie2", "a=b"), (name, value)];
            assert_eq!(shares(true, 200, &fields), expected, "{name}: {value}");
        }
    }

    #[test]
    fn a_response_may_be_kept_without_its_cookies() {
        for (value, expected) in [
            ("no-cache=\"set-cookie\"", (true, false)),
            ("no-cache=\"set-cookie, foo\"", (true, false)),
            ("no-cache=\"set-cookie\", private", (false, false)),
            ("no-cache=\"set-cookie\", public", (true, true)),
            ("public, no-cache=\"set-cookie\"", (true, false)),
            ("no-cache", (false, false)),
        ] {
            let mut head = Head::default();
            head.set_response(Version::Http11, 200, b"");
            for (name, value) in [COOKIE, ("etag", "x"), ("cache-control", value)] {
                head.push(name.as_bytes(), value.as_bytes());
            }
            let found = (may_be_kept(true, &head), shares_cookie(true, &head));
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn methods_and_statuses_decide_unless_all_may_keep_it() {
        let fields = [COOKIE, ("etag", "x"), ("cache-control", "public")];
        for (asks, status, expected) in [
            (true, 200, true),
            (true, 404, true),
            (true, 301, true),
            (false, 200, false),
            (true, 201, false),
            (true, 302, false),
            (true, 503, false),
        ] {
            assert_eq!(shares(asks, status, &fields[..2]), expected, "{asks} {status}");
            assert!(shares(asks, status, &fields), "{asks} {status}, public");
        }
    }
}
