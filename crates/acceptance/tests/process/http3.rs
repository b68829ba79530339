//! HTTP/3 over QUIC: clients of `bind quic4@` reach servers through the ordinary rules.

use crate::support::h3_client::{H3Client, H3Options, RETURN, free_address, started, started_with};
use crate::support::{Directory, Identity, LogReceiver, Origin, Setup, eventually, reply, run};
use openssl::x509::X509;
use quinn_proto::Dir;
use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

#[test]
fn requests_of_http3_reach_servers_through_the_rules() {
    let (log, address) = (LogReceiver::new(), free_address());
    let authority = Identity::new("authority", None);
    let identity = Identity::new("a.test", Some(&authority));
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            let body = request.text().replace("hello", "world");
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            peer.send(text);
        }
    });
    let weir = Setup::new(&format!(
        "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n    cluster-secret s3cret\n    tune.quic.frontend.max-idle-timeout 20s\n    \
         tune.quic.frontend.max-streams-bidi 50\n    tune.quic.frontend.conn-tx-buffers.limit 20\n    \
         tune.quic.retry-threshold 50\ndefaults\n    mode http\n    timeout connect 5s\n    \
         timeout client 20s\n    timeout server 20s\nfrontend web\n    \
         bind quic4@<quic> ssl crt <dir>/a.pem alpn h3 quic-force-retry quic-cc-algo newreno\n    \
         log <log> format raw local0\n    log-format \"%HV %ST %sslv %[fc_http_major] %[ssl_fc_alpn] %[src]\"\n    \
         http-request return status 200 content-type text/plain lf-string %[req.ver],%[ssl_fc_sni],%[dst] if {{ path /facts }}\n    \
         default_backend app\nbackend app\n    server s {}\n",
        origin.address()
    ))
    .file("a.pem", &identity.pem())
    .with("log", log.address())
    .with("quic", address)
    .start();
    let certificate = X509::from_pem(authority.certificate().as_bytes()).expect("a certificate");
    let certificate = certificate.to_der().expect("a certificate");
    let mut client = H3Client::connect(address, &certificate);
    assert_ne!(weir.stat("web", "FRONTEND", "quic_retry_sent"), "0", "quic-force-retry");
    let opened = std::iter::from_fn(|| client.conn.streams().open(Dir::Bi)).take(200).count();
    assert_eq!(opened, 50, "tune.quic.frontend.max-streams-bidi");
    let mut client = H3Client::connect(address, &certificate);
    let facts = client.ask("GET", "/facts", b"");
    assert_eq!(facts, ("200".to_owned(), b"3.0,a.test,127.0.0.1".to_vec()));
    assert_eq!(log.line(), "HTTP/3.0 200 TLSv1.3 3 h3 127.0.0.1");
    assert_eq!(client.ask("POST", "/", b"hello").1, b"world");
    let large = vec![b'x'; 300_000];
    assert!(client.ask("POST", "/", &large).1 == large);
}

#[test]
fn clients_that_rules_refuse_get_a_close_and_hold_no_handshake() {
    let global = "    tune.quic.retry-threshold 1\n";
    for (rule, code) in [("connection", 0x0c), ("session", 0x10b)] {
        let front = format!("    tcp-request {rule} reject\n{RETURN}");
        let (_weir, address, trust) = started(global, &front);
        for _ in 0..3 {
            let mut client = H3Client::new(address, &trust);
            assert_eq!(client.end(), code);
            assert_eq!(client.conn.stats().frame_rx.connection_close, 1);
        }
    }
}

#[test]
fn rules_for_first_packets_accept_clients_or_have_them_retry() {
    for (rules, retries) in [
        ("    quic-initial send-retry\n", "1"),
        ("    quic-initial accept if { src 127.0.0.1 }\n    quic-initial send-retry\n", "0"),
        ("    quic-initial reject if { src 192.0.2.1 } or { dst_port 1 }\n", "0"),
    ] {
        let (weir, address, trust) = started("", &format!("{rules}{RETURN}"));
        let mut client = H3Client::connect(address, &trust);
        assert_eq!(client.ask("GET", "/", b"").1, b"hello", "{rules}");
        assert_eq!(weir.stat("web", "FRONTEND", "quic_retry_sent"), retries, "{rules}");
        assert_eq!(weir.stat("web", "FRONTEND", "dcon"), "0", "{rules}");
    }
}

