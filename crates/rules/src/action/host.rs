//! Keeps an absolute target and `Host` saying the same when a rule edits either: a server refuses a
//! request in which they differ (RFC 9112 section 3.2.2).

use htx::target::{Target, split_port, without_userinfo};
use htx::{Head, HeaderId};

/// `Host` follows a new target that names an authority.
pub(super) fn follow_target(head: &mut Head) {
    let Some(authority) = head.target().authority().map(without_userinfo) else { return };
    let Some(field) = head.first(HeaderId::Host) else { return };
    if authority.is_empty() || field.value == authority {
        return;
    }
    let (index, authority) = (field.index, authority.to_vec());
    head.replace_value(index, &authority);
}

/// The authority of an absolute target follows a new `Host`, the last one. An absolute target
/// without an original form is sent with `Host` anyway.
pub(super) fn follow_host(head: &mut Head) {
    if !head.is_request() || head.is_normalized() {
        return;
    }
    if let Target::Authority(old) = head.target() {
        let uri = connect_target(head, old);
        return head.set_uri(&uri);
    }
    let uri = head.uri();
    let Some(start) = memchr::memmem::find(uri, b"://").map(|at| at + 3) else { return };
    let Some(authority) = head.target().authority() else { return };
    let Some(host) = head.by_id(HeaderId::Host).last().map(|field| field.value) else { return };
    if host.is_empty() || authority == host || !uri[start..].starts_with(authority) {
        return;
    }
    let uri = [&uri[..start], host, &uri[start + authority.len()..]].concat();
    head.set_uri(&uri);
}

/// The target of a CONNECT request whose `Host` was edited. If `Host` has no port, the target's
/// port stays: `Host` may have lost a default port, which the target needs (RFC 9112 section
/// 3.2.3).
fn connect_target(head: &Head, old: &[u8]) -> Vec<u8> {
    let host = head.by_id(HeaderId::Host).last().map_or(&b""[..], |field| field.value);
    match (split_port(host), split_port(old).1) {
        _ if host.is_empty() => old.to_vec(),
        ((host, None), Some(port)) => [host, b":", port].concat(),
        _ => host.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;

    fn head(uri: &str, hosts: &[&str]) -> Head {
        let mut head = Head::default();
        head.set_request(b"GET", uri.as_bytes(), Version::Http11);
        hosts.iter().for_each(|host| head.push(b"host", host.as_bytes()));
        head
    }

    #[test]
    fn a_host_follows_the_target() {
        for (uri, expected) in [
            ("http://other:82/x", "other:82"),
            ("http://u:p@other/x", "other"),
            ("http://[::1]:80/x", "[::1]:80"),
            ("http://other", "other"),
            ("/x", "x"),
            ("//other/x", "x"),
            ("*", "x"),
        ] {
            let mut head = head(uri, &["x"]);
            follow_target(&mut head);
            assert_eq!(head.host(), Some(expected.as_bytes()), "{uri}");
        }
        let mut bare = head("http://other/x", &[]);
        follow_target(&mut bare);
        assert_eq!(bare.host(), None);
    }

    #[test]
    fn a_target_follows_the_host() {
        for (uri, hosts, expected) in [
            ("http://x:8/a?b=://c", &["new:80"][..], "http://new:80/a?b=://c"),
            ("http://x:8/a", &["x:8", "new"], "http://new/a"),
            ("http://x:8", &["new"], "http://new"),
            ("/a?b=http://c/d", &["new"], "/a?b=http://c/d"),
            ("http://x:8/a", &[], "http://x:8/a"),
            ("x:8/a", &["new"], "x:8/a"),
        ] {
            let mut head = head(uri, hosts);
            follow_host(&mut head);
            assert_eq!(head.uri(), expected.as_bytes(), "{uri}");
        }
        for (uri, hosts, expected) in [
            ("x:443", &["new:81"][..], "new:81"),
            ("x:443", &["new"], "new:443"),
            ("x:443", &["x"], "x:443"),
            ("[::1]:443", &["[::2]"], "[::2]:443"),
            ("x:443", &["x", "new"], "new:443"),
            ("x:443", &[], "x:443"),
        ] {
            let mut connect = head("x", hosts);
            connect.set_request(b"CONNECT", uri.as_bytes(), Version::Http11);
            follow_host(&mut connect);
            assert_eq!(connect.uri(), expected.as_bytes(), "{uri} {hosts:?}");
        }
    }
}
