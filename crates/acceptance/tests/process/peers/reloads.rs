//! Reloads: the old process teaches the new one.

use super::{SECTIONS, addresses, becomes, setup};
use crate::support::master::Master;

/// Waits for the entry in the worker that serves.
fn worker_has(master: &Master, key: &str, values: &str) {
    crate::support::eventually(&format!("the worker's entry {key} has {values}"), || {
        let listing = master.cli("@1 show table counts");
        let mut lines = listing.lines().filter(|line| line.contains(&format!("key={key} ")));
        lines.any(|line| line.contains(values)).then_some(())
    });
}

#[test]
fn entries_outlive_the_reloads_of_a_master() {
    let addresses = addresses();
    let master = Master::start(setup(SECTIONS, "A", &addresses), &["-W"]);
    let other = setup(SECTIONS, "B", &addresses).start();
    for round in 1..=5 {
        master.running.web().get("/kept");
        let values = format!("gpc0={round} http_req_cnt={round} http_req_rate(3600000)={round}");
        worker_has(&master, "/kept", &values);
        assert_eq!(master.cli("reload"), "Loading success.");
        master.settled();
        worker_has(&master, "/kept", &values);
    }
    becomes(&other, "/kept", "gpc0=5 http_req_cnt=5 ");
}

#[test]
fn entries_outlive_a_reload_without_other_peers() {
    let sections = SECTIONS.replace("    peer B <b>\n", "");
    let addresses = addresses();
    let master = Master::start(setup(&sections, "A", &addresses), &["-W"]);
    let mut client = master.running.web();
    (0..1_000).for_each(|key| drop(client.get(&format!("/{key}"))));
    assert_eq!(master.cli("reload"), "Loading success.");
    drop(client);
    master.settled();
    for key in (0..1_000).step_by(97) {
        worker_has(&master, &format!("/{key}"), "gpc0=1 http_req_cnt=1 ");
    }
}
