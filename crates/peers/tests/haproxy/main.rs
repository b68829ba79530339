//! The protocol beside HAProxy: tables of every data type and key type, compared field by field.
//!
//! HAProxy runs as the peer `A`, the code under test is the peer `B`. Where no HAProxy is installed
//! (`/usr/sbin/haproxy`, or the path in `PEERS_HAPROXY`), the tests say so and do nothing.

mod clock;
mod haproxy;
mod node;

use haproxy::{Haproxy, Shown};
use node::Node;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use table::{DataKind, DataType, Entry, Key, KeyKind, Settings, Table};

/// Milliseconds that rates cover: so long that they read the same throughout a test.
const PERIOD: u32 = 10_000_000;
/// Milliseconds that entries live.
const EXPIRE: u32 = 100_000;
/// Elements of arrays.
const ELEMENTS: u32 = 3;

/// Every key type, as configurations write it.
const KEYS: [(KeyKind, &str); 5] = [
    (KeyKind::Ip, "ip"),
    (KeyKind::Ipv6, "ipv6"),
    (KeyKind::Integer, "integer"),
    (KeyKind::Text(7), "string len 7"),
    (KeyKind::Binary(5), "binary len 5"),
];

/// Data types that HAProxy 2.6 and 2.7 know.
fn types() -> impl Iterator<Item = (DataType, &'static str, DataKind)> {
    DataType::TABLE.iter().copied().filter(|(data, ..)| (*data as u8) < DataType::GlitchCnt as u8)
}

/// The lines of a section with one table per data type and key type.
fn table_lines() -> String {
    let mut lines = String::new();
    for (data, name, kind) in types() {
        let argument = match (data.is_array(), kind == DataKind::Rate) {
            (true, true) => format!("({ELEMENTS},{PERIOD})"),
            (true, false) => format!("({ELEMENTS})"),
            (false, true) => format!("({PERIOD})"),
            (false, false) => String::new(),
        };
        for (at, (_, key)) in KEYS.iter().enumerate() {
            lines += &format!("  table {name}_{at} type {key} size 1k expire {EXPIRE} ");
            lines += &format!("store {name}{argument}\n");
        }
    }
    // Several types in one table, and one without expiry.
    lines += "  table all type ip size 1k expire 100s store server_id,gpt0,gpc0,conn_cnt,conn_cur,";
    lines += "bytes_in_cnt,http_req_rate(10000s),server_key,gpc1_rate(10000s)\n";
    lines += "  table ever type string len 20 size 10k store gpc0\n";
    lines
}

/// The same tables.
fn tables() -> Vec<Arc<Table>> {
    let mut tables = Vec::new();
    for (data, name, kind) in types() {
        for (at, (key, _)) in KEYS.iter().enumerate() {
            let mut settings = Settings::new(format!("{name}_{at}"), *key, 1_000);
            settings.expire = Some(EXPIRE);
            let count = if data.is_array() { ELEMENTS } else { 1 };
            settings.add(data, count, if kind == DataKind::Rate { PERIOD } else { 0 });
            tables.push(settings);
        }
    }
    let mut all = Settings::new("all", KeyKind::Ip, 1_000);
    all.expire = Some(EXPIRE);
    for data in [
        DataType::ServerId,
        DataType::Gpt0,
        DataType::Gpc0,
        DataType::ConnCnt,
        DataType::ConnCur,
        DataType::BytesInCnt,
        DataType::ServerKey,
    ] {
        all.add(data, 1, 0);
    }
    all.add(DataType::HttpReqRate, 1, PERIOD);
    all.add(DataType::Gpc1Rate, 1, PERIOD);
    tables.push(all);
    let mut ever = Settings::new("ever", KeyKind::Text(20), 10_000);
    ever.add(DataType::Gpc0, 1, 0);
    tables.push(ever);
    let numbered = tables.into_iter().enumerate();
    numbered.map(|(number, settings)| Arc::new(Table::new(settings, number))).collect()
}

/// The keys that are put into a table.
fn sample_keys(kind: KeyKind) -> Vec<Key<'static>> {
    match kind {
        KeyKind::Ip => vec![Key::ip([1, 2, 3, 4].into()), Key::ip([255, 0, 0, 1].into())],
        KeyKind::Ipv6 => vec![Key::ipv6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 5].into())],
        KeyKind::Integer => vec![Key::integer(0), Key::integer(77), Key::integer(0xffff_fffe)],
        KeyKind::Text(len) => {
            [&b"a"[..], b"abcdefg", b"a b=c"].map(|text| Key::text(text, len).into_owned()).into()
        }
        KeyKind::Binary(len) => [&b"\x00\x01\xff"[..], b"12345"]
            .map(|bytes| Key::binary(bytes, len).into_owned())
            .into(),
    }
}

