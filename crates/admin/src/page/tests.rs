//! The page as a client sees it.

use super::*;
use crate::testing;
use engine::state::runtime::Shared;
use engine::state::worker::Worker;
use htx::{Head, Version};
use std::rc::Rc;
use transport::stats::counters::Metric;

struct Bench {
    shared: Arc<Shared>,
    worker: Rc<Worker>,
    pages: Pages,
}

impl Bench {
    fn new() -> Self {
        let shared = testing::shared();
        let worker = testing::worker(&shared);
        Self { worker, shared, pages: Pages::new(testing::settings()) }
    }

    fn visit(&self, (method, uri): (&str, &str), admin: bool, form: Option<&str>) -> Answer {
        self.visit_as(if admin { Role::All } else { Role::Look }, (method, uri), form)
    }

    fn visit_as(&self, role: Role, (method, uri): (&str, &str), form: Option<&str>) -> Answer {
        let mut request = Head::default();
        request.set_request(method.as_bytes(), uri.as_bytes(), Version::Http11);
        let proxy = &*self.shared.frontend("stats").unwrap().proxy;
        let form = form.map(str::as_bytes);
        let visit = Visit { worker: &self.worker, proxy, request: &request, role, form };
        self.pages.statistics(&visit).unwrap()
    }

    fn get(&self, uri: &str) -> (Head, String) {
        let answer = self.visit(("GET", uri), false, None);
        let body = answer.body.collect(&self.worker);
        (answer.head, String::from_utf8(body).unwrap())
    }

    /// Where a form leads to.
    fn post(&self, form: &str) -> String {
        let answer = self.visit(("POST", "/"), true, Some(form));
        assert_eq!(answer.head.status(), 303);
        header(&answer.head, "location")
    }
}

fn header(head: &Head, name: &str) -> String {
    head.get(name.as_bytes()).map(|it| String::from_utf8_lossy(it).into_owned()).unwrap_or_default()
}

#[test]
fn formats_have_their_types() {
    let bench = Bench::new();
    for (uri, content_type, start) in [
        ("/", "text/html", "<!DOCTYPE html>"),
        ("/;csv", "text/plain", "# pxname,svname,"),
        ("/;typed", "text/plain", "F.2.0.0.pxname.1:KNS:str:fe\n"),
        ("/;json", "application/json", "[[{\"objType\""),
        ("/;json-schema", "application/json", "{\"$schema\""),
    ] {
        let (head, body) = bench.get(uri);
        assert_eq!((head.status(), header(&head, "content-type")), (200, content_type.into()));
        assert_eq!(header(&head, "cache-control"), "no-cache");
        assert_eq!(header(&head, "refresh"), "5");
        assert!(body.starts_with(start), "{uri}");
    }
    let (head, body) = bench.get("/;norefresh");
    assert_eq!(header(&head, "refresh"), "");
    assert!(!body.contains("http-equiv"));
}

/// The largest piece of a body, and how many there are.
fn measure(worker: &Worker, body: Body) -> (usize, usize) {
    let Body::Pieces(mut next) = body else { panic!("it comes in one piece") };
    let (mut largest, mut count, mut more) = (0, 0, true);
    while more {
        let mut piece = String::new();
        more = next(worker, &mut piece);
        (largest, count) = (largest.max(piece.len()), count + 1);
    }
    (largest, count)
}

#[test]
fn no_piece_is_long_however_many_servers_there_are() {
    let shared = testing::crowded(2_000);
    let (worker, settings) = (testing::worker(&shared), testing::settings());
    let bench = Bench { worker, shared, pages: Pages::new(settings.clone()) };
    for uri in ["/", "/;csv", "/;json", "/;typed", "/ui/figures"] {
        let answer = bench.visit(("GET", uri), true, None);
        let (largest, count) = measure(&bench.worker, answer.body);
        assert!(
            largest < 150_000 && count >= 100,
            "{uri}: {count} pieces of up to {largest} bytes"
        );
    }
    let mut request = Head::default();
    request.set_request(b"GET", b"/metrics", Version::Http11);
    let answer = prometheus::answer(&settings, &request);
    let (largest, count) = measure(&bench.worker, answer.body);
    assert!(largest < 200_000 && count >= 1_000, "{count} pieces of up to {largest} bytes");
}

