//! The messages of a connection (peers.txt, "Messages").

use crate::varint::{self, VarintError};

/// Class of control messages.
const CONTROL: u8 = 0;
/// Class of error messages.
const ERROR: u8 = 1;
/// Class of messages about tables.
const TABLES: u8 = 10;
/// Types from this one on have a length and a body.
const SIZED: u8 = 0x80;
const DEFINITION: u8 = 0x82;
const SWITCH: u8 = 0x83;
const ACK: u8 = 0x84;

/// A message that steers the synchronization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Control {
    /// Asks for everything.
    ResyncRequest,
    /// Everything has been sent, by a process that is up to date.
    ResyncFinished,
    /// Everything has been sent, by a process that is not up to date itself.
    ResyncPartial,
    /// Answers the two before.
    ResyncConfirmed,
    /// Shows that the process is alive.
    Heartbeat,
}

impl Control {
    const ALL: [Control; 5] = [
        Control::ResyncRequest,
        Control::ResyncFinished,
        Control::ResyncPartial,
        Control::ResyncConfirmed,
        Control::Heartbeat,
    ];

    /// Appends the message.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[CONTROL, self as u8]);
    }
}

/// A breach of the protocol. The error ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum WireError {
    /// A message that makes no sense.
    Protocol,
    /// A message that is longer than a buffer.
    Size,
}

impl WireError {
    /// Appends the message that tells the peer.
    pub fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[ERROR, self as u8]);
    }
}

impl From<VarintError> for WireError {
    fn from(_: VarintError) -> WireError {
        WireError::Protocol
    }
}

/// The kind of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateKind {
    /// Whether the update has no number of its own: it counts one more than the update before.
    pub incremental: bool,
    /// Whether the update has the remaining time of the entry.
    pub timed: bool,
}

impl UpdateKind {
    /// The type byte of the message.
    pub fn byte(self) -> u8 {
        // HAProxy has two pairs with the acknowledgement in between.
        match (self.timed, self.incremental) {
            (false, incremental) => SIZED | u8::from(incremental),
            (true, incremental) => (SIZED | 5) + u8::from(incremental),
        }
    }

    fn of(byte: u8) -> Option<UpdateKind> {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let kinds = kinds.map(|(timed, incremental)| UpdateKind { incremental, timed });
        kinds.into_iter().find(|kind| kind.byte() == byte)
    }
}

/// A message; bodies are not decoded yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Control.
    Control(Control),
    /// The peer complains and will close.
    Error,
    /// The values of one entry.
    Update(UpdateKind, &'a [u8]),
    /// A table is described, which the updates that follow are about.
    Definition(&'a [u8]),
    /// The updates that follow are about a table that was described before.
    Switch(&'a [u8]),
    /// Updates were received.
    Ack(&'a [u8]),
    /// A class or type that is not known. The message has no effect.
    Unknown,
}

impl<'a> Message<'a> {
    /// The first message and its length in bytes; `None` while it is incomplete. A body of more
    /// than `max` bytes is an error.
    pub fn read(bytes: &'a [u8], max: usize) -> Result<Option<(Message<'a>, usize)>, WireError> {
        let [class, kind, rest @ ..] = bytes else { return Ok(None) };
        if *kind < SIZED {
            return Ok(Some((fixed(*class, *kind), 2)));
        }
        let mut behind = rest;
        let len = match varint::take(&mut behind) {
            Ok(len) => len,
            Err(VarintError::Truncated) => return Ok(None),
            Err(VarintError::TooLong) => return Err(WireError::Protocol),
        };
        let len = usize::try_from(len).ok().filter(|len| *len <= max).ok_or(WireError::Size)?;
        let Some(body) = behind.get(..len) else { return Ok(None) };
        let used = bytes.len() - behind.len() + len;
        Ok(Some((sized(*class, *kind, body), used)))
    }
}

fn fixed(class: u8, kind: u8) -> Message<'static> {
    match class {
        CONTROL => match Control::ALL.get(usize::from(kind)) {
            Some(control) => Message::Control(*control),
            None => Message::Unknown,
        },
        ERROR => Message::Error,
        _ => Message::Unknown,
    }
}

fn sized(class: u8, kind: u8, body: &[u8]) -> Message<'_> {
    match (class, kind) {
        (TABLES, DEFINITION) => Message::Definition(body),
        (TABLES, SWITCH) => Message::Switch(body),
        (TABLES, ACK) => Message::Ack(body),
        (TABLES, _) => {
            UpdateKind::of(kind).map_or(Message::Unknown, |it| Message::Update(it, body))
        }
        _ => Message::Unknown,
    }
}

/// Appends a message about tables.
fn put(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.extend_from_slice(&[TABLES, kind]);
    varint::put(out, body.len() as u64);
    out.extend_from_slice(body);
}

/// Appends an update with this body.
pub fn put_update(out: &mut Vec<u8>, kind: UpdateKind, body: &[u8]) {
    put(out, kind.byte(), body);
}

/// Appends a definition with this body.
pub fn put_definition(out: &mut Vec<u8>, body: &[u8]) {
    put(out, DEFINITION, body);
}

/// The acknowledgement of all updates of a table up to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The table, by the number that its teacher gave it.
    pub table: u64,
    /// The number of the update.
    pub update: u32,
}

