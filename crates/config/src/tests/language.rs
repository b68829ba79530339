//! ACLs, rules, formats and captures inside a configuration: where they land and where errors point.
use super::*;
use crate::diag::Diagnostics;

const TIMES: &str =
    "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

#[test]
fn rules_land_in_their_sets_in_order() {
    let mut model = model(&listen(concat!(
        " acl api path_beg /api\n acl api path_beg /v2\n",
        " tcp-request connection accept\n tcp-request session accept\n",
        " tcp-request inspect-delay 5s\n tcp-request content accept if HTTP\n",
        " http-request deny if api\n http-request set-header x-a \"%[src] %[path]\" unless api\n",
        " redirect location /x if { path /y }\n use_backend b if api or { method POST }\n",
        " use_backend %[path]\n default_backend b\n tcp-response inspect-delay 1s\n tcp-response content accept\n",
        " http-response del-header server\n http-after-response set-header via weir\nbackend b\n"
    )));
    let p = model.proxies.remove(0);
    let counts: Vec<usize> = p.rules.sets().iter().map(|set| set.rules().len()).collect();
    assert_eq!(counts, [0, 1, 1, 1, 1, 2, 1, 1, 1, 0]);
    assert_eq!(p.rules.switching.len(), 2);
    assert_eq!((p.rules.switching[0].backend, p.rules.switching[1].backend), (Some(1), None));
    assert_eq!(p.front.unwrap().settings.default_backend, Some(1));
    assert_eq!(p.common.timeouts.request_inspection, Some(5000));
    assert_eq!(p.common.timeouts.response_inspection, Some(1000));
    assert_eq!(p.rules.http_request.rules()[1].place(), ("a.cfg", 15));
}

#[test]
fn errors_point_at_the_word() {
    for (line, column, part) in [
        (" acl a b", 8, "unknown fetch"),
        (" acl a path -m foo x", 16, "foo"),
        (" acl 'a b' path", 8, "character ' ' is not permitted in acl name 'a b'"),
        (" http-request foo", 15, "foo"),
        (" http-request deny if y", 23, "no such ACL : 'y'"),
        (" http-request deny deny_status 1", 32, "1"),
        (" http-request set-header a \"%[foo]\"", 31, "foo"),
        (" use_backend l foo", 16, "foo"),
        (" use_backend l", 14, "Proxy 'l': loop detected for use_backend: 'l'."),
        (" default_backend l", 18, "Proxy 'l': loop detected for default_backend: 'l'."),
        (" use_backend nope", 14, "unable to find required use_backend: 'nope'"),
        (" redirect location / code 3", 27, "'code'"),
        (" log-format \"%[foo]\"\n log /x local0", 16, "foo"),
        (" tcp-request foo", 14, "got 'foo'"),
        (" tcp-request inspect-delay", 27, "expects a positive delay"),
        (" capture request foo", 18, "expects 'header'"),
        (" capture foo", 10, "'cookie' or 'request header'"),
        (" declare capture request len y", 30, "expects an integer"),
        (" declare capture len 4", 18, "requires a direction"),
    ] {
        let loaded = loaded(&listen(line));
        let alerts: Vec<&Diagnostic> = loaded.diagnostics.of(Severity::Alert).collect();
        assert_eq!(alerts.len(), 1, "{line}\n{alerts:#?}");
        assert!(alerts[0].message.contains(part), "{line}\n{alerts:#?}");
        assert_eq!(alerts[0].column, column, "{line}\n{alerts:#?}");
    }
}

#[test]
fn places_follow_the_section() {
    let line = "http-request set-header a %[be_name]";
    let text = |section: &str| format!("{TIMES}{section}\n {line}\n");
    assert!(messages(&text("frontend f\n bind :1"), Severity::Alert)[0].contains("be_name"));
    assert!(messages(&text("backend b"), Severity::Alert).is_empty());
    assert!(messages(&text("listen l\n bind :1"), Severity::Alert).is_empty());
}

#[test]
fn one_pattern_file_is_read_for_all_users() {
    let p = only(&listen(" acl a path -f /paths.lst\n acl b path_beg -f /paths.lst\n"));
    assert!(p.rules.is_empty());
    let alerts = messages(&listen(" acl a path -f /none.lst"), Severity::Alert);
    assert_eq!(alerts.len(), 1);
}

