//! Directives of `Cache-Control` (RFC 9111 section 5.2), with `Pragma` (section 5.4).

use htx::list::{items, trim};
use htx::{Head, HeaderId};

/// Largest number of seconds: greater ones count as this (RFC 9111 section 1.2.2).
pub const MAX_SECONDS: u32 = 1 << 31;

/// How far a directive with optional field names reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The directive is absent.
    #[default]
    Absent,
    /// The directive names fields, and applies to those alone.
    Fields,
    /// The directive applies to the whole message.
    Whole,
}

/// The directives of a message that decisions use. Of a number that occurs more than once, the
/// first counts (section 4.2.1); text that is not a number counts as 0, so that a response is
/// stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// `no-cache`, or `Pragma: no-cache` where there is no `Cache-Control` (of requests; of
    /// responses in any case, as HAProxy does).
    pub no_cache: Extent,
    /// `no-store`
    pub no_store: bool,
    /// `private`
    pub private: Extent,
    /// `public`
    pub public: bool,
    /// `must-revalidate` or `proxy-revalidate`
    pub must_revalidate: bool,
    /// `only-if-cached`
    pub only_if_cached: bool,
    /// `max-age`
    pub max_age: Option<u32>,
    /// `s-maxage`
    pub s_maxage: Option<u32>,
    /// `min-fresh`
    pub min_fresh: Option<u32>,
    /// `stale-while-revalidate` (RFC 5861 section 3)
    pub stale_while_revalidate: Option<u32>,
    /// `stale-if-error` (RFC 5861 section 4)
    pub stale_if_error: Option<u32>,
}

impl Directives {
    /// The directives of a head.
    pub fn of(head: &Head) -> Self {
        let mut directives = Self::default();
        for field in head.by_id(HeaderId::CacheControl) {
            items(field.value).for_each(|item| directives.add(item));
        }
        let governed = head.is_request() && head.has(HeaderId::CacheControl);
        if !governed && head.has(HeaderId::Pragma) && says_no_cache(head) {
            directives.no_cache = Extent::Whole;
        }
        directives
    }

    fn add(&mut self, item: &[u8]) {
        let (name, value) = split(item);
        let seconds = || Some(seconds(value.unwrap_or_default()).unwrap_or(0));
        let extent =
            || if value.is_some_and(|v| !v.is_empty()) { Extent::Fields } else { Extent::Whole };
        match &*lower(name) {
            b"no-cache" => self.no_cache = wider(self.no_cache, extent()),
            b"private" => self.private = wider(self.private, extent()),
            b"no-store" => self.no_store = true,
            b"public" => self.public = true,
            b"must-revalidate" | b"proxy-revalidate" => self.must_revalidate = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"max-age" => self.max_age = self.max_age.or_else(seconds),
            b"s-maxage" => self.s_maxage = self.s_maxage.or_else(seconds),
            b"min-fresh" => self.min_fresh = self.min_fresh.or_else(seconds),
            b"stale-while-revalidate" => {
                self.stale_while_revalidate = self.stale_while_revalidate.or_else(seconds);
            }
            b"stale-if-error" => self.stale_if_error = self.stale_if_error.or_else(seconds),
            _ => {}
        }
    }
}

fn says_no_cache(head: &Head) -> bool {
    head.by_id(HeaderId::Pragma)
        .any(|field| items(field.value).any(|item| item.eq_ignore_ascii_case(b"no-cache")))
}

fn wider(a: Extent, b: Extent) -> Extent {
    if a == Extent::Whole { a } else { b }
}

/// Longest name of a directive that is known; longer ones need not be put in lower case.
const LONGEST: usize = "stale-while-revalidate".len();

/// A name in lower case, without the quotes that some servers put around it.
fn lower(name: &[u8]) -> impl std::ops::Deref<Target = [u8]> {
    let name = unquoted(name);
    let mut copy = Lowered { bytes: [0; LONGEST], len: 0 };
    if name.len() <= LONGEST {
        copy.bytes[..name.len()].copy_from_slice(name);
        copy.bytes.make_ascii_lowercase();
        copy.len = name.len();
    }
    copy
}

struct Lowered {
    bytes: [u8; LONGEST],
    len: usize,
}

