//! The page for everybody: it fits small windows, and axe finds nothing of level A or AA.

use super::{NARROW, WIDE, content, has, open, page};
use crate::support::{Browser, Origin, Running, Setup, nobody};
use std::path::PathBuf;
use std::process::Command;

/// The version of axe-core (MPL 2.0), which is fetched and no part of the repository.
const AXE: &str = "4.14.1";

/// All views, and a text that each has once it is complete.
const VIEWS: [(&str, &str); 12] = [
    ("", "app/away"),
    ("proxy/app", "Sessions in all"),
    ("server/app/away", "Last checks"),
    ("errors", "GET /"),
    ("listeners", "OPEN"),
    ("certificates", "No certificate is in use"),
    ("resolvers", "names"),
    ("tables", "clients"),
    ("tables/clients", "127.0.0.1"),
    ("configuration", "frontend web"),
    ("process", "CumReq"),
    ("reloads", "serves since"),
];

/// A process with something in every view.
fn everything() -> (Running, Origin) {
    let origin = Origin::saying("hello");
    let front = page(
        "    stats show-legends\n    stats admin if TRUE\n    http-request track-sc0 src table clients",
    );
    let servers = "    server fine <origin> check inter 100ms\n    server away <nobody> check inter 100ms fall 1\n    \
        server resting <origin> disabled\n    server with-a-name-that-is-rather-long.example.org <origin> weight 0";
    let more = "backend empty\n    server s <nobody>\nbackend clients\n    stick-table type ip size 1k store http_req_cnt\n\
                resolvers names\n    nameserver one 127.0.0.1:1\n";
    let setup =
        Setup::http(&format!("{front}\n    use_backend empty if {{ path /empty }}"), servers)
            .append(more);
    let weir = setup.with("origin", origin.address()).with("nobody", nobody()).start();
    let mut client = weir.web();
    (0..5).for_each(|_| drop(client.get("/")));
    assert_eq!(weir.web().get("/empty").status(), 503);
    (weir, origin)
}

/// Opens a view and waits until it is complete.
fn complete(browser: &mut Browser, weir: &Running, (view, text): (&str, &str), size: (u32, u32)) {
    open(browser, weir, view, size);
    browser.wait_until(&has("main", text));
}

#[test]
fn every_view_fits_its_window() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = everything();
    for size in [NARROW, WIDE] {
        for view in VIEWS {
            complete(&mut browser, &weir, view, size);
            let width = browser.text("document.documentElement.scrollWidth");
            assert!(
                width.parse::<u32>().is_ok_and(|width| width <= size.0),
                "{view:?}: {width} of {}",
                size.0
            );
        }
    }
    // On the narrow page the columns that matter are seen without scrolling.
    complete(&mut browser, &weir, VIEWS[0], NARROW);
    let titles = "[...document.querySelectorAll('thead th')].filter(it => it.getBoundingClientRect().right <= 400 && it.offsetWidth)\
        .map(it => it.textContent).join(' ')";
    let shown = browser.text(titles);
    for title in ["Name", "State", "Req/s", "Errors/s", "p99"] {
        assert!(shown.contains(title), "{title} is not in {shown}");
    }
    // The focus is seen, and the first stop is a way around the navigation.
    browser.reload();
    browser.wait("document.getElementById('state')?.textContent", "Live");
    browser.press("Tab");
    assert_eq!(browser.text("document.activeElement.textContent"), "Skip to the content");
    assert_eq!(browser.text("getComputedStyle(document.activeElement).outlineStyle"), "solid");
}

#[test]
fn axe_finds_nothing_of_level_a_or_aa() {
    let Some(axe) = axe() else {
        println!("skipped: axe-core cannot be had; it takes npm");
        return;
    };
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = everything();
    let script = std::fs::read_to_string(axe).expect("the script");
    let mut findings = Vec::new();
    for (scheme, size) in [("light", WIDE), ("dark", NARROW)] {
        browser.scheme(scheme);
        for view in VIEWS {
            complete(&mut browser, &weir, view, size);
            findings.extend(judge(&mut browser, &script, &format!("{} {scheme}", view.0)));
        }
        // The dialog in both of its steps, and a message.
        complete(&mut browser, &weir, ("server/app/fine", "Last checks"), size);
        browser.wait_until("document.querySelector('.change')");
        browser.click("[aria-label=\"Change app/fine\"]");
        findings.extend(judge(&mut browser, &script, &format!("dialog {scheme}")));
        browser.click("dialog input[value=drain]");
        browser.click("dialog .go");
        findings.extend(judge(&mut browser, &script, &format!("question {scheme}")));
        browser.text("new Promise(done => setTimeout(done, 500))");
        browser.click("dialog .go");
        browser.wait_until(&has(".message", "Drain app/fine: done"));
        findings.extend(judge(&mut browser, &script, &format!("message {scheme}")));
        browser.click(".undo");
        browser.wait_until(&has(".message", "Set ready app/fine: done"));
        browser.open(&format!("http://{}/stats", weir.address("web")), size);
        browser.wait_until("document.querySelector('main table')");
        findings.extend(judge(&mut browser, &script, &format!("statistics page {scheme}")));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// The violations that axe finds on the page as it is.
fn judge(browser: &mut Browser, script: &str, view: &str) -> Option<String> {
    browser.run(script);
    let found = browser.text(
        "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })\
         .then(it => it.violations.map(it => it.id + ': ' + it.nodes.map(it => it.target.join(' ') + ' ' + \
         it.any.concat(it.all, it.none).map(it => it.message).join('; ')).slice(0, 3).join(' | ')).join(', '))",
    );
    (!found.is_empty()).then(|| format!("{view}: {found}"))
}

/// The script of axe-core, fetched from the registry of npm once per target directory.
fn axe() -> Option<PathBuf> {
    let target = std::env::current_exe().ok()?.parent()?.parent()?.parent()?.to_owned();
    let directory = target.join(format!("axe-core-{AXE}"));
    let script = directory.join("node_modules/axe-core/axe.min.js");
    if !script.exists() {
        std::fs::create_dir_all(&directory).ok()?;
        let package = format!("axe-core@{AXE}");
        let words =
            ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", ".", &package];
        let _ = Command::new("npm").args(words).current_dir(&directory).output().ok()?;
    }
    script.exists().then_some(script)
}

#[test]
fn a_page_without_an_answer_says_so() {
    let Some(mut browser) = Browser::start() else { return };
    let (weir, _origin) = everything();
    complete(&mut browser, &weir, VIEWS[0], WIDE);
    drop(weir);
    browser.wait_until("document.getElementById('state').textContent.startsWith('No answer')");
    assert_eq!(browser.text("document.getElementById('state').className"), "lost");
    assert_eq!(browser.text(&content("h1")), "Overview", "what was shown stays");
}
