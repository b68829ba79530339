//! The dashboard in a real browser. Never its looks: somebody has to look at those.

use crate::support::{Browser, Origin, Setup};

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
