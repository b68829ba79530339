//! Fetches of the counters of the client's address, `src_*`, and of tables as a whole.

use super::Source::Call;
use super::counter::Ask::{Clear, ClearElement, Element, Kilo, Value as Stored};
use super::counter::Whose::Source;
use super::counter::{FIRST, NTH, SECOND, ask};
use super::{CLIENT, Fetch, INTERNAL, fetch};
use crate::args::Args;
use crate::facts::Facts;
use crate::tables::with_key;
use crate::value::{Missing, Outcome, Type, Value};
use table::DataType as D;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("src_clr_gpc", "integer,table", Type::Int, CLIENT, "Clears a counter of the array and returns what it was, in the entry of the client's address.", Call(|a, f| ask(Source, ClearElement(D::Gpc), a, f))),
    fetch("src_get_gpc", "integer,table", Type::Int, CLIENT, "A counter of the array, in the entry of the client's address.", Call(|a, f| ask(Source, Element(D::Gpc), a, f))),
    fetch("src_get_gpt", "integer,table", Type::Int, CLIENT, "A tag of the array, in the entry of the client's address.", Call(|a, f| ask(Source, Element(D::Gpt), a, f))),
    fetch("src_gpc_rate", "integer,table", Type::Int, CLIENT, "Increments of a counter of the array per period, in the entry of the client's address.", Call(|a, f| ask(Source, Element(D::GpcRate), a, f))),
    fetch("src_inc_gpc", "integer,table", Type::Int, CLIENT, "Increments a counter of the array, in the entry of the client's address.", Call(|a, f| ask(Source, NTH, a, f))),
    fetch("src_bytes_in_rate", "table", Type::Int, CLIENT, "Bytes received per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::BytesInRate), a, f))),
    fetch("src_bytes_out_rate", "table", Type::Int, CLIENT, "Bytes sent per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::BytesOutRate), a, f))),
    fetch("src_clr_gpc0", "table", Type::Int, CLIENT, "Clears the first counter and returns what it was, in the entry of the client's address.", Call(|a, f| ask(Source, Clear(D::Gpc0), a, f))),
    fetch("src_clr_gpc1", "table", Type::Int, CLIENT, "Clears the second counter and returns what it was, in the entry of the client's address.", Call(|a, f| ask(Source, Clear(D::Gpc1), a, f))),
    fetch("src_conn_cnt", "table", Type::Int, CLIENT, "Connections, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::ConnCnt), a, f))),
    fetch("src_conn_cur", "table", Type::Int, CLIENT, "Concurrent connections, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::ConnCur), a, f))),
    fetch("src_conn_rate", "table", Type::Int, CLIENT, "Connections per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::ConnRate), a, f))),
    fetch("src_get_gpc0", "table", Type::Int, CLIENT, "The first counter, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::Gpc0), a, f))),
    fetch("src_get_gpc1", "table", Type::Int, CLIENT, "The second counter, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::Gpc1), a, f))),
    fetch("src_get_gpt0", "table", Type::Int, CLIENT, "The first tag, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::Gpt0), a, f))),
    fetch("src_gpc0_rate", "table", Type::Int, CLIENT, "Increments of the first counter per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::Gpc0Rate), a, f))),
    fetch("src_gpc1_rate", "table", Type::Int, CLIENT, "Increments of the second counter per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::Gpc1Rate), a, f))),
    fetch("src_glitch_cnt", "table", Type::Int, CLIENT, "Breaches of the protocol, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::GlitchCnt), a, f))),
    fetch("src_glitch_rate", "table", Type::Int, CLIENT, "Breaches of the protocol per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::GlitchRate), a, f))),
    fetch("src_http_err_cnt", "table", Type::Int, CLIENT, "HTTP errors, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpErrCnt), a, f))),
    fetch("src_http_err_rate", "table", Type::Int, CLIENT, "HTTP errors per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpErrRate), a, f))),
    fetch("src_http_fail_cnt", "table", Type::Int, CLIENT, "HTTP failures, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpFailCnt), a, f))),
    fetch("src_http_fail_rate", "table", Type::Int, CLIENT, "HTTP failures per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpFailRate), a, f))),
    fetch("src_http_req_cnt", "table", Type::Int, CLIENT, "HTTP requests, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpReqCnt), a, f))),
    fetch("src_http_req_rate", "table", Type::Int, CLIENT, "HTTP requests per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::HttpReqRate), a, f))),
    fetch("src_inc_gpc0", "table", Type::Int, CLIENT, "Increments the first counter, in the entry of the client's address.", Call(|a, f| ask(Source, FIRST, a, f))),
    fetch("src_inc_gpc1", "table", Type::Int, CLIENT, "Increments the second counter, in the entry of the client's address.", Call(|a, f| ask(Source, SECOND, a, f))),
    fetch("src_kbytes_in", "table", Type::Int, CLIENT, "Kilobytes received, in the entry of the client's address.", Call(|a, f| ask(Source, Kilo(D::BytesInCnt), a, f))),
    fetch("src_kbytes_out", "table", Type::Int, CLIENT, "Kilobytes sent, in the entry of the client's address.", Call(|a, f| ask(Source, Kilo(D::BytesOutCnt), a, f))),
    fetch("src_sess_cnt", "table", Type::Int, CLIENT, "Sessions, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::SessCnt), a, f))),
    fetch("src_sess_rate", "table", Type::Int, CLIENT, "Sessions per period, in the entry of the client's address.", Call(|a, f| ask(Source, Stored(D::SessRate), a, f))),
    fetch("src_updt_conn_cnt", "table", Type::Int, CLIENT, "Counts a connection in the entry of the client's address.", Call(update)),
    fetch("table_avl", "table", Type::Int, INTERNAL, "Entries that a table has room for.", Call(available)),
    fetch("table_cnt", "table", Type::Int, INTERNAL, "Entries in a table.", Call(used)),
];

fn update<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let update = || {
        let (table, now) = (args.table(0, facts)?, facts.now_ms());
        let source = Value::from(facts.source()?.ip());
        let count = |entry: &table::Entry| {
            let own = entry.change(now, |counters| counters.add(D::ConnCnt, 0, 1))?;
            Some(entry.of_all(own, (D::ConnCnt, 0), now))
        };
        if !table.stores(D::ConnCnt, 0) {
            return None;
        }
        with_key(source, table.kind(), |key| table.enter(key, now, count))??
    };
    update().map(|count| Value::Int(count as i64)).ok_or(Missing::Absent)
}

fn available<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let table = args.table(0, facts).ok_or(Missing::Absent)?;
    Ok(Value::Int(table.available().into()))
}

fn used<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let table = args.table(0, facts).ok_or(Missing::Absent)?;
    Ok(Value::Int(table.used().into()))
}
