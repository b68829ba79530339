//! Stick tables shared by processes: two of ours, one of ours and HAProxy, an old and a new process.

mod differential;
mod links;
mod listings;
mod nodes;
mod refusals;
mod reloads;
mod soak;
mod wire;
mod words;

use crate::support::{Running, Setup, eventually};
use std::net::TcpListener;
use std::path::Path;
use sys::signal;

/// A section of two peers, and a frontend that counts the paths that clients ask for.
const SECTIONS: &str = "peers group\n    peer A <a>\n    peer B <b>\n\
    frontend web\n    bind <web>\n    http-request track-sc0 path table counts\n    \
    http-request sc-inc-gpc0(0)\n    http-request return status 200\n\
    backend counts\n    stick-table type string len 32 size 1k expire 1h \
    store gpc0,http_req_cnt,http_req_rate(1h) peers group\n";

/// Two addresses that are free.
fn addresses() -> [String; 2] {
    let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    free.map(|it| it.local_addr().expect("it is bound").to_string())
}

fn setup(sections: &str, name: &str, [a, b]: &[String; 2]) -> Setup {
    let text = format!(
        "global\n    localpeer {name}\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout connect 5s\n    timeout client 20s\n    \
         timeout server 20s\n{sections}"
    );
    Setup::new(&text).with("a", a).with("b", b)
}

fn becomes(weir: &Running, key: &str, values: &str) {
    eventually(&format!("the entry {key} has {values}"), || {
        let listing = weir.cli("show table counts");
        let mut lines = listing.lines().filter(|line| line.contains(&format!("key={key} ")));
        lines.any(|line| line.contains(values)).then_some(())
    });
}

/// Waits until the changes of one process have reached the other. The updates of a process go in
/// rounds, and the second entry is in a later round than all that was there before the first one.
fn pass_changes(from: &Running, to: &Running) {
    for key in ["/mark1", "/mark2"] {
        from.cli(&format!("set table counts key {key} data.gpc0 1"));
        becomes(to, key, "gpc0=1");
    }
}

#[test]
fn two_processes_share_a_table_both_ways() {
    let addresses = addresses();
    let [a, b] = ["A", "B"].map(|name| setup(SECTIONS, name, &addresses).start());
    a.web().get("/first");
    becomes(&b, "/first", "gpc0=1 http_req_cnt=1 http_req_rate(3600000)=1");
    // The end of the request is a change as well: it renews the entry.
    becomes(&a, "/first", "use=0");
    pass_changes(&a, &b);
    b.web().get("/first");
    becomes(&a, "/first", "gpc0=2 http_req_cnt=2 http_req_rate(3600000)=2");
    a.cli("set table counts key /second data.gpc0 7");
    becomes(&b, "/second", "gpc0=7 http_req_cnt=0 ");
}

#[test]
fn a_process_that_comes_later_learns_everything() {
    let addresses = addresses();
    let a = setup(SECTIONS, "A", &addresses).start();
    let keys = || (0..300).map(|number| format!("/key{number}"));
    let mut client = a.web();
    keys().for_each(|key| assert_eq!(client.get(&key).status(), 200));
    let b = setup(SECTIONS, "B", &addresses).start();
    keys().for_each(|key| becomes(&b, &key, "gpc0=1 http_req_cnt=1 "));
}

#[test]
fn tables_are_shared_with_haproxy() {
    let haproxy = Path::new("/usr/sbin/haproxy");
    if !haproxy.exists() {
        return;
    }
    let addresses = addresses();
    let other = setup(SECTIONS, "A", &addresses).program(haproxy).start();
    let weir = setup(SECTIONS, "B", &addresses).start();
    weir.web().get("/ours");
    becomes(&other, "/ours", "gpc0=1 http_req_cnt=1 ");
    other.web().get("/theirs");
    becomes(&weir, "/theirs", "gpc0=1 http_req_cnt=1 ");
}

#[test]
fn an_old_process_teaches_its_successor_and_ends() {
    let addresses = addresses();
    let mut old = setup(SECTIONS, "A", &addresses).start();
    old.web().get("/kept");
    becomes(&old, "/kept", "gpc0=1 ");
    let pid = old.pid().to_string();
    let new = setup(SECTIONS, "A", &addresses).arguments(&["-db", "-sf", &pid]).start();
    becomes(&new, "/kept", "gpc0=1 http_req_cnt=1 ");
    assert_eq!(old.wait().code(), Some(0));
}

#[test]
fn a_process_that_stops_without_a_successor_does_not_wait_for_one() {
    let mut weir = setup(SECTIONS, "A", &addresses()).start();
    weir.cli("show info");
    weir.signal(signal::USR1);
    assert_eq!(weir.wait().code(), Some(0));
}

#[test]
fn tables_of_disabled_sections_are_not_shared() {
    let addresses = addresses();
    let disabled = SECTIONS.replacen("peers group\n", "peers group\n    disabled\n", 1);
    let weir = setup(&disabled, "A", &addresses).start();
    weir.web().get("/own");
    becomes(&weir, "/own", "gpc0=1 ");
    // The port is free.
    TcpListener::bind(&addresses[0]).expect("nothing listens there");
}
