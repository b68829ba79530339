//! Converters that look a key up in a stick table.

use super::{Converter, conv};
use crate::args::Args;
use crate::facts::Facts;
use crate::tables::with_key;
use crate::value::{Type, Value};
use table::{DataType as D, Entry};

const INT: (Type, Type) = (Type::Any, Type::Int);
const BOOL: (Type, Type) = (Type::Any, Type::Bool);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("in_table", "table", BOOL, "Whether the key is in the table.", in_table),
    conv("table_expire", "table[,integer]", INT, "Milliseconds until the entry expires.", |a, v, f| time(a, v, f, Entry::expires_in)),
    conv("table_idle", "table[,integer]", INT, "Milliseconds since the entry was touched.", |a, v, f| time(a, v, f, Entry::idle)),
    conv("table_trackers", "table", INT, "Connections and streams that track the entry.", |a, v, f| number(0, a, v, f, |entry, _| Some(entry.uses().into()))),
    conv("table_gpc", "integer,table", INT, "A counter of the array.", |a, v, f| element(D::Gpc, a, v, f)),
    conv("table_gpc_rate", "integer,table", INT, "Increments of a counter of the array per period.", |a, v, f| element(D::GpcRate, a, v, f)),
    conv("table_gpt", "integer,table", INT, "A tag of the array.", |a, v, f| element(D::Gpt, a, v, f)),
    conv("table_kbytes_in", "table", INT, "Kilobytes received.", |a, v, f| kilobytes(D::BytesInCnt, a, v, f)),
    conv("table_kbytes_out", "table", INT, "Kilobytes sent.", |a, v, f| kilobytes(D::BytesOutCnt, a, v, f)),
    conv("table_bytes_in_rate", "table", INT, "Bytes received per period.", |a, v, f| stored(D::BytesInRate, a, v, f)),
    conv("table_bytes_out_rate", "table", INT, "Bytes sent per period.", |a, v, f| stored(D::BytesOutRate, a, v, f)),
    conv("table_conn_cnt", "table", INT, "Connections.", |a, v, f| stored(D::ConnCnt, a, v, f)),
    conv("table_conn_cur", "table", INT, "Concurrent connections.", |a, v, f| stored(D::ConnCur, a, v, f)),
    conv("table_conn_rate", "table", INT, "Connections per period.", |a, v, f| stored(D::ConnRate, a, v, f)),
    conv("table_gpc0", "table", INT, "The first counter.", |a, v, f| stored(D::Gpc0, a, v, f)),
    conv("table_gpc0_rate", "table", INT, "Increments of the first counter per period.", |a, v, f| stored(D::Gpc0Rate, a, v, f)),
    conv("table_gpc1", "table", INT, "The second counter.", |a, v, f| stored(D::Gpc1, a, v, f)),
    conv("table_gpc1_rate", "table", INT, "Increments of the second counter per period.", |a, v, f| stored(D::Gpc1Rate, a, v, f)),
    conv("table_gpt0", "table", INT, "The first tag.", |a, v, f| stored(D::Gpt0, a, v, f)),
    conv("table_glitch_cnt", "table", INT, "Breaches of the protocol.", |a, v, f| stored(D::GlitchCnt, a, v, f)),
    conv("table_glitch_rate", "table", INT, "Breaches of the protocol per period.", |a, v, f| stored(D::GlitchRate, a, v, f)),
    conv("table_http_err_cnt", "table", INT, "HTTP errors.", |a, v, f| stored(D::HttpErrCnt, a, v, f)),
    conv("table_http_err_rate", "table", INT, "HTTP errors per period.", |a, v, f| stored(D::HttpErrRate, a, v, f)),
    conv("table_http_fail_cnt", "table", INT, "HTTP failures.", |a, v, f| stored(D::HttpFailCnt, a, v, f)),
    conv("table_http_fail_rate", "table", INT, "HTTP failures per period.", |a, v, f| stored(D::HttpFailRate, a, v, f)),
    conv("table_http_req_cnt", "table", INT, "HTTP requests.", |a, v, f| stored(D::HttpReqCnt, a, v, f)),
    conv("table_http_req_rate", "table", INT, "HTTP requests per period.", |a, v, f| stored(D::HttpReqRate, a, v, f)),
    conv("table_server_id", "table", INT, "The server stored by a stick rule.", |a, v, f| stored(D::ServerId, a, v, f)),
    conv("table_sess_cnt", "table", INT, "Sessions.", |a, v, f| stored(D::SessCnt, a, v, f)),
    conv("table_sess_rate", "table", INT, "Sessions per period.", |a, v, f| stored(D::SessRate, a, v, f)),
];

/// Looks at the entry of a key, in the table named by argument `at`. The outer option: there is
/// such a table and the sample can be a key. The inner `None`: there is no entry.
fn look<T>(
    at: usize,
    args: &Args,
    value: Value<'_>,
    facts: &dyn Facts,
    see: impl FnOnce(&Entry, u64) -> T,
) -> Option<Option<T>> {
    let (table, now) = (args.table(at, facts)?, facts.now_ms());
    with_key(value, table.kind(), |key| table.look(key, now, |entry| see(entry, now)))
}

fn in_table<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    Some(Value::Bool(look(0, args, value, facts, |_, _| ())?.is_some()))
}

/// A number of the entry; 0 without an entry, nothing when it is not stored.
fn number<'e>(
    at: usize,
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
    see: impl FnOnce(&Entry, u64) -> Option<u64>,
) -> Option<Value<'e>> {
    let found = look(at, args, value, facts, see)?;
    Some(Value::Int(found.unwrap_or(Some(0))? as i64))
}

fn stored<'e>(
    data: D,
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
) -> Option<Value<'e>> {
    number(0, args, value, facts, |entry, now| entry.get(data, 0, now))
}

fn kilobytes<'e>(
    data: D,
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
) -> Option<Value<'e>> {
    number(0, args, value, facts, |entry, now| Some(entry.get(data, 0, now)? >> 10))
}

fn element<'e>(
    data: D,
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
) -> Option<Value<'e>> {
    let index = u32::try_from(args.int(0)?).ok()?;
    number(1, args, value, facts, |entry, now| entry.get(data, index, now))
}

/// A time of the entry; the default without an entry.
fn time<'e>(
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
    see: fn(&Entry, u64) -> u64,
) -> Option<Value<'e>> {
    match look(0, args, value, facts, see)? {
        Some(ms) => Some(Value::Int(ms as i64)),
        None => args.int(1).map(Value::Int),
    }
}
