//! TLS between clients, the program and servers.

use crate::support::{
    Client, Identity, LogReceiver, Moment, Origin, Running, Secure, Setup, eventually, is_built_on,
    pass, program, run,
};
use crate::threads::first;
use openssl::ssl::{ExtensionContext, SslRef, SslVersion};
use openssl::x509::X509Ref;
use std::io::{Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The beginning of every configuration here: an authority, a server's and a client's certificate.
fn setup(sections: &str) -> Setup {
    let authority = Identity::new("authority", None);
    let server = Identity::new("a.test", Some(&authority));
    let other = Identity::new("b.test", Some(&authority));
    Setup::new(&format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    ca-base <dir>\n    \
         crt-base <dir>\ndefaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option httplog\n{sections}"
    ))
    .file("ca.pem", &authority.certificate())
    .file("a.pem", &server.pem())
    .file("b.pem", &other.pem())
}

const ORIGIN: &str = "frontend origin
    bind <origin> ssl crt a.pem crt b.pem
    http-request return status 200 content-type text/plain lf-string %[ssl_fc_sni],%[ssl_fc_protocol],%[src_port]
";

fn start(sections: &str) -> Running {
    setup(&format!("{sections}{ORIGIN}")).start()
}

#[test]
fn both_sides_are_encrypted() {
    let log = LogReceiver::new();
    let sections = "frontend web
    bind <web> ssl crt a.pem ciphersuites TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256
    log-format \"%ft %sslv %sslc %ST %[ssl_fc] %[ssl_fc_sni]\"
    default_backend app
backend app
    http-reuse always
    server s <origin> ssl verify required ca-file ca.pem sni str(b.test)
";
    let origin = ORIGIN.replace("    http-request", "    no log\n    http-request");
    let weir = setup(&format!("{sections}{origin}")).with("log", log.address()).start();
    let mut client = Secure::connect(weir.address("web"), "name.test");
    let first = client.get("/1");
    assert!(first.starts_with("b.test,TLSv1.3,"), "{first}");
    assert_eq!(log.line(), "web~ TLSv1.3 TLS_AES_256_GCM_SHA384 200 1 name.test");
    assert_eq!(client.get("/2"), first, "the same connection of the server");
    let mut another = Secure::connect(weir.address("web"), "name.test");
    assert_eq!(another.get("/3"), first, "which others may use too");
    assert_eq!(weir.stat("app", "s", "connect"), "1");
    assert_eq!(weir.stat("app", "s", "reuse"), "2");
    let info = weir.cli("show info");
    assert!(info.contains("CurrSslConns: 4\n") && info.contains("CumSslConns: 4\n"), "{info}");
}

/// `tune.ssl.own-records`: the answers are the same, and `show info` counts sessions by kind.
#[test]
fn records_are_protected_with_and_without_the_session_of_the_library() {
    let front = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200 \
                 content-type text/plain lf-string %[ssl_fc_protocol],%[ssl_fc_cipher],%[ssl_fc_sni]\n";
    for (word, kinds) in [("on", [1, 0]), ("off", [0, 1])] {
        let own = format!("global\n    tune.ssl.own-records {word}\n");
        let weir = setup(&format!("{front}{own}")).start();
        let mut client = Secure::connect(weir.address("web"), "a.test");
        let answer = "TLSv1.3,TLS_AES_256_GCM_SHA384,a.test";
        assert_eq!([client.get("/1"), client.get("/2")], [answer, answer], "{word}");
        let kinds = match is_built_on("AWS-LC") {
            true => [0, 1],
            false => kinds,
        };
        let info = weir.cli("show info");
        let lines = format!("\nSslOwnRecords: {}\nSslLibraryRecords: {}", kinds[0], kinds[1]);
        assert!(info.trim_end().ends_with(&lines), "{word} {info}");
        drop(client);
        eventually("its session is counted no more", || {
            let info = weir.cli("show info");
            info.trim_end().ends_with("\nSslOwnRecords: 0\nSslLibraryRecords: 0").then_some(())
        });
    }
}