#[test]
fn rules_for_first_packets_refuse_clients_or_drop_their_packets() {
    for (action, refused) in [("reject", true), ("dgram-drop", false)] {
        let front = format!("    quic-initial {action} if {{ src 127.0.0.0/8 }}\n{RETURN}");
        let (weir, address, trust) = started("", &front);
        let mut client = H3Client::new(address, &trust);
        if refused {
            assert_eq!(client.end(), 0x02, "CONNECTION_REFUSED");
        }
        // A client without an answer repeats its packet.
        client.run(|_| weir.stat("web", "FRONTEND", "dcon") != "0");
        assert_eq!(client.lost.is_some(), refused);
        assert_eq!(weir.stat("web", "FRONTEND", "conn_tot"), "0");
        assert_eq!(weir.stat("web", "FRONTEND", "scur"), "0");
    }
}

#[test]
fn answers_to_head_have_a_length_and_end_without_a_body() {
    let origin = Origin::new(|mut peer| {
        while peer.request().is_some() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        }
    });
    let front = format!(
        "    http-request return status 200 content-type text/plain string hello if {{ path /own }}\n    \
         default_backend app\nbackend app\n    server s {}\n",
        origin.address()
    );
    let (_weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    for path in ["/", "/own", "/"] {
        assert_eq!(client.ask("HEAD", path, b""), ("200".to_owned(), Vec::new()));
    }
    assert!(client.lost.is_none());
}

#[test]
fn a_soft_stop_closes_idle_connections_and_ends_the_process() {
    let (mut weir, address, trust) = started("", RETURN);
    let mut client = H3Client::connect(address, &trust);
    let mut silent = H3Client::connect(address, &trust);
    silent.run(|client| client.conn.stats().frame_rx.handshake_done > 0);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    weir.signal(sys::signal::USR1);
    assert_eq!((client.end(), silent.end()), (0x100, 0x100));
    assert_eq!(weir.wait().code(), Some(0));
}

/// An origin that answers when the test says so, and the part of a configuration that leads to it.
fn held_origin() -> (Origin, Sender<()>, String) {
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let origin = Origin::new(move |mut peer| {
        while peer.request().is_some() {
            let _ = told.lock().expect("nothing panics with it").recv();
            peer.send(reply("200 OK", "late"));
        }
    });
    let server = origin.address();
    let front = format!("    default_backend app\nbackend app\n    server s {server}\n");
    (origin, tell, front)
}

