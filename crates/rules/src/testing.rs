//! A transaction for tests: everything is a field.

use crate::BandwidthValues;
use crate::action::Track;
use crate::bandwidth::BandwidthLimit;
use crate::context::{Context, Family, Limit, LogLevel};
use crate::{Cursor, Rule, RuleSet, RuleSetKind, Verdict};
use crate::{NoErrorFiles, Rendered};
use htx::{Head, Version};
use sample::vars::{VarName, VarState, Variables};
use sample::{AclTable, CaptureSlot, Captures, Facts, ParseError, Parser, Shared, Side, Value};
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use table::{Entry, Key, Table, Trackers};

pub(crate) struct Transaction {
    pub(crate) request: Head,
    pub(crate) response: Option<Head>,
    pub(crate) room: usize,
    pub(crate) failed_rewrites: u32,
    pub(crate) level: Option<LogLevel>,
    pub(crate) nice: i32,
    /// The effects of actions on the connection, as text.
    pub(crate) deeds: Vec<String>,
    pub(crate) last_rule: Option<(Arc<str>, u32)>,
    pub(crate) is_final: bool,
    /// Whether an answer is awaited.
    pub(crate) is_asked: bool,
    pub(crate) payload: Vec<u8>,
    pub(crate) vars: Variables,
    pub(crate) captured: RefCell<Vec<(Side, usize, Vec<u8>)>>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) tables: Vec<Table>,
    pub(crate) trackers: Trackers,
    pub(crate) session: Trackers,
}

impl Default for Transaction {
    fn default() -> Self {
        let mut request = Head::default();
        request.set_request(b"GET", b"/a/b?x=1", Version::Http11);
        for (name, value) in
            [("Host", "h.example"), ("X-L", "one, two,three"), ("X-L", "two"), ("X-Z", "z")]
        {
            request.push(name.as_bytes(), value.as_bytes());
        }
        Transaction {
            request,
            response: None,
            room: 1024,
            failed_rewrites: 0,
            level: None,
            nice: 0,
            deeds: Vec::new(),
            last_rule: None,
            is_final: true,
            is_asked: false,
            payload: Vec::new(),
            vars: Variables::default(),
            captured: RefCell::default(),
            scratch: Vec::new(),
            tables: Vec::new(),
            trackers: Trackers::default(),
            session: Trackers::default(),
        }
    }
}

impl Transaction {
    pub(crate) fn with_response() -> Transaction {
        let mut response = Head::default();
        response.set_response(Version::Http11, 200, b"OK");
        response.push(b"server", b"x");
        Transaction { response: Some(response), ..Transaction::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'static>> {
        self.vars.get(&VarName::parse(name).expect("a name"))
    }
}

impl Facts for Transaction {
    fn request(&self) -> Option<&Head> {
        (!self.request.is_empty()).then_some(&self.request)
    }

    fn response(&self) -> Option<&Head> {
        self.response.as_ref()
    }

    fn payload(&self, _: Side) -> Option<&[u8]> {
        Some(&self.payload)
    }

    fn is_final(&self) -> bool {
        self.is_final
    }

    fn source(&self) -> Option<SocketAddr> {
        "10.1.2.3:99".parse().ok()
    }

    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.vars.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.vars.state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.vars.set(name, value);
    }

    fn table(&self, number: usize) -> Option<&Table> {
        self.tables.get(number)
    }

    fn tracked(&self, slot: usize) -> Option<&Entry> {
        self.trackers.get(slot).or_else(|| self.session.get(slot))
    }

    fn set_capture(&self, side: Side, slot: usize, content: &[u8]) -> bool {
        self.captured.borrow_mut().push((side, slot, content.to_vec()));
        true
    }
}

impl Context for Transaction {
    fn resolve(
        &mut self,
        resolvers: &Arc<str>,
        (name, family): (&str, Family),
        variable: &Arc<VarName>,
    ) {
        self.deeds.push(format!("resolve {name} by {resolvers} {family:?} {variable:?}"));
        self.is_asked = true;
    }

    fn ask(&mut self, asker: usize) {
        self.deeds.push(format!("ask {asker}"));
        self.is_asked = asker > 0;
    }

    fn is_asked(&self) -> bool {
        self.is_asked
    }

    fn head_mut(&mut self, side: Side) -> Option<&mut Head> {
        match side {
            Side::Request => Some(&mut self.request),
            Side::Response => self.response.as_mut(),
        }
    }

    fn rewrite_room(&self, _: Side) -> usize {
        self.room
    }

    fn count_failed_rewrite(&mut self) {
        self.failed_rewrites += 1;
    }

    fn set_log_level(&mut self, level: LogLevel) {
        self.level = Some(level);
    }

    fn set_last_rule(&mut self, file: &Arc<str>, line: u32) {
        self.last_rule = Some((file.clone(), line));
    }

    fn track(&self, rule: &Track, table: usize, key: &Key<'_>) {
        let trackers = if rule.session { &self.session } else { &self.trackers };
        trackers.set(rule.slot, self.tables[table].track(key, 0, &[]).expect("there is room"));
    }

    fn set_nice(&mut self, nice: i32) {
        self.nice = nice;
    }

