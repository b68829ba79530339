//! A small world for the tests of the data plane: workers on real sockets inside one test, scripted
//! origins, a log target.
//!
//! Tests do not sleep: a test turns its threads until the expected event has happened, and fails
//! after [`PATIENCE`]. Origins are threads of their own, so they may block.
#![forbid(unsafe_code)]

mod echo;

use balance::{Algorithm, ServerSettings};
use echo::Echo;
use engine::state::os_handles::{ListenSockets, OsHandles};
use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use reactor::os::Os;
use reactor::{Address, Class, Handle, Thread};
use sample::logformat;
use sample::{LogFormat, LogStyle};
use settings::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{IntoRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The longest wait for an event that does not depend on a timeout of the test.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Running workers, all turned by the test's own thread.
pub struct World {
    /// The process.
    pub shared: Arc<Shared>,
    /// Its threads, by number.
    pub workers: Vec<Rc<Worker>>,
    log: UdpSocket,
    seen: RefCell<Vec<String>>,
}

impl World {
    /// One worker that runs these proxies; their log lines go to the world.
    pub fn new(proxies: Vec<ProxySection>) -> Self {
        Self::with(process(1), proxies)
    }

    /// A world with the settings `process` and as many workers as they have threads.
    pub fn with(process: Process, mut proxies: Vec<ProxySection>) -> Self {
        let log = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        log.set_nonblocking(true).expect("it is a socket");
        let target = log.local_addr().expect("it is bound");
        proxies.iter_mut().for_each(|proxy| proxy.logs = logs(target));
        let count = process.threads;
        let threads: Vec<_> = (0..count).map(thread).collect();
        let handles = handles(&proxies);
        let shared = proxy::build(process, proxies, handles, threads[0].nanos());
        let start = |thread: &Rc<Thread>| proxy::start(thread, &shared, Box::new(Echo));
        let workers = threads.iter().map(start).collect();
        Self { shared, workers, log, seen: RefCell::default() }
    }

    /// Gives every thread a turn.
    pub fn turn(&self) {
        let patience = Duration::from_millis(2) / self.workers.len() as u32;
        for worker in &self.workers {
            worker.thread.turn(Some(patience)).expect("the kernel is polled");
        }
    }

    /// Turns until `done` holds; `what` names the event in the panic if it does not.
    pub fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let now = || self.workers[0].thread.nanos();
        let end = now() + PATIENCE.as_nanos() as u64;
        while !done() {
            assert!(now() < end, "{what}; logged so far: {:#?}", self.lines());
            self.turn();
        }
    }

    /// Runs the script of a client in a thread, turns until it ends, and returns its result.
    pub fn play<T: Send + 'static>(&self, script: impl FnOnce() -> T + Send + 'static) -> T {
        let client = std::thread::spawn(script);
        self.until("the client's script ends", || client.is_finished());
        client.join().expect("the client does not panic")
    }

    /// Closes a server's end of a connection as soon as `when` holds. The condition is checked
    /// after each task of this class: before the bytes that the task wrote are flushed at the end
    /// of the round.
    pub fn close_within_turn(
        &self,
        (class, end): (Class, TcpStream),
        when: impl Fn() -> bool + 'static,
    ) {
        let thread = self.workers[0].thread.clone();
        self.workers[0].thread.scheduler().spawn(class, async move {
            while !when() {
                thread.scheduler().yield_as(class).await;
            }
            reset(end);
        });
    }

    /// The lines logged so far.
    pub fn lines(&self) -> Vec<String> {
        let mut buffer = [0; 4096];
        let mut seen = self.seen.borrow_mut();
        while let Ok(count) = self.log.recv(&mut buffer) {
            seen.push(String::from_utf8_lossy(&buffer[..count]).trim_end().to_owned());
        }
        seen.clone()
    }

    /// Turns until a line that contains `part` has been logged, and returns it.
    pub fn line(&self, part: &str) -> String {
        let find = || self.lines().into_iter().find(|line| line.contains(part));
        self.until(&format!("a line with {part:?} is logged"), || find().is_some());
        find().expect("it was logged")
    }

    /// The running backend of this name.
    pub fn backend(&self, name: &str) -> &engine::state::runtime::Backend {
        self.shared.backend(name).expect("there is one")
    }

    /// The running frontend of this name.
    pub fn frontend(&self, name: &str) -> &engine::state::runtime::Frontend {
        self.shared.frontend(name).expect("there is one")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.workers.iter().for_each(|worker| worker.thread.scheduler().clear());
    }
}

