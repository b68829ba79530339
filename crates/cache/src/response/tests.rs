//! Tests of decisions about responses.

use super::*;
use crate::directives::MAX_SECONDS;
use htx::Version;

const NOW: i64 = 784_111_777; // Sun, 06 Nov 1994 08:49:37 GMT
const RULES: StoreRules = StoreRules {
    max_age: 60,
    max_object_size: 1000,
    process_vary: true,
    stale_while_revalidate: 0,
    stale_if_error: 0,
    keep_for_validation: 0,
};
const LONG: StoreRules = StoreRules { max_age: u32::MAX, ..RULES };

fn response(status: u16, lines: &str) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, b"");
    for line in lines.split('|').filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").expect("name: value");
        head.push(name.as_bytes(), value.as_bytes());
    }
    head
}

fn verdict(status: u16, lines: &str, rules: &StoreRules) -> Result<Storable, StoreRefusal> {
    let mut request = Head::default();
    request.set_request(b"GET", b"/", Version::Http11);
    judge(&response(status, lines), &Selecting::of(&request, [1, 2]), rules, NOW)
}

/// RFC 9111 section 3.
#[test]
fn responses_are_stored_if_nothing_forbids_it() {
    use StoreRefusal::*;
    for (status, lines, expected) in [
        (200, "cache-control: max-age=5", None),
        (200, "cache-control: public|etag: \"x\"", None),
        (200, "etag: \"x\"", None),
        (200, "last-modified: garbage", None),
        (200, "cache-control: max-age=5|set-cookie: a=b", None),
        (200, "cache-control: max-age=5, must-revalidate", None),
        (200, "cache-control: max-age=5, proxy-revalidate", None),
        (200, "cache-control: max-age=5, no-cache=\"x-foo\"", None),
        (200, "cache-control: max-age=5, unknown=\"no-store\"", None),
        (200, "cache-control: max-age=5, no-transform", None),
        (200, "cache-control: max-age=5, must-understand", None),
        (301, "cache-control: max-age=5", Some(Status)),
        (203, "cache-control: max-age=5", Some(Status)),
        (206, "cache-control: max-age=5|content-range: bytes 0-1/2", Some(Status)),
        (404, "cache-control: max-age=5", Some(Status)),
        (103, "cache-control: max-age=5", Some(Status)),
        (200, "", Some(NoLifetime)),
        (200, "cache-control: public", Some(NoLifetime)),
        (200, "cache-control: no-store, max-age=5", Some(NoStore)),
        (200, "cache-control: max-age=5|cache-control: NO-STORE", Some(NoStore)),
        (200, "cache-control: \"no-store\", max-age=5", Some(NoStore)),
        (200, "cache-control: must-understand, no-store, max-age=5", Some(NoStore)),
        (200, "cache-control: private, max-age=5", Some(Private)),
        (200, "cache-control: max-age=5, Private=\"x\"", Some(Private)),
        (200, "cache-control: no-cache, max-age=5", Some(NoCache)),
        (200, "cache-control: no-cache=\"Set-Cookie\", max-age=5", Some(NoCache)),
        (200, "pragma: no-cache|cache-control: max-age=5", Some(NoCache)),
        (200, "cache-control: max-age=5|vary: *", Some(Vary(VaryFault::Fields))),
        (200, "cache-control: max-age=5|age: abc", Some(InvalidAge)),
        (200, "cache-control: max-age=5|age: -1", Some(InvalidAge)),
        (200, "cache-control: max-age=5|age: ", Some(InvalidAge)),
        (200, "cache-control: max-age=5|age: 10", Some(Stale)),
        (200, "cache-control: max-age=5|age: 5", Some(Stale)),
        (200, "cache-control: max-age=0", Some(Stale)),
        (200, "cache-control: max-age=-1|etag: \"x\"", Some(Stale)),
        (200, "cache-control: max-age=abc|etag: \"x\"", Some(Stale)),
        (200, "cache-control: s-maxage=0, max-age=5", Some(Stale)),
        (200, "expires: 0|etag: \"x\"", Some(Stale)),
        (200, "expires: Sun, 06 Nov 1994 08:49:37 GMT", Some(Stale)),
        (200, "expires: Sat, 05 Nov 1994 08:49:37 GMT", Some(Stale)),
        (200, "cache-control: max-age=5|content-length: 1000", None),
        (200, "cache-control: max-age=5|content-length: 1001", Some(TooLarge)),
        (200, "cache-control: max-age=5|content-length: 18446744073709551615", Some(TooLarge)),
    ] {
        assert_eq!(verdict(status, lines, &RULES).err(), expected, "{status} {lines}");
    }
}

