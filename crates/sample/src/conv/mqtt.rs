//! Converters of MQTT packets (OASIS MQTT 3.1.1 and 5.0). CONNECT or CONNACK.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args};
use crate::cast::write_int;
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("mqtt_is_valid", "", (Type::Bin, Type::Bool), "Whether it is a valid CONNECT or CONNACK packet of MQTT.", is_valid),
    conv("mqtt_field_value", "string,string", (Type::Bin, Type::Str), "A field or property of a CONNECT or CONNACK packet.", field_value).prepare(field),
];

const CONNECT: u8 = 1;
const CONNACK: u8 = 2;

/// The first bytes of such packets: type and flags.
const FIRST_OF_CONNECT: u8 = CONNECT << 4;
const FIRST_OF_CONNACK: u8 = CONNACK << 4;

/// Fields of fixed place, by packet. Their numbers lie beyond those of properties.
const FIELDS: &[(u8, &str, i64)] = &[
    (CONNECT, "flags", FLAGS),
    (CONNECT, "protocol_name", PROTOCOL_NAME),
    (CONNECT, "protocol_version", PROTOCOL_VERSION),
    (CONNECT, "client_identifier", CLIENT_IDENTIFIER),
    (CONNECT, "will_topic", WILL_TOPIC),
    (CONNECT, "will_payload", WILL_PAYLOAD),
    (CONNECT, "username", USERNAME),
    (CONNECT, "password", PASSWORD),
    (CONNECT, "keepalive", KEEPALIVE),
    (CONNACK, "flags", FLAGS),
    (CONNACK, "protocol_version", PROTOCOL_VERSION),
    (CONNACK, "reason_code", REASON_CODE),
];

const FLAGS: i64 = 256;
const PROTOCOL_NAME: i64 = 257;
const PROTOCOL_VERSION: i64 = 258;
const CLIENT_IDENTIFIER: i64 = 259;
const WILL_TOPIC: i64 = 260;
const WILL_PAYLOAD: i64 = 261;
const USERNAME: i64 = 262;
const PASSWORD: i64 = 263;
const KEEPALIVE: i64 = 264;
const REASON_CODE: i64 = 265;

/// `User Property` may come several times, so it has no single value.
const USER_PROPERTY: u8 = 38;

/// How a property is encoded (MQTT 5.0, section 2.2.2.2).
#[derive(Clone, Copy)]
enum PacketShape {
    Byte,
    Two,
    Four,
    Varint,
    Text,
    Pair,
}

const CONNECT_PROPERTIES: &[u8] = &[17, 33, 39, 34, 25, 23, 21, 22, USER_PROPERTY];
const WILL_PROPERTIES: &[u8] = &[24, 18, 1, 2, 3, 8, 9, USER_PROPERTY];
const CONNACK_PROPERTIES: &[u8] =
    &[17, 33, 36, 37, 39, 18, 34, 31, 40, 41, 42, 19, 26, 28, 21, 22, USER_PROPERTY];

fn shape(property: u8) -> Option<PacketShape> {
    Some(match property {
        1 | 23 | 25 | 36 | 37 | 40 | 41 | 42 => PacketShape::Byte,
        19 | 33 | 34 | 35 => PacketShape::Two,
        2 | 17 | 24 | 39 => PacketShape::Four,
        11 => PacketShape::Varint,
        3 | 8 | 9 | 18 | 21 | 22 | 26 | 28 | 31 => PacketShape::Text,
        USER_PROPERTY => PacketShape::Pair,
        _ => return None,
    })
}

/// The unread rest of a packet.
struct PacketReader<'b>(&'b [u8]);

impl<'b> PacketReader<'b> {
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, len: usize) -> Option<i64> {
        Some(self.take(len)?.iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))
    }

    /// A variable byte integer of at most four bytes (section 1.5.5).
    fn varint(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in [0, 7, 14, 21] {
            let byte = self.take(1)?[0];
            number |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let len = self.number(2)?;
        self.take(len as usize)
    }
}

/// Gets each field and property as it is read.
type Visit<'v, 'b> = &'v mut dyn FnMut(i64, PacketPart<'b>);

enum PacketPart<'b> {
    Number(i64),
    Text(&'b [u8]),
}

/// Reads a whole packet: its type, or nothing when it is not valid.
fn read<'b>(bytes: &'b [u8], visit: Visit<'_, 'b>) -> Option<u8> {
    let mut input = PacketReader(bytes);
    let first = input.take(1)?[0];
    // The low bits are reserved in both packets.
    if first & 0x0f != 0 {
        return None;
    }
    let len = input.varint()?;
    if len != input.0.len() {
        return None;
    }
    match first >> 4 {
        CONNECT => connect(&mut input, visit)?,
        CONNACK => connack(&mut input, visit)?,
        _ => return None,
    }
    input.0.is_empty().then_some(first >> 4)
}

