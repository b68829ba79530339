//! Charts: a time axis, the value under the pointer, gaps as gaps, and no dip that was not there.

use super::{Stops, WIDE, content, open, start};
use crate::support::{Browser, Origin, Setup, eventually};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The curve of requests per second.
const CURVE: &str = "document.querySelector('.chart path.line').getAttribute('d')";
/// The values of the points of the first chart, as its script keeps them.
const POINTS: &str = "import(document.documentElement.dataset.base + '/series.js')\
    .then(it => it.pointsOf('').map(point => point[1]).join(' '))";

#[test]
fn a_chart_has_no_dip_where_the_page_was_opened() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = start("", "    server s <origin>");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stops = Stops(&ends);
        scope.spawn(|| {
            let mut client = weir.web();
            while !ends.load(Relaxed) {
                client.get("/");
            }
        });
        eventually("three seconds of traffic are in the history", || {
            let text = weir.web().get("/stats/ui/history").text();
            let rates = points(&text, "requests");
            (rates.len() > 4 && rates.iter().rev().take(3).all(|rate| *rate > 0.0)).then_some(())
        });
        open(&mut browser, &weir, "", WIDE);
        let drawn = count(&browser.text(POINTS));
        eventually("some more points", || {
            (count(&browser.text(POINTS)) >= drawn + 3).then_some(())
        });
        let all = browser.text(POINTS);
        let last: Vec<f64> = all.split(' ').filter_map(|it| it.parse().ok()).collect();
        assert!(last[last.len() - 6..].iter().all(|rate| *rate > 0.0), "{all}");
        drop(stops);
    });
}

fn count(list: &str) -> usize {
    list.split(' ').count()
}

/// The points of a chart of the process that the history has.
fn points(history: &str, chart: &str) -> Vec<f64> {
    let begin = format!("\"{chart}\":[[");
    let rest = history.split_once(&begin).map_or("", |(_, rest)| rest);
    let list = rest.split(']').next().unwrap_or_default();
    list.split(',').filter_map(|point| point.parse().ok()).collect()
}

#[test]
fn charts_include_the_time_before_the_page_was_opened() {
    let (weir, _origin) = start("", "    server s <origin>");
    let mut client = weir.web();
    let history = eventually("a second with many requests is in the history", || {
        (0..50).for_each(|_| drop(client.get("/")));
        let text = client.get("/stats/ui/history").text();
        points(&text, "requests").iter().any(|rate| *rate >= 20.0).then_some(text)
    });
    assert!(history.contains("\"seconds\":600,"), "{history}");
    let app = history.split_once("{\"name\":\"app\"").expect("the backend is among them").1;
    assert!(points(app, "latency").iter().any(|micros| *micros > 0.0), "{history}");
    let Some(mut browser) = Browser::start() else { return };
    open(&mut browser, &weir, "", WIDE);
    let most = format!("Math.max(...({POINTS}).split(' '))").replace("(import", "(await import");
    let most = browser.text(&most);
    assert!(most.parse::<f64>().is_ok_and(|most| most >= 20.0), "{most}");
    // A reload of the page loses nothing.
    browser.reload();
    browser.wait_until(
        "document.querySelector('.chart path.line')?.getAttribute('d').split('L').length > 2",
    );
    open(&mut browser, &weir, "proxy/app", WIDE);
    browser.wait_until(&format!("{CURVE}.split(/[ML]/).length > 2"));
}

#[test]
fn a_chart_shows_the_time_and_the_value_under_the_pointer() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = start("", "    server s <origin>");
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("{CURVE}.includes('L')"));
    let ticks = browser.text(
        "[...document.querySelectorAll('.axis')[0].children].map(it => it.textContent).join(' ')",
    );
    let clocks: Vec<&str> = ticks.split(' ').collect();
    assert!(clocks.len() == 6 && clocks.iter().all(|tick| is_clock(tick, 2)), "{ticks}");
    let when = content(".chart .when");
    assert_eq!(browser.text(&when), "", "the present values are shown without a pointer");
    browser.hover(".chart .plot", 0.999);
    let shown = browser.text(&when);
    assert!(is_clock(&shown, 3), "{shown}");
    assert_eq!(
        browser.text("document.querySelector('.cursor').getAttribute('visibility')"),
        "visible"
    );
    browser.hover("h1", 0.9);
    browser.wait(&when, "");
    // The keyboard has the same pointer.
    browser.run("document.querySelector('.plot').focus()");
    browser.press("ArrowLeft");
    assert!(is_clock(&browser.text(&when), 3));
    let label = browser.text("document.querySelector('.plot').getAttribute('aria-label')");
    assert!(label.starts_with("Requests per second: ") && label.contains(" at "), "{label}");
    browser.press("Escape");
    assert_eq!(browser.text(&when), "");
}

/// Whether a text is a time of day of so many parts.
fn is_clock(text: &str, parts: usize) -> bool {
    text.split(':').count() == parts && text.split(':').all(|part| part.len() == 2)
}

#[test]
fn a_time_without_answers_is_a_gap() {
    let Some(mut browser) = Browser::start() else { return };
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats enable";
    let setup = Setup::http(front, "    server s <origin>").with("origin", origin.address());
    let weir = setup.global("tune.history 0").start();
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("{CURVE}.split('L').length > 2"));
    browser.click("#pause");
    browser.wait("document.getElementById('state').textContent", "Paused");
    let before = browser.text(POINTS);
    // A gap is one of more than three seconds.
    browser.text("new Promise(done => setTimeout(done, 5000))");
    assert_eq!(browser.text(POINTS), before, "nothing is asked meanwhile");
    browser.click("#pause");
    browser.wait("document.getElementById('state').textContent", "Live");
    browser.wait_until(
        "document.querySelectorAll('.chart')[0].querySelectorAll('.gaps rect').length >= 1",
    );
    browser.wait_until(&format!(
        "{CURVE}.split('M').length >= 3 && {CURVE}.split('M').pop().includes('L')"
    ));
}

#[test]
fn the_history_can_be_turned_off() {
    let front = "    stats uri /stats\n    stats enable";
    let weir = Setup::http(front, "").global("tune.history 0").start();
    let text = weir.web().get("/stats/ui/history").text();
    assert!(text.contains("\"seconds\":0,") && text.ends_with("\"proxies\":[]}"), "{text}");
}
