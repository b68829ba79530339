//! Checks after all files are read: names, numbers, references, modes.
use super::*;
use crate::load::Verdict;

const TIMES: &str =
    "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

#[test]
fn numbers_follow_order_and_skip_the_explicit_ones() {
    let text = format!(
        "{TIMES}listen a\n bind :1\n server x 1.1.1.1:1\n server y 1.1.1.1:1 id 1\n server z 1.1.1.1:1\nbackend b\n id 2\nfrontend c\n bind :2\n default_backend b\n"
    );
    let model = model(&text);
    assert_eq!(model.proxies.iter().map(|p| p.id).collect::<Vec<_>>(), [1, 2, 3]);
    let servers = &model.proxies[0].back.as_ref().unwrap().servers;
    assert_eq!(servers.iter().map(|s| s.id).collect::<Vec<_>>(), [2, 1, 4]);
    assert_eq!(model.proxies[2].front.as_ref().unwrap().settings.default_backend, Some(1));
    assert_eq!(model.backend("b"), Some(1));
    assert_eq!(model.backend("c"), None);
}

#[test]
fn sections_that_inherited_rules_name_are_there() {
    let text = |line: &str| {
        let times = TIMES.replace("defaults", "defaults d");
        format!("{times} {line}\nbackend a from d\nbackend b from d\n")
    };
    let alerts = |line: &str| messages(&text(line), Severity::Alert);
    assert_eq!(
        alerts("http-request return status 503 errorfiles nope"),
        ["Proxy 'd': unable to find required http-errors section 'nope'."]
    );
    assert_eq!(
        alerts("http-request do-resolve(txn.a,nope) src"),
        ["Proxy 'd': Can't find resolvers section 'nope' for do-resolve action."]
    );
}

#[test]
fn a_page_of_ones_own_has_nothing_of_an_inherited_one() {
    let page = " stats uri /s\n stats auth a:b\n stats realm r\n stats scope .\n";
    let text = format!("{TIMES}{page}backend a\nbackend b\n stats auth c:\\xe0\n");
    let model = model(&text);
    let page = |number: usize| model.proxies[number].common.stats.as_ref().unwrap();
    let (inherited, own) = (page(0), page(1));
    assert_eq!((&*inherited.uri, &*inherited.scope), ("/s", &["a".to_owned()][..]));
    assert_eq!((&*own.uri, &own.realm, own.scope.len()), ("/haproxy?stats", &None, 0));
    assert_eq!(own.users, [(b"c".to_vec(), b"\xe0".to_vec())], "of bytes, not of letters");
}

#[test]
fn passwords_are_bytes() {
    let text = "userlist u\n user a insecure-password caf\\xe9\n";
    let password = model(text).userlists["u"].users["a"].password.clone();
    assert!(password.unwrap().verify(b"caf\xe9"));
}

#[test]
fn numbers_are_those_that_haproxy_gives() {
    let proxies = format!(
        "{TIMES}frontend f\n bind :1\nbackend b\n id 7\nlisten l\n bind :2\nbackend z\nbackend four\n id 4\nbackend y\n"
    );
    let ids = |text: &str| model(text).proxies.iter().map(|p| p.id).collect::<Vec<_>>();
    assert_eq!(ids(&proxies), [1, 7, 3, 5, 4, 8]);
    for line in ["stats socket /tmp/s", "stats timeout 1s", "stats maxconn 5"] {
        assert_eq!(ids(&format!("global\n {line}\n{proxies}")), [2, 7, 5, 6, 4, 8], "{line}");
    }
    let late = format!(
        "{TIMES}listen a\n bind :1\nlisten b\n id 1\n bind :2\nglobal\n stats timeout 1s\n stats maxconn 9\nlisten c\n bind :3\n"
    );
    assert_eq!(ids(&late), [2, 1, 5]);
}

#[test]
fn a_frontend_and_a_backend_may_share_a_name_and_others_not() {
    let text = format!(
        "{TIMES}frontend fe\n bind :1\nfrontend fe\n bind :2\nbackend fe\nlisten fe\n bind :3\nbackend g\nbackend g\n"
    );
    assert_eq!(
        messages(&text, Severity::Alert),
        [
            "frontend 'fe' has the same name as frontend 'fe' declared at a.cfg:6.",
            "proxy 'fe' has the same name as frontend 'fe' declared at a.cfg:6.",
            "backend 'g' has the same name as backend 'g' declared at a.cfg:13.",
        ]
    );
}

