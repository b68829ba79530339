//! Clients of TLS before the end of their handshake: those that leave or stall, and those whose
//! handshake passes through.

use crate::support::{Client, Identity, LogReceiver, Origin, Running, Secure, Setup, eventually};
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};

/// A frontend over TLS and one in the clear, of one process.
fn start(global: &str, log: &LogReceiver) -> Running {
    let text = format!(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n    {global}\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n    log <log> format raw local0\n    option httplog\n\
         frontend web\n    bind <web> ssl crt <dir>/a.pem\n    {RETURN}\n\
         frontend clear\n    bind <clear>\n    no log\n    {RETURN}\n"
    );
    let setup = Setup::new(&text).file("a.pem", &Identity::new("a.test", None).pem());
    let weir = setup.with("log", log.address()).start();
    weir.cli("show info");
    weir
}

const RETURN: &str = "http-request return status 200";

/// The first message of a client, as sent to a silent server.
fn hello() -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a port");
    let client = std::thread::spawn(move || {
        assert!(Secure::try_connect(address, "a.test", |_| ()).is_err(), "nobody answers");
    });
    let (mut stream, _) = listener.accept().expect("a client");
    let mut hello = vec![0; 5];
    stream.read_exact(&mut hello).expect("the head of a record");
    let length = usize::from(hello[3]) << 8 | usize::from(hello[4]);
    hello.resize(5 + length, 0);
    stream.read_exact(&mut hello[5..]).expect("a record");
    drop(stream);
    client.join().expect("it has failed");
    hello
}

/// Lets a client's bytes and its end arrive while the program accepts no clients, and returns the
/// answer.
fn leave(weir: &Running, parts: &[&[u8]]) -> Vec<u8> {
    let (first, rest) = parts.split_first().expect("something is sent");
    assert_eq!(weir.cli("set maxconn global 1"), "");
    let mut holder = weir.connect("clear");
    assert_eq!(holder.get("/").status(), 200);
    let mut client = weir.web();
    client.send(first);
    rest.iter().for_each(|part| client.send(part));
    client.half_close();
    assert_eq!(weir.cli("set maxconn global 100"), "");
    holder.close();
    client.rest()
}

/// Computing an answer is what a handshake costs. As with HAProxy, the log line distinguishes a
/// client that has sent its whole hello from one that has not.
#[test]
fn a_client_that_has_left_is_not_answered() {
    let log = LogReceiver::new();
    let weir = start("", &log);
    let hello = hello();
    let middle = hello.len() / 2;
    for (parts, words) in [
        (vec![&hello[..]], "SSL handshake failure"),
        (vec![&hello[..middle], &hello[middle..]], "SSL handshake failure"),
        (vec![&hello[..], b"\x14\x03\x03\0\x01\x01"], "SSL handshake failure"),
        (vec![&hello[..middle]], "Connection closed during SSL handshake"),
    ] {
        assert_eq!(leave(&weir, &parts), b"", "{words}");
        let line = log.line();
        assert!(line.ends_with(&format!("web/1: {words}")), "{line}");
    }
    // A client that waits for its handshake is answered.
    let mut client = weir.web();
    client.send(&hello);
    assert_eq!(client.take(1), [22], "a record of the handshake");
    assert_eq!(Secure::connect(weir.address("web"), "a.test").get("/"), "");
}

#[test]
fn handshakes_that_stall_leave_room_for_other_listeners() {
    for (global, most) in [("maxconn 8", 4), ("maxconn 8\n    tune.ssl.max-handshakes 2", 2)] {
        let weir = start(global, &LogReceiver::new());
        let stalled: Vec<TcpStream> =
            (0..10).map(|_| TcpStream::connect(weir.address("web")).expect("a backlog")).collect();
        eventually("as many as may be are taken", || {
            (weir.stat("web", "FRONTEND", "scur") == most.to_string()).then_some(())
        });
        for _ in 0..4 {
            let mut other: Client = weir.connect("clear");
            assert_eq!(other.get("/").status(), 200, "{global}");
        }
        assert_eq!(weir.stat("web", "FRONTEND", "scur"), most.to_string(), "{global}");
        drop(stalled);
        let mut good = Secure::connect(weir.address("web"), "a.test");
        assert_eq!(good.get("/"), "", "their places are free again");
    }
}

/// A finished handshake does not count among those under way.
#[test]
fn connections_whose_handshake_is_over_are_not_counted() {
    let weir = start("tune.ssl.max-handshakes 1", &LogReceiver::new());
    let mut clients: Vec<_> =
        (0..5).map(|_| Secure::connect(weir.address("web"), "a.test")).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/"), ""));
    let weir = start("maxconn 8\n    tune.ssl.max-handshakes 0", &LogReceiver::new());
    let _stalled: Vec<_> = (0..6).map(|_| weir.web()).collect();
    eventually("there is no bound", || (weir.stat("web", "FRONTEND", "scur") == "6").then_some(()));
}

/// RFC 8446 section 5.1: a message may be cut into records anywhere; packets may be, too.
#[test]
fn a_hello_in_several_records_is_routed_by_its_name() {
    let says = |word: &'static str| {
        Origin::new(move |mut peer| {
            peer.client.take(1);
            peer.send(word);
        })
    };
    let (named, other) = (says("named"), says("other"));
    let text = "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 20s\n    \
        timeout server 20s\nfrontend web\n    bind <web>\n    tcp-request inspect-delay 10s\n    \
        tcp-request content accept if { req.ssl_hello_type 1 }\n    \
        use_backend named if { req.ssl_sni a.test }\n    default_backend other\n\
        backend named\n    server s <named>\nbackend other\n    server s <other>\n";
    let setup = Setup::new(text).with("named", named.address()).with("other", other.address());
    let weir = setup.start();
    let (head, message) = (&hello()[..3], &hello()[5..]);
    for size in [1, 3, 40, message.len() / 2, message.len() - 1, message.len()] {
        let records: Vec<Vec<u8>> = message
            .chunks(size)
            .map(|part| [head, &(part.len() as u16).to_be_bytes(), part].concat())
            .collect();
        for packets in [1, 2, 7] {
            let mut client = weir.web();
            let stream = records.concat();
            stream.chunks(stream.len().div_ceil(packets)).for_each(|part| client.send(part));
            assert_eq!(client.rest(), b"named", "records of {size}, {packets} packets");
        }
    }
}
