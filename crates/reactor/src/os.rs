//! The `Kernel` of the operating system, made of system calls.

use crate::datagrams::DatagramQueue;
use crate::kernel::{
    Address, Event, ExitStatus, Handle, Kernel, Program, UdpBatch, UdpTrain, Watch,
};
use sched::{Alarm, Clock};
use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use sys::Fd;
use sys::epoll::Epoll;
use sys::socket::{self, ConnectOptions, Target, TcpInfo};

/// Token of the eventfd that other threads ring.
const ALARM_TOKEN: u64 = u64::MAX;

/// The operating system, for one thread.
#[derive(Debug)]
pub struct Os {
    epoll: RefCell<Epoll>,
    alarm: Arc<OwnedEventfd>,
    /// Queued datagrams over IPv4 and IPv6.
    datagrams: [DatagramQueue; 2],
    /// Socket for datagrams to unix paths, opened at first use.
    unix: Cell<Option<Fd>>,
}

#[derive(Debug)]
struct OwnedEventfd(Fd);

impl Drop for OwnedEventfd {
    fn drop(&mut self) {
        sys::close(self.0);
    }
}

struct EventfdAlarm(Arc<OwnedEventfd>);

impl Alarm for EventfdAlarm {
    fn ring(&self) {
        sys::eventfd_ring(self.0.0);
    }
}

struct Stopwatch;

impl Clock for Stopwatch {
    fn nanos(&self) -> u64 {
        sys::clock::monotonic()
    }
}

impl Os {
    /// Creates a poller that returns up to `events` events per call.
    ///
    /// # Errors
    /// No descriptors left.
    pub fn new(events: usize) -> io::Result<Self> {
        let epoll = Epoll::new(events)?;
        let bell = Arc::new(OwnedEventfd(sys::eventfd()?));
        epoll.watch(bell.0, ALARM_TOKEN, Watch::Level)?;
        let datagrams = [DatagramQueue::new(true), DatagramQueue::new(false)];
        Ok(Self { epoll: RefCell::new(epoll), alarm: bell, datagrams, unix: Cell::new(None) })
    }

    fn unix_socket(&self) -> io::Result<Fd> {
        if let Some(fd) = self.unix.get() {
            return Ok(fd);
        }
        let fd = socket::datagram_unix()?;
        self.unix.set(Some(fd));
        Ok(fd)
    }
}

impl Drop for Os {
    fn drop(&mut self) {
        self.unix.take().into_iter().for_each(sys::close);
    }
}

fn target(address: &Address) -> Target<'_> {
    match address {
        Address::Inet(address) => Target::Inet(*address),
        Address::Unix(path) => Target::Unix(path),
        Address::Pair(number) => Target::Pair(*number),
    }
}

impl Kernel for Os {
    fn monotonic(&self) -> u64 {
        sys::clock::monotonic()
    }

    fn wall(&self) -> u64 {
        sys::clock::wall()
    }

    fn local_offset(&self, seconds: i64) -> i32 {
        sys::clock::local_offset(seconds)
    }

    fn seed(&self) -> u64 {
        let mut bytes = [0; 8];
        sys::random(&mut bytes);
        u64::from_ne_bytes(bytes)
    }

    fn alarm(&self) -> Box<dyn Alarm> {
        Box::new(EventfdAlarm(self.alarm.clone()))
    }

    fn stopwatch(&self) -> Box<dyn Clock> {
        Box::new(Stopwatch)
    }

    fn wait(&self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.datagrams.iter().for_each(DatagramQueue::flush);
        self.epoll.borrow_mut().wait(timeout, events)?;
        if let Some(place) = events.iter().position(|event| event.token == ALARM_TOKEN) {
            events.swap_remove(place);
            sys::eventfd_clear(self.alarm.0);
        }
        Ok(())
    }

    fn watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()> {
        self.epoll.borrow().watch(handle.0, token, watch)
    }

    fn modify_watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()> {
        self.epoll.borrow().modify(handle.0, token, watch)
    }

    fn unwatch(&self, handle: Handle) -> io::Result<()> {
        self.epoll.borrow().unwatch(handle.0)
    }

    fn accept(&self, listener: Handle) -> io::Result<(Handle, Option<SocketAddr>)> {
        let (fd, peer) = socket::accept(listener.0)?;
        Ok((Handle(fd), peer))
    }

    fn connect(&self, to: &Address) -> io::Result<Handle> {
        socket::connect(target(to)).map(Handle)
    }

    fn dial(&self, to: &Address, how: &ConnectOptions) -> io::Result<Handle> {
        socket::dial(target(to), how).map(Handle)
    }

