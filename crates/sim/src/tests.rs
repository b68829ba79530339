//! Tests of the simulator itself, with simple reactor tasks in a network with faults.

mod datagrams;
mod echo;
mod http;
mod machine;
mod udp;

use crate::{Faults, Machine};
use reactor::{Address, Class, Handle, Listener, Socket, Thread};
use std::future::Future;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::time::Duration;

fn address(text: &str) -> Address {
    Address::Inet(text.parse().unwrap())
}

const FRONT: &str = "10.0.0.1:80";

async fn recv(socket: &Socket, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.recv(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.want_read();
                socket.thread().scheduler().wait(None).await;
            }
            other => return other,
        }
    }
}

async fn send_all(socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.send(&[IoSlice::new(bytes)], false) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.want_write();
                socket.thread().scheduler().wait(None).await;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Accepts without end and spawns a task for each client.
async fn serve<F: Future<Output = ()> + 'static>(
    thread: Rc<Thread>,
    handle: Handle,
    work: impl Fn(Socket) -> F,
) {
    let mut listener = Listener::new(&thread, handle);
    listener.resume().unwrap();
    loop {
        match listener.accept() {
            Ok((socket, peer)) => {
                assert!(peer.is_some());
                thread.scheduler().spawn(Class::Normal, work(socket));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread.scheduler().wait(None).await;
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                // No handles are left: the server pauses, as any server has to.
                listener.pause();
                thread.scheduler().wait(Some(thread.tick().plus_ms(100))).await;
                listener.resume().unwrap();
            }
        }
    }
}

/// A machine that serves [`FRONT`] on all its threads.
fn serving<F: Future<Output = ()> + 'static>(
    seed: u64,
    threads: usize,
    faults: Faults,
    work: impl Fn(Socket) -> F + Copy + 'static,
) -> Machine {
    let machine = Machine::new(seed, threads);
    machine.net().set_faults(faults);
    let handle = machine.net().listen(address(FRONT), 100).unwrap();
    for thread in machine.threads() {
        thread.scheduler().spawn(Class::Normal, serve(thread.clone(), handle, work));
    }
    machine
}

const LONG: Duration = Duration::from_secs(3_600);
