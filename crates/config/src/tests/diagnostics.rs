//! Rendered diagnostics: lines in HAProxy's shape, columns, carets, suggestions.
use super::*;
use crate::render::{Style, report};

const FIVE: &str = "global
    maxcon 10

defaults
    mode http
    timeout client 1s
    timeout connect 5x

frontend fe
    bind *:8000 foo
    default_backend nope

backend be
    server s1 127.0.0.1:80 chek
";

#[test]
fn five_errors_in_different_sections_are_exactly_these_five() {
    let loaded = loaded(FIVE);
    let found: Vec<(u32, u32, u32, Option<&str>)> = loaded
        .diagnostics
        .of(Severity::Alert)
        .map(|d| (d.place.as_ref().unwrap().line, d.column, d.len, d.suggestion.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (2, 5, 6, Some("maxconn")),
            (7, 22, 1, None),
            (10, 17, 3, None),
            (14, 28, 4, Some("check")),
            (11, 21, 4, None),
        ]
    );
}

#[test]
fn plain_text_has_the_line_of_haproxy_first_and_a_caret() {
    let loaded = loaded(FIVE);
    let text = report(&loaded.diagnostics, 123, Style::Plain, false);
    let expected = "\
[ALERT]    (123) : config : parsing [a.cfg:2] : unknown keyword 'maxcon' in 'global' section; did you mean 'maxconn' maybe ?
  maxcon 10
  ^^^^^^
[ALERT]    (123) : config : parsing [a.cfg:7] : unexpected character 'x' in 'timeout connect'
  timeout connect 5x
                   ^
[ALERT]    (123) : config : parsing [a.cfg:10] : 'bind *:8000' : unknown keyword 'foo'
  bind *:8000 foo
              ^^^
[ALERT]    (123) : config : parsing [a.cfg:14] : 'server be/s1' : unknown keyword 'chek'; did you mean 'check' maybe ?
  server s1 127.0.0.1:80 chek
                         ^^^^
";
    assert!(text.starts_with(expected), "{text}");
    assert!(!text.contains("WARNING"), "advice waits until all errors are gone\n{text}");
    assert!(text.ends_with(
        "[ALERT]    (123) : config : Error(s) found in configuration file : a.cfg\n[ALERT]    (123) : config : Fatal errors found in configuration.\n"
    ));
}

#[test]
fn the_caret_follows_expansion_quotes_and_tabs() {
    for (line, caret) in [
        (
            "\tserver s \"127.0.0.1:$PORT\" chek",
            "  server s \"127.0.0.1:$PORT\" chek\n                             ^^^^\n",
        ),
        (" bind :1,\":$PORT\"-", "  bind :1,\":$PORT\"-\n           ^^^^^^^^\n"),
        (" timeout client \"5\"\\x78", "  timeout client \"5\"\\x78\n                    ^^^^\n"),
        (" bind", "  bind\n      ^\n"),
        (" bind \"$1\"", "  bind \"$1\"\n         ^\n"),
        (" description é \"", "  description é \"\n                ^\n"),
    ] {
        let loaded = loaded(&format!("listen l\n{line}\n"));
        let mut only = crate::diag::Diagnostics::default();
        only.push(loaded.diagnostics.of(Severity::Alert).next().unwrap().clone());
        let text = report(&only, 1, Style::Plain, false);
        assert!(text.contains(caret), "{line}\n{text}");
    }
}

#[test]
fn long_lines_are_shown_around_the_caret() {
    let text = format!("global\n description {} \"\n", "x".repeat(5000));
    let shown = report(&loaded(&text).diagnostics, 1, Style::Plain, false);
    assert!(shown.lines().all(|line| line.chars().count() < 200), "{shown}");
    let (mark, line) = (shown.lines().nth(2).unwrap(), shown.lines().nth(1).unwrap());
    assert_eq!(line.as_bytes()[mark.find('^').unwrap()], b'"');
}

#[test]
fn control_characters_are_not_sent_to_the_terminal() {
    let shown = report(&loaded("global\n \x1b[2J\n").diagnostics, 1, Style::Plain, false);
    assert!(!shown.contains('\x1b'), "{shown}");
}

