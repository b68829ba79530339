//! The dashboard in a real browser. Never its looks: somebody has to look at those.

use crate::support::{Browser, Origin, Setup, eventually};

/// What the line of a server is marked with.
const LINE: &str = "document.querySelector('tbody tr')?.className";
/// The curve of requests per second.
const CURVE: &str = "document.querySelector('#overview path')?.getAttribute('d').length > 12";

#[test]
fn charts_move_and_a_server_that_goes_down_turns_red() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: no chromium; on Debian: sudo apt-get install chromium");
        return;
    };
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats enable";
    let back = "    server s <origin> check inter 200ms fall 1";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    browser.open(&format!("http://{}/stats/ui", weir.address("web")), (1280, 900));
    browser.wait("document.getElementById('state')?.textContent", "live");
    let mut client = weir.web();
    for _ in 0..20 {
        client.get("/");
    }
    browser.wait(CURVE, "true");
    assert_eq!(browser.text(LINE), "");
    // The curve survives a reload: behind it is more than what came since.
    let points = "document.querySelector('#overview path')?.getAttribute('d').split(/[ML]/).length";
    browser.wait(&format!("{points} > 5"), "true");
    let reload = "(() => { window.old = 1; location.reload(); return 'again'; })()";
    assert_eq!(browser.text(reload), "again");
    browser.wait("typeof window.old", "undefined");
    browser.wait("document.getElementById('state')?.textContent", "live");
    assert_eq!(browser.text(&format!("{points} > 4")), "true");
    let shown = "document.querySelector('tbody tr td:nth-of-type(4)').textContent != '–'";
    client.get("/");
    browser.wait(shown, "true");
    drop(origin);
    let took = browser.wait(LINE, "is-down");
    println!("red after {} ms", took.as_millis());
    assert_eq!(browser.text("document.querySelectorAll('.checks i.bad').length > 0"), "true");
}

#[test]
fn an_action_drains_a_server() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: no chromium; on Debian: sudo apt-get install chromium");
        return;
    };
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats admin if TRUE";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    browser.open(&format!("http://{}/stats/ui", weir.address("web")), (400, 900));
    browser.wait("document.querySelector('tbody tr .pill')?.className", "pill none");
    let choose = "(() => { const it = document.querySelector('tbody select'); it.value = 'drain'; \
                  it.dispatchEvent(new Event('change')); return 'chosen'; })()";
    assert_eq!(browser.text(choose), "chosen");
    browser.wait("document.getElementById('told').textContent", "Drain app/s: done");
    browser.wait("document.querySelector('tbody tr .pill').className", "pill drain");
    assert_eq!(weir.stat("app", "s", "status"), "DRAIN");
}

/// The points of a chart of the process that stand in the history.
fn points(history: &str, chart: &str) -> Vec<f64> {
    let begin = format!("\"{chart}\":[[");
    let rest = history.split_once(&begin).map_or("", |(_, rest)| rest);
    let list = rest.split(']').next().unwrap_or_default();
    list.split(',').filter_map(|point| point.parse().ok()).collect()
}

#[test]
fn what_happened_before_the_page_was_opened_is_drawn() {
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats enable";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    let history = eventually("a second with many requests is in the history", || {
        (0..50).for_each(|_| drop(client.get("/")));
        let text = client.get("/stats/ui/history").text();
        points(&text, "requests").iter().any(|rate| *rate >= 20.0).then_some(text)
    });
    assert!(history.contains("\"seconds\":600,"), "{history}");
    let app = history.split_once("{\"name\":\"app\"").expect("the backend is among them").1;
    assert!(points(app, "latency").iter().any(|micros| *micros > 0.0), "{history}");
    let Some(mut browser) = Browser::start() else {
        println!("skipped: no chromium; on Debian: sudo apt-get install chromium");
        return;
    };
    browser.open(&format!("http://{}/stats/ui", weir.address("web")), (1280, 900));
    browser.wait("document.getElementById('state')?.textContent", "live");
    // Thousands are written as such.
    let top = "(top => /k/i.test(top) || parseInt(top) >= 20)\
               (document.querySelector('#overview .axis span').textContent.slice(4))";
    browser.wait(top, "true");
    let drawn = "document.querySelector('.charts path, details path')?.getAttribute('d').split(/[ML]/).length > 3";
    browser.wait(drawn, "true");
    assert_eq!(
        browser.text("document.querySelector('.axis').textContent.includes('10 minutes')"),
        "true"
    );
}

#[test]
fn the_history_can_be_turned_off() {
    let front = "    stats uri /stats\n    stats enable";
    let weir = Setup::http(front, "").global("tune.history 0").start();
    let text = weir.web().get("/stats/ui/history").text();
    assert!(text.contains("\"seconds\":0,") && text.ends_with("\"proxies\":[]}"), "{text}");
}
