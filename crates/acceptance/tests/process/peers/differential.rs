//! Tables of every data type and key type in Weir and in HAProxy, through restarts and reloads.

use super::{addresses, setup};
use crate::support::{Identity, Moment, PATIENCE, Running, Setup, eventually, pass};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Data types with what follows their name in `store`. Arrays are set by requests.
const TYPES: &[(&str, &str)] = &[
    ("server_id", ""),
    ("gpt0", ""),
    ("gpc0", ""),
    ("gpc0_rate", "(1h)"),
    ("gpc1", ""),
    ("gpc1_rate", "(1h)"),
    ("conn_cnt", ""),
    ("conn_rate", "(1h)"),
    ("conn_cur", ""),
    ("sess_cnt", ""),
    ("sess_rate", "(1h)"),
    ("http_req_cnt", ""),
    ("http_req_rate", "(1h)"),
    ("http_err_cnt", ""),
    ("http_err_rate", "(1h)"),
    ("http_fail_cnt", ""),
    ("http_fail_rate", "(1h)"),
    ("bytes_in_cnt", ""),
    ("bytes_in_rate", "(1h)"),
    ("bytes_out_cnt", ""),
    ("bytes_out_rate", "(1h)"),
];

/// Types of keys that commands can name, each with a key.
const KEYS: &[(&str, &str)] =
    &[("ip", "192.0.2.7"), ("ipv6", "2001:db8::7"), ("integer", "77"), ("string", "seven")];

/// Kinds of keys with what tables of arrays and of servers take them from.
const SOURCES: &[(&str, &str)] = &[
    ("ip", "req.hdr_ip(ip)"),
    ("ipv6", "req.hdr_ip(ip6)"),
    ("integer", "req.hdr(number)"),
    ("string", "req.hdr(text)"),
    ("binary", "path"),
];

/// Data types of the table with binary keys that requests fill.
const BYTES: &str = "gpt0,gpc0,gpc0_rate(1h),gpc1,gpc1_rate(1h),conn_cnt,conn_rate(1h),conn_cur,\
    sess_cnt,sess_rate(1h),http_req_cnt,http_req_rate(1h),http_err_cnt,http_err_rate(1h),\
    http_fail_cnt,http_fail_rate(1h),bytes_in_cnt,bytes_in_rate(1h),bytes_out_cnt,\
    bytes_out_rate(1h)";

const RULES: &str = "    http-request sc-inc-gpc0(0)\n    http-request sc-inc-gpc1(0)\n    \
    http-request sc-set-gpt0(0) 5\n    \
    http-request sc-inc-gpc(2,1)\n    http-request sc-set-gpt(1,1) 9\n    \
    http-request sc-inc-gpc(3,2)\n    http-request sc-set-gpt(2,2) 7\n    \
    http-request return status 404 if { path_beg /gone- }\n    \
    http-request return status 500 if { path_beg /fail- }\n    default_backend servers\n";

fn sections() -> String {
    let mut text = "peers p\n    default-bind ssl crt <dir>/p.pem\n    \
        default-server ssl verify required ca-file <dir>/ca.pem\n    \
        peer A <a>\n    peer B <b>\n"
        .to_owned();
    let (length, lines) = (" len 32", "size 1k expire 1h store");
    for (data, argument) in TYPES {
        for (kind, _) in KEYS {
            let length = if *kind == "string" { length } else { "" };
            let name = format!("{data}_{kind}");
            let _ = writeln!(text, "    table {name} type {kind}{length} {lines} {data}{argument}");
        }
    }
    let _ = writeln!(text, "    table bytes type binary len 16 {lines} {BYTES}");
    let (mut rules, mut stores) = (String::new(), String::new());
    for (kind, source) in SOURCES {
        let length = match *kind {
            "string" => " len 32",
            "binary" => " len 16",
            _ => "",
        };
        let arrays = "gpt(3),gpc(4),gpc_rate(4,1h)";
        let _ = writeln!(text, "    table arrays_{kind} type {kind}{length} {lines} {arrays}");
        let _ = writeln!(text, "    table servers_{kind} type {kind}{length} size 1k expire 1h");
        let _ = writeln!(stores, "    stick store-request {source} table p/servers_{kind}");
        if *kind != "binary" {
            let track = "http-request track-sc2";
            let _ = writeln!(
                rules,
                "    {track} {source} table p/arrays_{kind} if {{ path_beg /{kind}- }}"
            );
        }
    }
    format!(
        "{text}frontend web\n    bind <web>\n    http-request track-sc0 path table p/bytes\n    \
         http-request track-sc1 path table p/arrays_binary\n{rules}{RULES}\
         backend servers\n{stores}    server one <answers>\n\
         frontend answers\n    bind <answers>\n    http-request return status 200\n"
    )
}

/// The program as one of the peers, with a certificate of the group.
fn start(name: &str, addresses: &[String; 2], group: &Identity, change: Change) -> Running {
    let setup = setup(&sections(), name, addresses)
        .global("ca-base /")
        .file("p.pem", &group.pem())
        .file("ca.pem", &group.certificate());
    change(setup).start()
}

type Change<'a> = &'a dyn Fn(Setup) -> Setup;

/// All entries of a table but for their times, in order.
fn entries(program: &Running, table: &str) -> Vec<String> {
    let listing = program.cli(&format!("show table p/{table}"));
    let lines = listing.lines().filter_map(|line| line.split_once(": key="));
    let fields = |line: &str| {
        let kept = line.split(' ').filter(|it| !it.starts_with("exp=") && !it.starts_with("use="));
        let mut kept: Vec<&str> = kept.collect();
        // Fields may be listed in another order, and what is open is not learned.
        kept.retain(|field| !field.starts_with("conn_cur="));
        kept[1..].sort_unstable();
        kept.join(" ")
    };
    let mut entries: Vec<String> = lines.map(|(_, rest)| fields(rest)).collect();
    entries.sort();
    entries
}

