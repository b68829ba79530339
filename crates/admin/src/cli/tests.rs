//! Commands, and sessions over real sockets on one thread.

use super::call::{Call, Reply, SessionState};
use super::{not_implemented, table};
use crate::settings::{CliSocket, Level, Settings, SeverityOutput};
use crate::testing;
use engine::state::session::stream_list::http::{Http, Message, MessageState as Stage};
use proptest::prelude::*;
use proxy::{Shared, Worker};
use reactor::{Class, Handle};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

mod caches;
mod large;

struct Bench {
    shared: Arc<Shared>,
    worker: Rc<Worker>,
    settings: Arc<Settings>,
    /// The descriptor that [`Bench::listen`] made.
    listener: Cell<i32>,
}

fn offer(level: Level) -> CliSocket {
    CliSocket { level, ..CliSocket::default() }
}

/// The whole answer to a command that asks no other thread.
fn answer(call: &mut Call<'_>) -> String {
    let (mut text, mut out) = (String::new(), Vec::new());
    let reply = match table::run(call) {
        Reply::Pieces(mut next) => {
            while next(call.worker, &mut text) {}
            Reply::Dump(text)
        }
        reply => reply,
    };
    reply.write(SeverityOutput::None, &mut out);
    String::from_utf8(out).unwrap()
}

impl Bench {
    fn new() -> Self {
        let shared = testing::shared();
        let worker = testing::worker(&shared);
        Self { worker, settings: testing::settings(), shared, listener: Cell::new(-1) }
    }

    fn run_as(&self, level: Level, line: &str) -> String {
        let mut state = SessionState::new(&offer(level), &self.settings);
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let (worker, settings) = (&self.worker, &self.settings);
        let mut call = Call { worker, settings, state: &mut state, words: &words, payload: None };
        answer(&mut call)
    }

    fn run(&self, line: &str) -> String {
        self.run_as(Level::Admin, line)
    }

    /// A socket served by this thread.
    fn listen(&self, level: Level) -> SocketAddr {
        let options = sys::listen::Options { backlog: 16, ..Default::default() };
        let fd = sys::listen::tcp("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        self.listener.set(fd);
        super::serve(&self.worker, [(Handle(fd), &offer(level))], &self.settings);
        sys::socket::local_address(fd).unwrap()
    }

    /// Turns until a client in another thread has finished; returns what it returns.
    fn serve<T: Send + 'static>(&self, client: impl FnOnce() -> T + Send + 'static) -> T {
        let client = std::thread::spawn(client);
        while !client.is_finished() {
            self.worker.thread.turn(Some(Duration::from_millis(5))).unwrap();
        }
        client.join().unwrap()
    }

    /// Sends a text, closes that side, reads everything.
    fn ask(&self, address: SocketAddr, text: &str) -> String {
        let text = text.to_owned();
        self.serve(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        })
    }
}

#[test]
fn a_payload_without_end_is_refused() {
    let bench = Bench::new();
    let address = bench.listen(Level::User);
    let answer = bench.serve(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let rows = [b"a payload that does not end\n".as_slice(); 512].concat();
        stream.write_all(b"show version <<\n").unwrap();
        // More than is ever kept; whether all of it could be sent is the server's business.
        let _ = (0..1_024).try_for_each(|_| stream.write_all(&rows));
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    });
    assert_eq!(answer, "The payload is too long.\n\n");
    assert!(bench.ask(address, "show version\n").contains('.'));
}

#[test]
fn server_states_are_shown_and_changed() {
    let bench = Bench::new();
    let lines = |bench: &Bench| -> Vec<String> {
        let out = bench.run("show servers state be");
        out.lines()
            .skip(2)
            .map(|line| line.split(' ').take(9).collect::<Vec<_>>().join(" "))
            .collect()
    };
    let out = bench.run("show servers state");
    assert!(out.starts_with("1\n# be_id be_name srv_id srv_name srv_addr srv_op_state "));
    assert!(out.contains("\n3 be 1 s1 127.0.0.1 2 0 1 1 "), "{out}");
    assert!(out.contains(" 6 3 4 6 0 0 0 - 8001 - 0 0 - - 0\n"), "{out}");
    assert!(out.contains(" 8 2 0 6 0 0 0 - 8002 - 0 0 - - 0\n"), "{out}");
    assert!(out.contains("\n3 be 3 s3 - 2 0 1 1 "), "{out}");
    assert!(out.contains("\n3 be 4 s4 127.0.0.1 0 5 1 1 "), "{out}");
    assert!(out.ends_with("\n\n"));
    assert_eq!(bench.run("show servers state nope"), "Can't find backend.\n\n");

    assert_eq!(bench.run("set server be/s1 state maint"), "\n");
    assert_eq!(lines(&bench)[0], "3 be 1 s1 127.0.0.1 0 1 1 1");
    assert_eq!(bench.run("set server be/s1 state ready"), "\n");
    assert_eq!(lines(&bench)[0], "3 be 1 s1 127.0.0.1 2 0 1 1");
    assert_eq!(bench.run("set server be/s1 state drain"), "\n");
    assert_eq!(lines(&bench)[0], "3 be 1 s1 127.0.0.1 2 8 1 1");
    assert_eq!(bench.run("enable server be/s4"), "\n");
    assert_eq!(lines(&bench)[3], "3 be 4 s4 127.0.0.1 2 4 1 1");
    assert_eq!(bench.run("disable server be/#4"), "\n");
    assert_eq!(lines(&bench)[3], "3 be 4 s4 127.0.0.1 0 5 1 1");
    assert_eq!(bench.run("set server be/s2 health up"), "\n");
    assert_eq!(lines(&bench)[1], "3 be 2 s2 127.0.0.1 2 0 5 5");
    assert_eq!(bench.run("set weight be/s2 50%"), "\n");
    assert_eq!(bench.run("get weight be/s2"), "2 (initial 5)\n\n");
    assert_eq!(bench.run("set server be/s2 weight 7"), "\n");
    assert_eq!(bench.run("get weight be/s2"), "7 (initial 5)\n\n");
}

