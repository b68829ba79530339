//! Lines that HAProxy accepts although they have words too many or too few: Weir accepts them too,
//! and warns of the words without effect.
use super::{back, front, listen, loaded, messages, model, server};
use crate::diag::Severity;
use crate::model::Model;

/// Lines with one word too many, `extra`.
const LONG: &[&str] = &[
    "balance roundrobin extra",
    "balance static-rr extra",
    "balance leastconn extra",
    "balance first extra",
    "balance source extra",
    "balance random(2) extra",
    "balance rdp-cookie(x) extra",
    "balance hdr(x) use_domain_only extra",
    "balance url_param x check_post 5 extra",
    "capture cookie x len 10 extra",
    "declare capture request len 10 extra",
    "declare capture response len 10 extra",
    "clitcpka-cnt 3 extra",
    "clitcpka-idle 10m extra",
    "clitcpka-intvl 10m extra",
    "srvtcpka-idle 10m extra",
    "dynamic-cookie-key a extra",
    "errorfile 503 /503.http extra",
    "errorloc 401 /a extra",
    "errorloc302 401 /a extra",
    "errorloc303 401 /a extra",
    "hash-type consistent djb2 avalanche extra",
    "hash-balance-factor 150 extra",
    "log-tag foo extra",
    "max-keep-alive-queue 1 extra",
    "max-session-srv-conns 1 extra",
    "option redispatch 1 extra",
    "persist rdp-cookie extra",
    "rate-limit sessions 10 extra",
    "stats enable extra",
    "stats hide-version extra",
    "stats refresh 5s extra",
    "stats show-legends extra",
    "stats show-modules extra",
    "stats show-node foo extra",
    "stats uri /a extra",
    "tcp-request inspect-delay 5s extra",
    "tcp-response inspect-delay 5s extra",
    "unique-id-header X extra",
    "option httpchk\n http-check comment foo extra",
    "option httpchk\n http-check unset-var(check.x) extra",
    "option httpchk\n http-check set-var(check.x) str(a) extra",
    "option httpchk\n http-check set-var-fmt(check.x) a extra",
    "option tcp-check\n tcp-check comment foo extra",
    "option tcp-check\n tcp-check unset-var(check.x) extra",
    "option tcp-check\n tcp-check set-var(check.x) str(a) extra",
];

#[test]
fn words_behind_the_last_argument_are_ignored() {
    for line in LONG {
        let text = listen(&format!(" {line}"));
        assert_eq!(messages(&text, Severity::Alert), [""; 0], "{line}");
        let loaded = loaded(&text);
        let told: Vec<_> = loaded.diagnostics.of(Severity::Warning).collect();
        let about = "'extra' is ignored behind the last argument of '";
        let found = told.iter().find(|told| told.message.starts_with(about));
        let found = found.unwrap_or_else(|| panic!("{line}: {told:?}"));
        let last = line.lines().last().unwrap();
        let column = last.find("extra").unwrap() as u32 + 1;
        assert!([column, column + 1].contains(&found.column), "{line}: {found:?}");
    }
    for line in
        ["email-alert from a@b extra", "email-alert level alert extra", "option httpslog extra"]
    {
        assert_eq!(messages(&listen(&format!(" {line}")), Severity::Alert), [""; 0], "{line}");
    }
}

#[test]
fn words_behind_the_last_argument_are_ignored_in_other_sections_too() {
    for line in [
        "global\n stats timeout 5s zzz",
        "global\n stats maxconn 5 zzz",
        "global\n setenv A b zzz",
        "global\n presetenv A b zzz",
        "global\n hard-stop-after 5s zzz",
        "global\n close-spread-time 5s zzz",
        "global\n log-send-hostname a zzz",
        "global\n expose-experimental-directives zzz",
        "global\n default-path current zzz",
        "global\n numa-cpu-mapping zzz",
        "global\n ssl-load-extra-del-ext zzz",
        "global\n ssl-mode-async zzz",
        "global\n tune.lua.maxmem 5 zzz",
        "global\n tune.lua.forced-yield 5 zzz",
        "global\n tune.vars.txn-max-size 500 zzz",
        "ring r\n size 20000 zzz",
        "ring r\n format raw zzz",
        "ring r\n maxlen 1000 zzz",
        "ring r\n description a zzz",
        "ring r\n timeout connect 5s zzz",
        "log-forward f\n timeout client 5s zzz",
        "mailers m zzz",
        "http-errors h zzz",
        "resolvers r zzz",
    ] {
        let text = format!("{line}\n");
        assert_eq!(messages(&text, Severity::Alert), [""; 0], "{line}");
        let warnings = messages(&text, Severity::Warning);
        let about = "'zzz' is ignored behind the last argument of '";
        assert!(warnings.iter().any(|told| told.starts_with(about)), "{line}: {warnings:?}");
    }
}