#[test]
fn the_page_shows_the_figures_of_show_stat() {
    let bench = Bench::new();
    let (_, body) = bench.get("/");
    for part in [
        "<h2 id=\"px-fe\">",
        "<tr id=\"be/s1\" class=\"up\">",
        "<tr id=\"be/s2\" class=\"down\">",
        "<tr id=\"be/s3\" class=\"none\">",
        "<tr id=\"be/s4\" class=\"maint\">",
        "<tr id=\"be/Backend\" class=\"side\">",
        "<td>246</td><td>219</td>",
        "title=\"Layer4 connection problem: Connection refused\"",
        "3xx responses: 0",
        "statistics of process 42",
    ] {
        assert!(body.contains(part), "{part}");
    }
    assert!(!body.contains("127.0.0.1"), "addresses are shown with legends only");
    for element in ["table", "section", "tr", "thead", "tbody", "main", "nav", "span", "td"] {
        let opened = body.matches(&format!("<{element}>")).count()
            + body.matches(&format!("<{element} ")).count();
        assert_eq!(opened, body.matches(&format!("</{element}>")).count(), "{element}");
    }
}

#[test]
fn the_page_shows_savings_by_compression() {
    let bench = Bench::new();
    assert!(!bench.get("/").1.contains("ompress"));
    let block = bench.shared.proxies[0].front.as_ref().unwrap().counters.of(0);
    block.add(Metric::CompressedIn, 200);
    block.add(Metric::CompressedOut, 50);
    block.add(Metric::CompressionBypassed, 7);
    block.add(Metric::CompressedResponses, 1);
    let (_, body) = bench.get("/");
    let tip = "title=\"Compression in: 200\nCompression out: 50 (25 %)\nCompression bypass: 7\n\
               Total bytes saved: 150 (68 %)\">219</span>";
    assert!(body.contains(tip), "{body}");
    assert!(body.contains("Compressed 2xx responses: 1 (33 %)"), "{body}");
}

#[test]
fn the_page_shows_lookups_and_hits_of_caches() {
    let bench = Bench::new();
    assert!(!bench.get("/").1.contains("Cache lookups"));
    let block = bench.shared.proxies[1].back.as_ref().unwrap().counters.of(0);
    block.add(Metric::CacheLookups, 8);
    block.add(Metric::CacheHits, 6);
    let (_, body) = bench.get("/");
    assert!(body.contains("Cache lookups: 8\nCache hits: 6 (75 %)\n"), "{body}");
}

#[test]
fn options_narrow_the_page() {
    let bench = Bench::new();
    let (_, body) = bench.get("/;up");
    assert!(body.contains("id=\"be/s1\"") && !body.contains("id=\"be/s2\""));
    let (_, body) = bench.get("/?scope=be");
    assert!(body.contains("px-be") && !body.contains("px-fe"));
    let (_, body) = bench.get("/;scope=%22%3E%3Cscript%3E");
    assert!(!body.contains("<script>"), "what a client sends is escaped");
    assert!(body.contains("&quot;&gt;&lt;script&gt;"));
    let (_, body) = bench.get("/;st=DENY");
    assert!(body.contains("not allowed"));
}

#[test]
fn changes_are_refused() {
    let bench = Bench::new();
    let place = |answer: Answer| header(&answer.head, "location");
    let form = Some("s=s1&action=maint&b=be");
    let refused = bench.visit(("POST", "/;up"), false, form);
    assert_eq!((refused.head.status(), place(refused)), (303, "/;st=DENY;up".into()));
    assert_eq!(place(bench.visit(("POST", "/"), true, None)), "/;st=EXCD");
    assert!(!bench.shared.proxies[1].back.as_ref().unwrap().servers[0].state.state().1.in_maint());
}

