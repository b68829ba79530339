//! Tests of an echo server: bytes are in order and complete unless the connection breaks.

use super::*;
use crate::faults::MS;
use crate::{Actor, ActorId, EndId, Net, Signal};
use std::cell::RefCell;

async fn echo(socket: Socket) {
    let mut buffer = [0; 700];
    loop {
        match recv(&socket, &mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) if send_all(&socket, &buffer[..count]).await.is_err() => return,
            Ok(_) => {}
        }
    }
}

/// As [`echo`], but stops after each read although more bytes may be there, and asks to be woken.
async fn lazy_echo(socket: Socket) {
    let mut buffer = [0; 100];
    loop {
        match recv(&socket, &mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(count) if send_all(&socket, &buffer[..count]).await.is_err() => return,
            Ok(_) => {
                socket.want_read();
                socket.thread().scheduler().wait(None).await;
            }
        }
    }
}

#[derive(Default, Debug)]
struct Outcome {
    complete: u32,
    broken: u32,
    refused: u32,
}

impl Outcome {
    fn all(&self) -> u32 {
        self.complete + self.broken + self.refused
    }
}

/// Sends numbered bytes, half-closes, and reads them back until the end of the stream.
struct EchoClient {
    length: usize,
    sent: usize,
    got: usize,
    end: Option<EndId>,
    outcome: Rc<RefCell<Outcome>>,
}

fn byte(place: usize) -> u8 {
    (place % 251) as u8
}

impl EchoClient {
    fn end(&mut self, net: &mut Net, me: ActorId, count: impl Fn(&mut Outcome)) {
        count(&mut self.outcome.borrow_mut());
        self.end.take().into_iter().for_each(|end| net.close_end(end, false));
        net.retire(me);
    }

    fn talk(&mut self, net: &mut Net, me: ActorId, end: EndId) {
        let mut buffer = [0; 997];
        loop {
            match net.recv(end, &mut buffer) {
                Ok(0) if self.got == self.length => {
                    return self.end(net, me, |it| it.complete += 1);
                }
                Ok(count) if count > 0 => {
                    let right = (self.got..).zip(&buffer[..count]).all(|(at, it)| *it == byte(at));
                    assert!(right, "mixed up after {}", self.got);
                    self.got += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return self.end(net, me, |it| it.refused += 1);
                }
                Ok(_) | Err(_) => return self.end(net, me, |it| it.broken += 1),
            }
        }
        while self.sent < self.length {
            let stop = self.length.min(self.sent + 1_500);
            let bytes: Vec<u8> = (self.sent..stop).map(byte).collect();
            match net.send(end, &bytes) {
                Ok(count) => self.sent += count,
                Err(_) => return,
            }
            if self.sent == self.length {
                net.shutdown(end).unwrap();
            }
        }
    }
}

impl Actor for EchoClient {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match (signal, self.end) {
            (Signal::Start, _) => {
                match net.dial(me, "192.0.2.1".parse().unwrap(), &address(FRONT)) {
                    Ok(end) => self.end = Some(end),
                    Err(_) => self.end(net, me, |it| it.refused += 1),
                }
                // A client without an answer gives up.
                let at = net.now() + 200_000 * MS;
                net.set_timer(me, at, 0);
            }
            (Signal::Ready(end), Some(own)) if own == end => self.talk(net, me, end),
            (Signal::Timer(_), Some(_)) => self.end(net, me, |it| it.broken += 1),
            _ => {}
        }
    }
}

fn talkers(machine: &Machine, count: u32) -> Rc<RefCell<Outcome>> {
    let outcome: Rc<RefCell<Outcome>> = Rc::default();
    let mut net = machine.net();
    for number in 1..=count as usize {
        let length = if number == 1 { 40_000 } else { 1 + number * 1_357 % 9_000 };
        let outcome = outcome.clone();
        net.spawn(Box::new(EchoClient { length, sent: 0, got: 0, end: None, outcome }));
    }
    outcome
}

