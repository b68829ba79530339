//! Transport of bytes, ends and failures over an established connection.

use super::conn::{EndId, Owner};
use super::dial::os;
use super::handles::Object;
use super::{DrawnFault, DueEvent, Net, errno};
use crate::trace::{RecordKind, digest};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use stdx::Key;

/// Most segments of one write.
const SEGMENTS: u32 = 4;
/// Longest pretended lack of bytes or room, in nanoseconds.
const HICCUP: u64 = 300_000;

impl Net {
    /// Whether an end is open and has nothing to read, not even an error.
    pub fn is_quiet(&self, end: EndId) -> bool {
        self.conns.get(end.conn).is_some_and(|conn| !conn.mask(end.side).readable)
    }

    /// Whether the other side has closed, or the connection is broken.
    pub(crate) fn has_ended(&self, end: EndId) -> bool {
        self.conns.get(end.conn).is_none_or(|conn| conn.mask(end.side).closed)
    }

    /// Reads into `buffer`; 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock`; the connection's failure, reported once.
    pub fn recv(&mut self, end: EndId, buffer: &mut [u8]) -> io::Result<usize> {
        let conn = self.conns.get_mut(end.conn).ok_or_else(|| os(errno::BADF))?;
        let here = conn.end(end.side);
        if here.arrived == 0 {
            return match here.error.take() {
                Some(error) => Err(os(error)),
                None if here.fin || here.dead => Ok(0),
                None => Err(io::ErrorKind::WouldBlock.into()),
            };
        }
        let count = self.expose(end, buffer);
        let conn = self.conns.get_mut(end.conn).expect("it was there just now");
        let here = conn.end(end.side);
        here.bytes.drain(..count);
        here.arrived -= count;
        self.give_room(end.other());
        self.note(RecordKind::Recv, end.bits(), count as u64);
        Ok(count)
    }

    /// As [`Net::recv`] without consuming the bytes.
    pub(crate) fn peek(&mut self, end: EndId, buffer: &mut [u8]) -> io::Result<usize> {
        let conn = self.conns.get_mut(end.conn).ok_or_else(|| os(errno::BADF))?;
        if conn.end(end.side).arrived == 0 {
            return self.recv(end, buffer);
        }
        let count = self.expose(end, buffer);
        self.note(RecordKind::Recv, end.bits(), count as u64);
        Ok(count)
    }

    /// Copies the arrived bytes, or only some of them; returns their number.
    fn expose(&mut self, end: EndId, buffer: &mut [u8]) -> usize {
        let Some(conn) = self.conns.get_mut(end.conn) else { return 0 };
        let faults = conn.faults;
        let here = conn.end(end.side);
        let mut count = here.arrived.min(buffer.len());
        let ended = here.fin || here.dead;
        if !ended && count > 1 && self.chance(faults.short_read) {
            count = 1 + self.up_to(count as u64 - 2) as usize;
            self.delay_rest(end, count);
        }
        let conn = self.conns.get_mut(end.conn).expect("it was there just now");
        let here = conn.end(end.side);
        let mut copied = 0;
        let (front, back) = here.bytes.as_slices();
        for part in [front, back] {
            let take = part.len().min(count - copied);
            buffer[copied..copied + take].copy_from_slice(&part[..take]);
            copied += take;
        }
        count
    }

    /// A short read means that no more bytes were there: the rest arrives again in a moment.
    fn delay_rest(&mut self, end: EndId, count: usize) {
        let later = self.now + 1 + self.up_to(HICCUP);
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let here = conn.end(end.side);
        let rest = here.arrived - count;
        here.arrived = count;
        if rest > 0 {
            self.schedule(later, DueEvent::Arrive(end, rest as u32));
        }
    }

    /// Notifies a sender that waits for room, because the reader has taken bytes.
    fn give_room(&mut self, sender: EndId) {
        let Some(conn) = self.conns.get_mut(sender.conn) else { return };
        if conn.stalled || !conn.roomy(sender.side) || !conn.end(sender.side).starved {
            return;
        }
        conn.end(sender.side).starved = false;
        let at = self.arrival(sender);
        self.schedule(at, DueEvent::Room(sender));
    }

    /// Writes what fits.
    ///
    /// # Errors
    /// `WouldBlock`, also while connecting; the connection's failure, reported once; then a broken
    /// pipe.
    pub fn send(&mut self, end: EndId, bytes: &[u8]) -> io::Result<usize> {
        self.send_parts(end, &[IoSlice::new(bytes)])
    }