#[test]
fn values_that_haproxy_takes_have_a_warning() {
    for (line, warning) in [
        ("global\n uid zz", "uid: string 'zz' is not a number."),
        ("global\n gid 5x", "gid: string '5x' is not a number."),
        ("global\n tune.maxrewrite zz", "'zz' is read as 0"),
        ("global\n cluster-secret a\n cluster-secret b", "'cluster-secret' already specified."),
        ("resolvers r\n nameserver a 127.0.0.1:53\n resolve_retries 3x", "'3x' is read as 3"),
        ("fcgi-app f\n docroot /x\n option max-reqs 5x", "'5x' is read as 5"),
        ("userlist u\n user a password zz", "no password matches this hash of user 'a'"),
        ("userlist u\n user a password $zz$b$c", "no password matches this hash of user 'a'"),
    ] {
        let text = format!("{line}\n");
        assert_eq!(messages(&text, Severity::Alert), [""; 0], "{line}");
        let warnings = messages(&text, Severity::Warning);
        assert!(warnings.iter().any(|told| told.contains(warning)), "{line}: {warnings:?}");
    }
    let users = &model("userlist u\n user a password zz\n").userlists["u"].users;
    assert!(!users["a"].password.as_ref().unwrap().verify(b"zz"));
    assert_eq!(messages(&listen(" http-request strict-mode ON"), Severity::Alert), [""; 0]);
    let twice = model("global\n cluster-secret a\n cluster-secret b\n");
    assert_eq!(twice.global.settings.quic.secret, b"a");
}

#[test]
fn words_that_haproxy_refuses_stay_refused() {
    for line in [
        "maxconn 3 x",
        "backlog 3 x",
        "fullconn 3 x",
        "id 5 x",
        "retries 3 x",
        "mode http x",
        "capture request header x len 10 y",
        "balance hash path x",
        "persist rdp-cookie(x) y",
        "http-check disable-on-404 x",
        "option httpchk GET / HTTP/1.0 x",
        "option tcplog x",
        "stats show-node a:b",
        "http-check send uri \"\"",
        "http-check send meth \"\"",
        "http-check send ver \"\"",
        "http-check send body \"\"",
        "http-check expect status 300-200",
        "clitcpka-cnt 5x",
        "clitcpka-cnt x",
        "max-keep-alive-queue 5x",
        "rate-limit sessions 5x",
        "hash-balance-factor -1",
        "id -1",
        "bind ,127.0.0.1:81",
        "bind 127.0.0.1:81,,127.0.0.1:82",
        "bind ,",
        "balance random(0)",
        "balance random(-1)",
        "server s 127.0.0.1:80 weight -1",
        "server s 127.0.0.1:80 rise -1",
        "server s 127.0.0.1:80 pool-max-conn -2",
        "server s 127.0.0.1:80 id -1",
        "server s 127.0.0.1:80 rise",
        "server s 127.0.0.1:80 port",
    ] {
        assert_eq!(messages(&listen(&format!(" {line}")), Severity::Alert).len(), 1, "{line}");
    }
}

