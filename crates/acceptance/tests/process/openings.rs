//! Preambles of connections to listeners outside of proxies: runtime sockets and `log-forward`
//! sections.

use crate::support::{
    Eager, Identity, LogReceiver, PATIENCE, Running, Secure, Setup, eventually, hear, run,
};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

const V1: &[u8] = b"PROXY TCP4 1.2.3.4 5.6.7.8 42 1337\r\n";

/// A NetScaler header with the magic number 1234.
fn netscaler() -> Vec<u8> {
    let mut headers = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    headers.extend([0, 42, 5, 57]);
    headers.resize(40, 0);
    [&1234_u32.to_be_bytes()[..], &40_u32.to_be_bytes(), &headers].concat()
}

/// The authority, the server and a client.
struct People {
    authority: Identity,
    server: Identity,
    client: Identity,
}

impl People {
    fn new() -> Self {
        let authority = Identity::new("authority", None);
        let [server, client] = ["a.test", "operator"].map(|it| Identity::new(it, Some(&authority)));
        Self { authority, server, client }
    }

    fn files(&self, setup: Setup) -> Setup {
        setup.file("ca.pem", &self.authority.certificate()).file("a.pem", &self.server.pem())
    }

    /// A client that shows its certificate.
    fn connect(&self, address: SocketAddr) -> Secure {
        Secure::try_connect(address, "a.test", |it| Secure::show(it, &self.client)).expect("TLS")
    }
}

/// A program with a second runtime socket, and where that is.
fn console(global: &str, options: &str, files: impl Fn(Setup) -> Setup) -> (Running, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a bound socket");
    let setup = Setup::new(&format!(
        "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n    {global}\n    \
         stats socket fd@<tcp> {options}\n\
         defaults\n    mode http\n    timeout client 5s\n\
         frontend web\n    bind <web>\n    http-request return status 200\n"
    ));
    (files(setup).inherit("tcp", listener.into()).start(), address)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a listener");
    stream.set_read_timeout(Some(PATIENCE)).expect("a stream");
    stream
}

/// Sends bytes and returns all that arrives before the end.
fn ask(stream: &mut (impl Read + Write), words: impl AsRef<[u8]>) -> io::Result<String> {
    stream.write_all(words.as_ref())?;
    let mut heard = String::new();
    stream.read_to_string(&mut heard)?;
    Ok(heard)
}

const DEMANDING: &str = "ssl crt <dir>/a.pem ca-file <dir>/ca.pem verify required";

#[test]
fn commands_go_through_tls() {
    let people = People::new();
    let options = format!("{DEMANDING} level operator severity-output number");
    let (weir, address) = console("", &options, |it| people.files(it));
    let ask_as = |words: &str| ask(&mut people.connect(address).0, words).expect("an answer");
    assert_eq!(ask_as("show cli level\n"), "[6]: operator\n\n");
    assert_eq!(ask_as("shutdown frontend web\n"), "[3]: Permission denied\n\n");
    let many = ask_as(&format!("{}\n", ["show info"; 200].join(";")));
    assert_eq!(many.matches("\nPid: ").count(), 200);

    let mut prompt = people.connect(address).0;
    prompt.write_all(b"prompt\n").expect("it is read");
    assert_eq!(hear(&mut prompt, "> "), "\n> ");
    for _ in 0..2 {
        prompt.write_all(b"show cli level\n").expect("it is read");
        assert_eq!(hear(&mut prompt, "> "), "[6]: operator\n\n> ");
    }
    assert!(weir.cli("show info").contains("\nCurrSslConns: 1\n"));
    assert_eq!(ask(&mut prompt, "quit\n").expect("a clean end"), "");
    eventually("it is counted out", || {
        weir.cli("show info").contains("\nCurrSslConns: 0\n").then_some(())
    });
}

#[test]
fn commands_need_the_certificate_that_is_demanded() {
    let people = People::new();
    let (weir, address) = console("", DEMANDING, |it| people.files(it));
    let nobody = Secure::try_connect(address, "a.test", |_| {});
    // With TLS 1.3 a client uses the session before the server's refusal arrives.
    let refused =
        nobody.and_then(|mut it| ask(&mut it.0, "show info\n").map_err(|e| e.to_string()));
    assert!(refused.is_err(), "{refused:?}");
    let stranger = Identity::new("operator", None);
    let show = |it: &mut _| Secure::show(it, &stranger);
    let other = Secure::try_connect(address, "a.test", show);
    let refused = other.and_then(|mut it| ask(&mut it.0, "show info\n").map_err(|e| e.to_string()));
    assert!(refused.is_err(), "{refused:?}");
    let mut heard = Vec::new();
    let mut clear = connect(address);
    clear.write_all(b"show info\n").expect("it is read");
    let _ = clear.read_to_end(&mut heard);
    assert!(!String::from_utf8_lossy(&heard).contains("Pid"), "nothing in the clear");

    // Certificates of servers are replaced at run time like those of frontends.
    let name = weir.path("a.pem").display().to_string();
    let other = Identity::new("b.test", Some(&people.authority));
    weir.cli(&format!("set ssl cert {name} <<\n{}\n", other.pem()));
    assert!(weir.cli(&format!("commit ssl cert {name}")).ends_with("Success!"));
    assert_eq!(people.connect(address).peer(), "b.test");
}

