//! The views beside the overview.

use super::{WIDE, content, has, open, page};
use crate::support::{Browser, Identity, Origin, Setup, nobody};

const TRUSTED: &str = "    stats show-legends";

#[test]
fn errors_have_their_story_and_lead_to_the_rule() {
    let Some(mut browser) = Browser::start() else { return };
    let front =
        page("    stats show-legends\n    http-request deny deny_status 503 if { path /refused }");
    let weir = Setup::http(&front, "    server s <nobody>").with("nobody", nobody()).start();
    let mut client = weir.web();
    assert_eq!(client.get("/refused?by=rule").status(), 503);
    assert_eq!(weir.web().get("/nobody-there").status(), 503);
    open(&mut browser, &weir, "errors", WIDE);
    browser.wait_until("document.querySelectorAll('.failures li').length == 2");
    let newest = browser.text(&content(".failures summary"));
    assert!(newest.contains("GET /nobody-there") && newest.contains("app/s"), "{newest}");
    let story = browser.text("document.querySelector('.failures pre').textContent");
    let told = weir.cli("show why last error");
    assert_eq!(
        story.split_whitespace().collect::<Vec<_>>(),
        told.split_whitespace().collect::<Vec<_>>()
    );
    // The address of a failure opens it, and the rule has a line in the configuration.
    browser.click(".failures li:last-child summary");
    // The list is made again while it is updated, so that a click may find an element that goes.
    browser.wait_until(
        "location.hash.startsWith('#/errors/') || \
         (document.querySelector('.failures li:last-child p a')?.click(), false)",
    );
    browser.wait_until("document.querySelectorAll('.failures details[open]').length == 1");
    browser.wait_until(
        "document.querySelector('h1')?.textContent == 'Configuration' || \
         (document.querySelector('.failures details[open] p a:last-of-type')?.click(), false)",
    );
    browser.wait(&content("h1"), "Configuration");
    browser
        .wait(&content(".chosen code"), "http-request deny deny_status 503 if { path /refused }");
    browser.run("document.getElementById('search').focus()");
    "server".chars().for_each(|letter| browser.press(&letter.to_string()));
    browser.wait_until("document.querySelectorAll('tbody tr').length > 1");
    browser.wait_until(&has("tr.opens code", "backend app"));
}

#[test]
fn what_names_clients_needs_trust() {
    let weir = Setup::http(&page(""), "    server s <nobody>").with("nobody", nobody()).start();
    assert_eq!(weir.web().get("/secret-path").status(), 503);
    for part in ["failures", "configuration", "certificates", "listeners", "resolvers", "tables"] {
        let text = weir.web().get(&format!("/stats/ui/{part}")).text();
        assert!(text.contains("\"trusted\":false"), "{part}: {text}");
        for word in ["secret-path", "127.0.0.1", "weir.cfg", "backend app"] {
            assert!(!text.contains(word), "{part}: {text}");
        }
    }
}

#[test]
fn the_configuration_is_shown_without_secrets() {
    let users = "userlist people\n    user bob insecure-password sesame\n";
    let weir = Setup::http(&page("    stats auth admin:sesame"), "").append(users).start();
    let text = weir
        .web()
        .ask("GET /stats/ui/configuration HTTP/1.1\r\nHost: t\r\nAuthorization: Basic YWRtaW46c2VzYW1l\r\n\r\n")
        .text();
    assert!(text.contains("user bob [...]") && text.contains("stats auth [...]"), "{text}");
    assert!(text.contains("weir.cfg\",") && !text.contains("sesame"), "{text}");
}

