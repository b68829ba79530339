//! A world for tests: everything is a field.

use crate::context::{Captures, Shared};
use crate::facts::TransactionRecord;
use crate::facts::{
    Count, Facts, Hop, Name, Number, Offered, ServerCount, Side, TcpState, Text, TlsFact, WallTime,
};
use crate::parser::Parser;
use crate::value::{Bytes, Value};
use crate::vars::{VarName, VarState, Variables};
use crate::{AclTable, Expr, ParseError};
use htx::{Head, Version};
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use table::{Entry, Table, Trackers};

pub(crate) struct World {
    pub(crate) request: Option<Head>,
    pub(crate) response: Option<Head>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) is_final: bool,
    pub(crate) source: Option<SocketAddr>,
    pub(crate) server: Option<&'static str>,
    pub(crate) compression: Option<&'static str>,
    pub(crate) cache: Option<&'static str>,
    pub(crate) vars: Variables,
    /// Lines sent to sinks.
    pub(crate) told: RefCell<Vec<String>>,
    pub(crate) captures: [RefCell<Vec<Vec<u8>>>; 2],
    pub(crate) record: TransactionRecord,
    pub(crate) tables: Vec<Table>,
    pub(crate) trackers: Trackers,
}

pub(crate) fn request(method: &str, uri: &str, fields: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_request(method.as_bytes(), uri.as_bytes(), Version::Http11);
    for (name, value) in fields {
        head.push(name.as_bytes(), value.as_bytes());
    }
    head
}

pub(crate) fn response(status: u16, fields: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, b"Sure");
    for (name, value) in fields {
        head.push(name.as_bytes(), value.as_bytes());
    }
    head
}

impl Default for World {
    fn default() -> Self {
        World {
            request: None,
            response: None,
            body: None,
            payload: None,
            is_final: true,
            source: Some("10.1.2.3:4567".parse().expect("an address")),
            server: Some("srv1"),
            compression: None,
            cache: None,
            vars: Variables::default(),
            told: RefCell::default(),
            captures: [RefCell::default(), RefCell::default()],
            record: TransactionRecord::default(),
            tables: Vec::new(),
            trackers: Trackers::default(),
        }
    }
}

impl World {
    /// A world in which every fetch finds something.
    pub(crate) fn full() -> World {
        let fields = [
            ("Host", "www.example.com:8080"),
            ("X-L", "a,, b ,\"c,d\""),
            ("X-L", "z"),
            ("X-Ip", "192.0.2.7:99"),
            ("X-Num", "42"),
            ("Cookie", "a=1; b=2"),
            ("Cookie", "a=3"),
        ];
        let uri = "http://u@192.0.2.9:81/p/a.html?x=1&y=&x=2;z";
        let mut world = World {
            request: Some(request("GET", uri, &fields)),
            response: Some(response(
                201,
                &[
                    ("X-R", "r1, r2"),
                    ("X-Num", "7"),
                    ("X-Ip", "[::5]:80"),
                    ("Set-Cookie", "s=9; path=/"),
                    ("Set-Cookie", "t=8"),
                ],
            )),
            body: Some(b"k=v&n=5".to_vec()),
            payload: Some(b"payload".to_vec()),
            compression: Some("gzip"),
            cache: Some("c"),
            ..World::default()
        };
        (world.tables, world.trackers) = crate::tables::tests::tables();
        *world.captures[0].borrow_mut() = vec![b"cap0".to_vec(), Vec::new()];
        *world.captures[1].borrow_mut() = vec![b"rcap".to_vec()];
        world.record.method = b"GET".to_vec();
        world.record.uri = uri.as_bytes().to_vec();
        world.record.version = b"HTTP/1.1".to_vec();
        world.set("txn.n", Value::Int(10));
        world.set("txn.s", Value::str(b"text"));
        world.set("txn.key", Value::str(b"a2V5"));
        world
    }

    pub(crate) fn set(&self, name: &str, value: Value<'_>) {
        self.vars.set(&VarName::parse(name).expect("a name"), Some(value.into_shared()));
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value<'static>> {
        self.vars.get(&VarName::parse(name).expect("a name"))
    }

