//! Checks by programs, and mails about servers: their requirements, and the messages without them.
use super::*;
use crate::model::{HealthCheck, LogLevel};

const ALLOWED: &str = "global\n external-check\n insecure-fork-wanted\n";

#[test]
fn a_section_takes_its_program_from_defaults() {
    let text = format!(
        "{ALLOWED}defaults\n option external-check\n external-check command /c\n external-check path /p\n\
         backend a\nbackend b\n external-check command /d\nbackend c\n option tcp-check\n"
    );
    let model = model(&text);
    assert!(model.global.process.external_check && model.global.process.insecure_fork);
    let check = |at: usize| match &model.proxies[at].back.as_ref().unwrap().check {
        HealthCheck::External { command, path } => Some((command.clone(), path.clone())),
        _ => None,
    };
    assert_eq!(check(0), Some(("/c".into(), "/p".into())));
    assert_eq!(check(1), Some(("/d".into(), "/p".into())));
    assert_eq!(check(2), None, "another option replaces it");
    let text = "global\n insecure-fork-wanted\n no insecure-fork-wanted\nbackend b\n";
    assert!(!super::model(text).global.process.insecure_fork);
}

#[test]
fn programs_ask_for_permission_and_a_command() {
    for (text, message) in [
        (
            "backend b\n option external-check\n external-check command /c\n".to_owned(),
            "Proxy 'b' : 'option external-check' unable to find required 'global.external-check'.",
        ),
        (
            format!("{ALLOWED}backend b\n option external-check\n"),
            "Proxy 'b' : 'option external-check' unable to find required 'external-check command'.",
        ),
        ("backend b\n external-check command\n".to_owned(), "missing argument after 'command'."),
        ("backend b\n external-check path\n".to_owned(), "missing argument after 'path'."),
        (
            "backend b\n external-check foo\n".to_owned(),
            "'external-check' only supports 'command' and 'path'. but got 'foo'.",
        ),
        (
            "global\n external-check x\n".to_owned(),
            "'external-check' cannot handle unexpected argument 'x'.",
        ),
    ] {
        assert_eq!(messages(&text, Severity::Alert), [message], "{text}");
    }
    let text =
        "global\n external-check\nbackend b\n option external-check\n external-check command /c\n";
    let warnings = messages(text, Severity::Warning);
    assert!(warnings[0].contains("'insecure-fork-wanted' not enabled"), "{warnings:?}");
}

const MAILERS: &str = "mailers m\n mailer a 1.2.3.4:25\n mailer b [::1]:26\n timeout mail 3s\n";

#[test]
fn email_alert_names_a_section_that_may_come_later() {
    let lines = " email-alert from a@x\n email-alert to b@x\n email-alert mailers m\n";
    let text = format!(
        "defaults\n{lines} email-alert level info\nbackend a\nbackend b\n email-alert level emerg\n \
         email-alert myhostname h\n email-alert to c@x\n{MAILERS}"
    );
    let model = model(&text);
    let mail = |at: usize| model.proxies[at].common.email_alert.clone().unwrap();
    let (a, b) = (mail(0), mail(1));
    assert_eq!((&*a.from, &*a.to, a.hostname, a.level), ("a@x", "b@x", None, LogLevel(6)));
    assert_eq!((&*b.to, b.hostname.as_deref(), b.level), ("c@x", Some("h"), LogLevel(0)));
    let mailers: Vec<String> = a.mailers.mailers.iter().map(|m| m.address.to_string()).collect();
    assert_eq!((mailers, a.mailers.timeout), (vec!["1.2.3.4:25".into(), "[::1]:26".into()], 3000));
    let text =
        format!("{MAILERS}mailers n\nbackend b\n{}", lines.replace("mailers m", "mailers n"));
    let alert = super::model(&text).proxies.remove(0).common.email_alert.unwrap();
    assert_eq!((alert.level, alert.mailers.timeout), (LogLevel(1), 10_000));
}