#[test]
fn rates_frontends_and_cookies_are_changed() {
    let bench = Bench::new();
    assert_eq!(bench.run("set rate-limit connections global 10"), "\n");
    assert_eq!(bench.run("set rate-limit sessions global 20"), "\n");
    let info = bench.run("show info");
    assert!(info.contains("\nConnRateLimit: 10\n") && info.contains("\nSessRateLimit: 20\n"));
    assert_eq!(bench.run("set rate-limit connections global -1"), "Value out of range.\n\n");
    assert_eq!(bench.run("set rate-limit connections global"), "Expects an integer value.\n\n");
    assert!(
        bench.run("set rate-limit foo global 1").starts_with("'set rate-limit' only supports :")
    );
    assert_eq!(bench.run("set rate-limit ssl-sessions global 30"), "\n");
    assert!(bench.run("show info").contains("\nSslRateLimit: 30\n"));
    assert_eq!(bench.run("set rate-limit http-compression global 3"), "\n");
    assert!(bench.run("show info").contains("\nCompressBpsRateLim: 3072\n"));
    assert_eq!(bench.run("set rate-limit http-compression global -1"), "Value out of range.\n\n");
    assert_eq!(bench.run("set rate-limit http-compression global 4294967295"), "\n");
    assert!(bench.run("show info").contains("\nCompressBpsRateLim: 4294967295\n"));

    assert_eq!(bench.run("shutdown frontend"), "A frontend name is expected.\n\n");
    assert_eq!(bench.run("shutdown frontend nope"), "No such frontend.\n\n");
    assert_eq!(bench.run("shutdown frontend fe"), "\n");
    assert_eq!(bench.run("shutdown frontend fe"), "Frontend was already shut down.\n\n");
    let refused = "Frontend was previously shut down, cannot enable.\n\n";
    assert_eq!(bench.run("enable frontend fe"), refused);
    assert!(bench.run("show stat").contains("\nfe,FRONTEND,,,0,0,50,3,246,219,0,0,0,,,,,STOP,"));

    assert_eq!(bench.run("enable dynamic-cookie backend"), "A backend name is expected.\n\n");
    assert_eq!(bench.run("disable dynamic-cookie backend nope"), "No such backend.\n\n");
    assert_eq!(bench.run("enable dynamic-cookie backend be"), "\n");
    assert_eq!(bench.run("set dynamic-cookie-key backend be"), "String value expected.\n\n");
    assert_eq!(bench.run("set dynamic-cookie-key backend be k"), "\n");
}

#[test]
fn names_are_hidden_when_asked() {
    let bench = Bench::new();
    let mut state = SessionState::new(&offer(Level::Admin), &bench.settings);
    let mut run = |line: &str| {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let (worker, settings) = (&bench.worker, &bench.settings);
        let mut call = Call { worker, settings, state: &mut state, words: &words, payload: None };
        answer(&mut call)
    };
    assert_eq!(run("show anon"), "Anonymized mode disabled\n\n");
    assert_eq!(run("set anon on 77"), "\n");
    assert_eq!(run("show anon"), "Anonymized mode enabled\nKey : 77\n\n");
    let shown = run("show servers state be");
    assert!(!shown.contains(" s1 ") && !shown.contains("127.0.0.1"), "{shown}");
    assert!(shown.contains(" IPV4("), "{shown}");
    assert_eq!(run("set anon global-key 5"), "\n");
    assert_eq!(run("set anon on"), "\n");
    assert_eq!(run("show anon"), "Anonymized mode enabled\nKey : 5\n\n");
    assert!(!run("show backend").contains("be\n"));
    assert_eq!(run("set anon off"), "\n");
    assert!(run("show servers state be").contains(" s1 127.0.0.1 "));
    for wrong in ["set anon", "set anon on x", "set anon global-key", "set anon global-key -1"] {
        assert!(run(wrong).len() > 1, "{wrong}");
    }
    assert_eq!(bench.run_as(Level::Operator, "set anon global-key 5"), "Permission denied\n\n");
}

#[test]
fn experts_have_more_commands() {
    let bench = Bench::new();
    let refused = "This command is restricted to expert mode only.\n\n";
    assert_eq!(bench.run("debug dev write 3"), refused);
    assert!(!bench.run("help").contains("debug dev"));
    let address = bench.listen(Level::Admin);
    let answer = bench.ask(
        address,
        "expert-mode on;debug dev write 3;debug dev hash x;debug dev delay 1;debug dev loop 1;\
         debug dev check;debug dev warn;debug dev log hello;debug dev fd;help debug dev\n",
    );
    assert!(answer.starts_with("\n...\nx\n\n\n\n\n\n\n    0 "), "{answer}");
    assert!(answer.contains("\n  debug dev write [size]"), "{answer}");
    assert!(bench.run("show info").contains("\nDebugCommandsIssued: 8\n"));
}

#[test]
fn show_fd_and_show_libs_list_what_the_process_uses() {
    let bench = Bench::new();
    let address = bench.listen(Level::Admin);
    let answer = bench.ask(address, "show fd;show pools;show libs;show schema json\n");
    assert!(answer.contains(") ref=0 gid=1 tmask=0x1 umask=0x0 "), "{answer}");
    assert!(answer.contains("\nDumping pools usage. "), "{answer}");
    assert!(answer.contains("\n  - Pool buffer (16384 bytes) : "), "{answer}");
    assert!(answer.contains("\nTotal: 6 pools, "), "{answer}");
    assert!(answer.contains("\n0x") && answer.contains(") /"), "{answer}");
    assert!(answer.contains("\n{\"$schema\":\"http://json-schema.org/"), "{answer}");
    // The listener's, which stays as long as the socket.
    let listener = format!("{:>7} : ", bench.listener.get());
    let of = |text: &str| text.lines().find(|line| line.starts_with(&listener)).map(str::to_owned);
    assert!(of(&answer).is_some(), "{answer}");
    let one = bench.ask(address, &format!("show fd {}\n", bench.listener.get()));
    assert_eq!(one.lines().count(), 2, "{one}");
    assert!(of(&one).is_some_and(|line| line.contains(" : st=0x")), "{one}");
    assert_eq!(bench.ask(address, "show fd x\n"), "Expects a number.\n\n");
}

