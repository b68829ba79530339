//! Reloads: the page follows the process, drops what is gone, and acts on what it shows.

use super::{NAMES, WIDE, content, has};
use crate::support::master::Master;
use crate::support::{Browser, Setup, stat_of};

/// A master whose page may change servers; what follows are the backends.
fn reloadable(backends: &str) -> Master {
    let text = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\n\
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
    let post = |target: &str, form: &str| {
        let length = form.len();
        let head = format!("POST {target} HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n");
        let answer = master.running.web().ask(head + form);
        answer.header("location").map_or_else(|| answer.text(), str::to_owned)
    };
    let before = process();
    reload(&master, &backends, &format!("{DB}{APP}"));
    for backend in ["app", "db", "old", "%233", "%234"] {
        let form = format!("s=s&action=maint&b={backend}&process={before}");
        assert_eq!(post("/stats", &form), "/stats;st=GONE", "{backend}");
        assert_eq!(post("/stats/ui/act", &form), "{\"outcome\":\"GONE\"}", "{backend}");
    }
    assert_eq!(states(&master), ["no check", "no check"]);
    let now = process();
    assert_ne!(now, before);
    let form = format!("s=s&action=maint&b=app&process={now}");
    assert_eq!(post("/stats/ui/act", &form), "{\"outcome\":\"DONE\"}");
    assert_eq!(states(&master), ["MAINT", "no check"]);
}

#[test]
fn a_page_follows_a_reload_and_acts_on_the_process_that_it_shows() {
    let Some(mut browser) = Browser::start() else { return };
    let backends = format!("{OLD}{APP}{DB}");
    let master = reloadable(&backends);
    browser.open(&format!("http://{}/stats/ui#/proxy/old", master.running.address("web")), WIDE);
    browser.wait(&content("h1"), "old");
    browser.wait_until("document.querySelector('.note').hidden");
    browser.run("location.hash = '#/'");
    browser.wait_until(&format!("({NAMES}).includes('old/s')"));
    // The dialog of a server is open while the process changes.
    browser.click("[aria-label=\"Change app/s\"]");
    browser.wait(&content("dialog h2"), "Change app/s");
    reload(&master, &backends, &format!("{DB}{APP}"));
    browser.wait_until(&format!("!({NAMES}).includes('old')"));
    browser.wait_until("!document.querySelector('dialog')");
    browser.wait_until(&has(".message", "Nothing was changed"));
    // The view of a removed proxy says that it is gone.
    browser.run("location.hash = '#/proxy/old'");
    browser.wait_until(&has(".note:not([hidden])", "old is not there (any more)"));
    assert_eq!(
        browser.text("[...document.querySelectorAll('.charts')].every(it => it.hidden)"),
        "true"
    );
    browser.run("location.hash = '#/'");
    browser.wait_until(&format!("({NAMES}).includes('app/s')"));
    // The page does not know yet that the process is another one when the action is confirmed.
    browser.run(
        "window.fetch = (ask => (place, options) => ask(place, options && options.body \
         ? { ...options, body: String(options.body).replace(/process=[^&]*/, 'process=1-1') } : options))(window.fetch)",
    );
    browser.click("[aria-label=\"Change app/s\"]");
    browser.click("dialog input[value=maint]");
    browser.click("dialog .go");
    browser.text("new Promise(done => setTimeout(done, 500))");
    browser.click("dialog .go");
    browser.wait_until(&has(
        ".message",
        "Maintenance app/s: refused, the process was replaced meanwhile",
    ));
    assert_eq!(states(&master), ["no check", "no check"]);
}

#[test]
fn the_history_of_reloads_has_those_that_failed() {
    let Some(mut browser) = Browser::start() else { return };
    let master = reloadable(APP);
    browser.open(&format!("http://{}/stats/ui#/reloads", master.running.address("web")), WIDE);
    browser.wait_until("document.querySelectorAll('tbody tr').length == 1");
    assert_eq!(browser.text(&has("tbody tr", "read at the start")), "true");
    reload(&master, APP, &format!("{APP}{DB}"));
    browser.wait_until("document.querySelectorAll('tbody tr').length == 2");
    assert_eq!(browser.text(&has("tbody tr:first-child", "▲ serves")), "true");
    let path = master.path("weir.cfg");
    let text = std::fs::read_to_string(&path).expect("its configuration");
    std::fs::write(&path, format!("{text}    nonsense\n")).expect("its directory");
    assert_eq!(master.cli("reload"), "Loading failure!");
    browser.wait_until("document.querySelectorAll('tbody tr').length == 3");
    let failed = browser.text("document.querySelector('tbody tr').textContent");
    assert!(failed.contains("▼ failed") && failed.contains("nonsense"), "{failed}");
}
