//! Tests of the HTTP peers against each other, and through a relay of simple reactor tasks.

use super::*;
use crate::peers::{Client, ClientPlan, Origin, OriginPlan, Tally};
use std::cell::RefCell;

const ORIGIN: &str = "10.0.1.1:8080";

/// One direction of a relay: from `from` to `to`.
#[derive(Default)]
struct Way {
    bytes: Vec<u8>,
    ended: bool,
    done: bool,
}

impl Way {
    /// Moves as many bytes as possible. Returns whether there were any.
    fn go_on(&mut self, from: &Socket, to: &Socket) -> io::Result<bool> {
        let mut moved = false;
        let mut buffer = [0; 4_096];
        if self.bytes.is_empty() && !self.ended {
            match from.recv(&mut buffer) {
                Ok(count) => {
                    moved = true;
                    self.ended = count == 0;
                    self.bytes.extend_from_slice(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => from.want_read(),
                Err(error) => return Err(error),
            }
        }
        if !self.bytes.is_empty() {
            match to.send(&[IoSlice::new(&self.bytes)], false) {
                Ok(count) => {
                    moved = true;
                    self.bytes.drain(..count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => to.want_write(),
                Err(error) => return Err(error),
            }
        }
        if self.bytes.is_empty() && self.ended && !self.done {
            moved = true;
            self.done = true;
            to.shutdown_write()?;
        }
        Ok(moved)
    }
}

async fn relay(client: Socket) {
    let thread = client.thread().clone();
    let Ok(server) = Socket::connect(&thread, &address(ORIGIN)) else { return };
    let (mut up, mut down) = (Way::default(), Way::default());
    while !(up.done && down.done) {
        let moved =
            up.go_on(&client, &server).and_then(|up| Ok(up | down.go_on(&server, &client)?));
        match moved {
            Ok(true) => {}
            Ok(false) => drop(thread.scheduler().wait(None).await),
            Err(_) => return client.reset_on_close(),
        }
    }
}

fn peers(
    machine: &Machine,
    to: &str,
    clients: u64,
    requests: u32,
    wild: bool,
) -> Rc<RefCell<Tally>> {
    let tally: Rc<RefCell<Tally>> = Rc::default();
    let mut net = machine.net();
    let origin = OriginPlan::new(address(ORIGIN));
    let origin = if wild { origin.varied() } else { origin };
    net.spawn(Origin::h1(origin, tally.clone()));
    for number in 0..clients {
        let plan = ClientPlan::new(address(to), number * 1_000_000, requests);
        let plan = if wild { ClientPlan { abandon: 0, ..plan.wild() } } else { plan };
        net.spawn(Client::new(plan, tally.clone()));
    }
    tally
}

fn assert_sound(tally: &Tally, seed: u64) {
    assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:?}");
    assert_eq!(
        (tally.truncated, tally.broken, tally.timeouts),
        (0, 0, 0),
        "seed {seed}: {tally:?}"
    );
}

#[test]
fn clients_and_origins_interoperate() {
    for seed in 0..100 {
        let mut machine = Machine::new(seed, 0);
        machine.net().set_faults(Faults::BUMPY);
        let tally = peers(&machine, ORIGIN, 4, 30, seed % 2 == 1);
        machine.expect_until(|| tally.borrow().finished == 4, LONG);
        let tally = tally.borrow();
        assert_sound(&tally, seed);
        // Requests pipelined after a closing response stay unanswered.
        assert_eq!(tally.answered + tally.unanswered, 120, "seed {seed}: {tally:?}");
        assert!(seed % 2 == 1 || tally.unanswered == 0, "seed {seed}: {tally:?}");
    }
}

#[test]
fn clients_and_origins_interoperate_through_a_relay() {
    for seed in 0..60 {
        let mut machine = serving(seed, 2, Faults::BUMPY, relay);
        let tally = peers(&machine, FRONT, 4, 30, seed % 2 == 1);
        machine.expect_until(|| tally.borrow().finished == 4, LONG);
        let tally = tally.borrow();
        assert_sound(&tally, seed);
        assert_eq!(tally.answered + tally.unanswered, 120, "seed {seed}: {tally:?}");
    }
}

#[test]
fn losses_are_counted_and_mix_nothing_up() {
    let mut lost = 0;
    for seed in 0..60 {
        let tally: Rc<RefCell<Tally>> = Rc::default();
        let mut machine = serving(seed, 2, Faults::ROUGH, relay);
        let origin = OriginPlan::new(address(ORIGIN)).wild();
        machine.net().spawn(Origin::h1(origin, tally.clone()));
        for number in 0..4 {
            let plan = ClientPlan::new(address(FRONT), number * 1_000, 30).wild();
            machine.net().spawn(Client::new(plan, tally.clone()));
        }
        machine.expect_until(|| tally.borrow().finished == 4, 100 * LONG);
        let tally = tally.borrow();
        assert!(tally.wrong.is_empty(), "seed {seed}: {tally:?}");
        let ends = [tally.answered, tally.unanswered, tally.truncated, tally.timeouts];
        let ends: u64 = ends.iter().sum::<u64>() + tally.abandoned;
        assert_eq!(ends, tally.sent, "seed {seed}: {tally:?}");
        assert_eq!(tally.sent + tally.refused, 120, "seed {seed}: {tally:?}");
        lost += tally.unanswered + tally.truncated + tally.timeouts;
    }
    assert!(lost > 500, "{lost}");
}

/// The speed of the simulator: run it in release mode, by name.
#[test]
#[ignore = "for measuring"]
fn a_hundred_thousand_requests() {
    let mut machine =
        serving(1, 2, Faults { latency: 100_000, jitter: 100_000, ..Faults::NONE }, relay);
    let tally = peers(&machine, FRONT, 50, 2_000, false);
    machine.expect_until(|| tally.borrow().finished == 50, 10 * LONG);
    let tally = tally.borrow();
    assert_sound(&tally, 1);
    assert_eq!(tally.answered, 100_000);
    eprintln!("{} records, {} turns", machine.net().trace().count(), machine.turns());
}
