//! The dashboard in a real browser.

use crate::support::master::Master;
use crate::support::{Browser, Origin, Setup, eventually, stat_of};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The attribute that marks the line of a server.
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
    // The curve survives a reload: it contains points from before the reload.
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
    // A choice alone, which a single key press makes, changes nothing; nor does an action that is
    // not confirmed.
    choose(&mut browser, "app", "drain");
    apply(&mut browser, "app", false);
    browser.wait(TOLD, "Drain app/s: not confirmed");
    assert_eq!(browser.text("window.asked"), "Drain: app/s?");
    apply(&mut browser, "app", true);
    assert_eq!(browser.text("window.asked"), "Drain: app/s?", "what was dropped is asked again");
    assert_eq!(weir.stat("app", "s", "status"), "no check");
    choose(&mut browser, "app", "drain");
    apply(&mut browser, "app", true);
    browser.wait(TOLD, "Drain app/s: done");
    browser.wait("document.querySelector('tbody tr .pill').className", "pill drain");
    assert_eq!(weir.stat("app", "s", "status"), "DRAIN");
}

/// The result of the last action on the page.
const TOLD: &str = "document.getElementById('told').textContent";

/// Chooses an action for the first server of a backend.
fn choose(browser: &mut Browser, backend: &str, action: &str) {
    let choose = format!(
        "(() => {{ const it = document.querySelector('#px-{backend} tbody select'); \
         it.value = '{action}'; it.dispatchEvent(new Event('change')); return 'chosen'; }})()"
    );
    assert_eq!(browser.text(&choose), "chosen");
}

/// Applies the selected action, and confirms it or not.
fn apply(browser: &mut Browser, backend: &str, confirmed: bool) {
    let apply = format!(
        "(() => {{ window.confirm = (text) => {{ window.asked = text; return {confirmed}; }}; \
         document.querySelector('#px-{backend} tbody button').click(); return 'applied'; }})()"
    );
    assert_eq!(browser.text(&apply), "applied");
}

/// A master whose page may change servers, with these backends.
fn reloadable(backends: &str) -> Master {
    let text = "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
        defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
        timeout server 20s\n\
        frontend web\n    bind <web>\n    stats uri /stats\n    stats admin if TRUE\n";
    Master::start(Setup::new(&format!("{text}{backends}")), &["-W"])
}

const APP: &str = "backend app\n    server s 127.0.0.1:9\n";
const DB: &str = "backend db\n    server s 127.0.0.1:9\n";
const OLD: &str = "backend old\n    server s 127.0.0.1:9\n";

/// Reloads with other backends.
fn reload(master: &Master, old: &str, new: &str) {
    let path = master.path("weir.cfg");
    let text = std::fs::read_to_string(&path).expect("its configuration");
    std::fs::write(&path, text.replace(old, new)).expect("its directory");
    assert_eq!(master.cli("reload"), "Loading success.");
    master.settled();
}

fn states(master: &Master) -> [String; 2] {
    let csv = master.cli("@1 show stat");
    ["app", "db"].map(|backend| stat_of(&csv, backend, "s", "status"))
}

#[test]
fn an_action_of_a_page_from_before_a_reload_is_refused() {
    let backends = format!("{OLD}{APP}{DB}");
    let master = reloadable(&backends);
    let process = || {
        let text = master.running.web().get("/stats/ui/figures").text();
        let rest = text.split_once("\"process\":\"").expect("the process is named").1;
        rest.split('"').next().unwrap_or_default().to_owned()
    };
    let post = |form: &str| {
        let length = form.len();
        let head = format!("POST /stats HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n");
        let answer = master.running.web().ask(head + form);
        answer.header("location").unwrap_or_default().to_owned()
    };
    let before = process();
    reload(&master, &backends, &format!("{DB}{APP}"));
    for backend in ["app", "db", "old", "%233", "%234"] {
        let form = format!("s=s&action=maint&b={backend}&process={before}");
        assert_eq!(post(&form), "/stats;st=GONE", "{backend}");
    }
    assert_eq!(states(&master), ["no check", "no check"]);
    let now = process();
    assert_ne!(now, before);
    let form = format!("s=s&action=maint&b=app&process={now}");
    assert_eq!(post(&form), "/stats;st=DONE");
    assert_eq!(states(&master), ["MAINT", "no check"]);
}

#[test]
fn a_page_from_before_a_reload_acts_on_the_process_that_it_shows() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: no chromium; on Debian: sudo apt-get install chromium");
        return;
    };
    let backends = format!("{OLD}{APP}{DB}");
    let master = reloadable(&backends);
    browser.open(&format!("http://{}/stats/ui", master.running.address("web")), (1280, 900));
    browser.wait("document.querySelectorAll('#proxies > details').length", "4");
    browser.wait("document.querySelector('#px-app tbody select') != null", "true");
    choose(&mut browser, "app", "maint");
    reload(&master, &backends, &format!("{DB}{APP}"));
    browser.wait("document.querySelectorAll('#proxies > details').length", "3");
    assert_eq!(browser.text("document.getElementById('px-old')"), "null");
    browser.wait("document.querySelector('#px-app tbody select').value", "");
    choose(&mut browser, "app", "maint");
    // The page does not know the new process yet when the action is applied.
    let late = "(() => { window.confirm = () => true; before = { ...before, process: '1-1' }; \
                document.querySelector('#px-app tbody button').click(); return 'applied'; })()";
    assert_eq!(browser.text(late), "applied");
    browser.wait(TOLD, "Maintenance app/s: refused, the process was replaced meanwhile");
    assert_eq!(states(&master), ["no check", "no check"]);
    browser.wait("before.process != '1-1'", "true");
    browser.wait("document.querySelector('#px-app tbody select')?.value", "");
    choose(&mut browser, "app", "maint");
    apply(&mut browser, "app", true);
    browser.wait(TOLD, "Maintenance app/s: done");
    assert_eq!(states(&master), ["MAINT", "no check"]);
}

/// Stops the client when the test ends or fails.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_chart_has_no_dip_where_the_page_was_opened() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: no chromium; on Debian: sudo apt-get install chromium");
        return;
    };
    let origin = Origin::saying("hello");
    let front = "    stats uri /stats\n    stats enable";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
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
        browser.open(&format!("http://{}/stats/ui", weir.address("web")), (1280, 900));
        browser.wait("document.getElementById('state')?.textContent", "live");
        let drawn = browser.text("cards.get('requests').points[0].length");
        let more = format!("cards.get('requests').points[0].length >= {drawn} + 2");
        browser.wait(&more, "true");
        for chart in ["requests", "app:rate", "app:latency"] {
            let last = format!("cards.get('{chart}').points[0].slice(-4).every((it) => it > 0)");
            let all = browser.text(&format!("cards.get('{chart}').points[0].slice(-8).join()"));
            assert_eq!(browser.text(&last), "true", "{chart}: {all}");
        }
        drop(stops);
    });
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
