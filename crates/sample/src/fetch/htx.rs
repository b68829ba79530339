//! The `internal.*` fetches: a message as a list of blocks, in the shape that HAProxy's debugging
//! aids show.

use super::Source::Call;
use super::{Fetch, INTERNAL, fetch};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{Facts, Side};
use crate::value::{Bytes, Missing, Outcome, Type, Value};
use htx::Head;

const BOTH: &str = "..YYYYYYYYYYYYYYYY.Y..";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("internal.htx.data", "", Type::Int, BOTH, "Bytes of the message's blocks.", Call(data)),
    fetch("internal.htx.free", "", Type::Int, BOTH, "Bytes that the buffer has left.", Call(free)),
    fetch("internal.htx.free_data", "", Type::Int, BOTH, "Bytes that one more block may have.", Call(free_data)),
    fetch("internal.htx.has_eom", "", Type::Bool, BOTH, "Whether the message is complete.", Call(has_eom)),
    fetch("internal.htx.nbblks", "", Type::Int, BOTH, "Number of blocks.", Call(count)),
    fetch("internal.htx.size", "", Type::Int, BOTH, "Bytes that the buffer holds.", Call(size)),
    fetch("internal.htx.used", "", Type::Int, BOTH, "Bytes that the buffer's blocks take.", Call(used)),
    fetch("internal.htx_blk.data", "string", Type::Bin, BOTH, "The content of a data block: head, tail, first, or a number.", Call(block_data)).prepare(position),
    fetch("internal.htx_blk.hdrname", "string", Type::Str, BOTH, "The name in a header block.", Call(block_name)).prepare(position),
    fetch("internal.htx_blk.hdrval", "string", Type::Str, BOTH, "The value in a header block.", Call(block_value)).prepare(position),
    fetch("internal.htx_blk.size", "string", Type::Int, BOTH, "Bytes of a block.", Call(block_size)).prepare(position),
    fetch("internal.htx_blk.start_line", "string", Type::Str, BOTH, "The start line in a block.", Call(block_start)).prepare(position),
    fetch("internal.htx_blk.type", "string", Type::Str, BOTH, "The type of a block.", Call(block_type)).prepare(position),
    fetch("internal.strm.is_htx", "", Type::Bool, INTERNAL, "Whether the stream carries HTTP messages.", Call(is_http)),
];

/// Bytes that a block's descriptor takes in HAProxy, and those that a start line adds to its text.
const DESCRIPTOR: usize = 8;
const START_LINE: usize = 20;

/// The value of a part that blocks of this type lack.
const EMPTY: Value<'static> = Value::Str(Bytes::Borrowed(b""));

/// The last block in the list.
const TAIL: i64 = -1;

fn position(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let number = match args.text(0) {
        "head" | "first" => 0,
        "tail" => TAIL,
        other => match other.parse() {
            Ok(number) if number >= 0 => number,
            _ => {
                return Err(ArgError::Value(format!(
                    "'{other}' is none of 'head', 'tail', 'first' and a positive number"
                )));
            }
        },
    };
    args.0[0] = Arg::Int(number);
    Ok(())
}

/// One block.
enum Block<'e> {
    Start(&'e Head),
    Header(&'e [u8], &'e [u8]),
    EndOfHeaders,
    Data(&'e [u8]),
    Trailer(&'e [u8], &'e [u8]),
    EndOfTrailers,
}

impl Block<'_> {
    fn len(&self) -> usize {
        match self {
            Block::Start(head) => start_line(head).len() + START_LINE - 2,
            Block::Header(name, value) | Block::Trailer(name, value) => name.len() + value.len(),
            Block::EndOfHeaders | Block::EndOfTrailers => 1,
            Block::Data(bytes) => bytes.len(),
        }
    }
}

fn side(facts: &dyn Facts) -> Result<(Side, &Head), Missing> {
    match (facts.response(), facts.request()) {
        (Some(head), _) => Ok((Side::Response, head)),
        (None, Some(head)) => Ok((Side::Request, head)),
        (None, None) => Err(Missing::Absent),
    }
}

fn blocks<'e>(facts: &'e dyn Facts) -> Result<impl Iterator<Item = Block<'e>>, Missing> {
    let (side, head) = side(facts)?;
    Ok(blocks_of(side, head, facts))
}

