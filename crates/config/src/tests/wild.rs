//! Usage in real configurations that manuals do not show.
use super::*;

const TIMES: &str =
    "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

fn warnings(text: &str) -> Vec<String> {
    messages(text, Severity::Warning)
}

/// The settings of the process.
fn shown(text: &str) -> String {
    format!("{:?}", model(text).global)
}

#[test]
fn variables_in_addresses_need_no_quotes() {
    let text = format!(
        "global\n log 127.0.0.1:$PORT local0\n{TIMES}listen l\n bind *:$PORT\n bind 127.0.0.1:${{PORT}},127.0.0.1:1$PORT0\n server s 127.0.0.1:$PORT\n"
    );
    // `$PORT0` is another variable, which is unset.
    let alerts = messages(&text, Severity::Alert);
    assert_eq!(alerts, Vec::<String>::new());
    let model = model(&text);
    let binds = &model.proxies[0].front.as_ref().unwrap().binds;
    let written: Vec<&str> = binds.iter().map(|bind| &*bind.written).collect();
    assert_eq!(written, ["*:8080", "127.0.0.1:8080", "127.0.0.1:1"]);
}

#[test]
fn an_unset_variable_leaves_an_address_without_port() {
    for (address, message) in [
        ("*:$UNSET", "'bind' : missing port specification in '*:'"),
        ("a$", "'bind' : missing port specification in 'a$'"),
        ("*:${UNSET-80}", "'bind' : invalid port range '${UNSET-80}'"),
    ] {
        let text = format!("{TIMES}listen l\n bind {address}\n");
        assert_eq!(messages(&text, Severity::Alert), [message], "{address}");
    }
}

#[test]
fn the_owner_of_a_socket_may_stand_before_its_mode() {
    let text = format!("{TIMES}listen l\n bind /tmp/x user root group www-data mode 666\n");
    let model = model(&text);
    let access = &model.proxies[0].front.as_ref().unwrap().binds[0].options.access;
    assert_eq!((access.uid, access.gid, access.mode), (Some(0), Some(34), Some(0o666)));
    let extra = "global\n user root x\nlisten l\n bind :1\n";
    assert_eq!(messages(extra, Severity::Alert), ["'user' cannot handle unexpected argument 'x'."]);
}

#[test]
fn what_is_given_twice_to_the_process_counts_once() {
    for (first, second, message) in [
        ("maxconn 3", "maxconn 5", "'maxconn' already specified. Continuing."),
        ("gid 99", "group root", "gid/group was already specified. Continuing."),
        ("user root", "uid 4", "user/uid already specified. Continuing."),
        ("chroot /a", "chroot /b", "'chroot' already specified. Continuing."),
        ("pidfile /a", "pidfile /b", "'pidfile' already specified. Continuing."),
        ("spread-checks 4", "spread-checks 5", "spread-checks already specified. Continuing."),
        ("ulimit-n 400", "ulimit-n 500", "'ulimit-n' already specified. Continuing."),
        (
            "log-send-hostname a",
            "log-send-hostname b",
            "'log-send-hostname' already specified. Continuing.",
        ),
        ("tune.maxaccept 4", "tune.maxaccept 5", "'tune.maxaccept' already specified. Continuing."),
    ] {
        let alone = shown(&format!("global\n {first}\n{TIMES}listen l\n bind :1\n"));
        let text = format!("global\n {first}\n {second}\n{TIMES}listen l\n bind :1\n");
        assert_eq!(warnings(&text), [message], "{second}");
        assert_eq!(shown(&text), alone, "{second}");
    }
    assert!(shown("global\n maxconn 0\n maxconn 5\n").contains("maxconn: Some(5)"));
}

#[test]
fn an_option_replaces_an_inherited_log_format() {
    let defaults = format!("{TIMES} log 127.0.0.1 local0\n log-format \"%Tq %ST\"\n");
    let text = format!("{defaults}frontend f\n mode tcp\n option tcplog\n bind :1\n");
    assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new());
    let text = format!("{defaults}frontend f\n mode tcp\n bind :1\n");
    assert_eq!(
        messages(&text, Severity::Alert),
        ["failed to parse log-format : format variable 'Tq' is reserved for HTTP mode"]
    );
}