#[test]
fn a_handshake_with_a_runtime_socket_takes_no_longer_than_a_command() {
    let people = People::new();
    let (_weir, address) = console("stats timeout 200ms", DEMANDING, |it| people.files(it));
    assert_eq!(ask(&mut connect(address), "").expect("an end"), "");
    let (_weir, address) = console("stats timeout 200ms", "accept-proxy", |it| it);
    assert_eq!(ask(&mut connect(address), "PROXY ").expect("an end"), "");
}

/// Early data can be replayed by an eavesdropper (RFC 8446 section 8).
#[test]
fn commands_wait_for_the_end_of_their_handshake() {
    let people = People::new();
    let options = "ssl crt <dir>/a.pem allow-0rtt level admin";
    let (weir, address) = console("", options, |it| people.files(it));
    let limit = || {
        let info = weir.cli("show info");
        info.lines().find_map(|line| line.strip_prefix("Maxconn: ").map(str::to_owned))
    };
    let mut client = Eager::at(address);
    client.shake();
    client.ask("/");
    client.whole_answer();
    client.again_at(address);
    assert!(client.say_early("set maxconn global 77\n"));
    client.leave();
    assert_ne!(limit().as_deref(), Some("77"));
    client.again_at(address);
    client.shake();
    client.ask("/");
    client.whole_answer();
    client.again_at(address);
    assert!(client.say_early("set maxconn global 77\n"));
    client.shake();
    client.whole_answer();
    assert_eq!(limit().as_deref(), Some("77"));
}

#[test]
fn commands_may_come_behind_headers() {
    let level = b"show cli level\n";
    let (_weir, address) = console("", "accept-proxy level user", |it| it);
    let unknown = b"PROXY UNKNOWN\r\n";
    for header in [V1, unknown] {
        let heard = ask(&mut connect(address), [header, level].concat());
        assert_eq!(heard.expect("an answer"), "user\n\n", "in one packet");
    }
    let mut slow = connect(address);
    for byte in [V1, &level[..level.len() - 1]].concat() {
        slow.write_all(&[byte]).expect("it is read");
    }
    assert_eq!(ask(&mut slow, "\n").expect("an answer"), "user\n\n", "in many");
    assert_eq!(ask(&mut connect(address), level).unwrap_or_default(), "", "none at all");

    let (_weir, address) = console("", "accept-netscaler-cip 1234 accept-proxy", |it| it);
    let words = [&netscaler(), V1, level].concat();
    assert_eq!(ask(&mut connect(address), words).expect("an answer"), "operator\n\n");

    let people = People::new();
    let (_weir, address) = console("", &format!("accept-proxy {DEMANDING}"), |it| people.files(it));
    let show = |it: &mut _| Secure::show(it, &people.client);
    let mut secure = Secure::try_over(announced(address), "a.test", show).expect("TLS");
    assert_eq!(ask(&mut secure.0, level).expect("an answer"), "operator\n\n");
}

/// A connection that has sent its header.
fn announced(address: SocketAddr) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(V1).expect("it is read");
    stream
}

