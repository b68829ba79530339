//! `cargo xtask bench heavy`: how long a plain request waits while 1,000 heavy tasks of 0.5 ms are
//! always queued, and what the heavy ones lose by it (row B4). Never part of the product.

use bench::{now, quantile, table};
use reactor::{Handle, Settings, Socket, Thread};
use sched::Class;
use std::cell::Cell;
use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const TASKS: usize = 1_000;
const SLICE: Duration = Duration::from_micros(500);
const SPAN: Duration = Duration::from_secs(12);
/// Between two plain requests: about 500 a second, which take some 1 % of a core.
const PAUSE: Duration = Duration::from_micros(1_500);

/// A thread with its heavy tasks, which count their slices.
fn heavy_thread() -> (Rc<Thread>, Rc<Cell<u64>>) {
    let kernel = Box::new(reactor::os::Os::new(64).expect("a poller"));
    let thread = Thread::new(0, kernel, Settings::default());
    let slices = Rc::new(Cell::new(0));
    for _ in 0..TASKS {
        let (own, slices) = (thread.clone(), slices.clone());
        thread.scheduler().spawn(Class::Heavy, async move {
            loop {
                let start = now();
                while start.elapsed() < SLICE {}
                slices.set(slices.get() + 1);
                own.scheduler().yield_as(Class::Heavy).await;
            }
        });
    }
    (thread, slices)
}

/// Slices per second over `SPAN`.
fn turn_for_span(thread: &Rc<Thread>, slices: &Cell<u64>) -> f64 {
    let (start, before) = (now(), slices.get());
    while start.elapsed() < SPAN {
        thread.turn(None).expect("a poller");
    }
    (slices.get() - before) as f64 / start.elapsed().as_secs_f64()
}

async fn answer(socket: Socket) {
    let thread = socket.thread().clone();
    let mut buffer = [0; 64];
    loop {
        match socket.recv(&mut buffer) {
            Ok(0) => return,
            Ok(count) => drop(socket.send(&[IoSlice::new(&buffer[..count])], false)),
            Err(_) => {
                socket.want_read();
                thread.scheduler().pause(None).await;
            }
        }
    }
}

/// Microseconds of each request, sorted.
fn ask(mut stream: TcpStream, stop: &AtomicBool) -> Vec<f64> {
    let mut all = Vec::new();
    let mut byte = [0];
    while !stop.load(Relaxed) {
        let start = now();
        stream.write_all(b"x").and_then(|()| stream.read_exact(&mut byte)).expect("an answer");
        all.push(start.elapsed().as_nanos() as f64 / 1e3);
        std::thread::park_timeout(PAUSE);
    }
    all.sort_by(f64::total_cmp);
    all
}

fn main() {
    let (thread, slices) = heavy_thread();
    let alone = turn_for_span(&thread, &slices);
    thread.scheduler().clear();

    let (thread, slices) = heavy_thread();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client =
        TcpStream::connect(listener.local_addr().expect("it is bound")).expect("connected");
    client.set_nodelay(true).expect("an option of TCP");
    let (served, _) = listener.accept().expect("the client");
    served.set_nonblocking(true).expect("a mode of sockets");
    let socket = Socket::adopt(&thread, Handle(served.into_raw_fd())).expect("a poller");
    thread.scheduler().spawn(Class::Urgent, answer(socket));
    let stop = AtomicBool::new(false);
    let (together, sorted) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(client, &stop));
        let together = turn_for_span(&thread, &slices);
        stop.store(true, Relaxed);
        while !asking.is_finished() {
            thread.turn(None).expect("a poller");
        }
        (together, asking.join().expect("it asked"))
    });
    thread.scheduler().clear();

    println!("plain requests among {TASKS} heavy tasks of {SLICE:?}, us (target: p99.9 <= 1000):");
    let at = |fraction| format!("{:.0}", quantile(&sorted, fraction));
    let row = vec![sorted.len().to_string(), at(0.5), at(0.99), at(0.999), at(1.0)];
    println!("{}", table(&["requests", "p50", "p99", "p99.9", "max"], &[row]));
    println!("heavy slices per second (target: at most 5 % fewer):");
    let loss = format!("{:.1} %", (1.0 - together / alone) * 100.0);
    let row = vec![format!("{alone:.0}"), format!("{together:.0}"), loss];
    println!("{}", table(&["alone", "with plain load", "fewer"], &[row]));
}
