//! Tests of `Vary` and of the selection of stored responses.

use super::*;
use htx::Version;

const KEY: SipKey = [1, 2];

fn request(lines: &[(&str, &str)]) -> Selecting {
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
    Selecting::of(&head, KEY)
}

fn accepting(value: &str) -> Selecting {
    request(&[("accept-encoding", value)])
}

fn response(vary: &str, encoding: Option<&str>) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    head.push(b"vary", vary.as_bytes());
    if let Some(encoding) = encoding {
        head.push(b"content-encoding", encoding.as_bytes());
    }
    head
}

fn stored(encoding: Option<&str>) -> Encodings {
    Encodings::of_response(&response("accept-encoding", encoding)).expect("known encodings")
}

#[test]
fn accepted_encodings_select_the_response() {
    for (accept, encoding, selected) in [
        ("gzip", Some("gzip"), true),
        ("GZIP", Some("gzip"), true),
        ("gzip", Some("x-gzip"), true),
        ("deflate, gzip", Some("gzip"), true),
        ("first,second,gzip", Some("gzip"), true),
        ("gzip;q=0.8", Some("gzip"), true),
        ("gzip ; q=0.8", Some("gzip"), true),
        ("deflate, gzip;q=0", Some("gzip"), false),
        ("deflate, gzip;q=0.000", Some("gzip"), false),
        ("gzip", Some("br"), false),
        ("", Some("gzip"), false),
        ("first", Some("gzip"), false),
        // Without an encoding: for all that do not refuse it.
        ("gzip", None, true),
        ("", None, true),
        ("gzip, identity;q=0", None, false),
        ("gzip, *;q=0", None, false),
        ("gzip, *;q=0, identity", None, true),
        // Any encoding.
        ("*", Some("br"), true),
        ("gzip;q=0, *", Some("br"), true),
        ("gzip;q=0, *", Some("gzip"), false),
        ("gzip;q=0, *;q=0.1, identity;q=0", Some("zstd"), true),
        ("gzip;q=0, *;q=0.1, identity;q=0", None, false),
        ("gzip;q=0, deflate, *;q=0", Some("br"), false),
        // All encodings of a response must be accepted.
        ("gzip, deflate", Some("deflate, gzip"), true),
        ("gzip", Some("deflate, gzip"), false),
        ("gzip", Some("identity"), true),
    ] {
        let variant = Variant { encodings: Some(stored(encoding)), referer: None };
        assert_eq!(variant.is_selected_by(&accepting(accept)), selected, "{accept} {encoding:?}");
    }
}

#[test]
fn a_request_without_accept_encoding_accepts_all() {
    for encoding in [None, Some("gzip"), Some("br"), Some("deflate, gzip")] {
        let variant = Variant { encodings: Some(stored(encoding)), referer: None };
        assert!(variant.is_selected_by(&request(&[])), "{encoding:?}");
    }
}

#[test]
fn lines_of_accept_encoding_are_one_list() {
    let one = request(&[("accept-encoding", "gzip"), ("accept-encoding", "br, deflate")]);
    assert_eq!(one, accepting("deflate, br,gzip"));
}

#[test]
fn a_list_of_more_than_sixteen_encodings_selects_nothing_that_depends_on_it() {
    let list = |n: usize| (0..n).map(|i| format!("a{i}")).collect::<Vec<_>>().join(",");
    let variant = Variant { encodings: Some(Encodings::IDENTITY), referer: None };
    assert!(variant.is_selected_by(&accepting(&list(MAX_ENCODINGS))));
    let long = accepting(&list(MAX_ENCODINGS + 1));
    assert!(!variant.is_selected_by(&long));
    assert!(Variant::default().is_selected_by(&long), "others are selected as usual");
    let refused = super::variant(&response("accept-encoding", None), &long, true);
    assert_eq!(refused, Err(VaryFault::NotAccepted));
    assert_eq!(accepting(&"gzip,".repeat(4096)).encodings, None, "eight kilobytes and more");
}

/// RFC 9111 section 4.1: "A stored response with a Vary header field value containing a member '*'
/// always fails to match."
#[test]
fn only_known_fields_of_vary_are_stored() {
    let request = accepting("gzip");
    for (vary, encoding, process, expected) in [
        ("accept-encoding", None, true, None),
        ("Accept-Encoding, REFERER", Some("gzip"), true, None),
        ("accept-encoding", None, false, Some(VaryFault::Fields)),
        ("*", None, true, Some(VaryFault::Fields)),
        ("accept-encoding, *", None, true, Some(VaryFault::Fields)),
        ("accept-encoding, cookie", None, true, Some(VaryFault::Fields)),
        ("", None, true, Some(VaryFault::Fields)),
        ("accept-encoding", Some("unknown"), true, Some(VaryFault::Encoding)),
        ("accept-encoding", Some("gzip, unknown"), true, Some(VaryFault::Encoding)),
        ("accept-encoding", Some("br"), true, Some(VaryFault::NotAccepted)),
        ("referer", Some("unknown"), true, None),
    ] {
        let found = variant(&response(vary, encoding), &request, process);
        assert_eq!(found.err(), expected, "{vary} {encoding:?}");
    }
    let plain = Head::default();
    assert_eq!(variant(&plain, &request, false), Ok(Variant::default()));
}

/// RFC 9111 section 4.1: fields match if they are equal, or absent from both requests.
#[test]
fn a_referer_selects_only_what_was_stored_for_it() {
    let with = |referer: &str| request(&[("referer", referer)]);
    let response = response("referer", None);
    let one = variant(&response, &with("a"), true).expect("it is storable");
    assert!(one.is_selected_by(&with("a")));
    assert!(!one.is_selected_by(&with("b")) && !one.is_selected_by(&request(&[])));
    let none = variant(&response, &request(&[]), true).expect("it is storable");
    assert!(none.is_selected_by(&request(&[])) && !none.is_selected_by(&with("")));
    let two = request(&[("referer", "a"), ("referer", "b")]);
    assert!(!one.is_selected_by(&two) && !none.is_selected_by(&two));
}

#[test]
fn listings_have_the_byte_order_of_haproxy() {
    let variant =
        Variant { encodings: Some(stored(Some("deflate, gzip"))), referer: Some(0xe02b_d376) };
    assert_eq!(variant.listed(), 0x0300_0000_e02b_d376);
    let identity = Variant { encodings: Some(Encodings::IDENTITY), referer: None };
    assert_eq!(identity.listed(), 0x0001_0000_0000_0000);
}
