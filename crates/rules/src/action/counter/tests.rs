//! Tracking, counting and tagging, and `stick` rules.

use crate::RuleSetKind::{self, HttpRequest, HttpResponse, TcpConnection, TcpRequest};
use crate::sticking::parse_stick;
use crate::testing::{Transaction, parse, run, with_parser, words};
use sample::TableUse;
use table::{DataType, KeyKind, Settings, Table, Trackers};

/// A transaction with the tables `ips` and `arrays`; the client is 10.1.2.3.
fn transaction() -> Transaction {
    let mut ips = Settings::new("ips", KeyKind::Ip, 10);
    let mut arrays = Settings::new("arrays", KeyKind::Text(4), 10);
    for data in [DataType::Gpt0, DataType::Gpc0, DataType::Gpc1, DataType::ConnCur] {
        ips.add(data, 1, 0);
    }
    ips.add(DataType::Gpc0Rate, 1, 1_000);
    for data in [DataType::Gpt, DataType::Gpc, DataType::GpcRate] {
        arrays.add(data, 3, 1_000);
    }
    let tables = vec![Table::new(ips, 0), Table::new(arrays, 1)];
    Transaction { tables, ..Transaction::default() }
}

fn read(trackers: &Trackers, slot: usize, data: DataType, index: u32) -> Option<u64> {
    trackers.get(slot)?.get(data, index, 0)
}

#[test]
fn rules_track_count_and_tag() {
    let mut tx = transaction();
    let lines = [
        "track-sc0 src table ips",
        "sc-inc-gpc0(0)",
        "sc-inc-gpc0",
        "sc-inc-gpc1(0)",
        "sc-set-gpt0(0) 7",
        "track-sc1 path table arrays",
        "sc-inc-gpc(2,1)",
        "sc-set-gpt(1,1) int(4),add(5)",
        "track-sc src table arrays",
        "track-sc2 req.hdr(none) table ips",
        "sc-inc-gpc0(2)",
        "sc-set-gpt0(1) str()",
    ];
    assert_eq!(run(HttpRequest, &lines, &mut tx), "continue");
    let tracked = &tx.trackers;
    assert_eq!(
        tracked.get(0).map(|entry| (entry.table(), entry.key())),
        Some((0, &[10, 1, 2, 3][..]))
    );
    assert_eq!(tracked.get(1).map(|entry| (entry.table(), entry.key())), Some((1, &b"/a/b"[..])));
    assert!(tracked.get(2).is_none() && tx.session.get(0).is_none());
    let values = [
        (0, DataType::Gpc0, 0, Some(2)),
        (0, DataType::Gpc0Rate, 0, Some(2)),
        (0, DataType::Gpc1, 0, Some(1)),
        (0, DataType::Gpt0, 0, Some(7)),
        (1, DataType::Gpc, 2, Some(1)),
        (1, DataType::GpcRate, 2, Some(1)),
        (1, DataType::Gpt, 1, Some(9)),
        (1, DataType::Gpt, 3, None),
    ];
    for (slot, data, index, value) in values {
        assert_eq!(read(tracked, slot, data, index), value, "{slot} {data:?} {index}");
    }
}

#[test]
fn counters_tracked_by_the_session_have_precedence() {
    let mut tx = transaction();
    run(TcpConnection, &["track-sc0 src table ips"], &mut tx);
    run(HttpRequest, &["track-sc0 path table arrays", "sc-inc-gpc0(0)"], &mut tx);
    assert_eq!(read(&tx.session, 0, DataType::Gpc0, 0), Some(1));
    assert!(tx.trackers.get(0).is_none());
    run(TcpRequest, &["track-sc1 src table ips"], &mut tx);
    assert!(tx.session.get(1).is_none() && tx.trackers.get(1).is_some());
    drop(tx);
}

