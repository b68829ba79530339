//! One side of an HTTP/2 connection as peers use it: frames, header blocks and windows, with random
//! sizes, padding and order.
//!
//! Frame headers and header compression are those of `wire`; the rest is separate code.

use super::channel::Channel;
use super::{Flow, Outgoing, push_body};
use crate::net::Net;
use htx::HeaderId;
use std::collections::BTreeMap;
use wire::h2::frame::{
    self, ACK, END_HEADERS, END_STREAM, FrameHeader, FrameType, HEADER_LEN, PADDED, PRIORITY,
};
use wire::h2::hpack::{self, Decoder};
use wire::h2::{ErrorCode, Settings, encode};

/// The preface: the first bytes that a client sends.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes of the largest frame payload of both sides.
const FRAME: u64 = 16_384;
/// The window of a connection at its start.
const WINDOW: i64 = 65_535;
/// Bytes gathered before they are sent.
const GATHER: usize = 32 << 10;

/// Names and values.
pub(super) type FieldList = Vec<(Vec<u8>, Vec<u8>)>;

/// The consequence of frames of the other side.
#[derive(Debug)]
pub(super) enum H2Event {
    /// A head or trailers; `end`: nothing follows.
    Head { stream: u32, fields: FieldList, end: bool },
    /// Bytes of a body.
    Data { stream: u32, bytes: Vec<u8>, end: bool },
    /// The other side has reset a stream.
    Reset { stream: u32, code: ErrorCode },
    /// The other side handles no streams above this one, with the code of its error.
    GoAway { last: u32, code: ErrorCode },
}

/// A body to be sent: its number, and the range that is left.
#[derive(Clone, Copy, Debug)]
struct Body {
    id: u64,
    offset: u64,
    end: u64,
    /// Whether trailers follow.
    trailers: bool,
    /// The stream never ends.
    endless: bool,
}

/// A stream: bytes that may be sent and received, and what is to be sent.
#[derive(Debug)]
struct Lane {
    window: i64,
    room: i64,
    /// Received bytes that were not given back.
    credit: u32,
    body: Option<Body>,
}

/// Frames of a connection in both directions.
#[derive(Debug)]
pub(super) struct H2Frames {
    /// Bytes of the preface that have not arrived.
    preface: usize,
    input: Vec<u8>,
    out: Outgoing,
    decoder: Decoder,
    own: Settings,
    /// The send window of a stream of the peer, which uses our settings once it has acknowledged
    /// them.
    stream_room: i64,
    peer: Settings,
    window: i64,
    room: i64,
    credit: u32,
    lanes: BTreeMap<u32, Lane>,
    /// A header block that is not complete.
    block: Option<(FrameHeader, Vec<u8>)>,
}

impl H2Frames {
    /// A side that begins with its settings; a client sends the preface before them.
    pub(super) fn new(net: &Net, client: bool) -> Self {
        let windows = [1_000, 20_000, 65_535, 300_000];
        let own = Settings {
            initial_window_size: windows[net.up_to(3) as usize],
            header_table_size: if net.chance(500) { 0 } else { 4_096 },
            max_concurrent_streams: (!client).then(|| 1 + net.up_to(100) as u32),
            enable_push: !client,
            ..Settings::default()
        };
        let mut out = Outgoing::default();
        if client {
            out.bytes.extend_from_slice(PREFACE);
        }
        encode::settings(&own, &mut out.bytes);
        Self {
            preface: if client { 0 } else { PREFACE.len() },
            input: Vec::new(),
            out,
            decoder: Decoder::new(own.header_table_size),
            own,
            stream_room: WINDOW,
            peer: Settings::default(),
            window: WINDOW,
            room: WINDOW,
            credit: 0,
            lanes: BTreeMap::new(),
            block: None,
        }
    }

    /// Streams that the other side allows.
    pub(super) fn allowed_streams(&self) -> u32 {
        self.peer.max_concurrent_streams.unwrap_or(u32::MAX)
    }

