//! The overview: what is wrong comes first, and every search and object has an address.

use super::{NAMES, NARROW, Stops, WIDE, content, has, open, start};
use crate::support::{Browser, Origin, Setup, eventually, pass};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

#[test]
fn the_worst_is_first_in_the_overview() {
    let Some(mut browser) = Browser::start() else { return };
    let servers = "    server fine <origin>\n    server away <nobody> check inter 100ms fall 1\n    \
        server resting <origin> disabled";
    let (weir, origin) = start("", servers);
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("({NAMES}).startsWith('app/away ')"));
    assert_eq!(browser.text(&content("h1")), "Overview");
    browser.wait_until(&has(".headline li", "1 server down"));
    let away = browser.text("document.querySelector('main tbody tr').textContent");
    assert!(away.contains("▼ DOWN") && away.contains("L4CON"), "{away}");
    // Servers in maintenance or drain come behind failed rows and before the others.
    assert_eq!(browser.text(&format!("({NAMES}).split(' ')[1]")), "app/resting");
    // A server whose requests fail is wrong, although its checks do not tell.
    drop(origin);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stops = Stops(&ends);
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                let _ = weir.web().get("/");
                pass(Duration::from_millis(100));
            }
        });
        browser.wait_until(&has(".headline li", "1 server failing"));
        browser.wait_until(&format!("({NAMES}).split(' ').indexOf('app/fine') < 4"));
        browser.wait_until("document.querySelector('td.bad')");
        drop(stops);
    });
    let worst = browser.text("document.querySelectorAll('thead button').length");
    assert!(worst.parse::<u32>().is_ok_and(|count| count >= 6), "{worst} columns can be sorted by");
    browser.click("thead th:first-child button");
    browser.wait("document.querySelector('thead th').getAttribute('aria-sort')", "ascending");
    browser.wait(&format!("({NAMES}).split(' ').slice(0, 3).join(' ')"), "app app/away app/fine");
}

#[test]
fn a_search_finds_servers_and_has_an_address() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) =
        start("", "    server-template front 1-20 <origin>\n    server other <origin>");
    open(&mut browser, &weir, "", NARROW);
    browser.wait_until(&format!("({NAMES}).split(' ').length == 23"));
    browser.run("document.getElementById('search').focus()");
    "ront1".chars().for_each(|letter| browser.press(&letter.to_string()));
    browser.wait_until(&format!("({NAMES}).split(' ').length == 11"));
    assert_eq!(browser.text("location.hash"), "#/?q=ront1");
    assert_eq!(browser.text(&content("form [role=status]")), "11 of 23");
    open(&mut browser, &weir, "?q=other", NARROW);
    browser.reload();
    browser.wait(NAMES, "app/other");
    browser.click("main tbody th a");
    browser.wait("location.hash", "#/server/app/other");
    browser.wait(&content("h1"), "app/other");
    browser.wait_until(&has("dt", "Sessions in all"));
    assert_eq!(browser.text("document.activeElement.tagName"), "H1");
    assert_eq!(browser.text("document.title"), "app/other – Weir");
    browser.run("history.back()");
    browser.wait(&content("h1"), "Overview");
    // The rows that are wrong have an address, too.
    open(&mut browser, &weir, "?wrong=1", NARROW);
    browser.wait(&content("form [role=status]"), "0 of 23");
    assert_eq!(browser.text("document.getElementById('only').checked"), "true");
}

#[test]
fn a_server_that_is_added_or_deleted_appears_or_disappears() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, origin) = start("", "    balance random\n    server fixed <origin>");
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("({NAMES}).split(' ').includes('app/fixed')"));
    weir.cli(&format!("add server app/added {}", origin.address()));
    browser.wait_until(&format!("({NAMES}).split(' ').includes('app/added')"));
    weir.cli("del server app/added");
    browser.wait_until(&format!("!({NAMES}).split(' ').includes('app/added')"));
    assert_eq!(browser.text(&format!("({NAMES}).split(' ').includes('app/fixed')")), "true");
}

#[test]
fn the_statistics_page_fits_and_is_linked_both_ways() {
    let Some(mut browser) = Browser::start() else { return };
    let servers = "    server a-server-with-a-name <origin> check\n    server b <origin> backup";
    let (weir, _origin) = start("    stats admin if TRUE", servers);
    let mut client = weir.web();
    eventually("some figures", || (client.get("/").status() == 200).then_some(()));
    let fits = "document.documentElement.scrollWidth <= innerWidth && \
        [...document.querySelectorAll('.scroll')].every(it => it.scrollWidth <= it.clientWidth)";
    browser.open(&format!("http://{}/stats", weir.address("web")), WIDE);
    browser.wait_until("document.querySelector('main table')");
    let wide = "[...document.querySelectorAll('.scroll')].map(it => it.scrollWidth + '/' + it.clientWidth).join()";
    let sizes = browser.text(wide);
    assert_eq!(browser.text(fits), "true", "{sizes}");
    browser.click("nav a[href=\"/stats/ui\"]");
    browser.wait(&content("h1"), "Overview");
    browser.click("a[href=\"/stats\"]");
    browser.wait_until("document.querySelector('main table') && location.pathname == '/stats'");
}

#[test]
fn nothing_comes_from_elsewhere_and_nothing_runs_but_the_page() {
    let Some(mut browser) = Browser::start() else { return };
    let origin = Origin::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let front = "    stats uri /haproxy?stats\n    stats show-legends\n    \
        http-request deny deny_status 503 if { path_sub img }";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    browser.open(&format!("http://{}/haproxy?stats/ui", weir.address("web")), WIDE);
    browser.wait("document.getElementById('state')?.textContent", "Live");
    browser.wait_until(&format!("({NAMES}).includes('app/s')"));
    let places = "performance.getEntriesByType('resource').map(it => it.name)\
        .filter(it => !it.startsWith(location.origin + '/haproxy?stats/ui') && !it.startsWith('data:')).join()";
    assert_eq!(browser.text(places), "");
    // A script in the document does not run: markup that slipped in would do nothing.
    browser.run(
        "addEventListener('securitypolicyviolation', it => window.refused = it.violatedDirective); \
         const it = document.createElement('script'); it.textContent = 'window.ran = 1'; document.body.append(it);",
    );
    browser.wait("window.refused", "script-src-elem");
    assert_eq!(browser.text("window.ran"), "undefined");
    // Bytes from clients are shown as text.
    let mut client = weir.web();
    client.send("GET /<img/src=x/onerror=window.ran=1> HTTP/1.1\r\nHost: t\r\n\r\n");
    client.head();
    browser.run("location.hash = '#/errors'");
    browser.wait_until(&has(".failures summary", "<"));
    assert_eq!(browser.text("document.querySelectorAll('main img').length"), "0");
    assert_eq!(browser.text("window.ran"), "undefined");
}
