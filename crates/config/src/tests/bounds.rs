//! Bounds and arbitrary input: nothing panics, nothing grows without limit.
use super::*;
use proptest::prelude::*;

#[test]
fn twenty_thousand_backends_load() {
    let mut text = String::from("defaults\n mode http\n timeout connect 1s\n timeout server 1s\n");
    for i in 0..20_000 {
        text.push_str(&format!(
            "backend b{i}\n server s1 10.0.0.1:80 check\n server s2 10.0.0.2:80 check\n"
        ));
    }
    let model = model(&text);
    assert_eq!(model.proxies.len(), 20_000);
    assert_eq!(model.proxies[19_999].id, 20_000);
}

#[test]
fn error_replies_leave_room_in_a_buffer() {
    let long = "errorfile : custom message file '/15k.http' too long.";
    for (tune, alerts) in [
        ("", 0),
        (" tune.bufsize 15500\n", 2),
        (" tune.maxrewrite 2048\n", 2),
        (" tune.bufsize 32768\n tune.maxrewrite 2048\n", 0),
    ] {
        // The lines of `global` count wherever the section is.
        let lines = format!(
            "{} errorfile 503 /15k.http\nhttp-errors x\n errorfile 503 /15k.http\nglobal\n{tune}",
            listen("")
        );
        assert_eq!(messages(&lines, Severity::Alert), vec![long; alerts], "{tune}");
    }
}

#[test]
fn blocks_nest_to_a_bound() {
    let deep = format!("{}{}", ".if 1\n".repeat(2000), ".endif\n".repeat(2000));
    let alerts = messages(&deep, Severity::Alert);
    assert!(alerts[0].starts_with("too many nested '.if'"));
    let deep = format!("{}.notice x\n{}", ".if 1\n".repeat(100), ".endif\n".repeat(100));
    assert!(messages(&deep, Severity::Alert).is_empty());
}

#[test]
fn messages_are_bounded() {
    let loaded = loaded(&format!("global\n{}", " x\n".repeat(20_000)));
    assert_eq!(loaded.diagnostics.iter().count(), 10_000);
    assert_eq!(loaded.diagnostics.dropped(), 10_000);
    assert!(loaded.model.is_none());
}

/// Lines made of words that parsers know, in senseless orders.
fn plausible() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "global",
        "defaults",
        "frontend",
        "backend",
        "listen",
        "bind",
        "server",
        "option",
        "log",
        "stats",
        "timeout",
        "cookie",
        "balance",
        "http-check",
        "expect",
        "send",
        "status",
        "!",
        "default-server",
        "errorfile",
        "errorloc",
        "no",
        "default",
        "from",
        "x",
        "1",
        "-1",
        "0",
        "99999999999",
        "5s",
        ":80",
        ":1-9",
        "1.2.3.4:80",
        "/x",
        "fd@",
        "fd@3",
        "unix@",
        "\"\"",
        "\"${X[*]}\"",
        "'",
        "\\",
        "socket",
        "level",
        "check",
        "inter",
        "weight",
        "id",
        "thread",
        "1/",
        "all",
        "hash-type",
        "consistent",
        "cpu-map",
        "auto:",
        "setenv",
        "resetenv",
        "forwardfor",
        "except",
        "::/0",
        "httpchk",
        "httplog",
        "clf",
        ".if",
        ".elif",
        ".else",
        ".endif",
        ".alert",
        "streq(",
        ")",
        "sample",
        "1-2:3",
        "é",
        "disabled",
        "mode",
        "tcp",
    ]);
    let line = prop::collection::vec(words, 0..8).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..20).prop_map(|lines| lines.join("\n") + "\n")
}

proptest! {
    #[test]
    fn no_text_panics(text in "(\\PC|\n){0,200}") {
        let loaded = loaded(&text);
        let _ = crate::render::report(&loaded.diagnostics, 1, crate::render::Style::Plain, true);
    }

    #[test]
    fn no_plausible_text_panics(text in plausible()) {
        let loaded = loaded(&text);
        prop_assert_eq!(loaded.model.is_none(), loaded.diagnostics.failed());
        for style in [crate::render::Style::Plain, crate::render::Style::Pretty] {
            let _ = crate::render::report(&loaded.diagnostics, 1, style, true);
        }
    }
}
