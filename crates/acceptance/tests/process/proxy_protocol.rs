//! PROXY protocol and NetScaler headers, received and sent.

use crate::support::{
    Client, Identity, LogReceiver, Origin, PATIENCE, Running, Secure, Setup, eventually, reply,
    serve_forever,
};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

/// Answers with what is known of the connection.
const TELL: &str = "    http-request return status 200 hdr src %[src]:%[src_port] \
                    hdr dst %[dst]:%[dst_port] hdr fc_src %[fc_src] hdr rcvd %[fc_rcvd_proxy] \
                    hdr authority %[fc_pp_authority] hdr id %[fc_pp_unique_id]";

const V1: &str = "PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\r\n";

/// A header of version 2 for 1.2.3.4:42 to 5.6.7.8:1337, with these values behind it.
fn v2(values: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = vec![1, 2, 3, 4, 5, 6, 7, 8, 0, 42, 5, 57];
    for (kind, value) in values {
        body.push(*kind);
        body.extend_from_slice(&(value.len() as u16).to_be_bytes());
        body.extend_from_slice(value);
    }
    let len = (body.len() as u16).to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11"[..], &len, &body].concat()
}

fn receiver(log: &LogReceiver) -> Running {
    Setup::new(&format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 1s\n    log <log> format raw local0\n    \
         option httplog\n\
         frontend px\n    bind <px> accept-proxy name in\n{TELL}\n\
         frontend cip\n    bind <cip> accept-netscaler-cip 1234\n{TELL}\n\
         frontend ciprule\n    bind <ciprule>\n    \
         tcp-request connection expect-netscaler-cip layer4\n{TELL}\n\
         frontend rule\n    bind <rule>\n    \
         tcp-request connection expect-proxy layer4 if {{ src 127.0.0.1 }}\n    \
         tcp-request connection set-src ipv4(9.9.9.9)\n{TELL}\n\
         frontend other\n    bind <other>\n    \
         tcp-request connection expect-proxy layer4 unless {{ src 127.0.0.1 }}\n{TELL}\n"
    ))
    .with("log", log.address())
    .start()
}

/// The fields of an answer: source, destination, real source, whether a header came.
fn told(client: &mut Client) -> [String; 4] {
    let answer = client.get("/");
    ["src", "dst", "fc_src", "rcvd"].map(|name| answer.header(name).unwrap_or("").to_owned())
}

#[test]
fn headers_dictate_the_addresses() {
    let log = LogReceiver::new();
    let weir = receiver(&log);
    let announced = ["1.2.3.4:42", "5.6.7.8:1337", "127.0.0.1", "1"].map(String::from);
    for header in [V1.as_bytes().to_vec(), v2(&[])] {
        let mut client = weir.connect("px");
        client.send(&header);
        assert_eq!(told(&mut client), announced);
        assert!(log.line().starts_with("1.2.3.4:42 ["), "logs say so too");
        assert_eq!(told(&mut client), announced, "for all requests of the connection");
        log.line();
    }
    for header in ["PROXY UNKNOWN\r\n", "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        let mut client = weir.connect("px");
        client.send(header);
        let own = [client.local(), weir.address("px")].map(|it| it.to_string());
        let [src, dst, _, received] = told(&mut client);
        assert_eq!(([src, dst], received.as_str()), (own, "1"));
    }
    // A header may come in pieces.
    let mut client = weir.connect("px");
    for byte in v2(&[(2, b"a.example"), (5, b"an-id")]) {
        client.send([byte]);
    }
    let answer = client.get("/");
    assert_eq!(answer.header("authority"), Some("a.example"));
    assert_eq!(answer.header("id"), Some("an-id"));
}

#[test]
fn a_rule_decides_which_clients_send_a_header() {
    let log = LogReceiver::new();
    let weir = receiver(&log);
    let mut client = weir.connect("rule");
    client.send(V1);
    let expected = ["1.2.3.4:42", "5.6.7.8:1337", "9.9.9.9", "1"].map(String::from);
    assert_eq!(told(&mut client), expected, "set-src of that layer is below the header");
    let mut client = weir.connect("other");
    let [src, _, _, received] = told(&mut client);
    assert_eq!((src, received.as_str()), (client.local().to_string(), "0"));
}

