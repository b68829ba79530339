//! Tests of time, ends and failures, one by one.

use super::*;
use crate::faults::{MS, SEC, US};
use crate::{RecordKind, Stop};
use reactor::{Kernel, Wake, Watch};
use std::cell::{Cell, RefCell};

#[test]
fn timers_fire_at_their_exact_virtual_time() {
    for seed in 0..50 {
        let mut machine = Machine::new(seed, 1);
        let thread = machine.thread(0).clone();
        let fired = Rc::new(RefCell::new(Vec::new()));
        for ms in [1, 2, 255, 256, 257, 1_000, 70_000, 5_000_000] {
            let (own, fired) = (thread.clone(), fired.clone());
            thread.scheduler().spawn(Class::Normal, async move {
                let deadline = own.tick().plus_ms(ms);
                let start = own.nanos() / MS;
                assert_eq!(own.scheduler().wait(Some(deadline)).await, Wake::TIMER);
                assert_eq!(own.tick(), deadline);
                assert_eq!((own.nanos() / MS - start, own.nanos() % MS), (u64::from(ms), 0));
                fired.borrow_mut().push(ms);
            });
        }
        machine.expect_until(|| fired.borrow().len() == 8, Duration::from_secs(5_001));
        assert!(fired.borrow().is_sorted());
        assert!(machine.turns() < 100, "it sleeps: {} turns", machine.turns());
    }
}

#[test]
fn limits_deadlocks_livelocks_and_panics_are_reported() {
    let mut machine = Machine::new(1, 2);
    let start = machine.net().now();
    assert_eq!(machine.run_until(|| false, Duration::from_secs(1)), Err(Stop::Deadlock));
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(machine.net().now() - start, SEC);
    let thread = machine.thread(1).clone();
    let own = thread.clone();
    let sleeper = thread.scheduler().spawn(Class::Normal, async move {
        own.scheduler().wait(Some(own.tick().plus_ms(5_000))).await;
        assert!(own.scheduler().reasons() != Wake::MESSAGE, "it was to sleep on");
    });
    assert_eq!(machine.run_until(|| false, Duration::from_secs(1)), Err(Stop::Limit));
    // A wake-up from one thread to another that may be sleeping.
    thread.mailbox().wake(sleeper, Wake::MESSAGE);
    assert_eq!(machine.run_until(|| false, Duration::from_secs(1)), Err(Stop::Panicked(1)));

    let mut machine = Machine::new(2, 1);
    let own = machine.thread(0).clone();
    machine.thread(0).scheduler().spawn(Class::Normal, async move {
        loop {
            own.scheduler().yield_as(Class::Bulk).await;
        }
    });
    assert_eq!(machine.run_until(|| false, Duration::from_secs(1)), Err(Stop::Livelock));
}

#[test]
fn an_alarm_wakes_a_sleeping_thread() {
    let mut machine = Machine::new(3, 1);
    machine.run_for(Duration::from_secs(1)).unwrap();
    let (turns, thread) = (machine.turns(), machine.thread(0).clone());
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(machine.turns(), turns);
    thread.mailbox().ring();
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(machine.turns(), turns + 2, "it looks round and sleeps again");
}

/// The result of a connection to an address, and the time that it takes.
fn connect(machine: &mut Machine, to: &str) -> (Result<(), io::ErrorKind>, u64) {
    let (thread, to) = (machine.thread(0).clone(), address(to));
    let outcome = Rc::new(Cell::new(None));
    let (own, told) = (thread.clone(), outcome.clone());
    thread.scheduler().spawn(Class::Normal, async move {
        let start = own.nanos();
        let result = match Socket::connect(&own, &to) {
            Ok(socket) => send_all(&socket, b"x").await,
            Err(error) => Err(error),
        };
        told.set(Some((result.map_err(|error| error.kind()), own.nanos() - start)));
    });
    machine.expect_until(|| outcome.get().is_some(), LONG);
    outcome.get().unwrap()
}

