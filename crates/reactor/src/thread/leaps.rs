//! Tests of a clock that leaps. Never part of the product.

use super::*;
use crate::kernel::Address;
use sched::{Alarm, Class};
use std::io::IoSlice;
use std::net::SocketAddr;

/// A kernel without sockets, whose clock is set by hand.
#[derive(Clone, Default)]
struct Hand {
    now: Rc<Cell<u64>>,
    asked: Rc<Cell<Option<Duration>>>,
    /// What the next wait adds beyond what was asked for.
    leap: Rc<Cell<i64>>,
}

struct Silent;

impl Alarm for Silent {
    fn ring(&self) {}
}

fn no<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Kernel for Hand {
    fn monotonic(&self) -> u64 {
        self.now.get()
    }
    fn wall(&self) -> u64 {
        self.now.get()
    }
    fn seed(&self) -> u64 {
        1
    }
    fn alarm(&self) -> Box<dyn Alarm> {
        Box::new(Silent)
    }
    fn wait(&self, timeout: Option<Duration>, _: &mut Vec<Event>) -> io::Result<()> {
        self.asked.set(timeout);
        let slept = timeout.map_or(0, |timeout| timeout.as_nanos() as u64);
        let now = self.now.get().wrapping_add(slept);
        self.now.set(now.wrapping_add_signed(self.leap.take()));
        Ok(())
    }
    fn watch(&self, _: Handle, _: u64, _: Watch) -> io::Result<()> {
        no()
    }
    fn unwatch(&self, _: Handle) -> io::Result<()> {
        no()
    }
    fn accept(&self, _: Handle) -> io::Result<(Handle, Option<SocketAddr>)> {
        no()
    }
    fn connect(&self, _: &Address) -> io::Result<Handle> {
        no()
    }
    fn take_error(&self, _: Handle) -> io::Result<()> {
        no()
    }
    fn recv(&self, _: Handle, _: &mut [u8]) -> io::Result<usize> {
        no()
    }
    fn peek(&self, _: Handle, _: &mut [u8]) -> io::Result<usize> {
        no()
    }
    fn send(&self, _: Handle, _: &[IoSlice<'_>], _: bool) -> io::Result<usize> {
        no()
    }
    fn is_quiet(&self, _: Handle) -> bool {
        false
    }
    fn shutdown_write(&self, _: Handle) -> io::Result<()> {
        no()
    }
    fn close(&self, _: Handle, _: bool) {}
    fn local_address(&self, _: Handle) -> Option<SocketAddr> {
        None
    }
    fn datagram(&self, _: &Address, _: &[u8]) -> io::Result<()> {
        no()
    }
    fn write(&self, _: i32, _: &[u8]) -> io::Result<usize> {
        no()
    }
}

const MINUTE: u64 = 60_000_000_000;

/// A thousand timers, one per second of its own time from `start` on; counts those that fired.
fn timers(kernel: &Hand, start: u64) -> (Rc<Thread>, Rc<Cell<u64>>) {
    kernel.now.set(start);
    let thread = Thread::new(0, Box::new(kernel.clone()), Settings::default());
    let fired = Rc::new(Cell::new(0));
    for second in 1..=1_000 {
        let (own, fired) = (thread.clone(), fired.clone());
        thread.scheduler().spawn(Class::Normal, async move {
            own.scheduler().pause(Some(own.tick().plus_ms(second * 1_000))).await;
            fired.set(fired.get() + 1);
        });
    }
    while thread.scheduler().has_work() {
        thread.turn(None).unwrap();
    }
    (thread, fired)
}

#[test]
fn a_clock_that_leaps_ahead_or_back_neither_fires_all_timers_nor_stops_them() {
    for leap in [0, 3_600, 86_400 * 30, -10, -3_600] {
        let kernel = Hand::default();
        let (thread, fired) = timers(&kernel, 2 * 3_600_000_000_000);
        let begun = thread.nanos();
        kernel.leap.set(leap * 1_000_000_000);
        while thread.nanos() < begun + MINUTE {
            thread.turn(None).unwrap();
        }
        assert!((59..=62).contains(&fired.get()), "a leap of {leap} s: {} fired", fired.get());
        assert!(kernel.asked.get().is_some_and(|asked| asked <= Duration::from_secs(1)));
        thread.scheduler().clear();
    }
}

#[test]
fn a_late_return_within_reason_is_real_time() {
    let kernel = Hand::default();
    let (thread, fired) = timers(&kernel, MINUTE);
    let begun = thread.nanos();
    kernel.leap.set(4_000_000_000);
    thread.turn(None).unwrap();
    assert!(thread.nanos() >= begun + 4_000_000_000);
    assert_eq!(fired.get(), 4);
    thread.scheduler().clear();
}