/// RFC 9112 section 2.2, and the manual's `timeout http-keep-alive`: empty lines begin no request,
/// whether they come in a record of their own or not.
#[test]
fn empty_lines_before_a_request_are_skipped() {
    let log = LogReceiver::new();
    let front = "frontend web\n    bind <web> ssl crt a.pem\n    timeout http-keep-alive 150ms\n    \
                 timeout http-request 10s\n    http-request return status 200\n";
    let weir = setup(front).with("log", log.address()).start();
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let mut client = Secure::connect(weir.address("web"), "a.test");
    client.0.write_all(b"\r\n").expect("it is read");
    // In one segment with the bytes behind them, and with the bytes before them.
    for request in [format!("\r\n\n{post}"), format!("{post}\r\n"), format!("\r\n{post}")] {
        let (head, _) = client.ask(&request).expect("an answer");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{request:?}: {head}");
        assert!(log.line().contains(" 200 "), "{request:?}");
    }
    client.0.write_all(b"\r\n\n").expect("it is read");
    let begin = Moment::now();
    assert_eq!(client.0.read(&mut [0]).expect("an end without a word"), 0);
    assert!(begin.elapsed() < Duration::from_secs(5), "it is waited for as without them");
    assert_eq!(log.lines_for(Duration::from_millis(100)), Vec::<String>::new());
}

#[test]
fn the_first_request_behind_a_handshake_gives_way_to_others() {
    let weir =
        start("frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n");
    let mut client = Secure::connect(weir.address("web"), "a.test");
    let stands = || (weir.stat("web", "FRONTEND", "ssl_sess") == "1").then_some(());
    eventually("the handshake's end", stands);
    let mut bulk = || {
        let before = first(&weir, "ran_bulk");
        client.get("/");
        first(&weir, "ran_bulk") - before
    };
    let (first, second, third) = (bulk(), bulk(), bulk());
    assert_eq!((first, second), (second + 1, third), "the others are as urgent as any");
}

#[test]
fn connections_for_different_names_are_kept_apart() {
    let weir = start(
        "frontend web
    bind <web>
    default_backend app
backend app
    http-reuse always
    server s <origin> ssl verify none sni req.hdr(x-name)
",
    );
    let mut client = weir.web();
    let mut ask = |name: &str| {
        client.ask(format!("GET / HTTP/1.1\r\nhost: x\r\nx-name: {name}\r\n\r\n")).text()
    };
    let (first, second) = (ask("a.test"), ask("b.test"));
    assert!(first.starts_with("a.test,") && second.starts_with("b.test,"), "{first} {second}");
    assert_eq!((ask("a.test"), ask("b.test")), (first, second));
}

#[test]
fn certificates_of_servers_have_to_name_them() {
    let weir = start(
        "frontend web
    bind <web>
    use_backend %[path,field(2,/)]
backend known
    server s <origin> ssl verify required ca-file ca.pem verifyhost a.test
backend wrong
    retries 0
    server s <origin> ssl verify required ca-file ca.pem verifyhost c.test
backend named
    retries 0
    server s <origin> ssl verify required ca-file ca.pem sni str(c.test)
backend foreign
    retries 0
    server s <origin> ssl verify required ca-file b.pem
backend old
    retries 0
    server s <origin> ssl verify none ssl-max-ver TLSv1.1
",
    );
    let status = |name: &str| weir.web().get(&format!("/{name}")).status();
    assert_eq!(status("known"), 200);
    for name in ["wrong", "named", "foreign", "old"] {
        assert_eq!(status(name), 503, "{name}");
    }
}

