//! Keywords that once existed in proxies: HAProxy's hints for them, all fatal.

/// The hint for a removed keyword with the argument that it was given.
pub(super) fn keyword(name: &str, argument: &str) -> Option<String> {
    let since_2_1 = |hint: &str| {
        Some(
            format!("The '{name}' directive is not supported anymore since HAProxy 2.1. {hint}")
                .trim_end()
                .to_owned(),
        )
    };
    const REPLACE: &str = "Use 'http-request replace-path', 'http-request replace-uri' or 'http-request replace-header' instead.";
    match name {
        "appsession" => Some("'appsession' is not supported anymore since HAProxy 1.6.".to_owned()),
        "bind-process" => Some(
            "'bind-process' is not supported anymore since HAProxy 2.5, please use 'thread' on 'bind' lines instead."
                .to_owned(),
        ),
        "block" => since_2_1("Use 'http-request deny' which uses the exact same syntax."),
        "cliexp" | "reqrep" => since_2_1(REPLACE),
        "clitimeout" => since_2_1("Use 'timeout client'."),
        "contimeout" => since_2_1("Use 'timeout connect'."),
        "srvtimeout" => since_2_1("Use 'timeout server'."),
        "grace" => Some(
            "the 'grace' keyword is not supported any more since HAProxy version 2.5.".to_owned(),
        ),
        "monitor-net" => Some(format!(
            "'monitor-net' doesn't exist anymore. Please use 'http-request return status 200 if {{ src {argument} }}' instead."
        )),
        "redisp" | "redispatch" => since_2_1("Use 'option redispatch'."),
        "reqadd" => since_2_1("Use 'http-request add-header' instead."),
        "reqallow" | "reqiallow" => since_2_1("Use 'http-request allow' instead."),
        "reqdel" | "reqidel" => since_2_1("Use 'http-request del-header' instead."),
        "reqdeny" | "reqideny" => since_2_1("Use 'http-request deny' instead."),
        "reqpass" | "reqipass" => since_2_1(""),
        "reqirep" => since_2_1("Use 'http-request replace-header' instead."),
        "reqtarpit" | "reqitarpit" => since_2_1("Use 'http-request tarpit' instead."),
        "rspadd" => since_2_1("Use 'http-response add-header' instead."),
        "rspdel" | "rspidel" => since_2_1("Use 'http-response del-header' instead."),
        "rspdeny" | "rspideny" => since_2_1("Use 'http-response deny' instead."),
        "rsprep" | "rspirep" | "srvexp" => {
            since_2_1("Use 'http-response replace-header' instead.")
        }
        _ => None,
    }
}

/// The hint for a removed option.
pub(super) fn option(name: &str) -> Option<&'static str> {
    match name {
        "forceclose" => Some(
            "option 'forceclose' is not supported any more since HAProxy 2.0, please just remove it, or use 'option httpclose' if absolutely needed.",
        ),
        "http-tunnel" => Some(
            "option 'http-tunnel' is not supported any more since HAProxy 2.1, please just remove it, it shouldn't be needed.",
        ),
        "http_proxy" => Some(
            "option 'http_proxy' is not supported any more since HAProxy 2.5. This option stopped working in HAProxy 1.9 and usually had nasty side effects. It can be more reliably implemented with combinations of 'http-request set-dst' and 'http-request set-uri', and even 'http-request do-resolve' if DNS resolution is desired.",
        ),
        _ => None,
    }
}