#[test]
fn traces_are_listed_and_set() {
    let bench = Bench::new();
    let refusals = [
        ("trace nope", "No such trace source\n"),
        ("show trace nope", "No such trace source\n"),
        ("trace h1 nope", "Unknown trace keyword\n"),
        ("trace h1 event now", "No such trace event\n"),
        ("trace h1 start nope", "No such trace event\n"),
        ("trace h1 sink nope", "No such sink\n"),
        ("trace h1 level nope", "No such trace level\n"),
        ("trace h1 lock stream", "Unsupported lock-on criterion\n"),
        ("trace h1 verbosity nope", "No such verbosity level\n"),
        ("trace 0", "All traces now stopped\n"),
    ];
    for (command, answer) in refusals {
        assert_eq!(bench.run(command), answer, "{command}");
    }
    assert!(bench.run("trace").contains("\n [.] h1         : HTTP/1 multiplexer\n"));
    let settings = [
        ("trace h1 sink buf0", "trace h1 sink", "  * buf0       : in-memory ring buffer\n\n"),
        ("trace h1 level state", "trace h1 level", "  * state      : also report internal"),
        ("trace h1 lock h1s", "trace h1 lock", "  * h1s        : H1 stream\n\n"),
        ("trace h1 verbosity quiet", "trace h1 verbosity", "  * quiet      : only report basic"),
        ("trace h1 event -rx_eoi", "trace h1 event", "  - rx_eoi       : receipt of the end"),
        ("trace h1 event -+rx_eoi", "trace h1 event", "  + rx_eoi       : receipt of the end"),
        ("trace h1 event +-rx_eoi", "trace h1 event", "  - rx_eoi       : receipt of the end"),
        ("trace h1 stop !any", "trace h1 stop", "  + rx_eoi       : receipt of the end"),
        ("trace h1 stop !none", "trace h1 stop", "  - rx_eoi       : receipt of the end"),
        ("trace h1 start +rx_eoi", "trace h1 start", "  + rx_eoi       : receipt of the end"),
        ("trace h1 pause any", "trace h1 pause", "  + rx_headers   : receipt of H1"),
        ("trace h1 pause now", "trace", " [w] h1         : HTTP/1 multiplexer\n"),
        ("trace h1 start now", "show trace", " [R] h1         -> buf0 [drp 0]  [HTTP/1 mul"),
        ("trace h1 pause none", "show trace h1", "Trace status for h1:\n  - sink: buf0 [0 dr"),
        ("trace h1 pause -none", "show trace h1", "    rx_eoi       :        -        +"),
        ("trace h1 stop now", "trace", " [.] h1         : HTTP/1 multiplexer\n"),
    ];
    for (command, question, part) in settings {
        assert_eq!(bench.run(command), "\n", "{command}");
        let answer = bench.run(question);
        assert!(answer.contains(part), "{command}: {answer}");
    }
    bench.run("trace h1 start now");
    bench.run("trace 0");
    assert!(bench.run("trace").contains(" [.] h1         : HTTP/1 multiplexer\n"));
}

#[test]
fn events_are_shown_and_followed() {
    let bench = Bench::new();
    let list = bench.run("show events");
    assert!(list.ends_with("\n    buf0       : type=buffer, 0 dropped, in-memory ring buffer\n\n"));
    assert_eq!(bench.run("show events nope"), "No such event sink\n");
    assert_eq!(bench.run("show events buf0 -x"), "unknown option\n");
    let ring = bench.shared.rings[0].clone();
    ring.write(b"one");
    let address = bench.listen(Level::Admin);
    assert_eq!(bench.ask(address, "show events buf0\n"), "one\n\n");
    assert_eq!(bench.ask(address, "show events buf0 -n\n"), "\n");
    let (said, heard) = bench.serve(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"show events buf0 -w\n").unwrap();
        let mut heard = [0; 8];
        stream.read_exact(&mut heard[..4]).unwrap();
        ring.write(b"two");
        stream.read_exact(&mut heard[4..]).unwrap();
        stream.write_all(b"\n").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        (String::from_utf8(heard.to_vec()).unwrap(), rest)
    });
    assert_eq!((said.as_str(), heard.as_str()), ("one\ntwo\n", "\n"));
}

/// A runtime with a map `m` and an ACL line.
fn with_patterns() -> Bench {
    use sample::Type;
    use sample::pattern::{Match, PatternFiles};
    let files = PatternFiles::default();
    let read = |_: &std::path::Path| Ok(b"a 1\nb two words\na 5\n".to_vec());
    files.map("m", Match::Str, Type::Str, "file 'f' line 1", &read).unwrap();
    files.map("m", Match::Beg, Type::Str, "file 'f' line 2", &read).unwrap();
    let place = "acl 'src' file 'f' line 3".to_owned();
    let net = [&b"10.0.0.0/8"[..]].into_iter();
    files.inline((Match::Ip, false), net, place, Some(40)).unwrap();
    let mut bench = Bench::new();
    let dictionaries = Arc::new(files.finish());
    bench.settings = Arc::new(Settings { dictionaries, ..(*bench.settings).clone() });
    bench
}

