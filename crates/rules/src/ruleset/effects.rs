//! Tests that every action has an effect in every rule set that allows it.

use super::{Cursor, RuleSet, RuleSetKind};
use crate::testing::{Transaction, parse, with_parser};
use RuleSetKind::{
    HttpAfterResponse, HttpRequest, HttpResponse, QuicInitial, TcpConnection, TcpRequest,
    TcpResponse, TcpSession,
};
use htx::Head;
use sample::Value;
use sample::pattern::Dictionaries;
use table::{DataType, Key, KeyKind, Settings, Table};

const HTTP: &[RuleSetKind] = &[HttpRequest, HttpResponse, HttpAfterResponse];
const MESSAGES: &[RuleSetKind] = &[HttpRequest, HttpResponse];
const RESPONSES: &[RuleSetKind] = &[HttpResponse, HttpAfterResponse];
const STREAMS: &[RuleSetKind] = &[QuicInitial, TcpConnection, TcpSession, TcpRequest, TcpResponse];
const ADDRESSES: &[RuleSetKind] = &[HttpRequest, TcpConnection, TcpSession, TcpRequest];
const REQUESTS: &[RuleSetKind] = &[HttpRequest, TcpRequest];
const CONTENTS: &[RuleSetKind] = &[HttpRequest, HttpResponse, TcpRequest, TcpResponse];
const TRACKING: &[RuleSetKind] =
    &[HttpRequest, HttpResponse, TcpConnection, TcpSession, TcpRequest];
const COUNTING: &[RuleSetKind] =
    &[HttpRequest, HttpResponse, TcpConnection, TcpSession, TcpRequest, TcpResponse];
const ALL: &[RuleSetKind] = &[
    HttpRequest,
    HttpResponse,
    HttpAfterResponse,
    TcpConnection,
    TcpSession,
    TcpRequest,
    TcpResponse,
];