#[test]
fn connections_are_established_refused_or_unanswered() {
    let mut machine = serving(5, 1, Faults::NONE, |socket| async move {
        let _ = recv(&socket, &mut [0; 9]).await;
    });
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(connect(&mut machine, FRONT), (Ok(()), 100 * US));
    let refused = Err(io::ErrorKind::ConnectionRefused);
    assert_eq!(connect(&mut machine, "10.0.0.9:1"), (refused, 100 * US));
    machine.net().set_faults(Faults { refuse: 1000, ..Faults::NONE });
    assert_eq!(connect(&mut machine, FRONT).0, refused);
    let silent = Faults { never: 1000, ..Faults::NONE };
    machine.net().set_faults_of(address("10.0.0.8:1"), silent);
    let late = connect(&mut machine, "10.0.0.8:1");
    assert_eq!(late, (Err(io::ErrorKind::TimedOut), 127 * SEC));
    machine.net().set_handle_limit(1);
    let (result, _) = connect(&mut machine, "10.0.0.8:1");
    assert!(result.is_err(), "no handle left");
}

/// A kernel of a thread of its own, a listener, and a connection between its two ends.
fn pair(seed: u64, faults: Faults) -> (Machine, Box<dyn Kernel>, [Handle; 2]) {
    let mut machine = Machine::new(seed, 0);
    machine.net().set_faults(faults);
    let kernel = machine.world().kernel();
    let listener = machine.net().listen(address(FRONT), 4).unwrap();
    let client = kernel.connect(&address(FRONT)).unwrap();
    machine.run_for(Duration::from_secs(1)).unwrap();
    let (server, peer) = kernel.accept(listener).unwrap();
    assert_eq!(peer, kernel.local_address(client));
    (machine, kernel, [client, server])
}

fn send(kernel: &dyn Kernel, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
    kernel.send(handle, &[IoSlice::new(bytes)], false)
}

/// Events of a token in one wait: readable, writable, closed.
fn look(machine: &mut Machine, kernel: &dyn Kernel, token: u64) -> Option<(bool, bool, bool)> {
    let _ = machine.run_for(Duration::from_millis(1));
    let mut events = Vec::new();
    kernel.wait(Some(Duration::ZERO), &mut events).unwrap();
    let found = events.iter().find(|event| event.token == token)?;
    Some((found.readable, found.writable, found.closed))
}

#[test]
fn edges_are_reported_once() {
    let (mut machine, kernel, [client, server]) = pair(1, Faults { buffer: 10, ..Faults::NONE });
    kernel.watch(client, 7, Watch::Stream).unwrap();
    let mut look = || look(&mut machine, &*kernel, 7);
    assert_eq!(look(), Some((false, true, false)), "writable from the start");
    assert_eq!(look(), None);
    assert_eq!(send(&*kernel, server, b"ab").unwrap(), 2);
    assert_eq!(look(), Some((true, true, false)));
    assert_eq!(look(), None, "unread, but no news");
    assert_eq!(send(&*kernel, client, &[1; 20]).unwrap(), 10);
    assert!(send(&*kernel, client, &[1]).is_err());
    assert_eq!(look(), None);
    assert_eq!(kernel.recv(server, &mut [0; 20]).unwrap(), 10);
    assert_eq!(look(), Some((true, true, false)), "room again; and still unread");
    kernel.shutdown_write(server).unwrap();
    assert_eq!(look(), Some((true, true, true)));
    let mut buffer = [0; 5];
    assert_eq!(kernel.recv(client, &mut buffer).unwrap(), 2);
    assert_eq!(kernel.recv(client, &mut buffer).unwrap(), 0);
    assert_eq!(send(&*kernel, client, b"half open").unwrap(), 9, "only one side has ended");
    assert_eq!(look(), None);
    kernel.close(server, true);
    assert_eq!(look(), Some((true, true, true)));
    let reset = io::ErrorKind::ConnectionReset;
    assert_eq!(kernel.recv(client, &mut buffer).unwrap_err().kind(), reset);
    assert_eq!(kernel.recv(client, &mut buffer).unwrap(), 0, "an error is told once");
    let broken = io::ErrorKind::BrokenPipe;
    assert_eq!(send(&*kernel, client, b"x").unwrap_err().kind(), broken);
}