#[test]
fn patterns_are_listed_and_looked_up() {
    let bench = with_patterns();
    assert_eq!(
        bench.run("show map"),
        "# id (file) description\n0 (m) pattern loaded from file 'm' used by map at file 'f' \
         line 1, by map at file 'f' line 2. curr_ver=0 next_ver=0 entry_cnt=6\n\n"
    );
    assert_eq!(
        bench.run("show acl"),
        "# id (file) description\n40 () acl 'src' file 'f' line 3. curr_ver=0 next_ver=0 \
         entry_cnt=1\n\n"
    );
    assert_eq!(bench.run("show map m"), "0x0 a 1\n0x1 b two words\n0x2 a 5\n\n");
    assert_eq!(bench.run("show acl #40"), "0x0 10.0.0.0/8\n\n");
    assert_eq!(
        bench.run("get map m abc"),
        "type=str, case=sensitive, found=no\ntype=beg, case=sensitive, found=yes, idx=tree, \
         key=\"a\", value=\"1\", type=\"str\"\n\n"
    );
    assert_eq!(
        bench.run("get acl #40 10.1.1.1"),
        "type=ip, case=sensitive, match=yes, idx=tree, pattern=\"10.0.0.0/8\"\n\n"
    );
    assert_eq!(bench.run("get acl #40 xyz"), "type=ip, case=sensitive, match=no\n\n");
}

#[test]
fn patterns_are_changed() {
    let bench = with_patterns();
    for (line, answer) in [
        ("add map m q v", "\n"),
        ("add map #0 r w", "\n"),
        ("set map m a 77", "\n"),
        ("set map m #0x1 78", "\n"),
        ("del map m r", "\n"),
        ("show map m", "0x0 a 77\n0x1 b 78\n0x2 a 77\n0x3 q v\n\n"),
        ("del map m #0x0", "\n"),
        ("del map m r", "Key not found.\n\n"),
        ("set map m nokey 1", "entry not found.\n\n"),
        ("set map m #zz 1", "entry not found.\n\n"),
        ("set map m # 1", "entry not found.\n\n"),
        ("del map m #x", "Key not found.\n\n"),
        ("del map m #99", "Key not found.\n\n"),
        ("del map m #1x", "Malformed identifier. Please use #<id> or <file>.\n\n"),
        ("prepare map m", "New version created: 1\n\n"),
        ("add map @1 m p1 v1", "\n"),
        ("show map @1 m", "0x5 p1 v1\n\n"),
        ("add map @9 m x y", "Version number in the future, please use 'prepare map' before.\n\n"),
        ("commit map @9 m", "Version number out of range.\n\n"),
        ("commit map @1 m", "\n"),
        ("show map m", "0x5 p1 v1\n\n"),
        ("clear map m", "\n"),
        ("show map m", "\n"),
        ("add acl #40 zzz", "'zzz' is not a valid IPv4 or IPv6 address.\n\n"),
        ("add acl #40 192.0.2.1", "\n"),
        ("show acl #40", "0x0 10.0.0.0/8\n0x2 192.0.2.1\n\n"),
    ] {
        assert_eq!(bench.run(line), answer, "{line}");
    }
}

#[test]
fn refusals_about_patterns_have_the_measured_words() {
    let bench = with_patterns();
    for (line, answer) in [
        ("show map #99", "Unknown map identifier. Please use #<id> or <file>."),
        ("show acl 0", "Unknown ACL identifier. Please use #<id> or <file>."),
        ("get map", "Missing map identifier and/or key."),
        ("get acl #40", "Missing ACL identifier and/or key."),
        (
            "add map m k",
            "'add map' expects three parameters (map identifier, key and value) or one parameter \
             (map identifier) and a payload",
        ),
        ("add acl", "'add acl' expects two parameters: ACL identifier and pattern."),
        ("set map m a", "'set map' expects three parameters: map identifier, key and value."),
        ("del map m", "This command expects two parameters: map identifier and key."),
        ("del acl", "This command expects two parameters: ACL identifier and key."),
        ("clear map", "Missing map identifier."),
        ("clear acl", "Missing ACL identifier."),
        ("prepare acl", "Unknown ACL identifier. Please use #<id> or <file>."),
        ("commit map m", "Missing version number."),
        ("commit acl @2", "Missing ACL identifier."),
    ] {
        assert_eq!(bench.run(line), format!("{answer}\n\n"), "{line}");
    }
}

#[test]
fn a_payload_adds_many_rows() {
    let bench = with_patterns();
    let address = bench.listen(Level::Admin);
    let answer = bench.ask(address, "add map m <<\nk1 v1\nk2 v two\n\n");
    assert_eq!(answer, "\n");
    assert!(bench.run("show map m").ends_with("0x3 k1 v1\n0x4 k2 v two\n\n"));
}

#[test]
fn refusals_have_the_measured_words() {
    let bench = Bench::new();
    let state = "'set server <srv> state' expects 'ready', 'drain' and 'maint'.";
    for (line, text) in [
        ("set server", "Require 'backend/server'."),
        ("set server be", "Require 'backend/server'."),
        ("disable server nope/s1", "No such backend."),
        ("get weight be/nope", "No such server."),
        ("set server be/s1 state", state),
        (
            "set server be/s1 health x",
            "'set server <srv> health' expects 'up', 'stopping', or 'down'.",
        ),
        ("set weight be/s1", "Require <weight> or <weight%>."),
        ("set weight be/s1 300", "Absolute weight can only be between 0 and 256 inclusive."),
        ("set maxconn server be/s1", "Require <maxconn>."),
        ("set maxconn frontend nope 1", "No such frontend."),
        ("set maxconn frontend fe", "Integer value expected."),
        ("set maxconn global", "Expects an integer value."),
        ("set maxconn global 1000", "Value out of range."),
        ("disable frontend", "A frontend name is expected."),
        ("enable frontend fe", "All sockets are already enabled."),
        ("set timeout cli x", "Invalid timeout value."),
        ("set timeout", "'set timeout' only supports 'cli'."),
        ("show env NO_SUCH_VARIABLE", "Variable not found"),
        ("show stat nope 1 1", "No such proxy."),
        ("show stat domain x", "Invalid statistics domain."),
        ("set severity-output x", "one of 'none', 'number', 'string' is a required argument"),
        ("httpclient", "This command is restricted to expert mode only."),
        ("clear table t", "No such table"),
        ("get var", "Missing process-wide variable identifier."),
        ("get var proc.nosuch", "Variable not found."),
        ("get var txn.a", "Variable not found."),
        ("set var proc.a int(3)", "This command is restricted to experimental mode only."),
    ] {
        assert_eq!(bench.run(line), format!("{text}\n\n"), "{line}");
    }
    let usage = bench.run("set server be/s1 what");
    assert!(usage.starts_with("usage: set server <backend>/<server> addr | agent | "), "{usage}");
}

