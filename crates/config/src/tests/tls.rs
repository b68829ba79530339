//! Words of TLS: each changes what the model holds.
use super::*;
use crate::model::*;

fn bind(words: &str) -> ::tls::BindSettings {
    let proxy = only(&listen(&format!(" bind :81 {words}")));
    let front = proxy.front.as_ref().expect("a client side");
    front.binds.last().expect("a bind line").options.tls.settings.clone()
}

fn server(words: &str) -> TlsServer {
    let proxy = only(&listen(&format!(" server s 127.0.0.1:1 {words}")));
    proxy.back.as_ref().expect("a server side").servers[0].options.tls.clone()
}

fn global(line: &str) -> TlsProcess {
    model(&format!("global\n {line}\n{}", listen(""))).global.tls.clone()
}

/// As in HAProxy 2.6.12, settings of `global` apply to the lines behind them.
#[test]
fn presets_of_global_hold_for_the_lines_behind_them() {
    let lines = |name: &str| {
        format!(
            "listen {name}\n mode tcp\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n \
             bind /{name}.sock\n server s 127.0.0.1:1\n"
        )
    };
    let text = format!(
        "{}global\n crt-base /crt\n ca-base /ca\n ssl-default-bind-ciphers AES128-SHA\n \
         ssl-default-server-ciphers AES256-SHA\n unix-bind prefix /run mode 600\n{}global\n \
         ssl-default-bind-options no-tls-tickets\n unix-bind prefix /tmp\n{}",
        lines("first"),
        lines("second"),
        lines("third")
    );
    let model = model(&text);
    let seen = |name: &str| {
        let proxy = model.proxies.iter().find(|proxy| &*proxy.name == name).expect("it is there");
        let bind = &proxy.front.as_ref().expect("a client side").binds[0].options;
        let server = &proxy.back.as_ref().expect("a server side").servers[0].options;
        let (bind_presets, server_presets) =
            (bind.tls.presets.clone().expect("set"), server.tls.presets.clone().expect("set"));
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        assert_eq!(bind_presets, server_presets, "both lines are in one section");
        (
            [text(&bind_presets.crt_base), text(&server_presets.ca_base)],
            bind_presets.bind.clone(),
            server_presets.server.ciphers.clone(),
            (bind.unix_prefix.as_deref().map(str::to_owned), bind.access.mode),
        )
    };
    let (first, second, third) = (seen("first"), seen("second"), seen("third"));
    assert_eq!(first, (Default::default(), Default::default(), None, (None, None)));
    assert_eq!(second.0, ["/crt", "/ca"]);
    assert_eq!(second.2.as_deref(), Some("AES256-SHA"));
    assert_eq!(second.3, (Some("/run".to_owned()), Some(0o600)));
    assert_ne!(second.1, third.1, "an option was added");
    assert_eq!(third.1.ciphers, second.1.ciphers);
    assert_eq!(third.3, (Some("/tmp".to_owned()), Some(0o600)));
}

#[test]
fn words_of_bind_lines() {
    for words in [
        "ca-ignore-err all",
        "ca-verify-file /ca.pem",
        "crl-file /ca.pem",
        "no-ca-names",
        "no-tls-tickets",
        "prefer-client-ciphers",
    ] {
        assert_ne!(bind(words), bind(""), "{words}");
    }
}

#[test]
fn words_of_servers() {
    for words in [
        "alpn http/1.1",
        "ciphers AES128-SHA",
        "ciphersuites TLS_AES_128_GCM_SHA256",
        "crt a.pem",
        "no-ssl-reuse",
        "no-tls-tickets",
    ] {
        assert_ne!(server(words), server(""), "{words}");
    }
    for (words, undone) in [
        ("no-ssl-reuse ssl-reuse", "no-ssl-reuse"),
        ("no-tls-tickets tls-tickets", "no-tls-tickets"),
        ("ssl verify none no-ssl", "ssl verify none"),
        ("verifyhost a.test no-verifyhost", "verifyhost a.test"),
    ] {
        assert_ne!(server(words), server(undone), "{words}");
    }
}

#[test]
fn lines_of_the_global_section() {
    for line in [
        "ssl-default-bind-ciphers AES128-SHA",
        "ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256",
        "ssl-default-bind-curves P-256",
        "ssl-default-bind-options no-tlsv12",
        "ssl-default-bind-options no-tls-tickets",
        "ssl-default-bind-options prefer-client-ciphers",
        "ssl-default-server-ciphers AES128-SHA",
        "ssl-default-server-ciphersuites TLS_AES_128_GCM_SHA256",
        "ssl-default-server-options no-tlsv12",
        "ssl-load-extra-del-ext",
        "ssl-load-extra-files none",
        "ssl-server-verify none",
        "ssl-skip-self-issued-ca",
        "tune.idletimer 7",
        "tune.ssl.cachesize 7",
        "tune.ssl.capture-buffer-size 7",
        "tune.ssl.capture-cipherlist-size 7",
        "tune.ssl.default-dh-param 4096",
        "tune.ssl.hard-maxrecord 7",
        "tune.ssl.keylog on",
        "tune.ssl.lifetime 7",
        "tune.ssl.maxrecord 7",
        "tune.ssl.own-records on",
        "tune.ssl.ssl-ctx-cache-size 7",
    ] {
        assert_ne!(global(line), global(""), "{line}");
    }
}