/// The error points to the column of the keyword with the unknown name.
#[test]
fn names_in_expressions_must_be_there() {
    let others = "backend b\n server s 1.1.1.1:1\nfrontend f\n bind :2\n";
    for (line, at, message) in [
        ("http-request deny if { nbsrv(none) gt 1 }", 25, "unable to find backend 'none' @"),
        ("acl a avg_queue(f) gt 1", 8, "unable to find backend 'f' @"),
        ("http-request deny if { fe_conn(b) gt 1 }", 25, "unable to find frontend 'b' @"),
        (
            "http-request deny if { srv_conn(b/t) gt 1 }",
            25,
            "unable to find server 't' in proxy 'b', @",
        ),
        ("http-request deny if { srv_conn(c/s) gt 1 }", 25, "unable to find proxy 'c' @"),
        ("http-request deny if { srv_is_up(s) }", 25, "unable to find server 's' in proxy 'l', @"),
        (
            "http-request set-header x %[fe_conn]%[srv_queue(b/u)]",
            40,
            "unable to find server 'u' in proxy 'b', @",
        ),
        ("log-format %[be_conn(none)]", 15, "unable to find backend 'none' @"),
        ("http-request deny if { http_auth(u) }", 25, "unable to find userlist 'u' @"),
    ] {
        let text = format!("{TIMES}listen l\n bind :1\n log stdout local0\n {line}\n{others}");
        let verdict = loaded(&text);
        let alerts: Vec<_> = verdict.diagnostics.of(Severity::Alert).collect();
        let message = message.strip_suffix('@').unwrap();
        assert!(
            alerts[0]
                .message
                .starts_with(&format!("{message}referenced in arg 1 of sample fetch keyword '")),
            "{:?}",
            alerts[0]
        );
        assert_eq!(
            (alerts.len(), alerts[0].place.as_ref().unwrap().line, alerts[0].column),
            (1, 9, at),
            "{line}"
        );
    }
    for (section, message) in [
        ("frontend x\n bind :1\n http-request set-header a %[nbsrv]", "backend"),
        ("backend x\n http-request set-header a %[fe_req_rate]", "frontend"),
    ] {
        let alert = &messages(&format!("{TIMES}{section}\n"), Severity::Alert)[0];
        assert!(
            alert.ends_with(&format!("in proxy 'x', has not {message} capability.")),
            "{alert}"
        );
    }
    let text =
        format!("{TIMES}defaults d\n mode http\n http-request set-header x %[srv_conn(www)]\n");
    assert_eq!(
        messages(&text, Severity::Alert),
        ["backend name must be set in arg 1 of sample fetch keyword 'srv_conn' in proxy 'd'."]
    );
}

