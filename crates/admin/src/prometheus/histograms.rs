//! Histograms of how long things took, by frontend, backend and server: metrics that HAProxy does
//! not have, named `weir_*`.
//!
//! Edges are powers of two of microseconds, from 64 us to 67 s, where the counts below are exact.
//! Histograms without a sample are left out, so that silent servers cost nothing.

use super::{begin_as, labelled};
use crate::stats::Kind;
use balance::ServerName;
use engine::state::runtime::Backend;
use engine::state::runtime::Shared;
use stdx::Summary;
use transport::stats::counters::Counters;
use transport::stats::latency::{SPANS, Span};

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

/// Kinds of objects, their prefix and what is measured of them.
const KINDS: [(Kind, &str, &[Span]); 3] = [
    (Kind::Frontend, "frontend", &[Span::Handshake, Span::Total]),
    (Kind::Backend, "backend", SERVED),
    (Kind::Server, "server", SERVED),
];
const SERVED: &[Span] = SPANS.split_at(1).1;

/// The largest number of objects in one piece.
const STEP: usize = 16;
/// Servers of a backend whose times one piece adds up at most.
const SERVERS: usize = 64;

/// The cursor in the histograms, which are sent in pieces.
#[derive(Default)]
pub(super) struct HistogramCursor {
    /// Kind, span of it, object.
    place: (usize, usize, usize),
    /// The objects of the kind: number of the proxy, and of the server in it.
    objects: Option<Vec<(usize, usize)>>,
    /// The block of this span has its head.
    begun: bool,
    /// The sum of the times of a backend's servers so far, and the slot of the next one.
    passed: (Summary, usize),
}

impl HistogramCursor {
    /// Appends some lines; `false`: there are no more.
    pub(super) fn next(&mut self, shared: &Shared, out: &mut String) -> bool {
        let (which, span, from) = self.place;
        let Some((kind, prefix, spans)) = KINDS.get(which) else { return false };
        let Some(measured) = spans.get(span) else {
            (self.place, self.objects) = ((which + 1, 0, 0), None);
            return true;
        };
        let objects = self.objects.get_or_insert_with(|| all(shared, *kind));
        let to = (from + STEP).min(objects.len());
        for (at, place) in objects.iter().enumerate().take(to).skip(from) {
            let Some(object) = Object::find(shared, *kind, *place) else { continue };
            let Some(summary) = object.times.summary(*measured, &mut self.passed) else {
                self.place = (which, span, at);
                return true;
            };
            if summary.count() == 0 {
                continue;
            }
            let (name, help) = words(*measured);
            let name = format!("weir_{prefix}_{name}_time_seconds");
            if !std::mem::replace(&mut self.begun, true) {
                begin_as(out, &name, "histogram", help);
            }
            object.write(&summary, &name, out);
        }
        if to < objects.len() {
            self.place = (which, span, to);
        } else {
            (self.place, self.begun) = ((which, span + 1, 0), false);
        }
        true
    }
}

/// All objects of a kind.
fn all(shared: &Shared, kind: Kind) -> Vec<(usize, usize)> {
    let proxies = shared.proxies.iter().enumerate().filter(|(_, it)| !it.settings.disabled);
    let counted = proxies.map(|(index, proxy)| {
        let slots = match kind {
            Kind::Server => proxy.back.as_ref().map_or(0, |back| back.servers.slots()),
            _ => 1,
        };
        (0..slots).map(move |slot| (index, slot))
    });
    counted.flatten().collect()
}

/// The measured subject, and its labels.
struct Object<'a> {
    proxy: &'a str,
    server: Option<ServerName>,
    times: SpanTimes<'a>,
}

/// Where the times of an object are kept.
enum SpanTimes<'a> {
    Own(&'a Counters),
    /// The sums of all servers.
    Servers(&'a Backend),
}

impl SpanTimes<'_> {
    /// The sum, or `None` while servers remain to be added to `passed`.
    fn summary(&self, span: Span, passed: &mut (Summary, usize)) -> Option<Summary> {
        let back = match self {
            Self::Own(counters) => return Some(counters.latencies.summary(span)),
            Self::Servers(back) => back,
        };
        let (summary, slot) = passed;
        back.add_latencies(*slot..*slot + SERVERS, span, summary);
        *slot += SERVERS;
        (*slot >= back.servers.slots()).then(|| std::mem::take(passed).0)
    }
}

impl<'a> Object<'a> {
    /// The object at a place, if any.
    fn find(shared: &'a Shared, kind: Kind, (proxy, slot): (usize, usize)) -> Option<Self> {
        let proxy = shared.proxies.get(proxy)?;
        let (server, times) = match kind {
            Kind::Frontend => (None, SpanTimes::Own(&proxy.front.as_ref()?.counters)),
            Kind::Backend => (None, SpanTimes::Servers(proxy.back.as_ref()?)),
            Kind::Server => {
                let server = proxy.back.as_ref()?.servers.get(slot)?;
                (Some(server.state.name()), SpanTimes::Own(&server.counters))
            }
            // The times of a proxy are those of its frontend.
            Kind::Listener => return None,
        };
        Some(Self { proxy: proxy.name(), server, times })
    }

    fn write(&self, summary: &Summary, name: &str, out: &mut String) {
        let mut labels = vec![("proxy", self.proxy)];
        labels.extend(self.server.as_deref().map(|server| ("server", server)));
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
        let (mut out, mut cursor) = (String::new(), HistogramCursor::default());
        while cursor.next(&shared, &mut out) {}
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

    #[test]
    fn a_backend_of_many_servers_is_added_up_in_pieces() {
        let shared = testing::crowded(1_000);
        let back = shared.proxies[1].back.as_ref().unwrap();
        for slot in [0, 64, 500, 999] {
            back.servers[slot].counters.latencies.record(0, Span::Total, 1, 50_001);
        }
        let (mut out, mut cursor, mut before) = (String::new(), HistogramCursor::default(), 0);
        while cursor.next(&shared, &mut out) {
            let silent = out.is_empty();
            before += usize::from(silent);
        }
        assert!(before > 3 * 1_000 / SERVERS, "{before} pieces before the first word");
        assert!(out.contains("weir_backend_total_time_seconds_count{proxy=\"be\"} 4\n"), "{out}");
        assert_eq!(out.matches("# TYPE weir_backend_total").count(), 1);
    }
}
