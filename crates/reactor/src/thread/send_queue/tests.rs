//! Tests of write coalescing over a scripted system.

use super::*;
use crate::kernel::Address;
use crate::scripted_kernel::ScriptedKernel;
use crate::{Settings, Socket};
use std::rc::Rc;

fn turn(thread: &Rc<Thread>) {
    thread.turn(Some(Duration::ZERO)).unwrap();
}

/// Runs a task for one turn.
fn run(thread: &Rc<Thread>, class: Class, task: impl Future<Output = ()> + 'static) {
    thread.scheduler().spawn(class, task);
    turn(thread);
}

#[test]
fn messages_of_a_turn_are_sent_at_its_end_in_order() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let (one, other) = (script.socket(&thread, 1, 100), script.socket(&thread, 2, 100));
    let seen = script.clone();
    run(&thread, Class::Normal, async move {
        assert_eq!(one.send_coalesced(b"a").unwrap(), 1);
        assert_eq!(other.send_coalesced(b"b").unwrap(), 1);
        assert_eq!(one.send_coalesced(b"c").unwrap(), 1);
        assert_eq!((seen.got(1), seen.got(2)), (String::new(), String::new()));
        // Queued messages keep their order, and later messages may be queued again.
        assert_eq!(one.send(&[IoSlice::new(b"d")], false).unwrap(), 1);
        assert_eq!((seen.got(1), seen.got(2)), ("acd".into(), "b".into()));
        other.send_coalesced(b"e").unwrap();
        std::future::pending::<()>().await;
        drop((one, other));
    });
    assert_eq!((script.got(1), script.got(2)), ("acd".into(), "be".into()));
}

#[test]
fn successive_messages_of_a_socket_are_one_send() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let (one, other) = (script.socket(&thread, 1, 100), script.socket(&thread, 2, 100));
    let calls = || (script.with(1, |end| end.calls), script.with(2, |end| end.calls));
    for (socket, message) in [(&one, b"a"), (&one, b"b"), (&other, b"c"), (&one, b"d")] {
        socket.send_coalesced(message).unwrap();
    }
    thread.send_queued();
    assert_eq!((script.got(1), script.got(2), calls()), ("abd".into(), "c".into(), (2, 1)));
    // For instance the farewell to a peer, behind the last message to it.
    one.send_coalesced(b"answer").unwrap();
    one.send_coalesced(b"bye").unwrap();
    drop(one);
    assert_eq!((script.got(1), calls()), ("abdanswerbye".into(), (3, 1)));
}

#[test]
fn the_last_message_is_sent_with_the_fin() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let [dropped, shut, broken] = [1, 2, 3].map(|at| script.socket(&thread, at, 100));
    for socket in [&dropped, &shut, &broken] {
        socket.send_coalesced(b"bye").unwrap();
    }
    shut.shutdown_write().unwrap();
    let seen = |at| script.with(at, |end| (end.more, end.shut, end.closed));
    assert_eq!([seen(1), seen(2)], [(false, false, false), (true, true, false)]);
    dropped.send_coalesced(b"bye").unwrap();
    broken.send_coalesced(b"bye").unwrap();
    drop(dropped);
    assert_eq!([seen(1), seen(3)], [(true, true, true), (false, false, false)]);
    broken.reset_on_close();
    broken.send_coalesced(b"bye").unwrap();
    drop(broken);
    assert_eq!(seen(3), (false, false, true), "a reset is no end");
}

#[test]
fn long_messages_and_those_on_connecting_sockets_are_sent_at_once() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 100_000);
    socket.send_coalesced(&[b'x'; MAX_COALESCED + 1]).unwrap();
    assert_eq!(script.got(1).len(), MAX_COALESCED + 1);
    script.with(9, |end| end.room = 100);
    let fresh = Socket::connect(&thread, &Address::Pair(0)).unwrap();
    fresh.send_coalesced(b"first").unwrap();
    assert_eq!(script.got(9), "first");
    fresh.send_coalesced(b", second").unwrap();
    assert_eq!(script.got(9), "first", "it stands: the next message may wait");
    drop(fresh);
    assert_eq!(script.got(9), "first, second");
    assert!(script.with(9, |end| end.closed));
}