#[test]
fn certificates_end_in_their_order() {
    let Some(mut browser) = Browser::start() else { return };
    let identity = Identity::new("site.test", None);
    let weir =
        Setup::http(&format!("    bind <secure> ssl crt <dir>/site.pem\n{}", page(TRUSTED)), "")
            .file("site.pem", &identity.pem())
            .start();
    open(&mut browser, &weir, "certificates", WIDE);
    browser.wait_until(&has("tbody tr", "site.pem"));
    let row = browser.text(&content("tbody tr"));
    assert!(row.contains("site.test") && row.contains("Used"), "{row}");
    let left = browser.text(&content("tbody .pill"));
    assert!(left.starts_with('▲') || left.starts_with('◐') || left.starts_with('▼'), "{left}");
}

#[test]
fn listeners_resolvers_tables_and_threads_have_views() {
    let Some(mut browser) = Browser::start() else { return };
    let origin = Origin::saying("hello");
    let front = page("    stats show-legends\n    http-request track-sc0 src table clients");
    let more = "backend clients\n    stick-table type ip size 1k store http_req_cnt\n\
                resolvers names\n    nameserver one 127.0.0.1:1\n";
    let weir = Setup::http(&front, "    server s <origin>")
        .with("origin", origin.address())
        .append(more)
        .start();
    let mut client = weir.web();
    (0..3).for_each(|_| assert_eq!(client.get("/").status(), 200));
    open(&mut browser, &weir, "listeners", WIDE);
    let address = weir.address("web").to_string();
    browser.wait_until(&has("tbody tr", &address));
    assert_eq!(browser.text(&has("tbody tr .up", "▲ OPEN")), "true");
    assert_eq!(browser.text(&has("tbody tr", "unix@")), "true", "the runtime socket");
    browser.click("nav a[data-view=resolvers]");
    browser.wait_until(&has("tbody tr", "127.0.0.1:1"));
    browser.click("nav a[data-view=tables]");
    browser.wait_until(&has("tbody tr", "clients"));
    browser.click("tbody th a");
    browser.wait(&content("h1"), "clients");
    browser.wait_until(&has("tbody th", "127.0.0.1"));
    assert_eq!(browser.text("location.hash"), "#/tables/clients");
    browser.click("nav a[data-view=process]");
    browser.wait_until(&has("tbody td", "%"));
    assert_eq!(browser.text(&has("tbody th", "CumReq")), "true");
    assert_eq!(browser.text(&has("dt", "Buffers in use")), "true");
    browser.click("nav a[data-view=reloads]");
    browser.wait_until(&has("main p", "serves since"));
}

#[test]
fn a_page_with_a_scope_shows_nothing_else() {
    let front = page("    stats auth a:b\n    stats scope app\n    stats admin if TRUE");
    let more = "backend other\n    server hidden 127.0.0.1:1\n";
    let weir = Setup::http(&front, "    server s 127.0.0.1:1").append(more).start();
    let authorization = "Authorization: Basic YTpi";
    let get = |part: &str| {
        weir.web()
            .ask(format!("GET /stats/ui/{part} HTTP/1.1\r\nHost: t\r\n{authorization}\r\n\r\n"))
            .text()
    };
    let figures = get("figures");
    assert!(figures.contains("\"app\"") && !figures.contains("other"), "{figures}");
    for part in [
        "detail?proxy=other",
        "detail?proxy=other&server=hidden",
        "configuration",
        "certificates",
        "resolvers",
        "listeners",
    ] {
        let text = get(part);
        assert!(!text.contains("hidden") && !text.contains("127.0.0.1"), "{part}: {text}");
    }
    let process = figures
        .split_once("\"process\":\"")
        .and_then(|(_, rest)| rest.split('"').next())
        .expect("it");
    let form = format!("s=hidden&action=maint&b=other&process={process}");
    let head = format!(
        "POST /stats/ui/act HTTP/1.1\r\nHost: t\r\n{authorization}\r\nContent-Length: {}\r\n\r\n",
        form.len()
    );
    assert_eq!(weir.web().ask(head + &form).text(), "{\"outcome\":\"DENY\"}");
    assert_eq!(weir.stat("other", "hidden", "status"), "no check");
}
