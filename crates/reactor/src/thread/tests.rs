//! Tests of the reactor over real sockets.

use super::*;
use crate::os::Os;
use crate::thread::socket::INPUT_ONLY;
use crate::{Address, Class, Listener, ProbeConnection, Socket};
use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};

fn thread() -> Rc<Thread> {
    Thread::new(0, Box::new(Os::new(64).unwrap()), Settings::default())
}

fn hasty_thread(low_latency: bool) -> Rc<Thread> {
    let mut settings = Settings::default();
    settings.scheduler.low_latency = low_latency;
    Thread::new(0, Box::new(Os::new(64).unwrap()), settings)
}

fn listen() -> (Handle, std::net::SocketAddr) {
    let options = sys::listen::Options { backlog: 16, ..Default::default() };
    let fd = sys::listen::tcp("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    (Handle(fd), sys::socket::local_address(fd).unwrap())
}

/// Reads and writes back until the end of the stream.
async fn echo(socket: Socket) {
    let thread = socket.thread().clone();
    let mut buffer = [0; 100];
    loop {
        match socket.recv(&mut buffer) {
            Ok(0) => return,
            Ok(count) => drop(socket.send(&[IoSlice::new(&buffer[..count])], false)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.want_read();
                thread.scheduler().wait(None).await;
            }
            Err(_) => return,
        }
    }
}

async fn accept_all(thread: Rc<Thread>, handle: Handle) {
    let mut listener = Listener::new(&thread, handle);
    listener.resume().unwrap();
    loop {
        while let Ok((socket, peer)) = listener.accept() {
            assert!(peer.is_some_and(|peer| peer.ip().is_loopback()));
            thread.scheduler().spawn(Class::Normal, echo(socket));
        }
        thread.scheduler().wait(None).await;
    }
}

#[test]
fn serves_real_clients() {
    let thread = thread();
    let (handle, address) = listen();
    thread.scheduler().spawn(Class::Normal, accept_all(thread.clone(), handle));
    let client = std::thread::spawn(move || {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(address).unwrap();
            for message in [&b"one"[..], b"two"] {
                stream.write_all(message).unwrap();
                let mut answer = [0; 3];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, message);
            }
        }
    });
    while !client.is_finished() {
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
    client.join().unwrap();
    while thread.sockets() > 1 {
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
    assert_eq!(thread.scheduler().tasks(), 1);
    thread.scheduler().clear();
    assert_eq!(thread.sockets(), 0);
}

#[test]
fn a_connection_is_written_at_once_or_fails() {
    let thread = thread();
    let (handle, address) = listen();
    let outcome = Rc::new(Cell::new(None));
    let connect = |to: Address| {
        let (thread, outcome) = (thread.clone(), outcome.clone());
        async move {
            let result = match Socket::connect(&thread, &to) {
                Err(error) => Err(error.kind()),
                Ok(socket) => loop {
                    match socket.send(&[IoSlice::new(b"x")], false) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            socket.want_write();
                            thread.scheduler().wait(None).await;
                        }
                        other => break other.map_err(|error| error.kind()),
                    }
                },
            };
            outcome.set(Some(result));
        }
    };
    let run = |to: Address| {
        thread.scheduler().spawn(Class::Normal, connect(to));
        while thread.scheduler().tasks() > 0 {
            thread.turn(Some(Duration::from_millis(10))).unwrap();
        }
        outcome.take()
    };
    assert_eq!(run(Address::Inet(address)), Some(Ok(1)));
    sys::close(handle.0);
    assert_eq!(run(Address::Inet(address)), Some(Err(io::ErrorKind::ConnectionRefused)));
    assert_eq!(run(Address::Unix("/nonexistent".into())), Some(Err(io::ErrorKind::NotFound)));
}

#[test]
fn next_turn_resumes_in_the_next_turn() {
    let thread = thread();
    let (own, seen) = (thread.clone(), Rc::new(RefCell::new(Vec::new())));
    let noted = seen.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        for class in [Class::Bulk, Class::Normal, Class::Urgent] {
            noted.borrow_mut().push(own.turns());
            own.next_turn(class).await;
        }
    });
    // However often tasks run in one turn.
    while thread.scheduler().tasks() > 0 {
        thread.turn(Some(Duration::ZERO)).unwrap();
        for _ in 0..3 {
            thread.scheduler().run();
        }
    }
    assert_eq!((&seen.borrow()[..], thread.turns()), (&[1, 2, 3][..], 4));
}

