//! Actions on servers: chosen, confirmed, undone; offered to visitors with the right to them.

use super::{NARROW, WIDE, content, has, open, start};
use crate::support::{Browser, Running};

const CHANGE: &str = "[aria-label=\"Change app/s\"]";
const SERVERS: &str = "    server s <origin>\n    server t <origin>";

/// The names of the actions that the open dialog offers.
const OFFERED: &str =
    "[...document.querySelectorAll('dialog input')].map(it => it.value).join(' ')";

fn state(weir: &Running) -> String {
    weir.stat("app", "s", "status")
}

#[test]
fn an_action_is_chosen_confirmed_and_undone() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = start("    stats admin if TRUE", SERVERS);
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("document.querySelector('{CHANGE}')"));
    browser.click(CHANGE);
    assert_eq!(browser.text(&content("dialog h2")), "Change app/s");
    // Actions without an effect on this server are not offered: it is ready, has no check, no
    // agent, no session.
    assert_eq!(browser.text(OFFERED), "drain maint hnolb hdown");
    assert_eq!(browser.text("document.querySelector('dialog .go').disabled"), "true");
    browser.click("dialog input[value=drain]");
    browser.click("dialog .go");
    browser.wait_until(&has("dialog strong", "Drain app/s?"));
    assert_eq!(browser.text(&has("dialog p", "1 other server of app can take over.")), "true");
    assert_eq!(state(&weir), "no check", "a choice changes nothing");
    browser.click("dialog .buttons button");
    browser.wait_until("!document.querySelector('dialog')");
    assert_eq!(state(&weir), "no check", "it was not confirmed");
    drain(&mut browser);
    browser.wait_until(&has(".message", "Drain app/s: done"));
    assert_eq!(state(&weir), "DRAIN");
    browser.wait_until(&has("tbody tr .drain", "DRAIN"));
    // The message stays, and undoes.
    assert_eq!(browser.text(&content(".undo")), "Undo: Set ready");
    browser.click(".undo");
    browser.wait_until(&has(".message", "Set ready app/s: done"));
    assert_eq!(state(&weir), "no check");
    browser.click(".message button");
    assert_eq!(browser.text("document.querySelector('.message')"), "null");
}

/// Drains the server with three clicks.
fn drain(browser: &mut Browser) {
    browser.click(CHANGE);
    browser.click("dialog input[value=drain]");
    browser.click("dialog .go");
    guard(browser);
    browser.click("dialog .go");
}

/// Lets the time pass in which a second tap confirms nothing.
fn guard(browser: &mut Browser) {
    browser.text("new Promise(done => setTimeout(done, 500))");
}

#[test]
fn no_key_press_and_no_double_tap_changes_a_server() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = start("    stats admin if TRUE", SERVERS);
    open(&mut browser, &weir, "server/app/s", NARROW);
    browser.wait_until(&format!("document.querySelector('{CHANGE}')"));
    // With the keyboard alone: each step needs its own key, and the first focus is on leaving.
    browser.run(&format!("document.querySelector('{CHANGE}').focus()"));
    browser.press("Enter");
    browser.wait(&content("dialog h2"), "Change app/s");
    assert_eq!(browser.text("document.activeElement.textContent"), "Cancel");
    browser.press("Enter");
    browser.wait_until("!document.querySelector('dialog')");
    browser.press("Enter");
    browser.wait_until("document.querySelector('dialog')");
    browser.press("Escape");
    browser.wait_until("!document.querySelector('dialog')");
    browser.press("Enter");
    browser.run("document.querySelector('dialog input').focus()");
    browser.press(" ");
    browser.wait("document.querySelector('dialog .go').disabled", "false");
    browser.run("document.querySelector('dialog .go').focus()");
    browser.press("Enter");
    browser.wait_until(&has("dialog strong", "Drain app/s?"));
    assert_eq!(browser.text("document.activeElement.textContent"), "Cancel");
    browser.press("Enter");
    browser.wait_until("!document.querySelector('dialog')");
    assert_eq!(state(&weir), "no check");
    // A finger that taps twice reaches the question and not its answer.
    browser.tap(CHANGE, 2);
    browser.wait(&content("dialog h2"), "Change app/s");
    browser.tap("dialog input[value=drain]", 1);
    // The clock of the page stands still, as for a finger that is fast enough.
    browser.run("(at => performance.now = () => at)(performance.now())");
    browser.tap("dialog .go", 2);
    browser.wait_until(&has("dialog strong", "Drain app/s?"));
    assert_eq!(state(&weir), "no check");
    browser.run("delete performance.now");
    guard(&mut browser);
    browser.tap("dialog .go", 1);
    browser.wait_until(&has(".message", "Drain app/s: done"));
    assert_eq!(state(&weir), "DRAIN");
}

#[test]
fn visitors_without_rights_are_offered_nothing_and_refused() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = start("", SERVERS);
    open(&mut browser, &weir, "server/app/s", WIDE);
    browser.wait_until(&has("dt", "Sessions in all"));
    assert_eq!(browser.text("document.querySelector('.change')"), "null");
    browser.run("location.hash = '#/'");
    browser.wait_until(&has("thead th", "State"));
    assert_eq!(browser.text(&has("thead th", "Action")), "false");
    assert_eq!(act(&mut browser, "maint"), "DENY");
    assert_eq!(act(&mut browser, "stop"), "DENY");
    assert_eq!(state(&weir), "no check");
}

/// Asks for an action as the page does, whatever it offers.
fn act(browser: &mut Browser, action: &str) -> String {
    browser.text(&format!(
        "fetch('/stats/ui/figures').then(it => it.json()).then(it => fetch('/stats/ui/act', {{ method: 'POST', \
         body: new URLSearchParams({{ b: 'app', s: 's', action: '{action}', process: it.process }}) }}))\
         .then(it => it.json()).then(it => it.outcome)"
    ))
}

#[test]
fn visitors_who_may_drain_are_offered_that_alone() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) =
        start("    stats drain if TRUE\n    stats admin if { hdr(x-all) 1 }", SERVERS);
    open(&mut browser, &weir, "", WIDE);
    browser.wait_until(&format!("document.querySelector('{CHANGE}')"));
    browser.click(CHANGE);
    assert_eq!(browser.text(OFFERED), "stop");
    browser.click("dialog input");
    browser.click("dialog .go");
    guard(&mut browser);
    browser.click("dialog .go");
    browser.wait_until(&has(".message", "Drain app/s: done"));
    assert_eq!(state(&weir), "DRAIN");
    for action in ["maint", "ready", "drain", "hdown", "shutdown"] {
        assert_eq!(act(&mut browser, action), "DENY", "{action}");
    }
    assert_eq!(state(&weir), "DRAIN");
    // The end of draining leaves maintenance as it is.
    weir.cli("set server app/s state maint");
    browser.wait_until(&has("tbody tr .maint", "MAINT"));
    weir.cli("set server app/s state drain");
    browser.wait_until(&has("tbody tr .drain", "DRAIN"));
    browser.click(CHANGE);
    assert_eq!(browser.text(OFFERED), "start");
    browser.press("Escape");
    // A visitor with all rights has them beside those.
    let mut client = weir.web();
    let page = client.ask("GET /stats/ui/figures HTTP/1.1\r\nHost: t\r\nX-All: 1\r\n\r\n").text();
    assert!(page.contains("\"role\":\"all\""), "{page}");
    assert!(client.get("/stats/ui/figures").text().contains("\"role\":\"drain\""));
}