#[test]
fn forms_change_servers() {
    let bench = Bench::new();
    let state =
        |slot: usize| bench.shared.proxies[1].back.as_ref().unwrap().servers[slot].state.state();
    assert_eq!(bench.post("s=s1&s=s2&action=maint&b=%233"), "/;st=DONE");
    assert!(state(0).1.in_maint() && state(1).1.in_maint());
    assert_eq!(bench.post("s=s1&s=nobody&action=ready&b=be"), "/;st=PART");
    assert!(!state(0).1.in_maint() && state(1).1.in_maint());
    assert_eq!(bench.post("s=s1&action=drain&b=be"), "/;st=DONE");
    assert!(state(0).1.in_drain());
    assert_eq!(bench.post("s=s1&action=dhlth&b=be"), "/;st=DONE");
    assert_eq!(bench.post("s=s1&action=dhlth&b=be"), "/;st=NONE");
    assert_eq!(bench.post("s=s3&action=ehlth&b=be"), "/;st=NONE", "it has no check");
    assert_eq!(bench.post("s=s3&action=dagent&b=be"), "/;st=NONE", "it has no agent");
    assert_eq!(bench.post("s=s3&action=shutdown&b=be"), "/;st=DONE");
    assert_eq!(bench.post("s=s3&action=hdown&b=be"), "/;st=DONE");
    assert_eq!(state(2).0, balance::OpState::Stopped);
    for (form, outcome) in [
        ("", "NONE"),
        ("x", "NONE"),
        ("s=s1&b=be", "NONE"),
        ("b=nobody", "ERRP"),
        ("s=s1&action=maint", "NONE"),
        ("s=s1&action=&b=be", "ERRP"),
        ("s=s1&action=fly&b=be", "ERRP"),
        ("s=s1&action=maint&b=nobody", "ERRP"),
        ("s=s1&action=maint&b=fe", "ERRP"),
        ("s=nobody&action=maint&b=be", "ERRP"),
    ] {
        assert_eq!(bench.post(form), format!("/;st={outcome}"), "{form}");
    }
    let place = bench.visit(("POST", "/;norefresh;up;scope=b+e"), true, Some(""));
    assert_eq!(header(&place.head, "location"), "/;st=NONE;up;norefresh?scope=b%20e");
}

#[test]
fn a_form_from_the_page_of_another_process_is_refused() {
    let bench = Bench::new();
    let in_maint =
        || bench.shared.proxies[1].back.as_ref().unwrap().servers[0].state.state().1.in_maint();
    let form = |process: &str| format!("s=s1&action=maint&b=be&process={process}");
    let own = change::identity(&bench.shared);
    let pid = own.split('-').next().unwrap().to_owned();
    for other in ["", "1", &pid, &format!("{pid}-"), &format!("{own}0"), &format!("{own}&process=")]
    {
        assert_eq!(bench.post(&form(other)), "/;st=GONE", "{other:?}");
        assert!(!in_maint(), "{other:?}");
    }
    let body = bench.get("/;st=GONE").1;
    assert!(body.contains("another process answers since the page was shown"), "{body}");
    let named = format!("\"process\":\"{own}\"");
    assert!(bench.get("/ui/figures").1.contains(&named), "the figures name the process");
    let page = bench.visit(("GET", "/"), true, None).body.collect(&bench.worker);
    let hidden = format!("<input type=\"hidden\" name=\"process\" value=\"{own}\">");
    assert!(String::from_utf8(page).unwrap().contains(&hidden), "the form names the process");
    assert_eq!(bench.post(&form(&own)), "/;st=DONE");
    assert!(in_maint());
}

#[test]
fn old_actions_still_work() {
    // As in HAProxy 2.6, each action changes its own state and leaves the other unchanged.
    let bench = Bench::new();
    let back = bench.shared.proxies[1].back.as_ref().unwrap();
    let state = || {
        let admin = back.servers[0].state.state().1;
        (admin.in_maint(), admin.in_drain())
    };
    for (action, outcome, now) in [
        ("disable", "DONE", (true, false)),
        ("disable", "NONE", (true, false)),
        ("start", "NONE", (true, false)),
        ("enable", "DONE", (false, false)),
        ("enable", "NONE", (false, false)),
        ("stop", "DONE", (false, true)),
        ("stop", "NONE", (false, true)),
        ("enable", "NONE", (false, true)),
        ("start", "DONE", (false, false)),
    ] {
        let place = bench.post(&format!("s=s1&b=be&action={action}"));
        assert_eq!((place, state()), (format!("/;st={outcome}"), now), "{action}");
    }
}

