//! Address forms, good and bad.
use super::*;
use proptest::prelude::*;

struct Names;

impl Resolver for Names {
    fn resolve(&self, host: &str, family: Family) -> Option<IpAddr> {
        let v6 = family == Family::V6;
        match host {
            "localhost" if v6 => Some(Ipv6Addr::LOCALHOST.into()),
            "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            _ => None,
        }
    }
}

fn shown(text: &str) -> Result<Vec<String>, AddressError> {
    Ok(bind(text, &Names)?
        .into_iter()
        .map(|address| match address {
            BindAddress::At(Address::Inet(ip)) => ip.to_string(),
            BindAddress::At(Address::Unix(path)) => path.display().to_string(),
            BindAddress::At(Address::Pair(fd)) => format!("pair {fd}"),
            BindAddress::Inherited(fd) => format!("fd {fd}"),
        })
        .collect())
}

#[test]
fn bind_forms() {
    for (text, expected) in [
        (":80", "0.0.0.0:80"),
        ("*:80", "0.0.0.0:80"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("ipv4@:80", "0.0.0.0:80"),
        ("ipv6@:80", "[::]:80"),
        ("[::]:80", "[::]:80"),
        (":::80", "[::]:80"),
        ("::1:80", "[::1]:80"),
        ("ipv6@[::1]:80", "[::1]:80"),
        ("localhost:80", "127.0.0.1:80"),
        ("ipv6@localhost:80", "[::1]:80"),
        ("/run/x.sock", "/run/x.sock"),
        ("unix@x.sock", "x.sock"),
        ("fd@5", "fd 5"),
        ("sockpair@7", "pair 7"),
        (":80-82", "0.0.0.0:80 0.0.0.0:81 0.0.0.0:82"),
    ] {
        assert_eq!(shown(text).map(|l| l.join(" ")), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn bind_errors() {
    for (text, message) in [
        ("", "'' resolves to an empty address (environment variable missing?)"),
        (":8001-8000", "invalid port range '8001-8000'"),
        ("1.2.3.4", "missing port specification in '1.2.3.4'"),
        ("foo.invalid:80", "invalid address: 'foo.invalid' in 'foo.invalid:80'"),
        (":0", "invalid port '0'"),
        (":99999", "invalid port '99999'"),
        (":80x", "invalid port '80x'"),
        ("fd@x", "file descriptor 'x' is not a valid integer in 'fd@x'"),
        ("ipv6@1.2.3.4:5", "invalid address: '1.2.3.4' in 'ipv6@1.2.3.4:5'"),
        ("sockpair@x", "file descriptor 'x' is not a valid integer in 'sockpair@x'"),
        ("abns@", "missing name in 'abns@'"),
        ("unix@", "missing socket path in 'unix@'"),
    ] {
        assert_eq!(shown(text).unwrap_err().to_string(), message, "{text}");
    }
    assert!(shown(&format!("/{}", "x".repeat(200))).unwrap_err().to_string().contains("too long"));
}

#[test]
fn server_ports() {
    for (text, port) in [
        ("1.2.3.4:80", ServerPort::Fixed(80)),
        ("1.2.3.4", ServerPort::FromClient(0)),
        ("1.2.3.4:", ServerPort::FromClient(0)),
        ("1.2.3.4:+10", ServerPort::FromClient(10)),
        ("1.2.3.4:-10", ServerPort::FromClient(-10)),
        ("/x.sock", ServerPort::Fixed(0)),
    ] {
        assert_eq!(server(text, &Names).unwrap().port, port, "{text}");
    }
    for (text, message) in [
        ("127.0.0.1:80-90", "port range not permitted here in '127.0.0.1:80-90'"),
        ("127.0.0.1:99999", "invalid port '99999'"),
        ("fd@3", "a file descriptor is not acceptable here in 'fd@3'"),
        ("nosuch.invalid:80", "invalid address: 'nosuch.invalid' in 'nosuch.invalid:80'"),
    ] {
        assert_eq!(server(text, &Names).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn log_addresses() {
    let udp = |text| log_target(text, 514, &Names);
    assert_eq!(udp("1.2.3.4"), Ok(Address::Inet("1.2.3.4:514".parse().unwrap())));
    assert_eq!(udp("udp@1.2.3.4:99"), Ok(Address::Inet("1.2.3.4:99".parse().unwrap())));
    assert_eq!(udp("/dev/log"), Ok(Address::Unix("/dev/log".into())));
    assert!(udp("1.2.3.4:port").unwrap_err().to_string().contains("invalid character 'p'"));
}

proptest! {
    #[test]
    fn no_address_panics(text in "\\PC{0,30}|[a-z0-9@:\\[\\]*/+-]{0,30}") {
        let _ = bind(&text, &Names);
        let _ = server(&text, &Names);
        let _ = log_target(&text, 514, &Names);
        let _ = host(&text, &Names);
    }
}

#[test]
fn every_prefix_is_understood() {
    for (text, expected) in [
        ("ip@1.2.3.4:80", "1.2.3.4:80"),
        ("ipv4@localhost:80", "127.0.0.1:80"),
        ("ipv6@localhost:80", "[::1]:80"),
        ("tcp@1.2.3.4:80", "1.2.3.4:80"),
        ("tcp4@localhost:80", "127.0.0.1:80"),
        ("tcp6@localhost:80", "[::1]:80"),
        ("stream+ipv6@localhost:80", "[::1]:80"),
        ("stream+unix@x.sock", "x.sock"),
        ("unix@x.sock", "x.sock"),
        ("uxst@x.sock", "x.sock"),
        ("fd@7", "fd 7"),
        ("stream+ip@1.2.3.4:80", "1.2.3.4:80"),
        ("stream+ipv4@localhost:80", "127.0.0.1:80"),
        ("stream+fd@7", "fd 7"),
        ("stream+sockpair@7", "pair 7"),
        ("stream+abns@x", "\0x"),
        ("stream+tcp4@localhost:80", "127.0.0.1:80"),
    ] {
        assert_eq!(shown(text).map(|l| l.join(" ")), Ok(expected.to_owned()), "{text}");
    }
    for (text, expected) in [
        ("udp@1.2.3.4:5", "1.2.3.4:5"),
        ("udp4@localhost", "127.0.0.1:514"),
        ("udp6@localhost", "[::1]:514"),
        ("dgram+ip@1.2.3.4", "1.2.3.4:514"),
        ("dgram+ipv6@localhost", "[::1]:514"),
        ("uxdg@x.sock", "x.sock"),
        ("dgram+unix@x.sock", "x.sock"),
        ("dgram+abns@x", "\0x"),
        ("tcp@1.2.3.4:5", "1.2.3.4:5"),
    ] {
        let shown = match log_target(text, 514, &Names) {
            Ok(Address::Inet(ip)) => ip.to_string(),
            Ok(Address::Unix(path)) => path.display().to_string(),
            Ok(Address::Pair(fd)) => format!("pair {fd}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn socket_types_hold_where_they_are_written() {
    let dgram = ["dgram+ip@1.2.3.4:5", "dgram+fd@3", "dgram+unix@/x", "udp@1.2.3.4:5", "uxdg@/x"];
    for text in dgram {
        let message = format!("dgram-type address not acceptable in '{text}'");
        assert_eq!(shown(text).unwrap_err().to_string(), message, "bind {text}");
        assert_eq!(server(text, &Names).unwrap_err().to_string(), message, "server {text}");
        assert_eq!(source(text, &Names).unwrap_err().to_string(), message, "source {text}");
        assert!(datagram_bind(text, &Names).is_ok(), "dgram-bind {text}");
        assert_eq!(socket_kind(text), Some(SocketKind::Datagram), "{text}");
    }
    for text in ["stream+ip@1.2.3.4:5", "stream+fd@3", "stream+unix@/x", "tcp@1.2.3.4:5", "uxst@/x"]
    {
        let message = format!("stream-type address not acceptable in '{text}'");
        let error = datagram_bind(text, &Names).unwrap_err();
        assert_eq!(error.to_string(), message, "dgram-bind {text}");
        assert!(bind(text, &Names).is_ok(), "bind {text}");
        assert_eq!(socket_kind(text), Some(SocketKind::Stream), "{text}");
    }
    for text in ["1.2.3.4:5", "ip@1.2.3.4:5", "unix@/x", "fd@3"] {
        assert!(bind(text, &Names).is_ok() && datagram_bind(text, &Names).is_ok(), "{text}");
        assert_eq!(socket_kind(text), None, "{text}");
    }
    assert!(nameserver("stream+ip@1.2.3.4:5", &Names).unwrap().0);
    assert!(!nameserver("dgram+ipv4@1.2.3.4:5", &Names).unwrap().0);
    assert_eq!(inherited("stream+fd@3").or(inherited("fd@")), Some("3"));
    assert!(shown("foo+ip@1.2.3.4:5").is_err() && shown("stream@1.2.3.4:5").is_err());
}