    pub(crate) fn send_parts(&mut self, end: EndId, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let mut count = self.admit(end, total)?;
        let conn = self.conns.get_mut(end.conn).expect("it was admitted");
        let faults = conn.faults;
        if count < total {
            conn.end(end.side).starved = true;
        } else if count > 1 && self.chance(faults.short_write) {
            count = 1 + self.up_to(count as u64 - 2) as usize;
            self.pretend_lack_of_room(end);
        }
        let mut hash = 0;
        let mut left = count;
        for part in parts {
            let take = part.len().min(left);
            left -= take;
            hash ^= digest(&part[..take]).rotate_left(take as u32);
            let conn = self.conns.get_mut(end.conn).expect("it was admitted");
            conn.end(end.other().side).bytes.extend(&part[..take]);
        }
        self.note(RecordKind::Send, end.bits(), hash);
        self.dispatch(end.other(), count, faults.split);
        Ok(count)
    }

    /// Bytes that an end may send now.
    fn admit(&mut self, end: EndId, total: usize) -> io::Result<usize> {
        let conn = self.conns.get_mut(end.conn).ok_or_else(|| os(errno::BADF))?;
        let space = conn.space(end.side);
        let here = conn.end(end.side);
        if let Some(error) = here.error.take() {
            return Err(os(error));
        }
        if here.dead || here.fin_sent {
            return Err(os(errno::PIPE));
        }
        if here.connecting {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if total > 0 && (space == 0 || here.clogged) {
            here.starved = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(space.min(total))
    }

    fn pretend_lack_of_room(&mut self, end: EndId) {
        let later = self.now + 1 + self.up_to(HICCUP);
        if let Some(conn) = self.conns.get_mut(end.conn) {
            conn.end(end.side).clogged = true;
            self.schedule(later, DueEvent::Unclog(end));
        }
    }

    /// Sends `count` bytes as one segment or several.
    fn dispatch(&mut self, to: EndId, count: usize, split: u16) {
        let mut left = count;
        let mut cuts = if self.chance(split) { self.prng.below(SEGMENTS) } else { 0 };
        while left > 0 {
            let piece = if cuts == 0 { left } else { 1 + self.up_to(left as u64 - 1) as usize };
            cuts = cuts.saturating_sub(1);
            left -= piece;
            self.post(to, DueEvent::Arrive(to, piece as u32));
        }
    }

    /// Schedules the arrival of something at an end, after everything sent before.
    fn post(&mut self, to: EndId, due: DueEvent) {
        if self.conns.get(to.conn).is_some_and(|conn| !conn.stalled) {
            let at = self.arrival(to);
            self.schedule(at, due);
        }
    }

    /// Arrival time of something sent now.
    pub(super) fn arrival(&mut self, to: EndId) -> u64 {
        let Some(faults) = self.conns.get(to.conn).map(|conn| conn.faults) else { return self.now };
        let at = self.now + self.travel(&faults);
        let Some(conn) = self.conns.get_mut(to.conn) else { return at };
        let there = conn.end(to.side);
        there.last_arrival = there.last_arrival.max(at);
        there.last_arrival
    }

    pub(super) fn arrive(&mut self, end: EndId, count: usize) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let here = conn.end(end.side);
        if here.owner == Owner::Closed {
            // Bytes for a closed end are answered with a reset.
            here.bytes.clear();
            return self.post(end.other(), DueEvent::Reset(end.other()));
        }
        let count = count.min(here.bytes.len() - here.arrived);
        if count == 0 {
            return;
        }
        let first = here.arrived == 0;
        here.arrived += count;
        self.note(RecordKind::Arrive, end.bits(), count as u64);
        // Further bytes may come with an event of their own, or together with the first ones.
        if first || self.chance(500) {
            self.changed(end);
        }
    }

    pub(super) fn fin(&mut self, end: EndId) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let here = conn.end(end.side);
        if here.owner == Owner::Closed || here.dead {
            return;
        }
        here.arrived = here.bytes.len();
        here.fin = true;
        self.note(RecordKind::Fin, end.bits(), 0);
        self.changed(end);
    }

