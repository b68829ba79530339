//! Connections between peers with TLS and with PROXY protocol headers.

use super::wire::RawPeer;
use super::{SECTIONS, addresses, becomes, setup};
use crate::support::{Identity, Running, Setup};
use std::path::Path;

/// The section with these presets, and certificates for both sides.
fn linked(presets: &str, name: &str, addresses: &[String; 2]) -> Setup {
    let authority = Identity::new("authority", None);
    let [own, other] = ["A", "B"].map(|name| Identity::new(name, Some(&authority)));
    let sections = SECTIONS.replacen("peers group\n", &format!("peers group\n{presets}"), 1);
    setup(&sections, name, addresses)
        .file("authority.pem", &authority.certificate())
        .file("A.pem", &own.pem())
        .file("B.pem", &other.pem())
}

fn share(a: &Running, b: &Running) {
    a.web().get("/ours");
    becomes(b, "/ours", "gpc0=1 http_req_cnt=1 ");
    b.web().get("/theirs");
    becomes(a, "/theirs", "gpc0=1 http_req_cnt=1 ");
}

const TLS: &str = "    default-bind ssl crt <dir>/A.pem\n    default-server ssl verify none\n";
const PROXY: &str = "    default-bind accept-proxy\n    default-server send-proxy\n";
const BOTH: &str = "    default-bind accept-proxy ssl crt <dir>/A.pem\n    \
    default-server send-proxy-v2 ssl verify none\n";

#[test]
fn tables_are_shared_over_tls_and_proxy_headers() {
    for presets in [TLS, PROXY, BOTH] {
        let addresses = addresses();
        let [a, b] = ["A", "B"].map(|name| linked(presets, name, &addresses).start());
        share(&a, &b);
    }
}

#[test]
fn an_old_process_teaches_its_successor_over_tls_and_proxy_headers() {
    for presets in [TLS, PROXY, BOTH] {
        let addresses = addresses();
        let mut old = linked(presets, "A", &addresses).start();
        old.web().get("/kept");
        becomes(&old, "/kept", "gpc0=1 ");
        let pid = old.pid().to_string();
        let new = linked(presets, "A", &addresses).arguments(&["-db", "-sf", &pid]).start();
        becomes(&new, "/kept", "gpc0=1 http_req_cnt=1 ");
        assert_eq!(old.wait().code(), Some(0));
    }
}

#[test]
fn tables_are_shared_with_haproxy_over_tls() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    // Both sides show a certificate, and verify the one that they are shown.
    let pem = Identity::new("group", None);
    let verified = "    default-bind ssl crt <dir>/group.pem verify required ca-file <dir>/ca.pem\n    \
        default-server ssl crt <dir>/group.pem verify required ca-file <dir>/ca.pem\n";
    let sections = SECTIONS.replacen("peers group\n", &format!("peers group\n{verified}"), 1);
    let addresses = addresses();
    let [other, weir] = ["A", "B"].map(|name| {
        setup(&sections, name, &addresses)
            .file("group.pem", &pem.pem())
            .file("ca.pem", &pem.certificate())
    });
    let (other, weir) = (other.program(haproxy).start(), weir.start());
    share(&weir, &other);
}

#[test]
fn a_connection_without_a_proxy_header_is_closed() {
    let addresses = addresses();
    let _weir = linked(PROXY, "A", &addresses).start();
    let hello = "HAProxyS 2.1\nA\nB 7 1\n";
    assert_eq!(RawPeer::connect(&addresses[0], hello.as_bytes()).0.rest(), b"");
    let header = format!("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n{hello}");
    assert_eq!(RawPeer::connect(&addresses[0], header.as_bytes()).0.take(4), b"200\n");
}