/// A line and what it makes of the model.
type Case = (&'static str, fn(&Model) -> bool);

/// A number above every limit.
const NONE: u32 = i32::MAX as u32;

#[rustfmt::skip]
const NUMBERS: &[Case] = &[
    ("backlog -1", |m| front(m).backlog == Some(NONE)),
    ("backlog 99999999999", |m| front(m).backlog == Some(1_215_752_191)),
    ("maxconn -1", |m| front(m).settings.maxconn == Some(NONE)),
    ("maxconn 99999999999", |m| front(m).settings.maxconn == Some(1_215_752_191)),
    ("maxconn 99999999999999999999", |m| front(m).settings.maxconn == Some(NONE)),
    ("fullconn -1", |m| back(m).settings.full_connections == Some(NONE)),
    ("hash-balance-factor 99999999999", |m| back(m).hash_balance_factor == 1_215_752_191),
    ("max-session-srv-conns -1", |m| front(m).settings.own_connections == 0),
    ("rate-limit sessions -1", |m| front(m).settings.session_rate == NONE),
    ("retries -1", |m| back(m).settings.retries == 0),
    ("option redispatch 4294967297", |m| back(m).settings.redispatch == 1),
    ("max-keep-alive-queue 99999999999", |m| back(m).settings.keep_alive_queue == Some(1_215_752_191)),
    ("clitcpka-cnt 0", |m| front(m).keep_alive.count.is_none()),
    ("clitcpka-cnt -1", |m| front(m).keep_alive.count.is_none()),
    ("srvtcpka-cnt 0", |m| back(m).keep_alive.count.is_none()),
    ("id 99999999999", |m| m.proxies[0].id == 1_215_752_191),
    ("server s 127.0.0.1:80 maxconn -1", |m| server(m).options.maxconn == NONE),
    ("server s 127.0.0.1:80 maxqueue -1", |m| server(m).options.maxqueue == NONE),
    ("server s 127.0.0.1:80 minconn -1", |m| server(m).options.minconn == NONE),
    ("server s 127.0.0.1:80 pool-low-conn -1", |m| server(m).options.pool_low_conn == NONE),
    ("server s 127.0.0.1:80 max-reuse -2", |m| server(m).options.max_reuse == -1),
    ("server s 127.0.0.1:80 check rise 4294967297", |m| server(m).options.check.rise == 1),
    ("server s 127.0.0.1:80 check port 99999", |m| server(m).options.check.port == Some(34463)),
    ("server s 127.0.0.1:80 agent-check agent-port 99999", |m| server(m).options.check.agent.port == Some(34463)),
    ("server s 127.0.0.1:80 weight 4294967297", |m| server(m).options.weight == 1),
    ("default-server maxconn -1\n server s 127.0.0.1:80", |m| server(m).options.maxconn == NONE),
];

#[test]
fn numbers_are_kept_as_a_c_program_keeps_them() {
    for (line, holds) in NUMBERS {
        let text = listen(&format!(" {line}"));
        assert!(holds(&model(&text)), "{line}");
    }
    let told = messages(&listen(" maxconn 99999999999"), Severity::Warning);
    let expected = "'maxconn' : '99999999999' does not fit and is read as 1215752191";
    assert!(told.iter().any(|told| told == expected), "{told:?}");
}

#[test]
fn a_server_without_a_number_has_zero() {
    for (word, holds) in [
        ("weight", (|m| server(m).options.weight == 0) as fn(&Model) -> bool),
        ("maxconn", |m| server(m).options.maxconn == 0),
        ("minconn", |m| server(m).options.minconn == 0),
        ("maxqueue", |m| server(m).options.maxqueue == 0),
    ] {
        let text = listen(&format!(" server s 127.0.0.1:80 {word}"));
        assert!(holds(&model(&text)), "{word}");
        let told = format!("'{word}' without a number is read as 0");
        assert_eq!(messages(&text, Severity::Warning), [told]);
    }
}

#[rustfmt::skip]
const LISTS: &[Case] = &[
    ("bind 127.0.0.1:81,", |m| front(m).binds.len() == 2),
    ("bind :81 ssl crt /none alpn h2,http/1.1,", |_| true),
    ("server s 127.0.0.1:80 alpn ,h2", |m| server(m).options.tls.options.alpn.as_deref() == Some(b"\x02h2")),
    ("server s 127.0.0.1:80 npn h2,", |_| true),
    ("server s 127.0.0.1:80 check check-alpn h2,", |_| true),
    ("option httpchk\n http-check connect alpn h2,", |_| true),
    ("balance random()", |m| matches!(back(m).balance, crate::model::Balance::Random { draws: 2 })),
    ("balance random(3)x", |m| matches!(back(m).balance, crate::model::Balance::Random { draws: 3 })),
    ("default-server", |_| true),
    ("email-alert from", |_| true),
    ("email-alert to", |_| true),
    ("email-alert mailers", |_| true),
    ("email-alert myhostname", |_| true),
    ("option httpchk GET / FOO", |_| true),
    ("option httpchk FOO / HTTP/3", |_| true),
    ("option httpchk GET / HTTP/2", |_| true),
    ("option httpchk\n http-check send ver 1.1", |_| true),
    ("option httpchk\n http-check send ver FOO/1.1", |_| true),
    ("option httpchk\n http-check expect status 1000", |_| true),
    ("option httpchk\n http-check expect status 99", |_| true),
    ("option httpchk\n http-check expect status 200,", |_| true),
    ("option httpchk\n http-check expect status 0-99999", |_| true),
];

#[test]
fn empty_members_and_odd_words_are_no_mistakes() {
    for (line, holds) in LISTS {
        let text = listen(&format!(" {line}"));
        let alerts = messages(&text, Severity::Alert);
        if alerts.is_empty() {
            assert!(holds(&model(&text)), "{line}");
        }
        let about_files = |alert: &String| alert.contains("/none");
        assert!(alerts.iter().all(about_files), "{line}: {alerts:?}");
    }
}

#[test]
fn alerts_that_haproxy_survives_are_warnings() {
    let text = listen(" default-server id 5\n server s 127.0.0.1:80");
    let told = "'id' option is not accepted in default-server sections: ignored";
    assert_eq!(messages(&text, Severity::Warning), [told]);
    assert_eq!(server(&model(&text)).id, 1);
    let text = listen(" server s 127.0.0.1:80 observe layer7 error-limit 3");
    let text = text.replace("mode http", "mode tcp");
    let told = messages(&text, Severity::Warning);
    assert!(told[0].ends_with("'layer7' can only be used in http proxies: ignored"), "{told:?}");
    let model = model(&text);
    let options = &server(&model).options;
    assert!(options.observe.is_none() && options.error_limit == 3);
}

#[test]
fn the_first_of_a_template_takes_the_number() {
    let model = model(&listen(" server-template s 3 127.0.0.1:80 id 9"));
    let ids: Vec<u32> = back(&model).servers.iter().map(|server| server.id).collect();
    assert_eq!(ids, [9, 2, 3]);
}

#[test]
fn an_spoe_check_may_be_preset() {
    let text = listen(" server s 127.0.0.1:80 check").replacen(
        " mode http",
        " mode tcp\n option spop-check",
        1,
    );
    assert_eq!(messages(&text, Severity::Alert), [""; 0]);
}

#[test]
fn a_section_out_of_service_is_not_judged_at_the_end() {
    for line in [
        "balance hash foo",
        "balance hash path foo",
        "server a nosuch.invalid:80 init-addr libc",
        "server a 127.0.0.1:80 track nope/x",
        "server a 127.0.0.1:80 resolvers nope",
        "default_backend nope",
        "use_backend nope if TRUE",
        "stick on src table nope",
        "http-request track-sc0 src table nope",
        "http-request deny if { nbsrv(nope) gt 1 }",
        "http-request auth unless { http_auth(nope) }",
        "log-format %foo",
        "unique-id-format %foo",
        "errorfiles nope",
        "email-alert mailers nope\n email-alert from a\n email-alert to b",
    ] {
        let wrong = listen(&format!(" {line}"));
        assert_eq!(messages(&wrong, Severity::Alert).len(), 1, "{line}");
        let retired = listen(&format!(" {line}\n disabled"));
        assert_eq!(messages(&retired, Severity::Alert), [""; 0], "{line}");
        assert!(loaded(&retired).model.is_some(), "{line}");
    }
    let unknown = listen(" foo\n disabled");
    assert_eq!(messages(&unknown, Severity::Alert).len(), 1);
}

const TCP: &str =
    "defaults\n mode tcp\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

fn alerts(section: &str, line: &str) -> Vec<String> {
    messages(&format!("{TCP}{section}\n {line}\n"), Severity::Alert)
}

#[test]
fn what_is_ignored_is_looked_at_all_the_same() {
    for line in [
        "backlog",
        "backlog 10 20",
        "bind 127.0.0.1",
        "bind 127.0.0.1:80 foo",
        "capture cookie x",
        "capture request header x",
        "default_backend",
        "maxconn",
        "monitor-uri",
        "max-session-srv-conns",
        "clitcpka-cnt 5x",
        "clitcpka-idle 10x",
        "use_backend",
        "monitor fail",
        "rate-limit foo",
        "option httplog x",
        "log-format",
    ] {
        assert_eq!(alerts("backend b", line).len(), 1, "{line}");
    }
    let front = "frontend f\n bind :80";
    for line in [
        "balance uri len 0",
        "balance url_param",
        "balance hash foo",
        "cookie X insert prefix",
        "cookie \"\"",
        "dynamic-cookie-key",
        "fullconn",
        "force-persist foo",
        "hash-type foo",
        "http-check foo",
        "srvtcpka-idle",
        "option httpchk GET / X Y",
    ] {
        assert_eq!(alerts(front, line).len(), 1, "{line}");
    }
    for line in ["balance hash path", "stick on foo", "srvtcpka-cnt 3", "cookie X insert"] {
        assert_eq!(alerts(front, line), [""; 0], "{line}");
    }
    let ignored = format!("{TCP}{front}\n srvtcpka-cnt 3\n");
    let told = "srvtcpka-cnt will be ignored because frontend 'f' has no backend capability";
    assert_eq!(messages(&ignored, Severity::Warning), [told]);
    let acl = format!("{TCP}backend b\n acl own src 127.0.0.1\n use_backend b if own\n");
    assert_eq!(messages(&acl, Severity::Alert), [""; 0]);
}

#[test]
fn what_haproxy_refuses_is_refused() {
    for (line, message) in [
        (
            "error-log-format %foo",
            "failed to parse error-log-format : no such format variable 'foo'. If you wanted to emit the '%' character verbatim, you need to use '%%'",
        ),
        (
            "server s 127.0.0.1:80 redir http://x",
            "proxy 'l' : server cannot have cookie or redirect prefix in non-HTTP mode.",
        ),
        (
            "stick-table type ip size 1k\n stick-table type ip size 1k",
            "stick-table name 'l' conflicts with table declared in proxy 'l' at a.cfg:8.",
        ),
        ("id 10\n id 11", "proxy l reuses same custom id as proxy l (declared at a.cfg:6)."),
        (
            "source 127.0.0.2:1000-2000",
            "'source 127.0.0.2:1000-2000' : port range not permitted here in '127.0.0.2:1000-2000'",
        ),
        ("log 127.0.0.1:514 format rfc5424 len 200 local0", "log : unknown log facility 'len'"),
        ("log 127.0.0.1:514 sample 1:2 sample 1:3 local0", "log : unknown log facility 'sample'"),
    ] {
        assert_eq!(alerts("listen l\n bind :80", line), [message], "{line}");
    }
    for file in ["ca-file", "crl-file"] {
        let line = format!("server s 127.0.0.1:80 {file} /nonexistent");
        assert_eq!(alerts("listen l\n bind :80", &line).len(), 1, "{file}");
    }
    let sound = format!("{TCP}listen l\n bind :80\n error-log-format %ci\n");
    assert_eq!(messages(&sound, Severity::Warning), [""; 0]);
}

#[test]
fn what_has_no_effect_is_told() {
    let ignored = |what: &str| format!("{what} ignored for proxy 'l' as it requires HTTP mode.");
    let option = |name: &str| ignored(&format!("'option {name}'"));
    for (line, message) in [
        ("cookie X insert domain foo", "domain 'foo' contains no embedded dot, this configuration may not work properly (see RFC6265#5.2.3).".to_owned()),
        ("capture cookie x len 5", ignored("'capture' statement")),
        ("option accept-invalid-http-request", option("accept-invalid-http-request")),
        ("option accept-invalid-http-response", option("accept-invalid-http-response")),
        (
            "option accept-unsafe-violations-in-http-request",
            option("accept-unsafe-violations-in-http-request"),
        ),
        (
            "option accept-unsafe-violations-in-http-response",
            option("accept-unsafe-violations-in-http-response"),
        ),
        ("option disable-h2-upgrade", option("disable-h2-upgrade")),
        ("option http-pretend-keepalive", option("http-pretend-keepalive")),
        ("option http-use-proxy-header", option("http-use-proxy-header")),
        ("option idle-close-on-response", option("idle-close-on-response")),
        ("tcp-request content capture req.ssl_sni len 10", "proxy 'l' : a 'tcp-request capture' rule explicitly depending on request contents without any 'tcp-request inspect-delay' setting. This means that this rule will randomly find its contents. This can be fixed by setting the tcp-request inspect-delay.".to_owned()),
        ("default_backend b\n server s 127.0.0.1:80\nbackend b", "In proxy 'l', the 'default_backend' rule always has precedence over the servers, which will never be used.".to_owned()),
        ("option smtpchk\n tcp-check connect", "proxy 'l' uses tcp-check rules without 'option tcp-check', so the rules are ignored.".to_owned()),
        ("option smtpchk\n http-check expect status 200", "proxy 'l' uses http-check rules without 'option httpchk', so the rules are ignored.".to_owned()),
        ("server s nosuch.invalid:80 init-addr last,libc,1.2.3.4", "'server l/s' : could not resolve address 'nosuch.invalid', falling back to configured address.".to_owned()),
        ("server s 127.0.0.1:80 source 0.0.0.0 usesrc hdr_ip(x,-1)", "proxy 'l' : server s cannot use header x as source IP in non-HTTP mode.".to_owned()),
        ("source 0.0.0.0 usesrc hdr_ip(x,-1)", "proxy 'l' : ignoring use of header x as source IP in non-HTTP mode.".to_owned()),
        ("external-check command /x", "'external-check command' will be ignored for proxy 'l' (requires 'option external-check').".to_owned()),
    ] {
        let told = messages(&format!("{TCP}listen l\n bind :80\n {line}\n"), Severity::Warning);
        assert_eq!(told.iter().filter(|told| **told == message).count(), 1, "{line}: {told:?}");
    }
    let told = messages(&listen(" stats show-desc"), Severity::Warning);
    assert_eq!(
        told,
        ["'show-desc' requires a parameter or 'desc' to be set in the global section."]
    );
    let described = format!("global\n description x\n{}", listen(" stats show-desc"));
    assert_eq!(messages(&described, Severity::Warning), [""; 0]);
    let front = TCP.to_owned() + " external-check command /x\nfrontend f\n bind :80\n";
    assert_eq!(messages(&front, Severity::Warning).len(), 1);
}

/// Seen with HAProxy 2.6.12.
#[test]
fn what_stands_behind_the_unit_of_a_time_is_ignored_with_a_warning() {
    let head =
        "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";
    for line in [
        "timeout client TIME",
        "timeout tunnel TIME",
        "timeout http-request TIME",
        "server s 1.1.1.1:80 check inter TIME",
        "server s 1.1.1.1:80 slowstart TIME",
        "server s 1.1.1.1:80 tcp-ut TIME",
        "default-server inter TIME",
        "stick-table type ip size 1k expire TIME",
        "stick-table type ip size 1k store http_req_rate(TIME)",
        "cookie c insert maxidle TIME",
        "http-request set-timeout server TIME",
        "http-request wait-for-body time TIME",
        "tcp-request inspect-delay TIME",
        "stats refresh TIME",
        "srvtcpka-idle TIME",
    ] {
        for (time, found) in [("15min", 'i'), ("1s[", '['), ("1h30m", '3')] {
            let text = format!("{head}listen l\n bind :1\n {}\n", line.replace("TIME", time));
            assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new(), "{line} {time}");
            let start = format!("unexpected character '{found}' after the timer value '{time}'");
            let warnings = messages(&text, Severity::Warning);
            assert!(warnings.iter().any(|it| it.contains(&start)), "{line} {time}: {warnings:?}");
        }
    }
    for section in [
        "global\n stats timeout 1m2",
        "global\n hard-stop-after 1m2",
        "resolvers r\n hold valid 1m2",
    ] {
        let warnings = messages(&format!("{section}\n"), Severity::Warning);
        assert!(warnings.iter().any(|it| it.contains("'2' after the timer value '1m2'")));
    }
    let text = format!("{head}listen l\n bind :1\n timeout client 15min\n");
    assert!(format!("{:?}", model(&text)).contains("900000"));
}

