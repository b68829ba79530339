//! Golden tests of the formats.
//!
//! `stat.csv` was compared field by field with what HAProxy 2.6 answers for the same configuration.

use super::*;
use crate::settings::Settings;
use crate::testing;
use field::COLUMNS;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::counters::Metric;

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
    assert!(lines[0].contains(",uweight,agg_server_check_status,-,ssl_sess,"));
    let expected = include_str!("tests/stat.csv").lines();
    for (line, expected) in lines.iter().zip(expected) {
        let (line, expected) = (line.split(','), expected.split(','));
        let pairs: Vec<_> = line.zip(expected).enumerate().take(COUNT + 1).collect();
        assert_eq!(pairs.len(), COUNT + 1, "one more for the end");
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
    let named = Filter { kinds: 3, names: vec!["tcp".into(), "fe".into()], ..Filter::default() };
    assert_eq!(names(named), ["FRONTEND", "FRONTEND", "BACKEND"]);
}

#[test]
fn csv_quotes_ambiguous_texts() {
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
    assert!(out.contains(r#""value":"a, \"b\"\nc""#), "{out}");
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
    let items = info::all(&worker, &testing::settings(), false);
    let names: Vec<_> = items.iter().map(|item| item.name).collect();
    let listed: Vec<_> = include_str!("tests/info-fields.txt").lines().collect();
    assert_eq!(names, listed);
    let mut out = String::new();
    info::write(&items, false, &mut out);
    assert!(out.starts_with("Name: HAProxy\nVersion: 2.7-test\nRelease_date: 2026/11/21\n"));
    assert!(out.contains("\nnode: node1\n") && out.contains("\nMaxconn: 100\n"));
    let mut out = String::new();
    typed::write_info(&items, false, &mut out);
    assert!(out.contains("\n47.Tasks.1:MGP:u32:") && out.contains("50.node.1:COS:str:node1\n"));
    let mut out = String::new();
    json::write_info(&items, &mut out);
    let first = r#"[{"field":{"pos":0,"name":"Name"},"processNum":1,"tags":{"origin":"Product","nature":"Output","scope":"Service"},"value":{"type":"str","value":"HAProxy"}},{"#;
    assert!(out.starts_with(first), "{out}");
}

/// Every field of `show info` and its value in `changed`; an empty text stands for any number.
#[rustfmt::skip]
const INFO: &[(&str, &str)] = &[
    ("Name", "HAProxy"), ("Version", "2.7-test"), ("Release_date", "2026/11/21"), ("Nbthread", "1"), ("Nbproc", "1"), ("Process_num", "1"),
    ("Pid", "42"), ("Uptime", ""), ("Uptime_sec", ""), ("Memmax_MB", "5"), ("PoolAlloc_MB", "0"), ("PoolUsed_MB", "0"), ("PoolFailed", "0"),
    ("Ulimit-n", "99"), ("Maxsock", "99"), ("Maxconn", "77"), ("Hard_maxconn", "100"), ("CurrConns", "0"), ("CumConns", "7"), ("CumReq", "8"),
    ("MaxSslConns", "0"), ("CurrSslConns", "0"), ("CumSslConns", "0"), ("Maxpipes", "0"), ("PipesUsed", "0"), ("PipesFree", "0"), ("ConnRate", ""),
    ("ConnRateLimit", "0"), ("MaxConnRate", "3"), ("SessRate", ""), ("SessRateLimit", "0"), ("MaxSessRate", "2"), ("SslRate", "0"),
    ("SslRateLimit", "0"), ("MaxSslRate", "0"), ("SslFrontendKeyRate", "0"), ("SslFrontendMaxKeyRate", "0"), ("SslFrontendSessionReuse_pct", "0"),
    ("SslBackendKeyRate", "0"), ("SslBackendMaxKeyRate", "0"), ("SslCacheLookups", "0"), ("SslCacheMisses", "0"), ("CompressBpsIn", "0"),
    ("CompressBpsOut", "0"), ("CompressBpsRateLim", "0"), ("ZlibMemUsage", "0"), ("MaxZlibMemUsage", "0"), ("Tasks", ""), ("Run_queue", ""), ("Idle_pct", ""), ("node", "node1"), ("Stopping", "0"),
    ("Jobs", "1"), ("Unstoppable Jobs", "0"), ("Listeners", "1"), ("ActivePeers", "0"), ("ConnectedPeers", "0"), ("DroppedLogs", "5"),
    ("BusyPolling", "0"), ("FailedResolutions", "0"), ("TotalBytesOut", "0"), ("TotalSplicdedBytesOut", "0"), ("BytesOutRate", "0"),
    ("DebugCommandsIssued", "0"), ("CumRecvLogs", "0"), ("Build info", "2.7-test"), ("Memmax_bytes", "5242880"), ("PoolAlloc_bytes", "0"),
    ("PoolUsed_bytes", "0"), ("Start_time_sec", ""), ("Tainted", "0"),
    ("MemLimit_bytes", "0"), ("MemUsed_bytes", "0"), ("MemLevel", "0"), ("MemAcceptsPaused", "0"), ("MemRequestsEnded", "0"), ("MemStreamsRefused", "0"), ("MemIdleClosed", "0"),
    ("MemEntriesRefused", "0"), ("SslOwnRecords", ""), ("SslLibraryRecords", ""),
];

#[test]
fn every_field_of_info_has_its_value() {
    let shared = testing::shared();
    let worker = testing::worker(&shared);
    shared.totals.of(0).add(Metric::Connections, 7);
    shared.totals.of(0).add(Metric::Requests, 8);
    (0..3).for_each(|_| shared.totals.tick(0, Event::Connection, 1_000));
    (0..2).for_each(|_| shared.totals.tick(0, Event::Session, 1_000));
    shared.maxconn.store(77, Relaxed);
    shared.dropped_logs.store(5, Relaxed);
    let settings = testing::settings();
    let settings = Settings { max_memory: 5 << 20, max_files: 99, ..(*settings).clone() };
    let items = info::all(&worker, &settings, false);
    assert_eq!(items.len(), INFO.len());
    for (item, (name, expected)) in items.iter().zip(INFO) {
        let value = item.value.to_string();
        let fits = if expected.is_empty() { !value.is_empty() } else { value == *expected };
        assert!(item.name == *name && fits, "{name}: {value} instead of {expected}");
    }
}

#[test]
fn rates_have_fractions_where_they_are_asked_for() {
    let shared = testing::shared();
    let worker = testing::worker(&shared);
    let clock = Clock::of(&worker);
    (0..10).for_each(|_| shared.totals.tick(0, Event::Connection, clock.second - 1));
    (0..2).for_each(|_| shared.totals.tick(0, Event::Connection, clock.second));
    let settings = testing::settings();
    let value = |precise: bool, name: &str| {
        let items = info::all(&worker, &settings, precise);
        let item = items.into_iter().find(|item| item.name == name).unwrap();
        (item.value.kind(), item.tags.0, item.value.to_string())
    };
    let milli = 2_000 + 10 * (1_000 - u64::from(clock.of_second));
    assert_eq!(value(true, "ConnRate"), ("flt", "MRP", Value::Micros(milli * 1_000).to_string()));
    assert_eq!(value(false, "ConnRate").0, "u32");
    assert_eq!(value(true, "SslRate"), ("flt", "MRP", "0".to_owned()));
    assert_eq!(value(true, "SslFrontendKeyRate"), ("flt", "MRP", "0".to_owned()));
    assert_eq!(value(false, "SslFrontendKeyRate"), ("u32", "MGP", "0".to_owned()));
    // The shown rate slides, and can be more than that of the past second.
    let most = milli.div_ceil(1_000).max(10).to_string();
    assert_eq!(value(true, "MaxConnRate"), ("u32", "MMP", most));
    let shown = [1_500_000, 1_000_001, 0, 10_000_000].map(|it| Value::Micros(it).to_string());
    assert_eq!(shown, ["1.5", "1.000001", "0", "10"]);
}

/// Columns that only checks, agents, pools and slow starts fill, and their values.
const CHECKED: &[(&str, &str)] = &[
    ("check_code", "404"),
    ("agent_status", "L7OK"),
    ("agent_code", "7"),
    ("agent_duration", "12"),
    ("agent_desc", "Layer7 check passed"),
    ("agent_rise", "1"),
    ("agent_fall", "1"),
    ("agent_health", "1"),
    ("last_agt", "ready"),
    ("src_ilim", "9"),
    ("throttle", "6"),
    ("tracked", "other/s9"),
];

#[test]
fn checks_and_agents_fill_their_columns() {
    let mut proxies = testing::proxies();
    let server = &mut proxies[1].back.as_mut().unwrap().servers[0];
    server.agent =
        Some(settings::Agent { ip: None, port: 8001, send: Vec::new(), inter_ms: 2_000 });
    server.pool_max = Some(9);
    server.balance.slowstart_ms = 60_000;
    server.balance.track = Some(balance::Tracked { backend: "other".into(), server: "s9".into() });
    let shared = proxy::build(testing::process(), proxies, Default::default(), 0);
    let back = shared.proxies[1].back.as_ref().unwrap();
    let check = |status, code| balance::CheckResult { status, code, ..Default::default() };
    for _ in 0..3 {
        back.balancer.on_check(0, check(balance::CheckStatus::L4Connection, None), 1_000);
    }
    for _ in 0..2 {
        back.balancer.on_check(0, check(balance::CheckStatus::L7Ok, Some(404)), 2_000);
    }
    let said = balance::CheckResult {
        duration_ms: 12,
        info: "ready".to_owned(),
        ..check(balance::CheckStatus::L7Ok, Some(7))
    };
    back.balancer.on_agent(0, said, 2_000);
    let filter = Filter { proxy: Some(3), kinds: 4, id: Some(1), ..Filter::default() };
    let row = rows(&shared, CLOCK, &filter).remove(0);
    for (name, expected) in CHECKED {
        let at = COLUMNS.iter().position(|column| column.name == *name).expect("a column");
        assert_eq!(row.values()[at].to_string(), *expected, "{name}");
    }
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

#[test]
fn compression_is_shown_in_columns_and_values() {
    let mut process = testing::process();
    process.compression.limits.rate = 10 << 10;
    process.compression.limits.memory = 5 << 20;
    let shared = proxy::build(process, testing::proxies(), Default::default(), 0);
    let worker = testing::worker(&shared);
    let amounts = [
        (Metric::CompressedIn, 1_000),
        (Metric::CompressedOut, 300),
        (Metric::CompressionBypassed, 70),
        (Metric::CompressedResponses, 4),
    ];
    let (fe, be) = (&shared.proxies[0], &shared.proxies[1]);
    for (metric, amount) in amounts {
        fe.front.as_ref().unwrap().counters.of(0).add(metric, amount);
        be.back.as_ref().unwrap().counters.of(0).add(metric, amount + 1);
    }
    let columns = [Field::CompIn, Field::CompOut, Field::CompByp, Field::CompRsp];
    let rows = rows(&shared, Clock::of(&worker), &Filter::default());
    let of = |kind, name: &str| {
        let row = rows.iter().find(|it| it.kind == kind && it.get(Field::Pxname).text() == name);
        columns.map(|column| row.unwrap().get(column).to_string())
    };
    assert_eq!(of(Kind::Frontend, "fe"), ["1000", "300", "70", "4"]);
    assert_eq!(of(Kind::Backend, "be"), ["1001", "301", "71", "5"]);
    assert_eq!(of(Kind::Server, "be"), [""; 4]);

    shared.compression.count(worker.millis(), 500, 200);
    shared.compression.take_memory(4_096);
    let items = info::all(&worker, &testing::settings(), false);
    let of =
        |name: &str| items.iter().find(|item| item.name == name).map(|item| item.value.number());
    assert_eq!((of("CompressBpsIn"), of("CompressBpsOut")), (Some(500), Some(200)));
    assert_eq!(of("CompressBpsRateLim"), Some(10_240));
    assert_eq!((of("ZlibMemUsage"), of("MaxZlibMemUsage")), (Some(4_096), Some(5 << 20)));
}

#[test]
fn lookups_and_hits_of_caches_are_shown() {
    let shared = testing::shared();
    let worker = testing::worker(&shared);
    let back = shared.proxies[1].back.as_ref().unwrap();
    back.counters.of(0).add(Metric::CacheLookups, 7);
    back.counters.of(0).add(Metric::CacheHits, 5);
    let columns = [Field::CacheLookups, Field::CacheHits];
    let rows = rows(&shared, Clock::of(&worker), &Filter::default());
    let of = |kind, name: &str| {
        let row = rows.iter().find(|it| it.kind == kind && it.get(Field::Pxname).text() == name);
        columns.map(|column| row.unwrap().get(column).to_string())
    };
    assert_eq!(of(Kind::Backend, "be"), ["7", "5"]);
    assert_eq!(of(Kind::Frontend, "fe"), ["0", "0"]);
    assert_eq!(of(Kind::Server, "be"), [""; 2]);
}

#[test]
fn limits_of_rates_are_shown() {
    let max_rates = settings::Rates { connections: 7, sessions: 8, tls_sessions: 6 };
    let process = settings::Process { max_rates, ..testing::process() };
    let mut proxies = testing::proxies();
    proxies[0].front.as_mut().unwrap().session_rate = 9;
    let shared = proxy::build(process, proxies, Default::default(), 0);
    let worker = testing::worker(&shared);
    let items = info::all(&worker, &testing::settings(), false);
    let of =
        |name: &str| items.iter().find(|item| item.name == name).map(|item| item.value.number());
    assert_eq!((of("ConnRateLimit"), of("SessRateLimit")), (Some(7), Some(8)));
    let rows = rows(&shared, Clock::of(&worker), &Filter::default());
    assert_eq!(rows[0].get(Field::RateLim).number(), 9);
}