#[test]
fn references_and_modes() {
    for (text, severity, message) in [
        (
            "frontend f\n bind :1\n default_backend baz\nbackend bar",
            Severity::Alert,
            "Proxy 'f': unable to find required default_backend: 'baz'.",
        ),
        (
            "frontend f\n bind :1\n default_backend b\nbackend b\n mode tcp",
            Severity::Alert,
            "http frontend 'f' (a.cfg:6) tries to use incompatible tcp backend 'b' (a.cfg:9) as its default backend (see 'mode').",
        ),
        (
            "listen l\n bind :1\n stats auth a:b\n stats http-request deny",
            Severity::Alert,
            "proxy 'l': stats 'auth'/'realm' and 'http-request' can't be used at the same time.",
        ),
        (
            "listen l\n bind :1\n log-format-sd x",
            Severity::Warning,
            "log format ignored for proxy 'l' since it has no log address.",
        ),
        (
            "listen l\n bind :1\n mode tcp\n log stdout local0\n option httpslog",
            Severity::Warning,
            "'option httpslog' not usable with proxy 'l' (needs 'mode http'). Falling back to 'option tcplog'.",
        ),
        (
            "listen l\n bind :1\n stats auth a:b\n stats auth a:c",
            Severity::Warning,
            "uri auth: ignoring duplicated user 'a'.",
        ),
        (
            "frontend f",
            Severity::Warning,
            "frontend 'f' has no 'bind' directive. Please declare it as a backend if this was intended.",
        ),
        (
            "backend b\n server s 1.2.3.4:1\n server s 1.2.3.4:2",
            Severity::Alert,
            "backend 'b', another server named 's' was already defined at line 7, please use distinct names.",
        ),
        (
            "backend b\n server s 1.2.3.4:1 id 5\n server t 1.2.3.4:2 id 5",
            Severity::Alert,
            "'server b/t' : 'id' : custom id 5 already used at a.cfg:7 ('server s').",
        ),
        (
            "backend b\n id 5\nbackend c\n id 5",
            Severity::Alert,
            "backend c reuses same custom id as backend b (declared at a.cfg:6).",
        ),
        (
            "listen l\n bind :1\n mode tcp\n option httplog\n log /x local0",
            Severity::Warning,
            "'option httplog' not usable with proxy 'l' (needs 'mode http'). Falling back to 'option tcplog'.",
        ),
        (
            "listen l\n bind :1\n mode tcp\n cookie X insert",
            Severity::Warning,
            "cookie will be ignored for proxy 'l' (needs 'mode http').",
        ),
        (
            "listen l\n bind :1\n mode tcp\n option forwardfor",
            Severity::Warning,
            "'option forwardfor' ignored for proxy 'l' as it requires HTTP mode.",
        ),
        (
            "listen l\n bind :1\n mode tcp\n stats enable",
            Severity::Warning,
            "'stats' statement ignored for proxy 'l' as it requires HTTP mode.",
        ),
        (
            "backend b\n mode tcp\n option checkcache",
            Severity::Warning,
            "'option checkcache' ignored for backend 'b' as it requires HTTP mode.",
        ),
        (
            "backend b\n mode tcp\n option prefer-last-server",
            Severity::Warning,
            "'option prefer-last-server' ignored for backend 'b' as it requires HTTP mode.",
        ),
        (
            "backend b\n external-check command /c",
            Severity::Warning,
            "'external-check command' will be ignored for backend 'b' (requires 'option external-check').",
        ),
        (
            "backend b\n external-check path /c",
            Severity::Warning,
            "'external-check path' will be ignored for backend 'b' (requires 'option external-check').",
        ),
        (
            "backend b\n server s 1.2.3.4:1 tfo",
            Severity::Warning,
            "'server b/s' : server has tfo activated, the backend should be configured with at least 'conn-failure', 'empty-response' and 'response-timeout' or we wouldn't be able to retry the connection on failure.",
        ),
        (
            "backend b\n server s 1.2.3.4:1 ssl verify none no-tlsv12",
            Severity::Warning,
            "'server b/s' : proxy 'b': SSL/TLS versions range not contiguous for server 's'. Hole find for TLSv1.2. Use only 'ssl-min-ver' and 'ssl-max-ver' to fix.",
        ),
        (
            "backend b\n server s 1.2.3.4:1 ssl verify none force-tlsv13 no-tlsv13",
            Severity::Warning,
            "'server b/s' : no-sslv3/no-tlsv1x are ignored for this server. Use only 'ssl-min-ver' and 'ssl-max-ver' to fix.",
        ),
        (
            "listen l\n bind :1 ssl strict-sni",
            Severity::Warning,
            "Proxy 'l': no SSL certificate specified for bind ':1' at [a.cfg:7], ssl connections will fail (use 'crt').",
        ),
        (
            "listen l\n bind :1 ssl strict-sni crt d/ ssl-max-ver TLSv1.1",
            Severity::Warning,
            "Proxy 'l': Ambiguous configuration for bind ':1' at [a.cfg:7]: the ssl-min-ver value is not configured and the ssl-max-ver value is lower than the default ssl-min-ver value (TLSv1.2). Setting the ssl-min-ver to TLSv1.1. Use 'ssl-min-ver' to fix this.",
        ),
    ] {
        assert_eq!(messages(&format!("{TIMES}{text}\n"), severity), [message], "{text}");
    }
}

