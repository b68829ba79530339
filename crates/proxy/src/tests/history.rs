//! Points of the history, sampled by hand.

use engine::state::os_handles::OsHandles;
use engine::state::records::history::PROXIES;
use engine::state::runtime::Shared;
use observability::telemetry::history::sampler::*;
use settings::Mode;
use settings::{Frontend, StatsPage};
use std::sync::Arc;
use testing::*;
use transport::stats::counters::Metric;
use transport::stats::latency::Span;

/// A process whose first proxy has the page; it keeps three points.
fn shared(mut proxies: Vec<settings::ProxySection>) -> Arc<Shared> {
    proxies[0].stats = Some(StatsPage::default());
    let process = settings::Process { history: 3, ..process(2) };
    crate::run::start::build(process, proxies, OsHandles::default(), 5_000_000_000)
}

fn front(name: &str) -> settings::ProxySection {
    settings::ProxySection { front: Some(Frontend::default()), ..proxy(name, Mode::Http) }
}

fn servers(count: u32) -> Vec<settings::Server> {
    (1..=count).map(|id| server(id, ([127, 0, 0, 1], 1).into())).collect()
}

/// Runs a whole round of samples; returns the number of its steps.
fn round(sampler: &mut Sampler, shared: &Shared, now: u64) -> usize {
    (1..).find(|_| sampler.step(shared, now) != Some(now)).unwrap()
}

#[test]
fn points_are_rates_of_counters() {
    let shared = shared(vec![front("fe"), backend("be", Mode::Http, servers(2))]);
    let mut sampler = Sampler::new(&shared);
    assert_eq!(sampler.due(), 6_000);
    let fe = &shared.proxies[0].front.as_ref().unwrap().counters;
    let back = shared.proxies[1].back.as_ref().unwrap();
    shared.totals.of(1).add(Metric::Requests, 20);
    fe.of(0).add(Metric::BytesIn, 1_000);
    fe.of(1).add(Metric::Status5xx, 4);
    back.counters.of(0).add(Metric::Requests, 20);
    back.counters.of(0).add(Metric::FailedConnections, 1);
    for server in [0, 1] {
        back.servers[server].counters.latencies.record(0, Span::Total, 1, 50_001);
    }
    assert_eq!(sampler.step(&shared, 7_000), Some(8_000), "a second late: one point is missing");
    let points = shared.history.process.points();
    assert_eq!((points.len(), points[0][0].is_nan()), (2, true));
    assert_eq!(points[1], [10.0, 0.0, 500.0, 0.0, 0.0, 2.0]);
    let [fe, be] = [0, 1].map(|track: usize| shared.history.tracks[track].series.points()[1]);
    assert!(fe[1].is_nan() && fe[4].is_nan(), "no times, no queue: {fe:?}");
    assert_eq!((fe[0], fe[7]), (0.0, 2.0));
    assert_eq!(be, [10.0, 50.0, 50.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0]);
    back.counters.clear();
    back.counters.of(0).add(Metric::Requests, 3);
    for second in 8..20 {
        assert_eq!(round(&mut sampler, &shared, second * 1_000), 1);
    }
    let points = shared.history.tracks[1].series.points();
    assert_eq!((points.len(), points[2][0]), (3, 0.0), "no more than are kept");
    assert!(points[2][1].is_nan(), "the times are long ago");
}

#[test]
fn thousands_of_servers_and_proxies_take_many_steps() {
    let crowd = backend("crowd", Mode::Http, servers(1_000));
    let more = backend("more", Mode::Http, servers(100));
    let mut proxies = vec![front("fe"), crowd, more];
    proxies.extend((0..500).map(|number| front(&format!("f{number}"))));
    let shared = shared(proxies);
    let back = shared.proxies[1].back.as_ref().unwrap();
    back.servers[999].counters.latencies.record(1, Span::Total, 1, 50_001);
    shared.proxies[500].front.as_ref().unwrap().counters.of(0).add(Metric::BytesOut, 77);
    assert_eq!(shared.history.tracks.len(), PROXIES);
    let mut sampler = Sampler::new(&shared);
    let steps = round(&mut sampler, &shared, 6_000);
    assert!((1_500 / BUDGET..=1_600 / BUDGET + 2).contains(&steps), "{steps}");
    let [crowd, more] = [1, 2].map(|track: usize| shared.history.tracks[track].series.points());
    assert_eq!((crowd.len(), crowd[0][3]), (1, 50.0));
    assert!(!shared.history.tracks[2].timed && more[0][3].is_nan(), "beyond the bound");
    assert_eq!(shared.history.process.points()[0][3], 77.0);
}

#[test]
fn nothing_is_kept_without_a_page() {
    let process = settings::Process { history: 3, ..process(1) };
    let shared = crate::run::start::build(process, vec![front("fe")], OsHandles::default(), 0);
    assert_eq!((shared.history.seconds, shared.history.tracks.len()), (0, 0));
    assert_eq!(shared.work.next(0), None);
}