#[test]
fn nothing_waits_for_work_of_another_class_or_for_many_tasks() {
    waits_at_most(false, TASKS);
    waits_at_most(true, TASKS_LOW_LATENCY);
}

fn waits_at_most(low_latency: bool, tasks: u32) {
    let script = ScriptedKernel::default();
    let mut settings = Settings::default();
    settings.scheduler.low_latency = low_latency;
    let thread = Thread::new(0, Box::new(script.clone()), settings);
    let socket = script.socket(&thread, 1, 100_000);
    for class in [Class::Bulk, Class::Heavy] {
        let (own, seen) = (socket.clone(), script.clone());
        thread.scheduler().spawn(Class::Normal, async move {
            own.send_coalesced(b"soon").unwrap();
        });
        run(&thread, class, async move { assert!(seen.got(1).ends_with("soon")) });
        script.with(1, |end| end.got.clear());
    }
    let own = socket.clone();
    thread.scheduler().spawn(Class::Normal, async move {
        own.send_coalesced(b"soon").unwrap();
    });
    let waited = Rc::new(Cell::new(0));
    for _ in 0..100 {
        let (waited, seen) = (waited.clone(), script.clone());
        thread.scheduler().spawn(Class::Normal, async move {
            waited.set(waited.get() + u32::from(seen.got(1).is_empty()));
        });
    }
    turn(&thread);
    assert_eq!(waited.get(), tasks);
}

#[test]
fn coalesced_messages_are_limited() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1_000_000);
    for count in 1..=MESSAGES {
        assert_eq!(script.with(1, |end| end.calls), 0, "after {count}");
        socket.send_coalesced(b"message").unwrap();
    }
    assert_eq!(script.got(1).len(), MESSAGES * "message".len());
    let count = i32::try_from(BYTES / MAX_COALESCED).unwrap();
    let crowd: Vec<_> =
        (2..2 + count).map(|at| script.socket(&thread, at, MAX_COALESCED)).collect();
    for socket in &crowd {
        assert!((2..2 + count).all(|at| script.got(at).is_empty()));
        socket.send_coalesced(&[b'x'; MAX_COALESCED]).unwrap();
    }
    assert!((2..2 + count).all(|at| script.got(at).len() == MAX_COALESCED));
}

#[test]
fn messages_are_sent_at_once_while_the_peer_is_silent() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1_000_000);
    let sent = || script.with(1, |end| end.calls);
    for _ in 0..MAX_UNANSWERED / MAX_COALESCED {
        socket.send_coalesced(&[0; MAX_COALESCED]).unwrap();
    }
    thread.send_queued();
    let before = sent();
    socket.send_coalesced(b"at once").unwrap();
    assert_eq!(sent(), before + 1);
    script.with(1, |end| end.says = 5);
    assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 5);
    socket.send_coalesced(b"soon").unwrap();
    assert_eq!(sent(), before + 1);
    thread.send_queued();
    assert_eq!(sent(), before + 2);
}

#[test]
fn messages_are_sent_at_once_to_a_peer_that_may_be_gone() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 100);
    socket.send_coalesced(b"soon").unwrap();
    assert_eq!(script.got(1), "");
    socket.disable_coalescing();
    socket.send_coalesced(b" now").unwrap();
    assert_eq!(script.got(1), "soon now", "it has been silent for long");
    script.with(1, |end| (end.says, end.error) = (1, None));
    socket.recv(&mut [0; 10]).unwrap();
    socket.send_coalesced(b" later").unwrap();
    assert_eq!(script.got(1), "soon now", "it has said something");
    thread.send_queued();
    thread.io(socket.key, |io| io.ready |= CLOSED);
    script.with(1, |end| end.error = Some(32));
    let error = socket.send_coalesced(b"gone").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(32));
}