#[test]
fn timers_end_a_pause_and_time_does_not_go_back() {
    let thread = thread();
    let (own, start) = (thread.clone(), thread.nanos());
    thread.scheduler().spawn(Class::Normal, async move {
        let woken = own.scheduler().wait(Some(own.tick().plus_ms(20))).await;
        assert_eq!(woken, Wake::TIMER);
        own.stop();
    });
    thread.run().unwrap();
    assert!(thread.nanos() - start >= 19_000_000 && thread.wall() > 0);
    assert!(thread.turns() < 10, "it slept: {} turns", thread.turns());
}

#[test]
fn another_thread_wakes_a_sleeping_thread() {
    let thread = thread();
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        // Sent from here, the wake-up cannot come before the task waits for it.
        let (mailbox, task) = (own.mailbox().clone(), own.scheduler().current());
        let sender = std::thread::spawn(move || mailbox.wake(task, Wake::MESSAGE));
        assert_eq!(own.scheduler().wait(None).await, Wake::MESSAGE);
        sender.join().unwrap();
        own.stop();
    });
    thread.run().unwrap();
}

#[test]
fn other_threads_see_the_running_task_and_the_counts() {
    let clock_correction = ClockCorrection::new(1);
    let heartbeat = clock_correction.heartbeats()[0].clone();
    let kernel = Box::new(Os::new(64).unwrap());
    let thread = Thread::of_process(0, kernel, Settings::default(), &clock_correction);
    let (own, seen) = (thread.clone(), heartbeat.clone());
    thread.scheduler().spawn(Class::Normal, async move {
        let seen = std::thread::spawn(move || seen.activity().running()).join().unwrap();
        assert!(seen.is_some_and(|function| function.contains("other_threads_see")), "{seen:?}");
        own.scheduler().wait(Some(own.tick().plus_ms(1))).await;
        own.stop();
    });
    thread.run().unwrap();
    let activity = heartbeat.activity();
    assert_eq!((activity.spawned.get(), activity.expired.get()), (1, 1));
    assert_eq!((activity.switches(), activity.ran[Class::Normal as usize].get()), (2, 2));
    assert_eq!((activity.wake_tasks.get(), activity.peak.get(), activity.running()), (1, 1, None));
    assert!(activity.poll_expired.get() >= 1 && activity.loops.get() >= 2);
}

#[test]
fn a_signal_wakes_the_poller_with_a_reason_of_its_own_also_just_before_it_sleeps() {
    let thread = thread();
    let bell = Handle(sys::signal::listen(&[sys::signal::USR2]).unwrap());
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut watch = Listener::for_signals(&own, bell);
        watch.resume().unwrap();
        for _ in 0..2 {
            assert_eq!(own.scheduler().wait(None).await, Wake::SIGNAL);
            sys::eventfd_clear(bell.0);
            assert_eq!(sys::signal::take().collect::<Vec<_>>(), [sys::signal::USR2]);
        }
        own.stop();
    });
    thread.turn(Some(Duration::ZERO)).unwrap();
    let raise = || sys::signal::send(std::process::id() as i32, sys::signal::USR2).unwrap();
    // Between the turns: the poller is about to sleep without a timeout.
    raise();
    thread.turn(None).unwrap();
    let later = std::thread::spawn(raise);
    thread.run().unwrap();
    later.join().unwrap();
}

/// Whether the only connection of a thread is registered with the poller.
fn is_known(thread: &Thread) -> bool {
    thread.ios.borrow().iter().all(|(_, io)| io.ready & UNREGISTERED == 0)
}

/// A connection of a thread, and its peer.
fn connection(thread: &Rc<Thread>) -> (Socket, TcpStream) {
    let (handle, address) = listen();
    let peer = TcpStream::connect(address).unwrap();
    // On loopback, the connection is established when `connect` returns.
    let (socket, _) = Listener::new(thread, handle).accept().unwrap();
    sys::close(handle.0);
    (socket, peer)
}

#[test]
fn a_connection_is_registered_only_when_a_task_waits() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    peer.write_all(b"all there is").unwrap();
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 100];
        socket.assign_to_current_task();
        assert_eq!(socket.recv(&mut buffer).unwrap(), 12);
        assert_eq!(socket.send_coalesced(b"answer").unwrap(), 6);
        assert!(!is_known(&own));
    });
    thread.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!((thread.scheduler().tasks(), thread.sockets()), (0, 0));
    let mut answer = Vec::new();
    peer.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"answer");
}