#[test]
fn netscaler_headers_dictate_the_addresses() {
    let log = LogReceiver::new();
    let weir = receiver(&log);
    let mut headers = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    headers.extend([0, 42, 5, 57]);
    headers.resize(40, 0);
    let mut client = weir.connect("cip");
    client.send([&1234u32.to_be_bytes()[..], &40u32.to_be_bytes(), &headers].concat());
    let expected = ["1.2.3.4:42", "5.6.7.8:1337", "127.0.0.1", "0"].map(String::from);
    assert_eq!(told(&mut client), expected);
    log.line();
    // Without a magic number of its own a listener expects none.
    let mut client = weir.connect("ciprule");
    client.send([&[0; 4][..], &40u32.to_be_bytes(), &headers].concat());
    assert_eq!(told(&mut client), expected);
    log.line();
    let mut client = weir.connect("cip");
    client.send(V1);
    client.expect_end();
    let line = log.line();
    assert!(
        line.ends_with("cip/1: Received an invalid NetScaler Client IP magic number"),
        "{line}"
    );
}

#[test]
fn clients_that_break_the_protocol_are_closed_and_logged() {
    let log = LogReceiver::new();
    let weir = receiver(&log);
    let sealed_wrongly = v2(&[(3, b"abcd")]);
    let lengthy = v2(&[(5, &[b'x'; 129])]);
    let cases: [(&[u8], &str); 7] = [
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "Received something which does not look like a PROXY protocol header",
        ),
        (b"PROXY TCP4 1.2.3.4\r\n", "Received an invalid PROXY protocol header"),
        (
            b"PROXY UDP4 1.2.3.4 5.6.7.8 42 1337\r\n",
            "Received an unhandled protocol in the PROXY protocol header",
        ),
        (&sealed_wrongly, "Received an invalid PROXY protocol header"),
        (&lengthy, "Received an invalid PROXY protocol header"),
        // Too long to wait for.
        (b"PROXY TC", "Timeout while waiting for PROXY protocol header"),
        (b"", "Timeout while waiting for PROXY protocol header"),
    ];
    for (bytes, words) in cases {
        let mut client = weir.connect("px");
        let address = client.local();
        client.send(bytes);
        client.expect_end();
        let line = log.line();
        let (who, rest) = line.split_once(" [").expect("a date");
        let (_, rest) = rest.split_once("] ").expect("a date");
        assert_eq!((who, rest), (&*address.to_string(), &*format!("px/in: {words}")));
    }
    let client = weir.connect("px");
    client.close();
    let closed = "px/in: Connection closed while waiting for PROXY protocol header";
    assert!(log.line().ends_with(closed));
    let mut client = weir.connect("px");
    client.send("PROXY ");
    client.half_close();
    client.expect_end();
    assert!(log.line().ends_with("px/in: Truncated PROXY protocol header received"));
    // They were connections, and no sessions.
    assert_eq!(weir.stat("px", "FRONTEND", "conn_tot"), "9");
    assert_eq!(weir.stat("px", "FRONTEND", "stot"), "0");
}

/// The header that a connection begins with, if it begins with one.
fn header(client: &mut Client) -> Vec<u8> {
    let mut header = client.take(6);
    if header == b"PROXY " {
        while !header.ends_with(b"\r\n") {
            header.extend(client.take(1));
        }
        return header;
    }
    header.extend(client.take(10));
    let len = u16::from_be_bytes([header[14], header[15]]);
    header.extend(client.take(len.into()));
    header
}

/// An origin that answers with the header that its connection began with.
fn echo() -> Origin {
    Origin::new(|mut peer| {
        let header = header(&mut peer.client).escape_ascii().to_string();
        serve_forever(peer, move |_| reply("200 OK", &header).into_bytes());
    })
}

/// The beginning of a header of version 2, in the form that [`echo`] answers in.
const SIGNATURE: &str = r"\r\n\r\n\x00\r\nQUIT\n";

fn escaped(address: std::net::SocketAddr) -> String {
    address.port().to_be_bytes().escape_ascii().to_string()
}

