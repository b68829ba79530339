//! The size of what the page asks for every second.

use super::start;
use crate::support::{Client, Message, Running, eventually};

const MOST: usize = 100_000;

fn figures(client: &mut Client, since: &str) -> Message {
    let target = format!("/stats/ui/figures?since={since}");
    client.ask(format!("GET {target} HTTP/1.1\r\nHost: t\r\nAccept-Encoding: gzip\r\n\r\n"))
}

fn stamp(text: &str) -> String {
    let rest = text.split_once("\"stamp\":\"").expect("a stamp").1;
    rest.split('"').next().expect("its end").to_owned()
}

fn text(message: &Message) -> String {
    assert_eq!(message.header("content-encoding"), Some("gzip"));
    let bytes = crate::support::decoded("gzip", &message.body);
    String::from_utf8(bytes).expect("JSON")
}

/// A request to each server.
fn touch(weir: &Running) {
    let mut client = weir.web();
    (0..1_000).for_each(|_| assert_eq!(client.get("/").status(), 200));
}

#[test]
fn updates_of_a_thousand_servers_are_small() {
    let (weir, _origin) = start("", "    server-template server- 1-1000 <origin>");
    let mut client = weir.web();
    touch(&weir);
    let full = figures(&mut client, "");
    let first = text(&full);
    assert!(first.contains("\"full\":true") && first.contains("\"count\":1002"), "{first}");
    assert!(full.body.len() < MOST, "{} bytes", full.body.len());
    touch(&weir);
    let busy = figures(&mut client, &stamp(&first));
    let second = text(&busy);
    assert!(second.contains("\"full\":false"), "{second}");
    assert!(second.matches("\"server-").count() >= 1_000, "all servers have changed");
    assert!(busy.body.len() < MOST, "{} bytes", busy.body.len());
    // Percentiles change a last time when no value follows.
    let mut known = stamp(&second);
    let quiet = eventually("an update without changes", || {
        let update = figures(&mut client, &known);
        known = stamp(&text(&update));
        (update.body.len() < 2_000).then_some(update)
    });
    println!(
        "{} bytes at first, {} busy, {} at rest; {} without coding",
        full.body.len(),
        busy.body.len(),
        quiet.body.len(),
        second.len()
    );
}
