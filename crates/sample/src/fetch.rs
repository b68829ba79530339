//! The table of fetch methods: one entry per keyword.

pub mod auth;
pub mod body;
pub mod capture;
pub mod constant;
pub mod cookie;
pub(crate) mod counter;
pub mod filters;
pub mod header;
pub mod hello;
pub mod htx;
pub mod internal;
pub mod layer4;
pub mod request;
pub mod source;
pub mod stream;
pub mod tls;
pub mod tracked;

use crate::args::{Arg, Args, PrepareFn};
use crate::facts::{Count, Facts, Hop, Name, Number, ServerCount, Text, TlsFact};
use crate::place::{Place, Places};
use crate::value::{Missing, Outcome, Type, Value};
use crate::{error, known_keywords, script};

/// Evaluates a fetch.
pub type EvalFn = for<'e> fn(&'e Args, &'e dyn Facts) -> Outcome<'e>;
/// Offers every value of a fetch to a visitor until it returns true; returns whether it did.
pub type EachFn = for<'e> fn(&'e Args, &'e dyn Facts, &mut dyn FnMut(Value<'e>) -> bool) -> bool;

/// Where a fetch gets its sample from. Values that `Facts` itself returns need no function.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A function.
    Call(EvalFn),
    /// A name of something at hand.
    Name(Name),
    /// A text about the connections.
    Text(Text),
    /// A number about the transaction.
    Number(Number),
    /// The same, as a boolean; unknown is false.
    Flag(Number),
    /// An answer about the TLS of a connection.
    Tls(Hop, TlsFact<'static>),
    /// A counter of the proxy named by the argument.
    Count(Count),
    /// A counter of the server named by the argument.
    Server(ServerCount),
    /// The same, as a boolean.
    ServerFlag(ServerCount),
}

/// One fetch method.
#[derive(Debug)]
pub struct Fetch {
    /// Keyword.
    pub name: &'static str,
    /// Arguments, as keyword listings print them.
    pub args: &'static str,
    /// Type of the samples.
    pub out: Type,
    /// Places at which the fetch can yield a sample.
    pub valid: Places,
    /// One line for help and the reference page.
    pub doc: &'static str,
    /// Final checks of the arguments.
    pub prepare: Option<PrepareFn>,
    /// All values of a fetch that may have several; ACLs try each.
    pub each: Option<EachFn>,
    /// Whether its values may take time although all bytes have arrived.
    pub(crate) slow: bool,
    /// Whether it reads the raw bytes of a stream, which HTTP mode does not have.
    pub(crate) unparsed: bool,
    /// Whether its samples depend on the arguments and the request's head alone.
    pub(crate) pure: bool,
    source: Source,
}

/// Valid everywhere.
const ANY: &str = "YYYYYYYYYYYYYYYYYYYYYY";
/// Everywhere but in the configuration parser: needs a running process.
const INTERNAL: &str = "YYYYYYYYYYYYYYYYYYYY.Y";
/// Needs the client connection.
const CLIENT: &str = "YYYYYYYYYYYYYYYYYYYY..";
/// Needs the client session.
const SESSION: &str = "YYYYYYYYYYYYYYYYYYY...";
/// Needs the TLS layer of the client connection.
const CLIENT_TLS: &str = ".YYYYYYYYYYYYYYYYYY...";
/// Needs the request while it is at hand.
const REQUEST: &str = "..YYYYYYYYY...........";
/// Needs something remembered from the request.
const TXN: &str = "..YYYYYYYYYYYYYYYYY...";
/// Needs the backend.
const BACKEND: &str = "......YYYYYYYYYYYYYY..";
/// Needs the server.
const SERVER: &str = "..........YYYYYYYYYY..";
/// Needs the server connection.
const SERVER_CONN: &str = "...........YYYYYYYYY..";
/// Needs the response while it is at hand.
const RESPONSE: &str = "...........YYYYYYY.Y..";

const fn fetch(
    name: &'static str,
    args: &'static str,
    out: Type,
    valid: &'static str,
    doc: &'static str,
    source: Source,
) -> Fetch {
    let valid = Places::parse(valid);
    Fetch {
        name,
        args,
        out,
        valid,
        doc,
        prepare: None,
        each: None,
        slow: false,
        unparsed: false,
        pure: false,
        source,
    }
}