#[test]
fn tlvs_name_the_authority_of_a_connection() {
    let origin = echo();
    let weir = Setup::new(
        "global\n    nbthread 1\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n    \
         unique-id-format ID\n\
         listen v1\n    bind <v1>\n    server s <origin> send-proxy\n\
         listen v2\n    bind <v2>\n    server s <origin> send-proxy-v2\n\
         listen more\n    bind <more> accept-proxy\n    \
         server s <origin> send-proxy-v2-ssl proxy-v2-options authority,crc32c,unique-id\n\
         listen set\n    bind <set>\n    http-request set-src ipv6(2001:db8::1)\n    \
         server s <origin> send-proxy\n\
         listen unix\n    bind unix@<dir>/one\n    server s <origin> send-proxy\n\
         listen unix2\n    bind unix@<dir>/two\n    server s <origin> send-proxy-v2\n",
    )
    .with("origin", origin.address())
    .start();
    let mut client = weir.connect("v1");
    let (from, to) = (client.local(), weir.address("v1"));
    let line = format!(r"PROXY TCP4 127.0.0.1 127.0.0.1 {} {}\r\n", from.port(), to.port());
    assert_eq!(client.get("/").text(), line);
    let mut client = weir.connect("v2");
    let ports = [client.local(), weir.address("v2")].map(escaped).concat();
    let block = format!(r"{SIGNATURE}!\x11\x00\x0c\x7f\x00\x00\x01\x7f\x00\x00\x01{ports}");
    assert_eq!(client.get("/").text(), block);
    let mut client = weir.connect("more");
    client.send(v2(&[(2, b"host")]));
    let answer = client.get("/").text();
    let begin = format!(
        r"{SIGNATURE}!\x11\x00\'\x01\x02\x03\x04\x05\x06\x07\x08\x00*\x059\x02\x00\x04host\x03\x00\x04"
    );
    assert!(answer.starts_with(&begin), "{answer}");
    assert!(answer.ends_with(r"\x05\x00\x02ID \x00\x05\x00\x00\x00\x00\x00"), "{answer}");
    let mut client = weir.connect("set");
    let (from, to) = (client.local(), weir.address("set"));
    let line =
        format!("PROXY TCP6 2001:db8::1 ::ffff:127.0.0.1 {} {}\\r\\n", from.port(), to.port());
    assert_eq!(client.get("/").text(), line);
    for (path, expected) in
        [("one", r"PROXY UNKNOWN\r\n"), ("two", &format!(r"{SIGNATURE} \x00\x00\x00"))]
    {
        let mut stream = eventually("the socket", || UnixStream::connect(weir.path(path)).ok());
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with(&format!("\r\n\r\n{expected}")), "{answer}");
    }
}

