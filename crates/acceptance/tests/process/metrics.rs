//! The Prometheus exporter over HTTP.

use crate::support::{Origin, Setup, eventually};

#[test]
fn the_exporter_shows_counters_of_traffic() {
    let origin = Origin::saying("hello");
    let front = "    http-request track-sc0 src table seen\n    \
                 http-request use-service prometheus-exporter if { path /metrics }";
    let back = "    server s <origin>\nbackend seen\n    stick-table type ip size 100 store gpc0";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let mut client = weir.web();
    for _ in 0..3 {
        client.get("/");
    }
    let answer = client.get("/metrics");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
    assert_eq!(answer.header("cache-control"), Some("no-cache"));
    let text = answer.text();
    for line in [
        "haproxy_frontend_http_responses_total{proxy=\"web\",code=\"2xx\"} 3",
        "haproxy_frontend_intercepted_requests_total{proxy=\"web\"} 1",
        "haproxy_backend_status{proxy=\"app\",state=\"UP\"} 1",
        "haproxy_server_sessions_total{proxy=\"app\",server=\"s\"} 3",
        "haproxy_sticktable_size{name=\"seen\",type=\"ip\"} 100",
        "haproxy_sticktable_used{name=\"seen\",type=\"ip\"} 1",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert_eq!(client.get("/metrics?scope=bad").status(), 400);
    let few = client.get("/metrics?scope=sticktable").text();
    assert!(few.lines().all(|line| line.contains("haproxy_sticktable_")), "{few}");
}

#[test]
fn histograms_hold_every_request_once() {
    let origin = Origin::saying("hello");
    let front = "    http-request use-service prometheus-exporter if { path /metrics }";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    for _ in 0..4 {
        client.get("/");
    }
    let text = client.get("/metrics?scope=histogram").text();
    for line in [
        "weir_frontend_total_time_seconds_count{proxy=\"web\"} 4",
        "weir_backend_queue_time_seconds_count{proxy=\"app\"} 4",
        "weir_backend_response_time_seconds_count{proxy=\"app\"} 4",
        "weir_server_connect_time_seconds_count{proxy=\"app\",server=\"s\"} 1",
        "weir_server_total_time_seconds_bucket{proxy=\"app\",server=\"s\",le=\"+Inf\"} 4",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    }
    assert!(text.lines().all(|line| line.contains("weir_")), "{text}");
}

#[test]
fn nothing_is_timed_with_tune_histograms_off() {
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats enable\n    \
                 http-request use-service prometheus-exporter if { path /metrics }";
    let weir = Setup::http(front, "    server s <origin>").global("tune.histograms off");
    let weir = weir.with("origin", origin.address()).start();
    let mut client = weir.web();
    client.get("/");
    let text = client.get("/metrics").text();
    assert!(
        text.contains("haproxy_server_sessions_total{proxy=\"app\",server=\"s\"} 1\n"),
        "{text}"
    );
    assert!(!text.contains("weir_"), "{text}");
    for (proxy, row) in [("web", "FRONTEND"), ("app", "BACKEND"), ("app", "s")] {
        assert_eq!(weir.stat(proxy, row, "weir_ttime_p50"), "", "{proxy}/{row}");
    }
    assert_eq!(weir.stat("app", "s", "req_tot"), "1");
    let figures = client.get("/stats/ui/figures").text();
    assert!(figures.contains("\"histograms\":false"), "{figures}");
    assert!(!figures.contains("\"total\":"), "{figures}");
}

#[test]
fn a_backend_keeps_the_counts_of_deleted_servers() {
    let origin = Origin::saying("hello");
    let front = "    http-request use-service prometheus-exporter if { path /metrics }";
    let weir = Setup::http(front, "    balance roundrobin").start();
    let added = weir.cli(&format!("add server app/d {}", origin.address()));
    assert_eq!(added, "New server registered.");
    weir.cli("enable server app/d");
    // The connection is not kept, so that it does not hold the server back.
    weir.web().ask("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    weir.cli("disable server app/d");
    eventually("it is gone", || weir.cli("del server app/d").contains("deleted").then_some(()));
    let text = weir.web().get("/metrics?scope=histogram").text();
    let kept = "weir_backend_total_time_seconds_count{proxy=\"app\"} 1";
    assert!(text.lines().any(|line| line == kept), "{text}");
    assert!(!text.contains("weir_server_total"), "{text}");
}

#[test]
fn listeners_that_count_have_metrics() {
    let origin = Origin::saying("a");
    let front = "    option socket-stats\n    http-request use-service prometheus-exporter if { path /metrics }";
    let weir = Setup::http(front, "    server s <s>").with("s", origin.address()).start();
    let text = weir.web().get("/metrics").text();
    for name in [
        "haproxy_listener_current_sessions",
        "haproxy_listener_max_sessions",
        "haproxy_listener_limit_sessions",
        "haproxy_listener_sessions_total",
        "haproxy_listener_bytes_in_total",
        "haproxy_listener_bytes_out_total",
        "haproxy_listener_requests_denied_total",
        "haproxy_listener_responses_denied_total",
        "haproxy_listener_request_errors_total",
        "haproxy_listener_status",
        "haproxy_listener_denied_connections_total",
        "haproxy_listener_denied_sessions_total",
        "haproxy_listener_failed_header_rewriting_total",
        "haproxy_listener_internal_errors_total",
    ] {
        let start = format!("\n{name}{{proxy=\"web\",listener=\"sock-1\"");
        assert!(text.contains(&start), "{name} in {text}");
    }
}