fn blocks_of<'e>(
    side: Side,
    head: &'e Head,
    facts: &'e dyn Facts,
) -> impl Iterator<Item = Block<'e>> {
    let fields = head.fields().map(|field| Block::Header(field.name, field.value));
    let body = facts.body(side).filter(|bytes| !bytes.is_empty()).map(Block::Data);
    let trailers = facts.trailers(side);
    let fields_behind = trailers.into_iter().flat_map(trailers_of);
    let end = trailers.map(|_| Block::EndOfTrailers);
    let head = std::iter::once(Block::Start(head)).chain(fields).chain([Block::EndOfHeaders]);
    head.chain(body).chain(fields_behind).chain(end)
}

/// Names and values of the lines before the empty one.
fn trailers_of(text: &[u8]) -> impl Iterator<Item = Block<'_>> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some(Block::Trailer(&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// The bytes of one message's blocks: what `req.len` is in HTTP mode.
pub(super) fn message_len(side: Side, facts: &dyn Facts) -> Option<usize> {
    let head = match side {
        Side::Request => facts.request(),
        Side::Response => facts.response(),
    };
    Some(blocks_of(side, head?, facts).map(|block| block.len()).sum())
}

fn start_line(head: &Head) -> Vec<u8> {
    let version = head.version().h1_token().as_bytes();
    if head.is_request() {
        return [head.method(), b" ", head.uri(), b" ", version].concat();
    }
    [version, b" ", head.status().to_string().as_bytes(), b" ", head.reason()].concat()
}

fn int<'e>(number: usize) -> Outcome<'e> {
    Ok(Value::Int(number as i64))
}

fn data<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(blocks(facts)?.map(|block| block.len()).sum())
}

fn count<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(blocks(facts)?.count())
}

fn taken(facts: &dyn Facts) -> Result<usize, Missing> {
    Ok(blocks(facts)?.map(|block| block.len() + DESCRIPTOR).sum())
}

fn used<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(taken(facts)?)
}

fn size<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    side(facts)?;
    int(facts.buffer_size())
}

fn free<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(facts.buffer_size().saturating_sub(taken(facts)?))
}

fn free_data<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(facts.buffer_size().saturating_sub(taken(facts)? + DESCRIPTOR))
}

fn has_eom<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let (side, _) = side(facts)?;
    let buffered = facts.body(side).map_or(0, <[u8]>::len) as u64;
    Ok(Value::Bool(facts.body_size(side).is_none_or(|announced| buffered >= announced)))
}

fn is_http<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(facts.carries_messages() && side(facts).is_ok()))
}

fn block<'e>(args: &'e Args, facts: &'e dyn Facts) -> Result<Block<'e>, Missing> {
    let mut blocks = blocks(facts)?;
    let found = match args.int(0).unwrap_or(0) {
        TAIL => blocks.last(),
        number => usize::try_from(number).ok().and_then(|number| blocks.nth(number)),
    };
    found.ok_or(Missing::Absent)
}

fn block_data<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match block(args, facts)? {
        Block::Data(bytes) => Ok(Value::bin(bytes)),
        _ => Ok(Value::bin(b"")),
    }
}

fn block_name<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match block(args, facts)? {
        Block::Header(name, _) => Ok(Value::str(name)),
        _ => Ok(EMPTY),
    }
}

fn block_value<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match block(args, facts)? {
        Block::Header(_, value) => Ok(Value::str(value)),
        _ => Ok(EMPTY),
    }
}

fn block_size<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    int(block(args, facts)?.len())
}

fn block_start<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    match block(args, facts)? {
        Block::Start(head) => Ok(Value::Str(Bytes::Owned(start_line(head)))),
        _ => Ok(EMPTY),
    }
}

fn block_type<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::str(match block(args, facts)? {
        Block::Start(head) if head.is_request() => b"HTX_BLK_REQ_SL",
        Block::Start(_) => b"HTX_BLK_RES_SL",
        Block::Header(..) => b"HTX_BLK_HDR",
        Block::EndOfHeaders => b"HTX_BLK_EOH",
        Block::Data(_) => b"HTX_BLK_DATA",
        Block::Trailer(..) => b"HTX_BLK_TLR",
        Block::EndOfTrailers => b"HTX_BLK_EOT",
    }))
}