#[test]
fn defaults_with_two_log_formats_are_warned_of() {
    for (lines, message) in [
        (
            " log-format a\n option httplog clf",
            "'option httplog clf' overrides previous 'log-format' in 'defaults' section.",
        ),
        (
            " option tcplog\n log-format a",
            "'log-format' overrides previous 'option tcplog' in 'defaults' section.",
        ),
    ] {
        let text = format!("{TIMES} log 127.0.0.1 local0\n{lines}\nlisten l\n bind :1\n");
        assert_eq!(warnings(&text), [message]);
    }
    let text = format!(
        "{TIMES} log 127.0.0.1 local0\n log-format a\nlisten l\n bind :1\n option httplog\n"
    );
    assert_eq!(warnings(&text), Vec::<String>::new());
}

#[test]
fn or_may_be_shouted() {
    let rule = "http-request deny if METH_GET OR METH_POST";
    let text = format!("{TIMES}listen l\n bind :1\n {rule}\n");
    assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new());
}

#[test]
fn counters_tracked_at_the_wrong_time_are_told() {
    let late = |word| {
        format!(
            "{word} 'p' : a 'tcp-request content track-sc*' rule not depending on request contents for an HTTP frontend should be executed at the session level, using a 'tcp-request session' rule (mandatory to track invalid HTTP requests)."
        )
    };
    let early = "frontend 'p' : a 'tcp-request content track-sc*' rule explicitly depending on request contents without any 'tcp-request inspect-delay' setting. This means that this rule will randomly find its contents. This can be fixed by setting the tcp-request inspect-delay.".to_owned();
    let none = Vec::<String>::new;
    for (section, rule, told) in [
        ("frontend", "src", vec![late("frontend")]),
        ("listen", "src if { src 1.1.1.1 }", vec![late("proxy")]),
        ("frontend", "src if WAIT_END", vec![late("frontend")]),
        ("frontend", "src if { path /a } or { src 1.1.1.1 }", none()),
        ("frontend", "path", vec![early]),
        ("frontend", "path\n tcp-request inspect-delay 5s", none()),
        ("backend", "src", none()),
        ("frontend", "src\n mode tcp", none()),
    ] {
        let bind = if section == "backend" { "" } else { " bind :1\n" };
        let text = format!(
            "{TIMES}{section} p\n{bind} stick-table type string size 1k store gpc0\n tcp-request content track-sc0 {rule}\nlisten l\n bind :2\n"
        );
        assert_eq!(warnings(&text), told, "{section} {rule}");
    }
}

#[test]
fn functions_that_no_script_has_registered_are_unknown() {
    for (line, message) in [
        ("http-request lua.check", "action 'lua.check' is not implemented yet in 'http-request'"),
        ("acl a lua.fetch -m found", "unknown fetch method 'lua.fetch' in ACL expression"),
        (
            "http-request set-header a %[src,lua.conv]",
            "unknown converter 'lua.conv': no script has registered it",
        ),
    ] {
        let text = format!("{TIMES}listen l\n bind :1\n {line}\n");
        let alerts = messages(&text, Severity::Alert);
        assert!(alerts[0].contains(message), "{line}: {alerts:?}");
    }
}

#[test]
fn the_hint_about_removed_networks_names_theirs() {
    let text = format!("{TIMES}listen l\n bind :1\n monitor-net 10.0.0.0/8\n");
    assert!(messages(&text, Severity::Alert)[0].contains("{ src 10.0.0.0/8 }"));
}

#[test]
fn rules_on_the_side_that_a_section_lacks_are_refused() {
    for (section, line, message) in [
        (
            "frontend x\n bind :1",
            "tcp-response content accept",
            "tcp-response content is only allowed in 'backend' sections or 'defaults' section with a name",
        ),
        (
            "backend x",
            "tcp-request connection accept",
            "tcp-request connection is not allowed because backend x is not a frontend",
        ),
        (
            "backend x",
            "tcp-request session accept",
            "tcp-request session is not allowed because backend x is not a frontend",
        ),
        (
            "backend x",
            "declare capture request len 3",
            "'declare' only available in frontend or listen section",
        ),
        (
            "backend x",
            "http-request capture path len 3",
            "error detected in backend 'x' while parsing 'http-request capture' rule : proxy 'x' has no frontend capability.",
        ),
    ] {
        let text = format!("{TIMES}{section}\n {line}\nlisten l\n bind :2\n");
        assert_eq!(messages(&text, Severity::Alert), [message], "{line}");
    }
}