#[test]
fn a_soft_stop_waits_for_requests_that_are_under_way() {
    let (origin, tell, front) = held_origin();
    let (mut weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    let id = client.request("GET", "/", b"");
    client.run(|_| !origin.requests().is_empty());
    weir.signal(sys::signal::USR1);
    weir.expect_error("Proxy web stopped");
    tell.send(()).expect("the origin waits");
    assert_eq!(client.answer(id), ("200".to_owned(), b"late".to_vec()));
    assert_eq!(client.end(), 0x100);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn hard_stop_after_ends_a_process_with_requests_under_way() {
    let (origin, _tell, front) = held_origin();
    let (mut weir, address, trust) = started("    hard-stop-after 300ms\n", &front);
    let mut client = H3Client::connect(address, &trust);
    client.request("GET", "/", b"");
    client.run(|_| !origin.requests().is_empty());
    weir.signal(sys::signal::USR1);
    weir.wait();
}

#[test]
fn idle_connections_end_with_the_timeouts_of_the_frontend() {
    let front = format!("    timeout http-keep-alive 200ms\n    timeout client 300ms\n{RETURN}");
    let (_weir, address, trust) = started("", &front);
    let mut client = H3Client::connect(address, &trust);
    assert_eq!(client.ask("GET", "/", b"").1, b"hello");
    assert_eq!(client.end(), 0x100);
    assert_eq!(H3Client::connect(address, &trust).end(), 0x100);
}

#[test]
fn frontends_of_mode_tcp_have_no_quic_listeners() {
    let identity = Identity::new("a.test", None);
    for (mode, code) in [("tcp", 1), ("http", 0)] {
        let setup = Setup::new("").file("a.pem", &identity.pem());
        let (pem, path) = (setup.path("a.pem"), setup.path("quic.cfg"));
        let text = format!(
            "listen l\n    mode {mode}\n    bind quic4@:1 ssl crt {} alpn h3\n    timeout client 1s\n    \
             timeout server 1s\n    timeout connect 1s\n    server s 127.0.0.1:1\n",
            pem.display()
        );
        std::fs::write(&path, text).expect("a directory of the test");
        let output = run(&["-c", "-f", &path.display().to_string()]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{errors}");
        let place = format!("at [{}:3].", path.display());
        let message = "proxy 'l' : MUX protocol 'quic' is not usable for 'bind quic4@:1' ";
        assert_eq!(errors.contains(&format!("{message}{place}")), code == 1, "{errors}");
    }
}

#[test]
fn certificates_of_clients_are_verified() {
    let clients = Identity::new("clients", None);
    let known = Identity::new("somebody", Some(&clients));
    let unknown = Identity::new("nobody", Some(&Identity::new("others", None)));
    let directory = Directory::new();
    let file = directory.write("clients.pem", &clients.certificate());
    let words = format!(" verify required ca-file {}", file.display());
    let front = "    http-request return status 200 content-type text/plain lf-string \
                 %[ssl_c_used],%[ssl_c_s_dn(cn)],%[ssl_c_verify]\n";
    let (weir, address, trust) = started_with(&words, "", front);
    let connect = |identity: Option<&Identity>| {
        let der = |identity: &Identity| {
            let pem = X509::from_pem(identity.certificate().as_bytes()).expect("a certificate");
            let key = identity.key().private_key_to_pkcs8().expect("a key");
            (pem.to_der().expect("a certificate"), key)
        };
        let options = H3Options { identity: identity.map(der), ..H3Options::default() };
        H3Client::with(address, &trust, options)
    };
    let mut client = connect(Some(&known));
    client.greet();
    assert_eq!(client.ask("GET", "/", b"").1, b"1,somebody,0");
    for identity in [None, Some(&unknown)] {
        let mut client = connect(identity);
        let code = client.end();
        assert!((0x100..0x200).contains(&code), "an alert of TLS: {code:#x}");
    }
    let failed = || weir.stat("web", "FRONTEND", "ssl_failed_handshake");
    eventually("failures", || (failed() == "2").then_some(()));
}

/// Keeps the secrets of a client.
#[derive(Debug, Default)]
struct Secrets(Mutex<HashMap<String, Vec<u8>>>);

impl rustls::KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        self.0.lock().expect("nothing panics with it").insert(label.to_owned(), secret.to_vec());
    }
}

#[test]
fn secrets_of_sessions_can_be_logged() {
    let front = "    http-request return status 200 content-type text/plain lf-string \
                 %[ssl_fc_client_handshake_traffic_secret],%[ssl_fc_server_handshake_traffic_secret],\
                 %[ssl_fc_client_traffic_secret_0],%[ssl_fc_server_traffic_secret_0]\n";
    let (_weir, address, trust) = started("    tune.ssl.keylog on\n", front);
    let secrets = Arc::new(Secrets::default());
    let options = H3Options { key_log: Some(secrets.clone()), ..H3Options::default() };
    let mut client = H3Client::with(address, &trust, options);
    client.greet();
    let told = String::from_utf8(client.ask("GET", "/", b"").1).expect("a text").to_lowercase();
    let known = secrets.0.lock().expect("nothing panics with it");
    let hex = |label: &str| known[label].iter().map(|it| format!("{it:02x}")).collect::<String>();
    let expected = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    assert_eq!(told, expected.map(hex).join(","));
}
