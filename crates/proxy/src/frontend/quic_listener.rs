//! QUIC listeners: each thread of a line has an endpoint, and sockets of the line that it receives
//! from. Datagrams go to the endpoint, thread or process that their connection IDs name.

use crate::frontend::quic_host::QuicHost;
use crate::frontend::quic_relay;
use engine::state::runtime::FrontendRef;
use engine::state::worker::Worker;
use quic::Datagram;
use reactor::{Arrived, Class, Handle, Socket, UdpBatch};
use std::io;
use std::rc::Rc;

/// Datagrams of a socket that are handled in a row before other tasks run.
const DATAGRAMS: usize = 128;

/// Datagrams of other threads that are handled in a row before other tasks run.
const STRAYS: usize = 64;

/// Starts the tasks of a listener on this thread, if the line has it. `first` is the socket of a
/// line that names no others.
pub(crate) fn start(worker: &Rc<Worker>, proxy: &FrontendRef, place: usize, first: Handle) {
    let Some(bind) = proxy.front.settings.binds.get(place) else { return };
    let listener = proxy.front.listeners.get(place);
    let Some(line) = listener.and_then(|listener| listener.quic.clone()) else { return };
    let own = worker.thread.index;
    let threads: Vec<u16> = match bind.threads.as_slice() {
        [] => (0..worker.shared.settings.threads as u16).collect(),
        threads => threads.to_vec(),
    };
    if !threads.iter().any(|thread| usize::from(*thread) == own) {
        return;
    }
    let mut sockets = line.sockets().to_vec();
    if sockets.is_empty() {
        sockets.push((first, threads.clone()));
    }
    let serves = |(_, of): &&(Handle, Vec<u16>)| of.iter().any(|it| usize::from(*it) == own);
    let sender = sockets.iter().find(serves).map_or(first, |(handle, _)| *handle);
    let Some(host) = QuicHost::new(worker, proxy, (place, bind), line, sender) else { return };
    worker.add_quic(host.clone());
    quic_relay::announce(&host);
    let scheduler = worker.thread.scheduler();
    scheduler.spawn(Class::Normal, take_strays(host.clone()));
    let received =
        |(_, of): &(Handle, Vec<u16>)| of.first().is_some_and(|it| usize::from(*it) == own);
    for (handle, of) in sockets.into_iter().filter(received) {
        scheduler.spawn(Class::Normal, receive_all(host.clone(), handle, of));
    }
    if threads.first().is_some_and(|first| usize::from(*first) == own) {
        quic_relay::start(&host);
    }
}

/// Handles the datagrams that other threads have received.
async fn take_strays(host: Rc<QuicHost>) {
    let thread = host.worker.thread.clone();
    host.line.attend(thread.index, thread.mailbox().clone(), thread.scheduler().current());
    loop {
        let mut strays = host.line.take(thread.index);
        if strays.is_empty() {
            thread.scheduler().wait(None).await;
            continue;
        }
        while !strays.is_empty() {
            let nanos = thread.nanos();
            for stray in strays.drain(..strays.len().min(STRAYS)) {
                let (from, to, ecn) = (stray.from, stray.to, stray.ecn);
                host.handle(nanos, Datagram { from, to, ecn, bytes: &stray.bytes });
            }
            thread.scheduler().yield_as(Class::Normal).await;
        }
    }
}

/// Receives the datagrams of a socket, until a successor does.
async fn receive_all(host: Rc<QuicHost>, handle: Handle, threads: Vec<u16>) {
    let thread = host.worker.thread.clone();
    let socket = Socket::adopt(&thread, handle);
    socket.assign_to_current_task();
    // Without the local address, answers leave from the one that the system chooses.
    let _ = thread.kernel().prepare_udp(handle);
    let (mut batch, mut at) = (UdpBatch::default(), 0);
    loop {
        if host.is_replaced() {
            let nanos = thread.nanos();
            for arrived in batch.iter().skip(at) {
                host.route(nanos, datagram(&arrived), &threads);
            }
            // The connections that are left send from it.
            socket.release();
            return;
        }
        match receive(&host, &socket, &threads, (&mut batch, &mut at)) {
            true => thread.scheduler().yield_as(Class::Normal).await,
            false => {
                socket.want_read();
                thread.scheduler().wait(None).await;
            }
        }
    }
}

fn datagram<'a>(arrived: &Arrived<'a>) -> Datagram<'a> {
    let Arrived { from, to, ecn, bytes } = *arrived;
    Datagram { from, to, ecn, bytes }
}

/// Handles datagrams; `true`: there may be more. `at` is the place of the next one in the batch,
/// which may have more than one turn handles.
fn receive(
    host: &Rc<QuicHost>,
    socket: &Socket,
    threads: &[u16],
    (batch, at): (&mut UdpBatch, &mut usize),
) -> bool {
    let mut left = DATAGRAMS;
    while left > 0 {
        let (nanos, before) = (host.worker.thread.nanos(), left);
        for arrived in batch.iter().skip(*at).take(left) {
            host.route(nanos, datagram(&arrived), threads);
            left -= 1;
        }
        *at += before - left;
        if left > 0 {
            (*at, left) = (0, left - 1);
            batch.clear();
            // Other errors are those of earlier datagrams, which the transport treats as lost.
            if socket.recv_batch(batch).is_err_and(|it| it.kind() == io::ErrorKind::WouldBlock) {
                return false;
            }
        }
    }
    true
}