#[test]
fn rules_that_run_earlier_than_they_stand_are_told() {
    let text = listen(" use_backend %[path]\n http-request allow\n tcp-request content accept");
    assert_eq!(
        messages(&text, Severity::Warning),
        [
            "a 'http-request' rule placed after a 'use_backend' rule will still be processed before.",
            "a 'tcp-request' rule placed after an 'http-request' rule will still be processed before.",
        ]
    );
    let text = listen(" http-request allow\n tcp-request content accept");
    let told =
        "a 'tcp-request' rule placed after an 'http-request' rule will still be processed before.";
    assert_eq!(messages(&text, Severity::Warning), [told]);
}

/// Of all rule sets that run later, the warning names the next one, as HAProxy's does.
#[test]
fn rules_are_told_of_those_that_run_next() {
    let lines = [
        "server s 127.0.0.1:80",
        "use-server s if TRUE",
        "use_backend b if TRUE",
        "redirect prefix / if TRUE",
        "http-response deny if FALSE",
        "http-request deny if TRUE",
        "monitor fail if TRUE",
        "tcp-request content accept if TRUE",
        "tcp-request session accept if TRUE",
        "tcp-request connection accept if TRUE",
    ];
    let text = listen(&lines.map(|line| format!(" {line}")).join("\n"));
    let told = |rule: &str, later: &str| {
        format!("a '{rule}' rule placed after {later} rule will still be processed before.")
    };
    let expected = [
        told("redirect", "a 'use_backend'"),
        told("http-request", "a 'redirect'"),
        told("monitor fail", "an 'http-request'"),
        told("tcp-request", "a 'monitor fail'"),
        told("tcp-request", "a 'tcp-request content'"),
        told("tcp-request", "a 'tcp-request session'"),
    ];
    let text = format!("{text}backend b\n server s 127.0.0.1:80\n");
    assert_eq!(messages(&text, Severity::Warning), expected);
    let text = listen(" server s 127.0.0.1:80\n use-server s if TRUE\n monitor fail if TRUE");
    assert_eq!(messages(&text, Severity::Warning), [told("monitor fail", "a 'use-server'")]);
}

#[test]
fn http_rules_do_nothing_in_tcp_mode() {
    let loaded = loaded(&listen(" mode tcp\n http-request deny\n redirect location /x\n"));
    let warnings: Vec<&str> =
        loaded.diagnostics.of(Severity::Warning).map(|d| d.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "'http-request' rules ignored for proxy 'l' as they require HTTP mode.",
            "'redirect' rules ignored for proxy 'l' as they require HTTP mode.",
        ]
    );
    assert!(loaded.model.unwrap().proxies[0].rules.is_empty());
}

#[test]
fn http_rules_stay_where_the_mode_may_switch() {
    let text = listen(
        " mode tcp\n tcp-request content switch-mode http\n http-request deny\n server s 127.0.0.1:1\n",
    );
    let loaded = loaded(&text);
    let warnings: Vec<&str> =
        loaded.diagnostics.of(Severity::Warning).map(|d| d.message.as_str()).collect();
    let told = "Proxy 'l' : 'switch-mode http' configured for a tcp proxy with no backend. Incoming connections upgraded to HTTP cannot be routed to TCP servers";
    assert_eq!(warnings, [told]);
    assert_eq!(loaded.model.unwrap().proxies[0].rules.http_request.rules().len(), 1);
    for (words, told) in [
        ("", "expects a mode as argument."),
        ("tcp", "expects a valid mode (got 'tcp')."),
        ("http proto", "'proto' expects a protocol as argument."),
        ("http proto h3", "'proto' expects a valid MUX protocol, if specified (got 'h3')"),
        ("http proto none", "MUX protocol 'none' is not compatible with the selected mode."),
    ] {
        let text =
            format!("frontend f\n bind :1\n mode tcp\n tcp-request content switch-mode {words}\n");
        let alerts = messages(&text, Severity::Alert);
        assert!(alerts[0].contains(told), "{words}: {alerts:?}");
    }
    let text = "backend b\n mode tcp\n tcp-request content switch-mode http\n";
    let alerts = messages(text, Severity::Alert);
    assert!(alerts[0].contains("not allowed because backend 'b' has no frontend"), "{alerts:?}");
}

#[test]
fn rules_of_named_defaults_run_before_and_acls_do_not_leak() {
    let common =
        "defaults a\n mode http\n timeout client 1s\n acl x path /x\n http-request deny if x\n";
    let loaded_model = model(&format!(
        "{common}frontend f from a\n bind :1\n http-request allow\nfrontend g from a\n bind :2\n"
    ));
    let shared = loaded_model.proxies[0].inherited_rules.as_ref().unwrap();
    assert_eq!(shared.http_request.rules().len(), 1);
    assert_eq!(loaded_model.proxies[0].rules.http_request.rules().len(), 1);
    assert!(loaded_model.proxies[1].rules.is_empty());
    let alerts = messages(
        &format!("{common}frontend f from a\n bind :1\n use_backend b if x\nbackend b from a\n"),
        Severity::Alert,
    );
    assert!(alerts[0].contains("no such ACL : 'x'"), "{alerts:?}");
    assert!(alerts[1].starts_with("frontends and backends cannot inherit from the same defaults"));
}

