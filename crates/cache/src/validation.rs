//! Validation of a stored response with its server (RFC 9111 sections 4.3.1, 4.3.3 to 4.3.5 and 3.2).

use crate::conditional::{Validators, is_same_strong};
use crate::http_date;
use crate::response::is_kept;
use htx::{Head, HeaderId};

/// The fate of a stored response after the server has answered a conditional request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// 304 for the stored response: its fields are updated, and it is fresh again.
    Freshened,
    /// A whole new response: it is forwarded, and takes the place of the stored one if it may.
    Replaced,
    /// An error of the server: the stored response may be served if `stale-if-error` allows it.
    ServerError,
    /// 304 for another version: the request is sent again without conditions.
    OtherVersion,
}

/// Fields that make the answer say something about the client's copy, or only a part of the object.
const CONDITIONS: [HeaderId; 6] = [
    HeaderId::IfNoneMatch,
    HeaderId::IfModifiedSince,
    HeaderId::IfMatch,
    HeaderId::IfUnmodifiedSince,
    HeaderId::IfRange,
    HeaderId::Range,
];

/// Makes a request conditional on the stored response. Conditions of the client are replaced, so
/// the answer says something about the stored response, not about the client's.
pub fn make_conditional(request: &mut Head, stored: &Head) {
    for id in CONDITIONS {
        request.remove_id(id);
    }
    for (from, name) in
        [(HeaderId::ETag, &b"if-none-match"[..]), (HeaderId::LastModified, b"if-modified-since")]
    {
        if let Some(field) = stored.first(from) {
            request.push(name, field.value);
        }
    }
}

/// The request by which a cache validates what it has answered this one with: a GET without
/// conditions, content and fields of the client's connection.
pub fn background_request(request: &Head) -> Head {
    let mut head = request.clone();
    head.set_method(b"GET");
    let connection = [
        HeaderId::Connection,
        HeaderId::ContentLength,
        HeaderId::Expect,
        HeaderId::KeepAlive,
        HeaderId::ProxyConnection,
        HeaderId::Te,
        HeaderId::Trailer,
        HeaderId::Upgrade,
    ];
    CONDITIONS.into_iter().chain(connection).for_each(|id| {
        head.remove_id(id);
    });
    head
}

/// Whether a stored response can be validated at all.
pub fn is_validatable(stored: &Head) -> bool {
    stored.has(HeaderId::ETag) || stored.has(HeaderId::LastModified)
}

/// The meaning of the answer to a conditional request for the stored response.
pub fn outcome(stored: &Head, answer: &Head) -> Validation {
    match answer.status() {
        304 if names_other_version(stored, answer) => Validation::OtherVersion,
        304 => Validation::Freshened,
        500..=504 => Validation::ServerError,
        _ => Validation::Replaced,
    }
}