#[test]
fn limits_and_counters_change() {
    let bench = Bench::new();
    let field = |line: &str, at: usize| -> String {
        let out = bench.run(line);
        out.lines().nth(1).unwrap().split(',').nth(at).unwrap().to_owned()
    };
    bench.run("set maxconn frontend fe 7");
    assert_eq!(field("show stat fe 1 -1", 6), "7");
    bench.run("set maxconn server be/s1 9");
    assert_eq!(field("show stat be 4 1", 6), "9");
    bench.run("set maxconn global 60");
    assert!(bench.run("show info").contains("\nMaxconn: 60\nHard_maxconn: 100\n"));
    bench.run("disable frontend fe");
    assert_eq!(field("show stat fe 1 -1", 17), "PAUSED");
    assert_eq!(bench.run("disable frontend fe"), "All sockets are already disabled.\n\n");
    bench.run("enable frontend fe");
    assert_eq!(field("show stat fe 1 -1", 17), "OPEN");
    bench.run("clear counters");
    assert_eq!(
        (field("show stat be 4 1", 7), field("show stat be 4 1", 35)),
        ("3".into(), "0".into())
    );
    assert_eq!(bench.run_as(Level::Operator, "clear counters all"), "Permission denied\n\n");
    bench.run("clear counters all");
    assert_eq!(
        (field("show stat be 4 1", 7), field("show stat be 4 1", 55)),
        ("0".into(), "-1".into())
    );
    assert_eq!(
        (field("show stat be 4 2", 21), field("show stat be 4 2", 22)),
        ("0".into(), "0".into())
    );
}

#[test]
fn levels_permit() {
    let bench = Bench::new();
    let denied = "Permission denied\n\n";
    for entry in table::COMMANDS {
        for level in [Level::User, Level::Operator, Level::Admin] {
            let answer = bench.run_as(level, entry.words);
            let should = level < entry.level && entry.mode.is_none();
            assert!(!should || answer == denied, "{} as {}", entry.words, level.name());
        }
    }
    // As HAProxy has them.
    for (words, level) in [
        ("show cache", Level::Admin),
        ("show startup-logs", Level::Operator),
        ("show trace", Level::Operator),
        ("show events", Level::User),
        ("show ssl cert", Level::User),
        ("show ssl ca-file", Level::User),
        ("show ssl crl-file", Level::User),
    ] {
        let entry = table::COMMANDS.iter().find(|entry| entry.words == words);
        assert!(entry.is_some_and(|entry| entry.level == level), "{words}");
    }
    assert_eq!(bench.run_as(Level::User, "operator"), denied);
    assert_eq!(bench.run_as(Level::User, "help"), bench.run("help"), "help shows all commands");
    assert!(!bench.run_as(Level::User, "show stat").contains("127.0.0.1"));
    assert!(bench.run_as(Level::Operator, "show stat").contains("127.0.0.1:8001"));
}

#[test]
fn the_last_word_about_the_format_counts() {
    let bench = Bench::new();
    assert!(bench.run("show stat json typed").starts_with("F.2.0.0.pxname.1:KNS:str:fe\n"));
    assert!(bench.run("show stat typed json").starts_with("[[{\"objType\""));
    assert!(bench.run("show info json typed").starts_with("0.Name.1:POS:str:HAProxy\n"));
    assert!(bench.run("show info typed json").starts_with("[{\"field\""));
    assert_eq!(bench.run("set timeout cli 0"), "Invalid timeout value.\n\n");
}

#[test]
fn limits_of_servers_are_numbers() {
    let bench = Bench::new();
    for (given, answer) in [
        ("5x", "Trailing garbage in maxconn string\n"),
        ("x", "maxconn string empty or preceded by garbage\n"),
        ("", "Require <maxconn>.\n\n"),
        ("-1", "Invalid maxconn, an integer of 0 or more is expected.\n\n"),
        ("99999999999", "Invalid maxconn, an integer of 0 or more is expected.\n\n"),
        ("7", "\n"),
    ] {
        let line = format!("set maxconn server be/s1 {given}");
        assert_eq!(bench.run(&line), answer, "{line}");
    }
    assert_eq!(bench.run("set weight be/s1 5x"), "Trailing garbage in weight string\n");
}

#[test]
fn unknown_commands_get_suggestions() {
    let bench = Bench::new();
    let out = bench.run("show inf");
    let first = "Unknown command, but maybe one of the following ones is a better match:\n  show info \
                 [desc|json|typed|float]*      : report information about the running process\n";
    assert!(out.starts_with(first), "{out}");
    let basics = "  help [<command>]                        : list matching or all commands\n  prompt   \
                               : toggle interactive mode with prompt\n  quit                         \
                        : disconnect\n\n";
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed(&out).ends_with(&squeezed(basics)), "{out}");
    assert!(bench.run("shwo stat").contains("\n  show stat "));
    assert!(bench.run("set maxconn").contains("\n  set maxconn global "));
    let kin = bench.run("set ssl foo");
    let lines = kin.lines().filter(|line| line.starts_with("  set ssl ")).count();
    assert!(lines == 5 && !kin.contains("  get acl "), "{kin}");
    let all = bench.run("");
    assert!(all.starts_with("Unknown command. Please enter one of the following commands only:\n"));
    let shown =
        |entry: &&table::CommandEntry| entry.mode.is_none() && !entry.words.starts_with('_');
    for entry in table::COMMANDS.iter().filter(shown) {
        assert!(all.contains(&format!("\n  {}", entry.words)), "{}", entry.words);
    }
    assert!(bench.run("zzzzzzzzzzzzzzzzzzzz").starts_with("Unknown command. Please"));
    assert!(!all.contains("httpclient"), "what needs another mode is not listed");
}