/// RFC 9111 section 4.2.1.
#[test]
fn the_lifetime_comes_from_the_first_of_its_sources() {
    for (lines, age, fresh) in [
        ("cache-control: s-maxage=7, max-age=3", 0, 7),
        ("cache-control: max-age=0, s-maxage=7", 0, 7),
        ("cache-control: max-age=3|expires: Sun, 06 Nov 1994 08:50:37 GMT", 0, 3),
        ("cache-control: max-age=3|expires: 0", 0, 3),
        ("expires: Sun, 06 Nov 1994 08:50:37 GMT", 0, 60),
        ("cache-control: public|expires: Sunday, 06-Nov-94 08:49:47 GMT", 0, 10),
        ("expires: Sun, 06 Nov 1994 08:50:37 GMT|date: Sun, 06 Nov 1994 08:00:00 GMT", 0, 60),
        ("cache-control: max-age=4294967296", 0, MAX_SECONDS),
        ("cache-control: max-age=99999999999999999999", 0, MAX_SECONDS),
        ("expires: Fri, 31 Dec 9999 23:59:59 GMT", 0, MAX_SECONDS),
        ("cache-control: max-age=7, max-age=9", 0, 7),
        ("cache-control: max-age=500|age: 100", 100, 400),
        ("cache-control: max-age=500|age: 100, 200", 100, 400),
        ("cache-control: max-age=500|age: 100|age: x", 100, 400),
        ("cache-control: max-age=\"20\"", 0, 20),
        // A date far in the past does not make a response old: see docs/cache.md.
        ("cache-control: max-age=5|date: Thu, 22 Oct 1992 16:51:12 GMT", 0, 5),
    ] {
        let found = verdict(200, lines, &LONG).map(|storable| storable.lifetime);
        let expected = Lifetime { age, fresh, while_revalidate: 0, if_error: 0, for_validation: 0 };
        assert_eq!(found, Ok(expected), "{lines}");
    }
}

#[test]
fn the_section_bounds_each_lifetime() {
    for (lines, fresh) in [
        ("cache-control: max-age=500", 60),
        ("cache-control: max-age=500|age: 100", 60),
        ("cache-control: max-age=110|age: 100", 10),
        ("etag: \"x\"", 60),
        ("etag: \"x\"|age: 20", 40),
    ] {
        let found = verdict(200, lines, &RULES).map(|storable| storable.lifetime.fresh);
        assert_eq!(found, Ok(fresh), "{lines}");
    }
    let none = StoreRules { max_age: 0, ..RULES };
    assert_eq!(verdict(200, "cache-control: max-age=5", &none), Err(StoreRefusal::Stale));
}

/// RFC 5861; RFC 9111 section 4.2.4: "A cache MUST NOT generate a stale response if it is
/// prohibited by an explicit in-protocol directive".
#[test]
fn stale_responses_need_a_rule_and_a_directive_and_no_veto() {
    let rules = StoreRules { stale_while_revalidate: 10, stale_if_error: 20, ..RULES };
    let wanted = "stale-while-revalidate=15, stale-if-error=5";
    for (lines, rules, expected) in [
        (format!("max-age=5, {wanted}"), &rules, (10, 5)),
        (format!("max-age=5, {wanted}"), &RULES, (0, 0)),
        ("max-age=5".to_string(), &rules, (0, 0)),
        (format!("max-age=5, must-revalidate, {wanted}"), &rules, (0, 0)),
        (format!("max-age=5, proxy-revalidate, {wanted}"), &rules, (0, 0)),
        (format!("s-maxage=5, {wanted}"), &rules, (0, 0)),
        (format!("max-age=5, no-cache=\"x\", {wanted}"), &rules, (0, 0)),
        ("max-age=5, stale-if-error=x".to_string(), &rules, (0, 0)),
    ] {
        let found = verdict(200, &format!("cache-control: {lines}"), rules);
        let found = found.map(|s| (s.lifetime.while_revalidate, s.lifetime.if_error));
        assert_eq!(found, Ok(expected), "{lines}");
    }
}

#[test]
fn responses_with_a_validator_are_kept_for_validation() {
    let rules = StoreRules { keep_for_validation: 30, ..RULES };
    for (lines, expected) in [("etag: \"a\"", 30), ("cache-control: max-age=5", 0)] {
        let found = verdict(200, lines, &rules).map(|s| s.lifetime.for_validation);
        assert_eq!(found, Ok(expected), "{lines}");
    }
}

#[test]
fn dates_for_if_modified_since_come_from_the_response_or_its_arrival() {
    for (lines, modified) in [
        ("last-modified: Thu, 01 Jan 1970 00:00:09 GMT|date: Thu, 01 Jan 1970 00:00:10 GMT", 9),
        ("date: Thu, 01 Jan 1970 00:00:10 GMT", 10),
        ("last-modified: garbage|date: Thu, 01 Jan 1970 00:00:10 GMT", 10),
        ("", NOW),
    ] {
        let found = verdict(200, &format!("{lines}|cache-control: max-age=5"), &RULES);
        assert_eq!(found.map(|storable| storable.modified), Ok(modified), "{lines}");
    }
}

#[test]
fn the_announced_length_is_that_of_content_length_alone() {
    for (lines, expected) in [
        ("content-length: 5", Some(5)),
        ("transfer-encoding: chunked|content-length: 5", None),
        ("", None),
    ] {
        let found = verdict(200, &format!("{lines}|cache-control: max-age=5"), &RULES);
        assert_eq!(found.map(|storable| storable.declared_len), Ok(expected), "{lines}");
    }
}

/// RFC 9111 section 3.1, and 5.2.2.4 for the fields that `no-cache` names.
#[test]
fn fields_of_the_connection_are_not_kept() {
    let head = response(
        200,
        "connection: close, X-Hop|x-hop: 1|keep-alive: 5|proxy-connection: x|te: x|upgrade: x|\
         transfer-encoding: chunked|proxy-authenticate: x|proxy-authorization: x|\
         proxy-authentication-info: x|age: 5|cache-control: max-age=5, no-cache=\"x-foo\"|x-foo: 1|\
         x-kept: 1|trailer: x-t|set-cookie: a=b|content-length: 5",
    );
    let kept: Vec<_> =
        head.fields().filter(|field| is_kept(&head, field)).map(|f| f.name).collect();
    let expected: [&[u8]; 5] =
        [b"cache-control", b"x-kept", b"trailer", b"set-cookie", b"content-length"];
    assert_eq!(kept, expected);
}