#[test]
fn mailers_that_no_proxy_uses_are_warned_of() {
    let mail = |from: &str, name: &str| {
        format!(" email-alert {from} a@x\n email-alert to b@x\n email-alert mailers {name}\n")
    };
    let sections = "mailers e\nmailers m\n mailer a 1.2.3.4:25\nmailers n\n mailer a 1.2.3.4:25\n";
    for (proxies, unused) in [
        (String::new(), &["n", "m", "e"][..]),
        (format!("backend b\n{}", mail("from", "m")), &["n", "e"]),
        (format!("defaults\n{}backend b\n", mail("from", "m")), &["n", "e"]),
        (format!("defaults\n{}", mail("from", "m")), &["n", "m", "e"]),
        (format!("backend b\n disabled\n{}", mail("from", "m")), &["n", "m", "e"]),
        // An address of the sender is missing: no mail is sent.
        (format!("backend b\n{}", mail("myhostname", "m")), &["n", "m", "e"]),
        (format!("backend b\n{}backend c\n{}", mail("from", "m"), mail("from", "n")), &["e"]),
    ] {
        let warnings = messages(&format!("{proxies}{sections}"), Severity::Warning);
        let told = warnings.iter().filter_map(|it| it.strip_prefix("Removing incomplete section "));
        let told: Vec<&str> = told.collect();
        let wanted: Vec<String> = unused.iter().map(|it| format!("'mailers {it}'.")).collect();
        assert_eq!(told, wanted, "{proxies}");
    }
}

#[test]
fn mistakes_about_mails_are_told_in_haproxys_words() {
    for (text, message) in [
        ("mailers\n", "missing name for mailers section."),
        (
            "mailers m\nmailers m\n",
            "mailers section 'm' has the same name as another mailers section declared at a.cfg:1.",
        ),
        ("mailers m\n mailer a\n", "'mailer' expects <name> and <addr>[:<port>] as arguments."),
        ("mailers m\n mailer b 1.2.3.4\n", "'mailer b' : missing port specification in '1.2.3.4'"),
        ("mailers m\n timeout\n", "'timeout' expects 'mail' and <time> as arguments."),
        ("mailers m\n timeout x 3\n", "'timeout' expects 'mail' and <time> as arguments got 'x'."),
        ("mailers m\n timeout mail\n", "'timeout mail' expects <time> as argument."),
        (
            "mailers m\n timeout mail 3x\n",
            "unexpected character 'x' in argument to <timeout mail>.",
        ),
        ("mailers m\n foo\n", "unknown keyword 'foo' in 'mailers' section"),
        ("backend b\n email-alert\n", "missing argument after 'email-alert'."),
        ("backend b\n email-alert level\n", "missing argument after 'level'."),
        ("backend b\n email-alert level x\n", "unknown log level 'x' after 'level'"),
        ("backend b\n email-alert x\n", "email-alert: unknown argument 'x'."),
        (
            "backend b\n email-alert from x\n email-alert to x\n email-alert mailers m\n",
            "Proxy 'b': unable to find mailers 'm'.",
        ),
    ] {
        assert_eq!(messages(text, Severity::Alert), [message], "{text}");
    }
    let warnings = messages("backend b\n email-alert from a\n", Severity::Warning);
    assert!(
        warnings[0]
            .starts_with("'email-alert' will be ignored for backend 'b' (the presence any of")
    );
}

#[test]
fn observation_knows_its_modes() {
    let text =
        |options: &str| format!("backend b\n mode http\n server s 1.2.3.4:80 check {options}\n");
    for (options, message) in [
        ("observe x", "'observe' expects one of 'none', 'layer4', 'layer7' but got 'x'."),
        ("observe", "'observe' expects <mode> as argument."),
        (
            "on-error x",
            "'on-error' expects one of 'fastinter', 'fail-check', 'sudden-death' or 'mark-down' but got 'x'.",
        ),
        ("error-limit 0", "error-limit has to be > 0."),
        ("error-limit x", "error-limit has to be > 0."),
        ("on-marked-down x", "'on-marked-down' expects 'shutdown-sessions' but got 'x'."),
        ("on-marked-up", "'on-marked-up' expects 'shutdown-backup-sessions' but got ''."),
    ] {
        let expected = format!("'server b/s' : {message}");
        assert_eq!(messages(&text(options), Severity::Alert), [expected], "{options}");
    }
}