#[test]
fn a_connection_is_settled_once_the_system_has_all_bytes() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 3);
    socket.send_coalesced(b"all").unwrap();
    assert!(socket.is_flushed());
    assert_eq!(script.got(1), "all");
    socket.send_coalesced(b"more").unwrap();
    assert!(!socket.is_flushed());
    let _handle = socket.release();
    assert!(thread.send_queue.unsent.borrow().is_empty());
}

#[test]
fn a_leaving_thread_sends_its_unsent_bytes() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1);
    socket.send_coalesced(b"bye").unwrap();
    drop(socket);
    script.make_room(1, 2);
    thread.stop_when_flushed();
    thread.run().unwrap();
    assert_eq!((script.got(1), script.with(1, |end| end.closed)), ("bye".into(), true));
}

#[test]
fn unsent_bytes_precede_later_messages() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 3);
    socket.send_coalesced(b"hello").unwrap();
    socket.send_coalesced(b" world").unwrap();
    assert!(socket.is_writable());
    let full = socket.send(&[IoSlice::new(b"!")], false).unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    assert!(!socket.is_writable());
    let own = socket.clone();
    let woken = Rc::new(Cell::new(false));
    let seen = woken.clone();
    run(&thread, Class::Normal, async move {
        own.assign_to_current_task();
        own.want_write();
        own.thread().scheduler().wait(None).await;
        seen.set(true);
    });
    script.make_room(1, 4);
    turn(&thread);
    assert_eq!((script.got(1), woken.get()), ("hello w".into(), false));
    script.make_room(1, 10);
    turn(&thread);
    assert_eq!((script.got(1), woken.get()), ("hello world".into(), true));
    socket.send(&[IoSlice::new(b"!")], false).unwrap();
    assert_eq!(script.got(1), "hello world!");
}

#[test]
fn unsent_bytes_outlive_their_socket() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1);
    socket.send_coalesced(b"bye").unwrap();
    drop(socket);
    assert_eq!((script.got(1), script.with(1, |end| end.closed)), ("b".into(), false));
    script.make_room(1, 1);
    turn(&thread);
    assert_eq!((script.got(1), script.with(1, |end| end.closed)), ("by".into(), false));
    script.make_room(1, 1);
    turn(&thread);
    assert_eq!((script.got(1), script.with(1, |end| end.closed)), ("bye".into(), true));
    assert_eq!(thread.sockets(), 0);
}

#[test]
fn unsent_bytes_of_closed_sockets_time_out() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1);
    socket.send_coalesced(b"bye").unwrap();
    drop(socket);
    for second in 0..u64::from(ORPHAN_LIFETIME_MS) / 1_000 {
        script.now.set(second * 1_000_000_000);
        turn(&thread);
        assert!(!script.with(1, |end| end.closed), "after {second} s");
    }
    script.now.set((u64::from(ORPHAN_LIFETIME_MS) + 1_000) * 1_000_000);
    turn(&thread);
    assert!(script.with(1, |end| end.closed));
    assert_eq!((thread.sockets(), thread.send_queue.orphans.get()), (0, 0));
}

#[test]
fn sockets_with_orphaned_bytes_are_limited() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let count = i32::try_from(MAX_ORPHANS).unwrap();
    for handle in 1..=count + 3 {
        let socket = script.socket(&thread, handle, 1);
        socket.send_coalesced(b"bye").unwrap();
    }
    assert_eq!((thread.sockets(), thread.send_queue.orphans.get()), (MAX_ORPHANS, MAX_ORPHANS));
    assert!((1..=count).all(|handle| !script.with(handle, |end| end.closed)));
    let dropped = |handle| script.with(handle, |end| (end.closed, end.reset));
    assert!((count + 1..=count + 3).all(|handle| dropped(handle) == (true, true)));
    // A closed socket frees its place.
    script.make_room(1, 10);
    turn(&thread);
    assert_eq!((script.got(1), dropped(1)), ("bye".into(), (true, false)));
    drop(script.socket(&thread, 5_000, 1).send_coalesced(b"bye"));
    assert_eq!((dropped(5_000), thread.send_queue.orphans.get()), ((false, false), MAX_ORPHANS));
}