#[test]
fn clients_may_have_to_show_a_certificate() {
    let weir = start(
        "frontend web
    bind <web> ssl crt a.pem ca-file ca.pem verify required
    http-request return status 200 content-type text/plain lf-string %[ssl_c_err]
frontend lenient
    bind <lenient> ssl crt a.pem ca-file b.pem verify optional crt-ignore-err all
    http-request return status 200 content-type text/plain lf-string %[ssl_c_err],%[ssl_c_ca_err]
",
    );
    let authority = Identity::new("authority", None);
    let foreign = Identity::new("client", Some(&authority));
    let shown =
        |name: &str| Secure::try_connect(weir.address(name), "x", |it| Secure::show(it, &foreign));
    let refused = shown("web").and_then(|mut it| it.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
    assert!(refused.is_err());
    let nothing = Secure::try_connect(weir.address("web"), "x", |_| {});
    assert!(nothing.and_then(|mut it| it.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n")).is_err());
    assert_eq!(shown("lenient").unwrap().get("/"), "20,0");
    assert_eq!(Secure::connect(weir.address("lenient"), "x").get("/"), "0,0");
}

#[test]
fn the_name_decides_about_the_certificate() {
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem crt-list <dir>/list
    http-request return status 200
frontend strict
    bind <strict> ssl strict-sni crt a.pem crt b.pem
    http-request return status 200
",
    )
    .file("list", "b.pem [ssl-max-ver TLSv1.2] *.c.test !no.c.test\n")
    .start();
    let peer = |place: &str, name: &str| {
        Secure::try_connect(weir.address(place), name, |_| {}).map(|it| it.peer()).ok()
    };
    assert_eq!(peer("web", "x.c.test").as_deref(), Some("b.test"));
    assert_eq!(peer("web", "no.c.test").as_deref(), Some("a.test"));
    assert_eq!(peer("web", "b.test").as_deref(), Some("a.test"));
    assert_eq!(peer("strict", "b.test").as_deref(), Some("b.test"));
    assert_eq!(peer("strict", "c.test"), None);
    let mut client = Secure::connect(weir.address("web"), "x.c.test");
    assert!(client.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n").is_ok());
    assert_eq!(client.0.ssl().version_str(), "TLSv1.2");
}

/// The client's side of a connection; it collects its output instead of sending it.
#[derive(Debug)]
struct Kept(Vec<u8>);

impl std::io::Read for Kept {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::WouldBlock.into())
    }
}

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// RFC 6066 section 3: a host name has a byte at least. The library takes an empty one.
#[test]
fn an_empty_host_name_is_refused() {
    let weir = start(
        "frontend web
    bind <web> ssl crt a.pem
    http-request return status 200
",
    );
    let connector = openssl::ssl::SslConnector::builder(openssl::ssl::SslMethod::tls_client());
    let begun = connector.expect("a connector").build().connect("a", Kept(Vec::new()));
    let Err(openssl::ssl::HandshakeError::WouldBlock(begun)) = begun else {
        panic!("no answer has come")
    };
    let hello = begun.get_ref().0.clone();
    for (hello, answered) in [(hello.clone(), 0x16), (nameless(hello), 0x15)] {
        let mut client = weir.web();
        client.send(&hello);
        assert_eq!(client.take(1)[0], answered, "a handshake record, or an alert");
    }
}

/// A ClientHello from which one byte of the host name is missing.
fn nameless(mut hello: Vec<u8>) -> Vec<u8> {
    let list = hello.windows(6).position(|six| six == b"\0\x04\0\0\x01a").expect("a name");
    // Behind headers, version and random bytes: session, ciphers, compression, extensions.
    let session = 5 + 4 + 2 + 32;
    let ciphers = session + 1 + usize::from(hello[session]);
    let count = usize::from(hello[ciphers]) << 8 | usize::from(hello[ciphers + 1]);
    let compression = ciphers + 2 + count;
    let extensions = compression + 1 + usize::from(hello[compression]);
    // Lengths of the record, the message, all extensions, this one, its list, the name.
    for length in [3, 7, extensions, list - 2, list, list + 3] {
        let shorter = (u16::from(hello[length]) << 8 | u16::from(hello[length + 1])) - 1;
        hello[length..length + 2].copy_from_slice(&shorter.to_be_bytes());
    }
    hello.remove(list + 5);
    hello
}

#[test]
fn large_bodies_pass_both_ways() {
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", request.body.len());
            peer.send([head.as_bytes(), &request.body].concat());
        }
    });
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem
    default_backend app
backend app
    server s <inner> ssl verify none
listen inner
    bind <inner> ssl crt b.pem
    server s <origin>
