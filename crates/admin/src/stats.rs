//! The statistics of proxies and of the process as typed values.
//!
//! [`Walk`] and [`info::all`] gather, [`csv`], [`typed`] and [`json`] write, [`Listing`] does both.

mod back;
pub mod csv;
pub mod field;
mod front;
pub mod info;
pub mod json;
mod listener;
mod listing;
pub mod modules;
mod server;
#[cfg(test)]
mod tests;
pub(crate) mod times;
pub mod typed;

use balance::OpState;
use engine::state::runtime::Shared;
use engine::state::runtime::{Backend, Frontend, Proxy, ProxySection, Server};
use field::{COLUMNS, COUNT, Column, Field};
pub(crate) use listing::{Listing, Look};
use modules::Subject;
use proxy::frontend::listener::Moment;
use std::ops::Range;
use times::Times;
use transport::stats::counters::{Counters, Event};

/// Origin, nature and scope of a value: the three letters of management.txt 9.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tags(pub &'static str);

/// One value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Value {
    /// Nothing to say.
    #[default]
    Empty,
    /// A number.
    U32(u32),
    /// A signed number.
    S32(i32),
    /// A long number.
    U64(u64),
    /// A number with a fraction, in millionths.
    Micros(u64),
    /// A text.
    Text(String),
}

impl Value {
    /// Whether the value is missing.
    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }

    /// The number; 0 for other types.
    pub fn number(&self) -> u64 {
        match self {
            Self::U32(value) => u64::from(*value),
            Self::U64(value) => *value,
            Self::Micros(value) => *value / 1_000_000,
            Self::S32(value) => u64::try_from(*value).unwrap_or(0),
            Self::Empty | Self::Text(_) => 0,
        }
    }

    /// The text; empty for other types.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The name of its type in typed formats.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "",
            Self::U32(_) => "u32",
            Self::S32(_) => "s32",
            Self::U64(_) => "u64",
            Self::Micros(_) => "flt",
            Self::Text(_) => "str",
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::U32(value) => value.fmt(f),
            Self::S32(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::Micros(value) => {
                let text = format!("{}.{:06}", value / 1_000_000, value % 1_000_000);
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// The subject of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The client side of a proxy.
    Frontend,
    /// The server side of a proxy.
    Backend,
    /// A server.
    Server,
    /// A listener of a proxy.
    Listener,
}

impl Kind {
    /// The number in the `type` column.
    pub fn number(self) -> u32 {
        match self {
            Self::Frontend => 0,
            Self::Backend => 1,
            Self::Server => 2,
            Self::Listener => 3,
        }
    }

    /// Its bit in the selection of `show stat`.
    fn bit(self) -> u32 {
        1 << self.number()
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frontend => "Frontend",
            Self::Backend => "Backend",
            Self::Server => "Server",
            Self::Listener => "Listener",
        }
    }
}

/// The statistics of one object.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject of the row.
    pub kind: Kind,
    /// Number of the proxy.
    pub proxy: u32,
    /// Number in the proxy; 0 for its sides.
    pub id: u32,
    /// Slot of the server; 0 for anything else.
    pub slot: usize,
    values: Vec<Value>,
    /// The figures of modules; empty unless they were asked for.
    modules: Vec<Value>,
}

impl Row {
    fn new(kind: Kind, proxy: &Proxy, id: u32, name: &str) -> Self {
        let (proxy_id, values) = (proxy.settings.id, vec![Value::Empty; COUNT]);
        let mut row = Self { kind, proxy: proxy_id, id, slot: 0, values, modules: Vec::new() };
        row.set(Field::Pxname, proxy.name());
        row.set(Field::Svname, name);
        row.set(Field::Pid, 1u32);
        row.set(Field::Iid, row.proxy);
        row.set(Field::Sid, id);
        row.set(Field::Type, kind.number());
        row
    }

    fn set(&mut self, field: Field, value: impl Into<Value>) {
        self.values[field as usize] = value.into();
    }

    /// The value of a column.
    pub fn get(&self, field: Field) -> &Value {
        &self.values[field as usize]
    }

    /// All values, in the order of the fixed columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The figures of modules, in the order of [`modules::columns`]; nothing unless asked for.
    pub fn modules(&self) -> &[Value] {
        &self.modules
    }

    /// Position, column, tags and value of all present values.
    pub fn present_values(&self) -> impl Iterator<Item = (usize, &'static Column, Tags, &Value)> {
        let fixed = self.values.iter().zip(&COLUMNS).enumerate();
        let fixed =
            fixed.map(|(at, (value, column))| (at, column, column.tags_in(self.kind, at), value));
        let modules = self.modules.iter().zip(modules::columns()).enumerate();
        let modules = modules.map(|(at, (value, column))| (COUNT + at, column, column.tags, value));
        fixed.chain(modules).filter(|(.., value)| !value.is_empty())
    }