/// Rule sets, lines for them, and the text by which the effect of those lines is recognized.
#[rustfmt::skip]
const CASES: &[(&[RuleSetKind], &[&str], &str)] = &[
    (STREAMS, &["accept", "reject"], "allow;"), (MESSAGES, &["allow", "deny"], "allow;"), (RESPONSES, &["allow", "set-status 299"], "status 200;"),
    (STREAMS, &["reject"], "reject;"), (&[HttpRequest], &["reject"], "reject;"), (&[TcpResponse], &["close"], "close;"),
    (&[QuicInitial], &["dgram-drop"], "silentdrop;"), (&[QuicInitial], &["send-retry"], "sendretry;"),
    (COUNTING, &["silent-drop"], "silentdrop;"), (&[TcpRequest], &["switch-mode http"], "switchmode("), (MESSAGES, &["deny"], "deny("), (&[HttpRequest], &["tarpit"], "tarpit("),
    (MESSAGES, &["return status 204"], "return("), (MESSAGES, &["redirect location /x"], "redirect("), (&[HttpRequest], &["cache-use full"], "cached {"), (&[HttpRequest], &["cache-use other"], "look in other;"), (&[HttpResponse], &["cache-store c"], "store in c;"), (&[HttpRequest], &["auth"], "return("), (&[HttpRequest], &["use-service prometheus-exporter"], "service("),
    (HTTP, &["strict-mode off", "set-header x-long 0123456789012345678901234567890123456789"], "continue;"),
    (CONTENTS, &["set-log-level err"], "level Severity(3);"), (CONTENTS, &["set-nice 7"], "nice 7;"),
    (ADDRESSES, &["set-src ipv4(10.9.8.7)"], "src 10.9.8.7:99;"), (ADDRESSES, &["set-src-port int(81)"], "src 10.1.2.3:81;"),
    (ADDRESSES, &["set-dst ipv4(10.9.8.7)"], "dst 10.9.8.7:0;"), (ADDRESSES, &["set-dst-port int(82)"], "dst 0.0.0.0:82;"),
    (COUNTING, &["set-mark 16"], "mark 16;"), (COUNTING, &["set-tos 8"], "tos 8;"),
    (&[HttpRequest], &["set-timeout server 5s"], "Server 5000;"), (&[HttpRequest], &["early-hint link v"], "hint link: v;"),
    (REQUESTS, &["set-priority-class int(5)"], "class 5;"), (REQUESTS, &["set-priority-offset int(50)"], "offset 50;"),
    (&[HttpRequest], &["wait-for-body time 1s"], "suspend"), (&[HttpRequest], &["wait-for-handshake"], "suspend"), (&[HttpRequest], &["normalize-uri path-merge-slashes"], "uri /a/b?x=1;"),
    (MESSAGES, &["add-acl(a) new"], "a old,new;"), (MESSAGES, &["del-acl(a) old"], "a ;"),
    (MESSAGES, &["set-map(m) new 1"], "m old=0,new=1;"), (MESSAGES, &["del-map(m) old"], "m ;"),
    (HTTP, &["set-header x-own 2"], "x-own: 2;"), (HTTP, &["add-header x-own 2"], "x-own: 1;x-own: 2;"), (HTTP, &["del-header x-own"], "fields host: h;;"),
    (HTTP, &["replace-header x-own (.*) <\\1>"], "x-own: <1>;"), (HTTP, &["replace-value x-own 1 one"], "x-own: one;"),
    (RESPONSES, &["set-status 299"], "status 299;"), (&[HttpRequest], &["set-method PUT"], "method PUT;"), (&[HttpRequest], &["set-uri /u"], "uri /u;"),
    (&[HttpRequest], &["set-path /p"], "uri /p?x=1;"), (&[HttpRequest], &["set-pathq /p?q"], "uri /p?q;"), (&[HttpRequest], &["set-query y"], "uri //a/b?y;"),
    (&[HttpRequest], &["replace-uri /b /c"], "uri /c;"), (&[HttpRequest], &["replace-path .*/b /c"], "uri /c?x=1;"), (&[HttpRequest], &["replace-pathq .*x /c"], "uri /c;"),
    (ALL, &["set-var(txn.v) int(5)"], "v 5;"), (ALL, &["set-var-fmt(txn.v) <%[int(5)]>"], "v <5>;"), (ALL, &["set-var(txn.v) int(5)", "unset-var(txn.v)"], "v none;"),
    (TRACKING, &["track-sc2 src table ips"], "tracked 3;"),
    (COUNTING, &["sc-inc-gpc0(0)"], "counts 1,0,0,0,0;"), (COUNTING, &["sc-inc-gpc1(0)"], "counts 0,1,0,0,0;"), (COUNTING, &["sc-set-gpt0(0) 7"], "counts 0,0,7,0,0;"),
    (COUNTING, &["sc-inc-gpc(2,1)"], "counts 0,0,0,1,0;"), (COUNTING, &["sc-set-gpt(1,1) 9"], "counts 0,0,0,0,9;"),
    (HTTP, &["capture str(kept) id 0"], "kept kept;"), (&[TcpRequest], &["capture str(kept) len 4"], "kept kept;"),
];

/// A transaction with a request and a response of the same fields, whose places 0 and 1 track.
fn transaction() -> Transaction {
    let mut ips = Settings::new("ips", KeyKind::Ip, 10);
    let mut arrays = Settings::new("arrays", KeyKind::Text(4), 10);
    for data in [DataType::Gpt0, DataType::Gpc0, DataType::Gpc1] {
        ips.add(data, 1, 0);
    }
    for data in [DataType::Gpt, DataType::Gpc] {
        arrays.add(data, 3, 1_000);
    }
    let tables = vec![Table::new(ips, 0), Table::new(arrays, 1)];
    let mut tx = Transaction { tables, room: 40, ..Transaction::with_response() };
    tx.request.clear();
    tx.request.set_request(b"GET", b"//a/b?x=1", htx::Version::Http11);
    let response = tx.response.as_mut().expect("with a response");
    response.remove(b"server");
    for head in [&mut tx.request, response] {
        head.push(b"host", b"h");
        head.push(b"x-own", b"1");
    }
    let keys = [Key::ip([10, 1, 2, 3].into()), Key::text(b"k", 4)];
    for (slot, key) in keys.iter().enumerate() {
        let tracker = tx.tables[slot].track(key, 0, &[]).expect("there is room");
        tx.trackers.set(slot, tracker);
    }
    tx
}