#[test]
fn room_is_reported_only_where_it_was_lacking() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    let mut asking = peer.try_clone().unwrap();
    let own = thread.clone();
    let half =
        |thread: &Thread| thread.ios.borrow().iter().all(|(_, io)| io.ready & INPUT_ONLY != 0);
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 100];
        socket.assign_to_current_task();
        assert_eq!(socket.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        socket.want_read();
        own.scheduler().wait(None).await;
        assert_eq!(socket.recv(&mut buffer).unwrap(), 8);
        assert_eq!(own.activity().poll_skip.get(), 0, "woken for room that nobody lacked");
        assert!(half(&own));
        socket.want_nothing();
        let piece = [b'x'; 65_536];
        let mut sent = 0;
        while let Ok(count) = socket.send(&[IoSlice::new(&piece)], false) {
            sent += count;
        }
        socket.want_write();
        assert!(!half(&own));
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            peer.read_to_end(&mut all).unwrap();
            all.len()
        });
        while !socket.is_writable() {
            own.scheduler().wait(None).await;
        }
        drop(socket);
        assert_eq!(reader.join().unwrap(), sent);
        own.stop();
    });
    thread.turn(Some(Duration::ZERO)).unwrap();
    thread.turn(Some(Duration::ZERO)).unwrap();
    asking.write_all(b"question").unwrap();
    thread.run().unwrap();
}

#[test]
fn await_report_avoids_an_empty_read_and_reports_earlier_input() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    peer.write_all(b"hello").unwrap();
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 100];
        socket.await_input_event();
        assert!(!socket.is_readable());
        assert_eq!(socket.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        socket.want_read();
        own.scheduler().wait(None).await;
        // The socket is registered by now, so its ready bit stays.
        socket.await_input_event();
        assert_eq!(socket.recv(&mut buffer).unwrap(), 5);
        own.stop();
    });
    thread.run().unwrap();
    drop(peer);
}

#[test]
fn input_before_the_registration_is_reported() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    let own = thread.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 100];
        assert_eq!(socket.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(!is_known(&own));
        // The data comes between the read and the wait.
        peer.write_all(b"late").unwrap();
        drop(peer);
        socket.want_read();
        assert!(is_known(&own));
        own.scheduler().wait(None).await;
        assert_eq!(socket.recv(&mut buffer).unwrap(), 4);
        assert!(socket.is_closed());
        assert_eq!(socket.recv(&mut buffer).unwrap(), 0);
    });
    while thread.scheduler().tasks() > 0 {
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
}

/// The system reports unread data once; after that, only the end is reported.
#[test]
fn a_close_is_reported_before_unread_data() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    let own = thread.clone();
    peer.write_all(b"more than is read").unwrap();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 4];
        assert_eq!(socket.recv(&mut buffer).unwrap(), 4);
        assert!(socket.is_readable() && !is_known(&own));
        socket.want_close();
        assert!(is_known(&own) && !socket.is_closed());
        // The socket stays readable, which wakes no task.
        let patience = Some(own.tick().plus_ms(20));
        assert_eq!(own.scheduler().wait(patience).await, Wake::TIMER);
        drop(peer);
        assert_eq!(own.scheduler().wait(None).await, Wake::IO);
        assert!(socket.is_closed());
    });
    while thread.scheduler().tasks() > 0 {
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
}