    /// Adds the figures of modules, if the filter asks for them.
    fn with_modules(mut self, filter: &Filter, subject: &Subject<'_>) -> Self {
        if filter.modules {
            self.modules = modules::values(subject);
        }
        self
    }
}

/// The time of a report.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Seconds since 1970.
    pub second: u32,
    /// Milliseconds of that second that have passed.
    pub of_second: u32,
    /// Milliseconds on the clock of [`Shared::started`].
    pub ms: u64,
}

impl Clock {
    /// The time of a worker's turn.
    pub fn of(worker: &engine::state::worker::Worker) -> Self {
        let wall_ms = worker.thread.wall() / 1_000_000;
        let (second, of_second) = ((wall_ms / 1_000) as u32, (wall_ms % 1_000) as u32);
        Self { second, of_second, ms: worker.millis() }
    }

    /// The same moment, as the data plane's rates take it.
    fn moment(self) -> Moment {
        Moment { second: self.second, of_second: self.of_second, ms: self.ms }
    }

    fn rate(&self, counters: &Counters, event: Event) -> u32 {
        counters.rate(event, self.second, self.of_second)
    }

    fn seconds_since(&self, ms: u64) -> u32 {
        u32::try_from(self.ms.saturating_sub(ms) / 1_000).unwrap_or(u32::MAX)
    }

    /// Seconds since the last session; -1 without any.
    fn last_session(&self, counters: &Counters) -> Value {
        let age = |last| i32::try_from(self.second.saturating_sub(last)).unwrap_or(i32::MAX);
        Value::S32(counters.last_session().map_or(-1, age))
    }
}

/// Which servers are listed, by their state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum States {
    /// All of them.
    #[default]
    All,
    /// Servers that are up or not checked.
    Up,
    /// All servers except those in maintenance.
    NoMaint,
}

/// A selection of rows.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Number of the proxy; `None` for all.
    pub proxy: Option<u32>,
    /// Bits of kinds: 1 frontends, 2 backends, 4 servers, 8 listeners.
    pub kinds: u32,
    /// Number of the server or listener; `None` for all.
    pub id: Option<u32>,
    /// By state.
    pub states: States,
    /// Part of the proxies' names; empty for all.
    pub scope: String,
    /// Names of proxies (`stats scope`); empty for all.
    pub names: Vec<String>,
    /// Whether addresses, cookies and algorithms are shown.
    pub legends: bool,
    /// Whether the figures of modules are included.
    pub modules: bool,
    /// Whether [`Walk::subject`] is asked for times.
    pub times: bool,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            proxy: None,
            kinds: u32::MAX,
            id: None,
            states: States::All,
            scope: String::new(),
            names: Vec::new(),
            legends: false,
            modules: false,
            times: false,
        }
    }
}

impl Filter {
    fn wants_proxy(&self, proxy: &Proxy) -> bool {
        !proxy.settings.disabled
            && self.proxy.is_none_or(|id| id == proxy.settings.id)
            && proxy.name().contains(&self.scope)
            && (self.names.is_empty() || self.names.iter().any(|name| name == proxy.name()))
    }

    fn wants(&self, kind: Kind) -> bool {
        self.kinds & kind.bit() != 0
    }

    fn wants_listener(&self, id: u32) -> bool {
        self.wants(Kind::Listener) && self.id.is_none_or(|wanted| wanted == id)
    }

    fn wants_server(&self, server: &Server) -> bool {
        let (op, admin) = server.state.state();
        let by_state = match self.states {
            States::All => true,
            States::Up => op != OpState::Stopped && !admin.in_maint(),
            States::NoMaint => !admin.in_maint(),
        };
        by_state && self.id.is_none_or(|id| id == server.state.id())
    }
}

/// The number of servers in one step: in JSON a row takes 16 kB.
const STEP: usize = 8;

/// The progress of a listing of rows. The default is before the first one.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    proxy: usize,
    /// The next server, by slot; the client side comes with the first.
    slot: usize,
    /// The proxy of the rows of the last step.
    last: usize,
    /// Times of the servers of that proxy that were passed.
    times: Times,
}

impl Walk {
    /// Whether the rows of a proxy are complete, and the next step begins with another one.
    pub fn is_between(&self) -> bool {
        self.slot == 0
    }

