//! `option` lines (section 4.2).
use super::proxy::{allowed, wanted};
use super::{check, http, removed, without_effect};
use crate::context::{Cx, Prefix};
use crate::draft::{DraftKind, DraftProxy};
use crate::keyword::{Fill, Keyword, Places};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{ConnectionMode, LogStyle};

/// One option, and whether `no` and `default` may precede it.
pub(crate) struct Choice {
    pub(crate) keyword: Keyword<Fill<DraftProxy>>,
    pub(crate) prefixable: bool,
}

const fn choice(
    name: &'static str,
    arguments: &'static str,
    places: Places,
    doc: &'static str,
    parse: Fill<DraftProxy>,
) -> Choice {
    Choice { keyword: Keyword { name, arguments, places, doc, parse }, prefixable: false }
}

const fn switch(
    name: &'static str,
    places: Places,
    doc: &'static str,
    parse: Fill<DraftProxy>,
) -> Choice {
    Choice { keyword: Keyword { name, arguments: "", places, doc, parse }, prefixable: true }
}

/// All implemented options, alphabetical. Argument 0 is the option's name.
pub(crate) const OPTIONS: &[Choice] = &[
    switch("abortonclose", Places::D_BACK, "Drops requests of clients that left.", |p, cx, _| {
        p.settings.back.settings.abort_on_close = wanted(cx);
        p.settings.front.settings.abort_on_close = wanted(cx);
        Ok(())
    }),
    switch(
        "accept-invalid-http-request",
        Places::D_FRONT,
        "Takes malformed requests.",
        |p, cx, _| {
            p.settings.front.accept_invalid_request = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "accept-invalid-http-response",
        Places::D_BACK,
        "Takes malformed responses.",
        |p, cx, _| {
            p.settings.back.accept_invalid_response = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "accept-unsafe-violations-in-http-request",
        Places::D_FRONT,
        "Takes malformed requests: HAProxy's later name of accept-invalid-http-request.",
        |p, cx, _| {
            p.settings.front.accept_unsafe_request = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "accept-unsafe-violations-in-http-response",
        Places::D_BACK,
        "Takes malformed responses: HAProxy's later name of accept-invalid-http-response.",
        |p, cx, _| {
            p.settings.back.accept_unsafe_response = wanted(cx);
            Ok(())
        },
    ),
    switch("allbackups", Places::D_BACK, "Uses all backup servers together.", |p, cx, _| {
        p.settings.back.settings.all_backups = wanted(cx);
        Ok(())
    }),
    switch("checkcache", Places::D_BACK, "Refuses cookies that caches may keep.", |p, cx, _| {
        p.settings.back.settings.check_cache = wanted(cx);
        Ok(())
    }),
    switch("clitcpka", Places::D_FRONT, "Probes silent clients.", |p, cx, _| {
        p.settings.front.keep_alive.enabled = wanted(cx);
        Ok(())
    }),
    switch("contstats", Places::D_FRONT, "Counts transfers while they last.", |p, cx, _| {
        p.settings.front.settings.continuous_stats = wanted(cx);
        Ok(())
    }),
    switch(
        "disable-h2-upgrade",
        Places::D_FRONT,
        "Clear connections do not become HTTP/2.",
        |p, cx, _| {
            p.settings.front.settings.disable_h2_upgrade = wanted(cx);
            Ok(())
        },
    ),
    switch("dontlog-normal", Places::D_FRONT, "Logs only what went wrong.", |p, cx, _| {
        p.settings.front.settings.dont_log_normal = wanted(cx);
        Ok(())
    }),
    switch("dontlognull", Places::D_FRONT, "Does not log connections without data.", |p, cx, _| {
        p.settings.front.settings.dont_log_null = wanted(cx);
        Ok(())
    }),
    choice("external-check", "", Places::D_BACK, "Checks servers by a program.", check::external),
    choice(
        "forwardfor",
        "[ except <network> ] [ header <name> ] [ if-none ]",
        Places::ALL,
        "Tells servers the client's address.",
        http::forwardfor,
    ),
    switch(
        "h1-case-adjust-bogus-client",
        Places::D_FRONT,
        "Sends clients header names as h1-case-adjust says.",
        |p, cx, _| {
            p.settings.front.settings.adjusts_case = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "h1-case-adjust-bogus-server",
        Places::D_BACK,
        "Sends servers header names as h1-case-adjust says.",
        |p, cx, _| {
            p.settings.back.settings.adjusts_case = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "http-buffer-request",
        Places::ALL,
        "Waits for the request's body before the rules.",
        |p, cx, _| {
            p.settings.common.buffer_request = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "http-ignore-probes",
        Places::D_FRONT,
        "Ignores connections without data.",
        |p, cx, _| {
            p.settings.front.settings.ignore_probes = wanted(cx);
            Ok(())
        },
    ),
    switch("http-keep-alive", Places::ALL, "Keeps both sides open.", |p, cx, _| {
        connection_mode(p, cx, ConnectionMode::KeepAlive);
        Ok(())
    }),
    switch(
        "http-no-delay",
        Places::ALL,
        "Sends what there is at once, as is always done.",
        |_, cx, a| without_effect::no_delay(cx, a),
    ),
    switch(
        "http-pretend-keepalive",
        Places::D_BACK,
        "Does not tell servers that their connection closes.",
        |p, cx, _| {
            p.settings.back.settings.pretend_keep_alive = wanted(cx);
            Ok(())
        },
    ),
    choice(
        "http-restrict-req-hdr-names",
        "{ preserve | delete | reject }",
        Places::ALL,
        "What becomes of header names beyond letters, digits and hyphens.",
        http::header_names,
    ),
    switch("http-server-close", Places::ALL, "Closes the server side.", |p, cx, _| {
        connection_mode(p, cx, ConnectionMode::ServerClose);
        Ok(())
    }),
    switch(
        "http-use-proxy-header",
        Places::D_FRONT,
        "Asks clients for credentials as a proxy does.",
        |p, cx, _| {
            p.settings.front.settings.proxy_header = wanted(cx);
            Ok(())
        },
    ),
    choice(
        "httpchk",
        "[ <method> ] [ <uri> [ <version> ] ]",
        Places::D_BACK,
        "Checks servers by HTTP.",
        check::httpchk,
    ),
    switch("httpclose", Places::ALL, "Closes both sides.", |p, cx, _| {
        connection_mode(p, cx, ConnectionMode::Close);
        Ok(())
    }),
    choice("httplog", "[ clf | json ]", Places::ALL, "Logs HTTP requests.", httplog),
    choice("httpslog", "", Places::ALL, "Logs HTTP requests and their TLS.", |p, cx, a| {
        a.ignores_behind(0);
        chooses_log(p, cx, a, "option httpslog");
        p.settings.log_style(LogStyle::Https, a.place());
        Ok(())
    }),
    switch(
        "idle-close-on-response",
        Places::D_FRONT,
        "Idle clients end with their next response in a soft stop.",
        |p, cx, _| {
            p.settings.front.settings.idle_close_on_response = wanted(cx);
            Ok(())
        },
    ),
    switch(
        "independent-streams",
        Places::ALL,
        "What is sent to a peer does not prove that it is there.",
        |p, cx, _| {
            let wanted = wanted(cx);
            p.settings.front.settings.independent_streams = wanted;
            p.settings.back.settings.independent_streams = wanted;
            Ok(())
        },
    ),
    choice("ldap-check", "", Places::D_BACK, "Checks servers by an LDAP bind.", check::plain),
    switch("log-health-checks", Places::D_BACK, "Logs every change of checks.", |p, cx, _| {
        p.settings.back.settings.log_checks = wanted(cx);
        Ok(())
    }),
    switch("log-separate-errors", Places::D_FRONT, "Logs errors at a higher level.", |p, cx, _| {
        p.settings.front.settings.separate_errors = wanted(cx);
        Ok(())
    }),
    switch("logasap", Places::D_FRONT, "Logs before the end.", |p, cx, _| {
        p.settings.front.settings.log_asap = wanted(cx);
        Ok(())
    }),
    choice(
        "mysql-check",
        "[ user <username> [ { post-41 | pre-41 } ] ]",
        Places::D_BACK,
        "Checks MySQL servers.",
        check::mysql,
    ),
    switch("nolinger", Places::ALL, "Closes with a reset.", |p, cx, _| {
        let nolinger = wanted(cx);
        p.settings.front.nolinger = nolinger;
        p.settings.back.nolinger = nolinger;
        Ok(())
    }),
    choice(
        "originalto",
        "[ except <network> ] [ header <name> ]",
        Places::ALL,
        "Tells servers the address that the client asked for.",
        http::originalto,
    ),
    choice(
        "pgsql-check",
        "user <username>",
        Places::D_BACK,
        "Checks PostgreSQL servers.",
        check::pgsql,
    ),
    switch("persist", Places::D_BACK, "Cookies go before health.", |p, cx, _| {
        p.settings.back.settings.persists = wanted(cx);
        Ok(())
    }),
    switch("prefer-last-server", Places::D_BACK, "Stays with a client's server.", |p, cx, _| {
        p.settings.back.settings.prefer_last = wanted(cx);
        Ok(())
    }),
    choice("redis-check", "", Places::D_BACK, "Checks servers by a Redis PING.", check::plain),
    Choice {
        keyword: Keyword {
            name: "redispatch",
            arguments: "[ <interval> ]",
            places: Places::D_BACK,
            doc: "Retries on another server.",
            parse: redispatch,
        },
        prefixable: true,
    },
    choice(
        "smtpchk",
        "[ <hello> <domain> ]",
        Places::D_BACK,
        "Checks servers by SMTP.",
        check::smtpchk,
    ),
    switch("socket-stats", Places::D_FRONT, "Counts for each listener, too.", |p, cx, _| {
        p.settings.front.settings.socket_stats = wanted(cx);
        Ok(())
    }),
    switch("splice-auto", Places::ALL, "Moves bulk through pipes.", |p, cx, _| {
        p.settings.common.splice.auto = wanted(cx);
        Ok(())
    }),
    switch("splice-request", Places::ALL, "Moves requests through pipes.", |p, cx, _| {
        p.settings.common.splice.request = wanted(cx);
        Ok(())
    }),
    switch("splice-response", Places::ALL, "Moves responses through pipes.", |p, cx, _| {
        p.settings.common.splice.response = wanted(cx);
        Ok(())
    }),
    choice("spop-check", "", Places::D_BACK, "Checks SPOE agents.", check::plain),
    switch("srvtcpka", Places::D_BACK, "Probes silent servers.", |p, cx, _| {
        p.settings.back.keep_alive.enabled = wanted(cx);
        Ok(())
    }),
    choice(
        "ssl-hello-chk",
        "",
        Places::D_BACK,
        "Checks servers by a hello of SSLv3.",
        check::plain,
    ),
    choice("tcp-check", "", Places::D_BACK, "Checks servers by tcp-check lines.", check::tcp_check),
    switch(
        "tcp-smart-accept",
        Places::D_FRONT,
        "Acknowledges a client's first bytes with the answer.",
        |p, cx, _| {
            p.settings.front.smart_accept = match cx.prefix {
                Prefix::None => Some(true),
                Prefix::No => Some(false),
                Prefix::Default => None,
            };
            Ok(())
        },
    ),
    switch(
        "tcp-smart-connect",
        Places::D_BACK,
        "Ends the handshake with the first bytes.",
        |p, cx, _| {
            p.settings.back.smart_connect = wanted(cx);
            Ok(())
        },
    ),
    switch("tcpka", Places::ALL, "Probes silent peers.", |p, cx, _| {
        let probes = wanted(cx);
        p.settings.front.keep_alive.enabled = probes;
        p.settings.back.keep_alive.enabled = probes;
        Ok(())
    }),
    choice("tcplog", "", Places::ALL, "Logs connections in detail.", tcplog),
    switch("transparent", Places::D_BACK, "Goes where the client wanted to go.", |p, cx, _| {
        p.settings.options.transparent = wanted(cx);
        Ok(())
    }),
];

/// One `option` line.
pub(super) fn parse(proxy: &mut DraftProxy, cx: &mut Cx<'_>, line: Args<'_>) -> Parsed {
    let name = line.need(1, "'option' expects an option name.")?;
    let args = line.from(1);
    if let Some(hint) = removed::option(name) {
        return Err(args.fault(0, hint));
    }
    let Some(found) = OPTIONS.iter().find(|choice| choice.keyword.name == name) else {
        let shown = format!("option {name}");
        let unknown = format!("unknown option '{name}'");
        return Err(known::fault(args, 0, "option", &shown, unknown));
    };
    if cx.prefix != Prefix::None && !found.prefixable {
        let message = format!("negation/default is not supported for option '{name}'.");
        return Err(args.fault(0, message));
    }
    if found.keyword.takes() == 0
        && name != "httpslog"
        && let Some(extra) = args.get(1)
    {
        let message = format!("'option {name}' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(1, message));
    }
    if matches!(name, "tcplog" | "httplog" | "httpslog")
        && !accepts_log_format(proxy, cx, args, name)
    {
        return super::proxy::judge(proxy, cx, args, found.keyword.parse);
    }
    match allowed(proxy, cx, args, found.keyword.places, name)? {
        true => (found.keyword.parse)(proxy, cx, args),
        false => super::proxy::judge(proxy, cx, args, found.keyword.parse),
    }
}

/// Log formats mean nothing in a backend; HAProxy warns.
fn accepts_log_format(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, name: &str) -> bool {
    let backend = proxy.has_backend() && !proxy.has_frontend();
    if backend {
        let message =
            format!("backend '{}' : 'option {name}' directive is ignored in backends.", proxy.name);
        cx.warn(args, 0, message);
    }
    !backend
}

/// The three modes replace each other; `no` and `default` only undo their own.
fn connection_mode(proxy: &mut DraftProxy, cx: &Cx<'_>, mode: ConnectionMode) {
    let current = &mut proxy.settings.common.connection_mode;
    if wanted(cx) {
        *current = mode;
    } else if *current == mode {
        *current = ConnectionMode::default();
    }
}

fn tcplog(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    chooses_log(proxy, cx, args, "option tcplog");
    proxy.settings.log_style(LogStyle::Tcp, args.place());
    Ok(())
}

/// Notes which line chooses the log format; `defaults` with two of them deserve a warning.
pub(super) fn chooses_log(
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    line: &'static str,
) {
    let before = proxy.settings.options.log_chosen_by.replace(line);
    if let Some(before) = before.filter(|_| proxy.kind == DraftKind::Defaults) {
        cx.warn(args, 0, format!("'{line}' overrides previous '{before}' in 'defaults' section."));
    }
}

fn httplog(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let (style, line) = match args.get(1) {
        None => (LogStyle::Http, "option httplog"),
        Some("clf") => (LogStyle::HttpClf, "option httplog clf"),
        Some("json") => (LogStyle::HttpJson, "option httplog json"),
        Some(other) => {
            let message = format!(
                "keyword 'option httplog' only supports options 'clf' and 'json', got '{other}'"
            );
            return Err(args.fault(1, message));
        }
    };
    if let Some(extra) = args.get(2) {
        let message = format!("'option httplog' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(2, message));
    }
    chooses_log(proxy, cx, args, line);
    proxy.settings.log_style(style, args.place());
    Ok(())
}

fn redispatch(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let interval = match args.get(1) {
        _ if !wanted(cx) => 0,
        None => -1,
        // As in HAProxy, 0 means no interval.
        Some(_) => match args.wrapped(1) {
            Some(0) => -1,
            Some(interval) => interval,
            None => return Err(args.fault(1, "'option redispatch' expects a non-zero integer.")),
        },
    };
    proxy.settings.back.settings.redispatch = interval;
    args.ignores_behind(1);
    Ok(())
}
