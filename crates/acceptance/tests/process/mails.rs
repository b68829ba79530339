//! Mails about servers, as a scripted mailer receives them.

use crate::support::{Origin, Setup, eventually, pass};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A mailer that accepts everything, and the text that it has received.
fn mailer() -> (Origin, Arc<Mutex<String>>) {
    let heard = Arc::new(Mutex::new(String::new()));
    let shared = heard.clone();
    let origin = Origin::new(move |mut peer| {
        peer.send("220 ready\r\n");
        let mut data = false;
        while let Some(line) = peer.client.try_line() {
            shared.lock().expect("nothing panics with it").push_str(&format!("{line}\n"));
            data = match line.as_str() {
                "DATA" => {
                    peer.send("354 go on\r\n");
                    true
                }
                _ if data && line != "." => continue,
                "QUIT" => {
                    peer.send("221 bye\r\n");
                    false
                }
                _ => {
                    peer.send("250 fine\r\n");
                    false
                }
            };
        }
    });
    (origin, heard)
}

fn text(alert: &str, server: &str) -> String {
    format!(
        "global\n nbthread 2\n stats socket <dir>/cli level admin\n\
         mailers office\n timeout mail 3s\n mailer one <one>\n mailer two <two>\n\
         defaults\n timeout connect 1s\n timeout server 1s\n timeout client 1s\n\
         backend b\n email-alert mailers office\n email-alert from weir@example.org\n \
         email-alert to root@example.org\n{alert} server s {server}\n"
    )
}

#[test]
fn each_mailer_of_the_section_gets_each_mail() {
    let ((one, first), (two, second)) = (mailer(), mailer());
    let alert = " email-alert level notice\n email-alert myhostname balancer.example.org\n";
    let weir = Setup::new(&text(alert, "127.0.0.1:1 check inter 50ms"))
        .with("one", one.address())
        .with("two", two.address())
        .start();
    let wait_for = |what: &str| {
        for heard in [&first, &second] {
            eventually(what, || heard.lock().unwrap().contains(what).then_some(()));
        }
    };
    wait_for("Subject: [HAProxy Alert] Server b/s is DOWN, reason: Layer4 connection problem");
    let heard = first.lock().unwrap().clone();
    let envelope = "HELO balancer.example.org\nMAIL FROM:<weir@example.org>\n\
                    RCPT TO:<root@example.org>\nDATA\nFrom: weir@example.org\n\
                    To: root@example.org\nDate: ";
    assert!(heard.starts_with(envelope), "{heard}");
    weir.cli("disable health b/s");
    weir.cli("set server b/s health up");
    wait_for("Subject: [HAProxy Alert] Server b/s is UP, changed from CLI");
    weir.cli("set server b/s state drain");
    wait_for("Subject: [HAProxy Alert] Server b/s enters drain state");
}

#[test]
fn mails_of_the_default_level_report_only_servers_that_go_down() {
    let (one, heard) = mailer();
    let weir = Setup::new(&text("", "127.0.0.1:1"))
        .with("one", one.address())
        .with("two", "127.0.0.1:1")
        .start();
    weir.cli("set server b/s state drain");
    weir.cli("set server b/s state ready");
    weir.cli("set server b/s health down");
    let down = "[HAProxy Alert] Server b/s is DOWN, changed from CLI";
    eventually(down, || heard.lock().unwrap().contains(down).then_some(()));
    assert!(!heard.lock().unwrap().contains("drain"));
}

#[test]
fn a_silent_mailer_is_left_after_the_timeout() {
    let silent =
        Origin::new(|mut peer| assert!(peer.client.try_line().is_none(), "nothing to say"));
    let setup = Setup::new(&text("", "127.0.0.1:1").replace("3s", "100ms"));
    let weir = setup.with("one", silent.address()).with("two", "127.0.0.1:1").start();
    for number in 1..=3 {
        weir.cli("set server b/s health down");
        weir.cli("set server b/s health up");
        // The mails are sent one after the other, over a connection each.
        eventually("the next mail", || (silent.connections() >= number).then_some(()));
    }
    pass(Duration::from_millis(100));
}
