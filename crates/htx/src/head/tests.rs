//! Tests of start lines and their edits.

use super::*;

fn joined(head: &Head) -> String {
    String::from_utf8(head.runs().flatten().copied().collect()).unwrap()
}

#[test]
fn an_unedited_head_is_one_piece() {
    let mut h = Head::with_capacity(256, 8);
    h.set_request(b"GET", b"/a?b", Version::Http11);
    h.push(b"Host", b"x");
    assert_eq!(h.runs().count(), 1);
    assert_eq!(joined(&h), "GET /a?b HTTP/1.1\r\nhost: x\r\n");
    assert_eq!((h.method(), h.uri()), (&b"GET"[..], &b"/a?b"[..]));
    assert_eq!(h.wire_len(), joined(&h).len());
}

#[test]
fn request_line_edits_keep_the_rest() {
    let mut h = Head::default();
    h.set_request(b"get", b"/a", Version::new(1, 2));
    assert_eq!(h.method_id(), Method::Other);
    h.push(b"Host", b"x");
    h.set_method(b"PUT");
    h.set_uri(b"http://h/p?q");
    assert_eq!(joined(&h), "PUT http://h/p?q HTTP/1.1\r\nhost: x\r\n");
    assert_eq!(h.version().to_string(), "HTTP/1.2");
    assert_eq!(h.path(), Some(&b"/p"[..]));
    assert_eq!(h.query(), Some(&b"q"[..]));
    assert_eq!(h.authority(), Some(&b"h"[..]));
    assert_eq!(h.wire_len(), joined(&h).len());
    assert_eq!(h.method_id(), Method::Put);
}

#[test]
fn status_line_edits() {
    let mut h = Head::default();
    h.set_response(Version::Http10, 204, b"Nope");
    h.push(b"a", b"b");
    assert_eq!(h.reason(), b"Nope");
    h.set_status(404);
    assert_eq!(joined(&h), "HTTP/1.0 404 Not Found\r\na: b\r\n");
    assert_eq!(h.status(), 404);
    assert!(h.uri().is_empty() && h.method().is_empty());
}

#[test]
fn clearing_forgets_all() {
    let mut h = Head::default();
    h.set_response(Version::Http10, 200, b"OK");
    h.clear();
    assert!(h.is_empty() && !h.is_response() && joined(&h).is_empty());
    assert_eq!(h.path(), None);
}

#[test]
fn a_line_in_wire_form_begins_the_same_head() {
    let (mut quick, mut slow) = (Head::default(), Head::default());
    quick.set_response(Version::Http10, 404, b"No");
    quick.push(b"host", b"old");
    quick.begin_request(b"PUT /a?b HTTP/1.1\r\n", 3, Version::Http11);
    slow.set_request(b"PUT", b"/a?b", Version::Http11);
    assert_eq!((quick.method(), quick.uri()), (slow.method(), slow.uri()));
    assert_eq!((quick.method_id(), quick.status()), (slow.method_id(), slow.status()));
    assert_eq!((joined(&quick), quick.wire_len()), (joined(&slow), slow.wire_len()));
    assert!(quick.host().is_none() && quick.runs().count() == 1);
    for reason in ["", "OK", "Not Found"] {
        let line = format!("HTTP/1.1 200 {reason}\r\n");
        quick.begin_response(line.as_bytes(), 200, Version::Http11);
        slow.set_response(Version::Http11, 200, reason.as_bytes());
        assert_eq!((quick.status(), quick.reason()), (slow.status(), slow.reason()));
        assert_eq!((joined(&quick), quick.uri()), (joined(&slow), slow.uri()));
    }
}
