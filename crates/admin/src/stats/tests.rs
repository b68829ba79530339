//! Golden tests of the formats. Never part of the product.
//!
//! `stat.csv` was compared field by field with what HAProxy 2.6 answers for the same configuration.

use super::*;
use crate::testing;
use field::COLUMNS;

const CLOCK: Clock = Clock { second: 1_000, of_second: 0, ms: 3_000 };

fn table(filter: &Filter) -> Vec<Row> {
    rows(&testing::shared(), CLOCK, filter)
}

fn legends() -> Filter {
    Filter { legends: true, ..Filter::default() }
}

#[test]
fn csv_has_the_measured_lines() {
    let mut out = String::new();
    csv::write(&table(&legends()), &mut out);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].starts_with("# pxname,svname,qcur,qmax,scur,"));
    assert!(lines[0].ends_with(",uweight,agg_server_check_status,-,"));
    let expected = include_str!("tests/stat.csv").lines();
    for (line, expected) in lines.iter().zip(expected) {
        let (line, expected) = (line.split(','), expected.split(','));
        let pairs: Vec<_> = line.zip(expected).enumerate().collect();
        assert_eq!(pairs.len(), COUNT + 2, "one more for the end");
        for (position, (is, should)) in pairs {
            let name = COLUMNS.get(position).map_or("-", |column| column.name);
            assert_eq!(is, should, "{name} of {should:?}");
        }
    }
    assert_eq!(lines.len(), 12);
}

#[test]
fn without_legends_addresses_stay_hidden() {
    for row in table(&Filter::default()) {
        for field in [Field::Addr, Field::Cookie, Field::Algo] {
            assert!(row.get(field).is_empty());
        }
    }
}

#[test]
fn filters_select() {
    let names = |filter: Filter| -> Vec<String> {
        let name = |row: &Row| row.get(Field::Svname).text().to_owned();
        table(&filter).iter().map(name).collect()
    };
    let servers = Filter { kinds: 4, proxy: Some(3), ..Filter::default() };
    assert_eq!(names(servers.clone()), ["s1", "s2", "s3", "s4"]);
    assert_eq!(names(Filter { id: Some(2), ..servers.clone() }), ["s2"]);
    assert_eq!(names(Filter { states: States::Up, ..servers.clone() }), ["s1", "s3"]);
    assert_eq!(names(Filter { states: States::NoMaint, ..servers }), ["s1", "s2", "s3"]);
    let sides = Filter { kinds: 3, scope: "t".into(), ..Filter::default() };
    assert_eq!(names(sides), ["FRONTEND", "BACKEND", "FRONTEND", "BACKEND"]);
}

#[test]
fn csv_quotes_what_is_ambiguous() {
    let shared = testing::shared();
    let back = shared.proxies[1].back.as_ref().unwrap();
    let info = "a, \"b\"\nc".to_owned();
    let status = balance::CheckStatus::L7Response;
    let result = balance::CheckResult { status, info, ..Default::default() };
    back.balancer.on_check(0, result, 2_000);
    let filter = Filter { proxy: Some(3), kinds: 4, id: Some(1), ..Filter::default() };
    let mut out = String::new();
    csv::write(&rows(&shared, CLOCK, &filter), &mut out);
    assert!(out.contains(",\"a, \"\"b\"\" c\","), "{out}");
    assert_eq!(out.lines().count(), 2);
    let mut out = String::new();
    typed::write(&rows(&shared, CLOCK, &filter), false, &mut out);
    assert!(out.contains("S.3.1.56.last_chk.1:MOP:str:a, \"b\" c\n"), "{out}");
    let mut out = String::new();
    json::write(&rows(&shared, CLOCK, &filter), &mut out);
    assert!(out.contains(r#""value":"a, \"b\"\u000ac""#), "{out}");
}

#[test]
fn typed_lines_carry_tags_and_types() {
    let mut out = String::new();
    typed::write(&table(&legends()), false, &mut out);
    for line in [
        "F.2.0.0.pxname.1:KNS:str:fe",
        "F.2.0.4.scur.1:MGP:u32:0",
        "F.2.0.7.stot.1:MCP:u64:3",
        "S.3.1.18.weight.1:MaP:u32:1",
        "S.3.1.38.check_duration.1:MDP:u64:0",
        "S.3.1.55.lastsess.1:MAP:s32:0",
        "S.3.1.56.last_chk.1:MOP:str:",
        "B.3.0.76.algo.1:CGS:str:roundrobin",
    ] {
        assert!(out.lines().any(|it| it == line), "{line}");
    }
    assert!(!out.contains("F.2.0.2.qcur"), "empty values have no line");
    let mut described = String::new();
    typed::write(&table(&legends()), true, &mut described);
    assert!(described.starts_with("F.2.0.0.pxname.1:KNS:str:fe:\"Name of the proxy\"\n"));
}

#[test]
fn json_has_the_measured_shape() {
    let mut out = String::new();
    json::write(&table(&Filter { proxy: Some(2), ..Filter::default() }), &mut out);
    let first = r#"[[{"objType":"Frontend","proxyId":2,"id":0,"field":{"pos":0,"name":"pxname"},"processNum":1,"tags":{"origin":"Key","nature":"Name","scope":"Service"},"value":{"type":"str","value":"fe"}},"#;
    assert!(out.starts_with(first), "{out}");
    let (open, close) = (out.matches('{').count(), out.matches('}').count());
    assert!(open == close && out.ends_with("}}]]\n"), "{out}");
}

#[test]
fn info_has_all_fields_in_order() {
    let shared = testing::shared();
    let worker = testing::worker(&shared);
    let items = info::all(&worker, &testing::settings());
    let names: Vec<_> = items.iter().map(|item| item.name).collect();
    let listed: Vec<_> = include_str!("tests/info-fields.txt").lines().collect();
    assert_eq!(names, listed);
    let mut out = String::new();
    info::write(&items, false, &mut out);
    assert!(out.starts_with("Name: HAProxy\nVersion: 2.7-test\nRelease_date: 2026/11/21\n"));
    assert!(out.contains("\nnode: node1\n") && out.contains("\nMaxconn: 100\n"));
    assert!(out.contains("\nTotalBytesOut: 219\n"));
    let mut out = String::new();
    typed::write_info(&items, false, &mut out);
    assert!(out.contains("\n47.Tasks.1:MGP:u32:") && out.contains("50.node.1:COS:str:node1\n"));
    let mut out = String::new();
    json::write_info(&items, &mut out);
    let first = r#"[{"field":{"pos":0,"name":"Name"},"processNum":1,"tags":{"origin":"Product","nature":"Output","scope":"Service"},"value":{"type":"str","value":"HAProxy"}},{"#;
    assert!(out.starts_with(first), "{out}");
}

#[test]
fn columns_are_those_of_the_manual() {
    let names: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
    let listed: Vec<_> = include_str!("tests/stat-fields.txt").lines().collect();
    assert_eq!(names, listed);
    assert!(COLUMNS.iter().all(|column| column.tags.0.len() == 3));
    assert_eq!(Field::Addr.column().name, "addr");
}

#[test]
fn spans_are_written_as_uptimes() {
    assert_eq!(info::span(93_784), "1d 2h03m04s");
}