/// The messages of a master whose command socket has these options.
fn refused_master(options: &str) -> String {
    let setup = Setup::new("global\n");
    let file = setup.path("weir.cfg");
    std::fs::write(&file, "global\n").expect("a directory");
    let socket = format!("{},{options}", setup.path("master").display());
    let output = run(&["-W", "-S", &socket, "-f", &file.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{options}: {said}");
    said
}

#[test]
fn a_master_is_asked_in_the_clear() {
    let said = refused_master("accept-proxy");
    assert!(said.contains("connections to a master begin with their first command"), "{said}");
}

#[test]
fn options_of_a_masters_socket_are_words_that_count_or_are_refused() {
    for (options, why) in [
        ("foo", "unknown keyword 'foo'"),
        ("#foo", "unknown keyword '#foo'"),
        ("mode 600", "unknown keyword 'mode 600'"),
        ("mode,'600'", "missing or invalid mode ''600''"),
        ("name,a\nb,c", "unknown keyword 'c'"),
        ("severity-output,number", "'severity-output' is not supported here"),
    ] {
        let said = refused_master(options);
        assert!(said.contains(why), "{options}: {said}");
    }
}

fn forward(options: &str, files: impl Fn(Setup) -> Setup) -> (Running, LogReceiver) {
    let log = LogReceiver::new();
    let setup = Setup::new(&format!(
        "global\n    nbthread 2\nlog-forward others\n    bind <tcp> {options}\n    \
         timeout client 5s\n    log <log> format raw local0\n"
    ));
    (files(setup).with("log", log.address()).start(), log)
}

#[test]
fn logs_of_others_come_through_tls_behind_a_header() {
    let people = People::new();
    let (weir, log) = forward(&format!("accept-proxy {DEMANDING}"), |it| people.files(it));
    let show = |it: &mut _| Secure::show(it, &people.client);
    let address = weir.address("tcp");
    let mut secure = Secure::try_over(announced(address), "a.test", show).expect("TLS");
    secure.0.write_all(b"<13>one\n").expect("it is read");
    assert_eq!(log.line(), "one");
    assert!(Secure::try_connect(address, "a.test", show).is_err(), "without a header");
    let mut clear = announced(address);
    clear.write_all(b"<13>in the clear\n").expect("it is read");
    assert!(clear.read_to_end(&mut Vec::new()).is_ok_and(|count| count < 10), "it is closed");
    secure.0.write_all(b"<13>two\n").expect("it is read");
    assert_eq!(log.line(), "two", "nothing of the others");
}

#[test]
fn logs_of_others_may_come_behind_headers_of_both_kinds() {
    let (weir, log) = forward("accept-netscaler-cip 1234 accept-proxy proto none", |it| it);
    let mut stream = connect(weir.address("tcp"));
    let words = [&netscaler(), V1, b"<13>one\n<13>two\n<13>"].concat();
    stream.write_all(&words).expect("it is read");
    assert_eq!([log.line(), log.line()], ["one", "two"]);
    stream.write_all(b"three\n").expect("it is read");
    assert_eq!(log.line(), "three");
}

#[test]
fn a_line_of_log_forward_has_a_limit_of_its_own() {
    let log = LogReceiver::new();
    let weir = Setup::new(
        "global\n    nbthread 2\nlog-forward others\n    bind <one> maxconn 1\n    bind <any>\n    \
         timeout client 60s\n    log <log> format raw local0\n",
    )
    .with("log", log.address())
    .start();
    let say = |name: &str, words: &str| {
        let mut stream = connect(weir.address(name));
        stream.write_all(words.as_bytes()).expect("it is read in the end");
        stream
    };
    let first = say("one", "<13>first\n");
    assert_eq!(log.line(), "first");
    let _second = say("one", "<13>second\n");
    for words in ["third", "fourth", "fifth"] {
        // Longer than a listener rests, together.
        let lines = log.lines_for(std::time::Duration::from_millis(50));
        assert_eq!(lines, [""; 0], "the second one waits");
        drop(say("any", &format!("<13>{words}\n")));
        assert_eq!(log.line(), words, "the other line has room");
    }
    drop(first);
    assert_eq!(log.line(), "second");
}

#[test]
fn a_runtime_socket_has_a_limit_of_its_own() {
    let (weir, address) = console("", "maxconn 1", |it| it);
    let mut first = connect(address);
    first.write_all(b"prompt\n").expect("it is read");
    assert_eq!(hear(&mut first, "> "), "\n> ");
    let mut second = connect(address);
    second.write_all(b"show cli level\n").expect("it is read later");
    second.set_read_timeout(Some(std::time::Duration::from_millis(150))).expect("a stream");
    assert!(second.read(&mut [0]).is_err(), "it waits");
    assert_eq!(weir.cli("show cli level"), "admin", "the other socket has room");
    drop(first);
    second.set_read_timeout(Some(PATIENCE)).expect("a stream");
    assert_eq!(ask(&mut second, "").expect("an answer"), "operator\n\n");
}

/// As measured with HAProxy.
#[test]
fn all_runtime_sockets_share_a_limit() {
    let (weir, address) = console("stats maxconn 1", "level user", |it| it);
    let mut first = connect(address);
    first.write_all(b"prompt\n").expect("it is read");
    assert_eq!(hear(&mut first, "> "), "\n> ");
    let mut second = UnixStream::connect(weir.path("cli")).expect("a listener");
    second.write_all(b"show cli level\n").expect("it is read later");
    second.set_read_timeout(Some(std::time::Duration::from_millis(150))).expect("a stream");
    assert!(second.read(&mut [0]).is_err(), "it waits");
    drop(first);
    second.set_read_timeout(Some(PATIENCE)).expect("a stream");
    assert_eq!(ask(&mut second, "").expect("an answer"), "admin\n\n");
}