#[test]
fn further_words_of_resolvers_and_mailers_are_ignored_with_a_warning() {
    for (line, word) in [
        ("resolvers r\n hold valid 10s zzz", "hold"),
        ("resolvers r\n timeout retry 10s zzz", "timeout"),
        ("resolvers r\n resolve_retries 3 zzz", "resolve_retries"),
        ("resolvers r\n accepted_payload_size 1000 zzz", "accepted_payload_size"),
        ("mailers m\n timeout mail 1s zzz", "timeout"),
        ("mailers m\n mailer a 1.1.1.1:25 zzz", "mailer"),
    ] {
        let text = format!("{line}\n");
        assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new(), "{line}");
        let warning = format!("'zzz' is ignored behind the last argument of '{word}'");
        assert!(messages(&text, Severity::Warning).contains(&warning), "{line}");
    }
}

#[test]
fn a_capture_slot_may_be_declared_below_the_rule_that_fills_it() {
    let head = "defaults\n mode http\n timeout client 1s\nfrontend f\n bind :1\n";
    for (rule, declared) in [
        ("http-request capture hdr(x) id 0", "declare capture request len 10"),
        ("http-request capture hdr(x) id 0", "capture request header y len 10"),
        ("http-response capture res.hdr(x) id 0", "declare capture response len 10"),
    ] {
        let text = format!("{head} {rule}\n {declared}\n");
        assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new(), "{rule}");
        let other = declared.replace("request", "X").replace("response", "request");
        let text = format!("{head} {rule}\n {}\n", other.replace('X', "response"));
        let alerts = messages(&text, Severity::Alert);
        assert!(alerts[0].contains("unable to find capture id '0'"), "{rule}: {alerts:?}");
    }
}