#[test]
fn versions_that_are_excluded_beside_a_range_are_warned_of() {
    for word in ["no-sslv3", "no-tlsv10", "no-tlsv11"] {
        for (name, text) in [
            (
                "server",
                format!(
                    "backend b\n server s 1.2.3.4:1 ssl verify none ssl-min-ver TLSv1.2 {word}"
                ),
            ),
            ("bind", format!("listen l\n bind :1 ssl strict-sni ssl-min-ver TLSv1.2 {word}")),
            (
                "ssl-default-bind-options",
                format!(
                    "global\n ssl-default-bind-options {word}\nlisten l\n bind :1 ssl strict-sni ssl-min-ver TLSv1.2"
                ),
            ),
        ] {
            let warnings = messages(&format!("{TIMES}{text}\n"), Severity::Warning);
            let warned = |text: &String| text.contains("no-sslv3/no-tlsv1x are ignored for");
            assert!(warnings.iter().any(warned), "{name} {word}: {warnings:?}");
        }
    }
}

#[test]
fn sides_that_a_proxy_lacks() {
    for (line, message) in [
        (
            "frontend f\n bind :1\n balance roundrobin",
            "'balance' ignored because frontend 'f' has no backend capability.",
        ),
        (
            "frontend f\n bind :1\n option httpchk",
            "'httpchk' ignored because frontend 'f' has no backend capability.",
        ),
        (
            "frontend f\n bind :1\n timeout server 2s",
            "'timeout server' ignored because frontend 'f' has no backend capability.",
        ),
        (
            "frontend f\n bind :1\n fullconn 4",
            "'fullconn' ignored because frontend 'f' has no backend capability. Maybe you want 'maxconn' instead ?",
        ),
        ("backend b\n bind :1", "'bind' ignored because backend 'b' has no frontend capability."),
        (
            "backend b\n maxconn 4",
            "'maxconn' ignored because backend 'b' has no frontend capability. Maybe you want 'fullconn' instead ?",
        ),
        (
            "backend b\n option tcplog",
            "backend 'b' : 'option tcplog' directive is ignored in backends.",
        ),
    ] {
        assert_eq!(messages(&format!("{TIMES}{line}\n"), Severity::Warning), [message], "{line}");
    }
    for (keyword, rest) in [("server", "s 1.2.3.4:1"), ("server-template", "a 2 nope.invalid:80")] {
        let text = format!("{TIMES}frontend f\n bind :1\n {keyword} {rest}\n");
        let told =
            format!("'{keyword}' not allowed because frontend 'f' has no backend capability.");
        assert_eq!(messages(&text, Severity::Alert), [told]);
    }
}

#[test]
fn a_log_format_needs_somewhere_to_log_to() {
    for (lines, count) in
        [("option httplog", 1), ("log-format x", 1), ("log /x local0\n log-format x", 0), ("", 0)]
    {
        let text = format!("{TIMES}listen l\n bind :1\n {lines}\n");
        let warnings = messages(&text, Severity::Warning);
        assert_eq!(warnings.len(), count, "{lines} {warnings:?}");
    }
}

#[test]
fn missing_timeouts_warn_where_traffic_would_hang() {
    let text = "frontend f\n bind :80\nbackend empty\nbackend c\n server s 1.2.3.4:80\nlisten l\n bind :81\n";
    let warnings = messages(text, Severity::Warning);
    let names: Vec<&str> = warnings.iter().map(|w| w.lines().next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "missing timeouts for frontend 'f'.",
            "missing timeouts for backend 'c'.",
            "missing timeouts for proxy 'l'."
        ]
    );
}

#[test]
fn log_global_copies_the_global_targets() {
    let text = format!(
        "{TIMES} log global\n log 10.0.0.1 len 2000 sample 1,3-4:5 local1 info err\nglobal\n log /dev/log local0\n log-send-hostname\nbackend b\nbackend c\n no log\n"
    );
    let model = model(&text);
    let logs = &model.proxies[0].common.logs;
    assert_eq!(logs.len(), 2);
    assert_eq!(logs[0].address, crate::model::LogAddress::Unix("/dev/log".into()));
    assert_eq!(logs[0].transport, crate::model::LogTransport::Rfc3164);
    assert_eq!((logs[1].max_len, logs[1].facility.0), (2000, 17));
    assert_eq!((logs[1].level.0, logs[1].min_level.0), (6, 3));
    assert_eq!(logs[1].sample.as_ref().unwrap().ranges, [(1, 1), (3, 4)]);
    assert!(model.proxies[1].common.logs.is_empty());
}

