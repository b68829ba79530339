//! The reactor's `Kernel` over the virtual network; time passes between turns.

use crate::world::World;
use reactor::kernel::{Address, Event, Handle, Kernel, UdpBatch, UdpTrain, Watch};
use sched::Alarm;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The kernel of one thread of the machine.
pub(crate) struct VirtualKernel {
    world: Rc<World>,
    poller: usize,
    bell: Arc<AtomicBool>,
}

struct FlagAlarm(Arc<AtomicBool>);

impl Alarm for FlagAlarm {
    fn ring(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl VirtualKernel {
    pub(crate) fn new(world: Rc<World>) -> Self {
        let (poller, bell) = world.net().add_poller();
        Self { world, poller, bell }
    }
}

impl World {
    /// A kernel for one more thread of the machine.
    pub fn kernel(self: &Rc<Self>) -> Box<dyn Kernel> {
        Box::new(VirtualKernel::new(self.clone()))
    }
}

impl Kernel for VirtualKernel {
    fn monotonic(&self) -> u64 {
        self.world.net().now()
    }

    fn wall(&self) -> u64 {
        self.world.net().wall()
    }

    fn seed(&self) -> u64 {
        self.world.net().prng().next_u64()
    }

    fn alarm(&self) -> Box<dyn Alarm> {
        Box::new(FlagAlarm(self.bell.clone()))
    }

    fn wait(&self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.world.net().wait(self.poller, timeout, events);
        Ok(())
    }

    fn watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()> {
        self.world.net().watch(self.poller, handle.0, token, watch)
    }

    fn modify_watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()> {
        self.world.net().rewatch(self.poller, handle.0, token, watch)
    }

    fn unwatch(&self, handle: Handle) -> io::Result<()> {
        self.world.net().unwatch(self.poller, handle.0)
    }

    fn accept(&self, listener: Handle) -> io::Result<(Handle, Option<SocketAddr>)> {
        let (handle, peer) = self.world.net().accept(listener.0)?;
        Ok((Handle(handle), peer))
    }

    fn connect(&self, to: &Address) -> io::Result<Handle> {
        self.world.net().connect(to).map(Handle)
    }

    fn take_error(&self, handle: Handle) -> io::Result<()> {
        let mut net = self.world.net();
        let end = net.stream(handle.0)?;
        net.take_error(end)
    }

    fn recv(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let mut net = self.world.net();
        if let Some(socket) = net.datagram_socket(handle.0) {
            return net.recv_into(socket, buffer);
        }
        if let Some(end) = net.link_end(handle.0) {
            return net.recv_message(end, buffer, true);
        }
        let end = net.stream(handle.0)?;
        net.recv(end, buffer)
    }

    fn peek(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let mut net = self.world.net();
        if let Some(end) = net.link_end(handle.0) {
            return net.recv_message(end, buffer, false);
        }
        let end = net.stream(handle.0)?;
        net.peek(end, buffer)
    }

    fn send(&self, handle: Handle, parts: &[IoSlice<'_>], _more: bool) -> io::Result<usize> {
        let mut net = self.world.net();
        if let Some(socket) = net.datagram_socket(handle.0) {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            return net.send_from(socket, None, 0, &bytes).map(|()| bytes.len());
        }
        if let Some(end) = net.link_end(handle.0) {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            return net.send_message(end, &bytes);
        }
        let end = net.stream(handle.0)?;
        net.send_parts(end, parts)
    }

    fn is_quiet(&self, handle: Handle) -> bool {
        let mut net = self.world.net();
        net.stream(handle.0).is_ok_and(|end| net.is_quiet(end))
    }

    fn has_ended(&self, handle: Handle) -> bool {
        let mut net = self.world.net();
        net.stream(handle.0).is_ok_and(|end| net.has_ended(end))
    }

    fn shutdown_write(&self, handle: Handle) -> io::Result<()> {
        let mut net = self.world.net();
        let end = net.stream(handle.0)?;
        net.shutdown(end)
    }

    fn close(&self, handle: Handle, reset: bool) {
        self.world.net().close(handle.0, reset);
    }

    fn local_address(&self, handle: Handle) -> Option<SocketAddr> {
        self.world.net().local_address(handle.0)
    }

    fn datagrams(&self, with: SocketAddr) -> io::Result<Handle> {
        self.world.net().connect_datagrams(with).map(Handle)
    }

    fn prepare_udp(&self, socket: Handle) -> io::Result<()> {
        self.world.net().expect_datagram_socket(socket.0).map(drop)
    }

    fn receive_udp(&self, socket: Handle, batch: &mut UdpBatch) -> io::Result<usize> {
        let mut net = self.world.net();
        let key = net.expect_datagram_socket(socket.0)?;
        net.recv_batch(key, batch)
    }

    fn send_udp(&self, socket: Handle, train: &UdpTrain<'_>) -> io::Result<()> {
        let mut net = self.world.net();
        let key = net.expect_datagram_socket(socket.0)?;
        net.send_train(key, train)
    }

    fn datagram(&self, to: &Address, bytes: &[u8]) -> io::Result<()> {
        self.world.net().log_datagram(to, bytes);
        Ok(())
    }

    fn write(&self, descriptor: i32, bytes: &[u8]) -> io::Result<()> {
        self.world.net().log_write(descriptor, bytes);
        Ok(())
    }
}