    fn set_source(&mut self, address: SocketAddr) {
        self.deeds.push(format!("src {address}"));
    }

    fn set_destination(&mut self, address: SocketAddr) {
        self.deeds.push(format!("dst {address}"));
    }

    fn set_mark(&mut self, mark: u32) {
        self.deeds.push(format!("mark {mark}"));
    }

    fn set_tos(&mut self, tos: u8) {
        self.deeds.push(format!("tos {tos}"));
    }

    fn set_limit(&mut self, limit: Limit, span: u32) {
        self.deeds.push(format!("{limit:?} {span}"));
    }

    fn set_priority_class(&mut self, class: i16) {
        self.deeds.push(format!("class {class}"));
    }

    fn set_priority_offset(&mut self, offset: i32) {
        self.deeds.push(format!("offset {offset}"));
    }

    fn set_bandwidth_limit(&mut self, filter: &Arc<BandwidthLimit>, values: BandwidthValues) {
        self.deeds.push(match values {
            BandwidthValues::Stream { limit, period } => {
                format!("{} {limit}/{period}", filter.name)
            }
            BandwidthValues::Shared { limit, table, key } => {
                format!("{} {limit} of {:?} in {table}", filter.name, &key[..])
            }
        });
    }

    fn disable_retry(&mut self) {
        self.deeds.push("no retry".to_owned());
    }

    fn use_cache(&mut self, name: &Arc<str>) -> bool {
        self.deeds.push(format!("look in {name}"));
        &**name == "full"
    }

    fn store_in_cache(&mut self, name: &Arc<str>) {
        self.deeds.push(format!("store in {name}"));
    }

    fn early_hint(&mut self, name: &[u8], value: &[u8]) {
        let text = String::from_utf8_lossy;
        self.deeds.push(format!("hint {}: {}", text(name), text(value)));
    }

    fn take_scratch(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.scratch)
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.scratch = scratch;
    }
}

fn files(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("page") => Ok(b"<p>%[src]</p>".to_vec()),
        Some("empty") => Ok(Vec::new()),
        Some("err.http") => Ok(b"HTTP/1.0 404 Gone\r\nX-E: 1\r\n\r\nbye".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

pub(crate) fn with_parser<T>(run: impl FnOnce(&mut Parser<'_>) -> T) -> T {
    let env = |_: &str| None;
    let shared = Shared::new(&files, &env);
    let (acls, captures) = (AclTable::default(), Captures::default());
    captures.request.borrow_mut().push(CaptureSlot { header: None, len: 8 });
    captures.response.borrow_mut().push(CaptureSlot { header: None, len: 8 });
    let mut cx = Parser::new(&shared, &acls, &captures);
    cx.file = "t.cfg".into();
    run(&mut cx)
}

/// Words as a configuration file would give them: a backslash keeps a space in its word.
pub(crate) fn words(line: &str) -> Vec<String> {
    let marked = line.replace("\\ ", "\u{1}");
    marked.split(' ').map(|word| word.replace('\u{1}', " ")).collect()
}

pub(crate) fn parse(
    ruleset: RuleSetKind,
    line: &str,
    cx: &mut Parser<'_>,
) -> Result<Rule, ParseError> {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Rule::parse(ruleset, &words, cx)
}

pub(crate) fn compile(ruleset: RuleSetKind, lines: &[&str]) -> RuleSet {
    with_parser(|cx| {
        let mut rules = RuleSet::new(ruleset);
        for line in lines {
            cx.line += 1;
            rules.push(parse(ruleset, line, cx).unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        for mention in cx.shared.tables.take() {
            let names = ["ips", "arrays"];
            if let Some(number) = names.iter().position(|it| *it == mention.table.name()) {
                mention.table.resolve(number);
            }
        }
        rules
    })
}

/// The verdict as text: its name, then the reply it renders to.
pub(crate) fn run(ruleset: RuleSetKind, lines: &[&str], cx: &mut Transaction) -> String {
    let rules = compile(ruleset, lines);
    let (mut head, mut body) = (Head::default(), Vec::new());
    let (name, reply) = match rules.evaluate(Cursor::default(), cx) {
        Verdict::Deny(reply) => ("deny", reply),
        Verdict::Tarpit(reply) => ("tarpit", reply),
        Verdict::Return(reply) => ("return", reply),
        Verdict::Redirect(redirect) => {
            redirect.render(cx, &mut head, &mut body);
            body.clear();
            return format!("redirect {}", show(&head, &body));
        }
        other => return format!("{other:?}").split(' ').next().unwrap_or_default().to_lowercase(),
    };
    match reply.render(cx, &NoErrorFiles, &mut head, &mut body) {
        Rendered::Silent => format!("{name} silent"),
        Rendered::Send => format!("{name} {}", show(&head, &body)),
    }
}

fn show(head: &Head, body: &[u8]) -> String {
    let mut out = format!("{} {}", head.status(), String::from_utf8_lossy(head.reason()));
    for field in head.fields() {
        let (name, value) =
            (String::from_utf8_lossy(field.name), String::from_utf8_lossy(field.value));
        out += &format!("|{name}: {value}");
    }
    out + "|" + &String::from_utf8_lossy(body)
}
