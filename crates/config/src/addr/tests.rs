//! Address forms, good and bad. Never asks a real resolver.
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

fn shown(text: &str) -> Result<Vec<String>, String> {
    Ok(bind(text, &Names)?
        .into_iter()
        .map(|address| match address {
            BindAddress::At(Address::Ip(ip)) => ip.to_string(),
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
        assert_eq!(shown(text), Err(message.to_owned()), "{text}");
    }
    assert!(shown(&format!("/{}", "x".repeat(200))).unwrap_err().contains("too long"));
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
        assert_eq!(server(text, &Names).unwrap_err(), message, "{text}");
    }
}

#[test]
fn log_addresses() {
    let udp = |text| datagram(text, 514, &Names);
    assert_eq!(udp("1.2.3.4"), Ok(Address::Ip("1.2.3.4:514".parse().unwrap())));
    assert_eq!(udp("udp@1.2.3.4:99"), Ok(Address::Ip("1.2.3.4:99".parse().unwrap())));
    assert_eq!(udp("/dev/log"), Ok(Address::Unix("/dev/log".into())));
    assert!(udp("1.2.3.4:port").unwrap_err().contains("invalid character 'p'"));
}

proptest! {
    #[test]
    fn no_address_panics(text in "\\PC{0,30}|[a-z0-9@:\\[\\]*/+-]{0,30}") {
        let _ = bind(&text, &Names);
        let _ = server(&text, &Names);
        let _ = datagram(&text, 514, &Names);
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
    ] {
        let shown = match datagram(text, 514, &Names) {
            Ok(Address::Ip(ip)) => ip.to_string(),
            Ok(Address::Unix(path)) => path.display().to_string(),
            Ok(Address::Pair(fd)) => format!("pair {fd}"),
            Err(message) => message,
        };
        assert_eq!(shown, expected, "{text}");
    }
}
