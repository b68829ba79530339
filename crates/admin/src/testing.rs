//! A small proxy for tests of its views, on a real thread.

use crate::settings::{CliSocket, Level, Settings};
use balance::{CheckResult, CheckStatus, ServerSettings};
use engine::state::os_handles::OsHandles;
use engine::state::services::NoServices;
use proxy::{Shared, Worker};
use reactor::os::Os;
use reactor::{Address, Thread};
use settings::{Backend, Cookie, Frontend, Mode, Process, Proxy, ProxySection, Server, StatsPage};
use std::rc::Rc;
use std::sync::Arc;
use transport::stats::counters::{Event, Metric};

pub(crate) fn process() -> Process {
    Process {
        maxconn: 100,
        hostname: "host".into(),
        node: "node1".into(),
        pid: 42,
        quiet: true,
        spreads_clients: false,
        ..Process::default()
    }
}

pub(crate) fn proxy(name: &str, id: u32) -> ProxySection {
    let proxy = Proxy { name: name.into(), id, mode: Mode::Http, ..Proxy::default() };
    ProxySection { proxy, ..ProxySection::default() }
}

fn server(id: u32, name: &str, change: impl FnOnce(&mut Server)) -> Server {
    let address = Address::Inet(([127, 0, 0, 1], 8000 + id as u16).into());
    let mut server = Server::new(ServerSettings::new(id, name), address);
    change(&mut server);
    server
}

/// A frontend `fe` before a backend `be` of four servers, a `tcp` proxy, and a page on `stats`.
pub(crate) fn proxies() -> Vec<ProxySection> {
    let front = Frontend { default_backend: Some(1), maxconn: Some(50), ..Frontend::default() };
    let fe = ProxySection { front: Some(front), ..proxy("fe", 2) };
    let cookie = Cookie {
        name: "SRV".into(),
        mode: settings::CookieMode::Insert,
        indirect: true,
        nocache: true,
        ..Cookie::default()
    };
    let servers = vec![
        server(1, "s1", |it| {
            it.balance.checked = true;
            it.balance.maxconn = 10;
            it.cookie = Some("c1".into());
        }),
        server(2, "s2", |it| {
            it.balance.checked = true;
            it.balance.weight = 5;
            it.max_queue = 3;
        }),
        server(3, "s3", |it| {
            it.balance.backup = true;
            it.address = Address::Unix("/run/s3".into());
        }),
        server(4, "s4", |it| it.balance.disabled = true),
    ];
    let algorithm_name = "roundrobin".to_owned();
    let back = Backend { servers, cookie: Some(cookie), algorithm_name, ..Backend::default() };
    let be = ProxySection { back: Some(back), ..proxy("be", 3) };
    let plain = server(1, "t1", |_| {});
    let back = Backend { servers: vec![plain], ..Backend::default() };
    let front = Some(Frontend::default());
    let mut tcp = ProxySection { front, back: Some(back), ..proxy("tcp", 4) };
    tcp.mode = Mode::Tcp;
    let (front, back) = (Some(Frontend::default()), Some(Backend::default()));
    let mut stats = ProxySection { front, back, ..proxy("stats", 5) };
    stats.stats = Some(StatsPage { uri: "/".into(), refresh: 5, ..StatsPage::default() });
    vec![fe, be, tcp, stats]
}

/// A backend of `count` servers, and the page.
pub(crate) fn crowded(count: u32) -> Arc<Shared> {
    let mut proxies = proxies();
    let servers = (1..=count).map(|id| server(id, &format!("s{id}"), |_| {})).collect();
    proxies[1].back = Some(Backend { servers, ..Backend::default() });
    proxy::build(process(), proxies, OsHandles::default(), 0)
}

/// Three requests have been served by `s1`; the check of `s2` has failed.
pub(crate) fn shared() -> Arc<Shared> {
    let shared = proxy::build(process(), proxies(), OsHandles::default(), 0);
    let front = &shared.proxies[0].front.as_ref().unwrap().counters;
    let back = shared.proxies[1].back.as_ref().unwrap();
    let counts = [(Metric::BytesIn, 246), (Metric::BytesOut, 219), (Metric::Status2xx, 3)];
    for counters in [front, &back.counters, &back.servers[0].counters] {
        counts.iter().for_each(|(metric, amount)| counters.of(0).add(*metric, *amount));
        for metric in [Metric::Sessions, Metric::Requests] {
            counters.of(0).add(metric, 3);
        }
        for event in [Event::Session, Event::Request] {
            (0..3).for_each(|_| counters.tick(0, event, 1_000));
        }
    }
    front.of(0).add(Metric::Connections, 3);
    for counters in [&back.counters, &back.servers[0].counters] {
        [Metric::Balanced, Metric::Connects].iter().for_each(|it| counters.of(0).add(*it, 3));
        counters.of(0).time([0, 1, 2, 4]);
    }
    let passed = CheckResult { status: CheckStatus::L4Ok, ..CheckResult::default() };
    back.balancer.on_check(0, passed, 1_000);
    let info = "Connection refused".to_owned();
    let failed = CheckResult { status: CheckStatus::L4Connection, info, ..CheckResult::default() };
    back.balancer.on_check(1, failed, 1_000);
    shared
}

pub(crate) fn settings() -> Arc<Settings> {
    let sockets = vec![CliSocket {
        address: "unix@/run/weir.sock".into(),
        level: Level::Admin,
        ..Default::default()
    }];
    let (version, date) = ("2.7-test".to_owned(), "2026/11/21".to_owned());
    Arc::new(Settings { version, date, sockets, ..Settings::default() })
}

pub(crate) fn worker(shared: &Arc<Shared>) -> Rc<Worker> {
    let thread = Thread::new(0, Box::new(Os::new(64).unwrap()), Default::default());
    proxy::start(&thread, shared, Box::new(NoServices))
}