    /// The subject of a row of the last step; `None` if the server was deleted since.
    pub(crate) fn subject<'a>(&'a self, shared: &'a Shared, row: &Row) -> Option<Subject<'a>> {
        let proxy = &shared.proxies[self.last];
        let (kind, back) = (row.kind, proxy.back.as_ref());
        let subject =
            |server, counters, servers| Some(Subject { proxy, kind, server, counters, servers });
        match kind {
            Kind::Frontend | Kind::Listener => subject(None, &proxy.front.as_ref()?.counters, None),
            Kind::Backend => subject(None, &back?.counters, Some(&self.times)),
            Kind::Server => {
                let server = back?.servers.get(row.slot)?;
                subject(Some(server), &server.counters, None)
            }
        }
    }

    /// The next few rows that a filter wants, of one proxy: its client side, its listeners, the
    /// servers, the server side. `None` behind the last proxy.
    pub fn step(&mut self, shared: &Shared, clock: Clock, filter: &Filter) -> Option<Vec<Row>> {
        let mut proxies = shared.proxies.iter().enumerate().skip(self.proxy);
        let (index, proxy) = proxies.find(|(_, proxy)| filter.wants_proxy(proxy))?;
        let first = if index == self.proxy { self.slot } else { 0 };
        let mut rows = Vec::new();
        if first == 0 {
            self.times = Times::default();
            client_side(shared, proxy, clock, filter, &mut rows);
        }
        (self.proxy, self.slot, self.last) = (index + 1, 0, index);
        let Some(back) = &proxy.back else { return Some(rows) };
        let slots = first..(first + STEP).min(back.servers.slots());
        if filter.modules || filter.times {
            self.times.add(back, &slots);
        }
        let ended = slots.end;
        if filter.wants(Kind::Server) {
            servers((proxy, back), slots, (clock, filter), &mut rows);
        }
        if ended < back.servers.slots() {
            (self.proxy, self.slot) = (index, ended);
        } else if filter.wants(Kind::Backend) {
            let (counters, servers) = (&back.counters, Some(&self.times));
            let subject = Subject { proxy, kind: Kind::Backend, server: None, counters, servers };
            rows.push(back::row(back, clock, filter).with_modules(filter, &subject));
        }
        Some(rows)
    }
}

fn client_side(
    shared: &Shared,
    proxy: &ProxySection,
    clock: Clock,
    filter: &Filter,
    rows: &mut Vec<Row>,
) {
    let Some(front) = &proxy.front else { return };
    let subject = |kind, counters| Subject { proxy, kind, server: None, counters, servers: None };
    if filter.wants(Kind::Frontend) {
        let row = front::row(shared, front, clock);
        rows.push(row.with_modules(filter, &subject(Kind::Frontend, &front.counters)));
    }
    for it in listener::all(front).filter(|it| filter.wants_listener(it.bind.id)) {
        let row = listener::row(shared, front, &it, clock, filter.legends);
        rows.push(row.with_modules(filter, &subject(Kind::Listener, it.counters)));
    }
}

fn servers(
    (proxy, back): (&ProxySection, &Backend),
    slots: Range<usize>,
    (clock, filter): (Clock, &Filter),
    rows: &mut Vec<Row>,
) {
    for slot in slots {
        let server = back.servers.get(slot).filter(|server| filter.wants_server(server));
        let Some(server) = server else { continue };
        let (counters, kind) = (&server.counters, Kind::Server);
        let subject = Subject { proxy, kind, server: Some(server), counters, servers: None };
        let mut row = server::row(back, server, clock, filter.legends);
        row.slot = slot;
        rows.push(row.with_modules(filter, &subject));
    }
}

/// All rows that a filter selects.
pub fn rows(shared: &Shared, clock: Clock, filter: &Filter) -> Vec<Row> {
    let mut walk = Walk::default();
    std::iter::from_fn(|| walk.step(shared, clock, filter)).flatten().collect()
}

/// The state of a listener, by its place among those of its frontend.
pub(crate) fn listener_state(
    shared: &Shared,
    front: &Frontend,
    place: usize,
    clock: Clock,
) -> &'static str {
    listener::status(shared, front, place, clock)
}

/// An address as the page shows it.
pub(crate) fn listener_address(address: &reactor::Address) -> String {
    server::address(address).text().to_owned()
}

fn mode(proxy: &Proxy) -> &'static str {
    match proxy.settings.mode {
        settings::Mode::Tcp if proxy.settings.is_spop => "spop",
        settings::Mode::Tcp => "tcp",
        settings::Mode::Http => "http",
    }
}

fn is_http(proxy: &Proxy) -> bool {
    proxy.settings.mode == settings::Mode::Http
}