#[test]
fn log_global_adds_the_global_targets_once() {
    let target = "log 10.0.0.1 local0";
    // As HAProxy does with each: targets that a line names itself are added as often as they are
    // named.
    for (global, defaults, own, count) in [
        (target, "log global", "log global", 1),
        (target, "", "log global\n log global", 1),
        (target, "log global", "no log\n log global", 1),
        (target, "log global", &*format!("log global\n {target}"), 2),
        (target, target, "log global", 2),
        ("", target, target, 2),
        (&*format!("{target}\n {target}"), "log global", "log global", 2),
    ] {
        let text = format!("global\n {global}\n{TIMES} {defaults}\nbackend b\n {own}\n");
        let model = model(&text);
        assert_eq!(model.proxies[0].common.logs.len(), count, "{text}");
    }
    let text =
        format!("global\n {target}\nlog-forward f\n bind 127.0.0.1:1\n log global\n log global\n");
    assert_eq!(model(&text).log_forwards[0].logs.len(), 1);
}

#[test]
fn the_verdict_gives_haproxy_exit_codes() {
    let good = format!("{TIMES}listen l\n bind :1\n");
    for (text, strict, verdict) in [
        (&*good, true, Verdict::Valid),
        ("", false, Verdict::NoListener),
        ("global\n stats socket /x\n", false, Verdict::Valid),
        ("global\n nope\n", false, Verdict::Invalid),
        ("listen l\n bind :1\n", false, Verdict::Valid),
        ("listen l\n bind :1\n", true, Verdict::Invalid),
        ("global\n zero-warning\nlisten l\n bind :1\n", false, Verdict::Invalid),
        ("listen l\n bind :1\n timeout client 1s\n disabled\n", false, Verdict::NoListener),
    ] {
        assert_eq!(loaded(text).verdict(strict), verdict, "{text}");
    }
    assert_eq!(Verdict::Valid.exit_code(), 0);
    assert_eq!(Verdict::Invalid.exit_code(), 1);
    assert_eq!(Verdict::NoListener.exit_code(), 2);
}

#[test]
fn error_files_come_from_sections_unless_the_proxy_names_its_own() {
    let text = format!(
        "http-errors e\n errorfile 503 /503.http\n errorfile 400 /empty\nhttp-errors f\n errorfile 404 /503.http\n{TIMES} errorfile 400 /503.http\nlisten l\n bind :1\n errorfiles e\nlisten m\n bind :2\n errorfiles e 503\n errorfiles f\nlisten n\n bind :3\n errorfile 503 /empty\n errorfiles e\n errorfile 400 /503.http\n"
    );
    let model = model(&text);
    let lens = |at: usize| -> Vec<(u16, usize)> {
        let replies = &model.proxies[at].common.error_replies;
        let len = |reply: &crate::model::ErrorReply| match reply {
            crate::model::ErrorReply::File { raw, .. } => raw.len(),
            _ => 0,
        };
        replies.iter().map(|(status, reply)| (*status, len(reply))).collect()
    };
    assert_eq!(lens(0), [(400, 0), (503, 25)], "the section comes before its defaults");
    assert_eq!(lens(1), [(400, 25), (404, 25), (503, 25)]);
    assert_eq!(lens(2), [(400, 25), (503, 25)], "the last line decides");
    assert_eq!(model.http_errors.len(), 2);
    assert_eq!(
        messages("http-errors\nhttp-errors a\n foo\nhttp-errors a\n", Severity::Alert),
        [
            "missing name for http-errors section.",
            "unknown keyword 'foo' in 'http-errors' section",
            "http-errors section 'a' already exists (declared at a.cfg:2).",
        ]
    );
}

#[test]
fn rules_and_http_errors_name_sections_that_are_there() {
    let text = |lines: &str| {
        format!(
            "http-errors e\n errorfile 503 /503.http\n{TIMES} errorfile 400 /503.http\n errorfile 500 /503.http\nlisten l\n bind :1\n{lines}"
        )
    };
    let of = |lines: &str, severity| messages(&text(lines), severity);
    assert_eq!(
        of(" http-request deny errorfiles nope\n", Severity::Alert),
        ["Proxy 'l': unable to find required http-errors section 'nope'."]
    );
    assert_eq!(
        of(" http-request deny errorfiles e\n", Severity::Warning),
        [
            "Proxy 'l': status '403' referenced by an http reply not declared in http-errors section 'e'."
        ]
    );
    let model = model(&text(
        " http-error status 400 default-errorfiles\n http-error status 403 content-type a/b string hi\n http-error status 503 errorfiles e\n",
    ));
    let replies = &model.proxies[0].common.error_replies;
    let kinds: Vec<_> = replies
        .iter()
        .map(|(status, reply)| (*status, matches!(reply, crate::model::ErrorReply::Reply(_))))
        .collect();
    assert_eq!(kinds, [(403, true), (500, false), (503, false)], "what is inherited is hidden");
    for (line, message) in [
        ("http-error string x", "'http-error' expects at least a status code"),
        ("http-error status 418", "'http-error' status code '418' not handled"),
        ("errorloc 503 \"/a\\nb\"", "a location cannot contain control characters."),
        ("cookie N insert domain a.b=c", "character '=' is not permitted in domain name 'a.b=c'."),
    ] {
        assert_eq!(of(&format!(" {line}\n"), Severity::Alert), [message], "{line}");
    }
}