fn fields(head: &Head) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let field = |field: htx::FieldRef<'_>| format!("{}: {};", text(field.name), text(field.value));
    head.fields().map(field).collect()
}

fn rows(files: &Dictionaries, name: &str) -> String {
    let mut found = Vec::new();
    let Some(dictionary) = files.find(name) else { return String::new() };
    dictionary.rows(None, (0, u32::MAX), &mut |_, key, value| {
        let pair = [key, value].map(|part| String::from_utf8_lossy(part).into_owned());
        found.push(pair.join("=").trim_end_matches('=').to_owned());
    });
    found.join(",")
}

/// The state after the rules have run, as text.
fn effect(ruleset: RuleSetKind, lines: &[&str]) -> String {
    let mut tx = transaction();
    let (rules, files) = with_parser(|cx| {
        let mut rules = RuleSet::new(ruleset);
        let mut before = RuleSet::new(HttpRequest);
        for line in ["add-acl(a) old", "set-map(m) old 0"] {
            before.push(parse(HttpRequest, line, cx).expect("valid"));
        }
        for line in lines {
            let rule = parse(ruleset, line, cx);
            rules.push(rule.unwrap_or_else(|error| panic!("{line}: {error}")));
        }
        for mention in cx.shared.tables.take() {
            mention.table.resolve(0);
        }
        let files = cx.shared.patterns.finish();
        before.evaluate(Cursor::default(), &mut transaction());
        (rules, files)
    });
    let verdict = format!("{:?}", rules.evaluate(Cursor::default(), &mut tx)).to_lowercase();
    let head = if ruleset.side() == sample::Side::Request {
        &tx.request
    } else {
        tx.response.as_ref().expect("with a response")
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let count = |slot, data, index| {
        let entry: Option<u64> = tx.trackers.get(slot).and_then(|entry| entry.get(data, index, 0));
        entry.map_or("none".to_owned(), |count| count.to_string())
    };
    let counts = [
        count(0, DataType::Gpc0, 0),
        count(0, DataType::Gpc1, 0),
        count(0, DataType::Gpt0, 0),
        count(1, DataType::Gpc, 2),
        count(1, DataType::Gpt, 1),
    ];
    let tracked = (0..3).filter(|slot| tx.trackers.get(*slot).or(tx.session.get(*slot)).is_some());
    let tracked = tracked.count();
    let variable = tx.get("txn.v").and_then(|value: Value<'_>| Some(text(&value.to_str()?)));
    let kept = tx.captured.borrow().iter().map(|(_, _, bytes)| text(bytes)).collect::<String>();
    let deeds: String = tx.deeds.iter().map(|deed| format!("{deed};")).collect();
    let level = tx.level.map_or("none".to_owned(), |level| format!("{level:?}"));
    format!(
        "{verdict};status {};method {};uri {};fields {};level {level};nice {};{deeds}v {};kept {kept};counts {};tracked {tracked};a {};m {};",
        tx.response.as_ref().map_or(0, Head::status),
        text(tx.request.method()),
        text(tx.request.uri()),
        fields(head),
        tx.nice,
        variable.unwrap_or_else(|| "none".to_owned()),
        counts.join(","),
        rows(&files, "a"),
        rows(&files, "m"),
    )
}

#[test]
fn every_action_has_its_effect_in_every_rule_set() {
    for (rulesets, lines, expected) in CASES {
        for ruleset in *rulesets {
            let after = effect(*ruleset, lines);
            assert!(after.contains(expected), "{ruleset:?} {lines:?}: no {expected} in {after}");
        }
    }
}