#[test]
fn only_users_with_admin_rights_get_forms() {
    let bench = Bench::new();
    let ticked = "<input type=\"checkbox\" name=\"s\" value=\"s1\">";
    let body = String::from_utf8(bench.visit(("GET", "/"), true, None).body.collect(&bench.worker))
        .unwrap();
    for part in ["<form method=\"post\">", ticked, "name=\"b\" value=\"#3\"", "value=\"maint\""] {
        assert!(body.contains(part), "{part}");
    }
    let (_, body) = bench.get("/");
    assert!(!body.contains("method=\"post\"") && !body.contains("checkbox"));
}

#[test]
fn a_proxy_without_a_page_has_none() {
    let bench = Bench::new();
    let mut request = Head::default();
    request.set_request(b"GET", b"/", Version::Http11);
    let (proxy, worker) = (&*bench.shared.frontend("fe").unwrap().proxy, &bench.worker);
    let visit = Visit { worker, proxy, request: &request, role: Role::Look, form: None };
    assert!(bench.pages.statistics(&visit).is_none());
}

#[test]
fn the_dashboard_loads_nothing_from_outside() {
    let bench = Bench::new();
    for (uri, content_type, start) in [
        ("/ui", "text/html; charset=utf-8", "<!DOCTYPE html>\n<html lang=\"en\" data-base=\"/ui\""),
        ("/ui/base.css", "text/css; charset=utf-8", ":root {"),
        ("/ui/app.js", "text/javascript; charset=utf-8", "// "),
        ("/ui/certificates", "application/json", "{\"trusted\":false,"),
        ("/ui/configuration", "application/json", "{\"trusted\":false,"),
        ("/ui/detail?proxy=be", "application/json", "{\"rows\":[{\"kind\":1,"),
        ("/ui/failures", "application/json", "{\"kept\":true,\"trusted\":false,\"rows\":[]}"),
        ("/ui/figures", "application/json", "{\"ms\":"),
        ("/ui/history", "application/json", "{\"pid\":42,\"seconds\":600,\"ms\":"),
        ("/ui/listeners", "application/json", "{\"trusted\":false,\"rows\":[],\"sockets\":[]}"),
        ("/ui/process", "application/json", "{\"ms\":"),
        ("/ui/reloads", "application/json", "{\"pid\":42,\"started\":"),
        ("/ui/resolvers", "application/json", "{\"trusted\":false,\"rows\":[]}"),
        ("/ui/tables", "application/json", "{\"trusted\":false,\"total\":0,\"rows\":[]}"),
        ("/ui/top?table=none", "application/json", "{}"),
    ] {
        let (head, body) = bench.get(uri);
        assert_eq!((head.status(), header(&head, "content-type")), (200, content_type.into()));
        assert!(header(&head, "content-security-policy").starts_with("default-src 'none'"));
        assert!(body.starts_with(start), "{uri}: {body}");
        let foreign = body.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{uri}");
    }
}

#[test]
fn the_dashboard_has_percentiles_and_the_last_checks() {
    let bench = Bench::new();
    let back = bench.shared.proxies[1].back.as_ref().unwrap();
    back.servers[0].counters.latencies.record(0, transport::stats::latency::Span::Total, 1, 50_001);
    let (_, body) = bench.get("/ui/detail?proxy=be");
    assert!(body.contains("\"latency\":{\"total\":[1,50,50,50]}"), "{body}");
    assert!(!body.contains("\"s1\""), "the servers have answers of their own: {body}");
    let (_, body) = bench.get("/ui/detail?proxy=be&server=s2");
    let start = "{\"rows\":[{\"kind\":2,\"name\":\"s2\",\"status\":\"DOWN\"";
    assert!(body.starts_with(start) && body.contains("\"L4CON\",false,0]"), "{body}");
    assert_eq!(body.matches("\"kind\"").count(), 1, "{body}");
    for unknown in ["proxy=none", "proxy=be&server=none", "", "proxy=fe&server=s1"] {
        assert_eq!(bench.get(&format!("/ui/detail?{unknown}")).1, "{\"rows\":[]}", "{unknown}");
    }
}

/// The value of a text member of an object.
fn member<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.split_once(&format!("\"{name}\":")).expect(name).1;
    start.split([',', '}']).next().unwrap_or_default().trim_matches('"')
}