/// A value that differs from all others, and is long where the type allows it.
fn sample(data: DataType, index: u32, key: usize) -> u64 {
    let small = 300 + 17 * data as u64 + 5 * u64::from(index) + key as u64;
    match data.kind() {
        DataKind::Long => small << 32,
        DataKind::Count if key == 1 => u64::from(u32::MAX) - small,
        _ => small,
    }
}

/// Puts entries into a table; their values are changes of this process.
fn fill(table: &Table, now: u64) {
    for (at, key) in sample_keys(table.kind()).iter().enumerate() {
        table.enter(key, now, |entry| {
            let server: Arc<str> = format!("server{at}").into();
            let store = &table.settings().store;
            entry.set_server(sample(DataType::ServerId, 0, at) as u32, Some(&server));
            entry.change(now, |counters| {
                for stored in store.iter().filter(|it| it.data != DataType::ServerId) {
                    for index in 0..stored.count {
                        counters.set(stored.data, index, sample(stored.data, index, at));
                    }
                }
            });
        });
    }
}

/// The entries of a table as HAProxy lists them: fields by name, and the remaining time.
fn shown(table: &Table, now: u64) -> BTreeMap<String, Shown> {
    let mut walk = table::Walk::default();
    let mut entries = BTreeMap::new();
    while let Some(found) = table.walk(&mut walk, now) {
        for entry in found {
            let mut key = String::new();
            table.kind().show(entry.key(), &mut key).expect("strings take every write");
            let shown = Shown { fields: fields(table, &entry, now), left: entry.expires_in(now) };
            entries.insert(key, shown);
        }
    }
    entries
}

fn fields(table: &Table, entry: &Entry, now: u64) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for stored in &table.settings().store {
        for index in 0..stored.count {
            let name = match stored.data.is_array() {
                true => stored.data.element_name(index),
                false => stored.data.name().to_string(),
            };
            let value = match stored.data.kind() {
                DataKind::Text => {
                    entry.server_key_own().map_or("-".into(), |text| text.to_string())
                }
                _ => {
                    let value = entry.get(stored.data, index, now).expect("stored");
                    // HAProxy lists numbers of servers with a sign.
                    match stored.data {
                        DataType::ServerId => (value as u32 as i32).to_string(),
                        _ => value.to_string(),
                    }
                }
            };
            fields.insert(name, value);
        }
    }
    fields
}

/// Whether two lists of entries are the same; remaining times may differ by two seconds.
fn same(ours: &BTreeMap<String, Shown>, theirs: &BTreeMap<String, Shown>) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|((key, one), (other_key, other))| {
            key == other_key && one.fields == other.fields && one.left.abs_diff(other.left) < 2_000
        })
}

/// The numbers of entries, and some keys that one side alone has.
fn differences(ours: &BTreeMap<String, Shown>, theirs: &BTreeMap<String, Shown>) -> String {
    let only = |one: &BTreeMap<String, Shown>, other: &BTreeMap<String, Shown>| {
        let missing = one.keys().filter(|key| !other.contains_key(*key)).cloned();
        missing.step_by(10).take(20).collect::<Vec<_>>()
    };
    let (ours_only, theirs_only) = (only(ours, theirs), only(theirs, ours));
    let (len, other) = (ours.len(), theirs.len());
    format!("{len} and {other} entries; only ours: {ours_only:?}; only theirs: {theirs_only:?}")
}

/// The same entries with other current connections: those are never learned.
fn without_connections(mut entries: BTreeMap<String, Shown>) -> BTreeMap<String, Shown> {
    for field in entries.values_mut().filter_map(|entry| entry.fields.get_mut("conn_cur")) {
        *field = "0".into();
    }
    entries
}

/// Waits until all tables of HAProxy have the entries of ours, and names the table that does not.
fn expect_same(
    haproxy: &Haproxy,
    node: &mut Node,
    expected: impl Fn(&Table, u64) -> BTreeMap<String, Shown>,
) {
    for table in node.tables() {
        let name = table.settings().name.clone();
        node.until(&format!("table {name}"), |node| {
            let ours = expected(&table, node.now());
            let theirs = haproxy.table(&format!("p/{name}"));
            if same(&ours, &theirs) { Ok(()) } else { Err(format!("{ours:?}\n{theirs:?}")) }
        });
    }
}

fn start() -> Option<(Haproxy, TcpListener)> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    Some((Haproxy::start(port, &table_lines())?, listener))
}

