//! Upgrades to protocols in which requests follow: no request reaches a server inside one. Other
//! upgrades, also those of requests with a body, are passed on.

use crate::support::{Client, Origin, PATIENCE, Running, Setup};
use std::sync::mpsc::{self, Receiver};

const SWITCHING: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";

/// A server that answers each request with a 101 to a protocol; the test gets the fields and the
/// bytes that follow them.
fn switching(protocol: &'static str) -> (Origin, Receiver<String>) {
    let (sender, heard) = mpsc::channel();
    let origin = Origin::new(move |mut peer| {
        let Some(head) = peer.client.try_head() else { return };
        let fields = head.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
        peer.send(format!("{SWITCHING}{protocol}\r\n\r\n"));
        let rest = String::from_utf8_lossy(&peer.client.rest()).into_owned();
        let _ = sender.send(fields.collect::<String>() + "\n" + &rest);
    });
    (origin, heard)
}

fn guarded(origin: &Origin) -> Running {
    Setup::http("    http-request deny if { path_beg /admin }", "    server s <origin>")
        .with("origin", origin.address())
        .start()
}

#[test]
fn no_request_reaches_a_server_inside_an_upgrade() {
    let (origin, heard) = switching("h2c");
    let weir = guarded(&origin);
    for fields in [
        "Connection: Upgrade\r\nUpgrade: h2c\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Connection: upgrade\r\nUpgrade: foo, H2C\r\n",
        "Connection: upgrade\r\nUpgrade: foo\r\nUpgrade: h2c\r\n",
        "Connection: upgrade\r\nUpgrade: \"x, h2c, y\"\r\n",
        "Connection: upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1\r\n",
        "Upgrade: h2c\r\n",
    ] {
        let mut client = weir.web();
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        client.send(head + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET /admin HTTP/1.1\r\n\r\n");
        assert_eq!(client.response().status(), 502, "{fields:?}");
        client.half_close();
        // The bytes that follow are the next request, which rules evaluate like any other.
        let rest = String::from_utf8_lossy(&client.rest()).into_owned();
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 400 "), "{fields:?}: {rest}");
        let heard = heard.recv_timeout(PATIENCE).expect("a request").to_lowercase();
        for word in ["h2c", "http2-settings", "tls/1.0", "admin"] {
            assert!(!heard.contains(word), "{fields:?}: {heard}");
        }
    }
}

/// An extended CONNECT over HTTP/2 (RFC 8441), as literal fields.
fn extended_connect(protocol: &str) -> Vec<u8> {
    let mut block = b"\x02\x07CONNECT\x86\x84\x41\x01a".to_vec();
    for text in [":protocol", protocol] {
        if text == ":protocol" {
            block.push(0);
        }
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    }
    [&[0, 0, block.len() as u8, 1, 4, 0, 0, 0, 1][..], &block].concat()
}

/// The payload of the first frame of this type.
fn payload(client: &mut Client, kind: u8) -> Vec<u8> {
    loop {
        let header = client.take(9);
        let payload = client.take(usize::from(header[1]) << 8 | usize::from(header[2]));
        if header[3] == kind {
            return payload;
        }
    }
}

const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[test]
fn no_stream_becomes_a_connection_with_requests() {
    let (origin, heard) = switching("foo");
    let weir = guarded(&origin);
    for protocol in ["h2c", "H2", "HTTP"] {
        let mut client = weir.web();
        client.send(HELLO);
        client.send(extended_connect(protocol));
        let block = payload(&mut client, 1);
        assert!(block.windows(3).any(|text| text == b"501"), "{protocol}: {block:?}");
    }
    assert_eq!(origin.connections(), 0);
    let mut client = weir.web();
    client.send(HELLO);
    client.send(extended_connect("foo"));
    assert_eq!(payload(&mut client, 1)[0], 0x88, "another protocol is taken");
    drop(client);
    assert!(heard.recv_timeout(PATIENCE).expect("a request").contains("upgrade: foo"));
}

#[test]
fn a_server_that_switches_to_http_is_refused() {
    let (origin, _heard) = switching("foo, h2c");
    let weir = guarded(&origin);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n";
    assert_eq!(weir.web().ask(request).status(), 502);
    let mut client = weir.web();
    client.send(HELLO);
    client.send(extended_connect("foo"));
    let block = payload(&mut client, 1);
    assert!(block.windows(3).any(|text| text == b"502"), "{block:?}");
}

/// Answers with an interim status in all ways that rules and scripts have.
const INTERIM: &str = "
    for _, status in ipairs{101, 103} do
        core.register_service('service' .. status, 'http', function(applet)
            applet:set_status(status)
            applet:add_header('connection', 'upgrade')
            applet:add_header('upgrade', 'foo')
            applet:start_response()
            applet:send('inside')
        end)
        core.register_action('done' .. status, {'http-req'}, function(txn)
            txn:done(txn:reply{status = status, body = 'inside'})
        end)
        core.register_action('set' .. status, {'http-res'}, function(txn)
            txn.http:res_set_status(status)
        end)
    end";

/// Otherwise the client takes the next response for this one, or is in a tunnel.
#[test]
fn no_final_response_has_an_interim_status() {
    let origin = Origin::saying("hello");
    let rules: Vec<_> = [101, 103]
        .iter()
        .flat_map(|status| {
            [
                format!("use-service lua.service{status} if {{ path /service{status} }}"),
                format!("lua.done{status} if {{ path /done{status} }}"),
            ]
            .map(|rule| format!("    http-request {rule}\n"))
            .into_iter()
            .chain(["response", "after-response"].map(|kind| {
                format!(
                    "    http-{kind} set-status {status} if {{ var(txn.p) -m str /{kind}{status} }}\n"
                )
            }))
            .chain([format!(
                "    http-response lua.set{status} if {{ var(txn.p) -m str /set{status} }}\n"
            )])
        })
        .collect();
    let rules = format!("    http-request set-var(txn.p) path\n{}", rules.concat());
    let weir = Setup::http(&rules, "    server s <origin>")
        .global("lua-load <dir>/a.lua")
        .file("a.lua", INTERIM)
        .with("origin", origin.address())
        .start();
    for (way, wanted) in [("service", 502), ("done", 500), ("set", 200), ("response", 500)] {
        for status in [101, 103] {
            for upgrade in ["", "Connection: upgrade\r\nUpgrade: foo\r\n"] {
                let mut client = weir.web();
                client.send(format!("GET /{way}{status} HTTP/1.1\r\nHost: a\r\n{upgrade}\r\n"));
                let answer = client.response();
                assert_eq!(answer.status(), wanted, "{way}{status} {upgrade:?}");
                client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
                let rest = String::from_utf8_lossy(&client.rest()).into_owned();
                assert!(
                    rest.is_empty() || rest.starts_with("HTTP/1.1 200 "),
                    "{way}{status} {upgrade:?}: {rest}"
                );
            }
            let mut client = weir.web();
            client.send(HELLO);
            let mut request = extended_connect("foo");
            let path = format!("/{way}{status}");
            let at = request.iter().position(|byte| *byte == 0x84).expect("a path");
            let literal = [&[0x04, path.len() as u8][..], path.as_bytes()].concat();
            request.splice(at..=at, literal);
            request[2] = (request.len() - 9) as u8;
            client.send(request);
            let block = payload(&mut client, 1);
            let wanted = wanted.to_string();
            let found = block.windows(3).any(|text| text == wanted.as_bytes())
                || [(0x88, "200"), (0x8e, "500")].contains(&(block[0], &wanted));
            assert!(found, "{way}{status}: {block:?}");
        }
    }
    // The last rules of a response have nothing to put in its place.
    for status in [101, 103] {
        let mut client = weir.web();
        client.send(format!("GET /after-response{status} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(client.try_head().is_none(), "{status}");
    }
}

/// As the interface of a container runtime does: the parameters of the new stream are a body.
#[test]
fn an_upgrade_with_a_body_is_passed_on() {
    let origin = Origin::new(|mut peer| {
        let Some(request) = peer.request() else { return };
        assert_eq!(request.header("upgrade"), Some("tcp"));
        peer.send(format!("{SWITCHING}tcp\r\n\r\n"));
        let line = peer.client.take(5);
        peer.send(line);
    });
    let weir = guarded(&origin);
    let ask = "POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n";
    for body in
        ["Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"]
    {
        let mut client = weir.web();
        client.send(format!("{ask}{body}"));
        assert_eq!(client.head().status(), 101);
        client.send("hello");
        assert_eq!(client.take(5), b"hello", "{body:?}");
    }
    assert_eq!((origin.request(0).text(), origin.request(1).text()), ("{}".into(), "{}".into()));
}

/// The server need not wait for the body; the client's next bytes belong to it all the same.
#[test]
fn an_early_switch_waits_for_the_body() {
    let (told, switched) = mpsc::channel();
    let (sender, heard) = mpsc::channel();
    let origin = Origin::new(move |mut peer| {
        peer.client.head();
        peer.send(format!("{SWITCHING}tcp\r\n\r\nwelcome"));
        told.send(()).expect("the test waits");
        let _ = sender.send(peer.client.rest());
    });
    let weir = guarded(&origin);
    let mut client = weir.web();
    client.send(
        "POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\
         Transfer-Encoding: chunked\r\n\r\n2\r\n{",
    );
    switched.recv_timeout(PATIENCE).expect("a request");
    client.send("}\r\n0\r\n\r\n");
    assert_eq!(client.head().status(), 101);
    assert_eq!(client.take(7), b"welcome");
    client.send("hello");
    client.half_close();
    client.expect_end();
    let heard = heard.recv_timeout(PATIENCE).expect("all of it");
    let heard = String::from_utf8_lossy(&heard).into_owned();
    assert!(heard.ends_with("0\r\n\r\nhello"), "{heard:?}");
}