impl Fetch {
    const fn prepare(mut self, prepare: PrepareFn) -> Fetch {
        self.prepare = Some(prepare);
        self
    }

    const fn slow(mut self) -> Fetch {
        self.slow = true;
        self
    }

    const fn unparsed(mut self) -> Fetch {
        self.unparsed = true;
        self
    }

    const fn pure(mut self) -> Fetch {
        self.pure = true;
        self
    }

    const fn each(mut self, each: EachFn) -> Fetch {
        self.each = Some(each);
        self
    }

    /// The sample now.
    pub(crate) fn eval<'e>(&'e self, args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
        let value = match self.source {
            Source::Call(eval) => return eval(args, facts),
            Source::Name(name) => facts.name(name).map(Value::str),
            Source::Text(text) => facts.text(text).map(Value::Str),
            Source::Number(number) => facts.number(number).map(Value::Int),
            Source::Flag(number) => Some(Value::Bool(facts.number(number).unwrap_or(0) != 0)),
            Source::Tls(hop, fact) => facts.tls(hop, fact),
            Source::Count(count) => facts.count(count, args.some_text(0)).map(Value::Int),
            Source::Server(count) => server(count, args, facts).map(Value::Int),
            Source::ServerFlag(count) => {
                server(count, args, facts).map(|value| Value::Bool(value != 0))
            }
        };
        value.ok_or(Missing::Absent)
    }

    /// The name of the missing data where the fetch is not valid, in HAProxy's words.
    pub fn needs(&self) -> &'static str {
        match self.valid {
            v if v == Places::parse(REQUEST) && self.is_payload() => "buffered request payload",
            v if v == Places::parse(REQUEST) => "HTTP request headers",
            v if v == Places::parse(RESPONSE) => "HTTP response headers",
            v if v == Places::parse(BACKEND) => "backend",
            v if v == Places::parse(SERVER) => "server",
            v if v == Places::parse(SERVER_CONN) => "server connection",
            v if v == Places::parse(CLIENT_TLS) => "client connection",
            v if v.holds(Place::FeTcpConnection) => "internal state",
            _ => "request or response",
        }
    }

    fn is_payload(&self) -> bool {
        self.name.starts_with("req.body") || self.name.starts_with("req.len")
    }
}

fn server(count: ServerCount, args: &Args, facts: &dyn Facts) -> Option<i64> {
    match args.get(0) {
        Arg::Server(backend, server) => facts.server_count(count, backend.as_deref(), server),
        _ => None,
    }
}

/// The entry that represents the fetches of scripts.
pub(crate) const fn of_scripts(eval: EvalFn) -> Fetch {
    const DOC: &str = "Calls a function that a script has registered.";
    fetch("lua.", "[<arg>...]", Type::Str, ANY, DOC, Source::Call(eval))
}

/// Every table; each is sorted by meaning, and names are unique over all.
const TABLES: &[&[Fetch]] = &[
    auth::TABLE,
    constant::TABLE,
    layer4::TABLE,
    tls::TABLE,
    request::TABLE,
    header::TABLE,
    cookie::TABLE,
    body::TABLE,
    stream::TABLE,
    hello::TABLE,
    htx::TABLE,
    capture::TABLE,
    internal::TABLE,
    tracked::TABLE,
    source::TABLE,
    filters::TABLE,
];

/// All the fetch methods that work.
pub fn all() -> impl Iterator<Item = &'static Fetch> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The fetch called `name`.
pub fn find(name: &str) -> Option<&'static Fetch> {
    all().find(|fetch| fetch.name == name)
}

/// The message about a fetch that [`find`] does not know.
pub(crate) fn unknown(name: &str) -> String {
    if name.starts_with(script::PREFIX) {
        return format!("unknown fetch method '{name}': no script has registered it");
    }
    if known_keywords::fetches().any(|known| known == name) {
        return format!(
            "fetch method '{name}' is not implemented yet{}",
            known_keywords::reason(name)
        );
    }
    let hint = error::hint(name, all().map(|fetch| fetch.name).chain(known_keywords::fetches()));
    format!("unknown fetch method '{name}'{hint}")
}

#[cfg(test)]
pub(crate) mod tests;
