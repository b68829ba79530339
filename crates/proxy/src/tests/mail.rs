//! Tests of mails: the lines that a mailer receives, and faults of a mailer.

use balance::CheckStatus;
use engine::state::mail_queue::{CAPACITY, Outbox};
use observability::logging::mail::*;
use proptest::prelude::*;
use settings::Mail;
use settings::{Mode, ProxySection as Settings};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use testing::World;

/// A mailer that sends `answers` in turn, each after a line, or after the dot behind `DATA`. The
/// channel yields the lines that it received, one connection at a time.
fn mailer(answers: &'static [&'static str]) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            converse(stream.unwrap(), answers, &told);
        }
    });
    (address, heard)
}

fn converse(mut stream: std::net::TcpStream, answers: &[&str], told: &Sender<String>) {
    stream.set_read_timeout(Some(testing::PATIENCE)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut text = String::new();
    let mut data = false;
    for answer in answers {
        if stream.write_all(answer.as_bytes()).is_err() {
            break;
        }
        while let Some(Ok(line)) = lines.next() {
            text.push_str(&line);
            text.push('\n');
            if !data || line == "." {
                data = line == "DATA";
                break;
            }
        }
    }
    let _ = told.send(text);
}

const POLITE: &[&str] = &[
    "220-hello\r\n220 there\r\n",
    "250-me\r\n250 you\r\n",
    "250 ok\r\n",
    "250 ok\r\n",
    "354 go\r\n",
    "250 ok\r\n",
    "221 bye\r\n",
];

/// A checked server at an address without a listener, and mailers.
fn world(level: u8, mailers: Vec<SocketAddr>, change: impl FnOnce(&mut Settings)) -> World {
    let mut server = testing::server(1, testing::nobody());
    (server.balance.checked, server.balance.intervals.inter) = (true, 20);
    let mut proxy = testing::backend("be", Mode::Http, vec![server]);
    proxy.mail = Some(Mail {
        from: "a@b.example".into(),
        to: "c@d.example".into(),
        hostname: "me.example".into(),
        level,
        timeout_ms: 2_000,
        mailers,
    });
    change(&mut proxy);
    World::new(vec![proxy])
}

fn conversation(world: &World, heard: &Receiver<String>) -> String {
    let mut found = None;
    world.until("a mailer has heard something", || {
        found = found.take().or_else(|| heard.try_recv().ok());
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn mails_on_servers_that_go_down_have_the_manuals_text() {
    let (address, heard) = mailer(POLITE);
    let world = world(1, vec![address], |_| {});
    let text = conversation(&world, &heard);
    let (envelope, letter) = text.split_once("DATA\n").unwrap();
    let expected = "HELO me.example\nMAIL FROM:<a@b.example>\nRCPT TO:<c@d.example>\n";
    assert_eq!(envelope, expected);
    let (head, body) = letter.split_once("\n\n").unwrap();
    let head: Vec<&str> = head.lines().collect();
    assert_eq!(head[..2], ["From: a@b.example", "To: c@d.example"]);
    assert!(head[2].starts_with("Date: ") && head[2].contains(", "), "{}", head[2]);
    let (said, end) = body.split_once('\n').unwrap();
    assert_eq!(head[3], format!("Subject: [HAProxy Alert] {said}"));
    let down =
        "Server be/s1 is DOWN, reason: Layer4 connection problem, info: \"Connection refused\"";
    assert!(said.starts_with(down), "{said}");
    assert!(said.ends_with("0 remaining in queue"), "{said}");
    assert_eq!(end, "\n.\nQUIT\n");
}

#[test]
fn results_of_checks_are_mailed_at_the_level_of_information() {
    for (level, first) in [(6, "Health check for server be/s1 failed"), (5, "Server be/s1 is DOWN")]
    {
        let (address, heard) = mailer(POLITE);
        let world = world(level, vec![address], |proxy| {
            proxy.back.as_mut().unwrap().log_checks = true;
        });
        let text = conversation(&world, &heard);
        assert!(text.contains(&format!("Subject: [HAProxy Alert] {first}")), "{level}: {text}");
    }
}

#[test]
fn levels_keep_mails_back() {
    let (address, heard) = mailer(POLITE);
    let world = world(0, vec![address], |_| {});
    world.line("has no server available");
    let last = world.backend("be").servers[0].state.check_record().last.status;
    assert_eq!(last, CheckStatus::L4Connection);
    (0..20).for_each(|_| world.turn());
    assert!(heard.try_recv().is_err(), "an alert is no emergency");
}

#[test]
fn a_mailer_that_refuses_or_is_silent_does_not_keep_the_others_from_theirs() {
    let (refusing, refused) = mailer(&["220 hi\r\n", "250 ok\r\n", "250 ok\r\n", "550 no\r\n"]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (polite, heard) = mailer(POLITE);
    let mailers = vec![testing::nobody(), silent.local_addr().unwrap(), refusing, polite];
    let world = world(1, mailers, |_| {});
    assert!(conversation(&world, &heard).ends_with("QUIT\n"));
    let text = conversation(&world, &refused);
    assert!(text.ends_with("RCPT TO:<c@d.example>\n"), "{text}");
    // The proxy leaves the silent mailer after its timeout.
    let outboxes = &world.shared.proxies[0].outboxes;
    let tended = |outbox: &Outbox| outbox.0.lock().tended;
    world.until("all have been left", || !outboxes.iter().any(tended));
}

#[test]
fn a_queue_is_bounded() {
    let outbox = Outbox::default();
    let text: Arc<str> = "x".into();
    let begins: Vec<bool> = (0..CAPACITY + 5).map(|_| outbox.put(&text)).collect();
    assert_eq!(begins.iter().filter(|begins| **begins).count(), 1);
    assert_eq!(std::iter::from_fn(|| outbox.take()).count(), CAPACITY);
    assert!(outbox.put(&text), "whoever took the last one has gone");
}

proptest! {
    #[test]
    fn replies_are_whole_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let code = reply(&bytes);
        prop_assert_eq!(code.is_some_and(|code| code.len() > 3), false);
        prop_assert!(reply(&[b"250-x\r\n250", &bytes[..0]].concat()).is_none());
        prop_assert_eq!(reply(b"250-x\r\n250 y\r\nz"), Some(&b"250"[..]));
    }
}