impl std::ops::Deref for Lowered {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Name and value of a directive; the value without quotes.
fn split(item: &[u8]) -> (&[u8], Option<&[u8]>) {
    match item.iter().position(|&byte| byte == b'=') {
        Some(at) if !item.starts_with(b"\"") => {
            (trim(&item[..at]), Some(unquoted(trim(&item[at + 1..]))))
        }
        _ => (item, None),
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'"', inside @ .., b'"'] => trim(inside),
        [b'"', inside @ ..] => trim(inside),
        _ => text,
    }
}

/// A number of seconds, saturated; `None` if it is no number.
pub(crate) fn seconds(text: &[u8]) -> Option<u32> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |n: u32, digit: &u8| n.saturating_mul(10).saturating_add((digit - b'0').into());
    Some(text.iter().fold(0, add).min(MAX_SECONDS))
}

/// Whether a `no-cache` or `private` directive of the head names this field.
pub fn is_named(head: &Head, field: &[u8]) -> bool {
    head.by_id(HeaderId::CacheControl).any(|line| {
        items(line.value).any(|item| {
            let (name, value) = split(item);
            let name = lower(name);
            matches!(&*name, b"no-cache" | b"private")
                && value.is_some_and(|v| items(v).any(|n| n.eq_ignore_ascii_case(field)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[(&str, &str)]) -> Directives {
        let mut head = Head::default();
        head.set_response(htx::Version::Http11, 200, b"OK");
        lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
        Directives::of(&head)
    }

    fn control(value: &str) -> Directives {
        of(&[("cache-control", value)])
    }

    #[test]
    fn directives_are_read_in_any_case_and_quoting() {
        let expected = Directives { no_store: true, ..Directives::default() };
        for value in
            ["no-store", "NO-Store", "\"no-store\"", ",, no-store ,", "a=\"x, y\", no-store"]
        {
            assert_eq!(control(value), expected, "{value}");
        }
        assert!(!control("x=\"no-store\"").no_store, "a value is no directive");
        assert_eq!(control("private").private, Extent::Whole);
        assert_eq!(control("private=\"set-cookie\"").private, Extent::Fields);
        assert_eq!(control("no-cache=\"a, b\"").no_cache, Extent::Fields);
        assert_eq!(control("no-cache=\"a\", no-cache").no_cache, Extent::Whole);
        assert_eq!(control("no-cache=").no_cache, Extent::Whole);
    }

    /// RFC 9111 section 1.2.2, and the forms that section 5.2 asks recipients to accept.
    #[test]
    fn seconds_saturate_and_malformed_numbers_are_zero() {
        for (value, expected) in [
            ("max-age=5", Some(5)),
            ("Max-Age=\"5\"", Some(5)),
            ("max-age = 5", Some(5)),
            ("max-age=4294967296", Some(MAX_SECONDS)),
            ("max-age=99999999999999999999", Some(MAX_SECONDS)),
            ("max-age=-1", Some(0)),
            ("max-age=abc", Some(0)),
            ("max-age=5s", Some(0)),
            ("max-age", Some(0)),
            ("max-age=", Some(0)),
            ("max-age=1.5", Some(0)),
            ("max-age=7, max-age=0", Some(7)),
            ("maxage=5", None),
        ] {
            assert_eq!(control(value).max_age, expected, "{value}");
        }
    }

    #[test]
    fn lines_of_one_field_are_one_list() {
        let directives =
            of(&[("cache-control", "s-maxage=3"), ("cache-control", "must-revalidate")]);
        assert_eq!((directives.s_maxage, directives.must_revalidate), (Some(3), true));
    }

    #[test]
    fn pragma_counts_in_requests_without_cache_control_and_in_responses() {
        let mut head = Head::default();
        head.set_request(b"GET", b"/", htx::Version::Http11);
        head.push(b"pragma", b"x, No-Cache");
        assert_eq!(Directives::of(&head).no_cache, Extent::Whole);
        head.push(b"cache-control", b"max-age=5");
        assert_eq!(Directives::of(&head).no_cache, Extent::Absent, "section 5.4");
        let lines = [("pragma", "no-cache"), ("cache-control", "max-age=5")];
        assert_eq!(of(&lines).no_cache, Extent::Whole, "as HAProxy does");
    }

    #[test]
    fn fields_that_directives_name_are_found() {
        let mut head = Head::default();
        head.set_response(htx::Version::Http11, 200, b"OK");
        head.push(b"cache-control", b"max-age=5, no-cache=\"X-Foo, set-cookie\"");
        assert!(is_named(&head, b"x-foo") && is_named(&head, b"Set-Cookie"));
        assert!(!is_named(&head, b"x-fo") && !is_named(&head, b"max-age"));
    }
}
