//! Valid lines that have no effect at their place: each has its warning.
use super::messages;
use crate::diag::Severity;

const TCP: &str =
    "defaults\n mode tcp\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

fn said(text: &str) -> Vec<String> {
    assert_eq!(messages(text, Severity::Alert), [""; 0], "{text}");
    messages(text, Severity::Warning)
}

fn tcp(lines: &str) -> String {
    format!("{TCP}listen l\n bind :80\n{lines}\n")
}

#[test]
fn cookies_of_servers_need_http() {
    let message = |name: &str| {
        format!("proxy 'l' : ignoring cookie for server '{name}' as HTTP mode is disabled.")
    };
    let lines = tcp(" server s 127.0.0.1:80 cookie a\n server t 127.0.0.1:80 cookie b");
    assert_eq!(said(&lines), [message("s"), message("t")]);
    assert_eq!(said(&tcp(" default-server cookie a\n server s 127.0.0.1:80")), [message("s")]);
    assert_eq!(said(&super::listen(" server s 127.0.0.1:80 cookie a")), [""; 0]);
}

#[test]
fn steps_of_checks_need_their_option() {
    let of = |rules: &str, option: &str| {
        format!("proxy 'l' uses {rules} rules without 'option {option}', so the rules are ignored.")
    };
    let http = of("http-check", "httpchk");
    let lines = super::listen(" http-check send meth GET\n http-check expect status 200");
    assert_eq!(said(&lines), [&*http], "once, however many");
    assert_eq!(said(&super::listen(" http-check send meth GET")), [http]);
    assert_eq!(said(&super::listen(" tcp-check connect")), [of("tcp-check", "tcp-check")]);
    for quiet in [
        " http-check disable-on-404",
        " http-check send-state",
        " http-check expect status 200\n option httpchk",
        " http-check expect status 200\n option smtpchk",
        " tcp-check connect\n option httpchk",
    ] {
        assert_eq!(said(&super::listen(quiet)), [""; 0], "{quiet}");
    }
    let inherited = tcp("").replacen("listen", " http-check expect status 200\nlisten", 1);
    assert_eq!(said(&inherited), [""; 0]);
}

#[test]
fn listeners_of_logs_and_commands_are_no_proxies() {
    let forward = |words: &str| format!("log-forward f\n bind 127.0.0.1:514 {words}\n");
    let datagrams = |words: &str| format!("log-forward f\n dgram-bind 127.0.0.1:514 {words}\n");
    let socket = |words: &str| format!("global\n stats socket /tmp/s {words}\n");
    for words in ["nice 5", "shards 2", "thread 1"] {
        let word = words.split(' ').next().unwrap();
        let message = format!("'{word}' has no effect here: only the listeners of a proxy have it");
        assert_eq!(said(&forward(words)), [&*message]);
        assert!(said(&socket(words)).contains(&message), "{words}");
    }
    for words in ["accept-proxy", "accept-netscaler-cip 5", "maxconn 5", "ssl"] {
        let word = words.split(' ').next().unwrap();
        let message = format!("'{word}' has no effect here: datagrams have no connection");
        assert_eq!(said(&datagrams(words)), [message]);
    }
    for words in [
        "accept-proxy",
        "accept-netscaler-cip 5",
        "proto none",
        "maxconn 5",
        "maxconn 0",
        "nice 0",
        "shards 1",
        "name x",
    ] {
        assert_eq!(said(&forward(words)), [""; 0], "{words}");
        assert_eq!(said(&socket(words)), said(&socket("")), "{words}");
    }
}

#[test]
fn some_words_exclude_each_other_at_listeners_of_logs_and_commands() {
    let forward = |words: &str| format!("log-forward f\n bind 127.0.0.1:514 {words}\n");
    let socket = |words: &str| format!("global\n stats socket /tmp/s {words}\n");
    for protocol in ["h1", "h2", "fcgi"] {
        let words = format!("proto {protocol}");
        let what = format!("MUX protocol '{protocol}' is not usable here");
        let alerts = |text: &str| messages(text, Severity::Alert);
        assert_eq!(alerts(&socket(&words)), [format!("'stats socket' : {what}")]);
        assert_eq!(alerts(&forward(&words)), [format!("'bind 127.0.0.1:514' : {what}")]);
    }
    let alerts = messages(&socket("ssl expose-fd listeners"), Severity::Alert);
    assert_eq!(
        alerts,
        [
            "'stats socket' : 'expose-fd listeners' and 'ssl' exclude each other: sockets are handed \
          over in the clear"
        ]
    );
    let alerts = messages(&socket("ssl"), Severity::Alert);
    let missing = "Proxy 'GLOBAL': no SSL certificate specified for bind '/tmp/s'";
    assert!(alerts[0].starts_with(missing), "{alerts:?}");
}

#[test]
fn a_missing_state_file_is_warned_of_even_if_unused() {
    let text = format!("global\n server-state-file /nowhere\n{}", super::listen(""));
    let message =
        "config: Can't open global server state file '/nowhere': No such file or directory";
    assert_eq!(said(&text), [message]);
}

#[test]
fn a_path_of_modules_in_c_is_warned_of() {
    let warnings = messages("global\n lua-prepend-path /m/?.so cpath\n", Severity::Warning);
    assert!(warnings.iter().any(|it| it.contains("modules in C are not loaded")), "{warnings:?}");
}