#[test]
fn a_command_works_or_is_announced_as_missing() {
    for entry in table::COMMANDS {
        assert!(!not_implemented::NOT_YET.contains(&entry.words), "{}", entry.words);
    }
    let bench = Bench::new();
    for name in not_implemented::NOT_YET {
        let text = format!("The command '{name}' is not implemented yet.\n\n");
        assert_eq!(bench.run(name), text);
    }
}

#[test]
fn lists() {
    let bench = Bench::new();
    assert_eq!(bench.run("show version"), "2.7-test\n\n");
    assert_eq!(bench.run("show backend"), "# name\nbe\ntcp\nstats\n\n");
    let sockets = "# socket lvl processes\nunix@/run/weir.sock admin all\n\n";
    assert_eq!(bench.run("show cli sockets"), sockets);
    assert_eq!(bench.run("show cli level"), "admin\n\n");
    let date = bench.worker.local_date();
    let month = sample::calendar::MONTHS[date.month];
    let captured = format!("Total events captured on [{:02}/{month}/{}:", date.day, date.year);
    assert!(bench.run("show errors").starts_with(&captured));
    assert!(bench.run("show errors").ends_with("] : 0\n\n"));
    let address = bench.listen(Level::User);
    let conn = bench.ask(address, "show servers conn be\n");
    assert!(conn.contains(" idle_cur idle_per_thr[1]\nbe/s1 3/1 "), "{conn}");
    assert!(conn.contains("\nbe/s1 3/1 127.0.0.1 8001 - 5000 0 0 0 0 0 -1 0 0\n"), "{conn}");
    let be = bench.shared.backend("be").unwrap();
    health::servers::events::relocate(&bench.worker, be, 0, |place| place.known = false);
    let conn = bench.ask(address, "show servers conn be\n");
    assert!(conn.contains("\nbe/s1 3/1 - 8001 - "), "its name has no address: {conn}");
    assert_eq!(bench.run("show servers conn nope"), "Can't find backend.\n\n");
}

#[test]
fn one_batch_is_answered_then_the_connection_closes() {
    let bench = Bench::new();
    let address = bench.listen(Level::Admin);
    assert_eq!(bench.ask(address, "show version\n"), "2.7-test\n\n");
    let two = "2.7-test\n\nadmin\n\n";
    assert_eq!(bench.ask(address, "show version;show cli level\n"), two);
    assert_eq!(bench.ask(address, "show version\nshow cli level\n"), two);
    assert_eq!(bench.ask(address, "show version\nshow cli level"), "2.7-test\n\n");
    assert_eq!(bench.ask(address, "show version"), "");
    assert_eq!(bench.ask(address, "quit;show version\n"), "");
    assert_eq!(bench.ask(address, "show version <<\na\nb\n\n"), "2.7-test\n\n");
    assert_eq!(bench.ask(address, "expert-mode on;expert-mode\n"), "\nexpert-mode is ON\n\n");
    assert_eq!(
        bench.ask(address, "user;show cli level;show env\n"),
        "\nuser\n\nPermission denied\n\n"
    );
    let severe = "set severity-output number;get weight be/x;show version\n";
    assert_eq!(bench.ask(address, severe), "\n[3]: No such server.\n\n[6]: 2.7-test\n\n");
    let many = "show version;".repeat(2_000);
    assert_eq!(bench.ask(address, &format!("{many}\n")), "2.7-test\n\n".repeat(2_000));
    let long = format!("{}\n", "x ".repeat(100_000));
    assert!(bench.ask(address, &long).starts_with("Unknown command"));
}

#[test]
fn interactive_sessions_stay() {
    let bench = Bench::new();
    let address = bench.listen(Level::Operator);
    let batch = "prompt;show version\nshow cli level <<\nx\n\nprompt\nshow version\n";
    let expected = "\n> 2.7-test\n\n> + + operator\n\n> \n2.7-test\n\n";
    assert_eq!(bench.ask(address, batch), expected);
    let answers = bench.serve(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut seen = Vec::new();
        for (send, until) in [("prompt\n", "\n> "), ("show version\n", "2.7-test\n\n> ")] {
            stream.write_all(send.as_bytes()).unwrap();
            let mut part = vec![0; until.len()];
            stream.read_exact(&mut part).unwrap();
            seen.push((String::from_utf8(part).unwrap(), until));
        }
        stream.write_all(b"quit\n").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        seen.push((rest, ""));
        seen
    });
    answers.iter().for_each(|(is, should)| assert_eq!(is, should));
}

#[test]
fn silent_clients_are_let_go_and_others_are_answered() {
    let mut bench = Bench::new();
    let settings = Settings { timeout_ms: Some(20), ..(*bench.settings).clone() };
    bench.settings = Arc::new(settings);
    let address = bench.listen(Level::User);
    let rest = bench.serve(move || {
        let mut silent = TcpStream::connect(address).unwrap();
        let mut rest = String::new();
        silent.read_to_string(&mut rest).unwrap();
        rest
    });
    assert_eq!(rest, "");
    assert_eq!(bench.ask(address, "show version\n"), "2.7-test\n\n");
}

