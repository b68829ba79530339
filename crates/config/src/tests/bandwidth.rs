//! `filter bwlim-in` and `filter bwlim-out` lines, and `set-bandwidth-limit` rules.
use super::*;
use crate::model::Filter;
use ::rules::{Action, BandwidthLimit, BandwidthScope};
use sample::Side;
use std::sync::Arc;

const TABLE: &str =
    "backend t\n stick-table type ip size 10 store bytes_in_rate(1s),bytes_out_rate(2s)\n";
const NARROW: &str = "backend t\n stick-table type ip size 10 store gpc0\n";

fn with_table(table: &str, lines: &str) -> String {
    let text = listen(lines);
    text.replacen("listen l", &format!("{table}listen l"), 1)
}

fn alerts(text: &str) -> Vec<String> {
    messages(text, Severity::Alert)
}

fn limits(text: &str) -> Vec<Arc<BandwidthLimit>> {
    let proxies = model(text).proxies;
    let proxy = proxies.into_iter().find(|proxy| *proxy.name == *"l").unwrap();
    let limit = |filter: &Filter| match filter {
        Filter::BandwidthLimit(limit) => Some(limit.clone()),
        _ => None,
    };
    proxy.common.filters.iter().filter_map(limit).collect()
}

#[test]
fn limits_of_streams_take_their_words_in_any_order() {
    let found = limits(&listen(
        " filter bwlim-in up default-limit 1k default-period 2s\n \
         filter bwlim-out down min-size 5k default-period 500 default-limit 4294967295",
    ));
    let shown: Vec<String> = found
        .iter()
        .map(|it| format!("{} {:?} {} {:?}", it.name, it.side, it.min_size, it.scope))
        .collect();
    let expected = [
        "up Request 0 Stream { limit: 1024, period: 2000 }",
        "down Response 5120 Stream { limit: 4294967295, period: 500 }",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn shared_limits_find_their_table() {
    let lines = " filter bwlim-out x limit 30k key src,ipmask(24) table t min-size 7";
    let found = limits(&with_table(TABLE, lines));
    let BandwidthScope::Shared { limit: 30_720, key, table } = &found[0].scope else {
        panic!("{found:?}")
    };
    assert_eq!((key.keyword(), table.number(), found[0].min_size), ("src", Some(0), 7));
    assert_eq!(found[0].side, Side::Response);
    let own =
        " stick-table type ip size 10 store bytes_in_rate(1s)\n filter bwlim-in x limit 1 key src";
    assert_eq!(limits(&listen(own)).len(), 1, "the table of the section itself");
}

#[test]
fn mistakes_in_lines_are_told_in_haproxys_words() {
    let option = |kind: &str, what: &str| format!("'filter' : ''bwlim-{kind}' : {what}'");
    let missing = |kind, what: &str| option(kind, &format!("<{what}> option is missing"));
    let mixed = || option("out", "cannot mix per-stream and shared parameter");
    for (line, message) in [
        ("filter bwlim-out x default-limit 10", missing("out", "default-period")),
        ("filter bwlim-out x default-period 10", missing("out", "default-limit")),
        ("filter bwlim-out x", missing("out", "default-period")),
        ("filter bwlim-out default-limit 1 default-period 1", missing("out", "default-period")),
        ("filter bwlim-in x default-limit 1 default-period 0", missing("in", "default-period")),
        ("filter bwlim-in x default-limit 0 default-period 1", missing("in", "default-limit")),
        ("filter bwlim-out x limit 10", missing("out", "key")),
        ("filter bwlim-out x table t", missing("out", "key")),
        ("filter bwlim-out x key src table t", missing("out", "limit")),
        ("filter bwlim-out x limit 0 key src table t", missing("out", "limit")),
        ("filter bwlim-out x limit 10 default-period 1s", mixed()),
        ("filter bwlim-out x default-limit 1 key src", mixed()),
        ("filter bwlim-out x default-limit 1 default-period 1 table t", mixed()),
        ("filter bwlim-out", option("out", "a name is expected as first argument")),
        ("filter bwlim-out x limit", option("out", "'limit' option without value")),
        (
            "filter bwlim-out x limit 1z key src",
            option("out", "invalid value '1z' for option 'limit'"),
        ),
        (
            "filter bwlim-out x default-limit -1 default-period 1",
            option("out", "invalid value '-1' for option 'default-limit'"),
        ),
        (
            "filter bwlim-in x default-limit 5g default-period 1s",
            option("in", "invalid value '5g' for option 'default-limit'"),
        ),
        (
            "filter bwlim-in x default-limit 1k default-period 1s min-size 10 foo",
            "'filter bwlim-in' : unknown keyword 'foo'.".to_owned(),
        ),
        (
            "filter bwlim-in x default-limit 1 default-period 1\n filter bwlim-out x default-limit 1 default-period 1",
            "'filter' : 'bwlim filter 'x' already declared for proxy 'l'".to_owned(),
        ),
    ] {
        assert_eq!(alerts(&with_table(TABLE, &format!(" {line}"))), [message], "{line}");
    }
    let text = listen("").replacen("defaults\n", "defaults\n filter bwlim-in x\n", 1);
    assert_eq!(alerts(&text), ["filter is not allowed in a 'default' section."]);
}

#[test]
fn a_period_or_a_key_that_is_none_is_an_error() {
    for (line, part) in [
        ("default-limit 1 default-period 1parsec", "unexpected character 'p'"),
        ("default-limit 1 default-period 99999999999d", "overflow"),
        ("limit 1 key nope table t", "nope"),
        ("limit 1 key if table t", "if"),
    ] {
        let found = alerts(&with_table(TABLE, &format!(" filter bwlim-out x {line}")));
        assert!(found.len() == 1 && found[0].contains(part), "{line}: {found:?}");
    }
}

#[test]
fn tables_of_shared_limits_must_be_there_and_fit() {
    let x = "referenced by bwlim filter 'x'";
    for (table, line, message) in [
        ("", "limit 10 key src", format!("Proxy l : unable to find table 'l' {x}")),
        ("", "limit 10 key src table nope", format!("Proxy l : unable to find table 'nope' {x}")),
        (
            NARROW,
            "limit 10 key src table t",
            "Proxy l : stick-table 't' uses a data type incompatible with bwlim filter 'x'. It must be 'bytes_out_rate'"
                .to_owned(),
        ),
        (
            TABLE,
            "limit 10 key always_true table t",
            "Proxy l : stick-table 't' uses a type incompatible with the key of bwlim filter 'x'".to_owned(),
        ),
    ] {
        let text = with_table(table, &format!(" filter bwlim-out x {line}"));
        assert_eq!(alerts(&text), [message], "{line}");
    }
}

const FILTERS: &str = " filter bwlim-out x default-limit 1 default-period 1\n \
                       filter bwlim-in s limit 1 key src table t\n ";

#[test]
fn rules_of_all_four_sets_find_the_limit_of_their_section() {
    for set in ["http-request", "http-response", "tcp-request content", "tcp-response content"] {
        let lines = format!(
            "{FILTERS}{set} set-bandwidth-limit x limit int(3) period int(4) if TRUE\n {set} set-bandwidth-limit s"
        );
        let text = with_table(TABLE, &lines);
        assert_eq!(alerts(&text), [""; 0], "{set}");
        let proxies = model(&text).proxies;
        let proxy = proxies.iter().find(|proxy| *proxy.name == *"l").unwrap();
        let rules = proxy.rules.sets().into_iter().flat_map(|set| set.rules());
        let names: Vec<&str> = rules
            .filter_map(|rule| match rule.action() {
                Action::Bandwidth(edit) => Some(edit.name()),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["x", "s"], "{set}");
    }
    for set in ["tcp-request connection", "tcp-request session", "http-after-response"] {
        let text = with_table(TABLE, &format!("{FILTERS}{set} set-bandwidth-limit x"));
        assert_eq!(alerts(&text).len(), 1, "{set}");
    }
}

#[test]
fn rules_that_name_a_limit_wrongly_are_told_in_haproxys_words() {
    let unable = |proxy: &str, name: &str| {
        format!(
            "Proxy '{proxy}': unable to find bwlim filter '{name}' referenced by set-bandwidth-limit rule."
        )
    };
    let shared = |what: &str| {
        format!(
            "Proxy 'l': set-bandwidth-limit rule cannot define a {what} for a shared bwlim filter."
        )
    };
    for (rule, message) in [
        ("http-request set-bandwidth-limit nope", unable("l", "nope")),
        ("tcp-request content set-bandwidth-limit nope", unable("l", "nope")),
        ("http-request set-bandwidth-limit s limit int(3)", shared("limit")),
        ("http-response set-bandwidth-limit s period int(3)", shared("period")),
    ] {
        assert_eq!(alerts(&with_table(TABLE, &format!("{FILTERS}{rule}"))), [message], "{rule}");
    }
    // A backend does not see the filters of a frontend, and sections of defaults have none.
    let text = listen(
        " filter bwlim-out x default-limit 1 default-period 1\nbackend b\n http-response set-bandwidth-limit x",
    );
    assert_eq!(alerts(&text), [unable("b", "x")]);
    let named = "defaults d\n mode http\n http-request set-bandwidth-limit x\n";
    let found = alerts(&format!("{}\n{named}", listen("")));
    assert_eq!(found, [unable("d", "x")]);
}

#[test]
fn compression_beside_a_limit_needs_its_own_line() {
    let found = alerts(&listen(
        " filter bwlim-out x default-limit 1 default-period 1\n compression algo gzip",
    ));
    assert_eq!(
        found,
        ["proxy 'l': require an explicit filter declaration to use HTTP compression"]
    );
}