",
    )
    .with("origin", origin.address())
    .start();
    let body: Vec<u8> = (0..1_500_000u32).map(|n| ((n * 7) >> 3) as u8).collect();
    let mut client = Secure::connect(weir.address("web"), "x");
    for size in [1, 16_384, 16_385, body.len()] {
        let head = format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n");
        let (head, answer) = client.ask([head.as_bytes(), &body[..size]].concat()).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(answer == body[..size], "{size}");
    }
}

#[test]
fn bytes_are_carried_between_encrypted_ends() {
    let weir = start(
        "listen web
    mode tcp
    bind <web> ssl crt b.pem
    server s <origin> ssl verify none sni ssl_fc_sni
",
    );
    let mut client = Secure::connect(weir.address("web"), "n.test");
    assert_eq!(client.peer(), "b.test");
    assert!(client.get("/").starts_with("n.test,TLSv1.3,"));
}

#[test]
fn handshakes_that_fail_are_logged() {
    let log = LogReceiver::new();
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem name x
    timeout client 300ms
    http-request return status 200
frontend quiet
    bind <quiet> ssl crt a.pem name y
    timeout client 300ms
    option dontlognull
    http-request return status 200
",
    )
    .with("log", log.address())
    .start();
    let say = |name: &str, bytes: &[u8], close: bool| {
        let mut client = weir.connect(name);
        client.send(bytes);
        match close {
            true => client.half_close(),
            false => drop(client.rest()),
        }
        let _ = client.has_ended();
    };
    let reason = |line: String| line.split("] ").nth(1).unwrap_or_default().to_owned();
    say("web", b"", true);
    assert_eq!(reason(log.line()), "web/x: Connection closed during SSL handshake");
    say("web", b"\x16\x03\x01", true);
    assert_eq!(reason(log.line()), "web/x: Connection closed during SSL handshake");
    say("web", b"GET / HTTP/1.1\r\n\r\n", true);
    assert_eq!(reason(log.line()), "web/x: SSL handshake failure");
    say("web", b"", false);
    assert_eq!(reason(log.line()), "web/x: Timeout during SSL handshake");
    let failed = weir.stat("web", "FRONTEND", "ssl_failed_handshake");
    assert_eq!(failed, "3", "who says nothing has not failed");
    say("quiet", b"", true);
    say("quiet", b"", false);
    say("quiet", b"GET / HTTP/1.1\r\n\r\n", true);
    assert_eq!(reason(log.line()), "quiet/y: SSL handshake failure");
}

#[test]
fn sessions_of_clients_are_resumed() {
    let weir = start("");
    let address = weir.address("origin");
    let session = Arc::new(Mutex::new(None));
    let keep = session.clone();
    let mut first = Secure::try_connect(address, "a.test", move |it| {
        it.set_session_cache_mode(openssl::ssl::SslSessionCacheMode::CLIENT);
        it.set_new_session_callback(move |_, session| *keep.lock().unwrap() = Some(session));
    })
    .unwrap();
    first.get("/");
    assert!(!first.0.ssl().session_reused());
    assert!(session.lock().unwrap().is_some(), "a ticket came");
}

#[test]
fn a_proxy_header_goes_before_the_handshake() {
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem accept-proxy
    http-request return status 200 content-type text/plain lf-string %[src],%[ssl_fc_sni]
frontend plain
    bind <plain>
    default_backend app
backend app
    server s <web> ssl verify none send-proxy-v2 sni str(a.test)
",
    )
    .start();
    let mut client: Client = weir.connect("plain");
    client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.response().text(), "127.0.0.1,a.test");
}

/// As in HAProxy, the log line and `src` have the client that the header names.
#[test]
fn a_handshake_that_fails_behind_a_proxy_header_is_that_clients() {
    let log = LogReceiver::new();
    let web = "frontend web\n    bind <web> ssl crt a.pem accept-proxy\n    timeout client 300ms\n    \
               http-request return status 200\n";
    let weir = setup(web).with("log", log.address()).start();
    for (source, rest, reason) in [
        ("192.0.2.7 192.0.2.8 1234", "GET / HTTP/1.1\r\n\r\n", "SSL handshake failure"),
        ("192.0.2.9 192.0.2.8 4321", "", "Timeout during SSL handshake"),
    ] {
        let mut client = weir.connect("web");
        client.send(format!("PROXY TCP4 {source} 443\r\n{rest}"));
        drop(client.rest());
        let line = log.line();
        let words: Vec<_> = source.split(' ').collect();
        assert!(line.starts_with(&format!("{}:{} [", words[0], words[2])), "{line}");
        assert!(line.ends_with(&format!("] web/1: {reason}")), "{line}");
    }
}

