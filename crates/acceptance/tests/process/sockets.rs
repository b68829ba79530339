//! Sources and destinations of connections, their rates and their ends. Socket options that cannot
//! be seen from outside are tested where sockets are opened.

use crate::support::{
    Client, LogReceiver, Moment, Origin, Running, Setup, eventually, reply, serve_forever, shape,
};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

/// Whether this process has CAP_NET_ADMIN; prints a note if not.
fn is_net_admin() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:\t"));
    let set = u64::from_str_radix(line.unwrap_or("0"), 16).unwrap_or(0);
    let allowed = set & (1 << 12) != 0;
    if !allowed {
        eprintln!("skipped: needs CAP_NET_ADMIN");
    }
    allowed
}

/// A port that was free a moment ago.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A program whose frontend `web` leads to servers on these lines, and whose listener `tell`
/// answers with the source address of a connection.
fn chain(front: &str, back: &str) -> Running {
    let tell = port();
    Setup::new(&format!(
        "global\n    nbthread 1\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    timeout connect 5s\n    \
         http-reuse always\n\
         frontend web\n    bind <web>\n{front}\n    default_backend app\n\
         backend app\n{back}\n\
         frontend tell\n    bind :<tell>\n    \
         http-request return status 200 hdr src %[src] hdr port %[src_port] hdr dst %[dst]\n"
    ))
    .with("tell", tell)
    .with("before", tell - 1)
    .start()
}

fn source(client: &mut Client, headers: &str) -> String {
    let answer = client.ask(format!("GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n"));
    answer.header("src").unwrap_or("").to_owned()
}

#[test]
fn source_sets_the_address_of_connections() {
    let weir = chain("", "    source 127.0.0.9\n    server s 127.0.0.1:<tell>");
    assert_eq!(source(&mut weir.web(), ""), "127.0.0.9");
    let weir = chain("", "    source 127.0.0.9\n    server s 127.0.0.1:<tell> source 127.0.0.8");
    assert_eq!(source(&mut weir.web(), ""), "127.0.0.8", "the server's own");
    let low = 20_000 + (std::process::id() % 20_000) as u16;
    let range = format!("    server s 127.0.0.1:<tell> source 127.0.0.7:{low}-{}", low + 2);
    let weir = chain("    option httpclose", &range);
    for _ in 0..3 {
        let answer = weir.web().get("/");
        let port: u16 = answer.header("port").and_then(|it| it.parse().ok()).expect("a port");
        assert!((low..=low + 2).contains(&port), "{port}");
    }
}

#[test]
fn connections_pretend_to_come_from_the_client() {
    if !is_net_admin() {
        return;
    }
    let front = "    http-request set-src hdr(x-client)";
    let weir = chain(front, "    source 0.0.0.0 usesrc clientip\n    server s 127.0.0.1:<tell>");
    let mut client = weir.web();
    for from in ["127.7.7.7", "127.7.7.8", "127.7.7.7"] {
        let told = source(&mut client, &format!("x-client: {from}\r\n"));
        assert_eq!(told, from, "never by a connection that came from elsewhere");
    }
    let header = "    server s 127.0.0.1:<tell> source 0.0.0.0 usesrc hdr_ip(x-from,-1)";
    let weir = chain("", header);
    assert_eq!(source(&mut weir.web(), "x-from: 127.1.1.1, 127.2.2.2\r\n"), "127.2.2.2");
    let fixed = "    server s 127.0.0.1:<tell> source 0.0.0.0 usesrc 127.3.3.3";
    assert_eq!(source(&mut chain("", fixed).web(), ""), "127.3.3.3");
}

#[test]
fn servers_without_an_address_are_where_the_client_wanted_to_go() {
    let front =
        "    http-request set-dst ipv4(127.0.0.5)\n    http-request set-dst-port int(<tell>)";
    let weir = chain(front, "    server s *");
    assert_eq!(weir.web().get("/").header("dst"), Some("127.0.0.5"));
    let front =
        "    http-request set-dst ipv4(127.0.0.5)\n    http-request set-dst-port int(<before>)";
    let weir = chain(front, "    server s 127.0.0.1:+1");
    assert_eq!(weir.web().get("/").header("dst"), Some("127.0.0.1"), "its own, and the next port");
}

