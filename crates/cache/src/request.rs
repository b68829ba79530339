//! Requests: whether the cache may answer one, store its response, or has to forget an object
//! because of it (RFC 9111 sections 3, 4 and 5.2.1).

use crate::directives::{Directives, Extent};
use htx::{Head, HeaderId, Method, Version};

/// Why a request is not answered by the cache, or its response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// Its method is not GET (or HEAD, which is answered but not stored).
    Method,
    /// HTTP/1.0, which HAProxy keeps away from caches.
    Version,
    /// The request has credentials, so that the response may be for one user.
    Authorization,
    /// The request has content, which a stored response cannot depend on.
    Content,
    /// The request demands a new response: `no-cache`, `max-age=0`, `Pragma: no-cache`.
    NoCache,
    /// `no-store`
    NoStore,
}

/// How fresh a stored response must be for this request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreshnessDemand {
    /// Greatest age in seconds (`max-age`).
    pub max_age: Option<u32>,
    /// Seconds for which it must stay fresh (`min-fresh`).
    pub min_fresh: u32,
}

/// The uses of the cache that a request allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestVerdict {
    /// Whether a stored response may answer it, and how fresh that must be.
    pub lookup: Result<FreshnessDemand, Bypass>,
    /// Whether its response may be stored.
    pub store: Result<(), Bypass>,
    /// Whether success changes the resource (RFC 9111 section 4.4); see [`invalidates`].
    pub is_unsafe: bool,
}

/// Judges a request.
pub fn judge(request: &Head) -> RequestVerdict {
    let directives = Directives::of(request);
    let is_unsafe = !request.method_id().is_safe();
    let lookup = usable(request, &directives).and_then(|()| demand(&directives));
    let store = usable(request, &directives).and_then(|()| match request.method_id() {
        Method::Get => Ok(()),
        _ => Err(Bypass::Method),
    });
    RequestVerdict { lookup, store, is_unsafe }
}

fn usable(request: &Head, directives: &Directives) -> Result<(), Bypass> {
    if !matches!(request.method_id(), Method::Get | Method::Head) {
        return Err(Bypass::Method);
    }
    if request.version() == Version::Http10 {
        return Err(Bypass::Version);
    }
    if request.has(HeaderId::Authorization) {
        return Err(Bypass::Authorization);
    }
    let has_content = |value: &[u8]| value != b"0";
    if request.has(HeaderId::TransferEncoding)
        || request.first(HeaderId::ContentLength).is_some_and(|f| has_content(f.value))
    {
        return Err(Bypass::Content);
    }
    if directives.no_store { Err(Bypass::NoStore) } else { Ok(()) }
}

fn demand(directives: &Directives) -> Result<FreshnessDemand, Bypass> {
    // Fields that a request names after `no-cache` mean nothing: it asks for a new response.
    if directives.no_cache != Extent::Absent || directives.max_age == Some(0) {
        return Err(Bypass::NoCache);
    }
    let min_fresh = directives.min_fresh.unwrap_or(0);
    Ok(FreshnessDemand { max_age: directives.max_age, min_fresh })
}

/// Whether this status of a response to an unsafe request removes what is stored for its target
/// (RFC 9111 section 4.4): any that is no error.
pub fn invalidates(verdict: &RequestVerdict, status: u16) -> bool {
    verdict.is_unsafe && (200..400).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, version: Version, lines: &[(&str, &str)]) -> RequestVerdict {
        let mut head = Head::default();
        head.set_request(method.as_bytes(), b"/", version);
        lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        judge(&head)
    }

    const ANY: Result<FreshnessDemand, Bypass> =
        Ok(FreshnessDemand { max_age: None, min_fresh: 0 });

    #[test]
    fn requests_with_a_cacheable_method_and_version_are_answered() {
        use Version::{Http2, Http10, Http11};
        for (method, version, lookup, store) in [
            ("GET", Http11, ANY, Ok(())),
            ("GET", Http2, ANY, Ok(())),
            ("HEAD", Http11, ANY, Err(Bypass::Method)),
            ("GET", Http10, Err(Bypass::Version), Err(Bypass::Version)),
            ("POST", Http11, Err(Bypass::Method), Err(Bypass::Method)),
            ("OPTIONS", Http11, Err(Bypass::Method), Err(Bypass::Method)),
            ("get", Http11, Err(Bypass::Method), Err(Bypass::Method)),
        ] {
            let verdict = request(method, version, &[]);
            assert_eq!((verdict.lookup, verdict.store), (lookup, store), "{method} {version:?}");
        }
    }

    /// RFC 9111 sections 3.5, 5.2.1 and 5.4.
    #[test]
    fn fields_of_a_request_keep_it_from_the_cache() {
        let demand = |max_age, min_fresh| Ok(FreshnessDemand { max_age, min_fresh });
        let not = |bypass| (Err(bypass), Err(bypass));
        let new = (Err(Bypass::NoCache), Ok(()));
        for (name, value, (lookup, store)) in [
            ("cache-control", "no-store", not(Bypass::NoStore)),
            ("cache-control", "No-Store", not(Bypass::NoStore)),
            ("cache-control", "no-cache", new),
            ("cache-control", "no-cache=\"x\"", new),
            ("cache-control", "max-age=0", new),
            ("cache-control", "max-age=x", new),
            ("cache-control", "max-age=60", (demand(Some(60), 0), Ok(()))),
            ("cache-control", "min-fresh=5", (demand(None, 5), Ok(()))),
            ("cache-control", "max-stale", (ANY, Ok(()))),
            ("cache-control", "only-if-cached", (ANY, Ok(()))),
            ("cache-control", "no-transform", (ANY, Ok(()))),
            ("pragma", "no-cache", new),
            ("authorization", "x", not(Bypass::Authorization)),
            ("transfer-encoding", "chunked", not(Bypass::Content)),
            ("content-length", "5", not(Bypass::Content)),
            ("content-length", "0", (ANY, Ok(()))),
            ("cookie", "a=b", (ANY, Ok(()))),
            ("range", "bytes=0-0", (ANY, Ok(()))),
            ("if-match", "\"a\"", (ANY, Ok(()))),
        ] {
            let verdict = request("GET", Version::Http11, &[(name, value)]);
            assert_eq!((verdict.lookup, verdict.store), (lookup, store), "{name}: {value}");
        }
    }

    /// RFC 9111 section 4.4: methods that are unsafe or unknown, with a response that is no error.
    #[test]
    fn success_of_an_unsafe_method_invalidates() {
        for (method, status, expected) in [
            ("POST", 200, true),
            ("PUT", 201, true),
            ("DELETE", 204, true),
            ("PATCH", 200, true),
            ("FOO", 200, true),
            ("POST", 301, true),
            ("POST", 404, false),
            ("POST", 500, false),
            ("POST", 100, false),
            ("OPTIONS", 200, false),
            ("TRACE", 200, false),
            ("GET", 200, false),
            ("HEAD", 200, false),
        ] {
            let verdict = request(method, Version::Http11, &[]);
            assert_eq!(invalidates(&verdict, status), expected, "{method} {status}");
        }
    }
}
