//! `set-bandwidth-limit`: its words, and the values that it enables a limit with.

use crate::bandwidth::{BandwidthLimit, BandwidthScope};
use crate::testing::{Transaction, parse, with_parser};
use crate::{Action, Cursor, RuleSet, RuleSetKind};
use sample::{Expr, Side, TableUse};
use std::sync::Arc;
use table::{DataType, KeyKind, Settings, Table};

const ALL: [RuleSetKind; 4] = [
    RuleSetKind::HttpRequest,
    RuleSetKind::HttpResponse,
    RuleSetKind::TcpRequest,
    RuleSetKind::TcpResponse,
];

fn per_stream() -> BandwidthLimit {
    let scope = BandwidthScope::Stream { limit: 1_000, period: 2_000 };
    BandwidthLimit { name: "lim".into(), side: Side::Response, min_size: 0, scope }
}

/// A limit whose key is this expression, in the first table.
fn shared(key: &str) -> BandwidthLimit {
    let words: Vec<&str> = key.split(' ').collect();
    let (key, table) = with_parser(|cx| {
        let key = Expr::parse(&words, &mut 0, cx).expect("an expression");
        (key, cx.refer(Some("ips"), TableUse::Track(0, sample::Type::Ipv4)))
    });
    table.resolve(0);
    let scope = BandwidthScope::Shared { limit: 500, key, table };
    BandwidthLimit { name: "lim".into(), side: Side::Response, min_size: 0, scope }
}

/// The limits that these rules enable.
fn enabled(ruleset: RuleSetKind, lines: &[&str], filter: BandwidthLimit) -> Vec<String> {
    let filter = Arc::new(filter);
    let rules = with_parser(|cx| {
        let mut rules = RuleSet::new(ruleset);
        for line in lines {
            let rule = parse(ruleset, line, cx).unwrap_or_else(|error| panic!("{line}: {error}"));
            if let Action::Bandwidth(edit) = rule.action() {
                assert_eq!(edit.name(), "lim");
                edit.resolve(&filter);
            }
            rules.push(rule);
        }
        rules
    });
    let mut settings = Settings::new("ips", KeyKind::Ip, 10);
    settings.add(DataType::BytesOutRate, 1, 1_000);
    let tables = vec![Table::new(settings, 0)];
    let mut cx = Transaction { tables, ..Transaction::with_response() };
    rules.evaluate(Cursor::default(), &mut cx);
    cx.deeds
}

#[test]
fn each_rule_set_enables_a_limit_with_its_defaults_or_with_values() {
    for ruleset in ALL {
        let lines = [
            "set-bandwidth-limit lim",
            "set-bandwidth-limit lim limit int(7)",
            "set-bandwidth-limit lim period int(9) if TRUE",
            "set-bandwidth-limit lim limit int(8) period int(5) unless FALSE",
            "set-bandwidth-limit lim limit int(8) if FALSE",
        ];
        let expected = ["lim 1000/2000", "lim 7/2000", "lim 1000/9", "lim 8/5"];
        assert_eq!(enabled(ruleset, &lines, per_stream()), expected, "{ruleset:?}");
    }
}

#[test]
fn values_that_are_missing_or_not_positive_leave_the_defaults() {
    for value in ["int(0)", "int(-5)", "var(txn.none)", "str(x)", "str(0)"] {
        let line = format!("set-bandwidth-limit lim limit {value} period {value}");
        let found = enabled(RuleSetKind::HttpRequest, &[&line], per_stream());
        assert_eq!(found, ["lim 1000/2000"], "{value}");
    }
    let line = "set-bandwidth-limit lim limit int(99999999999)";
    let found = enabled(RuleSetKind::HttpRequest, &[line], per_stream());
    assert_eq!(found, ["lim 4294967295/2000"], "the most that can be counted");
}

#[test]
fn a_shared_limit_is_enabled_with_its_key_if_it_has_one() {
    let line = "set-bandwidth-limit lim";
    let found = enabled(RuleSetKind::HttpResponse, &[line], shared("src"));
    assert_eq!(found, ["lim 500 of [10, 1, 2, 3] in 0"]);
    let found = enabled(RuleSetKind::HttpResponse, &[line], shared("var(txn.none)"));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn mistakes_in_the_action_are_errors() {
    let error = |line: &str| {
        let parsed = with_parser(|cx| parse(RuleSetKind::HttpRequest, line, cx));
        parsed.err().unwrap_or_else(|| panic!("{line} is accepted")).to_string()
    };
    for (line, expected) in [
        ("set-bandwidth-limit", "missing bwlim filter name"),
        ("set-bandwidth-limit lim foo", "expects 'limit', 'period', 'if' or 'unless', got 'foo'"),
        ("set-bandwidth-limit lim limit", "expects an expression behind 'limit'"),
        ("set-bandwidth-limit lim period if TRUE", "expects an expression behind 'period'"),
        ("set-bandwidth-limit lim limit nope", "nope"),
        ("set-bandwidth-limit(lim)", "takes no parentheses"),
    ] {
        assert!(error(line).contains(expected), "{line}: {}", error(line));
    }
    for ruleset in
        [RuleSetKind::TcpConnection, RuleSetKind::TcpSession, RuleSetKind::HttpAfterResponse]
    {
        let parsed = with_parser(|cx| parse(ruleset, "set-bandwidth-limit lim", cx));
        assert!(parsed.is_err(), "{ruleset:?}");
    }
}
