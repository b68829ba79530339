//! In steady state a keep-alive request allocates nothing: held with a counting allocator.

use engine::state::os_handles::{ListenSockets, OsHandles};
use engine::state::services::NoServices;
use reactor::os::Os;
use reactor::{Address, Handle, Thread};
use settings::{
    Backend, Bind, Frontend, Mode, Process, Protocol, Proxy, ProxySection, Reuse, Server,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

thread_local! {
    /// Allocations of this thread, while it counts.
    static COUNT: Cell<Option<u32>> = const { Cell::new(None) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator unchanged; counting touches a
// thread-local cell that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get().map(|n| n + 1)));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from `System.alloc` with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
const WARM: u32 = 500;
const MEASURED: u32 = 2_000;
/// Times that so many are measured at most.
const ROUNDS: u32 = 50;

/// Answers every request on every connection.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while matches!(stream.read(&mut buffer), Ok(1..)) {
                    stream.write_all(ANSWER).expect("the proxy reads its answer");
                }
            });
        }
    });
    address
}

/// Sends one request after the other on one connection, and counts the answers, until it is over.
fn client(
    to: SocketAddr,
    answers: &Arc<AtomicU32>,
    over: &Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    let (answers, over) = (answers.clone(), over.clone());
    std::thread::spawn(move || {
        let mut stream = TcpStream::connect(to).expect("the proxy listens");
        let mut buffer = [0; 4096];
        let request = b"GET /some/path?q=1 HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\
                        User-Agent: test\r\nCookie: a=b; c=d\r\n\r\n";
        while !over.load(Ordering::SeqCst) {
            stream.write_all(request).expect("the proxy reads");
            let mut got = 0;
            while !buffer[..got].ends_with(b"hello") {
                let more = stream.read(&mut buffer[got..]).expect("the proxy answers");
                assert!(more > 0, "the proxy closed");
                got += more;
            }
            answers.fetch_add(1, Ordering::SeqCst);
        }
    })
}

fn process() -> Process {
    Process {
        maxconn: 100,
        history: 0,
        hostname: "host".into(),
        node: "host".into(),
        pid: 1,
        quiet: true,
        spreads_clients: false,
        ..Process::default()
    }
}

/// Starts a worker on this thread that listens on a port of the kernel's.
fn worker(server: SocketAddr) -> (std::rc::Rc<Thread>, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a socket can");
    let address = listener.local_addr().expect("it is bound");
    let bind = Bind {
        namespace: None,
        address: Address::Inet(address),
        name: None,
        id: 1,
        maxconn: 0,
        threads: Vec::new(),
        nice: 0,
        preamble: Default::default(),
        protocol: Protocol::Chosen,
        quic: None,
        mss_reduction: 0,
        backlog: 128,
    };
    let server = |id: u32| {
        Server::new(balance::ServerSettings::new(id, format!("s{id}")), Address::Inet(server))
    };
    let proxy = Proxy { name: "both".into(), id: 1, mode: Mode::Http, ..Proxy::default() };
    let settings = ProxySection {
        proxy,
        front: Some(Frontend { binds: vec![bind], ..Frontend::default() }),
        back: Some(Backend {
            servers: vec![server(1), server(2)],
            algorithm: balance::Algorithm::LeastConn,
            reuse: Reuse::Always,
            ..Backend::default()
        }),
    };
    let kernel = Box::new(Os::new(64).expect("descriptors are left"));
    let thread = Thread::new(0, kernel, reactor::thread::Settings::default());
    let mut handles = OsHandles::default();
    let socket = ListenSockets::one(Handle(listener.into_raw_fd()));
    handles.add_listener(&settings.name, 1, socket);
    let shared = proxy::build(process(), vec![settings], handles, thread.nanos());
    proxy::start(&thread, &shared, Box::new(NoServices));
    (thread, address)
}

#[test]
fn a_request_in_steady_state_allocates_nothing() {
    let (thread, address) = worker(origin());
    let answers = Arc::new(AtomicU32::new(0));
    let over = Arc::<AtomicBool>::default();
    let client = client(address, &answers, &over);
    let turn_until = |count: u32| {
        while answers.load(Ordering::SeqCst) < count && !client.is_finished() {
            thread.turn(Some(Duration::from_millis(10))).expect("the poller works");
        }
    };
    COUNT.set(Some(0));
    turn_until(WARM);
    assert!(COUNT.take() > Some(0), "the counter counts: warming up allocates");
    // A latency of an order that never came before allocates once, in its histogram: a busy machine
    // has such, now and then, until all orders have come. What a request costs shows in each round.
    let mut counts = (1..=ROUNDS).map(|round| {
        COUNT.set(Some(0));
        turn_until(WARM + round * MEASURED);
        let count = COUNT.take();
        assert!(answers.load(Ordering::SeqCst) >= WARM + round * MEASURED);
        count
    });
    let steady = counts.any(|count| count == Some(0));
    over.store(true, Ordering::SeqCst);
    while !client.is_finished() {
        thread.turn(Some(Duration::from_millis(10))).expect("the poller works");
    }
    assert!(steady, "allocations in each {MEASURED} requests");
}