#[test]
fn a_backend_fills_the_slots_of_whichever_frontend_comes() {
    let rule = "http-request capture path id 0";
    let text = |section: &str| format!("{TIMES}{section}\n {rule}\nlisten l\n bind :2\n");
    assert_eq!(messages(&text("backend b"), Severity::Alert), Vec::<String>::new());
    let alerts = messages(&text("frontend f\n bind :1"), Severity::Alert);
    let message = "error detected in frontend 'f' while parsing 'http-request capture' rule : unable to find capture id '0' referenced by this rule";
    assert_eq!(alerts, [message]);
}

#[test]
fn what_needs_http_mode_is_told() {
    for (line, message) in [
        ("monitor-uri /a", "monitor-uri will be ignored for frontend 'f' (needs 'mode http')."),
        (
            "option http-ignore-probes",
            "'option http-ignore-probes' ignored for frontend 'f' as it requires HTTP mode.",
        ),
        (
            "option http-buffer-request",
            "'option http-buffer-request' ignored for frontend 'f' as it requires HTTP mode.",
        ),
    ] {
        let text = format!("{TIMES}frontend f\n bind :1\n mode tcp\n {line}\n");
        assert_eq!(warnings(&text), [message]);
    }
}

#[test]
fn a_pattern_that_looks_like_a_flag_needs_two_dashes() {
    let text = |patterns: &str| format!("{TIMES}listen l\n bind :1\n acl a path {patterns}\n");
    for bad in ["-x", "-i -x", "-"] {
        let alerts = messages(&text(bad), Severity::Alert);
        assert!(alerts[0].contains("is not a valid ACL option"), "{bad}: {alerts:?}");
    }
    for good in ["-- -x", "/a -x"] {
        assert_eq!(messages(&text(good), Severity::Alert), Vec::<String>::new(), "{good}");
    }
}

/// Measured, `defaults` with a name included.
#[test]
fn the_first_delay_of_an_inspection_counts() {
    for line in ["request", "response"] {
        let delay = format!(" tcp-{line} inspect-delay");
        let rest = format!("listen l\n bind :1\n{delay} 2s\n server s 127.0.0.1:1\n");
        let text = format!("{TIMES}listen k\n bind :2\n{delay} 300\n{delay} 2s\n{rest}");
        let word = "(was already defined) in proxy 'k'";
        assert_eq!(warnings(&text), [format!("ignoring tcp-{line} inspect-delay {word}")]);
        let model = model(&text);
        let delays = model.proxies.iter().map(|proxy| match line {
            "request" => proxy.common.timeouts.request_inspection,
            _ => proxy.common.timeouts.response_inspection,
        });
        assert_eq!(delays.collect::<Vec<_>>(), [Some(300), Some(2_000)]);
    }
    let times = TIMES.replacen("defaults", "defaults d", 1);
    let delay = " tcp-request inspect-delay";
    let text = format!("{times}{delay} 5s\nlisten l\n bind :1\n{delay} 6s\n");
    let told = warnings(&text);
    assert!(told.iter().any(|it| it.contains("already defined) in proxy 'l'")), "{told:?}");
    assert_eq!(model(&text).proxies[0].common.timeouts.request_inspection, Some(5_000));
}

#[test]
fn seconds_have_a_bound_of_their_own() {
    let cookie =
        |age: &str| format!("{TIMES}backend b\n cookie S insert maxidle {age} maxlife {age}\n");
    for (age, seconds) in [("30d", 2_592_000), ("2147483647", 2_147_483_647), ("60m", 3_600)] {
        let model = model(&cookie(age));
        let back = model.proxies[0].back.as_ref().unwrap();
        let cookie = back.settings.cookie.as_ref().unwrap();
        assert_eq!((cookie.max_idle, cookie.max_life), (seconds, seconds), "{age}");
    }
    for age in ["2147483648", "24856d", "99999999999999999999"] {
        let [alert] = &messages(&cookie(age), Severity::Alert)[..] else { panic!("{age}") };
        assert!(alert.contains("(maximum value is 2147483647 s or ~68 years)"), "{alert}");
    }
    let lines = " stats refresh 30d\n option clitcpka\n clitcpka-idle 30d\n srvtcpka-intvl 100d\n";
    let text = format!("{TIMES}listen l\n bind :1\n{lines}");
    assert_eq!(messages(&text, Severity::Alert), Vec::<String>::new());
}