#[test]
fn names_without_a_file_lead_to_each_other() {
    let name = format!("weir-{}", std::process::id());
    let weir = Setup::http("", "    server s abns@<name>\nlisten inner\n    bind abns@<name>\n    http-request return status 200")
        .with("name", name)
        .start();
    assert_eq!(weir.web().get("/").status(), 200);
}

#[test]
fn unix_bind_sets_owner_and_rights_of_sockets() {
    let weir = Setup::new(
        "global\n    nbthread 1\n    unix-bind prefix <dir>/pre- mode 640\n\
         defaults\n    mode http\n    timeout client 5s\n\
         listen usual\n    bind unix@one\n    http-request return status 200\n\
         listen own\n    bind unix@two mode 600\n    http-request return status 200\n",
    )
    .start();
    for (file, expected) in [("pre-one", 0o640), ("pre-two", 0o600)] {
        let path = weir.path(file);
        let meta = eventually("the socket", || std::fs::metadata(&path).ok());
        assert_eq!(meta.permissions().mode() & 0o777, expected, "{file}");
    }
}

#[test]
fn connections_go_through_a_socks4_proxy() {
    let grant = |yes: bool| {
        Origin::new(move |mut peer| {
            let request = peer.client.take(16);
            assert_eq!(request, b"\x04\x01\x05\x39\x01\x02\x03\x04HAProxy\0");
            peer.send([0, if yes { 90 } else { 91 }, 0, 0, 0, 0, 0, 0]);
            serve_forever(peer, |_| reply("200 OK", "through").into_bytes());
        })
    };
    for (yes, status) in [(true, 200), (false, 503)] {
        let proxy = grant(yes);
        let back = "    retries 0\n    server s 1.2.3.4:1337 socks4 <proxy>";
        let weir = Setup::http("", back).with("proxy", proxy.address()).start();
        assert_eq!(weir.web().get("/").status(), status);
    }
    let proxy = grant(true);
    let log = LogReceiver::new();
    let back = "    option httpchk\n    option log-health-checks\n    \
                server s 1.2.3.4:1337 socks4 <proxy> check-via-socks4 check inter 100ms";
    let weir =
        Setup::http("", back).with("proxy", proxy.address()).with("log", log.address()).start();
    log.find("Health check for server app/s succeeded, reason: Layer7 check passed, code: 200");
    drop(weir);
}

/// How long four connections take where two may come per second.
fn four_connections(global: &str, front: &str) -> Duration {
    let weir = Setup::new(&format!(
        "global\n    nbthread 1\n{global}\n\
         defaults\n    mode http\n    timeout client 5s\n\
         frontend web\n    bind <web>\n{front}\n    http-request return status 200\n"
    ))
    .start();
    let begin = Moment::now();
    for _ in 0..4 {
        assert_eq!(weir.web().get("/").status(), 200);
    }
    begin.elapsed()
}

#[test]
fn clients_wait_where_too_many_come_per_second() {
    let quick = four_connections("", "");
    for (global, front) in
        [("", "    rate-limit sessions 2"), ("    maxconnrate 2", ""), ("    maxsessrate 2", "")]
    {
        let slow = four_connections(global, front);
        assert!(slow > quick + Duration::from_millis(300), "{global}{front}: {slow:?}");
    }
}

/// The first request of a connection is acknowledged at once by the system, later ones are not:
/// what is not acknowledged when the connection goes is sent again, and answered with a reset.
#[test]
fn silent_drop_leaves_the_client_in_the_dark() {
    if !is_net_admin() {
        return;
    }
    let front =
        "    http-request silent-drop if { path /drop }\n    http-request return status 200";
    let weir = Setup::http(front, "").start();
    for (earlier, drops) in [(0, "1"), (1, "2")] {
        let mut stream = TcpStream::connect(weir.address("web")).expect("a listener");
        for _ in 0..earlier {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("a connection");
            assert!(stream.read(&mut [0; 1000]).expect("an answer") > 0);
        }
        stream.write_all(b"GET /drop HTTP/1.1\r\nHost: x\r\n\r\n").expect("a connection");
        eventually("the end of the request", || {
            let (dropped, open) =
                ["dreq", "scur"].map(|field| weir.stat("web", "FRONTEND", field)).into();
            (dropped == drops && open == "0").then_some(())
        });
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
        let error = stream.read(&mut [0; 1]).expect_err("neither an end nor a reset");
        let silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(silent, "after {earlier}: {error}");
    }
}

