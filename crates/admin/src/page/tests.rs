//! The page as a client sees it. Never part of the product.

use super::*;
use crate::testing;
use proxy::Shared;
use std::rc::Rc;

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

    fn get(&self, uri: &str) -> (Head, String) {
        let mut request = Head::default();
        request.set_request(b"GET", uri.as_bytes(), Version::Http11);
        let proxy = self.shared.frontend("stats").unwrap();
        let answer = self.pages.statistics(&self.worker, proxy, &request).unwrap();
        (answer.head, String::from_utf8(answer.body).unwrap())
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
    let mut request = Head::default();
    request.set_request(b"POST", b"/;up", Version::Http11);
    let proxy = bench.shared.frontend("stats").unwrap();
    let answer = bench.pages.statistics(&bench.worker, proxy, &request).unwrap();
    assert_eq!((answer.head.status(), header(&answer.head, "location")), (303, "/;st=DENY".into()));
}

#[test]
fn a_proxy_without_a_page_has_none() {
    let bench = Bench::new();
    let mut request = Head::default();
    request.set_request(b"GET", b"/", Version::Http11);
    let proxy = bench.shared.frontend("fe").unwrap();
    assert!(bench.pages.statistics(&bench.worker, proxy, &request).is_none());
}

#[test]
fn the_dashboard_loads_nothing_from_outside() {
    let bench = Bench::new();
    for (uri, content_type, start) in [
        ("/ui", "text/html; charset=utf-8", "<!DOCTYPE html>\n<html lang=\"en\" data-base=\"/ui\""),
        ("/ui/style.css", "text/css; charset=utf-8", ":root {"),
        ("/ui/app.js", "text/javascript; charset=utf-8", "// The dashboard's script"),
        ("/ui/figures", "application/json", "{\"ms\":"),
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
    back.counters.latencies.record(0, proxy::latency::Span::Total, 1, 50_001);
    let (_, body) = bench.get("/ui/figures");
    for part in [
        "\"name\":\"be\",\"id\":3,\"rows\":[{\"kind\":\"Server\",\"name\":\"s1\",\"status\":\"UP\"",
        "\"latency\":{\"total\":[50,1,1]}",
        "\"L4CON\",false,0]",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
}