#[test]
fn a_reset_drops_unsent_bytes() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1);
    socket.send_coalesced(b"bye").unwrap();
    socket.reset_on_close();
    drop(socket);
    assert!(script.with(1, |end| end.closed));
    assert!(thread.send_queue.unsent.borrow().is_empty());
}

#[test]
fn the_fin_follows_unsent_bytes() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 1);
    socket.send_coalesced(b"bye").unwrap();
    socket.shutdown_write().unwrap();
    assert!(!script.with(1, |end| end.shut));
    script.make_room(1, 2);
    turn(&thread);
    assert!(script.with(1, |end| end.shut));
    assert_eq!(script.got(1), "bye");
}

/// Results of two reads by the owner of a socket after a message to it failed with this error.
fn reads_after(error: i32) -> [Result<usize, Option<i32>>; 2] {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 0);
    script.with(1, |end| end.error = Some(error));
    let heard = Rc::new(Cell::new([Ok(77); 2]));
    let told = heard.clone();
    run(&thread, Class::Normal, async move {
        socket.assign_to_current_task();
        socket.send_coalesced(b"lost").unwrap();
        socket.thread.io(socket.key, |io| io.ready &= !READ);
        socket.want_read();
        socket.thread().scheduler().wait(None).await;
        let read = || socket.recv(&mut [0; 10]).map_err(|error| error.raw_os_error());
        told.set([read(), read()]);
    });
    turn(&thread);
    assert!(thread.send_queue.failures.borrow().is_empty());
    heard.get()
}

const PIPE: i32 = 32;
const RESET: i32 = 104;

#[test]
fn a_failed_send_is_reported_to_the_owner() {
    // The error is returned once; the end of the stream follows.
    assert_eq!(reads_after(RESET), [Err(Some(RESET)), Ok(0)]);
    // The peer had closed in good order before.
    assert_eq!(reads_after(PIPE), [Ok(0), Ok(0)]);
}

#[test]
fn the_first_error_is_reported() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 0);
    script.with(1, |end| end.error = Some(RESET));
    socket.send_coalesced(b"lost").unwrap();
    thread.send_queued();
    script.with(1, |end| end.error = Some(PIPE));
    let error = socket.send(&[IoSlice::new(b"x")], false).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(RESET));
}

#[test]
fn lost_bytes_can_be_read_back() {
    let script = ScriptedKernel::default();
    let thread = script.thread();
    let socket = script.socket(&thread, 1, 2);
    assert_eq!(socket.with_lost_bytes(<[u8]>::to_vec), b"");
    for message in [&b"hello"[..], b", world"] {
        socket.send_coalesced(message).unwrap();
    }
    assert_eq!(socket.with_lost_bytes(<[u8]>::to_vec), b"", "the rest may leave yet");
    script.with(1, |end| end.error = Some(RESET));
    script.make_room(1, 0);
    turn(&thread);
    assert_eq!(socket.with_lost_bytes(<[u8]>::to_vec), b"llo, world");
    socket.send(&[IoSlice::new(b"x")], false).unwrap_err();
    socket.send_coalesced(b"y").unwrap_err();
    assert_eq!(
        socket.with_lost_bytes(<[u8]>::to_vec),
        b"llo, world",
        "nobody was told that these are sent"
    );
    drop(socket);
    assert!(thread.send_queue.failures.borrow().is_empty());
}