#[test]
fn more_sessions_than_allowed_wait() {
    let mut bench = Bench::new();
    bench.settings = Arc::new(Settings { max_sessions: 1, ..(*bench.settings).clone() });
    let address = bench.listen(Level::User);
    let answer = bench.serve(move || {
        let mut first = TcpStream::connect(address).unwrap();
        first.write_all(b"prompt\n").unwrap();
        first.read_exact(&mut [0; 3]).unwrap();
        let mut second = TcpStream::connect(address).unwrap();
        second.write_all(b"show version\n").unwrap();
        drop(first);
        let mut answer = String::new();
        second.read_to_string(&mut answer).unwrap();
        answer
    });
    assert_eq!(answer, "2.7-test\n\n");
}

#[test]
fn every_thread_is_asked_for_its_streams() {
    let mut bench = Bench::new();
    let streams = |worker: &Worker, _| engine::state::session::stream_list::Part {
        streams: vec![engine::state::session::stream_list::Listing {
            number: 0x10 + worker.thread.index as u64,
            frontend: 0,
            backend: Some(1),
            server: Some(0),
            peer: "10.1.2.3:4567".parse().ok(),
            bind: 0,
            // A descriptor that cannot be open.
            descriptor: 70_000_007,
            server_descriptor: -1,
            task: 9,
            usage: sched::Usage { calls: 122, cpu: 5, latency: 6 },
            expires_ms: Some(29_001),
            age_s: 61,
            began: 1_000_000_000_000,
            http: Some(Http {
                method: 1,
                status: 200,
                request: Message { state: Stage::Done, flags: 0x4c },
                response: Message { state: Stage::Data, flags: 0x0d },
            }),
        }],
        next: None,
    };
    bench.settings = Arc::new(Settings { streams, ..(*bench.settings).clone() });
    let address = bench.listen(Level::Admin);
    assert_eq!(
        bench.ask(address, "show sess\n"),
        "0x10: proto=tcpv4 src=10.1.2.3:4567 fe=fe be=be srv=s1 ts=00 epoch=0 age=1m1s \
         calls=122 rate=2 cpu=5 lat=6 rq[f=000000h,i=0,an=00h,rx=,wx=,ax=] \
         rp[f=000000h,i=0,an=00h,rx=,wx=,ax=] scf=[8,0h,fd=70000007] scb=[8,0h,fd=-1] exp=30s rc=0 \
         c_exp=\n\n"
    );
    let detail = bench.ask(address, "show sess 0x10\n");
    assert!(detail.starts_with("0x10: [01/Jan/1970:00:16:40.000000] id=1 proto=tcpv4 source=10"));
    assert!(detail.contains("\n  frontend=fe (id=2 mode=http), listener=? (id=1)\n"), "{detail}");
    let server = "\n  backend=be (id=3 mode=http)\n  server=s1 (id=1) addr=127.0.0.1:8001\n";
    assert!(detail.contains(server), "{detail}");
    let exchange = " calls=122 rate=2 exp=30s age=1m1s)\n  txn=0x10 flags=0x0 meth=1 status=200 \
                    req.st=MSG_DONE rsp.st=MSG_DATA req.f=0x4c rsp.f=0x0d\n  scf fd=70000007\n  \
                    scb fd=-1";
    assert!(detail.contains(exchange), "{detail}");
    assert_eq!(bench.ask(address, "show sess all\n"), detail);
    assert_eq!(bench.ask(address, "show sess 0x11\n"), "Session not found.\n\n");
    let hidden = bench.ask(address, "set anon on 5;show sess;show sess all\n");
    assert!(hidden.contains(" src=IPV4(") && !hidden.contains("10.1.2.3"), "{hidden}");
    assert!(!hidden.contains("srv=s1") && !hidden.contains("fe=fe "), "{hidden}");
    assert_eq!(bench.ask(address, "user;show sess\n"), "\nPermission denied\n\n");
}

#[test]
fn clients_that_come_before_the_stop_are_served() {
    let bench = Bench::new();
    let address = bench.listen(Level::Admin);
    // The client waits in the backlog when the process begins to stop.
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"show version\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    bench.shared.begin_stop(bench.worker.thread.nanos());
    let text = bench.serve(move || {
        let mut text = String::new();
        client.read_to_string(&mut text).map(|_| text)
    });
    assert!(text.unwrap().contains('.'), "a version");
}

#[test]
fn sessions_leave_nothing_behind() {
    let bench = Bench::new();
    let address = bench.listen(Level::Admin);
    let idle = bench.worker.thread.scheduler();
    let before = idle.tasks();
    bench.ask(address, "show stat\n");
    // The accept loop and its listener stay.
    while idle.tasks() > before || bench.worker.thread.sockets() > 1 {
        bench.worker.thread.turn(Some(Duration::from_millis(5))).unwrap();
    }
    let own = bench.worker.clone();
    idle.spawn(Class::Normal, async move { own.thread.stop() });
    bench.worker.thread.run().unwrap();
    assert!(!bench.shared.is_stopping());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_command_gets_an_answer(
        start in prop::sample::select(table::COMMANDS.iter().map(|it| it.words).collect::<Vec<_>>()),
        rest in prop::collection::vec("(be/s1|be|fe|-1|[0-9]{1,12}%?|state|weight|health|up|\\PC{0,8})", 0..5),
        level in prop::sample::select(vec![Level::User, Level::Operator, Level::Admin]),
    ) {
        let bench = Bench::new();
        let line = format!("{start} {}", rest.join(" "));
        let answer = bench.run_as(level, &line);
        prop_assert!(answer.ends_with('\n'));
        prop_assert!(!matches!(Reply::Done, Reply::Later(_)));
    }

    #[test]
    fn any_words_get_an_answer(line in "\\PC{0,60}") {
        let bench = Bench::new();
        prop_assert!(bench.run(&line).ends_with("\n"));
    }
}