impl Ack {
    /// Appends the message.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut body = Vec::with_capacity(8);
        varint::put(&mut body, self.table);
        body.extend_from_slice(&self.update.to_be_bytes());
        put(out, ACK, &body);
    }

    /// Reads the body of the message; what follows is for later versions.
    pub fn read(mut body: &[u8]) -> Result<Ack, WireError> {
        let table = varint::take(&mut body)?;
        let update = body.first_chunk().ok_or(WireError::Protocol)?;
        Ok(Ack { table, update: u32::from_be_bytes(*update) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_written() {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for control in Control::ALL {
            control.write(&mut bytes);
            expected.push(Message::Control(control));
        }
        for byte in [0x80, 0x81, 0x85, 0x86] {
            let kind = UpdateKind::of(byte).expect("a type of update");
            put_update(&mut bytes, kind, b"update");
            expected.push(Message::Update(kind, b"update"));
        }
        put_definition(&mut bytes, b"def");
        expected.push(Message::Definition(b"def"));
        WireError::Size.write(&mut bytes);
        expected.push(Message::Error);
        let mut rest = &bytes[..];
        for message in expected {
            for end in 0..rest.len().min(2) {
                assert_eq!(Message::read(&rest[..end], 100), Ok(None));
            }
            let (read, used) = Message::read(rest, 100).expect("valid").expect("whole");
            assert_eq!(read, message);
            rest = &rest[used..];
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn unknown_messages_are_skipped_as_a_whole() {
        for bytes in [&[0, 99][..], &[7, 1], &[10, 0x90, 2, 1, 2], &[99, 0x80, 1, 1], &[255, 0]] {
            assert_eq!(Message::read(bytes, 100), Ok(Some((Message::Unknown, bytes.len()))));
        }
    }

    #[test]
    fn lengths_beyond_the_bound_are_refused_before_the_body_comes() {
        assert_eq!(Message::read(&[10, 0x80, 101], 100), Err(WireError::Size));
        assert_eq!(
            Message::read(&[10, 0x80, 0xff, 0xff, 0xff, 0xff, 0x0f], 100),
            Err(WireError::Size)
        );
        assert_eq!(Message::read(&[10, 0x80, 100, 1], 100), Ok(None));
        let mut bytes = vec![10, 0x84];
        bytes.extend([0xff; 12]);
        assert_eq!(Message::read(&bytes, 100), Err(WireError::Protocol));
    }

    #[test]
    fn acknowledgements_are_those_of_haproxy() {
        let mut bytes = Vec::new();
        Ack { table: 9, update: 2 }.write(&mut bytes);
        assert_eq!(bytes, [10, 0x84, 5, 9, 0, 0, 0, 2]);
        assert_eq!(Ack::read(&bytes[3..]), Ok(Ack { table: 9, update: 2 }));
        assert_eq!(Ack::read(&[9, 0, 0]), Err(WireError::Protocol));
        assert_eq!(Ack::read(&[]), Err(WireError::Protocol));
    }
}
