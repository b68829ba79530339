//! Unidirectional streams of the peer: its control stream, and those of QPACK.

use super::conn::{H3Conn, H3Error};
use super::send::{Abort, Target};
use wire::h3::{H3ErrorCode, H3FrameHeader, H3FrameType, H3Settings, StreamType, varint};

/// Largest frame of a control stream that is not ignored.
const MAX_FRAME: u64 = 4_096;

/// Most unidirectional streams of a peer at a time.
const MAX_STREAMS: usize = 32;

/// The use of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The type has not arrived.
    Unknown,
    Control,
    Encoder,
    Decoder,
    /// A type without meaning here.
    Ignored,
}

/// A unidirectional stream of the peer.
#[derive(Debug)]
pub(super) struct PeerStream {
    id: u64,
    kind: Use,
    /// Received bytes that were not handled.
    held: Vec<u8>,
    /// Payload of an ignored frame to come.
    skip: u64,
    /// A number of the decoder stream continues.
    in_number: bool,
}

impl H3Conn {
    fn peer_stream(&mut self, id: u64) -> Result<usize, H3Error> {
        if let Some(at) = self.peer_streams.iter().position(|stream| stream.id == id) {
            return Ok(at);
        }
        if self.peer_streams.len() >= MAX_STREAMS {
            return Err(self.fail(H3ErrorCode::EXCESSIVE_LOAD, "too many unidirectional streams"));
        }
        let held = Vec::new();
        let stream = PeerStream { id, kind: Use::Unknown, held, skip: 0, in_number: false };
        self.peer_streams.push(stream);
        Ok(self.peer_streams.len() - 1)
    }

    pub(super) fn receive_control(&mut self, id: u64, bytes: &[u8]) -> Result<(), H3Error> {
        let at = self.peer_stream(id)?;
        let stream = &mut self.peer_streams[at];
        if stream.kind != Use::Unknown {
            return self.dispatch(at, bytes);
        }
        stream.held.extend_from_slice(bytes);
        let Some((kind, size)) = varint::decode(&stream.held) else { return Ok(()) };
        let mut held = std::mem::take(&mut stream.held);
        held.drain(..size);
        self.begin_use(at, StreamType(kind))?;
        self.dispatch(at, &held)
    }

    /// Decides on the use of a stream.
    fn begin_use(&mut self, at: usize, kind: StreamType) -> Result<(), H3Error> {
        let kind = match kind {
            StreamType::CONTROL => Use::Control,
            StreamType::QPACK_ENCODER => Use::Encoder,
            StreamType::QPACK_DECODER => Use::Decoder,
            StreamType::PUSH => {
                let reason = "push stream of a client";
                return Err(self.fail(H3ErrorCode::STREAM_CREATION_ERROR, reason));
            }
            _ => Use::Ignored,
        };
        let again = self.peer_streams.iter().any(|stream| stream.kind == kind);
        if again && kind != Use::Ignored {
            let reason = "second stream of a type that is unique";
            return Err(self.fail(H3ErrorCode::STREAM_CREATION_ERROR, reason));
        }
        let stream = &mut self.peer_streams[at];
        stream.kind = kind;
        if kind == Use::Ignored {
            let (stream, code) = (stream.id, H3ErrorCode::STREAM_CREATION_ERROR);
            self.aborts.push_back(Abort { stream, code, sends: false, receives: true });
            self.count_idle_frame()?;
            self.peer_streams.swap_remove(at);
        }
        Ok(())
    }

    fn dispatch(&mut self, at: usize, bytes: &[u8]) -> Result<(), H3Error> {
        let Some(stream) = self.peer_streams.get_mut(at) else { return Ok(()) };
        match stream.kind {
            Use::Control => {
                let mut held = std::mem::take(&mut stream.held);
                held.extend_from_slice(bytes);
                let taken = self.control_frames(at, &held)?;
                held.drain(..taken);
                self.peer_streams[at].held = held;
                Ok(())
            }
            Use::Encoder => self.encoder_instructions(bytes),
            Use::Decoder => self.decoder_instructions(at, bytes),
            Use::Unknown | Use::Ignored => Ok(()),
        }
    }

    /// Handles the end or reset of a unidirectional stream.
    pub(super) fn end_control(&mut self, id: u64) -> Result<(), H3Error> {
        let Some(at) = self.peer_streams.iter().position(|stream| stream.id == id) else {
            return Ok(());
        };
        match self.peer_streams[at].kind {
            Use::Unknown | Use::Ignored => {
                self.peer_streams.swap_remove(at);
                self.count_idle_frame()
            }
            _ => Err(self.fail(H3ErrorCode::CLOSED_CRITICAL_STREAM, "end of a critical stream")),
        }
    }

    // ---- QPACK

    fn encoder_instructions(&mut self, bytes: &[u8]) -> Result<(), H3Error> {
        if self.decoder.handle_instructions(bytes).is_err() {
            let reason = "invalid encoder instruction";
            return Err(self.fail(H3ErrorCode::QPACK_ENCODER_STREAM_ERROR, reason));
        }
        self.unblock()?;
        let mut instruction = Vec::new();
        self.decoder.report(&mut instruction);
        if !instruction.is_empty() {
            self.write_own(Target::Decoder, |out| out.extend_from_slice(&instruction));
        }
        Ok(())
    }

