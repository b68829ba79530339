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
        let mut request = Head::default();
        request.set_request(method.as_bytes(), uri.as_bytes(), Version::Http11);
        let proxy = &*self.shared.frontend("stats").unwrap().proxy;
        let form = form.map(str::as_bytes);
        let visit = Visit { worker: &self.worker, proxy, request: &request, admin, form };
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
    let visit = Visit { worker, proxy, request: &request, admin: false, form: None };
    assert!(bench.pages.statistics(&visit).is_none());
}

#[test]
fn the_dashboard_loads_nothing_from_outside() {
    let bench = Bench::new();
    for (uri, content_type, start) in [
        ("/ui", "text/html; charset=utf-8", "<!DOCTYPE html>\n<html lang=\"en\" data-base=\"/ui\""),
        ("/ui/style.css", "text/css; charset=utf-8", ":root {"),
        ("/ui/app.js", "text/javascript; charset=utf-8", "// The dashboard's script"),
        ("/ui/figures", "application/json", "{\"ms\":"),
        (
            "/ui/history",
            "application/json",
            "{\"pid\":42,\"seconds\":600,\"charts\":{\"requests\":[[",
        ),
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
fn the_dashboard_has_histograms_and_the_last_checks() {
    let bench = Bench::new();
    let back = bench.shared.proxies[1].back.as_ref().unwrap();
    back.servers[0].counters.latencies.record(0, transport::stats::latency::Span::Total, 1, 50_001);
    let (_, body) = bench.get("/ui/figures");
    for part in [
        "\"name\":\"be\",\"id\":3,\"rows\":[{\"kind\":\"Server\",\"name\":\"s1\",\"status\":\"UP\"",
        "\"latency\":{\"total\":[50,1,1]}",
        "\"L4CON\",false,0]",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    // The histogram of the backend is the sum of its servers' histograms.
    assert_eq!(body.matches("\"latency\":{\"total\":[50,1,1]}").count(), 2, "{body}");
}

#[test]
fn a_backend_of_many_servers_has_the_times_of_all_of_them() {
    let shared = testing::crowded(50);
    let back = shared.proxies[1].back.as_ref().unwrap();
    for slot in [0, 20, 49] {
        back.servers[slot].counters.latencies.record(
            0,
            transport::stats::latency::Span::Total,
            1,
            50_001,
        );
    }
    let worker = testing::worker(&shared);
    let bench = Bench { worker, shared: shared.clone(), pages: Pages::new(testing::settings()) };
    let (_, body) = bench.get("/ui/figures");
    let row =
        body.split("{\"kind\":").find(|row| row.contains("\"BACKEND\"") && row.contains("\"UP\""));
    assert!(row.is_some_and(|row| row.contains("\"latency\":{\"total\":[50,1,3]}")), "{row:?}");
    assert_eq!(body.matches("\"latency\":{\"total\":[50,1,1]}").count(), 3, "{body}");
    let names =
        ["s1", "s9", "s50"].map(|name| format!("{{\"kind\":\"Server\",\"name\":\"{name}\""));
    assert!(names.iter().all(|name| body.matches(name.as_str()).count() == 1), "{body}");
    for [open, close] in [["{", "}"], ["[", "]"]] {
        assert_eq!(body.matches(open).count(), body.matches(close).count(), "{body}");
    }
    assert!(body.ends_with("]}],\"tables\":[]}"), "{body}");
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
    let begun = "{\"pid\":42,\"seconds\":600,\"charts\":{\"requests\":[[0,0,null,0]],\
                 \"connections\":[[0,0,null,0]],\"traffic\":[[246,0,null,0],[219,0,null,0]],\
                 \"errors\":[[0,0,null,0],[0,0,null,0]]},\"proxies\":[{\"name\":\"fe\",";
    assert!(body.starts_with(begun), "{body}");
    let proxy =
        "{\"name\":\"be\",\"charts\":{\"rate\":[[12,0,null,0]],\"latency\":[[null,null,null,null],";
    assert!(body.contains(proxy) && body.ends_with("}}]}"), "{body}");
    let page = StatsPage { uri: "/".into(), scope: vec!["tcp".into()], ..StatsPage::default() };
    let mut request = Head::default();
    request.set_request(b"GET", b"/ui/history", Version::Http11);
    let answer = dashboard::answer(&bench.worker, &testing::settings(), &page, &request).unwrap();
    let body = String::from_utf8(answer.body.collect(&bench.worker)).unwrap();
    assert!(body.contains("{\"name\":\"tcp\",") && !body.contains("\"be\""), "{body}");
    assert!(body.contains("\"requests\"") && !body.contains("\"traffic\""), "{body}");
}