#[test]
fn mistakes_of_tls_are_reported_before_sockets_open() {
    let directory = crate::support::Directory::new();
    let file = directory.write(
        "weir.cfg",
        "defaults\n    timeout client 1s\n    timeout server 1s\n    timeout connect 1s\n\
         frontend f\n    bind :1 ssl crt /nowhere.pem\n    bind :2 ssl\n\
         backend b\n    server s 127.0.0.1:1 ssl\n",
    );
    let output = run(&["-c", "-f", file.to_str().unwrap()]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{} {errors}", program().display());
    for part in [
        "/nowhere.pem",
        "no SSL certificate specified for bind ':2'",
        "verify is enabled by default but no CA file specified",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn checks_use_the_protocol_of_servers() {
    let weir = start(
        "frontend web
    bind <web>
    default_backend app
backend app
    option httpchk
    http-check send meth GET uri / ver HTTP/1.1 hdr host x
    http-check expect string c.test
    server good <origin> ssl verify none check inter 50ms check-sni c.test
    server other <origin> ssl verify none check inter 50ms check-sni d.test
    server foreign <origin> ssl verify required ca-file b.pem check inter 50ms
    server named <origin> ssl verify required ca-file ca.pem verifyhost no.test check inter 50ms
    server asked <origin> ssl verify required ca-file ca.pem check inter 50ms check-sni no.test
    server plain <origin> ssl verify none check inter 50ms check-sni c.test no-check-ssl
    server clear <origin> verify none check inter 50ms check-ssl check-sni c.test
backend choosy
    option httpchk
    http-check expect string http/1.1
    server s <choosy> ssl verify none check inter 50ms check-alpn http/1.1
frontend choosy
    bind <choosy> ssl crt a.pem alpn http/1.1
    http-request return status 200 content-type text/plain lf-string %[ssl_fc_alpn]
backend connected
    server s <origin> ssl verify none check inter 50ms
    server foreign <origin> ssl verify required ca-file b.pem check inter 50ms
backend stepped
    option tcp-check
    server foreign <origin> ssl verify required ca-file b.pem check inter 50ms
",
    );
    let status = |backend: &str, server: &str, wanted: &str| {
        eventually(&format!("{server} is {wanted}"), || {
            (weir.stat(backend, server, "check_status") == wanted).then_some(())
        });
    };
    status("app", "good", "L7OK");
    status("app", "clear", "L7OK");
    status("app", "other", "L7RSP");
    let presented = "Server presented an SSL certificate different from the";
    let failed = "SSL handshake failure";
    for (backend, server, told) in [
        ("app", "foreign", failed.to_owned()),
        ("connected", "foreign", failed.to_owned()),
        ("stepped", "foreign", format!("{failed} at initial connection step of tcp-check")),
        ("app", "named", format!("{presented} configured one")),
        ("app", "asked", format!("{presented} expected one")),
    ] {
        status(backend, server, "L6RSP");
        // A check may take too long in between.
        eventually(&told, || (weir.stat(backend, server, "last_chk") == told).then_some(()));
    }
    status("choosy", "s", "L7OK");
    status("connected", "s", "L6OK");
    status("app", "plain", "L7RSP");
}

#[test]
fn servers_that_are_added_are_encrypted_too() {
    let weir = start(
        "frontend web
    bind <web>
    default_backend app
backend app
    balance roundrobin
",
    );
    let origin = weir.address("origin");
    let said = weir.cli(&format!("add server app/new {origin} ssl verify none sni str(b.test)"));
    assert!(said.contains("New server registered."), "{said}");
    weir.cli("enable server app/new");
    assert!(weir.web().get("/").text().starts_with("b.test,TLSv1.3,"));
    let said = weir.cli(&format!("add server app/bad {origin} ssl"));
    assert!(said.contains("verify is enabled by default"), "{said}");
}

#[test]
fn the_protocol_of_the_line_wins_over_the_one_chosen() {
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem alpn h2 proto h1
    http-request return status 200
frontend other
    bind <other> ssl crt a.pem alpn h2
    http-request return status 200
",
    )
    .start();
    let ask = |place: &str| {
        let offer = |it: &mut openssl::ssl::SslConnectorBuilder| {
            it.set_alpn_protos(b"\x02h2").expect("a list of protocols");
        };
        let client = Secure::try_connect(weir.address(place), "a.test", offer);
        client.and_then(|mut it| it.ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n"))
    };
    assert!(ask("web").is_ok_and(|(head, _)| head.starts_with("HTTP/1.1 200")));
    assert!(!ask("other").is_ok_and(|(head, _)| head.starts_with("HTTP/1.1")));
}

/// The time that four clients take under a limit per second.
fn four_clients(global: &str, command: &str) -> Duration {
    let web = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
    let weir = setup(&format!("{web}global\n{global}\n")).start();
    assert_eq!(weir.cli(command), "");
    let begin = Moment::now();
    for _ in 0..4 {
        Secure::connect(weir.address("web"), "a.test").get("/");
    }
    begin.elapsed()
}

#[test]
fn clients_wait_where_too_many_come_over_tls_per_second() {
    // The third client waits for half a second, the fourth for as long again.
    let wait = Duration::from_millis(600);
    eventually("four clients that do not wait", || {
        let took = four_clients("    maxsslrate 2", "set rate-limit ssl-sessions global 0");
        (took < wait).then_some(())
    });
    let slow = four_clients("    maxsslrate 2", "set rate-limit sessions global 0");
    assert!(slow > wait, "{slow:?}");
    let slow = four_clients("", "set rate-limit ssl-sessions global 2");
    assert!(slow > wait, "{slow:?}");
}

#[test]
fn there_are_so_many_connections_over_tls_and_no_more() {
    let log = LogReceiver::new();
    let weir = setup(
        "frontend web
    bind <web> ssl crt a.pem
    no log
    http-request return status 200
frontend plain
    bind <plain>
    default_backend app
backend app
    server s <origin> ssl verify none
frontend origin
    bind <origin> ssl crt a.pem
    no log
    http-request return status 200
global
    maxsslconn 1
",
    )
    .with("log", log.address())
    .start();
    let web = weir.address("web");
    let mut first = Secure::connect(web, "a.test");
    first.get("/");
    let second = std::thread::spawn(move || Secure::connect(web, "a.test").get("/"));
    // The pool has no room for the server's connection, and no other connection of the pool fits.
    let mut plain = Client::connect(weir.address("plain"));
    assert_eq!(plain.get("/").status(), 500);
    let line = log.line();
    assert!(line.contains(" 500 ") && line.contains(" IC-- "), "{line}");
    let info = weir.cli("show info");
    for field in ["MaxSslConns: 1\n", "CurrSslConns: 1\n", "CumSslConns: 1\n"] {
        assert!(info.contains(field), "{info}");
    }
    drop(first);
    assert_eq!(second.join().expect("the one that waited"), "");
}

/// Waits until the program has refused a line of the global section with these words.
fn refuses(line: &str, words: &[&str]) {
    let web = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
    let mut weir = setup(&format!("{web}global\n    {line}\n")).start();
    assert!(!weir.wait().success(), "{line}");
    words.iter().for_each(|word| weir.expect_error(word));
}

#[test]
fn algorithms_come_from_the_providers_that_are_named() {
    if is_built_on("AWS-LC") {
        // The library has no providers.
        return;
    }
    let web = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
    let lines = "ssl-propquery ?provider=legacy\n    ssl-provider legacy";
    let weir = setup(&format!("{web}global\n    {lines}\n")).start();
    assert_eq!(Secure::connect(weir.address("web"), "a.test").get("/"), "");
    let loaded = weir.cli("show ssl providers");
    assert!(["- default", "- legacy"].iter().all(|it| loaded.contains(it)), "{loaded}");
    refuses("ssl-propquery provider=none", &["unable to create an SSL context"]);
    let words = ["ssl-provider something: unknown provider", "/no/place/something.so"];
    refuses("ssl-provider-path /no/place\n    ssl-provider something", &words);
}

#[test]
fn keywords_that_the_library_lacks_are_errors() {
    if !is_built_on("AWS-LC") {
        // The other server has a setting for each of these words.
        return;
    }
    for line in ["ssl-dh-param-file x", "ssl-propquery x", "ssl-provider x", "ssl-provider-path x"]
    {
        let keyword = line.split(' ').next().expect("a word");
        refuses(line, &[&format!("'{keyword}' is not available in this build (AWS-LC).")]);
    }
    let sections = "frontend web\n    bind <web> ssl crt a.pem";
    let mut weir = setup(&format!("{sections} npn http/1.1\n")).start();
    assert!(!weir.wait().success());
    weir.expect_error("'npn' is not available in this build (AWS-LC).");
    let mut weir = setup(&format!("{sections} ciphers DHE-RSA-AES128-GCM-SHA256\n")).start();
    assert!(!weir.wait().success());
    weir.expect_error("unable to set SSL cipher list to 'DHE-RSA-AES128-GCM-SHA256'");
    let weir = setup(&format!("{sections}\nglobal\n    tune.ssl.default-dh-param 2048\n")).start();
    weir.expect_error("'tune.ssl.default-dh-param' has no effect in this build (AWS-LC).");
}

/// The certificate timestamps (RFC 6962) that a client gets, with this version at most.
fn timestamps(weir: &Running, newest: SslVersion) -> Vec<u8> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let client = Secure::try_connect(weir.address("web"), "a.test", |builder| {
        builder.set_max_proto_version(Some(newest)).expect("a known version");
        let contexts = ExtensionContext::CLIENT_HELLO
            | ExtensionContext::TLS1_2_SERVER_HELLO
            | ExtensionContext::TLS1_3_CERTIFICATE;
        let ask = |_: &mut SslRef, _, _: Option<(usize, &X509Ref)>| Ok(Some(Vec::new()));
        let note = move |_: &mut SslRef, _, text: &[u8], _: Option<(usize, &X509Ref)>| {
            noted.lock().expect("nobody panics").extend_from_slice(text);
            Ok(())
        };
        builder.add_custom_ext(18, contexts, ask, note).expect("an extension");
    });
    client.expect("a handshake").get("/");
    let told = told.lock().expect("nobody panics");
    told.clone()
}

#[test]
fn timestamps_of_certificates_are_sent_to_clients_that_ask() {
    let web = "frontend web\n    bind <web> ssl crt a.pem\n    http-request return status 200\n";
    let list = "\0\x06\0\x04abcd";
    let weir = setup(web).file("a.pem.sctl", list).start();
    for newest in [SslVersion::TLS1_3, SslVersion::TLS1_2] {
        assert_eq!(timestamps(&weir, newest), list.as_bytes(), "{newest:?}");
    }
    let without = setup(&format!("{web}global\n    ssl-load-extra-files key ocsp\n"));
    let without = without.file("a.pem.sctl", list).start();
    assert_eq!(timestamps(&without, SslVersion::TLS1_3), b"");
    let mut broken = setup(web).file("a.pem.sctl", "garbage").start();
    assert!(!broken.wait().success());
    broken.expect_error("a.pem.sctl' is present but cannot be parsed");
}

/// The lengths of the records of an answer of `length` bytes.
fn records(client: &mut Secure, target: &str, length: usize) -> Vec<usize> {
    let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
    client.0.write_all(request.as_bytes()).expect("an open connection");
    let (mut lengths, mut bytes, mut got) = (Vec::new(), [0; 20_000], 0);
    while got < length {
        // The library reads one record at a time.
        let count = client.0.read(&mut bytes).expect("an answer");
        lengths.push(count);
        got += count;
    }
    lengths
}

/// `tune.ssl.maxrecord`, and `tune.idletimer` for the pause.
#[test]
fn records_are_short_where_a_transfer_begins() {
    const PAUSE: Duration = Duration::from_millis(400);
    let origin = Origin::new(|mut peer| {
        while let Some(request) = peer.request() {
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 230000\r\n\r\n");
            peer.client.send(vec![b'x'; 200_000]);
            if request.target() == "/pause" {
                pass(PAUSE);
            }
            peer.client.send(vec![b'y'; 30_000]);
        }
    });
    let web = "frontend web
    bind <web> ssl crt a.pem
    default_backend app
backend app
    server s <origin>
";
    let start = |idle: &str| {
        let global = format!("tune.ssl.maxrecord 1000\n    tune.idletimer {idle}");
        setup(web).global(&global).with("origin", origin.address()).start()
    };
    let short = |lengths: &[usize]| lengths.iter().all(|it| *it <= 1_000);
    let weir = start("300");
    let mut client = Secure::connect(weir.address("web"), "a.test");
    for _ in 0..2 {
        let lengths = records(&mut client, "/", 230_000);
        assert!(short(&lengths[..49]) && !short(&lengths), "{lengths:?}");
    }
    let lengths = records(&mut client, "/pause", 230_000);
    let (before, after) = lengths.split_at(lengths.len() - 30);
    assert!(!short(before) && short(after), "{lengths:?}");
    let weir = start("0");
    let mut client = Secure::connect(weir.address("web"), "a.test");
    let lengths = records(&mut client, "/pause", 230_000);
    assert!(short(&lengths[..49]) && !short(&lengths[lengths.len() - 2..]), "{lengths:?}");
}

/// `npn`, up to TLS 1.2: the client chooses a protocol, one of its own if the server offers none
/// that it knows.
#[test]
fn a_protocol_is_chosen_by_the_client() {
    if is_built_on("AWS-LC") {
        // The library has no NPN.
        return;
    }
    let mut text = "frontend origin
    bind <origin> ssl crt a.pem npn http/1.1,http/1.0,h2
    bind <listed> ssl crt-list <dir>/list alpn http/1.0
    bind <silent> ssl crt a.pem
    http-request return status 200 hdr x-npn \"<%[ssl_fc_npn]>\" hdr x-alpn \"<%[ssl_fc_alpn]>\" hdr x-version %[req.ver]
frontend web
    bind <web>
    http-response set-header x-bc \"<%[ssl_bc_npn]>\"
    use_backend %[path,field(2,/)]
"
    .to_owned();
    // To which listener with which options, and what both sides see: NPN, ALPN, version of HTTP.
    let cases = [
        ("origin", "force-tlsv12 npn http/1.0,http/1.1", "<http/1.1>", "<>", "1.1"),
        ("origin", "force-tlsv12 npn h2,http/1.0", "<http/1.0>", "<>", "1.1"),
        ("origin", "force-tlsv12 npn h2", "<h2>", "<>", "2.0"),
        ("origin", "force-tlsv12 npn spdy/3", "<spdy/3>", "<>", "1.1"),
        ("origin", "force-tlsv12", "<>", "<>", "1.1"),
        ("origin", "force-tlsv13 npn http/1.1", "<>", "<>", "1.1"),
        ("listed", "force-tlsv12 npn http/1.1", "<http/1.1>", "<>", "1.1"),
        ("listed", "force-tlsv12 npn http/1.1 alpn http/1.0", "<>", "<http/1.0>", "1.1"),
        ("silent", "force-tlsv12 npn http/1.1", "<>", "<>", "1.1"),
    ];
    for (number, (place, options, ..)) in cases.iter().enumerate() {
        text += &format!("backend b{number}\n    server s <{place}> ssl verify none {options}\n");
    }
    let weir = setup(&text).file("list", "a.pem [npn http/1.1]\n").start();
    for (number, (place, options, npn, alpn, version)) in cases.into_iter().enumerate() {
        let answer = weir.connect("web").ask(format!("GET /b{number} HTTP/1.1\r\nHost: x\r\n\r\n"));
        let seen = ["x-npn", "x-bc", "x-alpn", "x-version"].map(|it| answer.header(it));
        assert_eq!(seen, [npn, npn, alpn, version].map(Some), "{place} {options}");
    }
}
