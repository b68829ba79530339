//! What processes of the machine hand to each other: copies of handles, and pairs of sockets that
//! keep the bounds of messages. A message arrives at once; a full socket takes no more.

use super::dial::os;
use super::handles::Object;
use super::{Net, errno};
use crate::trace::{RecordKind, digest};
use reactor::Handle;
use std::collections::VecDeque;
use std::io;
use stdx::Key;

/// Bytes that wait in one direction, each message with its costs, as in Linux by default.
const CAPACITY: usize = 200_000;

/// Bytes of the system's records of a message.
const COSTS: usize = 800;

/// One end of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinkEnd {
    link: Key,
    side: usize,
}

/// One direction of a pair, and the handles of the end that reads it.
#[derive(Debug, Default)]
pub(super) struct LinkSide {
    unread: VecDeque<Vec<u8>>,
    bytes: usize,
    handles: Vec<i32>,
}

/// A pair: what each end reads.
pub(super) type Link = [LinkSide; 2];

impl Net {
    /// Opens a pair of connected sockets.
    pub fn link(&mut self) -> (Handle, Handle) {
        let link = self.links.insert(Link::default());
        let [one, other] = [0, 1].map(|side| {
            let handle = self.handles.insert(Object::Link(LinkEnd { link, side }));
            self.link_side(LinkEnd { link, side }).handles.push(handle);
            Handle(handle)
        });
        (one, other)
    }

    /// A copy of the handle of a listening datagram socket or of a link, as another process gets
    /// it. The object lives until its last handle is closed.
    ///
    /// # Panics
    /// The handle is of another kind.
    pub fn duplicate(&mut self, handle: Handle) -> Handle {
        let object = self.handles.get(handle.0).map_or(Object::Free, |slot| slot.object);
        let copy = self.handles.insert(object);
        match object {
            Object::Link(end) => self.link_side(end).handles.push(copy),
            Object::Datagrams(key) => {
                let socket = self.datagram_sockets.get_mut(key).expect("an open socket");
                socket.copies.push(copy);
            }
            _ => panic!("a handle that has no copies"),
        }
        Handle(copy)
    }

    /// Closes a handle of a process that has ended, unless the process has closed it.
    pub fn close_inherited(&mut self, handle: Handle) {
        if self.handles.get(handle.0).is_some() {
            self.close(handle.0, false);
        }
    }

    fn link_side(&mut self, end: LinkEnd) -> &mut LinkSide {
        &mut self.links.get_mut(end.link).expect("a link with open handles")[end.side]
    }

    /// The end of a handle, if it is one of a link.
    pub(crate) fn link_end(&self, handle: i32) -> Option<LinkEnd> {
        match self.handles.get(handle)?.object {
            Object::Link(end) => Some(end),
            _ => None,
        }
    }

    /// Sends a message.
    pub(crate) fn send_message(&mut self, from: LinkEnd, bytes: &[u8]) -> io::Result<usize> {
        let to = LinkEnd { side: 1 - from.side, ..from };
        let side = self.link_side(to);
        if side.handles.is_empty() {
            return Err(os(errno::PIPE));
        }
        let size = bytes.len() + COSTS;
        if side.bytes + size > CAPACITY {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        side.bytes += size;
        side.unread.push_back(bytes.to_vec());
        let handles = side.handles.clone();
        self.note(RecordKind::Datagram, bytes.len() as u64, digest(bytes));
        handles.into_iter().for_each(|handle| self.handle_changed(handle));
        Ok(bytes.len())
    }

    /// Reads the next message, or only looks at it; 0: the other end is closed.
    pub(crate) fn recv_message(
        &mut self,
        end: LinkEnd,
        buffer: &mut [u8],
        takes: bool,
    ) -> io::Result<usize> {
        let closed = self.link_side(LinkEnd { side: 1 - end.side, ..end }).handles.is_empty();
        let side = self.link_side(end);
        let Some(message) = side.unread.front() else {
            return if closed { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        };
        let count = message.len().min(buffer.len());
        buffer[..count].copy_from_slice(&message[..count]);
        if takes {
            side.bytes -= message.len() + COSTS;
            side.unread.pop_front();
        }
        Ok(count)
    }

    /// Whether a read would return something.
    pub(super) fn has_message(&self, end: LinkEnd) -> bool {
        let Some(link) = self.links.get(end.link) else { return false };
        !link[end.side].unread.is_empty() || link[1 - end.side].handles.is_empty()
    }

    /// Closes one handle of an end.
    pub(super) fn close_link(&mut self, end: LinkEnd, handle: i32) {
        let side = self.link_side(end);
        side.handles.retain(|one| *one != handle);
        if !side.handles.is_empty() {
            return;
        }
        let others = self.link_side(LinkEnd { side: 1 - end.side, ..end }).handles.clone();
        if others.is_empty() {
            self.links.remove(end.link);
        }
        others.into_iter().for_each(|handle| self.handle_changed(handle));
    }
}
