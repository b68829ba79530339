//! Requests that go to no server in particular (`dispatch`, `option transparent`), and connections
//! that belong to one client.

use crate::support::{Client, LogReceiver, Origin, Running, Setup, shape};

/// A `listen` section with these lines, beside an origin and a second one.
fn listen(lines: &str, origins: [&Origin; 2], log: &LogReceiver) -> Running {
    let [first, second] = origins.map(Origin::address);
    Setup::new(&format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option httplog\n    \
         http-reuse always\n\
         listen web\n    bind <web>\n{lines}\n"
    ))
    .with("origin", first)
    .with("port", first.port())
    .with("other", second)
    .with("otherport", second.port())
    .with("log", log.address())
    .start()
}

fn origins() -> [Origin; 2] {
    ["first", "second"].map(Origin::saying)
}

fn with_cookie(client: &mut Client, cookie: &str) -> String {
    client.ask(format!("GET / HTTP/1.1\r\nHost: x\r\nCookie: C={cookie}\r\n\r\n")).text()
}

#[test]
fn dispatch_is_for_requests_that_name_no_server() {
    let ([first, second], log) = (origins(), LogReceiver::new());
    let lines =
        "    dispatch <origin>\n    cookie C insert\n    server s <other> cookie s\n    retries 0";
    let weir = listen(lines, [&first, &second], &log);
    let mut client = weir.web();
    assert_eq!(client.get("/").text(), "first");
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 200 --NN \"GET / HTTP/1.1\"");
    assert_eq!(with_cookie(&mut client, "s"), "second", "its cookie names a server");
    assert_eq!(shape(&log.line()), "web web/s 200 --VN \"GET / HTTP/1.1\"");
    assert_eq!(with_cookie(&mut client, "x"), "first");
    assert_eq!(first.request(0).header("host"), Some("test"));
    assert_eq!(weir.stat("web", "s", "stot"), "1");
}

#[test]
fn a_dispatch_address_that_refuses_is_a_503() {
    let ([first, second], log) = (origins(), LogReceiver::new());
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = nobody.local_addr().expect("an address");
    drop(nobody);
    let lines = format!("    dispatch {address}\n    option redispatch\n    retries 1");
    let weir = listen(&lines, [&first, &second], &log);
    assert_eq!(weir.web().get("/").status(), 503);
    let line = log.line();
    assert_eq!(shape(&line), "web web/<NOSRV> 503 SC-- \"GET / HTTP/1.1\"");
    assert!(line.contains("/1 0/0"), "tried again, and there was nowhere else to go: {line}");
}

#[test]
fn dispatch_carries_bytes() {
    let ([first, second], log) = (origins(), LogReceiver::new());
    let weir = listen("    mode tcp\n    dispatch <origin>", [&first, &second], &log);
    assert_eq!(weir.web().get("/").text(), "first");
}

#[test]
fn connections_to_no_server_belong_to_their_client() {
    let ([first, second], log) = (origins(), LogReceiver::new());
    for lines in [
        "    dispatch <origin>",
        "    option transparent\n    http-request set-dst ipv4(127.0.0.1)\n    \
         http-request set-dst-port int(<port>)",
    ] {
        let weir = listen(lines, [&first, &second], &log);
        let before = first.connections();
        let mut clients = [weir.web(), weir.web()];
        for _ in 0..3 {
            clients.iter_mut().for_each(|client| client.expect_open("/"));
        }
        assert_eq!(first.connections() - before, 2, "{lines}");
    }
}

#[test]
fn transparent_goes_where_the_client_wanted_to_go() {
    for word in ["option transparent", "transparent"] {
        let ([first, second], log) = (origins(), LogReceiver::new());
        let lines = format!(
            "    {word}\n    cookie C insert\n    server s <other> cookie s\n    \
             http-request set-dst ipv4(127.0.0.1)\n    \
             http-request set-dst-port int(<port>) unless {{ path /other }}\n    \
             http-request set-dst-port int(<otherport>) if {{ path /other }}"
        );
        let weir = listen(&lines, [&first, &second], &log);
        let mut client = weir.web();
        let told = ["/", "/other", "/", "/other"].map(|path| client.get(path).text());
        assert_eq!(told, ["first", "second", "first", "second"], "{word}");
        assert_eq!([&first, &second].map(Origin::connections), [1, 1], "each is used again");
        assert_eq!(shape(&log.line()), "web web/<NOSRV> 200 --NN \"GET / HTTP/1.1\"");
        assert_eq!(with_cookie(&mut client, "s"), "second", "its cookie names a server");
    }
}

#[test]
fn a_client_has_as_many_connections_to_itself_as_allowed() {
    for (limit, connections) in [("", [1, 1]), ("    max-session-srv-conns 1\n", [3, 3])] {
        let ([first, second], log) = (origins(), LogReceiver::new());
        let lines = format!(
            "{limit}    http-reuse never\n    use-server b if {{ path /b }}\n    \
             use-server a if {{ path /a }}\n    server a <origin>\n    server b <other>"
        );
        let weir = listen(&lines, [&first, &second], &log);
        let mut client = weir.web();
        for _ in 0..3 {
            assert_eq!(client.get("/a").text(), "first");
            assert_eq!(client.get("/b").text(), "second");
        }
        assert_eq!([&first, &second].map(Origin::connections), connections, "{limit}");
    }
}
