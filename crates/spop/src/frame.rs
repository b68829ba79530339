//! Frames: length, type, flags, stream and frame id, payload (SPOE.txt, section 3.2).

use stdx::varint;

use crate::Status;
use crate::data::{take_array, take_byte, take_number};

/// Bytes of the length in front of each frame.
pub const LENGTH_LEN: usize = 4;

/// The smallest maximum that can be agreed on.
pub const MIN_FRAME_SIZE: u32 = 256;

/// The payload ends with this frame.
pub const FIN: u32 = 1;
/// The sender gives up the processing of the payload.
pub const ABORT: u32 = 2;

/// A frame type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the frame of the same name")]
pub enum FrameKind {
    /// A further fragment.
    Unset,
    Hello,
    Disconnect,
    Notify,
    AgentHello,
    AgentDisconnect,
    Ack,
    /// Any other type.
    Unknown,
}

impl FrameKind {
    const ALL: [(Self, u8); 7] = [
        (Self::Unset, 0),
        (Self::Hello, 1),
        (Self::Disconnect, 2),
        (Self::Notify, 3),
        (Self::AgentHello, 101),
        (Self::AgentDisconnect, 102),
        (Self::Ack, 103),
    ];

    fn of(number: u8) -> Self {
        let known = Self::ALL.iter().find(|(_, known)| *known == number);
        known.map_or(Self::Unknown, |(kind, _)| *kind)
    }

    fn number(self) -> u8 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(u8::MAX, |(_, number)| *number)
    }
}

/// Identifies a payload on all connections of an engine; both are 0 in HELLO and DISCONNECT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameId {
    /// Stream that the payload belongs to.
    pub stream: u64,
    /// Payload within the stream.
    pub frame: u64,
}

/// A frame, whose payload is a slice of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Type of the frame.
    pub kind: FrameKind,
    /// [`FIN`] and [`ABORT`].
    pub flags: u32,
    /// Stream and frame.
    pub id: FrameId,
    /// Payload, or a fragment of it.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads a frame of at most `max` bytes from the front of `input`. Returns it with its length;
    /// `None` when more bytes are needed.
    ///
    /// # Errors
    /// The frame is too big, which its length alone shows, or malformed.
    pub fn parse(input: &'a [u8], max: u32) -> Result<Option<(Self, usize)>, Status> {
        let Some((&length, rest)) = input.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(length);
        if length > max {
            return Err(Status::TooBig);
        }
        let Some(mut rest) = rest.get(..length as usize) else { return Ok(None) };
        let kind = FrameKind::of(take_byte(&mut rest)?);
        let flags = u32::from_be_bytes(take_array(&mut rest)?);
        let id = FrameId { stream: take_number(&mut rest)?, frame: take_number(&mut rest)? };
        Ok(Some((Self { kind, flags, id, payload: rest }, LENGTH_LEN + length as usize)))
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Appends the frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_LEN]);
        out.push(self.kind.number());
        out.extend_from_slice(&self.flags.to_be_bytes());
        varint::put(out, self.id.stream);
        varint::put(out, self.id.frame);
        out.extend_from_slice(self.payload);
        let length = (out.len() - start - LENGTH_LEN) as u32;
        out[start..start + LENGTH_LEN].copy_from_slice(&length.to_be_bytes());
    }

    /// Bytes of a frame with this id that are no payload, without the length.
    pub fn overhead(id: FrameId) -> usize {
        5 + varint::len(id.stream) + varint::len(id.frame)
    }
}
