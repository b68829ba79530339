//! Datagrams gathered during a turn and sent together at its end.
//!
//! The system's cost of a datagram is mostly per call and per message. So the datagrams of a turn
//! go out in one call, and neighbours of equal length, as log lines often are, in one message that
//! the system splits (udp(7), `UDP_SEGMENT`). The receiver sees no difference.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use sys::Fd;
use sys::datagram::{MAX_SEGMENTS, MAX_TRAIN, MAX_TRAINS, Train, send_trains};
use sys::socket;

/// Most bytes gathered.
const MAX_BYTES: usize = 48 * 1024;
/// The longest datagram that is sent in a train: it must fit the MTU of every path.
const MAX_SEGMENT: usize = 1200;

/// Outgoing datagrams of one address family.
#[derive(Debug)]
pub(crate) struct DatagramQueue {
    v4: bool,
    socket: Cell<Option<Fd>>,
    waiting: RefCell<Queued>,
    /// Datagrams that were not sent and not reported yet.
    lost: Cell<usize>,
    /// Whether the system supports trains (`UDP_SEGMENT`).
    trains: Cell<bool>,
}

#[derive(Debug, Default)]
struct Queued {
    bytes: Vec<u8>,
    /// Address and length of each datagram.
    list: Vec<(SocketAddr, usize)>,
}

impl Drop for DatagramQueue {
    fn drop(&mut self) {
        self.flush();
        self.socket.take().into_iter().for_each(sys::close);
    }
}

impl DatagramQueue {
    pub(crate) fn new(v4: bool) -> DatagramQueue {
        DatagramQueue {
            v4,
            socket: Cell::new(None),
            waiting: RefCell::default(),
            lost: Cell::new(0),
            trains: Cell::new(true),
        }
    }

    /// Queues a datagram. An error reports the loss of this datagram, or of one queued before.
    pub(crate) fn push(&self, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.borrow().bytes.len() + bytes.len() > MAX_BYTES {
            self.flush();
        }
        let mut waiting = self.waiting.borrow_mut();
        waiting.bytes.extend_from_slice(bytes);
        waiting.list.push((to, bytes.len()));
        match self.lost.get() {
            0 => Ok(()),
            lost => {
                self.lost.set(lost - 1);
                Err(io::Error::other("a datagram was lost"))
            }
        }
    }

    /// Sends all queued datagrams.
    pub(crate) fn flush(&self) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.list.is_empty() {
            return;
        }
        match self.open() {
            Ok(fd) => self.send(fd, &waiting),
            Err(_) => self.count_lost(waiting.list.len()),
        }
        waiting.list.clear();
        waiting.bytes.clear();
    }

    fn open(&self) -> io::Result<Fd> {
        if let Some(fd) = self.socket.get() {
            return Ok(fd);
        }
        let fd = socket::datagram_inet(self.v4)?;
        self.socket.set(Some(fd));
        Ok(fd)
    }

    fn count_lost(&self, count: usize) {
        self.lost.set(self.lost.get() + count);
    }

    fn send(&self, fd: Fd, waiting: &Queued) {
        let (mut list, mut bytes) = (&waiting.list[..], &waiting.bytes[..]);
        while !list.is_empty() {
            let mut trains = [const { None::<(Train<'_>, usize)> }; MAX_TRAINS];
            let (mut rest, mut tail, mut count) = (list, bytes, 0);
            while count < MAX_TRAINS && !rest.is_empty() {
                let (train, cars) = first_train(rest, tail, self.trains.get());
                (rest, tail) = (&rest[cars..], &tail[train.bytes.len()..]);
                trains[count] = Some((train, cars));
                count += 1;
            }
            let filler = Train { to: list[0].0, bytes: &[], segment: 0 };
            let ready = trains.map(|train| train.map_or(filler, |(train, _)| train));
            let gone = match send_trains(fd, &ready[..count]) {
                Ok(sent) => sent,
                Err(_) if ready[0].is_long() && self.trains.replace(false) => continue,
                Err(_) => {
                    self.count_lost(trains[0].map_or(1, |(_, cars)| cars));
                    1
                }
            };
            for (train, cars) in trains.iter().take(gone).flatten() {
                (list, bytes) = (&list[*cars..], &bytes[train.bytes.len()..]);
            }
        }
    }
}

/// The longest train at the head of the list, and the number of datagrams in it.
fn first_train<'b>(
    list: &[(SocketAddr, usize)],
    bytes: &'b [u8],
    long: bool,
) -> (Train<'b>, usize) {
    let (to, segment) = list[0];
    let (mut len, mut cars) = (segment, 1);
    let limit = if long && (1..=MAX_SEGMENT).contains(&segment) { MAX_SEGMENTS } else { 1 };
    for (address, next) in list.iter().skip(1).take(limit - 1) {
        if *address != to || *next > segment || *next == 0 || len + next > MAX_TRAIN {
            break;
        }
        len += next;
        cars += 1;
        if *next < segment {
            break;
        }
    }
    (Train { to, bytes: &bytes[..len], segment }, cars)
}

#[cfg(test)]
mod tests;
