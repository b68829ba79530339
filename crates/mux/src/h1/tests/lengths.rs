//! Tests that length fields written by rules do not contradict the body.

use htx::{Head, Version};

use super::exchange::settings;
use crate::h1::{ConnectionMode, H1Conn};
use crate::{BodyKind, Side};

/// The framing fields sent with `body` when rules have left `fields`.
fn sent(side: Side, body: BodyKind, fields: &[(&str, &str)]) -> Vec<String> {
    let mut conn = H1Conn::new(side, settings(ConnectionMode::KeepAlive));
    let mut head = Head::default();
    match side {
        Side::Server => head.set_request(b"GET", b"/a", Version::Http11),
        Side::Client => head.set_response(Version::Http11, 200, b"OK"),
    }
    for (name, value) in fields {
        head.push(name.as_bytes(), value.as_bytes());
    }
    conn.encode_head(&mut head, body, &mut Vec::new());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    head.fields().map(|field| format!("{}: {}", text(field.name), text(field.value))).collect()
}

const NOTHING: &[&str] = &[];
const CHUNKED: &[&str] = &["transfer-encoding: chunked"];

#[test]
fn a_request_without_a_body_announces_none() {
    for fields in [
        &[("content-length", "5")][..],
        &[("content-length", "0"), ("content-length", "5")],
        &[("content-length", "5"), ("content-length", "0")],
        &[("content-length", "0, 5")],
        &[("content-length", "x")],
        &[("transfer-encoding", "chunked")],
        &[("content-length", "5"), ("transfer-encoding", "gzip")],
    ] {
        for body in [BodyKind::None, BodyKind::Tunnel] {
            assert_eq!(sent(Side::Server, body, fields), NOTHING, "{fields:?}");
        }
        let zero = sent(Side::Server, BodyKind::Length(0), fields);
        assert_eq!(zero, ["content-length: 0"], "{fields:?}");
    }
    let zero = &[("content-length", "0")];
    assert_eq!(sent(Side::Server, BodyKind::None, zero), ["content-length: 0"]);
}

#[test]
fn a_body_is_announced_once_with_its_length() {
    for side in [Side::Server, Side::Client] {
        for fields in [
            &[("content-length", "5")][..],
            &[("content-length", "3"), ("content-length", "5")],
            &[("content-length", "5"), ("content-length", "3")],
            &[("content-length", "3"), ("transfer-encoding", "chunked")],
            &[],
        ] {
            let fields = sent(side, BodyKind::Length(3), fields);
            assert_eq!(fields, ["content-length: 3"], "{fields:?}");
        }
        for fields in [
            &[("content-length", "5")][..],
            &[("transfer-encoding", "gzip")],
            &[("transfer-encoding", "chunked"), ("transfer-encoding", "gzip")],
            &[("transfer-encoding", "chunked"), ("content-length", "5")],
            &[],
        ] {
            assert_eq!(sent(side, BodyKind::Chunked, fields), CHUNKED, "{fields:?}");
        }
    }
}

#[test]
fn a_response_without_a_body_announces_length_zero() {
    let fields = &[("content-length", "5"), ("transfer-encoding", "chunked")];
    assert_eq!(sent(Side::Client, BodyKind::None, fields), ["content-length: 0"]);
    assert_eq!(sent(Side::Client, BodyKind::UntilClose, fields), ["connection: close"]);
}
