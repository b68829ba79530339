//! Persistence cookies: the `Cookie` field that servers get, the `Set-Cookie` field that clients
//! get, and the letters in the log. The expected texts are those of HAProxy 2.6.

use crate::support::{LogReceiver, Origin, Setup, nobody, reply, serve_forever};

/// An origin that answers with the received cookies, and sets the cookie that the query names.
fn origin() -> Origin {
    Origin::new(|peer| {
        serve_forever(peer, |request| {
            let seen = request.all("cookie").collect::<Vec<_>>().join("|");
            let answer = reply("200 OK", &format!("[{seen}]"));
            let set = request.target().split_once("?set=").map(|(_, set)| set.replace('+', " "));
            let line = set.map_or(String::new(), |set| format!("Set-Cookie: {set}\r\n"));
            answer.replacen("\r\n", &format!("\r\n{line}"), 1).into_bytes()
        })
    })
}

/// Method, target and the client's cookies; then the server and the flags in the log, what the
/// server saw, and what was set.
type Step<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, Option<&'a str>);

fn play(cookie: &str, steps: &[Step<'_>]) {
    let (origin, log) = (origin(), LogReceiver::new());
    let back = format!(
        "    balance first\n    cookie {cookie}\n    server s <origin> cookie one\n    \
         server t <origin> cookie two\n"
    );
    let weir = Setup::http("    log-format \"%s %tsc\"", &back).between(&origin, &log);
    for (method, target, sent, logged, seen, set) in steps {
        let cookies = if sent.is_empty() { String::new() } else { format!("Cookie: {sent}\r\n") };
        let request = format!("{method} {target} HTTP/1.1\r\nHost: test\r\n{cookies}\r\n");
        let answer = weir.web().ask(request);
        let step = format!("{cookie}: {method} {target} {sent}");
        assert_eq!(answer.text(), format!("[{seen}]"), "{step}");
        assert_eq!(answer.all("set-cookie").collect::<Vec<_>>(), Vec::from_iter(*set), "{step}");
        assert_eq!(log.line().trim_end(), *logged, "{step}");
    }
}

const SET: &str = "/?set=APP=srv;+path=/z";

#[test]
fn prefix_completes_the_server_s_cookie() {
    play(
        "APP prefix",
        &[
            ("GET", "/", "", "s --NN", "", None),
            ("GET", "/", "x=1; APP=two; y=2", "t --VN", "x=1; APP=two; y=2", None),
            ("GET", "/", "x=1; APP=two~sess; y=2", "t --VN", "x=1; APP=sess; y=2", None),
            ("GET", "/", "APP=bad~sess", "s --IN", "APP=sess", None),
            ("GET", SET, "", "s --NR", "", Some("APP=one~srv; path=/z")),
            ("GET", SET, "APP=two", "t --VR", "APP=two", Some("APP=two~srv; path=/z")),
        ],
    );
    play(
        "APP prefix indirect",
        &[
            ("GET", SET, "", "s --NR", "", Some("APP=one~srv; path=/z")),
            ("GET", SET, "APP=two", "t --VD", "APP=two", None),
        ],
    );
}

#[test]
fn rewrite_replaces_the_server_s_value() {
    play(
        "APP rewrite",
        &[
            ("GET", "/", "APP=two", "t --VN", "APP=two", None),
            ("GET", "/", "APP=two~sess", "s --IN", "APP=two~sess", None),
            ("GET", SET, "", "s --NR", "", Some("APP=one; path=/z")),
            ("GET", SET, "APP=two", "t --VR", "APP=two", Some("APP=two; path=/z")),
            ("GET", "/?set=a=b,+APP=v", "APP=two", "t --VN", "APP=two", Some("a=b, APP=v")),
        ],
    );
}

#[test]
fn a_cookie_without_a_mode_is_only_looked_at() {
    play(
        "APP",
        &[
            ("GET", "/", "", "s ----", "", None),
            ("GET", "/", "APP=two", "t ----", "APP=two", None),
            ("GET", SET, "APP=two", "t ----", "APP=two", Some("APP=srv; path=/z")),
        ],
    );
    play(
        "APP indirect",
        &[
            ("GET", "/", "APP=two", "t --VN", "APP=two", None),
            ("GET", SET, "", "s --NP", "", Some("APP=srv; path=/z")),
            ("GET", SET, "APP=two", "t --VD", "APP=two", None),
        ],
    );
}

#[test]
fn insert_takes_the_server_s_cookie_away_unless_it_is_preserved() {
    play(
        "APP insert",
        &[
            ("GET", "/", "", "s --NI", "", Some("APP=one; path=/")),
            ("GET", "/", "APP=bad", "s --II", "APP=bad", Some("APP=one; path=/")),
            ("GET", SET, "", "s --NI", "", Some("APP=one; path=/")),
            ("GET", SET, "APP=two", "t --VD", "APP=two", None),
        ],
    );
    play(
        "APP insert indirect preserve",
        &[
            ("GET", "/", "x=1; APP=two; y=2", "t --VN", "x=1; y=2", None),
            ("GET", SET, "", "s --NP", "", Some("APP=srv; path=/z")),
            ("GET", SET, "APP=two", "t --VP", "", Some("APP=srv; path=/z")),
        ],
    );
}

#[test]
fn a_client_may_write_its_cookie_in_many_ways() {
    let again = Some("APP=two; path=/");
    play(
        "APP insert",
        &[
            ("GET", "/", "a=b; APP=two ;c=d", "t --VN", "a=b; APP=two ;c=d", None),
            ("GET", "/", "APP = two", "t --VN", "APP=two", None),
            ("GET", "/", "x=y;\tAPP=two", "t --VN", "x=y;\tAPP=two", None),
            ("GET", "/", "a=1, APP=two", "t --VN", "a=1, APP=two", None),
            ("GET", "/", "APP=bad; APP=two", "t --VN", "APP=bad; APP=two", None),
            ("GET", "/", "APP=two|Zzzzz|Zzzzz", "t --VU", "APP=two|Zzzzz|Zzzzz", again),
            ("GET", "/", "APP=two|x", "t --VN", "APP=two|x", None),
            ("GET", "/", "a=\"x;APP=two\"", "s --NI", "a=\"x;APP=two\"", Some("APP=one; path=/")),
        ],
    );
    play(
        "APP insert indirect",
        &[
            ("GET", "/", "a=b; APP=two ;c=d", "t --VN", "a=b; c=d", None),
            ("GET", "/", "$Version=1; APP=two; $Path=/", "t --VN", "", None),
            ("GET", "/", "APP=two|Zzzzz|Zzzzz", "t --VU", "", again),
            ("GET", "/", "APP=one; APP=two; b", "s --VN", "b", None),
        ],
    );
}

#[test]
fn postonly_inserts_into_answers_to_posts() {
    play(
        "APP insert postonly",
        &[
            ("GET", "/", "", "s --NN", "", None),
            ("GET", SET, "", "s --ND", "", None),
            ("POST", "/", "", "s --NI", "", Some("APP=one; path=/")),
        ],
    );
}

#[test]
fn attributes_of_cookies_are_in_haproxys_order() {
    play(
        "APP insert secure httponly attr SameSite=Lax domain .a.b domain .c.d",
        &[(
            "GET",
            "/",
            "",
            "s --NI",
            "",
            Some("APP=one; path=/; domain=.a.b; domain=.c.d; HttpOnly; Secure; SameSite=Lax"),
        )],
    );
}

#[test]
fn dates_make_cookies_expire() {
    let (origin, log) = (origin(), LogReceiver::new());
    let start = |cookie: &str| {
        let back = format!(
            "    balance first\n    cookie SRV insert indirect {cookie}\n    \
             server s <origin> cookie one\n    server t <origin> cookie two\n"
        );
        Setup::http("    log-format \"%s %tsc\"", &back)
            .with("origin", origin.address())
            .with("log", log.address())
            .start()
    };
    for (settings, sent, logged, dates) in [
        ("maxidle 100", "two", "t --VU", 1),
        ("maxidle 100", "two|aaaaa", "s --EI", 1),
        ("maxlife 100", "two", "t --VU", 2),
        ("maxlife 100", "two||aaaaa", "s --OI", 2),
        ("maxidle 50 maxlife 100", "two|aaaaa|aaaaa", "s --OI", 2),
    ] {
        let weir = start(settings);
        let ask = |cookie: &str| {
            let line = format!("GET / HTTP/1.1\r\nHost: test\r\nCookie: SRV={cookie}\r\n\r\n");
            let answer = weir.web().ask(line);
            let set = answer.header("set-cookie").unwrap_or_default().to_owned();
            (set, log.line().trim_end().to_owned())
        };
        let (set, line) = ask(sent);
        assert_eq!(line, logged, "{settings}: {sent}");
        let value = set.strip_prefix("SRV=").and_then(|rest| rest.split(';').next());
        let value = value.expect("a cookie is set");
        assert_eq!(value.split('|').skip(1).map(str::len).collect::<Vec<_>>(), vec![5; dates]);
        // Within the same span of four seconds nothing is sent again; beyond it, `maxidle` does.
        let (_, line) = ask(value);
        assert!(line.ends_with("--VN") || line.ends_with("--VU"), "{settings}: {line}");
    }
}

#[test]
fn dynamic_cookies_are_computed_from_the_address() {
    let origin = origin();
    let back = "    balance first\n    cookie APP insert dynamic\n    dynamic-cookie-key secret\n    \
                server t <origin> cookie zz disabled\n    server fixed 127.0.0.1:9632 disabled\n    \
                server s <origin>\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let mut key = b"secret\x7f\0\0\x01".to_vec();
    key.extend_from_slice(&u32::from(origin.address().port()).to_be_bytes());
    let value = format!("{:016x}", sample::hash::xxh64(&key, 0));
    let answer = weir.web().get("/");
    assert_eq!(answer.header("set-cookie"), Some(&*format!("APP={value}; path=/")));
    let known = format!("GET / HTTP/1.1\r\nHost: test\r\nCookie: APP={value}\r\n\r\n");
    assert_eq!(weir.web().ask(known).header("set-cookie"), None);
    // As HAProxy 2.6 computes it.
    assert_eq!(sample::hash::xxh64(b"secret\x7f\0\0\x01\0\0\x25\xa0", 0), 0x827c_7292_919d_7245);
}

/// The manual, 8.5: `U` is a cookie that was not used because of these rules. The client keeps it.
#[test]
fn a_cookie_that_rules_pass_over_stays_with_its_client() {
    for rule in ["ignore-persist if TRUE", "use-server s if TRUE"] {
        play(
            &format!("APP insert indirect\n    {rule}"),
            &[
                ("GET", "/", "", "s --NN", "", None),
                ("GET", "/", "x=1; APP=two; y=2", "s --UN", "x=1; y=2", None),
                ("GET", "/", "APP=bad", "s --UN", "", None),
            ],
        );
        play(
            &format!("APP insert\n    {rule}"),
            &[("GET", "/", "APP=two", "s --UN", "APP=two", None)],
        );
        play(
            &format!("APP rewrite\n    {rule}"),
            &[
                ("GET", "/", "", "s --NN", "", None),
                ("GET", "/", "APP=two", "s --UN", "APP=two", None),
            ],
        );
    }
}

#[test]
fn a_server_without_a_cookie_value_removes_the_cookie() {
    let (origin, log) = (origin(), LogReceiver::new());
    let gone = "APP=; Expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/; Secure";
    let back = "    balance first\n    cookie APP insert indirect secure\n    server s <origin>\n    \
                server t <origin> cookie two\n    server d <origin> cookie off disabled";
    let weir = Setup::http("    log-format \"%s %tsc\"", back).between(&origin, &log);
    for (sent, logged, set) in [
        ("x=1", "s --NI", Some(gone)),
        ("APP=bad", "s --II", Some(gone)),
        ("APP=", "s --II", Some(gone)),
        ("APP=off", "s --DI", Some(gone)),
        ("APP=two", "t --VN", None),
    ] {
        let request = format!("GET / HTTP/1.1\r\nHost: test\r\nCookie: {sent}\r\n\r\n");
        assert_eq!(weir.web().ask(request).header("set-cookie"), set, "{sent}");
        assert_eq!(log.line(), logged, "{sent}");
    }
}

#[test]
fn a_server_that_refuses_counts_as_down_once_another_has_the_request() {
    let (origin, log) = (origin(), LogReceiver::new());
    let back = "    retries 1\n    option redispatch 1\n    cookie APP insert indirect\n    \
                server s <origin> cookie one\n    server d <closed> cookie two";
    let weir = Setup::http("    log-format \"%s %tsc %rc\"", back)
        .with("closed", nobody())
        .between(&origin, &log);
    let answer = weir.web().ask("GET / HTTP/1.1\r\nHost: test\r\nCookie: APP=two\r\n\r\n");
    assert_eq!(answer.header("set-cookie"), Some("APP=one; path=/"));
    assert_eq!(log.line(), "s --DI +1");
}
