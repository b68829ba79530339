//! Frames in states that forbid them: h2spec's generic/2, http2/5.1, 5.3 and 5.4.

use super::*;

/// The stream is closed after this, both ways.
const RESET: Frame = Frame(RST_STREAM, 0, 1, b"\0\0\0\x08");
const UPDATE: Frame = Frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\x64");
const RANK: Frame = Frame(PRIORITY, 0, 1, b"\0\0\0\0\x01");

/// A frame on a stream that has ended; the request of that stream has its response.
const fn late(what: &'static str, says: &'static [Frame]) -> Case {
    case("http2/5.1", what, says, Told::Either(STREAM_CLOSED), Got::Answered)
}

pub(super) const CASES: &[Case] = &[
    fine("generic/2", "PRIORITY, idle", &[Frame(PRIORITY, 0, 3, b"\0\0\0\0\x01"), ANSWER]),
    fine("generic/2", "WINDOW_UPDATE, closed", &[ANSWER, UPDATE]),
    fine("generic/2", "PRIORITY, closed", &[ANSWER, RANK]),
    fine("generic/2", "RST_STREAM, closed", &[ANSWER, Frame(RST_STREAM, 0, 1, b"\0\0\0\0")]),
    fatal("http2/5.1", "DATA, idle", &[Frame(DATA, 1, 3, b"a")], PROTOCOL_ERROR),
    fatal("http2/5.1", "HEADERS, idle", &[Frame(HEADERS, 5, 3, b"\x88")], PROTOCOL_ERROR),
    fatal(
        "http2/5.1",
        "RST_STREAM, idle",
        &[Frame(RST_STREAM, 0, 3, b"\0\0\0\x08")],
        PROTOCOL_ERROR,
    ),
    fatal(
        "http2/5.1",
        "WINDOW_UPDATE, idle",
        &[Frame(WINDOW_UPDATE, 0, 3, b"\0\0\0\x64")],
        PROTOCOL_ERROR,
    ),
    fatal("http2/5.1", "CONTINUATION, idle", &[Frame(CONTINUATION, 4, 3, b"")], PROTOCOL_ERROR),
    late("DATA, half closed", &[ANSWER, Frame(DATA, 1, 1, b"a")]),
    late("HEADERS, half closed", &[ANSWER, ANSWER]),
    case(
        "http2/5.1",
        "CONTINUATION, half closed",
        &[ANSWER, Frame(CONTINUATION, 4, 1, b"")],
        Told::GoAway(PROTOCOL_ERROR),
        Got::Answered,
    ),
    case(
        "http2/5.1",
        "DATA, reset",
        &[RESET, Frame(DATA, 1, 1, b"a")],
        Told::Either(STREAM_CLOSED),
        Got::Failed,
    ),
    case("http2/5.1", "HEADERS, reset", &[RESET, ANSWER], Told::Either(STREAM_CLOSED), Got::Failed),
    fatal("http2/5.1.1", "an even stream", &[Frame(HEADERS, 5, 2, b"\x88")], PROTOCOL_ERROR),
    fatal("http2/5.1.1", "DATA on an even stream", &[Frame(DATA, 1, 2, b"a")], PROTOCOL_ERROR),
    case(
        "http2/5.3.1",
        "PRIORITY, on itself",
        &[Frame(PRIORITY, 0, 1, b"\0\0\0\x01\x01")],
        Told::Reset(PROTOCOL_ERROR),
        Got::Failed,
    ),
    case(
        "http2/8.1.4",
        "the request is refused",
        &[Frame(RST_STREAM, 0, 1, b"\0\0\0\x07")],
        Told::Nothing,
        Got::Retried,
    ),
    case(
        "http2/8.1.4",
        "refused after its head",
        &[HEAD, Frame(RST_STREAM, 0, 1, b"\0\0\0\x07")],
        Told::Nothing,
        Got::Cut,
    ),
    fine(
        "http2/8.1",
        "nothing more is wanted of a request that is complete",
        &[ANSWER, Frame(RST_STREAM, 0, 1, &NO_ERROR.to_be_bytes())],
    ),
];