    /// Handles instructions of the peer's decoder. Our encoder inserts nothing, so only
    /// cancellations are valid, and they have no effect.
    fn decoder_instructions(&mut self, at: usize, bytes: &[u8]) -> Result<(), H3Error> {
        for byte in bytes {
            let stream = &mut self.peer_streams[at];
            if stream.in_number {
                stream.in_number = byte & 0x80 != 0;
            } else if byte & 0xc0 == 0x40 {
                stream.in_number = byte & 0x3f == 0x3f;
            } else {
                let reason = "decoder instruction about entries that do not exist";
                return Err(self.fail(H3ErrorCode::QPACK_DECODER_STREAM_ERROR, reason));
            }
        }
        Ok(())
    }

    // ---- frames

    fn control_frames(&mut self, at: usize, input: &[u8]) -> Result<usize, H3Error> {
        let mut taken = 0;
        loop {
            let skip = &mut self.peer_streams[at].skip;
            let skipped = (input.len() - taken).min(usize::try_from(*skip).unwrap_or(usize::MAX));
            *skip -= skipped as u64;
            taken += skipped;
            let rest = &input[taken..];
            let Some((header, size)) = H3FrameHeader::decode(rest) else { return Ok(taken) };
            if self.peer.is_none() && header.kind != H3FrameType::SETTINGS {
                let reason = "control stream without SETTINGS first";
                return Err(self.fail(H3ErrorCode::MISSING_SETTINGS, reason));
            }
            if !header.kind.is_known() && !header.kind.is_of_h2() {
                self.count_idle_frame()?;
                self.peer_streams[at].skip = header.len;
                taken += size;
                continue;
            }
            if header.len > MAX_FRAME {
                return Err(self.fail(H3ErrorCode::EXCESSIVE_LOAD, "control frame too large"));
            }
            let Some(payload) = rest.get(size..size + header.len as usize) else {
                return Ok(taken);
            };
            self.control_frame(header.kind, payload)?;
            taken += size + payload.len();
        }
    }

    fn control_frame(&mut self, kind: H3FrameType, payload: &[u8]) -> Result<(), H3Error> {
        match kind {
            H3FrameType::SETTINGS if self.peer.is_none() => {
                self.counters.settings += 1;
                match H3Settings::decode(payload) {
                    Ok(settings) => self.peer = Some(settings),
                    Err(code) => return Err(self.fail(code, "invalid SETTINGS")),
                }
                Ok(())
            }
            H3FrameType::GOAWAY => {
                self.counters.go_aways += 1;
                let id = self.number(payload)?;
                if self.peer_go_away.is_some_and(|before| id > before) {
                    return Err(self.fail(H3ErrorCode::ID_ERROR, "GOAWAY that takes back another"));
                }
                self.peer_go_away = Some(id);
                self.count_idle_frame()
            }
            H3FrameType::MAX_PUSH_ID => {
                self.counters.max_push_ids += 1;
                let id = self.number(payload)?;
                if self.max_push_id.is_some_and(|before| id < before) {
                    return Err(self.fail(H3ErrorCode::ID_ERROR, "smaller MAX_PUSH_ID"));
                }
                self.max_push_id = Some(id);
                self.count_idle_frame()
            }
            H3FrameType::CANCEL_PUSH => {
                self.counters.cancelled_pushes += 1;
                let id = self.number(payload)?;
                if self.max_push_id.is_none_or(|most| id > most) {
                    return Err(self.fail(H3ErrorCode::ID_ERROR, "CANCEL_PUSH beyond the limit"));
                }
                self.count_idle_frame()
            }
            H3FrameType::PRIORITY_UPDATE | H3FrameType::PRIORITY_UPDATE_PUSH => {
                self.priority_update(kind, payload)
            }
            _ => {
                let reason = "frame that a control stream does not have";
                Err(self.fail(H3ErrorCode::FRAME_UNEXPECTED, reason))
            }
        }
    }

    /// Checks the stream of a priority (RFC 9218 section 7.2). Responses are sent in the order of
    /// requests, so it has no effect.
    fn priority_update(&mut self, kind: H3FrameType, payload: &[u8]) -> Result<(), H3Error> {
        let Some((id, _)) = varint::decode(payload) else {
            return Err(self.fail(H3ErrorCode::FRAME_ERROR, "truncated PRIORITY_UPDATE"));
        };
        let wrong = match kind {
            H3FrameType::PRIORITY_UPDATE => id % 4 != 0,
            _ => self.max_push_id.is_none_or(|most| id > most),
        };
        if wrong {
            return Err(self.fail(H3ErrorCode::ID_ERROR, "PRIORITY_UPDATE of no request"));
        }
        self.count_idle_frame()
    }

    /// The number that is the whole payload of a frame.
    fn number(&mut self, payload: &[u8]) -> Result<u64, H3Error> {
        match varint::decode(payload) {
            Some((number, size)) if size == payload.len() => Ok(number),
            _ => Err(self.fail(H3ErrorCode::FRAME_ERROR, "frame of a wrong length")),
        }
    }
}
