//! Tests of datagrams between a socket of the machine and an actor.

use super::address;
use crate::faults::{Faults, MS};
use crate::net::actor::{Actor, ActorId, Signal};
use crate::{Machine, Net, UdpDatagram};
use reactor::kernel::Kernel;
use reactor::{Address, Handle};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::time::Duration;

const SERVER: &str = "10.0.3.1:53";
const COUNT: u32 = 200;

/// Answers each datagram with the same bytes.
struct Echo(SocketAddr);

impl Actor for Echo {
    fn act(&mut self, net: &mut Net, me: ActorId, signal: Signal) {
        match signal {
            Signal::Start => _ = net.bind_datagrams(me, self.0).expect("the address is free"),
            Signal::Datagram(id) => {
                while let Ok(UdpDatagram { from, ecn, bytes, .. }) = net.recv_datagram(id) {
                    net.send_marked(id, from, ecn, &bytes).expect("it was small enough before");
                }
            }
            _ => {}
        }
    }
}

/// A machine with a socket that is connected to [`SERVER`].
fn setup(seed: u64, faults: Faults) -> (Machine, Box<dyn Kernel>, Handle) {
    let machine = Machine::new(seed, 1);
    machine.net().set_faults(faults);
    let kernel = machine.world().kernel();
    let handle = kernel.datagrams(server()).unwrap();
    (machine, kernel, handle)
}

fn server() -> SocketAddr {
    match address(SERVER) {
        Address::Inet(address) => address,
        other => panic!("{other} is an internet address"),
    }
}

fn send(kernel: &dyn Kernel, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
    kernel.send(handle, &[IoSlice::new(bytes)], false)
}

fn recv_all(kernel: &dyn Kernel, handle: Handle) -> Vec<u32> {
    let mut buffer = [0; 4];
    let mut all = Vec::new();
    while kernel.recv(handle, &mut buffer).is_ok() {
        all.push(u32::from_be_bytes(buffer));
    }
    all
}

/// Sends numbered datagrams to an echo server; returns the numbers in order of arrival.
fn echo(seed: u64, faults: Faults) -> Vec<u32> {
    let (mut machine, kernel, handle) = setup(seed, faults);
    machine.net().spawn(Box::new(Echo(server())));
    machine.run_for(Duration::from_millis(1)).unwrap();
    for number in 0..COUNT {
        assert_eq!(send(&*kernel, handle, &number.to_be_bytes()).unwrap(), 4);
    }
    machine.run_for(Duration::from_secs(1)).unwrap();
    recv_all(&*kernel, handle)
}

#[test]
fn datagrams_arrive_in_order_without_faults() {
    assert_eq!(echo(1, Faults::NONE), (0..COUNT).collect::<Vec<_>>());
}

#[test]
fn a_plan_loses_duplicates_and_reorders_datagrams() {
    let faults = Faults { loss: 200, duplicate: 100, jitter: 5 * MS, ..Faults::NONE };
    let arrived = echo(2, faults);
    let mut distinct = arrived.clone();
    distinct.sort_unstable();
    assert_ne!(arrived, distinct, "some overtake others");
    distinct.dedup();
    assert!(distinct.len() < arrived.len(), "some come twice");
    assert!((80..180).contains(&distinct.len()), "{} of {COUNT} are left", distinct.len());
    assert_eq!(echo(2, faults), arrived, "a seed determines a run");
    assert_ne!(echo(3, faults), arrived);
}

#[test]
fn datagrams_beyond_the_mtu_are_refused() {
    let (mut machine, kernel, handle) = setup(4, Faults { mtu: 1_200, ..Faults::NONE });
    assert_eq!(send(&*kernel, handle, &[0; 1_200]).unwrap(), 1_200);
    let error = send(&*kernel, handle, &[0; 1_201]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(90), "EMSGSIZE");
    machine.run_for(Duration::from_secs(1)).unwrap();
}

#[test]
fn a_port_without_a_socket_refuses_and_the_error_is_reported_once() {
    let (mut machine, kernel, handle) = setup(5, Faults::NONE);
    send(&*kernel, handle, b"anybody?").unwrap();
    machine.run_for(Duration::from_secs(1)).unwrap();
    let read = || kernel.recv(handle, &mut [0; 8]).unwrap_err().kind();
    assert_eq!([read(), read()], [io::ErrorKind::ConnectionRefused, io::ErrorKind::WouldBlock]);
    kernel.close(handle, false);
    assert_eq!(machine.net().open_handles(), 0);
}

#[test]
fn unread_datagrams_are_bounded() {
    let (mut machine, kernel, handle) = setup(6, Faults::NONE);
    machine.net().spawn(Box::new(Echo(server())));
    machine.run_for(Duration::from_millis(1)).unwrap();
    for number in 0..1_000u32 {
        send(&*kernel, handle, &number.to_be_bytes()).unwrap();
        machine.run_for(Duration::from_millis(1)).unwrap();
    }
    assert_eq!(recv_all(&*kernel, handle), (0..256).collect::<Vec<_>>());
}
