//! Tables that each node counts in on its own (`aggregate`), and words of later versions.

use super::wire::{RawPeer, definition, text as string, update};
use super::{addresses, setup};
use crate::support::{Running, Setup, eventually};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

/// The sixth request of the group for a path is refused, and so is the third one at a time.
const RULES: &str = "listen web\n    bind <web>\n    option abortonclose\n    \
    http-request track-sc0 path table <table>\n    \
    http-request return status 429 if { sc_http_req_cnt(0) gt 5 }\n    \
    http-request return status 503 if { sc_conn_cur(0) gt 2 }\n    \
    http-request return status 200 unless { path_beg /slow }\n    server s <origin>\n";

const STORE: &str = "type string len 32 size 1k expire 1h store \
    gpc0,http_req_cnt,http_req_rate(1h),conn_cur,gpt0";

/// A table of a backend, shared by peers of these names.
fn sections(peers: &[&str], word: &str) -> String {
    let lines = peers.iter().map(|name| format!("    peer {name} <{name}>\n"));
    let lines: String = lines.collect();
    let table = format!("backend counts\n    stick-table {STORE} peers group {word}\n");
    format!("peers group\n{lines}{}{table}", RULES.replace("<table>", "counts"))
}

fn three_addresses() -> [String; 3] {
    let free = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    free.map(|it| it.local_addr().expect("it is bound").to_string())
}

fn start(sections: &str, name: &str, addresses: &[(&str, &str)], origin: &str) -> Running {
    node(sections, name, addresses, origin).start()
}

fn node(sections: &str, name: &str, addresses: &[(&str, &str)], origin: &str) -> Setup {
    let first = [addresses[0].1.to_owned(), addresses[1].1.to_owned()];
    let mut setup = setup(sections, name, &first).with("origin", origin);
    for (name, address) in addresses {
        setup = setup.with(name, address);
    }
    setup
}

/// An address without a listener.
const NOWHERE: &str = "127.0.0.1:1";

fn lists(weir: &Running, table: &str, key: &str, values: &str) {
    eventually(&format!("{table} has {key} with {values}"), || {
        let listing = weir.cli(&format!("show table {table}"));
        let mut lines = listing.lines().filter(|line| line.contains(&format!("key={key} ")));
        lines.any(|line| line.contains(values)).then_some(())
    });
}

#[test]
fn two_processes_limit_their_clients_together() {
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let text = sections(&["A", "B"], "aggregate sum");
    let [a, b] = ["A", "B"].map(|name| start(&text, name, &addresses, NOWHERE));
    let ask = |weir: &Running| weir.web().get("/x").status();
    assert_eq!([ask(&a), ask(&a), ask(&a)], [200; 3]);
    lists(&b, "counts", "/x", "http_req_cnt=3 http_req_rate(3600000)=3");
    assert_eq!([ask(&b), ask(&b)], [200; 2]);
    lists(&a, "counts", "/x", "http_req_cnt=5 http_req_rate(3600000)=5");
    assert_eq!([ask(&a), ask(&b)], [429; 2]);
    // Each share is there to be seen, and is changed by its node alone.
    lists(&a, "counts@B", "/x", "http_req_cnt=3 ");
    lists(&b, "counts@A", "/x", "http_req_cnt=4 ");
    lists(&b, "counts", "/x", "http_req_cnt=7 ");
    let tables = a.cli("show table");
    assert!(tables.contains("# table: counts, ") && tables.contains("# table: counts@B, "));
    for command in ["set table counts@B key /x data.gpc0 1", "clear table counts@B"] {
        assert!(a.cli(command).contains("The table is the copy of another node"));
    }
    assert_eq!(a.cli("show table counts@A").trim(), "No such table");
    // Filters compare the values of all nodes.
    a.cli("set table counts key /x data.gpc0 2");
    b.cli("set table counts key /x data.gpc0 40");
    lists(&a, "counts data.gpc0 eq 42", "/x", "gpc0=42 ");
    lists(&a, "counts@B data.gpc0 eq 40", "/x", "gpc0=40 ");
    // The table also lists an entry that only another node has, and clears it.
    b.cli("set table counts key /y data.gpc0 9");
    lists(&a, "counts key /y", "/y", "gpc0=9 ");
    a.cli("clear table counts");
    assert_eq!(a.cli("show table counts").lines().count(), 1);
    b.cli("set table counts key /y data.gpc0 8");
    lists(&a, "counts", "/y", "gpc0=8 ");
}