/// As HAProxy 2.6 decides, and in its words.
#[test]
fn servers_need_an_address_that_can_be_asked_for() {
    let hollow = "Can't create DNS resolution for server 's'";
    let empty = "'${WEIR_IS_UNSET}' resolves to an empty address (environment variable missing?)";
    for (address, message) in [
        ("${WEIR_IS_UNSET}", Some(empty)),
        ("${WEIR_IS_UNSET}:80", None),
        (".foo:80 init-addr none", Some(hollow)),
        (".:80 init-addr none", Some(hollow)),
        ("foo..bar:80 init-addr none", Some(hollow)),
        ("foo.:80 init-addr none", None),
    ] {
        let text = format!("backend b\n server s {address}\n");
        let expected = message.map(|it| format!("'server b/s' : {it}"));
        assert_eq!(messages(&text, Severity::Alert), Vec::from_iter(expected), "{address}");
    }
}

/// As HAProxy 2.6 decides.
#[test]
fn check_proto_suits_the_kind_of_check() {
    let wrong = "uses an incompatible MUX protocol for the selected check type";
    for (mode, option, protocol, message) in [
        ("tcp", "", "none", None),
        ("http", "", "none", None),
        ("http", "option tcp-check", "none", None),
        ("tcp", "option httpchk", "none", Some(wrong)),
        ("tcp", "option httpchk", "h1", None),
        ("http", "", "h1", Some(wrong)),
        ("http", "option redis-check", "h1", Some(wrong)),
        ("http", "option tcp-check", "h2", Some(wrong)),
        ("http", "option httpchk", "h2", None),
        ("http", "option httpchk", "fcgi", None),
    ] {
        let text = format!(
            "backend b\n mode {mode}\n {option}\n server s 1.2.3.4:80 check check-proto {protocol}\n"
        );
        let expected = message.map(|it| format!("backend 'b': server 's' {it}"));
        assert_eq!(messages(&text, Severity::Alert), Vec::from_iter(expected), "{text}");
    }
    let unchecked = "backend b\n mode http\n server s 1.2.3.4:80 check-proto h1\n";
    assert_eq!(messages(unchecked, Severity::Alert), [""; 0]);
    for (given, message) in [
        ("check-proto nope", "'check-proto' :  unknown MUX protocol 'nope'."),
        ("check-proto", "'check-proto' : missing value."),
        ("proto", "'proto' : missing value."),
    ] {
        let text = format!("backend b\n server s 1.2.3.4:80 {given}\n");
        assert_eq!(messages(&text, Severity::Alert), [format!("'server b/s' : {message}")]);
    }
}

/// As HAProxy 2.6 decides, and in its words.
#[test]
fn a_check_without_a_port_is_refused_unless_its_script_has_one() {
    let start = "has neither service port nor check port";
    let none = format!("{start} nor tcp_check rule 'connect' with port information.");
    let later = format!("{start}, and a tcp_check rule 'connect' with no port information.");
    for (lines, message) in [
        ("", Some(format!("{start}."))),
        ("option tcp-check", Some(format!("{start}."))),
        ("option tcp-check\n tcp-check connect", Some(none.clone())),
        (
            "option tcp-check\n tcp-check connect linger\n tcp-check connect port 8",
            Some(none.clone()),
        ),
        ("option tcp-check\n tcp-check connect port 8\n tcp-check connect", Some(later)),
        ("option tcp-check\n tcp-check connect port 7", None),
        ("option tcp-check\n tcp-check connect addr 127.0.0.1:80", None),
        ("option httpchk\n http-check connect addr 127.0.0.1", Some(none)),
        ("option httpchk\n http-check connect port 8\n http-check send", None),
    ] {
        let text = format!("backend b\n {lines}\n server s 127.0.0.1 check\n");
        let expected = message.map(|it| format!("backend 'b': server 's' {it}"));
        assert_eq!(messages(&text, Severity::Alert), Vec::from_iter(expected), "{text}");
    }
}
