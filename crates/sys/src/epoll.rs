//! The poller: epoll(7).

use crate::{Fd, borrow, into_raw};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::Timespec;
use std::io;
use std::time::Duration;

/// How a descriptor is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    /// A connection: input and output, edge-triggered.
    Stream,
    /// A connection that is watched for input only, edge-triggered.
    Incoming,
    /// A listener shared by several pollers: level-triggered, reported to one poller at a time.
    Listener,
    /// Any descriptor: readability, level-triggered.
    Level,
}

impl Watch {
    fn flags(self) -> EventFlags {
        match self {
            Self::Stream => EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET,
            Self::Incoming => EventFlags::IN | EventFlags::RDHUP | EventFlags::ET,
            Self::Listener => EventFlags::IN | EventFlags::EXCLUSIVE,
            Self::Level => EventFlags::IN,
        }
    }
}

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Token given at the registration.
    pub token: u64,
    /// A read may find something.
    pub readable: bool,
    /// A write may find room.
    pub writable: bool,
    /// The peer has closed its side, or the connection is broken.
    pub closed: bool,
}

/// An epoll instance.
pub struct Epoll {
    fd: Fd,
    events: Vec<epoll::Event>,
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Epoll").field("fd", &self.fd).finish_non_exhaustive()
    }
}

impl Epoll {
    /// Creates a poller that returns up to `capacity` events per call.
    pub fn new(capacity: usize) -> io::Result<Self> {
        let fd = into_raw(epoll::create(CreateFlags::CLOEXEC)?);
        Ok(Self { fd, events: Vec::with_capacity(capacity.max(1)) })
    }

    /// Registers a descriptor.
    pub fn watch(&self, fd: Fd, token: u64, watch: Watch) -> io::Result<()> {
        let data = EventData::new_u64(token);
        Ok(epoll::add(borrow(self.fd)?, borrow(fd)?, data, watch.flags())?)
    }

    /// Changes how a descriptor is watched; readiness that exists already is reported again. Not
    /// for listeners, because the system refuses to change exclusive registrations.
    pub fn modify(&self, fd: Fd, token: u64, watch: Watch) -> io::Result<()> {
        let data = EventData::new_u64(token);
        Ok(epoll::modify(borrow(self.fd)?, borrow(fd)?, data, watch.flags())?)
    }

    /// Removes a descriptor.
    pub fn unwatch(&self, fd: Fd) -> io::Result<()> {
        Ok(epoll::delete(borrow(self.fd)?, borrow(fd)?)?)
    }

    /// Waits for events, without limit if there is no timeout, and appends them to `events`.
    pub fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let timeout = timeout.map(|span| Timespec {
            tv_sec: span.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        });
        self.events.clear();
        epoll::wait(borrow(self.fd)?, spare_capacity(&mut self.events), timeout.as_ref())?;
        for event in &self.events {
            let flags = event.flags;
            let closed = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
            events.push(Event {
                token: event.data.u64(),
                readable: flags.intersects(EventFlags::IN | closed),
                writable: flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR),
                closed: flags.intersects(closed),
            });
        }
        Ok(())
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        crate::close(self.fd);
    }
}