#[test]
fn three_processes_add_up_and_one_that_starts_again_gets_its_share_back() {
    let [a, b, c] = three_addresses();
    let addresses = [("A", &*a), ("B", &*b), ("C", &*c)];
    let text = sections(&["A", "B", "C"], "aggregate sum");
    let [a, b, c] = ["A", "B", "C"].map(|name| start(&text, name, &addresses, NOWHERE));
    for (at, weir) in (1..).zip([&a, &b, &c]) {
        (0..at).for_each(|_| drop(weir.web().get("/x")));
    }
    [&a, &b, &c].into_iter().for_each(|weir| lists(weir, "counts", "/x", "http_req_cnt=6 "));
    drop(b);
    let b = start(&text, "B", &addresses, NOWHERE);
    [&a, &b, &c].into_iter().for_each(|weir| lists(weir, "counts", "/x", "http_req_cnt=6 "));
    b.web().get("/x");
    [&a, &b, &c].into_iter().for_each(|weir| lists(weir, "counts", "/x", "http_req_cnt=7 "));
    lists(&a, "counts@B", "/x", "http_req_cnt=3 ");
    // A successor continues with the share of its predecessor.
    let (mut old, pid) = (c, |weir: &Running| weir.pid().to_string());
    let replaced = ["-db", "-sf", &pid(&old)].map(str::to_owned);
    let arguments: Vec<&str> = replaced.iter().map(|it| &**it).collect();
    let c = node(&text, "C", &addresses, NOWHERE).arguments(&arguments).start();
    assert_eq!(old.wait().code(), Some(0));
    c.web().get("/x");
    [&a, &b, &c].into_iter().for_each(|weir| lists(weir, "counts", "/x", "http_req_cnt=8 "));
}

#[test]
fn connections_of_all_nodes_are_limited_together() {
    let origin = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let origin = origin.local_addr().map(|it| (it.to_string(), origin)).expect("it is bound");
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let text = sections(&["A", "B"], "aggregate sum");
    let [a, b] = ["A", "B"].map(|name| start(&text, name, &addresses, &origin.0));
    let mut clients = [a.web(), b.web()];
    clients.iter_mut().for_each(|it| it.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
    [&a, &b].into_iter().for_each(|weir| lists(weir, "counts", "/slow", "conn_cur=2 "));
    assert_eq!(a.web().get("/slow").status(), 503);
    // Both requests have reached the server, which does not answer.
    let requests = [(); 2].map(|()| {
        let (mut stream, _) = origin.1.accept().expect("a request");
        stream.read_exact(&mut [0; 4]).map(|()| stream).expect("its first bytes")
    });
    let [first, second] = clients;
    first.close();
    lists(&b, "counts", "/slow", "conn_cur=1 ");
    // The connections of a process that has gone do not count forever.
    drop(a);
    second.close();
    lists(&b, "counts", "/slow", "conn_cur=0 ");
    drop(requests);
}

#[test]
fn a_haproxy_that_sends_its_table_plainly_is_one_of_the_nodes() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let plain = sections(&["A", "B"], "");
    let text = sections(&["A", "B"], "aggregate sum");
    let theirs = || node(&plain, "A", &addresses, NOWHERE).program(haproxy).start();
    let other = theirs();
    let weir = start(&text, "B", &addresses, NOWHERE);
    (0..2).for_each(|_| drop(other.web().get("/x")));
    (0..3).for_each(|_| drop(weir.web().get("/x")));
    lists(&weir, "counts", "/x", "http_req_cnt=5 ");
    lists(&weir, "counts@A", "/x", "http_req_cnt=2 ");
    assert_eq!(weir.web().get("/x").status(), 429, "the sixth one of the group");
    lists(&other, "counts", "/x", "http_req_cnt=2 ");
    // Restarts of either program count nothing twice.
    drop(weir);
    let weir = start(&text, "B", &addresses, NOWHERE);
    lists(&weir, "counts@A", "/x", "http_req_cnt=2 ");
    weir.web().get("/y");
    lists(&weir, "counts", "/y", "http_req_cnt=1 ");
    drop(other);
    let other = theirs();
    other.web().get("/y");
    lists(&weir, "counts", "/y", "http_req_cnt=2 ");
    assert!(other.cli("show peers").contains(" proto_err=0 "));
    assert!(weir.cli("show peers").contains(" proto_err=0 "));
}