#[test]
fn a_browser_gets_the_rows_that_changed_since_its_last_answer() {
    let bench = Bench::new();
    let (_, body) = bench.get("/ui/figures");
    assert_eq!((member(&body, "full"), member(&body, "count")), ("true", "11"), "{body}");
    assert!(body.contains("\"columns\":[\"kind\",\"proxy\","), "{body}");
    let row = "[2,\"be\",\"s1\",\"UP\",\"http\",0,10,0,3,246,219,0,0,0,0,1,1,1,0,\"L4OK\",";
    assert!(body.contains(row), "{body}");
    let (_, body) = bench.get(&format!("/ui/figures?since={}", member(&body, "stamp")));
    assert_eq!((member(&body, "full"), member(&body, "count")), ("false", "11"), "{body}");
    let (_, body) = bench.get(&format!("/ui/figures?since={}", member(&body, "stamp")));
    assert!(body.contains("\"rows\":[]"), "nothing has changed: {body}");
    let stamp = member(&body, "stamp").to_owned();
    let back = bench.shared.proxies[1].back.as_ref().unwrap();
    back.servers[2].counters.of(0).add(Metric::Requests, 7);
    let (_, body) = bench.get(&format!("/ui/figures?since={stamp}"));
    assert!(body.contains("\"rows\":[[2,\"be\",\"s3\",") && !body.contains("s1"), "{body}");
    for other in ["0-0.1", &format!("{stamp}9"), &stamp[..4], "x"] {
        let (_, body) = bench.get(&format!("/ui/figures?since={other}"));
        assert_eq!(member(&body, "full"), "true", "{other}");
    }
}

#[test]
fn figures_name_the_rights_of_the_visitor() {
    let bench = Bench::new();
    for (role, name) in [(Role::Look, "look"), (Role::Drain, "drain"), (Role::All, "all")] {
        let answer = bench.visit_as(role, ("GET", "/ui/figures"), None);
        let body = String::from_utf8(answer.body.collect(&bench.worker)).unwrap();
        assert_eq!(member(&body, "role"), name);
    }
}

#[test]
fn actions_of_the_dashboard_need_the_right_and_the_process() {
    let bench = Bench::new();
    let own = change::identity(&bench.shared);
    let back = bench.shared.proxies[1].back.as_ref().unwrap();
    let state = |slot: usize| back.servers[slot].state.state().1;
    let act = |role, form: &str| {
        let answer = bench.visit_as(role, ("POST", "/ui/act"), Some(form));
        assert_eq!(answer.head.status(), 200);
        let body = String::from_utf8(answer.body.collect(&bench.worker)).unwrap();
        member(&body, "outcome").to_owned()
    };
    let form =
        |action: &str, backend: &str| format!("s=s1&action={action}&b={backend}&process={own}");
    for (role, action, outcome) in [
        (Role::Look, "stop", "DENY"),
        (Role::Drain, "maint", "DENY"),
        (Role::Drain, "drain", "DENY"),
        (Role::Drain, "ready", "DENY"),
        (Role::Drain, "shutdown", "DENY"),
        (Role::Drain, "stop", "DONE"),
        (Role::Drain, "start", "DONE"),
        (Role::All, "maint", "DONE"),
        (Role::Drain, "start", "NONE"),
    ] {
        assert_eq!(act(role, &form(action, "be")), outcome, "{role:?} {action}");
    }
    assert!(state(0).in_maint(), "a visitor who drains does not end maintenance");
    assert_eq!(act(Role::All, "s=s1&action=ready&b=be"), "GONE", "no process is named");
    assert_eq!(act(Role::All, &format!("s=s1&action=ready&b=be&process={own}0")), "GONE");
    assert_eq!(act(Role::All, &form("ready", "%233")), "ERRP", "a number names no backend");
    assert!(state(0).in_maint());
    assert_eq!(act(Role::All, &form("ready", "be")), "DONE");
    // The form of the statistics page follows the same rights.
    let post = |role| {
        let answer = bench.visit_as(role, ("POST", "/"), Some("s=s1&action=maint&b=be"));
        header(&answer.head, "location")
    };
    assert_eq!([post(Role::Look), post(Role::Drain)], ["/;st=DENY", "/;st=DENY"]);
    assert!(!state(0).in_maint());
}

