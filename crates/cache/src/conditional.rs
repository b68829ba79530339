//! Conditional requests (RFC 9110 section 13, RFC 9111 section 4.3.2): whether a stored response is
//! answered with 304.

use crate::http_date;
use htx::list::items;
use htx::{Head, HeaderId};

/// Values of a stored response that conditions are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Its entity tag, as sent.
    pub etag: Option<&'a [u8]>,
    /// `Last-Modified`, else `Date`, else the time of arrival: seconds since the epoch.
    pub modified: i64,
}

/// Whether the client has the stored response already: its entity tag is in `If-None-Match`, or
/// without that field it was not modified since `If-Modified-Since`.
///
/// `If-Match` and `If-Unmodified-Since` are for origin servers and are not evaluated.
pub fn is_not_modified(request: &Head, stored: &Validators<'_>, now: i64) -> bool {
    if request.has(HeaderId::IfNoneMatch) {
        let fields = request.by_id(HeaderId::IfNoneMatch);
        return fields.flat_map(|field| items(field.value)).any(|tag| matches(tag, stored.etag));
    }
    let mut fields = request.by_id(HeaderId::IfModifiedSince);
    match (fields.next(), fields.next()) {
        (Some(only), None) => {
            http_date::parse(only.value, now).is_some_and(|since| stored.modified <= since)
        }
        _ => false,
    }
}

fn matches(tag: &[u8], stored: Option<&[u8]>) -> bool {
    tag == b"*" || stored.is_some_and(|stored| weak(tag) == weak(stored))
}

/// An entity tag for the weak comparison (RFC 9110 section 8.8.3.2).
fn weak(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// Whether two entity tags are equal in the strong comparison.
pub(crate) fn is_same_strong(a: &[u8], b: &[u8]) -> bool {
    a == b && !a.starts_with(b"W/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEN: i64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT

    fn is_304(lines: &[(&str, &str)], etag: Option<&str>) -> bool {
        let mut head = Head::default();
        head.set_request(b"GET", b"/", htx::Version::Http11);
        lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        let stored = Validators { etag: etag.map(str::as_bytes), modified: THEN };
        is_not_modified(&head, &stored, THEN + 1000)
    }

    #[test]
    fn entity_tags_are_compared_weakly() {
        let etag = Some("\"a\"");
        for (tags, etag, expected) in [
            ("\"a\"", etag, true),
            ("W/\"a\"", etag, true),
            ("\"a\"", Some("W/\"a\""), true),
            ("*", etag, true),
            ("*", None, true),
            ("\"b\"", etag, false),
            ("\"b\", W/\"a\"", etag, true),
            ("\"x,y\", \"a\"", etag, true),
            ("a", etag, false),
            ("w/\"a\"", etag, false),
            ("\"A\"", etag, false),
            ("", etag, false),
            ("\"a\"", None, false),
        ] {
            assert_eq!(is_304(&[("if-none-match", tags)], etag), expected, "{tags} {etag:?}");
        }
        assert!(is_304(&[("if-none-match", "\"b\""), ("if-none-match", "\"a\"")], etag));
    }

    #[test]
    fn dates_are_compared_with_the_last_modification() {
        for (date, expected) in [
            ("Sun, 06 Nov 1994 08:49:36 GMT", false),
            ("Sun, 06 Nov 1994 08:49:37 GMT", true),
            ("Sunday, 06-Nov-94 08:49:38 GMT", true),
            ("Mon Nov  7 08:49:38 1994", true),
            ("garbage", false),
            ("", false),
        ] {
            assert_eq!(is_304(&[("if-modified-since", date)], None), expected, "{date}");
        }
        let twice = ("if-modified-since", "Mon Nov  7 08:49:38 1994");
        assert!(!is_304(&[twice, twice], None), "a list is no date");
    }

    #[test]
    fn if_none_match_takes_precedence() {
        let late = ("if-modified-since", "Mon Nov  7 08:49:38 1994");
        assert!(!is_304(&[("if-none-match", "\"b\""), late], Some("\"a\"")));
        let early = ("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT");
        assert!(is_304(&[("if-none-match", "\"a\""), early], Some("\"a\"")));
    }

    /// RFC 9111 section 4.3.2: these preconditions are the origin server's.
    #[test]
    fn preconditions_of_the_origin_server_are_not_evaluated() {
        assert!(!is_304(&[("if-match", "\"b\"")], Some("\"a\"")));
        assert!(!is_304(&[("if-unmodified-since", "Mon Nov  7 08:49:38 1994")], Some("\"a\"")));
    }
}
