//! The names of HAProxy's interface for scripts, with what becomes of each.

use crate::{Limits, State};
use mlua::{Table, Value};

/// One name per line.
const NAMES: &str = include_str!("../data/lua-api-2.7.txt");
/// The page that lists them.
const PAGE: &str = include_str!("../../../docs/lua.md");

/// Attributes of objects that are made with them.
const ATTRIBUTES: &[&str] = &[
    "TXN.c",
    "TXN.sc",
    "TXN.f",
    "TXN.sf",
    "TXN.req",
    "TXN.res",
    "TXN.http",
    "Reply.status",
    "Reply.reason",
    "Reply.headers",
    "Reply.body",
    "AppletHTTP.c",
    "AppletHTTP.sc",
    "AppletHTTP.f",
    "AppletHTTP.sf",
    "AppletHTTP.method",
    "AppletHTTP.version",
    "AppletHTTP.path",
    "AppletHTTP.qs",
    "AppletHTTP.length",
    "AppletHTTP.headers",
    "AppletTCP.c",
    "AppletTCP.sc",
    "AppletTCP.f",
    "AppletTCP.sf",
    "Fetches",
    "Converters",
];

/// Names whose values say that they are not there yet, and objects that nothing makes yet.
const EMPTY: &[&str] = &["core.proxies", "core.backends", "core.frontends", "act.YIELD"];
const UNREACHABLE: &[&str] = &["Proxy", "Server", "Listener", "StickTable", "AppletTCP", "filter"];

fn works(state: &State, name: &str) -> bool {
    let (class, member) = name.split_once(['.', ':']).unwrap_or((name, ""));
    if EMPTY.contains(&name) || UNREACHABLE.contains(&class) {
        return false;
    }
    if ATTRIBUTES.contains(&name) {
        return true;
    }
    let classes: Table = state.native.get("classes").expect("a table");
    let class = match class {
        "Act" => "act",
        class => class,
    };
    let Ok(Some(methods)) = classes.get::<Option<Table>>(class) else { return false };
    if member.is_empty() {
        return !matches!(class, "CertCache" | "Channel");
    }
    let stubs: Table = state.native.get("stubs").expect("a table");
    match methods.get::<Value>(member).expect("a value") {
        Value::Nil => false,
        value => !stubs.contains_key(value).expect("a table"),
    }
}

/// The two lists of the page.
fn lists() -> (Vec<&'static str>, Vec<&'static str>) {
    let clock = || 0;
    let limits = Limits { number: 0, instructions: 10_000, memory: 0, clock };
    let state = State::new(limits).expect("memory");
    NAMES.lines().partition(|name| works(&state, name))
}

#[test]
fn the_page_lists_every_name_with_its_state() {
    let (working, missing) = lists();
    assert_eq!(working.len() + missing.len(), 284);
    let list =
        |names: &[&str]| names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(" ");
    for (title, names) in [("Works", working), ("Not yet", missing)] {
        let text = format!("{title} ({}): {}", names.len(), list(&names));
        assert!(PAGE.contains(&text), "docs/lua.md lacks:\n{text}");
    }
}
