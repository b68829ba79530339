//! One connection to an agent: handshake, payloads in flight, their ACKs.

use crate::frame::{ABORT, FIN, Frame, FrameId, FrameKind, MIN_FRAME_SIZE};
use crate::handshake::{AgentHello, Capabilities, Disconnect, Hello};
use crate::notify;
use crate::{Actions, Status};

/// Settings of a connection, from a `spoe-agent` section.
#[derive(Clone, Copy, Debug)]
pub struct SpopSettings<'a> {
    /// `max-frame-size`.
    pub max_frame_size: u32,
    /// `option pipelining`, `option async`, `option send-frag-payload`.
    pub capabilities: Capabilities,
    /// Payloads in flight (`max-waiting-frames`), at least 1.
    pub max_waiting: usize,
    /// Identifies the engine.
    pub engine_id: &'a [u8],
    /// The connection is a health check.
    pub healthcheck: bool,
}

/// Result of submitting a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// Its frames are in the output.
    Sent,
    /// The handshake is under way, or as many payloads as agreed are in flight.
    Wait,
    /// The payload does not fit in a frame, and fragments are not agreed on.
    TooBig,
    /// The connection ends.
    Closed,
}

/// An element of the input.
#[derive(Clone, Debug)]
pub enum Received<'a> {
    /// The handshake is complete.
    Hello(AgentHello),
    /// The actions for a payload; a malformed one ends them.
    Ack(FrameId, Actions<'a>),
    /// The agent has given up a fragmented payload.
    Aborted(FrameId),
    /// An ACK of no payload in flight. With `async`, it may belong to another connection; else it
    /// is late, and the caller ignores it.
    Stray(FrameId, Actions<'a>),
    /// The agent ends the connection.
    Disconnect(Disconnect<'a>),
    /// A frame of an unknown type, which means nothing.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Hello,
    Open(AgentHello),
    Closed(Status),
}

/// The protocol machine of one connection to an agent. Its output is bounded by the payloads in
/// flight.
#[derive(Debug)]
pub struct SpopConn {
    phase: Phase,
    max_frame_size: u32,
    own: Capabilities,
    max_waiting: usize,
    in_flight: Vec<FrameId>,
    /// Payloads in flight that were sent in fragments.
    fragmented: Vec<FrameId>,
    out: Vec<u8>,
    sent: usize,
}

impl SpopConn {
    /// A connection before its first byte. Its output already has the HELLO.
    pub fn new(settings: &SpopSettings<'_>) -> Self {
        let max_frame_size = settings.max_frame_size.max(MIN_FRAME_SIZE);
        let mut out = Vec::with_capacity(256);
        Hello {
            max_frame_size,
            capabilities: settings.capabilities,
            engine_id: settings.engine_id,
            healthcheck: settings.healthcheck,
        }
        .put(&mut out);
        Self {
            phase: Phase::Hello,
            max_frame_size,
            own: settings.capabilities,
            max_waiting: settings.max_waiting.max(1),
            in_flight: Vec::new(),
            fragmented: Vec::new(),
            out,
            sent: 0,
        }
    }

    /// The terms that both sides have agreed on; `None` before the handshake is complete and after
    /// the end.
    pub fn agreed(&self) -> Option<AgentHello> {
        let Phase::Open(agent) = self.phase else { return None };
        let (own, its) = (self.own, agent.capabilities);
        let capabilities = Capabilities {
            fragmentation: own.fragmentation && its.fragmentation,
            pipelining: own.pipelining && its.pipelining,
            is_async: own.is_async && its.is_async,
        };
        Some(AgentHello { capabilities, ..agent })
    }

    /// Why the connection has ended.
    pub fn closed(&self) -> Option<Status> {
        match self.phase {
            Phase::Closed(status) => Some(status),
            _ => None,
        }
    }

    /// Payloads whose ACK has not arrived. All of them have failed when the connection ends.
    pub fn in_flight(&self) -> &[FrameId] {
        &self.in_flight
    }

    /// Payloads that can be submitted now.
    pub fn room(&self) -> usize {
        let Some(agreed) = self.agreed() else { return 0 };
        let overlapping = agreed.capabilities.pipelining || agreed.capabilities.is_async;
        let limit = if overlapping { self.max_waiting } else { 1 };
        limit.saturating_sub(self.in_flight.len())
    }

    /// Sends a payload, whose id must not be in flight.
    pub fn submit(&mut self, id: FrameId, payload: &[u8]) -> Submission {
        let Some(agreed) = self.agreed() else {
            return if self.closed().is_some() { Submission::Closed } else { Submission::Wait };
        };
        let max = agreed.max_frame_size;
        let fragmented = notify::frames(payload.len(), id, max) > 1;
        if fragmented && !agreed.capabilities.fragmentation {
            return Submission::TooBig;
        }
        if self.room() == 0 {
            return Submission::Wait;
        }
        debug_assert!(!self.in_flight.contains(&id), "a frame id is used once per stream");
        notify::put(payload, id, max, &mut self.out);
        self.in_flight.push(id);
        if fragmented {
            self.fragmented.push(id);
        }
        Submission::Sent
    }

    /// Forgets a payload, because its stream is gone or was served. Its ACK becomes a stray one.
    pub fn forget(&mut self, id: FrameId) -> bool {
        self.fragmented.retain(|waiting| *waiting != id);
        let found = self.in_flight.iter().position(|waiting| *waiting == id);
        found.map(|index| self.in_flight.swap_remove(index)).is_some()
    }

    /// Reads one frame from the front of `input`. Returns the frame with the number of bytes to
    /// drop; `None` when more bytes are needed, at most the agreed frame size and four.
    ///
    /// # Errors
    /// The agent has broken the protocol: the output has a DISCONNECT with this status, and all
    /// payloads in flight have failed.
    pub fn receive<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<Option<(Received<'a>, usize)>, Status> {
        if let Phase::Closed(status) = self.phase {
            return Err(status);
        }
        let result = self.frame(input);
        if let Err(status) = result {
            self.disconnect(status);
        }
        result
    }

    fn frame<'a>(&mut self, input: &'a [u8]) -> Result<Option<(Received<'a>, usize)>, Status> {
        let max = self.agreed().map_or(self.max_frame_size, |agreed| agreed.max_frame_size);
        let Some((frame, len)) = Frame::parse(input, max)? else { return Ok(None) };
        let received = match (frame.kind, self.phase) {
            (FrameKind::AgentDisconnect, _) => {
                let disconnect = Disconnect::parse(&frame)?;
                self.phase = Phase::Closed(disconnect.status);
                Received::Disconnect(disconnect)
            }
            (FrameKind::AgentHello, Phase::Hello) => {
                self.phase = Phase::Open(AgentHello::parse(&frame, self.max_frame_size)?);
                Received::Hello(self.agreed().ok_or(Status::Invalid)?)
            }
            (FrameKind::Ack, Phase::Open(_)) => self.ack(&frame)?,
            // Only payloads of this side may be fragmented.
            (FrameKind::Unset, Phase::Open(_)) => return Err(Status::Fragmentation),
            (FrameKind::Unknown, Phase::Open(_)) => Received::Unknown,
            _ => return Err(Status::Invalid),
        };
        Ok(Some((received, len)))
    }

    fn ack<'a>(&mut self, frame: &Frame<'a>) -> Result<Received<'a>, Status> {
        if !frame.has(FIN) {
            return Err(Status::Fragmentation);
        }
        // The flag has no meaning for a payload that was sent in one frame.
        let aborted = frame.has(ABORT) && self.fragmented.contains(&frame.id);
        let actions = Actions::new(frame.payload);
        Ok(match (self.forget(frame.id), aborted) {
            (true, true) => Received::Aborted(frame.id),
            (true, false) => Received::Ack(frame.id, actions),
            (false, _) => Received::Stray(frame.id, actions),
        })
    }

    /// Ends the connection with a DISCONNECT in the output. The payloads in flight stay listed, for
    /// the caller to fail them.
    pub fn disconnect(&mut self, status: Status) {
        if self.closed().is_some() {
            return;
        }
        self.phase = Phase::Closed(status);
        Disconnect { status, message: status.message().as_bytes() }.put(&mut self.out);
    }

    /// Handles the end of the agent's stream.
    pub fn handle_eof(&mut self) {
        if self.closed().is_none() {
            self.phase = Phase::Closed(Status::Io);
        }
    }

    /// Bytes to write.
    pub fn output(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Drops bytes that were written.
    pub fn advance_output(&mut self, written: usize) {
        self.sent = self.out.len().min(self.sent + written);
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        } else if self.sent > self.max_frame_size as usize {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }
}