#[test]
fn pretty_text_shows_place_line_and_proposal() {
    let loaded = loaded("global\n maxcon 10\n");
    let text = report(&loaded.diagnostics, 1, Style::Pretty, false);
    for part in ["a.cfg:2:2", "maxcon 10", "did you mean 'maxconn'?", "\x1b["] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn diag_messages_are_shown_in_diagnostic_mode_only() {
    let loaded = loaded(".diag hello\n");
    assert!(report(&loaded.diagnostics, 1, Style::Plain, false).is_empty());
    let shown = report(&loaded.diagnostics, 1, Style::Plain, true);
    assert!(shown.starts_with("[DIAG]     (1) : config : parsing [a.cfg:1] : 'hello'.\n"));
}

#[test]
fn a_last_line_without_line_feed_is_told_once_all_else_is() {
    let alerts = messages("global\n maxconn 3", Severity::Alert);
    assert_eq!(alerts, ["Missing LF on last line, file might have been truncated at position 11."]);
}

/// The names that a wrong line was to define are not reported as missing everywhere.
#[test]
fn a_mistake_is_told_once() {
    for lines in [
        " acl a nosuch x\n http-request deny if a\n redirect prefix / if !a",
        " server s 127.0.0.1:1 nosuch\n http-request set-header x %[srv_conn(s)]\n \
         use-server s if TRUE\n server t 127.0.0.1:2 track s",
        " stick-table type ipx size 1k\n http-request track-sc0 src",
        " declare capture request len 0\n http-request capture path id 0",
        " http-request deny if { http_auth(u) }\nuserlist u\n user a passwrd x\n group g users a",
        " http-request deny if { http_auth(u) }\nuserlist u v\n user a insecure-password x",
        "\nresolvers r\n nameserver n 127.0.0.1",
        " use_backend b!x\nbackend b!x\n server s 127.0.0.1:1",
        "\ndefaults d\n mode http\nfrontend f from d\nfrontend g from e\n",
    ] {
        let text = listen(lines);
        let said = [Severity::Alert, Severity::Warning].map(|severity| messages(&text, severity));
        let said: Vec<_> = said.concat().into_iter().filter(|it| !it.contains("timeout")).collect();
        assert_eq!(said.len(), 1, "{said:#?}\n{text}");
    }
}

#[test]
fn words_of_later_versions_are_called_that() {
    for (text, shown) in [
        ("global\n stress-level 5\n", "stress-level"),
        ("listen l\n bind :1 nice 5 label x\n", "label"),
        (
            "listen l\n bind :1\n server s 1.1.1.1:1 check-pool-conn-name x\n",
            "check-pool-conn-name",
        ),
        ("log-profile p\n", "log-profile"),
        ("global\ncrt-store s\n", "crt-store"),
        ("listen l\n bind :1\ncrt-store s\n", "crt-store"),
        ("ring r\n size 16384\ntraces\n", "traces"),
    ] {
        let loaded = loaded(text);
        let alert = loaded.diagnostics.of(Severity::Alert).next().expect("an alert");
        let expected = format!("'{shown}' is a keyword of later versions: HAProxy 3.");
        assert!(alert.message.contains(&expected), "{text}: {}", alert.message);
        assert!(alert.message.contains(", Weir not yet"), "{text}: {}", alert.message);
        assert_eq!(alert.suggestion, None, "{text}");
    }
}

#[test]
fn nothing_is_said_of_unused_backends_if_a_line_could_not_be_read() {
    let text = "listen l\n mode http\n bind :1\n timeout client 1s\n use_backend %[path,map(/nonexistent)]\nbackend b\n";
    let loaded = loaded(text);
    let said: Vec<&str> = loaded.diagnostics.iter().map(|it| &*it.message).collect();
    assert!(said.iter().any(|it| it.contains("failed to open pattern file")), "{said:?}");
    assert!(!said.iter().any(|it| it.contains("is used by nobody")), "{said:?}");
}

#[test]
fn a_line_that_is_not_understood_is_explained_by_what_another_program_left_in_it() {
    for (text, at, explanation) in [
        ("global\n maxconn\u{a0}100\n", 9, "no-break space"),
        ("global\n maxconn \u{201c}100\u{201d}\n", 10, "quotation mark"),
        ("\u{3c}<<<<<< HEAD\nglobal\n", 1, "merge conflict"),
        ("global\n log /dev/log local0 \\\n", 22, "does not continue"),
    ] {
        let loaded = loaded(text);
        let notice = loaded.diagnostics.of(Severity::Notice).next();
        let notice = notice.unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
        assert!(notice.message.contains(explanation), "{text}: {}", notice.message);
        assert_eq!(notice.column, at, "{text}");
    }
    let text = "listen l\n mode http\n bind :1\n http-request return content-type text/plain string \u{201c}x\u{201d}\n";
    let loaded = loaded(text);
    let notices: Vec<&str> =
        loaded.diagnostics.of(Severity::Notice).map(|it| &*it.message).collect();
    assert!(!notices.iter().any(|it| it.contains("quotation mark")), "{notices:?}");
    assert_eq!(notices, [""; 0]);
}

#[test]
fn a_variable_that_was_not_expanded_is_explained() {
    let loaded = loaded("listen l\n bind :1 ssl crt ${NOWHERE}/a.pem\n");
    let alert = loaded.diagnostics.of(Severity::Alert).next().expect("an alert");
    assert!(
        alert.message.ends_with("(variables are expanded between double quotes alone)."),
        "{}",
        alert.message
    );
}
