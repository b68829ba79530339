//! The dashboard in a real browser.

mod accessibility;
mod actions;
mod charts;
mod overview;
mod reloads;
mod size;
mod views;

use crate::support::{Browser, Origin, Running, Setup};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A page whose visitors have these rights, below `/stats`.
fn page(rights: &str) -> String {
    format!("    stats uri /stats\n    stats enable\n{rights}")
}

/// A proxy `web` with the page, a backend `app` with these lines, and an origin.
fn start(rights: &str, servers: &str) -> (Running, Origin) {
    let origin = Origin::saying("hello");
    let setup = Setup::http(&page(rights), servers).with("origin", origin.address());
    (setup.with("nobody", crate::support::nobody()).start(), origin)
}

/// Opens a view of the dashboard.
fn open(browser: &mut Browser, weir: &Running, view: &str, size: (u32, u32)) {
    browser.open(&format!("http://{}/stats/ui#/{view}", weir.address("web")), size);
    browser.wait("document.getElementById('state')?.textContent", "Live");
    browser.wait_until("document.querySelector('h1')");
}

/// Whether an element that a selector finds has a text.
fn has(selector: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('{selector}')].some(it => it.textContent.includes('{text}'))"
    )
}

/// The text of the first element that a selector finds.
fn content(selector: &str) -> String {
    format!("document.querySelector('{selector}')?.textContent")
}

/// The names of the rows of the first table, in order.
const NAMES: &str =
    "[...document.querySelectorAll('main tbody th a')].map(it => it.textContent).join(' ')";
const WIDE: (u32, u32) = (1280, 900);
const NARROW: (u32, u32) = (400, 900);

/// Ends a client, whatever happens.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