/// The headers about a client with a certificate and one without, with these options.
#[test]
fn tlvs_describe_the_tls_session_of_a_client() {
    let (origin, authority) = (echo(), Identity::new("authority", None));
    let client = Identity::new("client", Some(&authority));
    let options = [
        ("bare", "send-proxy-v2-ssl"),
        ("name", "send-proxy-v2-ssl-cn"),
        ("ssl", "send-proxy-v2 proxy-v2-options ssl"),
        ("cn", "send-proxy-v2 proxy-v2-options cert-cn"),
        ("cipher", "send-proxy-v2 proxy-v2-options ssl-cipher"),
        ("key", "send-proxy-v2 proxy-v2-options cert-key"),
        ("sig", "send-proxy-v2 proxy-v2-options cert-sig"),
    ];
    let sections: String = options
        .iter()
        .map(|(name, words)| {
            format!(
                "listen {name}\n    bind <{name}> ssl crt <dir>/a.pem ca-file <dir>/ca.pem verify optional \
                 ciphersuites TLS_AES_256_GCM_SHA384\n    \
                 server s <origin> {words}\n"
            )
        })
        .collect();
    let weir = Setup::new(&format!(
        "defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n{sections}"
    ))
    .file("ca.pem", &authority.certificate())
    .file("a.pem", &Identity::new("a.test", Some(&authority)).pem())
    .with("origin", origin.address())
    .start();
    let version = r"!\x00\x07TLSv1.3";
    let cipher = r"#\x00\x16TLS_AES_256_GCM_SHA384";
    for (name, more) in [
        ("bare", ""),
        ("name", r#"\"\x00\x06client"#),
        ("ssl", ""),
        ("cn", r#"\"\x00\x06client"#),
        ("cipher", cipher),
        ("key", r"%\x00\x05EC256"),
        ("sig", r"$\x00\x11ecdsa-with-SHA256"),
    ] {
        let show = |it: &mut _| Secure::show(it, &client);
        let mut shown = Secure::try_connect(weir.address(name), "a.test", show).unwrap();
        let header = shown.get("/");
        let told = format!(r"\x07\x00\x00\x00\x00{version}{more}");
        assert!(header.ends_with(&told), "{name}: {header}");
        let header = Secure::connect(weir.address(name), "a.test").get("/");
        let none = if more.contains("client") { "" } else { more };
        let told = format!(r"\x01\x00\x00\x00\x00{version}{none}");
        assert!(header.ends_with(&told), "{name}: {header}");
    }
}

#[test]
fn a_connection_serves_only_whom_it_was_made_for() {
    let origin = echo();
    let front = "    http-reuse always\n    unique-id-format %[req.hdr(in)]\n    \
                 server s <origin> send-proxy-v2 proxy-v2-options unique-id";
    let weir = Setup::http("    unique-id-format %[req.hdr(in)]", front)
        .with("origin", origin.address())
        .start();
    let mut client = weir.web();
    let mut ask =
        |id: &str| client.ask(format!("GET / HTTP/1.1\r\nHost: x\r\nin: {id}\r\n\r\n")).text();
    for (id, connections) in [("one", 1), ("one", 1), ("two", 2), ("one", 2)] {
        let header = ask(id);
        assert!(header.ends_with(&format!(r"\x05\x00\x03{id}")), "{header}");
        assert_eq!(origin.connections(), connections, "{id}");
    }
    let mut other = weir.web();
    other.ask("GET / HTTP/1.1\r\nHost: x\r\nin: one\r\n\r\n");
    assert_eq!(origin.connections(), 3, "another client");
}

#[test]
fn the_proxy_header_is_sent_before_any_payload_in_tcp_mode() {
    let origin = Origin::new(|mut peer| {
        let header = header(&mut peer.client);
        peer.send(header);
    });
    let weir = Setup::new(
        "global\n    nbthread 1\n\
         defaults\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n\
         listen chained\n    bind <chained> accept-proxy\n    server s <origin> send-proxy\n",
    )
    .with("origin", origin.address())
    .start();
    let mut client = weir.connect("chained");
    client.send(V1);
    assert_eq!(client.rest(), V1.as_bytes());
}

/// The bytes of a backend's first check: the header, and the data after it.
fn first_check(back: &str) -> (String, Vec<u8>, u16) {
    let (sender, seen) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    let origin = Origin::new(move |mut peer| {
        let header = header(&mut peer.client).escape_ascii().to_string();
        let rest = peer.client.rest();
        let _ = sender.lock().expect("no thread panicked").send((header, rest));
    });
    let port = origin.address().port();
    let setup = Setup::http("", back).with("origin", origin.address()).with("port", port);
    let _weir = setup.with("check", "check inter 100ms").start();
    let (header, rest) = seen.recv_timeout(PATIENCE).expect("a check");
    (header, rest, port)
}

#[test]
fn checks_are_announced_as_asked() {
    let local = format!(r"{SIGNATURE} \x00\x00\x00");
    for back in
        ["server s <origin> send-proxy <check>", "server s <origin> <check> check-send-proxy"]
    {
        let (line, _, port) = first_check(back);
        assert!(line.starts_with("PROXY TCP4 127.0.0.1 127.0.0.1 "), "{line}");
        assert!(line.ends_with(&format!(" {port}\\r\\n")), "{line}");
    }
    for back in [
        "server s <origin> send-proxy-v2 <check>",
        "server s 127.0.0.1:9 send-proxy-v2 port <port> <check> check-send-proxy",
    ] {
        assert_eq!(first_check(back).0, local, "{back}");
    }
    let (block, rest, _) = first_check("option httpchk\nserver s <origin> send-proxy-v2 <check>");
    assert_eq!(block, local);
    assert!(rest.starts_with(b"OPTIONS / HTTP/1.0\r\n"));
    let script = "option tcp-check\ntcp-check connect default\ntcp-check send hello";
    let (block, rest, _) =
        first_check(&format!("{script}\nserver s <origin> send-proxy-v2 <check>"));
    assert_eq!((block, &*rest), (local, &b"hello"[..]));
}

#[test]
fn checks_of_another_port_are_not_announced() {
    let origin = Origin::new(|peer| serve_forever(peer, |_| reply("200 OK", "").into_bytes()));
    let back = "    option httpchk\n    \
                server s 127.0.0.1:9 send-proxy-v2 check inter 100ms port <port>";
    let weir = Setup::http("", back).with("port", origin.address().port()).start();
    assert_eq!(origin.request(0).start, "OPTIONS / HTTP/1.0");
    drop(weir);
}