#[test]
fn files_for_key_exchange_and_chains_have_to_be_good() {
    for (line, severity, message) in [
        ("ssl-dh-param-file /none", Severity::Alert, "DH parameters from file </none>."),
        ("ssl-dh-param-file /bad", Severity::Alert, "DH parameters from file </bad>."),
        ("issuers-chain-path /none", Severity::Alert, "expects a directory path as an argument."),
        ("tune.ssl.default-dh-param 1024", Severity::Warning, "has no effect below 2048 bits"),
        ("ssl-mode-async", Severity::Warning, "no engine that works asynchronously"),
        ("tune.ssl.force-private-cache", Severity::Warning, "within one process in any case"),
        ("tune.ssl.force-private-cache x", Severity::Alert, "unexpected argument 'x'"),
        ("tune.ssl.capture-cipherlist-size 1", Severity::Warning, "is a deprecated name"),
        ("ssl-load-extra-files none bundle", Severity::Alert, "can be only used alone"),
        ("ssl-load-extra-files bundle all", Severity::Alert, "can be only used alone"),
        ("default-path origin /missing", Severity::Alert, "to origin '/missing': No such file"),
        ("ssl-propquery ====", Severity::Alert, "'====' is not understood"),
        ("ssl-provider", Severity::Alert, "expects a valid engine provider name"),
        ("ssl-provider-path", Severity::Alert, "expects a directory path as an argument."),
    ] {
        let said = messages(&format!("global\n {line}\n{}", listen("")), severity);
        assert!(said.iter().any(|it| it.contains(message)), "{said:?}");
    }
}

#[test]
fn generated_certificates_need_an_authority() {
    let line = " bind :81 ssl crt /bad generate-certificates";
    let said = messages(&listen(line), Severity::Alert);
    assert!(said.iter().any(|it| it.contains("no CA certificate File configured")), "{said:?}");
    let proxy = only(&listen(" bind :81 generate-certificates ca-sign-file a ca-sign-pass secret"));
    let tls = &proxy.front.as_ref().expect("a client side").binds[1].options.tls;
    assert!(tls.generates && tls.sign.authority == "a");
    assert!(!format!("{tls:?}").contains("secret"), "it is shown to nobody");
}

/// There is one for each way of speaking that both sides of the word have.
#[test]
fn protocols_that_do_not_fit_are_refused() {
    for word in ["fcgi", "none"] {
        let said = messages(&listen(&format!(" bind :81 proto {word}")), Severity::Alert);
        assert!(said.iter().any(|it| it.contains("is not usable for 'bind :81'")), "{said:?}");
    }
    let said = messages(&listen(" bind :81 proto h1\n bind :82 proto h3"), Severity::Alert);
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn what_is_spoken_has_a_name() {
    for (options, message) in [
        ("ws", "'ws' has to be 'auto', 'h1' or 'h2'."),
        ("ws h3", "'ws' has to be 'auto', 'h1' or 'h2'."),
        ("check-proto", "'check-proto' : missing value."),
        ("check-proto h3", "'check-proto' :  unknown MUX protocol 'h3'."),
    ] {
        let said = messages(&listen(&format!(" server s 127.0.0.1:1 {options}")), Severity::Alert);
        assert!(said.iter().any(|it| it.contains(message)), "{said:?}");
    }
}

#[test]
fn a_line_that_names_authorities_wants_them_there_also_without_ssl() {
    for option in ["ca-file", "crl-file"] {
        for lines in
            [format!(" server s 127.0.0.1:1 {option} /nope"), format!(" bind :81 {option} /nope")]
        {
            let said = messages(&listen(&lines), Severity::Alert);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains(&format!("'{option}' : unable to load /nope: ")), "{said:?}");
        }
    }
    assert!(messages(&listen(" server s 127.0.0.1:1 crt /nope"), Severity::Alert).is_empty());
}

#[test]
fn a_line_that_names_certificates_wants_them_there_also_without_ssl() {
    let said = messages(&listen(" bind :81 crt /nope.pem"), Severity::Alert);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("'bind :81' : unable to") && said[0].contains("/nope.pem"),
        "{said:?}"
    );
}