    /// Whether everything was sent.
    pub(super) fn is_flushed(&self) -> bool {
        self.out.left() == 0
    }

    /// Bytes that wait to be sent.
    pub(super) fn left(&self) -> usize {
        self.out.left()
    }

    /// Adds received bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    // ---- input

    /// The next event.
    ///
    /// # Errors
    /// The other side's error.
    pub(super) fn next_event(&mut self, net: &Net) -> Result<Option<H2Event>, String> {
        if self.preface > 0 {
            if self.input.len() < PREFACE.len() {
                return Ok(None);
            }
            if !self.input.starts_with(PREFACE) {
                return Err("no preface".into());
            }
            self.input.drain(..PREFACE.len());
            self.preface = 0;
        }
        while let Some(header) = FrameHeader::parse(&self.input) {
            let end = HEADER_LEN + header.len as usize;
            header.check(FRAME as u32).map_err(|code| format!("{header:?}: {}", code.name()))?;
            if self.input.len() < end {
                return Ok(None);
            }
            let payload: Vec<u8> = self.input.drain(..end).skip(HEADER_LEN).collect();
            if let Some(event) = self.handle(net, header, &payload)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn handle(
        &mut self,
        net: &Net,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Option<H2Event>, String> {
        let continues = header.kind == FrameType::Continuation;
        if self.block.is_some() != continues {
            return Err(format!("{header:?} within a header block or outside of one"));
        }
        let stream = header.stream;
        match header.kind {
            FrameType::Headers => {
                let block = frame::headers_block(&header, payload).map_err(|_| "padding")?.0;
                self.block = Some((header, block.to_vec()));
                return self.block_received(header.has(END_HEADERS));
            }
            FrameType::Continuation => {
                if let Some((_, block)) = &mut self.block {
                    block.extend_from_slice(payload);
                }
                return self.block_received(header.has(END_HEADERS));
            }
            FrameType::Data => return self.data_received(net, header, payload),
            FrameType::RstStream => {
                self.lanes.remove(&stream);
                let code = ErrorCode(frame::number(payload));
                return Ok(Some(H2Event::Reset { stream, code }));
            }
            FrameType::GoAway => {
                let code = ErrorCode(frame::number(payload.get(4..).unwrap_or_default()));
                return Ok(Some(H2Event::GoAway { last: frame::number31(payload), code }));
            }
            FrameType::Settings if header.has(ACK) => self.settings_acknowledged(),
            FrameType::Settings => self.settings_received(payload)?,
            FrameType::Ping if !header.has(ACK) => encode::ping_ack(payload, &mut self.out.bytes),
            FrameType::WindowUpdate => {
                self.window_grows(stream, frame::number31(payload).into())?
            }
            FrameType::PushPromise => return Err("a promise".into()),
            _ => {}
        }
        Ok(None)
    }

    fn block_received(&mut self, whole: bool) -> Result<Option<H2Event>, String> {
        if !whole {
            return Ok(None);
        }
        let Some((header, block)) = self.block.take() else { return Ok(None) };
        let mut fields = FieldList::new();
        let note = |name: &[u8], value: &[u8]| fields.push((name.to_vec(), value.to_vec()));
        self.decoder.decode(&block, note).map_err(|_| "header block")?;
        let (stream, end) = (header.stream, header.has(END_STREAM));
        Ok(Some(H2Event::Head { stream, fields, end }))
    }

    fn data_received(
        &mut self,
        net: &Net,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Option<H2Event>, String> {
        let (stream, len) = (header.stream, header.len);
        let mut bytes = payload;
        if header.has(PADDED) {
            let (first, rest) = payload.split_first().ok_or("padding")?;
            let end = rest.len().checked_sub((*first).into()).ok_or("padding")?;
            bytes = &rest[..end];
        }
        self.room -= i64::from(len);
        self.credit += len;
        let lane = self.lanes.get_mut(&stream);
        let lane_room = lane.map(|lane| {
            lane.room -= i64::from(len);
            lane.credit += len;
            lane.room
        });
        if self.room < 0 || lane_room.is_some_and(|room| room < 0) {
            return Err(format!("{header:?} exceeds a window"));
        }
        let end = header.has(END_STREAM);
        self.give_credit(net, stream);
        Ok(Some(H2Event::Data { stream, bytes: bytes.to_vec(), end }))
    }

    /// Gives back windows, some time, but before half of one is used.
    fn give_credit(&mut self, net: &Net, stream: u32) {
        if i64::from(self.credit) * 2 > WINDOW || (self.credit > 0 && net.chance(200)) {
            self.room += i64::from(self.credit);
            encode::window_update(0, std::mem::take(&mut self.credit), &mut self.out.bytes);
        }
        let half = self.own.initial_window_size / 2;
        let Some(lane) = self.lanes.get_mut(&stream) else { return };
        if lane.credit > half || (lane.credit > 0 && net.chance(200)) {
            lane.room += i64::from(lane.credit);
            encode::window_update(stream, std::mem::take(&mut lane.credit), &mut self.out.bytes);
        }
    }

    fn settings_received(&mut self, payload: &[u8]) -> Result<(), String> {
        let before = i64::from(self.peer.initial_window_size);
        self.peer.apply(payload).map_err(|code| format!("settings: {}", code.name()))?;
        let delta = i64::from(self.peer.initial_window_size) - before;
        self.lanes.values_mut().for_each(|lane| lane.window += delta);
        encode::settings_ack(&mut self.out.bytes);
        Ok(())
    }

    fn settings_acknowledged(&mut self) {
        let delta = i64::from(self.own.initial_window_size) - self.stream_room;
        self.stream_room += delta;
        self.lanes.values_mut().for_each(|lane| lane.room += delta);
    }

    fn window_grows(&mut self, stream: u32, by: i64) -> Result<(), String> {
        let window = match stream {
            0 => Some(&mut self.window),
            stream => self.lanes.get_mut(&stream).map(|lane| &mut lane.window),
        };
        if by == 0 {
            return Err("a window grows by nothing".into());
        }
        if let Some(window) = window {
            *window += by;
        }
        Ok(())
    }

    // ---- output

    /// Adds a stream that has begun.
    pub(super) fn open(&mut self, stream: u32) {
        let window = self.peer.initial_window_size.into();
        let lane = Lane { window, room: self.stream_room, credit: 0, body: None };
        self.lanes.entry(stream).or_insert(lane);
    }

    /// Removes a stream and its unsent frames.
    pub(super) fn forget(&mut self, stream: u32) {
        self.lanes.remove(&stream);
    }

    /// Whether a stream has bytes to send.
    pub(super) fn is_sending(&self, stream: u32) -> bool {
        self.lanes.get(&stream).is_some_and(|lane| lane.body.is_some())
    }

    /// Sends a head with random padding and CONTINUATION frames.
    pub(super) fn head(&mut self, net: &Net, stream: u32, fields: &[(&str, &str)], end: bool) {
        let mut block = Vec::new();
        for (name, value) in fields {
            let id = HeaderId::from_lower(name.as_bytes());
            hpack::field(id, name.as_bytes(), value.as_bytes(), &mut block);
        }
        let first =
            if net.chance(100) { net.up_to(block.len() as u64) as usize } else { block.len() };
        let mut payload = Vec::new();
        let padding = if net.chance(100) { 1 + net.up_to(20) as usize } else { 0 };
        let mut flags = if end { END_STREAM } else { 0 };
        if padding > 0 {
            flags |= PADDED;
            payload.push(padding as u8);
        }
        if net.chance(100) {
            flags |= PRIORITY;
            payload.extend_from_slice(&[0, 0, 0, 0, 15]);
        }
        payload.extend_from_slice(&block[..first]);
        payload.resize(payload.len() + padding, 0);
        let whole = first == block.len();
        flags |= if whole { END_HEADERS } else { 0 };
        self.frame(FrameType::Headers, flags, stream, &payload);
        if !whole {
            self.frame(FrameType::Continuation, END_HEADERS, stream, &block[first..]);
        }
    }

    fn frame(&mut self, kind: FrameType, flags: u8, stream: u32, payload: &[u8]) {
        let header = FrameHeader { len: payload.len() as u32, kind, flags, stream };
        self.out.bytes.extend_from_slice(&header.bytes());
        self.out.bytes.extend_from_slice(payload);
    }

    /// Sends a body and ends the stream, as windows allow; `trailers` follow it.
    pub(super) fn body(&mut self, stream: u32, id: u64, length: u64, trailers: bool) {
        if let Some(lane) = self.lanes.get_mut(&stream) {
            let endless = false;
            lane.body = Some(Body { id, offset: 0, end: length, trailers, endless });
        }
    }

    /// Sends a part of a body that never ends.
    pub(super) fn endless_body(&mut self, stream: u32, id: u64, length: u64) {
        if let Some(lane) = self.lanes.get_mut(&stream) {
            let endless = true;
            lane.body = Some(Body { id, offset: 0, end: length, trailers: false, endless });
        }
    }

    pub(super) fn reset(&mut self, stream: u32, code: ErrorCode) {
        self.lanes.remove(&stream);
        encode::rst_stream(stream, code, &mut self.out.bytes);
    }

    pub(super) fn go_away(&mut self, last: u32) {
        encode::go_away(last, ErrorCode::NO_ERROR, &mut self.out.bytes);
    }

    /// Sends frames of bodies, of random streams, and then bytes: up to `most`.
    pub(super) fn flush(&mut self, net: &mut Net, channel: &mut Channel, most: usize) -> Flow {
        while self.out.left() < GATHER && self.window > 0 {
            let ready = |lane: &Lane| match lane.body {
                Some(body) => lane.window > 0 || body.offset == body.end,
                None => false,
            };
            let all: Vec<u32> =
                self.lanes.iter().filter(|(_, lane)| ready(lane)).map(|(key, _)| *key).collect();
            if all.is_empty() {
                break;
            }
            self.data(net, all[net.up_to(all.len() as u64 - 1) as usize]);
        }
        self.out.flush(net, channel, most)
    }

    /// Sends the next DATA frame of a stream.
    fn data(&mut self, net: &Net, stream: u32) {
        let Some(lane) = self.lanes.get_mut(&stream) else { return };
        let Some(mut body) = lane.body else { return };
        let window = lane.window.min(self.window).max(0) as u64;
        let most = window.min(FRAME).min(body.end - body.offset);
        let len = if net.chance(300) { net.up_to(most) } else { most };
        let padding = if net.chance(100) && window.min(FRAME) > len { 1 } else { 0 };
        let last = body.offset + len == body.end;
        let end = last && !body.trailers && !body.endless && net.chance(700);
        let mut payload = Vec::new();
        if padding > 0 {
            // A length of padding of 0.
            payload.push(0);
        }
        push_body(&mut payload, body.id, body.offset, len);
        body.offset += len;
        lane.window -= payload.len() as i64;
        self.window -= payload.len() as i64;
        lane.body = Some(body);
        let over = last && (body.trailers || body.endless);
        if end || over {
            lane.body = None;
        }
        let flags = if end { END_STREAM } else { 0 } | if padding > 0 { PADDED } else { 0 };
        if !payload.is_empty() || end {
            self.frame(FrameType::Data, flags, stream, &payload);
        } else if last && !over {
            lane.body = None;
            self.frame(FrameType::Data, END_STREAM, stream, &[]);
        }
        if last && body.trailers {
            self.head(net, stream, &[("x-trailer", "t")], true);
        }
    }
}
