//! Words for one value of several: each sets its own value in the model.
use super::*;
use crate::model::*;
use table::DataType;

/// A text, and a check of its value in the model.
type Case<T> = (&'static str, fn(&T) -> bool);

fn back(proxy: &Proxy) -> &Back {
    proxy.back.as_ref().unwrap()
}

fn front(proxy: &Proxy) -> &Front {
    proxy.front.as_ref().unwrap()
}

fn lines(lines: &str) -> Proxy {
    only(&listen(lines))
}

fn log(line: &str) -> LogTarget {
    model(&format!("global\n log 127.0.0.1 {line}\n")).global.logs[0].clone()
}

#[test]
fn zero_stands_for_no_limit_of_ones_own() {
    let zeros = "global\n maxconn 0\n ulimit-n 0\n hard-stop-after 0\n";
    let global = model(zeros).global;
    assert_eq!((global.process.maxconn, global.process.ulimit_n), (None, None));
    assert_eq!(global.hard_stop_after, None);
    let text =
        listen(" maxconn 0\n backlog 0").replace("listen", " maxconn 50\n backlog 7\nlisten");
    let proxy = only(&text);
    assert_eq!((front(&proxy).settings.maxconn, front(&proxy).backlog), (None, None));
}

#[test]
fn facilities_have_their_numbers() {
    for (name, number) in [
        ("kern", 0),
        ("user", 1),
        ("mail", 2),
        ("daemon", 3),
        ("auth", 4),
        ("syslog", 5),
        ("lpr", 6),
        ("news", 7),
        ("uucp", 8),
        ("cron", 9),
        ("auth2", 10),
        ("ftp", 11),
        ("ntp", 12),
        ("audit", 13),
        ("alert", 14),
        ("cron2", 15),
        ("local0", 16),
        ("local1", 17),
        ("local2", 18),
        ("local3", 19),
        ("local4", 20),
        ("local5", 21),
        ("local6", 22),
        ("local7", 23),
    ] {
        assert_eq!(log(name).facility, Facility(number), "{name}");
    }
}

#[test]
fn levels_have_their_numbers() {
    for (name, number) in [
        ("emerg", 0),
        ("alert", 1),
        ("crit", 2),
        ("err", 3),
        ("warning", 4),
        ("notice", 5),
        ("info", 6),
        ("debug", 7),
    ] {
        let target = log(&format!("local0 {name} {name}"));
        assert_eq!(
            (target.level, target.min_level),
            (LogLevel(number), LogLevel(number)),
            "{name}"
        );
    }
}

#[test]
fn transports_are_told_apart() {
    for (name, transport) in [
        ("local", LogTransport::Local),
        ("rfc3164", LogTransport::Rfc3164),
        ("rfc5424", LogTransport::Rfc5424),
        ("priority", LogTransport::Priority),
        ("short", LogTransport::Short),
        ("timed", LogTransport::Timed),
        ("iso", LogTransport::Iso),
        ("raw", LogTransport::Raw),
    ] {
        assert_eq!(log(&format!("format {name} local0")).transport, transport, "{name}");
    }
}

#[test]
fn every_error_reply_can_be_replaced() {
    for code in [
        "200", "400", "401", "403", "404", "405", "407", "408", "410", "413", "421", "422", "425",
        "429", "500", "501", "502", "503", "504",
    ] {
        let proxy = lines(&format!(" errorloc {code} /x\n"));
        let reply = &proxy.common.error_replies[&code.parse().unwrap()];
        assert_eq!(location(reply), Some("302 Found /x".to_owned()));
    }
    let proxy = lines(" errorloc302 500 /y\n");
    let reply = &proxy.common.error_replies[&500];
    assert_eq!(location(reply), Some("302 Found /y".to_owned()));
}

/// Lines, and whether the model holds what the last of their words says.
const PROXIES: &[Case<Proxy>] = &[
    (" disabled\n enabled", |p| !p.disabled),
    (" log-format-sd [x@1\\ a=b]", |p| p.formats.structured_data.is_some()),
    (" unique-id-format %ci", |p| p.formats.unique_id.is_some()),
    (" stats show-modules", |p| p.common.stats.as_ref().unwrap().show_modules),
    (" stats show-node n", |p| p.common.stats.as_ref().unwrap().node.as_deref() == Some("n")),
    (" timeout queue 7s", |p| p.common.timeouts.queue == Some(7000)),
    (" timeout check 7s", |p| p.common.timeouts.check == Some(7000)),
    (" timeout server 7s", |p| p.common.timeouts.server == Some(7000)),
    (" http-reuse never", |p| back(p).settings.reuse == Reuse::Never),
    (" http-reuse never\n http-reuse safe", |p| back(p).settings.reuse == Reuse::Safe),
    (" http-reuse aggressive", |p| back(p).settings.reuse == Reuse::Aggressive),
    (" http-reuse always", |p| back(p).settings.reuse == Reuse::Always),
    (" option httpclose\n option http-keep-alive", |p| {
        p.common.connection_mode == ConnectionMode::KeepAlive
    }),
    (
        " option http-restrict-req-hdr-names delete\n option http-restrict-req-hdr-names preserve",
        |p| p.common.header_names == Some(HeaderNames::Preserve),
    ),
    (" option http-restrict-req-hdr-names reject", |p| {
        p.common.header_names == Some(HeaderNames::Reject)
    }),
    (" server s 1.2.3.4:80 disabled enabled", |p| !back(p).servers[0].options.disabled),
    (" server s 1.2.3.4:80 backup no-backup", |p| !back(p).servers[0].options.backup),
    (" server s 1.2.3.4:80 non-stick stick", |p| !back(p).servers[0].options.non_stick),
    (" server s 1.2.3.4:80 pool-max-conn 3", |p| back(p).servers[0].options.pool_max_conn == 3),
    (" stick-table type ip size 1k\n stick match src", |p| {
        p.rules.sticking.iter().any(|rule| rule.matches && !rule.stores_request)
    }),
    (" stick-table type ip size 1k\n stick store-request src", |p| {
        p.rules.sticking.iter().any(|rule| !rule.matches && rule.stores_request)
    }),
    (" option httplog clf", |p| front(p).log_style == LogStyle::HttpClf),
];

#[test]
fn words_of_proxies_leave_their_value() {
    for (text, holds) in PROXIES {
        assert!(holds(&lines(text)), "{text}");
    }
}

/// Options of a `bind` line, and whether they are in the model.
const BINDS: &[Case<BindOptions>] = &[
    ("backlog 7", |o| o.backlog == 7),
    ("gid 7", |o| o.access.gid == Some(7)),
    ("group www-data", |o| o.access.gid == Some(34)),
    ("id 7", |o| o.id == Some(7)),
    ("interface lo", |o| o.interface.as_deref() == Some("lo")),
    ("level admin", |o| o.level == Level::Admin),
    ("maxconn 7", |o| o.maxconn == 7),
    ("mode 600", |o| o.access.mode == Some(0o600)),
    ("name x", |o| o.name.as_deref() == Some("x")),
    ("nice 7", |o| o.nice == 7),
    ("severity-output number", |o| o.severity_output == SeverityOutput::Number),
    ("uid 7", |o| o.access.uid == Some(7)),
    ("user www-data", |o| o.access.uid == Some(33)),
    ("v4v6", |o| o.v6only == Some(false)),
    ("v6only", |o| o.v6only == Some(true)),
];

#[test]
fn options_of_listeners_leave_their_value() {
    for (text, holds) in BINDS {
        let proxy = only(&format!("{}\n", listen(&format!(" bind :81 {text}"))));
        assert!(holds(&front(&proxy).binds[1].options), "{text}");
    }
    let text = listen(" bind :81 expose-fd listeners");
    let told = messages(&text, Severity::Warning);
    assert!(told.iter().any(|it| it.contains("'expose-fd listeners' has no effect")), "{told:?}");
    let sockets = model("global\n stats socket /tmp/x expose-fd listeners\n").global.stats.sockets;
    assert!(sockets[0].options.exposes_listeners);
}

#[test]
fn tables_store_what_they_are_told_to() {
    for (text, data) in [
        ("bytes_in_cnt", DataType::BytesInCnt),
        ("bytes_in_rate(1s)", DataType::BytesInRate),
        ("bytes_out_cnt", DataType::BytesOutCnt),
        ("bytes_out_rate(1s)", DataType::BytesOutRate),
        ("conn_cnt", DataType::ConnCnt),
        ("conn_cur", DataType::ConnCur),
        ("conn_rate(1s)", DataType::ConnRate),
        ("gpc(2)", DataType::Gpc),
        ("gpc0", DataType::Gpc0),
        ("gpc0_rate(1s)", DataType::Gpc0Rate),
        ("gpc1", DataType::Gpc1),
        ("gpc1_rate(1s)", DataType::Gpc1Rate),
        ("gpc_rate(2,1s)", DataType::GpcRate),
        ("gpt(2)", DataType::Gpt),
        ("gpt0", DataType::Gpt0),
        ("http_err_cnt", DataType::HttpErrCnt),
        ("http_err_rate(1s)", DataType::HttpErrRate),
        ("http_fail_cnt", DataType::HttpFailCnt),
        ("http_fail_rate(1s)", DataType::HttpFailRate),
        ("http_req_cnt", DataType::HttpReqCnt),
        ("http_req_rate(1s)", DataType::HttpReqRate),
        ("server_id", DataType::ServerId),
        ("server_key", DataType::ServerKey),
        ("sess_cnt", DataType::SessCnt),
        ("sess_rate(1s)", DataType::SessRate),
    ] {
        let model = model(&listen(&format!(" stick-table type ip size 1k store {text}")));
        assert!(model.tables[0].stores(data), "{text}");
    }
}

#[test]
fn tables_have_keys_of_their_type() {
    for (name, kind) in [
        ("binary", table::KeyKind::Binary(table::KeyKind::DEFAULT_LEN)),
        ("integer", table::KeyKind::Integer),
        ("ip", table::KeyKind::Ip),
        ("ipv6", table::KeyKind::Ipv6),
        ("string", table::KeyKind::Text(table::KeyKind::DEFAULT_LEN)),
    ] {
        let model = model(&listen(&format!(" stick-table type {name} size 1k")));
        assert_eq!(model.tables[0].kind, kind, "{name}");
    }
}

fn steps(text: &str) -> Vec<String> {
    match &back(&lines(text)).check {
        HealthCheck::Script(script) => {
            script.steps.iter().map(|step| format!("{:?}", step.action)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn steps_of_checks_are_what_their_lines_say() {
    for (line, expected) in [
        ("tcp-check comment why", "Comment"),
        ("tcp-check connect port 1", "Connect("),
        ("tcp-check send x", "Send(Bytes("),
        ("tcp-check send-lf x%[be_name]", "Send(Format("),
        ("tcp-check send-binary 41", "Send(Bytes("),
        ("tcp-check send-binary-lf 4%[int(1)]", "Send(HexFormat("),
        ("tcp-check expect string x", "Expect("),
        ("tcp-check set-var(check.x) int(1)", "Assign(Set("),
        ("tcp-check set-var-fmt(check.x) y", "Assign(SetFormat("),
        ("tcp-check unset-var(check.x)", "Assign(Unset("),
        ("http-check comment why", "Comment"),
        ("http-check set-var(check.x) int(1)", "Assign(Set("),
        ("http-check set-var-fmt(check.x) y", "Assign(SetFormat("),
        ("http-check unset-var(check.x)", "Assign(Unset("),
    ] {
        let option = if line.starts_with("http") { "httpchk" } else { "tcp-check" };
        let steps = steps(&format!(" option {option}\n {line}"));
        assert!(steps.iter().any(|step| step.starts_with(expected)), "{line}: {steps:?}");
    }
}

#[test]
fn flags_of_http_checks_are_kept() {
    let flags = |line: &str| match &back(&lines(&format!(" option httpchk\n {line}"))).check {
        HealthCheck::Script(script) => (script.disable_on_404, script.send_state),
        _ => (false, false),
    };
    assert_eq!(flags("http-check disable-on-404"), (true, false));
    assert_eq!(flags("http-check send-state"), (false, true));
}

#[test]
fn well_known_protocols_have_scripts() {
    for (option, part) in [
        ("ldap-check", "Send(Bytes("),
        ("mysql-check", "Expect("),
        ("pgsql-check user u", "Send("),
        ("redis-check", "Send(Bytes("),
        ("smtpchk", "Send("),
        ("spop-check", "Send(Bytes("),
        ("ssl-hello-chk", "Send("),
    ] {
        let text = format!(
            "defaults\n timeout server 1s\n timeout connect 1s\nbackend b\n option {option}\n"
        );
        let HealthCheck::Script(script) = back(&only(&text)).check.clone() else {
            panic!("{option}: no script")
        };
        let steps: Vec<_> = script.steps.iter().map(|it| format!("{:?}", it.action)).collect();
        assert!(steps.iter().any(|step| step.starts_with(part)), "{option}: {steps:?}");
    }
}

#[test]
fn files_are_known_to_the_configuration() {
    let model = model("global\n description \"$HAPROXY_CFGFILES\"\n");
    assert_eq!(model.global.settings.description.as_deref(), Some("a.cfg"));
}

#[test]
fn peers_have_a_local_name() {
    let text = "global\n localpeer ours\n description \"$HAPROXY_LOCALPEER\"\n";
    let description = |given: &str, fixed: bool, text: &str| {
        let local_peer = LocalPeer { name: given, fixed };
        let sources = [Source::new("a.cfg", text)];
        let loaded = load(&sources, Setup { local_peer, ..setup() });
        let told = loaded.diagnostics.of(Severity::Warning).collect::<Vec<_>>();
        assert_eq!(told.len(), usize::from(fixed), "{told:?}");
        loaded.model.expect("a good text").global.settings.description.expect("one is given")
    };
    assert_eq!(description("host", false, text), "ours");
    assert_eq!(description("fixed", true, text), "fixed", "-L wins");
    let text = text.replace(" localpeer ours\n", "");
    assert_eq!(description("host", false, &text), "host");
}

#[test]
fn sinks_must_be_there() {
    for (sink, known) in [("stdout", true), ("buf0", true), ("r", true), ("q", false)] {
        let line = format!(" http-request set-var(txn.x) src,debug(p,{sink})");
        let text = format!("{}\nring r\n", listen(&line));
        let told = messages(&text, Severity::Alert);
        let expected = format!("invalid args in converter 'debug' : No such sink '{sink}'.");
        assert_eq!(told.iter().any(|it| it.contains(&expected)), !known, "{told:?}");
    }
}

#[test]
fn experiments_must_be_allowed() {
    let text = listen(" http-request normalize-uri path-strip-dot");
    assert!(!messages(&text, Severity::Alert).is_empty());
    let text = format!("global\n expose-experimental-directives\n{text}");
    assert_eq!(messages(&text, Severity::Alert), [""; 0]);
    let told = messages("global\n profiling.memory on\n", Severity::Warning);
    assert!(told.iter().any(|it| it.contains("'profiling.memory' has no effect")), "{told:?}");
}

#[test]
fn built_in_formats_are_chosen() {
    for (name, line, style) in [
        ("tcplog", "option tcplog", LogStyle::Tcp),
        ("httplog", "option httplog", LogStyle::Http),
        ("httplog-clf", "option httplog clf", LogStyle::HttpClf),
    ] {
        assert_eq!(front(&lines(&format!(" {line}"))).log_style, style, "{name}");
    }
}

#[test]
fn variables_have_room() {
    use sample::{VarName, Variables};
    for (line, scope) in [
        ("tune.vars.check-max-size 100", "check"),
        ("tune.vars.global-max-size 100", "txn"),
        ("tune.vars.proc-max-size 100", "proc"),
        ("tune.vars.reqres-max-size 100", "req"),
        ("tune.vars.sess-max-size 100", "sess"),
        ("tune.vars.txn-max-size 100", "txn"),
    ] {
        let process = model(&format!("global\n {line}\n")).variables;
        let all = Variables { process, ..Variables::default() };
        let name = VarName::parse(&format!("{scope}.x")).unwrap();
        for (length, fits) in [(20, true), (21, false)] {
            all.set(&name, Some(sample::Value::str(&vec![b'x'; length]).into_shared()));
            assert_eq!(all.get(&name).is_some(), fits, "{line}: {length} bytes");
        }
    }
    for (line, message) in [
        ("tune.vars.txn-max-size 10z", "tune.vars.txn-max-size: '10z' is an invalid size"),
        ("tune.vars.proc-max-size", "tune.vars.proc-max-size: '' is an invalid size"),
    ] {
        assert_eq!(messages(&format!("global\n {line}\n"), Severity::Alert), [message]);
    }
}

#[test]
fn what_does_nothing_takes_no_words() {
    for name in ["no-memory-trimming", "noevports", "nokqueue", "nopoll"] {
        let told = messages(&format!("global\n {name}\n {name} x\n"), Severity::Alert);
        assert_eq!(told, [format!("'{name}' cannot handle unexpected argument 'x'.")]);
    }
}