#[test]
fn defaults_with_rules_have_few_heirs() {
    for (lines, heir, message) in [
        (
            "http-request allow",
            "listen l from a",
            "a listen section cannot inherit from a defaults section defining TCP/HTTP rules",
        ),
        (
            "http-request allow",
            "defaults b from a",
            "a defaults section cannot inherit from a defaults section defining TCP/HTTP rules",
        ),
        (
            "tcp-request connection accept",
            "backend b from a",
            "a backend section cannot inherit from a defaults section defining 'tcp-request connection' or 'tcp-request session' rules",
        ),
        (
            "tcp-response content accept",
            "frontend f from a",
            "a frontend section cannot inherit from a defaults section defining 'tcp-response content' rules",
        ),
    ] {
        let alerts =
            messages(&format!("defaults a\n mode http\n {lines}\n{heir}\n"), Severity::Alert);
        assert_eq!(alerts, [format!("{message} (defaults section at a.cfg:1).")]);
    }
    let anonymous = messages("defaults\n http-request deny\n acl x path /\n", Severity::Alert);
    assert_eq!(
        anonymous,
        [
            "'http-request' not allowed in anonymous 'defaults' section.",
            "'acl' not allowed in anonymous 'defaults' section.",
        ]
    );
}

#[test]
fn named_defaults_used_both_ways_are_told_once() {
    let text = "defaults a\n timeout client 1s\nfrontend f from a\n bind :1\nfrontend g\n bind :2\nfrontend h\n bind :3\n";
    let warnings = messages(text, Severity::Warning);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("explicitly referenced by another proxy and implicitly used here")
    );
}

#[test]
fn formats_compile_once_the_mode_is_known() {
    let text = format!(
        "{TIMES} log /dev/log local0\n option httplog\n unique-id-format %ci:%cp\nfrontend f\n bind :1\n unique-id-header X-Id\nfrontend g\n bind :2\n mode tcp\n no log\n option tcplog\nfrontend h\n bind :3\n log-format %ci\n"
    );
    let model = model(&text);
    let formats = |at: usize| &model.proxies[at].formats;
    assert!(formats(0).log.is_some() && formats(0).unique_id.is_some());
    assert!(formats(1).log.is_none());
    assert!(formats(2).log.is_some());
    assert_eq!(model.proxies[0].front.as_ref().unwrap().unique_id_header.as_deref(), Some("X-Id"));
}

#[test]
fn a_bad_format_of_defaults_is_one_alert() {
    let text = format!(
        "{TIMES} log /x local0\n log-format %[foo]\nfrontend f\n bind :1\nfrontend g\n bind :2\n"
    );
    let loaded = loaded(&text);
    let diagnostics: &Diagnostics = &loaded.diagnostics;
    let alerts: Vec<&Diagnostic> = diagnostics.of(Severity::Alert).collect();
    assert_eq!(alerts.len(), 1);
    assert_eq!((alerts[0].place.as_ref().unwrap().line, alerts[0].column), (7, 15));
}

#[test]
fn captures_are_slots_in_order() {
    let p = only(&listen(concat!(
        " capture request header Host len 20\n declare capture request len 10\n",
        " capture response header Server len 5\n capture cookie ID= len 32\n",
        " http-request capture path len 15\n"
    )));
    let request: Vec<(Option<&str>, usize)> =
        p.captured.request.iter().map(|slot| (slot.header.as_deref(), slot.len)).collect();
    assert_eq!(request, [(Some("host"), 20), (None, 10), (None, 15)]);
    assert_eq!(p.captured.response.len(), 1);
    assert_eq!(p.captured.cookie, Some(("ID=".to_owned(), 32)));
}

#[test]
fn slots_of_inherited_rules_come_first() {
    let text = format!(
        "{TIMES}defaults d\n mode http\n http-request capture path len 15\nfrontend f from d\n bind :1\n declare capture request len 10\n http-request capture path id 1\n"
    );
    let captured = model(&text).proxies.remove(0).captured;
    let lens: Vec<_> = captured.request.iter().map(|slot| slot.len).collect();
    assert_eq!(lens, [15, 10]);
}