    pub(super) fn broken(&mut self, end: EndId, error: i32) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let here = conn.end(end.side);
        if here.owner == Owner::Closed || here.dead {
            return;
        }
        // Arrived bytes stay readable, as on Linux; bytes in flight are lost.
        here.bytes.truncate(here.arrived);
        here.dead = true;
        here.error = Some(if here.connecting { errno::CONNREFUSED } else { error });
        here.connecting = false;
        self.note(RecordKind::Reset, end.bits(), error as u64);
        self.changed(end);
    }

    pub(super) fn room(&mut self, end: EndId) {
        self.note(RecordKind::Room, end.bits(), 0);
        self.changed(end);
    }

    pub(super) fn unclog(&mut self, end: EndId) {
        if let Some(conn) = self.conns.get_mut(end.conn) {
            conn.end(end.side).clogged = false;
            self.room(end);
        }
    }

    pub(super) fn apply_fault(&mut self, conn: Key, fate: DrawnFault) {
        let Some(stricken) = self.conns.get_mut(conn) else { return };
        match fate {
            DrawnFault::Stall => {
                stricken.stalled = true;
                self.note(RecordKind::Stall, conn.to_bits(), 0);
            }
            // A connection that is being established is left alone: refusals are drawn separately.
            DrawnFault::Reset if stricken.ends[0].connecting => {}
            DrawnFault::Reset => {
                self.broken(EndId { conn, side: 0 }, errno::CONNRESET);
                self.broken(EndId { conn, side: 1 }, errno::CONNRESET);
            }
        }
    }

    /// Ends the stream in one direction.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn shutdown(&mut self, end: EndId) -> io::Result<()> {
        let conn = self.conns.get_mut(end.conn).ok_or_else(|| os(errno::BADF))?;
        let here = conn.end(end.side);
        if here.dead || here.connecting {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if !std::mem::replace(&mut here.fin_sent, true) {
            self.note(RecordKind::Shutdown, end.bits(), 0);
            self.post(end.other(), DueEvent::Fin(end.other()));
            // A stream that has ended in both directions is reported as hung up.
            self.changed(end);
        }
        Ok(())
    }

    /// Closes an end. With `reset`, or with unread bytes as on Linux, the peer gets a reset and may
    /// lose bytes in flight.
    pub fn close_end(&mut self, end: EndId, reset: bool) {
        let Some(conn) = self.conns.get_mut(end.conn) else { return };
        let other = end.other();
        let here = conn.end(end.side);
        let (unread, fin_sent, dead) = (here.arrived > 0, here.fin_sent, here.dead);
        here.owner = Owner::Closed;
        here.bytes.clear();
        here.arrived = 0;
        let reset = (reset || unread) && !dead;
        self.note(RecordKind::Close, end.bits(), u64::from(reset));
        let peer = self.conns.get_mut(end.conn).expect("it was there just now").end(other.side);
        match peer.owner {
            // The other end was not accepted yet, or is closed.
            Owner::Nobody | Owner::Closed => {
                self.conns.remove(end.conn);
            }
            _ if dead => {}
            _ if reset => {
                let flying = peer.bytes.len() - peer.arrived;
                let keep = peer.arrived + self.up_to(flying as u64) as usize;
                let conn = self.conns.get_mut(end.conn).expect("it was there just now");
                conn.end(other.side).bytes.truncate(keep);
                self.post(other, DueEvent::Reset(other));
            }
            _ if !fin_sent => self.post(other, DueEvent::Fin(other)),
            _ => {}
        }
    }

    /// Takes the pending error of an end.
    pub fn take_error(&mut self, end: EndId) -> io::Result<()> {
        let conn = self.conns.get_mut(end.conn).ok_or_else(|| os(errno::BADF))?;
        conn.end(end.side).error.take().map_or(Ok(()), |error| Err(os(error)))
    }

    /// The end of a handle of the machine.
    pub(crate) fn stream(&mut self, handle: i32) -> io::Result<EndId> {
        match self.handles.get(handle).map(|slot| slot.object) {
            Some(Object::Stream(end)) => Ok(end),
            _ => {
                self.misuse(handle as u64);
                Err(os(errno::BADF))
            }
        }
    }

    /// Closes a handle of the machine.
    pub(crate) fn close(&mut self, handle: i32, reset: bool) {
        match self.handles.get(handle).map_or(Object::Free, |slot| slot.object) {
            Object::Free => self.misuse(handle as u64),
            Object::Listener(key) => {
                self.unwatch_all(handle, 0);
                self.handles.remove(handle);
                self.close_listener(key);
            }
            Object::Datagrams(key) => {
                self.unwatch_all(handle, 0);
                self.handles.remove(handle);
                self.close_copy(key, handle);
            }
            Object::Link(end) => {
                self.unwatch_all(handle, 0);
                self.handles.remove(handle);
                self.close_link(end, handle);
            }
            Object::Stream(end) => {
                let stale = self.conns.get(end.conn).map_or(0, |conn| conn.faults.stale);
                self.unwatch_all(handle, stale);
                self.handles.remove(handle);
                self.close_end(end, reset);
            }
        }
    }

    /// The machine's own address of a connection or listener.
    pub(crate) fn local_address(&self, handle: i32) -> Option<SocketAddr> {
        match self.handles.get(handle)?.object {
            Object::Stream(end) => self.address_of(end),
            Object::Listener(key) => self.listener_address(key),
            Object::Datagrams(key) => self.datagram_address(key),
            Object::Free | Object::Link(_) => None,
        }
    }
}