/// As with HAProxy, the connection goes with all its streams. Settings may have been sent before,
/// which this client does not answer.
#[test]
fn silent_drop_of_a_stream_leaves_all_in_the_dark() {
    if !is_net_admin() {
        return;
    }
    for front in [
        "    http-request silent-drop if { path / }",
        "    tcp-request inspect-delay 5s\n    tcp-request content silent-drop if { path / }",
    ] {
        let origin = Origin::new(|mut peer| drop((peer.request(), peer.client.rest())));
        let log = LogReceiver::new();
        let weir = Setup::http(front, "    server s <origin>").between(&origin, &log);
        let mut stream = TcpStream::connect(weir.address("web")).expect("a listener");
        let waits = b"\0\0\x0a\x01\x05\0\0\0\x01\x82\x86\x41\x01a\x04\x03/ok";
        let dropped = b"\0\0\x06\x01\x05\0\0\0\x03\x82\x86\x41\x01a\x84";
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let all = [&preface[..], waits, dropped].concat();
        stream.write_all(&all).expect("a connection");
        let mut lines = [log.line(), log.line()].map(|line| shape(&line));
        lines.sort();
        assert_eq!(lines[0], "web app/s -1 CD-- \"GET http://a/ok HTTP/2.0\"", "{front}");
        assert!(lines[1].starts_with("web web/<NOSRV> -1 PR-- "), "{front}: {}", lines[1]);
        stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
        let mut settings = [0; 100];
        let error = loop {
            match stream.read(&mut settings) {
                Ok(0) => panic!("{front}: the end"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
        assert_eq!(weir.stat("web", "FRONTEND", "scur"), "0", "{front}");
    }
}

#[test]
fn a_line_may_have_a_socket_per_thread() {
    for (shards, expected) in [("", 1), ("shards 2", 2), ("shards by-thread", 4), ("shards 60", 4)]
    {
        let port = port();
        let _weir = Setup::new(
            "global\n    nbthread 4\n\
             defaults\n    mode http\n    timeout client 5s\n\
             frontend web\n    bind 127.0.0.1:<port> <shards>\n    http-request return status 200\n",
        )
        .with("port", port)
        .with("shards", shards)
        .start();
        let mut client = eventually("a listener", || {
            TcpStream::connect(("127.0.0.1", port)).ok().map(Client::of)
        });
        assert_eq!(client.get("/").status(), 200);
        let table = std::fs::read_to_string("/proc/net/tcp").expect("a Linux system");
        let mark = format!("0100007F:{port:04X} 00000000:0000 0A");
        assert_eq!(table.matches(&mark).count(), expected, "{shards}");
    }
}

#[test]
fn listed_namespaces_have_to_exist() {
    let mut weir = Setup::new(
        "namespace_list\n    namespace weir-none\nlisten l\n    mode http\n    \
         timeout client 5s\n    bind <web>\n    http-request return status 200\n",
    )
    .start();
    weir.expect_error("Cannot open namespace 'weir-none'");
    assert!(!weir.wait().success());
}

#[test]
fn sockets_belong_to_the_namespace_asked_for() {
    let name = format!("weir-test-{}", std::process::id());
    let ip = |words: &[&str]| {
        let mut command = std::process::Command::new("ip");
        command.args(words).output().is_ok_and(|output| output.status.success())
    };
    if !is_net_admin() || !ip(&["netns", "add", &name]) {
        eprintln!("skipped: no network namespace can be made here");
        return;
    }
    let up = ip(&["netns", "exec", &name, "ip", "link", "set", "lo", "up"]);
    let back = "    server s 127.0.0.1:8000 namespace <name>\nlisten inner\n    \
                bind 127.0.0.1:8000 namespace <name>\n    http-request return status 200";
    let status = up.then(|| {
        let weir = Setup::http("", back).with("name", &name).start();
        assert!(TcpStream::connect("127.0.0.1:8000").is_err(), "not in the usual one");
        weir.web().get("/").status()
    });
    ip(&["netns", "del", &name]);
    assert_eq!(status, Some(200));
}

/// The header of a client, with the namespace that it comes from if there is a name.
fn introduced(namespace: Option<&str>) -> Vec<u8> {
    let mut values = vec![1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 2];
    if let Some(name) = namespace {
        values.extend_from_slice(&[0x30, 0, name.len() as u8]);
        values.extend_from_slice(name.as_bytes());
    }
    let length = [0, values.len() as u8];
    [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11"[..], &length, &values].concat()
}

/// `namespace *`, as measured: the namespace that the PROXY header names, if the configuration
/// knows it, else the listener's. The PROXY header to the server names that namespace.
#[test]
fn connections_follow_their_clients_into_namespaces() {
    let name = format!("weir-star-{}", std::process::id());
    let ip = |words: &[&str]| {
        let mut command = std::process::Command::new("ip");
        command.args(words).output().is_ok_and(|output| output.status.success())
    };
    let made = is_net_admin()
        && ip(&["netns", "add", &name])
        && ip(&["netns", "exec", &name, "ip", "link", "set", "lo", "up"]);
    let list = if made { "namespace_list\n    namespace <name>\n" } else { "" };
    let inner = "listen inner\n    bind 127.0.0.1:<tell> namespace <name>\n    \
                 http-request return status 201\n\
                 listen within\n    bind 127.0.0.1:<inside> namespace <name>\n    \
                 server s 127.0.0.1:<tell> namespace *\n\
                 backend inside\n    server s 127.0.0.1:<inside> namespace <name>\n";
    let inner = if made { inner } else { "" };
    let text = format!(
        "{list}defaults\n    mode http\n    timeout client 5s\n    timeout server 5s\n    \
         timeout connect 5s\n    http-reuse always\n\
         frontend web\n    bind <web> accept-proxy\n    use_backend %[path,field(2,/)]\n\
         backend own\n    server s 127.0.0.1:<tell> namespace *\n\
         backend next\n    server s 127.0.0.1:<next> send-proxy-v2\n\
         listen relay\n    bind 127.0.0.1:<next> accept-proxy\n    \
         server s 127.0.0.1:<tell> namespace *\n\
         listen outer\n    bind 127.0.0.1:<tell>\n    http-request return status 202\n{inner}"
    );
    let weir = Setup::new(&text)
        .with("name", &name)
        .with("tell", port())
        .with("next", port())
        .with("inside", port())
        .start();
    let ask = |namespace: Option<&str>, path: &str| {
        let mut client = weir.web();
        client.send(introduced(namespace));
        client.ask(format!("GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n")).status()
    };
    let mut wrong = Vec::new();
    for path in ["own", "next"] {
        for (namespace, inside) in
            [(None, false), (Some(&*name), made), (Some("weir-none"), false), (None, false)]
        {
            let status = ask(namespace, path);
            if status != if inside { 201 } else { 202 } {
                wrong.push((path, namespace, status));
            }
        }
    }
    if made && ask(None, "inside") != 201 {
        wrong.push(("inside", None, 0));
    }
    drop(weir);
    if !made {
        eprintln!(
            "skipped: no network namespace can be made here; only what needs none was tested"
        );
    }
    ip(&["netns", "del", &name]);
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_missing_interface_of_a_listener_is_a_warning() {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port()));
    let weir = Setup::new(&format!(
        "defaults\n    mode http\n    timeout client 5s\nfrontend web\n    bind <web>\n    \
         bind {address} interface nosuch0\n    http-request return status 204\n"
    ))
    .start();
    let device = "device 'nosuch0' (No such device)";
    weir.expect_error(&format!(
        "for frontend web: cannot bind receiver to {device} for [{address}]"
    ));
    assert_eq!(Client::connect(address).get("/").status(), 204);
}