#[test]
fn variables_of_the_process_are_set_and_shown() {
    let bench = Bench::new();
    let address = bench.listen(Level::Admin);
    for (line, answer) in [
        ("set var proc.a int(3); get var proc.a", "\nproc.a: type=sint value=<3>\n"),
        ("set var proc.a expr str(3); get var proc.a", "\nproc.a: type=str value=<3>\n"),
        ("set var proc.a fmt a%[int(3)]; get var proc.a", "\nproc.a: type=str value=<a3>\n"),
        (
            "set var proc.a str(ab),sha1; get var proc.a",
            "\nproc.a: type=bin value=<.#aN.F..|{...\\.GK...>\n",
        ),
        ("set var", "Missing process-wide variable identifier.\n\n"),
        ("set var proc.a", "Missing either 'expr', 'fmt' or expression.\n\n"),
        ("set var proc.a nosuch(3)", "unknown fetch method 'nosuch'\n\n"),
        (
            "set var txn.a int(3)",
            "'set var': cannot set variable 'txn.a', only scope 'proc' is permitted here.\n\n",
        ),
    ] {
        let line = format!("experimental-mode on; {line}\n");
        assert_eq!(bench.ask(address, &line).trim(), answer.trim(), "{line}");
    }
}

#[test]
fn relative_ports_are_shown_and_stay() {
    let mut proxies = testing::proxies();
    let servers = &mut proxies[1].back.as_mut().unwrap().servers;
    servers[0].link.follows.port = Some(80);
    servers[1].link.follows.port = Some(-80);
    let shared = proxy::build(testing::process(), proxies, Default::default(), 0);
    let worker = testing::worker(&shared);
    let bench = Bench { worker, settings: testing::settings(), shared, listener: Cell::new(-1) };
    let stat = bench.run("show stat be 4 -1");
    assert!(stat.contains(",127.0.0.1:80,") && stat.contains(",127.0.0.1:-80,"), "{stat}");
    let state = bench.run("show servers state be");
    assert!(state.contains(" 6 0 0 0 - 80 - 0 0 - - 0\n"), "{state}");
    let same = "no need to change the addr";
    let map = "can't change <port> to port map because it is incompatible with current health check \
               port configuration (use 'port' statement from the 'server' directive.";
    for (server, port, said) in [
        ("s4", "+1", map),
        ("s4", "-1", map),
        ("s4", "+x", "problem converting port '+x' to an int"),
        ("s4", "70000", "problem converting port '70000' to an int"),
        ("s4", "8004", "no need to change the port"),
        ("s4", "81", "port changed from '8004' to '81'"),
        ("s1", "81", "ports relative to the client's do not change while it runs"),
    ] {
        let line = format!("set server be/{server} addr 127.0.0.1 port {port}");
        let answer = format!("{same}, {said} by 'stats socket command'\n\n");
        assert_eq!(bench.run(&line), answer, "{line}");
    }
}

#[test]
fn commands_change_texts_and_addresses_of_agents() {
    let mut proxies = testing::proxies();
    let server = &mut proxies[1].back.as_mut().unwrap().servers[0];
    server.agent =
        Some(settings::Agent { ip: None, port: 8001, send: Vec::new(), inter_ms: 2_000 });
    let shared = proxy::build(testing::process(), proxies, Default::default(), 0);
    let worker = testing::worker(&shared);
    let bench = Bench { worker, settings: testing::settings(), shared, listener: Cell::new(-1) };
    let server = || &bench.shared.proxies[1].back.as_ref().unwrap().servers[0];
    let target = || {
        let asked = server().agent.as_ref().unwrap().asked();
        let address = asked.address(&server().location.now().address);
        (format!("{address:?}"), String::from_utf8(asked.send).unwrap())
    };
    bench.run("set server be/s1 agent-addr 10.0.0.9");
    assert!(target().0.contains("10.0.0.9:8001"), "{:?}", target());
    bench.run("set server be/s1 agent-port 81");
    assert!(target().0.contains("10.0.0.9:81"), "{:?}", target());
    bench.run("set server be/s1 agent-send hello");
    assert_eq!(target().1, "hello");
    for (line, answer) in [
        ("agent-port 70000", "provided port is invalid\n"),
        ("agent-port -1", "provided port is invalid\n"),
        ("agent-port 0", "provided port is invalid\n"),
        ("agent-port x", "provided port is not an integer\n"),
        ("agent-port", "set server <b>/<s> agent-port requires a port.\n\n"),
        ("agent-addr bad.invalid", "invalid addr 'bad.invalid'\n"),
        ("agent-addr 127.0.0.1 port x", "provided port is not an integer\n"),
        (
            "agent-addr",
            "set server <b>/<s> agent-addr requires an address and optionally a port.\n\n",
        ),
        ("check-addr bad.invalid", "invalid addr 'bad.invalid'\n"),
        ("check-addr 127.0.0.1 port 65536", "provided port is invalid\n"),
        ("check-port 65536", "provided port is invalid\n"),
    ] {
        assert_eq!(bench.run(&format!("set server be/s1 {line}")), answer, "{line}");
    }
    let unchecked = "health checks are not enabled on this server\n";
    assert_eq!(bench.run("set server be/s3 check-port 80"), unchecked);
    let unasked = "agent checks are not enabled on this server\n";
    assert_eq!(bench.run("set server be/s3 agent-port 80"), unasked);
    assert!(target().0.contains("10.0.0.9:81"), "{:?}", target());
    bench.run("set server be/s1 agent down");
    assert!(!server().state.agent_allows());
    bench.run("set server be/s1 agent up");
    assert!(server().state.agent_allows());
    bench.run("disable agent be/s1");
    let refused = bench.run("set server be/s1 agent down");
    assert!(refused.contains("agent checks are not enabled"), "{refused}");
    bench.run("enable agent be/s1");
    bench.run("set server be/s1 agent down");
    assert!(!server().state.agent_allows());
}
