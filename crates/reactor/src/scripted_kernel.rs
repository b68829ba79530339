//! A scripted kernel for tests: handles with a set amount of room, and a clock set by hand.

use crate::kernel::{Address, Event, Handle, Kernel, Watch};
use crate::{Settings, Socket, Thread};
use sched::{Alarm, NoAlarm};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

/// State of one handle: bytes received, room left, and how it was closed.
#[derive(Default)]
pub(crate) struct ScriptedHandle {
    pub(crate) got: Vec<u8>,
    pub(crate) calls: usize,
    pub(crate) room: usize,
    /// Bytes that the next read returns.
    pub(crate) says: usize,
    pub(crate) error: Option<i32>,
    pub(crate) closed: bool,
    /// Whether it was closed by a reset.
    pub(crate) reset: bool,
    pub(crate) shut: bool,
    /// Whether the last message was sent with `more`.
    pub(crate) more: bool,
}

/// A kernel of a few handles. Its clock is set by hand, and advances by the poller's timeout when
/// there are no events.
#[derive(Clone, Default)]
pub(crate) struct ScriptedKernel {
    pub(crate) ends: Rc<RefCell<BTreeMap<i32, ScriptedHandle>>>,
    tokens: Rc<RefCell<BTreeMap<i32, u64>>>,
    pub(crate) events: Rc<RefCell<Vec<Event>>>,
    pub(crate) now: Rc<Cell<u64>>,
    /// The last timeout of the poller.
    pub(crate) asked: Rc<Cell<Option<Duration>>>,
    /// Nanoseconds that the next wait adds to its timeout.
    pub(crate) leap: Rc<Cell<i64>>,
}

fn no<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Kernel for ScriptedKernel {
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
        Box::new(NoAlarm)
    }
    fn wait(&self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.asked.set(timeout);
        events.append(&mut self.events.borrow_mut());
        let slept = timeout.filter(|_| events.is_empty());
        let slept = slept.map_or(0, |timeout| timeout.as_nanos() as u64);
        let now = self.now.get().wrapping_add(slept);
        self.now.set(now.wrapping_add_signed(self.leap.take()));
        Ok(())
    }
    fn watch(&self, handle: Handle, token: u64, _: Watch) -> io::Result<()> {
        self.tokens.borrow_mut().insert(handle.0, token);
        Ok(())
    }
    fn modify_watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()> {
        self.watch(handle, token, watch)
    }
    fn unwatch(&self, _: Handle) -> io::Result<()> {
        Ok(())
    }
    fn accept(&self, _: Handle) -> io::Result<(Handle, Option<SocketAddr>)> {
        no()
    }
    fn connect(&self, _: &Address) -> io::Result<Handle> {
        Ok(Handle(9))
    }
    fn take_error(&self, _: Handle) -> io::Result<()> {
        Ok(())
    }
    fn recv(&self, handle: Handle, _: &mut [u8]) -> io::Result<usize> {
        Ok(self.with(handle.0, |end| std::mem::take(&mut end.says)))
    }
    fn peek(&self, _: Handle, _: &mut [u8]) -> io::Result<usize> {
        no()
    }
    fn send(&self, handle: Handle, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let mut ends = self.ends.borrow_mut();
        let end = ends.entry(handle.0).or_default();
        if let Some(error) = end.error {
            return Err(io::Error::from_raw_os_error(error));
        }
        (end.calls, end.more) = (end.calls + 1, more);
        let all: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let count = all.len().min(end.room);
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        end.room -= count;
        end.got.extend_from_slice(&all[..count]);
        Ok(count)
    }
    fn is_quiet(&self, _: Handle) -> bool {
        true
    }
    fn shutdown_write(&self, handle: Handle) -> io::Result<()> {
        self.with(handle.0, |end| end.shut = true);
        Ok(())
    }
    fn close(&self, handle: Handle, reset: bool) {
        self.with(handle.0, |end| (end.closed, end.reset) = (true, reset));
    }
    fn local_address(&self, _: Handle) -> Option<SocketAddr> {
        None
    }
    fn datagram(&self, _: &Address, _: &[u8]) -> io::Result<()> {
        no()
    }
    fn write(&self, _: i32, _: &[u8]) -> io::Result<()> {
        no()
    }
}

impl ScriptedKernel {
    pub(crate) fn with<R>(&self, handle: i32, how: impl FnOnce(&mut ScriptedHandle) -> R) -> R {
        how(self.ends.borrow_mut().entry(handle).or_default())
    }

    pub(crate) fn got(&self, handle: i32) -> String {
        self.with(handle, |end| String::from_utf8_lossy(&end.got).into_owned())
    }

    /// Makes room for this many bytes, and has the poller report it.
    pub(crate) fn make_room(&self, handle: i32, bytes: usize) {
        self.with(handle, |end| end.room += bytes);
        let token = self.tokens.borrow()[&handle];
        let event = Event { token, readable: false, writable: true, closed: false };
        self.events.borrow_mut().push(event);
    }

    pub(crate) fn thread(&self) -> Rc<Thread> {
        Thread::new(0, Box::new(self.clone()), Settings::default())
    }

    pub(crate) fn socket(&self, thread: &Rc<Thread>, handle: i32, room: usize) -> Rc<Socket> {
        self.with(handle, |end| end.room = room);
        Rc::new(Socket::adopt(thread, Handle(handle)))
    }
}