fn thread(index: usize) -> Rc<Thread> {
    Thread::new(
        index,
        Box::new(Os::new(64).expect("the kernel has descriptors")),
        reactor::Settings::default(),
    )
}

/// Settings of a process with this many threads.
pub fn process(threads: usize) -> Process {
    Process {
        threads,
        maxconn: 1000,
        history: 0,
        hostname: "host".into(),
        node: "host".into(),
        pid: 1,
        quiet: true,
        spreads_clients: false,
        ..Process::default()
    }
}

fn logs(target: SocketAddr) -> Arc<Logs> {
    let target = LogTarget {
        address: LogAddress::Udp(target),
        transport: LogTransport::Short,
        max_len: 4096,
        facility: 16,
        level: 7,
        keeps: false,
        min_level: 0,
        sample: None,
    };
    Arc::new(Logs { targets: vec![target], tag: "weir".into(), hostname: None })
}

/// A proxy with neither side, with the built-in log format of its mode.
pub fn proxy(name: &str, mode: Mode) -> ProxySection {
    let format = if mode == Mode::Tcp { logformat::TCP } else { logformat::HTTP };
    let log_format = Some(log_format(format, mode));
    let proxy = Proxy { name: name.into(), id: 1, mode, log_format, ..Proxy::default() };
    ProxySection { proxy, ..ProxySection::default() }
}