/// Runs one seed; returns the trace's hash and the outcome of 8 connections.
fn run(seed: u64, threads: usize, faults: Faults) -> (u64, Outcome) {
    let mut machine = serving(seed, threads, faults, echo);
    let outcome = talkers(&machine, 8);
    machine.expect_until(|| outcome.borrow().all() == 8, LONG);
    machine.run_for(LONG).unwrap_or_else(|stop| panic!("{stop:?}: {}", machine.report()));
    assert_eq!(machine.net().connections(), 0, "{}", machine.report());
    assert_eq!(machine.net().open_handles(), 1, "the listener; {}", machine.report());
    let hash = machine.trace_hash();
    drop(machine);
    (hash, Rc::try_unwrap(outcome).unwrap().into_inner())
}

#[test]
fn no_byte_is_lost_with_harmless_faults() {
    for seed in 0..200 {
        let (_, outcome) = run(seed, 1 + seed as usize % 3, Faults::BUMPY);
        assert_eq!(outcome.complete, 8, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn a_task_that_stops_before_would_block_is_woken() {
    for seed in 0..50 {
        let mut machine = serving(seed, 2, Faults::BUMPY, lazy_echo);
        let outcome = talkers(&machine, 8);
        machine.expect_until(|| outcome.borrow().all() == 8, LONG);
        assert_eq!(outcome.borrow().complete, 8, "seed {seed}: {:?}", outcome.borrow());
    }
}

#[test]
fn broken_and_complete_connections_are_distinguished() {
    // Stalled connections stay open at the server, which has no timeouts here.
    let faults = Faults { stall: 0, ..Faults::ROUGH };
    let mut sum = Outcome::default();
    for seed in 0..200 {
        let (_, outcome) = run(seed, 2, faults);
        sum.complete += outcome.complete;
        sum.broken += outcome.broken;
        sum.refused += outcome.refused;
    }
    assert!(sum.complete > 1_000 && sum.broken > 30 && sum.refused > 50, "{sum:?}");
}

#[test]
fn a_seed_determines_a_run() {
    let hashes: Vec<_> = (0..20).map(|seed| run(seed, 3, Faults::BUMPY).0).collect();
    for (seed, hash) in hashes.iter().enumerate() {
        assert_eq!(run(seed as u64, 3, Faults::BUMPY).0, *hash, "seed {seed}");
        assert_eq!(hashes.iter().filter(|other| *other == hash).count(), 1, "seed {seed}");
    }
}

#[test]
fn threads_share_a_listener() {
    for seed in 0..20 {
        let mut machine = serving(seed, 4, Faults::BUMPY, echo);
        let outcome = talkers(&machine, 100);
        let mut most = [0; 4];
        let threads = machine.threads().to_vec();
        let condition = || {
            for (most, thread) in most.iter_mut().zip(&threads) {
                *most = thread.sockets().max(*most);
            }
            outcome.borrow().all() == 100
        };
        machine.expect_until(condition, LONG);
        assert_eq!(outcome.borrow().complete, 100);
        assert!(most.iter().all(|most| *most > 5), "seed {seed}: {most:?}");
    }
}

#[test]
fn exhausted_handles_are_survived() {
    for seed in 0..20 {
        let mut machine = serving(seed, 2, Faults::BUMPY, echo);
        machine.net().set_handle_limit(4);
        machine.net().trace_mut().set_keep(1_000_000);
        let outcome = talkers(&machine, 30);
        machine.expect_until(|| outcome.borrow().all() == 30, LONG);
        assert_eq!(outcome.borrow().complete, 30);
        let met = |what| machine.net().trace().last().filter(|record| record.what == what).count();
        assert!(met(crate::RecordKind::Exhausted) > 0);
        assert!(met(crate::RecordKind::Stale) > 0);
    }
}