#[test]
fn mistakes_are_reported() {
    #[rustfmt::skip]
    let cases: &[(RuleSetKind, &str, usize, &str)] = &[
        (HttpRequest, "track-sc0", 0, "missing fetch method"), (HttpRequest, "track-sc0 src table", 2, "missing table name"),
        (HttpRequest, "track-sc3 src", 0, "3 track-sc number exceeding 2 (MAX_SESS_STKCTR-1) value"), (HttpRequest, "track-scx src", 0, "Wrong track-sc number 'x'."),
        (HttpRequest, "track-sc0 src table t foo", 4, "'http-request track-sc0' expects either 'if' or 'unless' followed by a condition but found 'foo'"),
        (HttpRequest, "sc-inc-gpc0(3)", 0, "invalid stick table track ID. The max allowed ID is 2."), (HttpRequest, "sc-inc-gpc0(x)", 0, "invalid stick table track ID. Expects sc-inc-gpc0(<Track ID>)."),
        (HttpRequest, "sc-inc-gpc1(0,1)", 0, "Expects sc-inc-gpc1(<Track ID>)."), (HttpRequest, "sc-inc-gpc(0)", 0, "Missing gpc ID 'sc-inc-gpc'. Expects sc-inc-gpc(<GPC ID>,<Track ID>)."),
        (HttpRequest, "sc-inc-gpc(0,3)", 0, "The max allowed ID is 2."), (HttpRequest, "sc-set-gpt(0) 5", 0, "Missing gpt ID 'sc-set-gpt'."),
        (HttpRequest, "sc-set-gpt0(0) if TRUE", 1, "expects a number or an expression"), (HttpRequest, "sc-set-gpt0(0) nosuch", 1, "unknown fetch method 'nosuch'"),
        (HttpResponse, "sc-set-gpt(0,3) 5", 0, "The max allowed ID is 2."),
    ];
    for (ruleset, line, word, expected) in cases {
        let error = with_parser(|cx| parse(*ruleset, line, cx).expect_err(line));
        assert!(error.message.contains(expected), "{line}: {}", error.message);
        assert_eq!(error.word, *word, "{line}: {}", error.message);
    }
}

#[test]
fn stick_rules_take_keys() {
    let mut tx = transaction();
    let line = words("on src table ips if { path /a/b }");
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let (rule, mentions) = with_parser(|cx| {
        let rule = parse_stick(&line, cx).expect("valid");
        (rule, cx.shared.tables.take())
    });
    assert!(rule.matches && rule.stores_request && !rule.stores_response);
    assert!(matches!(mentions[0].usage, TableUse::Match(_)) && mentions[0].table.name() == "ips");
    assert_eq!(rule.with_key(&tx, |_, key| key.to_vec()), None, "the table has no number yet");
    mentions[0].table.resolve(0);
    assert_eq!(
        rule.with_key(&tx, |table, key| (table.number(), key.to_vec())),
        Some((0, vec![10, 1, 2, 3]))
    );
    assert!(rule.applies(&tx));
    tx.request.set_uri(b"/other");
    assert!(!rule.applies(&tx));
}

#[test]
fn mistakes_in_stick_rules_are_reported() {
    for (line, expected) in [
        ("", "'stick' expects 'on', 'match', or 'store'."),
        ("foo", "'stick' expects 'on', 'match', or 'store'."),
        ("on", "'stick' expects a fetch method."),
        ("on nosuch", "'stick': unknown fetch method 'nosuch'"),
        ("on src foo", "'stick': unknown keyword 'foo'."),
        ("on src table", "'stick': missing table name."),
        (
            "on src if nosuch",
            "'stick': error detected while parsing sticking condition : no such ACL : 'nosuch'",
        ),
        (
            "match res.hdr(x)",
            "'stick': fetch method 'res.hdr' extracts information from 'HTTP response headers'",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let error = with_parser(|cx| parse_stick(&words, cx).expect_err(line));
        assert!(error.message.contains(expected), "{line}: {}", error.message);
    }
    with_parser(|cx| parse_stick(&["store-response", "res.hdr(x)"], cx).expect("valid"));
}