#[test]
fn unread_bytes_and_bytes_for_closed_ends_cause_resets() {
    let (mut machine, kernel, [client, server]) = pair(2, Faults::NONE);
    send(&*kernel, client, b"never read").unwrap();
    machine.run_for(Duration::from_secs(1)).unwrap();
    kernel.close(server, false);
    machine.run_for(Duration::from_secs(1)).unwrap();
    let error = kernel.recv(client, &mut [0; 5]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);

    let (mut machine, kernel, [client, server]) = pair(3, Faults::NONE);
    kernel.close(server, false);
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(kernel.recv(client, &mut [0; 5]).unwrap(), 0);
    send(&*kernel, client, b"too late").unwrap();
    machine.run_for(Duration::from_secs(1)).unwrap();
    assert!(send(&*kernel, client, b"too late").is_err());
}

#[test]
fn closed_handles_are_reused_and_their_events_stale() {
    let (mut machine, kernel, [client, server]) = pair(4, Faults { stale: 1000, ..Faults::NONE });
    kernel.watch(client, 7, Watch::Stream).unwrap();
    assert!(look(&mut machine, &*kernel, 7).is_some());
    kernel.close(client, false);
    assert_eq!(look(&mut machine, &*kernel, 7), Some((true, true, true)), "as if harvested before");
    assert_eq!(look(&mut machine, &*kernel, 7), None);
    assert_eq!(kernel.connect(&address(FRONT)).unwrap(), client, "the lowest free number");
    kernel.close(server, false);
    assert_eq!(machine.run_for(Duration::from_secs(1)), Ok(()));
    kernel.close(server, false);
    assert_eq!(machine.run_for(Duration::from_secs(1)), Err(Stop::Misuse), "closed twice");
}

#[test]
fn a_listener_is_reported_while_clients_wait() {
    let mut machine = Machine::new(6, 0);
    let kernel = machine.world().kernel();
    let listener = machine.net().listen(address("0.0.0.0:81"), 4).unwrap();
    kernel.watch(listener, 1, Watch::Listener).unwrap();
    assert_eq!(look(&mut machine, &*kernel, 1), None);
    for _ in 0..2 {
        kernel.connect(&address("10.0.0.1:81")).unwrap();
    }
    for _ in 0..2 {
        assert_eq!(look(&mut machine, &*kernel, 1), Some((true, false, false)));
        assert_eq!(look(&mut machine, &*kernel, 1), Some((true, false, false)), "a level");
        kernel.accept(listener).unwrap();
    }
    assert_eq!(look(&mut machine, &*kernel, 1), None);
    assert_eq!(kernel.accept(listener).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    kernel.unwatch(listener).unwrap();
}

#[test]
fn datagrams_and_output_are_kept() {
    let machine = Machine::new(7, 0);
    let kernel = machine.world().kernel();
    let (to, wall) = (address("10.0.0.5:514"), kernel.wall());
    kernel.datagram(&to, b"<14>line").unwrap();
    kernel.write(1, b"out").unwrap();
    kernel.write(1, b"put").unwrap();
    let sent = machine.net().take_datagrams();
    assert!(sent.len() == 1 && sent[0].to == to && sent[0].bytes == b"<14>line");
    assert_eq!(machine.net().take_written(1), b"output");
    machine.net().step_wall(-(SEC as i64));
    assert_eq!(kernel.wall(), wall - SEC);
    let net = machine.net();
    assert!(net.trace().last().any(|record| record.what == RecordKind::Datagram));
}
