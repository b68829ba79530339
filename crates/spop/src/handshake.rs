//! HELLO and DISCONNECT frames of both sides (SPOE.txt, sections 3.2.4, 3.2.5, 3.2.8, 3.2.9).

use crate::data::{put_string, take_string};
use crate::frame::{FIN, Frame, FrameId, FrameKind, MIN_FRAME_SIZE};
use crate::{Data, Status};

/// Optional abilities of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Payloads may be sent in several frames.
    pub fragmentation: bool,
    /// Several payloads may wait for their ACKs on one connection.
    pub pipelining: bool,
    /// An ACK may come on another connection of the engine.
    pub is_async: bool,
}

impl Capabilities {
    fn parse(list: &[u8]) -> Self {
        let has = |name: &[u8]| items(list).any(|item| item == name);
        Self {
            fragmentation: has(b"fragmentation"),
            pipelining: has(b"pipelining"),
            is_async: has(b"async"),
        }
    }

    fn text(self) -> &'static [u8] {
        match (self.pipelining, self.is_async) {
            (true, true) => b"pipelining,async",
            (true, false) => b"pipelining",
            (false, true) => b"async",
            (false, false) => b"",
        }
    }
}

fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// HAPROXY-HELLO.
#[derive(Clone, Copy, Debug)]
pub struct Hello<'a> {
    /// Largest frame that this side takes.
    pub max_frame_size: u32,
    /// Abilities to announce; fragmentation is not announced, because only this side sends
    /// fragments.
    pub capabilities: Capabilities,
    /// Identifies the engine on all its connections.
    pub engine_id: &'a [u8],
    /// The connection is a health check: the agent closes it after its HELLO.
    pub healthcheck: bool,
}

impl Hello<'_> {
    /// Appends the frame.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(160);
        let mut pair = |name: &[u8], value: Data<'_>| {
            put_string(name, &mut payload);
            value.put(&mut payload);
        };
        pair(b"supported-versions", Data::String(b"2.0"));
        pair(b"max-frame-size", Data::Uint32(self.max_frame_size));
        pair(b"capabilities", Data::String(self.capabilities.text()));
        match self.healthcheck {
            true => pair(b"healthcheck", Data::Bool(true)),
            false => pair(b"engine-id", Data::String(self.engine_id)),
        }
        put_frame(FrameKind::Hello, &payload, out);
    }
}

/// AGENT-HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentHello {
    /// Largest frame that both sides take.
    pub max_frame_size: u32,
    /// Abilities of the agent.
    pub capabilities: Capabilities,
}

impl AgentHello {
    /// Reads the frame, the answer to a HELLO with this maximum. Unknown items are ignored.
    ///
    /// # Errors
    /// The status to disconnect with.
    pub fn parse(frame: &Frame<'_>, max_frame_size: u32) -> Result<Self, Status> {
        check_connection_frame(frame)?;
        let (mut version, mut size, mut capabilities) = (None, None, None);
        let mut rest = frame.payload;
        while !rest.is_empty() {
            match (take_string(&mut rest)?, Data::take(&mut rest)?) {
                (b"version", Data::String(text)) => version = Some(text),
                (b"max-frame-size", value) => size = Some(value.number().ok_or(Status::Invalid)?),
                (b"capabilities", Data::String(text)) => capabilities = Some(text),
                (b"version" | b"capabilities", _) => return Err(Status::Invalid),
                _ => {}
            }
        }
        let version = version.ok_or(Status::NoVersion)?;
        if !is_supported(version) {
            return Err(Status::BadVersion);
        }
        let size = u32::try_from(size.ok_or(Status::NoFrameSize)?);
        let size = size.ok().filter(|size| (MIN_FRAME_SIZE..=max_frame_size).contains(size));
        Ok(Self {
            max_frame_size: size.ok_or(Status::BadFrameSize)?,
            // As in HAProxy, an agent without the item has no capabilities.
            capabilities: capabilities.map(Capabilities::parse).unwrap_or_default(),
        })
    }
}

/// Whether a version is 2.0, the only one that is announced.
fn is_supported(version: &[u8]) -> bool {
    let minor = version.trim_ascii().strip_prefix(b"2.");
    minor.is_some_and(|minor| !minor.is_empty() && minor.iter().all(|digit| *digit == b'0'))
}

/// HAPROXY-DISCONNECT or AGENT-DISCONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnect<'a> {
    /// The reason.
    pub status: Status,
    /// The same in words.
    pub message: &'a [u8],
}

impl<'a> Disconnect<'a> {
    /// Appends the frame of this side.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(64);
        put_string(b"status-code", &mut payload);
        Data::Uint32(self.status.code().into()).put(&mut payload);
        put_string(b"message", &mut payload);
        Data::String(self.message).put(&mut payload);
        put_frame(FrameKind::Disconnect, &payload, out);
    }

    /// Reads the frame of the agent. Unknown items are ignored.
    ///
    /// # Errors
    /// [`Status::Invalid`]: it is malformed, or an item is missing.
    pub fn parse(frame: &Frame<'a>) -> Result<Self, Status> {
        check_connection_frame(frame)?;
        let (mut status, mut message, mut rest) = (None, None, frame.payload);
        while !rest.is_empty() {
            match (take_string(&mut rest)?, Data::take(&mut rest)?) {
                (b"status-code", value) => status = Some(value.number().ok_or(Status::Invalid)?),
                (b"message", Data::String(text)) => message = Some(text),
                _ => {}
            }
        }
        match (status, message) {
            (Some(status), Some(message)) => Ok(Self { status: Status::of(status), message }),
            _ => Err(Status::Invalid),
        }
    }
}

fn check_connection_frame(frame: &Frame<'_>) -> Result<(), Status> {
    match (frame.has(FIN), frame.id) {
        (false, _) => Err(Status::Fragmentation),
        (true, id) if id == FrameId::default() => Ok(()),
        _ => Err(Status::Invalid),
    }
}

fn put_frame(kind: FrameKind, payload: &[u8], out: &mut Vec<u8>) {
    Frame { kind, flags: FIN, id: FrameId::default(), payload }.put(out);
}