    fn connect_probe(&self, to: &Address) -> io::Result<Handle> {
        socket::connect_probe(target(to)).map(Handle)
    }

    fn take_error(&self, handle: Handle) -> io::Result<()> {
        socket::take_error(handle.0)
    }

    fn recv(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        socket::recv(handle.0, buffer)
    }

    fn peek(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        socket::peek(handle.0, buffer)
    }

    fn send(&self, handle: Handle, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        socket::send(handle.0, parts, more)
    }

    fn pipe(&self, size: usize) -> io::Result<(Handle, Handle, usize)> {
        sys::pipe::open(size).map(|(read, write, size)| (Handle(read), Handle(write), size))
    }

    fn splice(&self, from: Handle, to: Handle, len: usize, more: bool) -> io::Result<usize> {
        sys::pipe::splice(from.0, to.0, len, more)
    }

    fn is_quiet(&self, handle: Handle) -> bool {
        socket::is_quiet(handle.0)
    }

    fn has_ended(&self, handle: Handle) -> bool {
        socket::has_ended(handle.0)
    }

    fn shutdown_write(&self, handle: Handle) -> io::Result<()> {
        socket::shutdown_write(handle.0)
    }

    fn close(&self, handle: Handle, reset: bool) {
        if reset {
            let _ = socket::reset_on_close(handle.0);
        }
        sys::close(handle.0);
    }

    fn suspend(&self, listener: Handle) -> io::Result<()> {
        sys::listen::suspend(listener.0)
    }

    fn resume_listening(&self, listener: Handle, at: SocketAddr, backlog: u32) -> io::Result<()> {
        sys::listen::resume(listener.0, at, backlog)
    }

    fn local_address(&self, handle: Handle) -> Option<SocketAddr> {
        socket::local_address(handle.0)
    }

    fn tcp_info(&self, handle: Handle) -> Option<TcpInfo> {
        socket::tcp_info(handle.0)
    }

    fn is_local(&self, address: IpAddr) -> bool {
        socket::is_local(address)
    }

    fn set_tos(&self, handle: Handle, tos: u8) -> io::Result<()> {
        socket::set_tos(handle.0, tos)
    }

    fn acknowledge(&self, handle: Handle) {
        sys::option::acknowledge(handle.0);
    }

    fn set_mark(&self, handle: Handle, mark: u32) -> io::Result<()> {
        socket::set_mark(handle.0, mark)
    }

    fn reduce_max_segment(&self, handle: Handle, bytes: u32) -> io::Result<()> {
        sys::option::reduce_max_segment(handle.0, bytes)
    }

    fn silent_drop_on_close(&self, handle: Handle) -> io::Result<()> {
        sys::option::silent_drop_on_close(handle.0)
    }

    fn datagram(&self, to: &Address, bytes: &[u8]) -> io::Result<()> {
        match to {
            Address::Inet(to @ SocketAddr::V4(_)) => self.datagrams[0].push(*to, bytes),
            Address::Inet(to @ SocketAddr::V6(_)) => self.datagrams[1].push(*to, bytes),
            Address::Unix(_) | Address::Pair(_) => {
                socket::send_to(self.unix_socket()?, target(to), bytes).map(drop)
            }
        }
    }

    fn send_with_descriptors(
        &self,
        to: Handle,
        bytes: &[u8],
        copied: &[Handle],
    ) -> io::Result<usize> {
        let numbers: Vec<Fd> = copied.iter().map(|handle| handle.0).collect();
        sys::socketpair::send(to.0, bytes, &numbers)
    }

    fn datagrams(&self, with: SocketAddr) -> io::Result<Handle> {
        socket::datagram_to(with).map(Handle)
    }

    fn prepare_udp(&self, socket: Handle) -> io::Result<()> {
        sys::udp::prepare(socket.0)
    }

    fn receive_udp(&self, socket: Handle, batch: &mut UdpBatch) -> io::Result<usize> {
        sys::udp::receive(socket.0, batch)
    }

    fn send_udp(&self, socket: Handle, train: &UdpTrain<'_>) -> io::Result<()> {
        sys::udp::send(socket.0, train)
    }

    fn start_program(&self, program: &Program) -> io::Result<Handle> {
        sys::child::start(program).map(Handle)
    }

    fn exit_status(&self, child: Handle) -> io::Result<Option<ExitStatus>> {
        sys::child::exit_status(child.0)
    }

    fn end_program(&self, child: Handle, force: bool) -> io::Result<()> {
        sys::child::end(child.0, force)
    }

    fn write(&self, descriptor: i32, bytes: &[u8]) -> io::Result<()> {
        sys::output::write(descriptor, bytes)
    }
}