#[test]
fn two_dashes_among_numbers_are_a_zero() {
    let text = "listen l\n mode http\n bind :1\n timeout client 1s\n acl a status -m int eq -- 200\n \
                acl b req.hdr_cnt(x) ge -- 2\n acl c dst_port -- 80\n";
    let warnings = messages(text, Severity::Warning);
    let zeros = warnings.iter().filter(|it| it.contains("'--' behind an operator")).count();
    assert_eq!(zeros, 2, "{warnings:?}");
    assert_eq!(messages(text, Severity::Alert), Vec::<String>::new());
}

/// Seen with HAProxy 2.6.12.
#[test]
fn names_that_lead_nowhere_are_refused() {
    let head =
        "defaults\n mode http\n timeout client 1s\n timeout connect 1s\n timeout server 1s\n";
    let list = "userlist ul\n group g\n user a insecure-password b groups g\n";
    let rule = |group: &str| {
        format!(
            "{head}{list}frontend f\n bind :1\n http-request deny unless {{ http_auth_group(ul) {group} }}\n"
        )
    };
    assert_eq!(messages(&rule("g"), Severity::Alert), Vec::<String>::new());
    for groups in ["nogroup", "g nogroup", "G nogroup"] {
        let alerts = messages(&rule(groups), Severity::Alert);
        let expected = "proxy f: acl http_auth_group(): invalid group 'nogroup'.".to_owned();
        assert!(alerts.contains(&expected), "{groups}: {alerts:?}");
    }
    for base in ["crt-base", "ca-base"] {
        let text = format!("global\n {base} /a\nglobal\n {base} /b\n");
        let expected = format!("'{base}' already specified.");
        assert_eq!(messages(&text, Severity::Alert), [expected]);
    }
    let text = format!("{head}frontend f\n bind :1\n use-server s if TRUE\n");
    let expected = "frontend 'f' : unable to find server 's' referenced in a 'use-server' rule.";
    assert_eq!(messages(&text, Severity::Alert), [expected]);
    let text = format!("{head}listen f\n bind :1\n option httpchk\n http-check send hdr x \"\"\n");
    let alerts = messages(&text, Severity::Alert);
    assert!(alerts[0].ends_with("'hdr' expects <name> and <value> as arguments."), "{alerts:?}");
}

/// The hidden proxy of `stats socket` takes number 1 even if another proxy has it, as in
/// HAProxy 2.6.12.
#[test]
fn automatic_numbers_of_proxies_skip_those_that_are_taken() {
    let ids = |text: &str| -> Vec<u32> {
        let text = text.replace(';', "\n mode http\n timeout client 1s\n");
        let model = model(&format!("global\n stats socket /x\n{text}"));
        model.proxies.iter().map(|proxy| proxy.id).collect()
    };
    let front = |name: &str, more: &str| format!("frontend {name}; bind :1\n{more}");
    let text =
        front("a", " id 1\n") + &front("b", "") + &front("c", " id 4\n") + "backend d;backend e;";
    assert_eq!(ids(&text), [1, 3, 4, 5, 6]);
    let text = front("a", "") + &front("b", " id 2\n") + &front("c", "");
    assert_eq!(ids(&text), [3, 2, 5]);
}