    pub(crate) fn eval(&self, text: &str) -> String {
        let expr = with_parser(|cx| Expr::parse_word(text, cx))
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        match expr.eval_str(self) {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => "undefined".to_owned(),
        }
    }

    /// Each expression must give the value beside it; the message names all that do not.
    pub(crate) fn holds(&self, cases: &[(&str, &str)]) {
        let wrong: Vec<_> = cases
            .iter()
            .map(|(text, expected)| (text, self.eval(text), expected))
            .filter(|(_, got, expected)| got != *expected)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn files(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("list") => Ok(b"# comment\n/one\n  /two\n\n/three four\n".to_vec()),
        Some("map") => Ok(b"a 1\n#x 9\nab  two words \n10.0.0.0/8 3\n10.1.0.0/16 4\n".to_vec()),
        Some("ints") => Ok(b"1:5 10.0.0.1\n6: ::6\n".to_vec()),
        Some("regm") => Ok(b"^(.)x(.*)$ \\2-\\1\n".to_vec()),
        Some("addr") => Ok(b"a 10.0.0.1\nb ::6\n".to_vec()),
        Some("num") => Ok(b"a 17\n".to_vec()),
        Some("ipnum") => Ok(b"10.0.0.0/8 17\n".to_vec()),
        Some("ipaddr") => Ok(b"10.0.0.0/8 192.0.2.1\n".to_vec()),
        Some("intnum") => Ok(b"5 17\n".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

pub(crate) fn with_parser<T>(run: impl FnOnce(&mut Parser<'_>) -> T) -> T {
    let env = |name: &str| (name == "HOME").then(|| "/root".to_owned());
    let names = |name: &str| (name == "myself").then(|| "10.1.2.3".parse().expect("an address"));
    let shared = Shared { names: &names, ..Shared::new(&files, &env) };
    let (acls, captures) = (AclTable::default(), Captures::default());
    let done = run(&mut Parser::new(&shared, &acls, &captures));
    for mention in shared.tables.take() {
        if let Some(number) =
            ["tab", "arr", "few"].iter().position(|it| *it == mention.table.name())
        {
            mention.table.resolve(number);
        }
    }
    done
}

pub(crate) fn parse_error(text: &str) -> ParseError {
    with_parser(|cx| Expr::parse(&[text], &mut 0, cx)).expect_err(text)
}

impl Facts for World {
    fn write_to_sink(&self, sink: &str, line: &[u8]) {
        self.told.borrow_mut().push(format!("{sink} {}", String::from_utf8_lossy(line)));
    }

    fn request(&self) -> Option<&Head> {
        self.request.as_ref()
    }

    fn response(&self) -> Option<&Head> {
        self.response.as_ref()
    }

    fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    fn cache(&self) -> Option<&str> {
        self.cache
    }

    fn is_user(&self, list: &str, user: &[u8], password: &[u8]) -> Result<bool, crate::Missing> {
        Ok((list, user, password) == ("users", b"joe", b"pw"))
    }

    fn body(&self, _: Side) -> Option<&[u8]> {
        self.body.as_deref()
    }

    fn body_size(&self, _: Side) -> Option<u64> {
        self.body.as_ref().map(|_| 100)
    }

    fn payload(&self, _: Side) -> Option<&[u8]> {
        self.payload.as_deref()
    }

    fn is_final(&self) -> bool {
        self.is_final
    }

    fn source(&self) -> Option<SocketAddr> {
        self.source
    }

    fn destination(&self) -> Option<SocketAddr> {
        "127.0.0.1:80".parse().ok()
    }

    fn transport_source(&self) -> Option<SocketAddr> {
        "10.9.9.9:999".parse().ok()
    }

    fn transport_destination(&self) -> Option<SocketAddr> {
        "127.0.0.2:8080".parse().ok()
    }

    fn server_source(&self) -> Option<SocketAddr> {
        "10.0.0.1:1111".parse().ok()
    }

    fn server_destination(&self) -> Option<SocketAddr> {
        "10.0.0.2:2222".parse().ok()
    }

    fn tcp_state(&self) -> Option<TcpState> {
        Some(TcpState {
            rtt: 5001,
            rttvar: 6001,
            unacked: 7,
            sacked: 8,
            lost: 9,
            retrans: 10,
            fackets: 11,
            reordering: 12,
        })
    }

    fn is_local(&self, address: SocketAddr) -> bool {
        address.ip().is_loopback()
    }

    fn name(&self, name: Name) -> Option<&[u8]> {
        Some(match name {
            Name::Frontend => b"fe",
            Name::Backend => b"be",
            Name::Server => return self.server.map(str::as_bytes),
            Name::Listener => b"bind1",
            Name::DefaultBackend => b"def",
            Name::Hostname => b"host1",
            Name::FcgiDocroot => b"/srv",
            Name::FcgiIndex => b"index.php",
        })
    }

    fn text(&self, text: Text) -> Option<Bytes<'_>> {
        Some(Bytes::Borrowed(match text {
            Text::ClientError => b"broken",
            Text::ServerError => b"lost",
            Text::ProxyAuthority => b"auth",
            Text::ProxyUniqueId => b"ppid",
        }))
    }

    fn tls(&self, hop: Hop, fact: TlsFact<'_>) -> Option<Value<'static>> {
        Some(match fact {
            TlsFact::Used | TlsFact::Resumed => Value::Bool(true),
            TlsFact::Offer(Offered::CiphersHash) => Value::Int(-5_308_478_332_962_984_255),
            TlsFact::Error => Value::Int(117),
            TlsFact::CertificateError => Value::Int(118),
            TlsFact::AuthorityError => Value::Int(119),
            TlsFact::ServerName => Value::str(b"sni"),
            TlsFact::Version => Value::str(b"TLSv1.3"),
            TlsFact::Cipher => Value::str(b"AES"),
            _ => Value::Str(Bytes::Owned(format!("{hop:?} {fact:?}").into_bytes())),
        })
    }

    fn number(&self, number: Number) -> Option<i64> {
        Some(100 + number as i64)
    }

    fn count(&self, count: Count, proxy: Option<&str>) -> Option<i64> {
        Some(1000 + count as i64 + proxy.map_or(0, |name| 100 * name.len() as i64))
    }

    fn server_count(&self, count: ServerCount, backend: Option<&str>, server: &str) -> Option<i64> {
        (server == "s").then(|| 2000 + count as i64 + if backend == Some("b") { 100 } else { 0 })
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

    fn capture(&self, side: Side, slot: usize) -> Option<Bytes<'_>> {
        let found = self.captures[side as usize].borrow().get(slot)?.clone();
        Some(Bytes::Owned(found)).filter(|bytes| !bytes.is_empty())
    }

    fn capture_count(&self, side: Side) -> usize {
        self.captures[side as usize].borrow().len()
    }

    fn set_capture(&self, side: Side, slot: usize, content: &[u8]) -> bool {
        match self.captures[side as usize].borrow_mut().get_mut(slot) {
            Some(found) => {
                *found = content.to_vec();
                true
            }
            None => false,
        }
    }

    fn last_rule(&self) -> Option<(&str, u32)> {
        Some(("a.cfg", 12))
    }

    fn wall(&self) -> WallTime {
        WallTime { secs: 784_111_777, micros: 123_456 }
    }

    fn local_offset(&self, _: i64) -> i32 {
        3600
    }

    fn random(&self) -> u64 {
        0x8000_0000_1234_5678
    }

    fn unique_id(&self) -> Option<Bytes<'_>> {
        Some(Bytes::Borrowed(b"uid-1"))
    }

    fn table(&self, number: usize) -> Option<&Table> {
        self.tables.get(number)
    }

    fn tracked(&self, slot: usize) -> Option<&Entry> {
        self.trackers.get(slot)
    }

    fn now_ms(&self) -> u64 {
        crate::tables::tests::NOW
    }

    fn record(&self) -> Option<&TransactionRecord> {
        Some(&self.record)
    }
}