#[test]
fn haproxy_learns_every_type_of_us_and_teaches_it_to_a_new_process() {
    let Some((mut haproxy, listener)) = start() else { return };
    let mut node = Node::new(tables(), 1, listener, haproxy.peer_port());
    let now = node.now();
    node.tables().iter().for_each(|table| fill(table, now));
    expect_same(&haproxy, &mut node, |table, now| without_connections(shown(table, now)));
    // A new process of ours learns all of it from HAProxy.
    let listener = node.end();
    let mut new = Node::new(tables(), 2, listener, haproxy.peer_port());
    expect_same(&haproxy, &mut new, shown);
    new.until(
        "is up to date",
        |node| if node.group.is_up_to_date() { Ok(()) } else { Err("no".into()) },
    );
    // Then a new HAProxy learns from it.
    haproxy.restart();
    expect_same(&haproxy, &mut new, shown);
    assert_eq!(new.protocol_errors(), 0);
    assert_eq!(haproxy.protocol_errors(), 0);
}

#[test]
fn we_learn_what_is_set_in_haproxy_but_for_current_connections() {
    let Some((haproxy, listener)) = start() else { return };
    let mut node = Node::new(tables(), 1, listener, haproxy.peer_port());
    node.until("session", |node| if node.is_connected() { Ok(()) } else { Err("no".into()) });
    let settable = |table: &Arc<Table>| {
        let name = &table.settings().name;
        let stored = table.settings().store[0].data;
        !matches!(table.kind(), KeyKind::Binary(_))
            && !stored.is_array()
            && stored.kind() != DataKind::Text
            && **name != *"all"
    };
    for table in node.tables().iter().filter(|table| settable(table)) {
        let (name, data) = (&table.settings().name, table.settings().store[0].data);
        for (at, key) in sample_keys(table.kind()).iter().enumerate() {
            let mut text = String::new();
            table.kind().show(key, &mut text).expect("strings take every write");
            let (field, value) = (data.name(), sample(data, 0, at));
            let said = haproxy.run(&format!("set table p/{name} key {text} data.{field} {value}"));
            assert_eq!(said.trim(), "", "{name}");
        }
    }
    for table in node.tables() {
        let name = table.settings().name.clone();
        node.until(&format!("table {name}"), |node| {
            let ours = shown(&table, node.now());
            let theirs = without_connections(haproxy.table(&format!("p/{name}")));
            if same(&ours, &theirs) { Ok(()) } else { Err(format!("{ours:?}\n{theirs:?}")) }
        });
    }
    let table = node.tables().into_iter().find(|it| &*it.settings().name == "conn_cur_0");
    let theirs = haproxy.table("p/conn_cur_0");
    assert!(theirs.values().any(|entry| entry.fields["conn_cur"] != "0"), "{theirs:?}");
    assert!(table.is_some_and(|table| table.used() > 0));
    assert_eq!(node.protocol_errors(), 0);
    // Nothing that was learned is sent back.
    assert_eq!(node.taught(), 0);
}

#[test]
fn changes_go_both_ways_while_sessions_come_and_go() {
    let Some((haproxy, listener)) = start() else { return };
    let mut node = Node::new(tables(), 1, listener, haproxy.peer_port());
    let table = node.tables().into_iter().find(|it| &*it.settings().name == "ever").expect("it is");
    for round in 0..4u32 {
        let now = node.now();
        for n in 0..500u32 {
            let key = format!("ours{round}.{n}");
            table.enter(key.as_bytes(), now, |entry| {
                entry.count(&[DataType::Gpc0], u64::from(n) + 1, now);
            });
        }
        if round == 1 {
            node.lose_sessions();
        }
        for n in 0..20 {
            haproxy.run(&format!("set table p/ever key theirs{round}.{n} data.gpc0 {n}"));
        }
        if round == 2 {
            node.lose_sessions();
        }
        node.until("all entries", |node| {
            let (ours, theirs) = (shown(&table, node.now()), haproxy.table("p/ever"));
            if same(&ours, &theirs) && ours.len() == 520 * (round as usize + 1) {
                Ok(())
            } else {
                Err(differences(&ours, &theirs))
            }
        });
    }
    assert_eq!(node.protocol_errors(), 0);
    assert_eq!(haproxy.protocol_errors(), 0);
}

#[test]
fn a_process_that_stops_teaches_an_haproxy_in_its_place() {
    let Some((haproxy, listener)) = start() else { return };
    let mut node = Node::predecessor(tables(), listener, haproxy.peer_port());
    let now = node.now();
    node.tables().iter().for_each(|table| fill(table, now));
    node.group.stop(now);
    node.until("taught", |node| if node.group.is_taught() { Ok(()) } else { Err("no".into()) });
    for table in node.tables() {
        let (ours, theirs) =
            (shown(&table, node.now()), haproxy.table(&format!("p/{}", table.name())));
        assert!(same(&without_connections(ours), &theirs), "{}: {theirs:?}", table.name());
    }
    assert_eq!(node.protocol_errors(), 0);
    assert_eq!(haproxy.protocol_errors(), 0);
}