#[test]
fn want_read_before_the_first_read_wakes_for_later_input() {
    let thread = thread();
    let (socket, mut peer) = connection(&thread);
    let own = thread.clone();
    peer.write_all(b"one").unwrap();
    thread.scheduler().spawn(Class::Normal, async move {
        let mut buffer = [0; 100];
        // A new socket may be readable, so the task continues at once; from then on it waits for
        // input.
        socket.want_read();
        own.scheduler().wait(None).await;
        assert_eq!(socket.recv(&mut buffer).unwrap(), 3);
        assert!(is_known(&own), "nothing would report what is wanted");
        peer.write_all(b"two!").unwrap();
        own.scheduler().wait(None).await;
        assert_eq!(socket.recv(&mut buffer).unwrap(), 4);
    });
    while thread.scheduler().tasks() > 0 {
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
}

#[test]
fn low_latency_leaves_less_time_for_bulk_work() {
    let count = |low_latency| {
        let thread = hasty_thread(low_latency);
        for _ in 0..100 {
            let own = thread.clone();
            thread.scheduler().spawn(Class::Bulk, async move {
                let start = own.kernel().monotonic();
                while own.kernel().monotonic() < start + BULK_TIME_LOW_LATENCY / 2 {}
            });
        }
        let tasks = || thread.scheduler().tasks();
        // One of several rounds has to satisfy, because other programs use the machine too.
        let rounds = (0..5).map(|_| {
            let before = tasks();
            thread.turn(Some(Duration::ZERO)).unwrap();
            before - tasks()
        });
        rounds.max().unwrap_or(0)
    };
    assert_eq!(count(true), BULK_TASKS as usize + 1);
    assert!(count(false) > 2 * count(true));
}

/// A heavy item is the longest of a round: with low latency, little other work runs before it.
#[test]
fn low_latency_runs_heavy_work_in_short_rounds() {
    let turns_to_heavy = |low_latency| {
        let thread = hasty_thread(low_latency);
        let (own, log) = (thread.clone(), Rc::new(Cell::new(0)));
        thread.scheduler().spawn(Class::Normal, async move {
            let start = own.kernel().monotonic();
            while own.kernel().monotonic() < start + HEAVY_WITHIN {}
        });
        let (own, turn) = (thread.clone(), log.clone());
        thread.scheduler().spawn(Class::Heavy, async move { turn.set(own.turns()) });
        thread.turn(Some(Duration::ZERO)).unwrap();
        thread.turn(Some(Duration::ZERO)).unwrap();
        log.get()
    };
    assert_eq!(turns_to_heavy(false), 1);
    assert_ne!(turns_to_heavy(true), 1);
}

/// More urgent work is noticed between rounds: long bulk tasks make rounds short.
#[test]
fn bulk_work_of_a_round_has_a_time_limit() {
    let thread = thread();
    let ran = Rc::new(Cell::new([0; 4]));
    let work = |class: Class, nanos: u64| {
        let (thread, ran) = (thread.clone(), ran.clone());
        async move {
            let start = thread.kernel().monotonic();
            while thread.kernel().monotonic() < start + nanos {}
            let mut counts = ran.get();
            counts[class as usize] += 1;
            ran.set(counts);
        }
    };
    let spawn = |class, nanos| {
        thread.scheduler().spawn(class, work(class, nanos));
    };
    // One of several rounds has to satisfy, because other programs use the machine too.
    (0..100).for_each(|_| spawn(Class::Bulk, BULK_TIME / 10));
    let alone = (0..5).map(|_| {
        let before = ran.get()[2];
        thread.turn(Some(Duration::ZERO)).unwrap();
        ran.get()[2] - before
    });
    let alone = alone.max().unwrap();
    spawn(Class::Normal, 0);
    let before = ran.get()[2];
    thread.turn(Some(Duration::ZERO)).unwrap();
    assert!(ran.get()[2] - before < alone, "less beside more urgent work");
    while thread.scheduler().has_work() {
        thread.turn(Some(Duration::ZERO)).unwrap();
    }
    let (before, told) = (ran.get()[2], thread.scheduler().activity().ran[2].get());
    ran.set([0; 4]);
    assert_eq!(u64::from(before), told);
    (0..30).for_each(|_| spawn(Class::Bulk, BULK_TIME));
    (0..30).for_each(|_| spawn(Class::Normal, 1_000));
    spawn(Class::Heavy, 0);
    thread.turn(Some(Duration::ZERO)).unwrap();
    let bulk = BULK_TASKS + 1;
    assert_eq!(ran.get(), [0, 30, bulk, 1], "other classes get what they got");
    thread.turn(Some(Duration::ZERO)).unwrap();
    assert_eq!(ran.get()[2], 2 * bulk, "the rest follows");
    let counted = thread.scheduler().activity().ran[2].get();
    assert_eq!(counted - told, u64::from(2 * bulk));
}

/// The connection is registered with the poller for input, and later for output too.
#[test]
fn a_probe_connection_can_wait_for_the_answer_and_then_for_room() {
    let thread = thread();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Inet(listener.local_addr().unwrap());
    let woken = Rc::new(Cell::new(false));
    let (inner, flag) = (thread.clone(), woken.clone());
    thread.scheduler().spawn(Class::Normal, async move {
        let errand = ProbeConnection::start(&inner, &address).unwrap();
        errand.await_answer().unwrap();
        errand.await_room().unwrap();
        inner.scheduler().wait(None).await;
        flag.set(true);
    });
    let mut turns = 0;
    while !woken.get() {
        turns += 1;
        assert!(turns < 1_000, "nobody tells of the room that there is");
        thread.turn(Some(Duration::from_millis(10))).unwrap();
    }
}