fn connect<'b>(input: &mut PacketReader<'b>, visit: Visit<'_, 'b>) -> Option<()> {
    let name = input.text()?;
    let version = input.number(1)?;
    if !matches!((name, version), (b"MQIsdp", 3) | (b"MQTT", 4 | 5)) {
        return None;
    }
    let flags = input.number(1)?;
    let (will, password, username) = (flags & 4 != 0, flags & 64 != 0, flags & 128 != 0);
    // Reserved bit; quality 3; a quality or retention without a will; a password without a name.
    let quality = flags >> 3 & 3;
    if flags & 1 != 0
        || quality == 3
        || (!will && (quality != 0 || flags & 32 != 0))
        || (version < 5 && password && !username)
    {
        return None;
    }
    visit(PROTOCOL_NAME, PacketPart::Text(name));
    visit(PROTOCOL_VERSION, PacketPart::Number(version));
    visit(FLAGS, PacketPart::Number(flags));
    visit(KEEPALIVE, PacketPart::Number(input.number(2)?));
    if version == 5 {
        properties(input, CONNECT_PROPERTIES, visit)?;
    }
    visit(CLIENT_IDENTIFIER, PacketPart::Text(input.text()?));
    if will {
        if version == 5 {
            properties(input, WILL_PROPERTIES, visit)?;
        }
        visit(WILL_TOPIC, PacketPart::Text(input.text()?));
        visit(WILL_PAYLOAD, PacketPart::Text(input.text()?));
    }
    if username {
        visit(USERNAME, PacketPart::Text(input.text()?));
    }
    if password {
        visit(PASSWORD, PacketPart::Text(input.text()?));
    }
    Some(())
}

fn connack<'b>(input: &mut PacketReader<'b>, visit: Visit<'_, 'b>) -> Option<()> {
    let flags = input.number(1)?;
    let reason = input.number(1)?;
    if flags & !1 != 0 {
        return None;
    }
    // The packet does not name its version, but only version 5 has properties.
    let version = if input.0.is_empty() { 4 } else { 5 };
    visit(FLAGS, PacketPart::Number(flags));
    visit(REASON_CODE, PacketPart::Number(reason));
    visit(PROTOCOL_VERSION, PacketPart::Number(version));
    if version == 5 { properties(input, CONNACK_PROPERTIES, visit) } else { Some(()) }
}

fn properties<'b>(
    input: &mut PacketReader<'b>,
    allowed: &[u8],
    visit: Visit<'_, 'b>,
) -> Option<()> {
    let len = input.varint()?;
    let mut inside = PacketReader(input.take(len)?);
    let mut seen = 0u64;
    while !inside.0.is_empty() {
        let property = inside.take(1)?[0];
        let once = property != USER_PROPERTY;
        // All the numbers are below 64.
        if !allowed.contains(&property) || (once && seen >> property & 1 == 1) {
            return None;
        }
        seen |= 1 << property;
        let piece = match shape(property)? {
            PacketShape::Byte => PacketPart::Number(inside.number(1)?),
            PacketShape::Two => PacketPart::Number(inside.number(2)?),
            PacketShape::Four => PacketPart::Number(inside.number(4)?),
            PacketShape::Varint => PacketPart::Number(inside.varint()? as i64),
            PacketShape::Text => PacketPart::Text(inside.text()?),
            PacketShape::Pair => {
                inside.text()?;
                inside.text()?;
                continue;
            }
        };
        visit(property.into(), piece);
    }
    Some(())
}

/// Whether all the bytes that the header announces are there.
fn is_whole(bytes: &[u8]) -> bool {
    let mut input = PacketReader(bytes.get(1..).unwrap_or_default());
    match input.varint() {
        Some(len) => len <= input.0.len(),
        // Four bytes that all announce another are wrong, not short.
        None => bytes.len() > 4,
    }
}

fn is_valid<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    if bytes.len() > 1 && !matches!(bytes[0], FIRST_OF_CONNECT | FIRST_OF_CONNACK) {
        return Some(Value::Bool(false));
    }
    is_whole(&bytes).then(|| Value::Bool(read(&bytes, &mut |_, _| {}).is_some()))
}

fn field(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let (kind, name) = (args.text(0).to_owned(), args.text(1).to_owned());
    let packet = match kind.to_ascii_lowercase().as_str() {
        "connect" | "1" => CONNECT,
        "connack" | "2" => CONNACK,
        _ => return Err(ArgError::Value(format!("Unknown MQTT type '{kind}'"))),
    };
    let fixed = FIELDS.iter().find(|f| f.0 == packet && f.1.eq_ignore_ascii_case(&name));
    let property = || {
        let id: u8 = name.parse().ok()?;
        let known = match packet {
            CONNECT => CONNECT_PROPERTIES.contains(&id) || WILL_PROPERTIES.contains(&id),
            _ => CONNACK_PROPERTIES.contains(&id),
        };
        (known && id != USER_PROPERTY).then_some(i64::from(id))
    };
    let field = fixed.map(|f| f.2).or_else(property).ok_or_else(|| {
        ArgError::Value(format!("Unknown MQTT field name '{name}' for packet type '{kind}'"))
    })?;
    args.0 = vec![Arg::Int(packet.into()), Arg::Int(field)];
    Ok(())
}

fn field_value<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let (bytes, wanted) = (value.to_bin()?, args.int(1)?);
    let mut found = None;
    let packet = read(&bytes, &mut |field, piece| {
        if field == wanted && found.is_none() {
            found = Some(match piece {
                PacketPart::Text(text) => text.to_vec(),
                PacketPart::Number(number) => {
                    let mut text = Vec::new();
                    write_int(&mut text, number);
                    text
                }
            });
        }
    })?;
    let found =
        found.filter(|text| !text.is_empty() && i64::from(packet) == args.int(0).unwrap_or(0));
    found.map(|text| Value::Str(Bytes::Owned(text)))
}