fn names() -> impl Iterator<Item = String> {
    let all = TYPES.iter().flat_map(|(data, _)| KEYS.iter().map(move |(kind, _)| (data, kind)));
    let filled = SOURCES.iter().flat_map(|(kind, _)| ["arrays", "servers"].map(|it| (it, kind)));
    let named = all.map(|(data, kind)| format!("{data}_{kind}"));
    named.chain(filled.map(|(table, kind)| format!("{table}_{kind}"))).chain(["bytes".to_owned()])
}

/// Waits until both programs list the same entries in all tables.
fn agree(one: &Running, other: &Running, count: usize) {
    for name in names() {
        let begin = Moment::now();
        loop {
            let last = (entries(one, &name), entries(other, &name));
            // Each path is a binary key.
            let paths = match &*name {
                "bytes" | "arrays_binary" => PATHS.len(),
                "servers_binary" => PATHS.len() - ANSWERED,
                _ => 1,
            };
            if last.0 == last.1 && last.0.len() == paths * count {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "{name}: {last:#?}");
            pass(Duration::from_millis(20));
        }
    }
}

/// The paths of requests, each with the number of the round behind it.
const PATHS: &[&str] = &["/ip-", "/ipv6-", "/integer-", "/string-", "/gone-", "/fail-"];

/// The number of keys, the last ones, whose requests are answered without a server.
const ANSWERED: usize = 2;

/// Gives each table one more entry, or one per path.
fn fill(program: &Running, number: u64) {
    for (at, (data, _)) in (1u64..).zip(TYPES) {
        for (kind, key) in KEYS {
            let key = format!("{}{number}", key);
            let value = 1_000 * at + number;
            let set = format!("set table p/{data}_{kind} key {key} data.{data} {value}");
            assert_eq!(program.cli(&set), "", "{set}");
        }
    }
    let mut client = program.web();
    for path in PATHS.iter().chain(PATHS) {
        let headers = format!(
            "ip: 192.0.2.{number}\r\nip6: 2001:db8::{number}\r\nnumber: {number}\r\ntext: t{number}"
        );
        client.ask(format!("GET {path}{number} HTTP/1.1\r\nHost: h\r\n{headers}\r\n\r\n"));
    }
    drop(client);
    eventually("the requests have ended", || {
        let listing = program.cli("show table p/bytes");
        listing.lines().skip(1).all(|line| line.contains(" use=0 ")).then_some(())
    });
}

#[test]
fn tables_agree_with_haproxy_through_restarts_and_reloads_of_both() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let (addresses, group) = (addresses(), Identity::new("group", None));
    let theirs = |setup: Setup| setup.program(haproxy);
    let ours = |setup: Setup| setup;
    let other = start("A", &addresses, &group, &theirs);
    let weir = start("B", &addresses, &group, &ours);
    fill(&weir, 1);
    agree(&weir, &other, 1);
    fill(&other, 2);
    agree(&weir, &other, 2);
    // Each program starts again and learns all entries.
    drop(weir);
    let weir = start("B", &addresses, &group, &ours);
    agree(&weir, &other, 2);
    drop(other);
    let mut other = start("A", &addresses, &group, &theirs);
    agree(&weir, &other, 2);
    // Each is replaced, and learns from its predecessor.
    let mut old = weir;
    let pid = old.pid().to_string();
    let weir = start("B", &addresses, &group, &|setup| setup.arguments(&["-db", "-sf", &pid]));
    assert_eq!(old.wait().code(), Some(0));
    fill(&weir, 3);
    agree(&weir, &other, 3);
    let pid = other.pid().to_string();
    let replaced = |setup: Setup| theirs(setup).arguments(&["-db", "-sf", &pid]);
    let new = start("A", &addresses, &group, &replaced);
    assert_eq!(other.wait().code(), Some(0));
    fill(&new, 4);
    agree(&weir, &new, 4);
    assert!(weir.cli("show peers").contains(" proto_err=0 "));
    assert!(new.cli("show peers").contains(" proto_err=0 "));
}

#[test]
fn clear_table_takes_entries_out_of_one_process_as_with_haproxy() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    let (addresses, group) = (addresses(), Identity::new("group", None));
    let program = |setup: Setup| match haproxy.exists() {
        true => setup.program(haproxy),
        false => setup,
    };
    let other = start("A", &addresses, &group, &program);
    let weir = start("B", &addresses, &group, &|setup| setup);
    let set = |program: &Running, key: u32| {
        program.cli(&format!("set table p/gpc0_integer key {key} data.gpc0 {key}"));
    };
    let have = |program: &Running, keys: &[u32]| {
        let expected: Vec<String> = keys.iter().map(|key| format!("{key} gpc0={key}")).collect();
        eventually(&format!("the entries are {keys:?}"), || {
            (entries(program, "gpc0_integer") == expected).then_some(())
        });
    };
    for (one, two) in [(&weir, &other), (&other, &weir)] {
        one.cli("clear table p/gpc0_integer");
        two.cli("clear table p/gpc0_integer");
        set(one, 1);
        have(two, &[1]);
        one.cli("clear table p/gpc0_integer key 1");
        // The next messages show that it had no effect.
        set(one, 2);
        have(two, &[1, 2]);
        have(one, &[2]);
        // A change by the other process brings the entry back.
        set(two, 1);
        have(one, &[1, 2]);
    }
}