/// A compiled log format.
pub fn log_format(text: &str, mode: Mode) -> LogFormat {
    let files = |_: &std::path::Path| Err(ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    cx.http = mode == Mode::Http;
    LogFormat::parse(text, LogStyle::Log, &cx).expect("a log format")
}

/// Rules from the lines of a section in TCP or HTTP mode; their file is `cfg`.
pub fn rules(mode: Mode, lines: &[&str]) -> rules::Rules {
    use rules::RuleSetKind::*;
    let files = |_: &std::path::Path| Err(ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    (cx.http, cx.file) = (mode == Mode::Http, "cfg".into());
    let sets = [
        TcpConnection,
        TcpSession,
        TcpRequest,
        TcpResponse,
        HttpRequest,
        HttpResponse,
        HttpAfterResponse,
    ];
    let mut parsed = rules::Rules::default();
    for line in lines {
        cx.line += 1;
        let of =
            |set: &rules::RuleSetKind| line.strip_prefix(set.keyword()).map(|rest| (*set, rest));
        let (set, rest) = sets.iter().find_map(of).expect("a known rule set");
        let words: Vec<_> = rest.split_whitespace().collect();
        parsed.set_mut(set).push(rules::Rule::parse(set, &words, &mut cx).expect("a rule"));
    }
    parsed
}

/// A server side with these servers.
pub fn back(servers: Vec<Server>) -> Backend {
    Backend { servers, algorithm: Algorithm::RoundRobin, retries: 3, ..Backend::default() }
}

/// A server that is not checked.
pub fn server(id: u32, address: SocketAddr) -> Server {
    Server::new(ServerSettings::new(id, format!("s{id}")), Address::Inet(address))
}

/// A backend.
pub fn backend(name: &str, mode: Mode, servers: Vec<Server>) -> ProxySection {
    ProxySection { back: Some(back(servers)), ..proxy(name, mode) }
}

/// A listener with servers, and its address.
pub fn listen(name: &str, mode: Mode, servers: Vec<Server>) -> (ProxySection, SocketAddr) {
    let address = bound();
    let bind = Bind {
        namespace: None,
        protocol: Protocol::Chosen,
        address: Address::Inet(address),
        name: None,
        id: 1,
        maxconn: 0,
        threads: Vec::new(),
        nice: 0,
        preamble: Default::default(),
        quic: None,
        mss_reduction: 0,
        backlog: 128,
    };
    let front = Frontend { binds: vec![bind], ..Frontend::default() };
    (ProxySection { front: Some(front), ..backend(name, mode, servers) }, address)
}

/// A proxy with a listener for each of two threads, in front of one server.
pub fn listen_twice(name: &str, server: Server) -> (ProxySection, [SocketAddr; 2]) {
    let (mut proxy, first) = listen(name, Mode::Http, vec![server]);
    let (other, second) = listen("other", Mode::Http, vec![]);
    let binds = &mut proxy.front.as_mut().expect("it listens").binds;
    binds.extend(other.front.expect("it listens").binds);
    (binds[0].threads, binds[1].threads, binds[1].id) = (vec![0], vec![1], 2);
    (proxy, [first, second])
}

thread_local! {
    /// Listeners that this thread has bound, until a world takes them.
    static BOUND: RefCell<HashMap<SocketAddr, Handle>> = RefCell::default();
}

/// The sockets of all `bind` lines.
pub fn handles(proxies: &[ProxySection]) -> OsHandles {
    let mut handles = OsHandles::default();
    for proxy in proxies {
        for bind in proxy.front.iter().flat_map(|front| &front.binds) {
            let address = bind.address.inet();
            let bound = BOUND.with_borrow_mut(|bound| bound.remove(&address?));
            if let Some(handle) = bound {
                handles.add_listener(&proxy.name, bind.id, ListenSockets::one(handle));
            }
        }
    }
    handles
}

fn bound() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.set_nonblocking(true).expect("it is a socket");
    let address = listener.local_addr().expect("it is bound");
    let number: RawFd = listener.into_raw_fd();
    BOUND.with_borrow_mut(|bound| bound.insert(address, Handle(number)));
    address
}

/// An address without a listener: a client's socket is bound to it, so that no other test gets it
/// as long as the process lives.
pub fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let client =
        TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    let address = client.local_addr().expect("it is connected");
    Box::leak(Box::new((listener, client)));
    address
}

/// A server made of a script: a thread accepts, and the script serves one connection at a time.
pub struct Origin {
    /// The address that it listens on.
    pub address: SocketAddr,
    served: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Origin {
    /// Listens; `script` gets each connection and its number, from 0.
    pub fn new(script: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let (served, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (count, end, script) = (served.clone(), over.clone(), Arc::new(script));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                stream.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
                let (number, script) = (count.fetch_add(1, Ordering::SeqCst), script.clone());
                std::thread::spawn(move || script(stream, number));
            }
        });
        Self { address, served, over }
    }

    /// Answers every connection's first request with these bytes, and closes.
    pub fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |mut stream, _| {
            read_head(&mut stream);
            let _ = stream.write_all(&bytes);
        })
    }

    /// Sends back the bytes that it receives until the peer ends its stream.
    pub fn echo() -> Self {
        Self::new(|mut stream, _| {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..count]).is_err() {
                    return;
                }
            }
        })
    }

    /// Accepts connections and sends nothing until the peer closes.
    pub fn silent() -> Self {
        Self::new(|mut stream, _| drop(std::io::copy(&mut stream, &mut std::io::sink())))
    }

    /// Connections accepted so far.
    pub fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; it has ended already if the connect fails.
        let _ = TcpStream::connect(self.address);
    }
}

/// Reads up to and including an empty line; returns the bytes read.
pub fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    head
}

/// A connection to the proxy whose reads end after [`PATIENCE`].
pub fn client(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is a socket");
    stream
}

/// Closes a connection with a reset. The system sends one when received bytes were not read, so
/// this waits for a byte first.
pub fn reset(stream: TcpStream) {
    stream.peek(&mut [0]).expect("a byte arrives");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unused_address_has_no_listener() {
        let address = nobody();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
