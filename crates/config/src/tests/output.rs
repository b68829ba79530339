//! The same mistakes as text, JSON and SARIF, each at its place.
use super::{listen, loaded, messages};
use crate::diag::Severity;
use crate::output::{Format, document};
use crate::render::{Style, report};

/// Five mistakes in five sections: line and column of each.
const FIVE: &str = "global\n    maxcon 5\ndefaults\n    mode http\n    timeout client 1s\n    timeout server 1x\n    timeout connect 1s\nfrontend f\n    bind :80\n    http-request deny if { path_bge /a }\n    use_backend bb if { path /x }\nbackend b\n    server s1 127.0.0.1:80 chek\nuserlist u\n    user joe passwd x\n";
const PLACES: [(u32, u32); 5] = [(2, 5), (6, 21), (10, 28), (13, 28), (15, 14)];

#[test]
fn five_mistakes_are_five_messages_with_their_places() {
    let loaded = loaded(FIVE);
    let alerts: Vec<(u32, u32)> = loaded
        .diagnostics
        .of(Severity::Alert)
        .map(|d| (d.place.as_ref().map_or(0, |place| place.line), d.column))
        .collect();
    // The name of the backend is looked up at the end.
    let (named, placed): (Vec<_>, Vec<_>) = alerts.into_iter().partition(|place| place.0 == 11);
    assert_eq!(placed, PLACES);
    assert_eq!(named, [(11, 17)]);
}

fn five() -> String {
    FIVE.replace("    use_backend bb if { path /x }\n", "    use_backend b if { path /x }\n")
}

#[test]
fn text_has_a_line_and_a_caret_for_each() {
    let text = report(&loaded(&five()).diagnostics, 1, Style::Plain, false);
    let parsing: Vec<&str> =
        text.lines().filter(|l| l.contains("ALERT") && l.contains("parsing")).collect();
    assert_eq!(parsing.len(), 5, "{text}");
    for ((line, _), told) in PLACES.iter().zip(&parsing) {
        assert!(told.starts_with("[ALERT]    (1) : config : parsing [a.cfg:"), "{told}");
        assert!(told.contains(&format!("[a.cfg:{line}] : ")), "{told}");
    }
    assert_eq!(text.lines().filter(|l| l.trim_start().starts_with('^')).count(), 5, "{text}");
}

#[test]
fn json_and_sarif_have_five_with_line_and_column() {
    let diagnostics = loaded(&five()).diagnostics;
    let json = document(&diagnostics, Format::Json, "1", false);
    assert!(json.starts_with("{\"valid\": false, \"diagnostics\": ["), "{json}");
    assert_eq!(json.matches("\"severity\": \"error\"").count(), 5, "{json}");
    let sarif = document(&diagnostics, Format::Sarif, "1", false);
    assert_eq!(sarif.matches("\"level\": \"error\"").count(), 5, "{sarif}");
    for (line, column) in PLACES {
        assert!(json.contains(&format!("\"line\": {line}, \"column\": {column}, ")), "{json}");
        let region = format!("\"region\": {{\"startLine\": {line}, \"startColumn\": {column}, ");
        assert!(sarif.contains(&region), "{sarif}");
    }
}

#[test]
fn documents_are_whole_whatever_the_words() {
    let diagnostics = loaded("global\n \"a\\\"b\\\\c\u{1}\" \u{e9}\n").diagnostics;
    let json = document(&diagnostics, Format::Json, "1", false);
    assert!(json.contains("a\\\"b\\\\c\\u0001"), "{json}");
    let empty = document(&loaded("").diagnostics, Format::Json, "1", false);
    assert_eq!(empty, "{\"valid\": true, \"diagnostics\": []}\n");
    let sarif = document(&diagnostics, Format::Sarif, "1", false);
    assert!(sarif.contains("\"uri\": \"a.cfg\""), "{sarif}");
}

#[test]
fn rules_that_never_run_and_lonely_backends_are_told_in_diagnostic_mode() {
    let text = "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\nfrontend f\n bind :80\n tcp-request content accept\n tcp-request content reject\n default_backend b\nbackend b\n http-request deny\n http-request set-header a b\n http-request set-header a b\n server s 127.0.0.1:80\nbackend c\n server s 127.0.0.1:80\n";
    let told = messages(text, Severity::Diag);
    assert_eq!(
        told,
        [
            "backend 'c' is used by nobody.",
            "this 'tcp-request content' rule never runs: the one at line 8 always ends the rules.",
            "this 'http-request' rule never runs: the one at line 12 always ends the rules."
        ]
    );
    let warned = "previous 'http-request' action is final and has no condition attached, further entries are NOOP.";
    assert_eq!(messages(text, Severity::Warning), [warned]);
}

