//! NOTIFY: messages with arguments, in one frame or in fragments (SPOE.txt, sections 3.2.6 and
//! 3.3).

use crate::Data;
use crate::data::put_string;
use crate::frame::{ABORT, FIN, Frame, FrameId, FrameKind};

/// Writes the messages of one NOTIFY payload.
#[derive(Debug, Default)]
pub struct MessageWriter {
    payload: Vec<u8>,
    /// Position of the number of arguments of the current message.
    count: Option<usize>,
}

impl MessageWriter {
    /// Removes all messages and keeps the memory.
    pub fn clear(&mut self) {
        self.payload.clear();
        self.count = None;
    }

    /// Begins a message.
    pub fn message(&mut self, name: &[u8]) {
        put_string(name, &mut self.payload);
        self.count = Some(self.payload.len());
        self.payload.push(0);
    }

    /// Appends an argument to the current message; the name may be empty. Returns whether it was
    /// appended: a message has at most 255 arguments.
    pub fn argument(&mut self, name: &[u8], value: Data<'_>) -> bool {
        let count = self.count.and_then(|at| self.payload.get_mut(at));
        let Some(count) = count.filter(|count| **count < u8::MAX) else { return false };
        *count += 1;
        put_string(name, &mut self.payload);
        value.put(&mut self.payload);
        true
    }

    /// The payload so far.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

/// Number of frames that a payload needs; 1 if it fits.
pub fn frames(payload: usize, id: FrameId, max_frame_size: u32) -> usize {
    payload.div_ceil(room(id, max_frame_size)).max(1)
}

fn room(id: FrameId, max_frame_size: u32) -> usize {
    (max_frame_size as usize).saturating_sub(Frame::overhead(id)).max(1)
}

/// Appends a payload: a NOTIFY frame, then fragments.
pub fn put(payload: &[u8], id: FrameId, max_frame_size: u32, out: &mut Vec<u8>) {
    let room = room(id, max_frame_size);
    let mut rest = payload;
    let mut kind = FrameKind::Notify;
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(room));
        let flags = if behind.is_empty() { FIN } else { 0 };
        Frame { kind, flags, id, payload: piece }.put(out);
        if behind.is_empty() {
            return;
        }
        (rest, kind) = (behind, FrameKind::Unset);
    }
}

/// Appends the frame that gives up a payload whose fragments were sent in part.
pub fn put_abort(id: FrameId, out: &mut Vec<u8>) {
    Frame { kind: FrameKind::Unset, flags: FIN | ABORT, id, payload: &[] }.put(out);
}