/// The messages of HAProxy 2.6.
#[test]
fn what_cannot_be_tracked() {
    let missing = |what: &str| format!("unable to find required {what} for tracking.");
    let unwatched =
        "unable to use b/u for tracking as it does not have any check nor agent enabled.";
    let round = "unable to track b/s as it belongs to a tracking chain looping back to b/s.";
    for (options, message) in [
        ("track nope", missing("server 'nope'")),
        ("track b/nope", missing("server 'nope'")),
        ("track c/s", missing("proxy 'c'")),
        ("track s", round.to_owned()),
        ("track u", unwatched.to_owned()),
        ("check track t", "unable to enable checks and tracking at the same time!".to_owned()),
    ] {
        let text = format!(
            "{TIMES}backend b\n server t 127.0.0.1:1 check\n server u 127.0.0.1:1\n \
             server s 127.0.0.1:2 {options}\n"
        );
        let said = messages(&text, Severity::Alert);
        assert_eq!(said[0], format!("'server b/s' : {message}"), "{options}");
    }
    // A chain is followed to its end.
    let text = format!(
        "{TIMES}backend b\n server t 127.0.0.1:1 check\n server u 127.0.0.1:1 track t\n \
         server s 127.0.0.1:2 track b/u\n"
    );
    assert_eq!(messages(&text, Severity::Alert), [""; 0]);
}

#[test]
fn backends_in_spop_mode_are_for_agents_alone() {
    let agents = "backend agents\n mode spop\n server a 1.1.1.1:1\n";
    for (text, said) in [
        (
            "frontend f\n mode spop\n bind :81\n default_backend agents\n".to_owned(),
            "frontend 'f': 'mode spop' is only supported in backend sections.",
        ),
        (
            "listen l\n mode spop\n bind :81\n server a 1.1.1.1:1\n".to_owned(),
            "proxy 'l': 'mode spop' is only supported in backend sections.",
        ),
        (
            "frontend f\n mode tcp\n bind :81\n default_backend agents\n".to_owned(),
            "tcp frontend 'f' (a.cfg:6) tries to use incompatible spop backend 'agents' (a.cfg:10) as its default backend",
        ),
        (
            "frontend f\n bind :81\n use_backend agents if TRUE\n".to_owned(),
            "http frontend 'f' (a.cfg:6) tries to use incompatible spop backend 'agents'",
        ),
        ("backend b\n mode log\n".to_owned(), "unknown proxy mode 'log'."),
        (
            "backend b\n mode tcp\n server a 1.1.1.1:1 proto spop\n".to_owned(),
            "MUX protocol 'spop' is not usable for server 'a'",
        ),
        (
            "backend b\n mode spop\n server a 1.1.1.1:1 proto none\n".to_owned(),
            "MUX protocol 'none' is not usable for server 'a'",
        ),
        (
            "backend b\n mode spop\n server a 1.1.1.1:1 proto h2\n".to_owned(),
            "MUX protocol 'h2' is not usable for server 'a'",
        ),
    ] {
        let alerts = messages(&format!("{TIMES}{text}{agents}"), Severity::Alert);
        assert!(alerts.iter().any(|alert| alert.contains(said)), "{text}: {alerts:?}");
    }
    let text = format!("{TIMES}{agents} option spop-check\n server b 1.1.1.1:2 check proto spop\n");
    let carried = |text: &str| model(text).proxies[0].is_spop;
    assert!(carried(&text));
    assert!(
        !carried(&format!("{text} mode tcp\n").replace(" proto spop", "")),
        "the last line counts"
    );
}
