//! Cookies are found, cleaned and cut as measured with HAProxy.

use super::field::{Edit, cleaned, edited, sets, values, without};
use super::*;
use htx::Version;

/// A field, the value of the first cookie `SRV` in it, and the field without all of them, `-` for
/// no field.
const FIELDS: &[(&str, Option<&str>, &str)] = &[
    ("SRV=B", Some("B"), "-"),
    ("SRV=B; x=1", Some("B"), "x=1"),
    ("x=1; SRV=B", Some("B"), "x=1"),
    ("x=1; SRV=B; y=2", Some("B"), "x=1; y=2"),
    ("x=1;SRV=B;y=2", Some("B"), "x=1; y=2"),
    ("xSRV=B", None, "xSRV=B"),
    ("srv=B", None, "srv=B"),
    ("SRV; x=1", None, "SRV; x=1"),
    ("a=b; SRV=B ;c=d", Some("B"), "a=b; c=d"),
    ("SRV=B ; x=y", Some("B"), "x=y"),
    ("SRV = B", Some("B"), "-"),
    ("x=y;\tSRV=B", Some("B"), "x=y"),
    ("x=y; \t SRV=B\t; z", Some("B"), "x=y; z"),
    ("a=1, SRV=B", Some("B"), "a=1"),
    ("a=1,SRV=B,c=2", Some("B"), "a=1, c=2"),
    ("a=1, SRV=B; c=3", Some("B"), "a=1; c=3"),
    ("SRV=B,c", Some("B"), "c"),
    ("SRV=B c; d=e", Some("B c"), "d=e"),
    ("SRV=\"B;x\"; c", Some("\"B;x\""), "c"),
    ("a=\"x;SRV=B\"", None, "a=\"x;SRV=B\""),
    ("a=\"x; SRV=A\"; SRV=B", Some("B"), "a=\"x; SRV=A\""),
    ("a=\"x; SRV=B", None, "a=\"x; SRV=B"),
    ("a=\"x\\\";SRV=B\"", None, "a=\"x\\\";SRV=B\""),
    ("a=\"x\\\"y\";SRV=B", Some("B"), "a=\"x\\\"y\""),
    ("a=x;\"SRV=B\"", None, "a=x;\"SRV=B\""),
    ("$Version=1; SRV=B; $Path=/", Some("B"), "-"),
    ("$Version=1; SRV=B; $Path=/; c=d", Some("B"), "$Version=1; c=d"),
    ("a=b; $Path=/; SRV=B; $Path=/x; c=d", Some("B"), "a=b; $Path=/; c=d"),
    ("$SRV=B", None, "$SRV=B"),
    ("SRV=A; SRV=B", Some("A"), "-"),
    ("SRV=B;c=d; SRV=B;e=f", Some("B"), "c=d; e=f"),
    ("SRV=B; $Path=/; ; c", Some("B"), "; c"),
    ("SRV=B;;c=d", Some("B"), ";c=d"),
    ("a=b; SRV=B;", Some("B"), "a=b; "),
    ("SRV==B", Some("=B"), "-"),
    ("", None, ""),
];

#[test]
fn a_cookie_is_found_and_cut_at_any_position() {
    for (field, value, rest) in FIELDS {
        let found = values(field.as_bytes(), b"SRV").next();
        assert_eq!(found, value.map(str::as_bytes), "{field}");
        let left = without(field.as_bytes(), b"SRV");
        let left = left.unwrap_or_else(|| field.as_bytes().to_vec());
        let rest = if *rest == "-" { "" } else { rest };
        assert_eq!(String::from_utf8_lossy(&left), rest, "{field}");
    }
}

#[test]
fn a_field_without_other_cookies_goes() {
    for (text, after) in [("SRV=B", None), ("SRV=B; x=1", Some("x=1")), ("x=1", Some("x=1"))] {
        let mut head = Head::default();
        head.set_request(b"GET", b"/", Version::Http11);
        head.push(b"cookie", text.as_bytes());
        let cookie = Cookie { name: "SRV".into(), indirect: true, ..Cookie::default() };
        hand_on(&mut head, &Cookie { mode: CookieMode::Insert, ..cookie });
        assert_eq!(head.get(b"cookie"), after.map(str::as_bytes), "{text}");
    }
}

#[test]
fn the_server_gets_its_own_cookie_without_prefix_or_blanks() {
    for (text, prefixed, expected) in [
        ("SRV=B", true, None),
        ("SRV=B~x", false, None),
        ("SRV=B~x", true, Some("SRV=x")),
        ("SRV=A~x; SRV=B~y", true, Some("SRV=x; SRV=y")),
        ("SRV=B~", true, Some("SRV=")),
        ("SRV = B~y ; d", true, Some("SRV=y ; d")),
        ("a = b; SRV = B ; c = d", false, Some("a = b; SRV=B ; c = d")),
        ("SRV\t=\tB\t;c", false, Some("SRV=B\t;c")),
    ] {
        let text = cleaned(text.as_bytes(), b"SRV", prefixed);
        assert_eq!(text, expected.map(|it| it.as_bytes().to_vec()), "{expected:?}");
    }
}

#[test]
fn cookies_that_a_server_sets_are_found_and_replaced() {
    for (text, listed, [drop, value, prefix]) in [
        ("SRV=x", false, ["", "SRV=A", "SRV=A~x"]),
        ("SRV = x ; path=/", false, ["", "SRV=A ; path=/", "SRV=A~x ; path=/"]),
        ("SRV=\"x;y\"; path=/", false, ["", "SRV=A; path=/", "SRV=A~\"x;y\"; path=/"]),
        ("SRV=x,SRV=y", false, ["", "SRV=A,SRV=y", "SRV=A~x,SRV=y"]),
        ("SRV=x,SRV=y", true, ["", "SRV=A,SRV=A", "SRV=A~x,SRV=A~y"]),
        ("SRV=x, c=d", true, ["c=d", "SRV=A, c=d", "SRV=A~x, c=d"]),
        (
            "a=b, SRV=x; Path=/, c=d",
            true,
            ["a=b, c=d", "a=b, SRV=A; Path=/, c=d", "a=b, SRV=A~x; Path=/, c=d"],
        ),
    ] {
        assert!(sets(text.as_bytes(), b"SRV", listed), "{text}");
        let by = |edit| String::from_utf8(edited(text.as_bytes(), b"SRV", listed, edit)).unwrap();
        assert_eq!(
            [by(Edit::Drop), by(Edit::Value(b"A")), by(Edit::Prefix(b"A"))],
            [drop, value, prefix]
        );
    }
    for (text, listed) in [
        ("a=b; SRV=x", false),
        ("a=b, SRV=x", false),
        ("a=\"b, SRV=x\"", true),
        ("a=b; SRV=x", true),
        (";SRV=x", false),
        ("SRV", false),
    ] {
        assert!(!sets(text.as_bytes(), b"SRV", listed), "{text}");
    }
}