#[test]
fn answers_are_compressed_for_browsers_that_take_it() {
    let bench = Bench::new();
    let encoding = |accepted: &str| {
        let mut request = Head::default();
        request.set_request(b"GET", b"/ui/figures", Version::Http11);
        request.push(b"accept-encoding", accepted.as_bytes());
        let proxy = &*bench.shared.frontend("stats").unwrap().proxy;
        let (worker, role) = (&bench.worker, Role::Look);
        let visit = Visit { worker, proxy, request: &request, role, form: None };
        let answer = bench.pages.statistics(&visit).unwrap();
        let compressed = matches!(answer.body, Body::Compressed(_));
        assert_eq!(compressed, answer.head.get(b"content-encoding").is_some(), "{accepted}");
        compressed
    };
    assert!(encoding("gzip, deflate, br") && encoding("br,GZIP"));
    assert!(!encoding("br") && !encoding("gzip;q=0") && !encoding(""));
}

#[test]
fn a_backend_of_many_servers_has_the_times_of_all_of_them() {
    let shared = testing::crowded(50);
    let back = shared.proxies[1].back.as_ref().unwrap();
    let record = |slot: usize| {
        let latencies = &back.servers[slot].counters.latencies;
        latencies.record(0, transport::stats::latency::Span::Total, 1, 50_001);
    };
    let worker = testing::worker(&shared);
    let bench = Bench { worker, shared: shared.clone(), pages: Pages::new(testing::settings()) };
    let (_, body) = bench.get("/ui/figures");
    assert_eq!(body.matches(",50,50,0]").count(), 0, "no window has begun: {body}");
    [0, 20, 49].into_iter().for_each(record);
    let (_, body) = bench.get("/ui/figures");
    // Three servers, and the backend.
    assert_eq!(body.matches(",50,50,0]").count(), 4, "{body}");
    let names = ["s1", "s9", "s50"].map(|name| format!("[2,\"be\",\"{name}\","));
    assert!(names.iter().all(|name| body.matches(name.as_str()).count() == 1), "{body}");
    for [open, close] in [["{", "}"], ["[", "]"]] {
        assert_eq!(body.matches(open).count(), body.matches(close).count(), "{body}");
    }
    assert!(body.ends_with(&format!("],\"count\":{}}}", 50 + 7)), "{body}");
    let (_, body) = bench.get("/;csv;scope=be");
    let mut lines = body.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|name| *name == "weir_ttime_p50").unwrap();
    assert_eq!(lines.next_back().unwrap()[at], "50");
}

#[test]
fn the_history_of_the_charts_is_limited_to_its_scope() {
    let bench = Bench::new();
    let counters = &bench.shared.proxies[1].back.as_ref().unwrap().counters;
    counters.of(0).add(Metric::Requests, 9);
    let mut sampler = observability::telemetry::history::Sampler::new(&bench.shared);
    for second in [1_000, 2_000, 4_000] {
        sampler.step(&bench.shared, second);
    }
    let (_, body) = bench.get("/ui/history");
    let begun = ",\"charts\":{\"requests\":[[0,0,null,0]],\
                 \"connections\":[[0,0,null,0]],\"traffic\":[[246,0,null,0],[219,0,null,0]],\
                 \"errors\":[[0,0,null,0],[0,0,null,0]]},\"proxies\":[{\"name\":\"fe\",";
    assert!(body.contains(begun), "{body}");
    let proxy =
        "{\"name\":\"be\",\"charts\":{\"rate\":[[12,0,null,0]],\"latency\":[[null,null,null,null],";
    assert!(body.contains(proxy) && body.ends_with("}}]}"), "{body}");
    let page = StatsPage { uri: "/".into(), scope: vec!["tcp".into()], ..StatsPage::default() };
    let mut request = Head::default();
    request.set_request(b"GET", b"/ui/history", Version::Http11);
    let proxy = &*bench.shared.frontend("stats").unwrap().proxy;
    let (worker, role) = (&bench.worker, Role::Look);
    let visit = Visit { worker, proxy, request: &request, role, form: None };
    let answer = dashboard::answer(&visit, &testing::settings(), &page).unwrap();
    let body = String::from_utf8(answer.body.collect(&bench.worker)).unwrap();
    assert!(body.contains("{\"name\":\"tcp\",") && !body.contains("\"be\""), "{body}");
    assert!(body.contains("\"requests\"") && !body.contains("\"traffic\""), "{body}");
}
