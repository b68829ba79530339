//! The exporter against the names that HAProxy has.

use super::answer;
use crate::testing;
use engine::state::runtime::Shared;
use htx::{Head, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use transport::stats::latency::SPANS;

/// The names of HAProxy 2.7, one per line, with their class.
const NAMES: &str = include_str!("../../../../docs/compat/keywords-2.7.tsv");

/// The dashboard for Grafana.
const GRAFANA: &str = include_str!("../../../../contrib/grafana/weir.json");

fn ask(uri: &str) -> (u16, String) {
    ask_of(&testing::shared(), uri)
}

fn ask_of(shared: &Arc<Shared>, uri: &str) -> (u16, String) {
    let (worker, settings) = (testing::worker(shared), testing::settings());
    let mut request = Head::default();
    request.set_request(b"GET", uri.as_bytes(), Version::Http11);
    let answer = answer(&settings, &request);
    let body = answer.body.collect(&worker);
    (answer.head.status(), String::from_utf8(body).unwrap())
}

/// The part before the value in each line of a metric.
fn lines<'a>(text: &'a str, metric: &str) -> BTreeMap<&'a str, &'a str> {
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    let name = |what: &str| what.split('{').next() == Some(metric);
    lines.filter(|(what, _)| name(what)).collect()
}

#[test]
fn all_metrics_of_haproxy_are_there_with_their_types() {
    let (status, text) = ask("/metrics");
    assert_eq!(status, 200);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let given: BTreeSet<String> = types.map(|it| it.replace(' ', "\t")).collect();
    let rows = NAMES.lines().filter_map(|line| line.strip_prefix("prometheus-metric\t"));
    let cells = rows.map(|row| row.split('\t').collect::<Vec<_>>());
    let wanted = cells.map(|cells| format!("{}\t{}", cells[0], cells[2]));
    // There are no figures of listeners yet, and no tables here.
    let absent = ["haproxy_listener_", "haproxy_sticktable_"];
    let wanted = wanted.filter(|name| !absent.iter().any(|it| name.starts_with(it)));
    let missing: Vec<_> = wanted.filter(|name| !given.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn values_carry_their_labels() {
    let (_, text) = ask("/metrics");
    let responses = lines(&text, "haproxy_server_http_responses_total");
    let s1 = "haproxy_server_http_responses_total{proxy=\"be\",server=\"s1\",code=\"2xx\"}";
    assert_eq!(responses.get(s1), Some(&"3"));
    let states = lines(&text, "haproxy_server_status");
    let of = |server: &str, state: &str| {
        let name =
            format!("haproxy_server_status{{proxy=\"be\",server=\"{server}\",state=\"{state}\"}}");
        states.get(&*name).copied()
    };
    assert_eq!(
        (of("s1", "UP"), of("s4", "MAINT"), of("s4", "UP")),
        (Some("1"), Some("1"), Some("0"))
    );
    let totals = lines(&text, "haproxy_backend_agg_server_status");
    let in_maintenance = "haproxy_backend_agg_server_status{proxy=\"be\",state=\"MAINT\"}";
    assert_eq!(totals.get(in_maintenance), Some(&"1"));
    let build = lines(&text, "haproxy_process_build_info");
    assert_eq!(build.values().copied().collect::<Vec<_>>(), ["1"]);
    assert!(text.contains("haproxy_server_limit_sessions{proxy=\"be\",server=\"s2\"} NaN"));
    assert!(text.contains(
        "haproxy_server_queue_time_average_seconds{proxy=\"be\",server=\"s2\"} 0.000000"
    ));
}

#[test]
fn scopes_choose_and_maintenance_can_be_left_out() {
    let (_, servers) = ask("/metrics?scope=server");
    assert!(servers.lines().all(|line| line.contains("haproxy_server_")));
    assert!(servers.contains("server=\"s4\""));
    let (_, fewer) = ask("/metrics?scope=server&no-maint");
    assert!(!fewer.contains("server=\"s4\"") && fewer.contains("server=\"s1\""));
    assert_eq!(ask("/metrics?scope="), (200, String::new()));
    assert_eq!(ask("/metrics?scope=nothing").0, 400);
}

#[test]
fn metrics_without_a_value_are_left_out() {
    let (_, text) = ask("/metrics");
    let named = |metric: &str, label: &str| {
        lines(&text, metric).keys().filter(|line| line.contains(label)).count()
    };
    for metric in ["check_status", "check_code", "check_duration_seconds"] {
        let metric = format!("haproxy_server_{metric}");
        let per_server = if metric.ends_with("status") { 16 } else { 1 };
        assert_eq!(named(&metric, "server=\"s1\""), per_server, "{metric}");
        assert_eq!(named(&metric, "server=\"s3\""), 0, "{metric}: it has no checks");
    }
    assert!(text.contains("haproxy_server_check_code{proxy=\"be\",server=\"s2\"} 0\n"), "{text}");
    assert_eq!(named("haproxy_server_check_failures_total", "server=\"s3\""), 1);
    let of_tcp = text.lines().filter(|line| line.contains("{proxy=\"tcp\""));
    let of_http = of_tcp.filter(|line| line.contains("_http_") || line.contains("_intercepted_"));
    assert_eq!(of_http.collect::<Vec<_>>(), [""; 0]);
    assert_eq!(named("haproxy_frontend_intercepted_requests_total", "proxy=\"fe\""), 1);
    assert_eq!(named("haproxy_backend_agg_server_status", "proxy=\"be\""), 5);
    for metric in ["agg_server_status", "agg_server_check_status", "agg_check_status"] {
        let metric = format!("haproxy_backend_{metric}");
        assert_eq!(named(&metric, "proxy=\"stats\""), 0, "{metric}: it has no servers");
    }
    assert_eq!(named("haproxy_backend_status", "proxy=\"stats\""), 2);
}

#[test]
fn hostile_names_are_escaped() {
    let mut out = String::new();
    super::sample(&mut out, "x", &[("proxy", "a\"b\\c\nd")], 1);
    assert_eq!(out, "haproxy_x{proxy=\"a\\\"b\\\\c\\nd\"} 1\n");
}

#[test]
fn the_dashboard_for_grafana_queries_existing_metrics() {
    let shared = testing::shared();
    let front = shared.proxies[0].front.as_ref().unwrap();
    let server = &shared.proxies[1].back.as_ref().unwrap().servers[0];
    for span in SPANS {
        front.counters.latencies.record(0, span, 1, 1_000_001);
        server.counters.latencies.record(0, span, 1, 1_000_001);
    }
    let (_, text) = ask_of(&shared, "/metrics");
    let words =
        |text: &'static str| text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let metric = |word: &&str| word.starts_with("haproxy_") || word.starts_with("weir_");
    let asked: BTreeSet<_> = words(GRAFANA).filter(metric).collect();
    assert!(asked.len() > 20, "{asked:?}");
    let unknown = |name: &&str| {
        let starts = [format!("\n{name}{{"), format!("\n{name} ")];
        !starts.iter().any(|start| text.contains(start))
    };
    assert_eq!(asked.iter().copied().filter(unknown).collect::<Vec<_>>(), [""; 0]);
}
