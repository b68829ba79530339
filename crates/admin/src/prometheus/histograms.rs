//! Histograms of how long things took, by frontend, backend and server: metrics that HAProxy does
//! not have, named `weir_*`. Never counts anything itself.
//!
//! Edges are powers of two of microseconds, from 64 us to 67 s, where the counts below are exact.
//! What has no sample yet is left out, so that silent servers cost nothing.

use super::{begin_as, labelled};
use crate::stats::Kind;
use proxy::Shared;
use proxy::counters::Counters;
use proxy::latency::{SPANS, Span};
use proxy::runtime::Back;
use stdx::Summary;

/// Powers of two of microseconds that are edges of buckets.
const POWERS: std::ops::RangeInclusive<u32> = 6..=26;

/// Name and explanation of a span.
fn words(span: Span) -> (&'static str, &'static str) {
    match span {
        Span::Handshake => ("handshake", "Time until a new client connection could carry requests"),
        Span::Queue => ("queue", "Time that requests waited in queues"),
        Span::Connect => ("connect", "Time to make new server connections"),
        Span::Response => ("response", "Time from the connection to the head of the response"),
        Span::Total => {
            ("total", "Time from the first byte of the request to the end of the response")
        }
    }
}

/// What is measured, and its labels.
struct Object<'a> {
    proxy: &'a str,
    server: Option<&'a str>,
    times: Times<'a>,
}

/// Where the times of an object are kept.
enum Times<'a> {
    Own(&'a Counters),
    /// They are those of all servers together.
    Servers(&'a Back),
}

impl Times<'_> {
    fn summary(&self, span: Span) -> Summary {
        match self {
            Self::Own(counters) => counters.latencies.summary(span),
            Self::Servers(back) => back.latencies(span),
        }
    }
}

pub(super) fn write(shared: &Shared, out: &mut String) {
    let kinds = [
        (Kind::Frontend, "frontend", &[Span::Handshake, Span::Total][..]),
        (Kind::Backend, "backend", &SPANS[1..]),
        (Kind::Server, "server", &SPANS[1..]),
    ];
    for (kind, prefix, spans) in kinds {
        let objects = objects(shared, kind);
        for span in spans {
            let (name, help) = words(*span);
            let name = format!("weir_{prefix}_{name}_time_seconds");
            block(&objects, *span, &name, help, out);
        }
    }
}

fn objects<'a>(shared: &'a Shared, kind: Kind) -> Vec<Object<'a>> {
    let mut objects = Vec::new();
    for proxy in shared.proxies.iter().filter(|proxy| !proxy.settings.disabled) {
        let object = |server, times| Object { proxy: proxy.name(), server, times };
        match kind {
            Kind::Frontend => {
                objects.extend(proxy.front.iter().map(|it| object(None, Times::Own(&it.counters))));
            }
            Kind::Backend => {
                objects.extend(proxy.back.iter().map(|it| object(None, Times::Servers(it))));
            }
            Kind::Server => {
                let servers = proxy.back.iter().flat_map(|back| back.servers.iter());
                let of = |it: &'a proxy::runtime::Server| {
                    object(Some(it.state.name()), Times::Own(&it.counters))
                };
                objects.extend(servers.map(of));
            }
            // Its times are those of its frontend.
            Kind::Listener => {}
        }
    }
    objects
}

/// One span of all objects of a kind.
fn block(objects: &[Object<'_>], span: Span, name: &str, help: &str, out: &mut String) {
    let mut begun = false;
    for object in objects {
        let summary = object.times.summary(span);
        if summary.count() == 0 {
            continue;
        }
        if !std::mem::replace(&mut begun, true) {
            begin_as(out, name, "histogram", help);
        }
        object.write(&summary, name, out);
    }
}

impl Object<'_> {
    fn write(&self, summary: &Summary, name: &str, out: &mut String) {
        let mut labels = vec![("proxy", self.proxy)];
        labels.extend(self.server.map(|server| ("server", server)));
        let bucket = format!("{name}_bucket");
        let mut below = |le: &str, count| {
            let labels = [&labels[..], &[("le", le)]].concat();
            labelled(out, &bucket, &labels, count);
        };
        for power in POWERS {
            let edge = 1u64 << power;
            let le = format!("{:.6}", edge as f64 / 1e6);
            below(le.trim_end_matches('0').trim_end_matches('.'), summary.below(edge));
        }
        below("+Inf", summary.count());
        let sum = summary.sum() as f64 / 1e6;
        labelled(out, &format!("{name}_sum"), &labels, format_args!("{sum:.6}"));
        labelled(out, &format!("{name}_count"), &labels, summary.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn counts_are_cumulative_and_silent_objects_left_out() {
        let shared = testing::shared();
        let back = shared.proxies[1].back.as_ref().unwrap();
        for (from, to) in [(1, 50_001), (1, 70_001), (1, 90_000_000_001)] {
            back.servers[0].counters.latencies.record(0, Span::Total, from, to);
        }
        let mut out = String::new();
        write(&shared, &mut out);
        let lines: Vec<&str> = out.lines().filter(|line| line.contains("weir_backend_")).collect();
        assert_eq!(
            &lines[..4],
            [
                "# HELP weir_backend_total_time_seconds Time from the first byte of the request to the \
                 end of the response",
                "# TYPE weir_backend_total_time_seconds histogram",
                "weir_backend_total_time_seconds_bucket{proxy=\"be\",le=\"0.000064\"} 1",
                "weir_backend_total_time_seconds_bucket{proxy=\"be\",le=\"0.000128\"} 2",
            ]
        );
        let end = [
            "weir_backend_total_time_seconds_bucket{proxy=\"be\",le=\"67.108864\"} 2",
            "weir_backend_total_time_seconds_bucket{proxy=\"be\",le=\"+Inf\"} 3",
            "weir_backend_total_time_seconds_sum{proxy=\"be\"} 90.000120",
            "weir_backend_total_time_seconds_count{proxy=\"be\"} 3",
        ];
        assert_eq!(&lines[lines.len() - 4..], end);
        assert!(out.contains("weir_server_total_time_seconds_count{proxy=\"be\",server=\"s1\"} 3"));
        assert!(!out.contains("_queue_") && !out.contains("frontend"));
    }
}