/// Whether a 304 has a validator that the stored response lacks (RFC 9111 section 4.3.4).
fn names_other_version(stored: &Head, answer: &Head) -> bool {
    if let Some(tag) = answer.first(HeaderId::ETag) {
        let same = |own: &[u8]| match tag.value {
            [b'W', b'/', weak @ ..] => own.strip_prefix(b"W/").unwrap_or(own) == weak,
            strong => is_same_strong(own, strong),
        };
        return !stored.first(HeaderId::ETag).is_some_and(|own| same(own.value));
    }
    match (answer.first(HeaderId::LastModified), stored.first(HeaderId::LastModified)) {
        (Some(answer), Some(stored)) => answer.value != stored.value,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Updates a stored head with the fields of a 304 (RFC 9111 section 3.2): each field replaces those
/// of its name, but for those that are not stored and those that describe the stored content. Its
/// age is that of the 304.
pub fn freshen(stored: &mut Head, answer: &Head) {
    let updates = |field: &htx::FieldRef<'_>| {
        is_kept(answer, field)
            && !matches!(
                field.id,
                HeaderId::ContentLength
                    | HeaderId::ContentEncoding
                    | HeaderId::ContentType
                    | HeaderId::ContentRange
            )
    };
    for field in answer.fields().filter(updates) {
        stored.remove(field.name);
    }
    stored.remove_id(HeaderId::Age);
    for field in answer.fields().filter(|f| updates(f) || f.id == HeaderId::Age) {
        stored.push(field.name, field.value);
    }
}

/// Whether a response to HEAD shows that the stored response to GET is outdated (RFC 9111 section
/// 4.3.5): a validator or the length differs.
pub fn contradicts(answer: &Head, stored: &Validators<'_>, len: u64, now: i64) -> bool {
    if answer.status() != 200 {
        return false;
    }
    let tag = answer.first(HeaderId::ETag).map(|field| field.value);
    let length = answer.first(HeaderId::ContentLength).map(|field| field.value);
    let length = length.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
    let date = answer.first(HeaderId::LastModified).map(|field| field.value);
    let date = date.and_then(|text| http_date::parse(text, now));
    tag.is_some_and(|tag| stored.etag != Some(tag))
        || date.is_some_and(|date| date != stored.modified)
        || length.is_some_and(|length: u64| length != len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, lines: &[(&str, &str)]) -> Head {
        let mut head = Head::default();
        head.set_response(htx::Version::Http11, status, b"");
        lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        head
    }

    fn lines(head: &Head) -> Vec<String> {
        let text = |f: htx::FieldRef<'_>| {
            format!("{}: {}", String::from_utf8_lossy(f.name), String::from_utf8_lossy(f.value))
        };
        head.fields().map(text).collect()
    }

    /// RFC 9111 section 4.3.1: the entity tag MUST be sent, the date SHOULD be.
    #[test]
    fn a_validation_has_the_validators_of_the_stored_response() {
        let stored =
            response(200, &[("etag", "W/\"a\""), ("last-modified", "yesterday"), ("x", "y")]);
        let mut request = Head::default();
        request.set_request(b"GET", b"/", htx::Version::Http11);
        for name in
            ["if-none-match", "if-modified-since", "if-match", "range", "if-range", "accept"]
        {
            request.push(name.as_bytes(), b"client");
        }
        make_conditional(&mut request, &stored);
        let expected = ["accept: client", "if-none-match: W/\"a\"", "if-modified-since: yesterday"];
        assert_eq!(lines(&request), expected);
        assert!(is_validatable(&stored) && !is_validatable(&response(200, &[("x", "y")])));
    }

    #[test]
    fn a_validation_in_the_background_asks_for_the_whole_object() {
        let mut request = Head::default();
        request.set_request(b"HEAD", b"/a?b", htx::Version::Http11);
        for name in ["host", "if-none-match", "range", "content-length", "connection", "cookie"] {
            request.push(name.as_bytes(), b"0");
        }
        let head = background_request(&request);
        assert_eq!((head.method(), head.uri()), (&b"GET"[..], &b"/a?b"[..]));
        assert_eq!(lines(&head), ["host: 0", "cookie: 0"]);
    }

    /// RFC 9111 sections 4.3.3 and 4.3.4.
    #[test]
    fn the_answer_to_a_validation_tells_what_becomes_of_the_stored_response() {
        let stored = response(200, &[("etag", "\"a\""), ("last-modified", "then")]);
        for (status, fields, expected) in [
            (304, &[][..], Validation::Freshened),
            (304, &[("etag", "\"a\"")], Validation::Freshened),
            (304, &[("etag", "W/\"a\"")], Validation::Freshened),
            (304, &[("last-modified", "then")], Validation::Freshened),
            (304, &[("etag", "\"b\"")], Validation::OtherVersion),
            (304, &[("last-modified", "now")], Validation::OtherVersion),
            (200, &[], Validation::Replaced),
            (404, &[], Validation::Replaced),
            (500, &[], Validation::ServerError),
            (502, &[], Validation::ServerError),
            (504, &[], Validation::ServerError),
            (505, &[], Validation::Replaced),
        ] {
            assert_eq!(
                outcome(&stored, &response(status, fields)),
                expected,
                "{status} {fields:?}"
            );
        }
        let weak = response(200, &[("etag", "W/\"a\"")]);
        let strong = response(304, &[("etag", "\"a\"")]);
        assert_eq!(outcome(&weak, &strong), Validation::OtherVersion);
    }

    /// RFC 9111 section 3.2.
    #[test]
    fn a_304_updates_the_fields_of_the_stored_response() {
        let mut stored = response(
            200,
            &[
                ("etag", "\"a\""),
                ("cache-control", "max-age=1"),
                ("content-length", "3"),
                ("x", "1"),
            ],
        );
        let answer = response(
            304,
            &[
                ("cache-control", "max-age=9"),
                ("content-length", "0"),
                ("connection", "close, y"),
                ("y", "1"),
                ("x", "2"),
                ("x", "3"),
                ("age", "4"),
            ],
        );
        freshen(&mut stored, &answer);
        let expected = [
            "etag: \"a\"",
            "content-length: 3",
            "cache-control: max-age=9",
            "x: 2",
            "x: 3",
            "age: 4",
        ];
        assert_eq!(lines(&stored), expected);
    }

    #[test]
    fn a_head_response_with_other_validators_outdates_the_stored_one() {
        let stored = Validators { etag: Some(b"\"a\""), modified: 0 };
        for (status, fields, expected) in [
            (200, &[("etag", "\"a\""), ("content-length", "3")][..], false),
            (200, &[], false),
            (200, &[("etag", "\"b\"")], true),
            (200, &[("content-length", "4")], true),
            (200, &[("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT")], false),
            (200, &[("last-modified", "Thu, 01 Jan 1970 00:00:01 GMT")], true),
            (200, &[("last-modified", "garbage")], false),
            (500, &[("etag", "\"b\"")], false),
        ] {
            assert_eq!(
                contradicts(&response(status, fields), &stored, 3, 0),
                expected,
                "{fields:?}"
            );
        }
    }
}