/// As HAProxy 2.6 has it.
#[test]
fn rules_behind_the_end_of_their_set_are_warned_of() {
    let warned = |set: &str, rules: &[&str]| {
        let lines: Vec<String> = rules.iter().map(|rule| format!(" {set} {rule}")).collect();
        let all = messages(&listen(&lines.join("\n")), Severity::Warning);
        assert!(all.iter().all(|it| it.contains(&format!("previous '{set}' action is final"))));
        all.len()
    };
    for last in ["allow", "deny", "tarpit", "auth", "return status 200", "redirect prefix /"] {
        assert_eq!(warned("http-request", &[last, "del-header a", "del-header a"]), 1, "{last}");
        let conditional = format!("{last} if TRUE");
        assert_eq!(warned("http-request", &[&conditional, "del-header a"]), 0, "{last}");
    }
    for last in ["reject", "silent-drop", "use-service prometheus-exporter"] {
        assert_eq!(warned("http-request", &[last, "del-header a"]), 0, "{last}");
    }
    assert_eq!(warned("http-response", &["deny", "allow", "allow if TRUE", "allow"]), 2);
    assert_eq!(warned("http-after-response", &["allow", "del-header a"]), 1);
    assert_eq!(warned("tcp-request content", &["accept", "reject"]), 0);
    let stats = listen(" stats enable\n stats http-request allow\n stats http-request deny");
    let told = "previous 'stats' action has no condition attached, further entries are NOOP.";
    assert_eq!(messages(&stats, Severity::Warning), [told]);
}

/// In HAProxy's words and order.
#[test]
fn conditions_about_streams_are_warned_of_in_http_mode() {
    let lines = " acl x req.ssl_sni a\n http-after-response del-header a if { res.ssl_hello_type 2 }\n http-response del-header a if { res.ssl_hello_type 2 }\n http-request deny if x TRUE\n http-request deny unless x\n tcp-request content accept if { req.ssl_ver 3 }\n stick-table type string size 10\n stick match src if x\n stick store-request src if x\n use-server s if x\n http-request deny if { req.len 1 } { ssl_fc_sni a }\n http-request deny if { req.payload(0,1) -m found }\n http-response deny if { res.payload_lv(0,1) -m found }\n http-request deny if { req.rdp_cookie_cnt(a) gt 0 }\n server s 127.0.0.1:80";
    let of = |line: u32| {
        format!("Proxy 'l': L6 sample fetches ignored on HTTP proxies (declared at a.cfg:{line}).")
    };
    let told = |text: &str| {
        let mut all = messages(text, Severity::Warning);
        all.retain(|it| !it.contains("will still be processed before"));
        all
    };
    assert_eq!(told(&listen(lines)), [17, 15, 13, 11, 12, 19, 21, 10, 20, 9].map(of));
    assert!(told(&listen(&format!(" mode tcp\n{lines}"))).iter().all(|it| !it.contains("L6")));
    let format = " http-request set-header a %[req.ssl_sni]";
    let expected = "L6 sample fetch <req.ssl_sni> ignored in HTTP log-format string.";
    assert_eq!(told(&listen(format)), [expected]);
    let told_once = told(&listen(" balance hash req.ssl_sni"));
    assert!(matches!(&told_once[..], [one] if one.contains("<req.ssl_sni> will be ignored in")));
    assert!(told(&listen(" mode tcp\n balance hash req.ssl_sni")).is_empty());
    let reply = " http-request return status 200 hdr Content-Length 5 hdr a b";
    let expected = "header 'Content-Length' always ignored by the http reply.";
    assert_eq!(told(&listen(reply)), [expected]);
    let check = " option tcp-check\n tcp-check expect on-success %[res.payload(0,2)] string a";
    assert_eq!(told(&listen(check)), [""; 0]);
}

#[test]
fn acls_that_hide_others_or_are_not_used_are_told_in_diagnostic_mode() {
    let text = listen(
        " acl METH_GET path /\n acl used path /\n acl used path /x\n acl idle path /\n http-request deny if METH_GET used TRUE",
    );
    let told =
        ["acl 'METH_GET' hides the predefined one of that name.", "acl 'idle' is used by nobody."];
    assert_eq!(messages(&text, Severity::Diag), told);
    assert!(messages(&text, Severity::Warning).is_empty());
}

#[test]
fn advice_never_pushes_other_messages_out() {
    let mut text = String::from("defaults\n mode http\n");
    (0..12_000).for_each(|n| text.push_str(&format!("backend b{n}\n")));
    let diagnostics = loaded(&text).diagnostics;
    assert_eq!((diagnostics.of(Severity::Diag).count(), diagnostics.dropped()), (1_000, 0));
}