#[test]
fn a_haproxy_reads_the_share_of_a_node_in_a_table_of_its_name() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let section = |tables: &str, rules: &str| {
        let rules = RULES.replace("<table>", rules);
        format!("peers group\n    peer A <A>\n    peer B <B>\n{tables}{rules}")
    };
    // As users of HAProxy do it by hand: a table per node, each changed by that node alone.
    let tables = format!("    table t@A {STORE}\n    table t@B {STORE}\n");
    let theirs = section(&tables, "group/t@A");
    let ours = section(&format!("    table t {STORE} aggregate sum\n"), "group/t");
    let other = node(&theirs, "A", &addresses, NOWHERE).program(haproxy).start();
    let weir = start(&ours, "B", &addresses, NOWHERE);
    // HAProxy takes its own share from the lesson of a peer, as it does from another HAProxy, so it
    // counts only after the lesson.
    (0..3).for_each(|_| drop(weir.web().get("/x")));
    lists(&other, "group/t@B", "/x", "http_req_cnt=3 ");
    (0..2).for_each(|_| drop(other.web().get("/x")));
    lists(&weir, "group/t", "/x", "http_req_cnt=5 ");
    lists(&other, "group/t@A", "/x", "http_req_cnt=2 ");
}

#[test]
fn a_table_that_only_receives_shows_the_connections_of_its_peer() {
    let [a, b] = addresses();
    let origin = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = origin.local_addr().expect("it is bound").to_string();
    let addresses = [("A", &*a), ("B", &*b)];
    let text = sections(&["A", "B"], "");
    let haproxy = Path::new("/usr/sbin/haproxy");
    let other = node(&text, "A", &addresses, &at);
    let other = if haproxy.exists() { other.program(haproxy) } else { other }.start();
    let weir = start(&sections(&["A", "B"], "recv-only"), "B", &addresses, &at);
    let mut client = other.web();
    client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
    lists(&weir, "counts", "/slow", "conn_cur=1 ");
}

#[test]
fn tags_that_peers_teach_are_written_to_another_table() {
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let target = format!("backend target\n    stick-table {STORE}\n");
    let text = sections(&["A", "B"], "write-to target") + &target;
    let [a, b] = ["A", "B"].map(|name| start(&text, name, &addresses, NOWHERE));
    a.cli("set table counts key /x data.gpt0 7 data.gpc0 5");
    lists(&b, "target", "/x", "gpt0=7 gpc0=0 ");
    lists(&b, "counts", "/x", "gpt0=7 gpc0=5 ");
}

#[test]
fn a_peer_gets_the_part_of_the_keys_that_its_line_says() {
    let keys = |shards: &str, shard: &str| {
        let [a, b] = addresses();
        let addresses = [("A", &*a), ("B", &*b)];
        let text = sections(&["A", "B"], "")
            .replacen("peers group\n", &format!("peers group\n    {shards}\n"), 1)
            .replacen("<B>", &format!("<B> {shard}"), 1);
        let weir = start(&text, "A", &addresses, NOWHERE);
        (0..40).for_each(|key| drop(weir.cli(&format!("set table counts key k{key} data.gpc0 1"))));
        let lesson = RawPeer::open(&a).lesson();
        lesson.iter().filter(|said| said.class == 10 && said.kind >= 0x85).count()
    };
    let [all, first, second] = [("", ""), ("shards 2", "shard 1"), ("shards 2", "shard 2")]
        .map(|(one, two)| keys(one, two));
    assert_eq!((all, first + second), (40, 40));
    assert!(first > 5 && second > 5, "{first} and {second}");
    assert_eq!(keys("shards 2", "shard 3"), 40, "there is no such part");
}

#[test]
fn a_peer_that_speaks_for_others_changes_nothing_that_they_have_said() {
    let [a, b] = addresses();
    let addresses = [("A", &*a), ("B", &*b)];
    let text = sections(&["A", "B"], "aggregate sum");
    let weir = start(&text, "A", &addresses, NOWHERE);
    weir.web().get("/x");
    let mut peer = RawPeer::open(&a);
    let strings = (6, 33);
    let data = 1 << 2;
    for (name, key, value) in [("counts@A", "/x", 90), ("counts", "/x", 7), ("counts@Z", "/x", 50)]
    {
        peer.0.send(definition(name, strings, data, &[]));
        peer.0.send(update(1, &string(key), &[value]));
    }
    lists(&weir, "counts", "/x", "gpc0=7 ");
    lists(&weir, "counts", "/x", "http_req_cnt=1 ");
}
