//! The names of HAProxy's interface for scripts, with what becomes of each.

use crate::{BURST, Limits, State};
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
    "TXN.http_req",
    "TXN.http_res",
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
    "core.proxies",
    "core.backends",
    "core.frontends",
    "Proxy.name",
    "Proxy.uuid",
    "Proxy.servers",
    "Proxy.stktable",
    "Proxy.listeners",
    "Server.name",
    "Server.puid",
];

fn works(state: &State, name: &str) -> bool {
    let (class, member) = name.split_once(['.', ':']).unwrap_or((name, ""));
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
        return true;
    }
    methods.raw_get::<Value>(member).expect("a value") != Value::Nil
}

/// The names in the order of the page: working ones, then missing ones.
fn lists() -> (Vec<&'static str>, Vec<&'static str>) {
    let clock = || 0;
    let limits = Limits { number: 0, instructions: 10_000, memory: 0, burst: BURST, clock };
    let state = State::new(limits).expect("memory");
    NAMES.lines().partition(|name| works(&state, name))
}

#[test]
fn the_page_lists_every_name_with_its_state() {
    let (working, missing) = lists();
    assert_eq!(working.len() + missing.len(), 284);
    let list =
        |names: &[&str]| names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(" ");
    let lists = [("Works", working), ("Not yet", missing)];
    for (title, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let text = format!("{title} ({}): {}", names.len(), list(&names));
        assert!(PAGE.contains(&text), "docs/lua.md lacks:\n{text}");
    }
}

/// The table of acceptance tests with a row for each name.
const ROWS: &str = include_str!("../../acceptance/tests/process/data/lua_names.tsv");
/// The other tests: those of objects that a statement in a rule cannot have.
const TESTS: [&str; 3] = [
    include_str!("../../acceptance/tests/process/scripts.rs"),
    include_str!("../../acceptance/tests/process/http_client.rs"),
    include_str!("tests.rs"),
];
/// Classes of such objects.
const ELSEWHERE: &[&str] = &["Channel", "HTTP", "HTTPClient", "TXN", "AppletHTTP", "HTTPMessage"];

/// Whether a test names a member behind a dot or a colon, or as a key of a table.
fn is_named(member: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    TESTS.iter().any(|text| {
        text.match_indices(member).any(|(at, _)| {
            let before = at.checked_sub(1).map(|at| text.as_bytes()[at]);
            let after = text.as_bytes().get(at + member.len()).copied();
            matches!(before, Some(b'.' | b':')) && !after.is_some_and(is_word)
        })
    })
}

#[test]
fn every_working_name_has_a_test() {
    let has_row = |name: &str| ROWS.lines().any(|row| row.split('\t').next() == Some(name));
    for name in lists().0 {
        let (class, member) = name.split_once(['.', ':']).unwrap_or((name, name));
        let elsewhere = ELSEWHERE.contains(&class) && (member == class || is_named(member));
        assert!(elsewhere || has_row(name), "{name} has no row, and no test names it");
    }
}
