//! Keywords of `defaults`, `frontend`, `backend` and `listen` (section 4.2).
use super::values::{self, limit_at, log_tag, text};
use super::{
    balance, bind, check, compression, email_alert, filter, http, language, link, log, option,
    removed, server, stats, stick_table, timeout,
};
use crate::context::{Cx, Prefix};
use crate::draft::{DraftKind, DraftProxy};
use crate::keyword::{Fill, Keyword, Places, entry};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{At, LoadState, Mode, Reuse};

type ProxyKeyword = Keyword<Fill<DraftProxy>>;

/// All implemented keywords, alphabetical.
pub(crate) const KEYWORDS: &[ProxyKeyword] = &[
    entry(
        "acl",
        "<aclname> <criterion> [flags] [operator] [<value>] ...",
        Places::RULES,
        "Names a test.",
        language::acl,
    ),
    entry(
        "backlog",
        "<conns>",
        Places::D_FRONT,
        "Length of the queue of the system.",
        |p, _, a| limit(a).map(|n| p.settings.front.backlog = Some(n).filter(|n| *n > 0)),
    ),
    entry(
        "balance",
        "<algorithm> [ <arguments> ]",
        Places::D_BACK,
        "Chooses how servers are chosen.",
        balance::balance,
    ),
    entry(
        "bind",
        "[<address>]:<port_range> [, ...] [param*]",
        Places::FRONT,
        "Listens on addresses.",
        |p, cx, a| bind::lines(&mut p.settings.front.binds, cx, a, bind::Use::Proxy),
    ),
    entry(
        "capture",
        "cookie <name> len <length> | request header <name> len <length> | response header <name> len <length>",
        Places::FRONT,
        "Keeps a text for the logs.",
        language::capture,
    ),
    entry("clitcpka-cnt", "<count>", Places::D_FRONT, "Probes of a silent client.", |p, _, a| {
        link::probes(a).map(|n| p.settings.front.keep_alive.count = n)
    }),
    entry(
        "clitcpka-idle",
        "<timeout>",
        Places::D_FRONT,
        "Silence before the first probe.",
        |p, _, a| link::probe_span(a).map(|n| p.settings.front.keep_alive.idle = Some(n)),
    ),
    entry("clitcpka-intvl", "<timeout>", Places::D_FRONT, "Time between probes.", |p, _, a| {
        link::probe_span(a).map(|n| p.settings.front.keep_alive.interval = Some(n))
    }),
    entry(
        "compression",
        "algo <algorithm> ... | type <mime type> ... | offload",
        Places::ALL,
        "Compresses responses, and requests.",
        compression::line,
    ),
    entry(
        "cookie",
        "<name> [ rewrite | insert | prefix ] [ indirect ] [ nocache ] [ postonly ] [ preserve ] [ httponly ] [ secure ] [ domain <domain> ]* [ maxidle <idle> ] [ maxlife <life> ] [ dynamic ] [ attr <value> ]*",
        Places::D_BACK,
        "Keeps clients on their server by a cookie.",
        http::cookie,
    ),
    entry(
        "declare",
        "capture [ request | response ] len <length>",
        Places::FRONT,
        "Declares a capture slot.",
        language::declare,
    ),
    entry("default-server", "[param*]", Places::D_BACK, "Presets server options.", server::default),
    entry(
        "default_backend",
        "<backend>",
        Places::D_FRONT,
        "Backend when no rule chose one.",
        |p, _, a| {
            let value = text(a, "a backend name.")?;
            p.settings.default_backend = Some(At { value, place: a.place().clone() });
            Ok(())
        },
    ),
    entry("description", "<string>", Places::SIDES, "Describes the proxy.", |p, _, a| {
        super::global::description(a).map(|text| p.description = Some(text))
    }),
    entry("disabled", "", Places::ALL, "Takes the proxy out of service.", |p, _, a| {
        a.no_more_than(0).map(|()| p.settings.disabled = true)
    }),
    entry(
        "dispatch",
        "<address>:<port>",
        Places::BACK,
        "Where requests go that nothing names a server for.",
        |p, cx, a| link::dispatch(cx, a).map(|to| p.settings.options.dispatch = Some(to)),
    ),
    entry(
        "dynamic-cookie-key",
        "<string>",
        Places::D_BACK,
        "What values of dynamic cookies are computed with.",
        |p, _, a| {
            let key = a.need(1, "'dynamic-cookie-key' expects <secret_key> as argument.")?;
            p.settings.back.settings.cookie_key = Some(key.into());
            a.ignores_behind(1);
            Ok(())
        },
    ),
    entry(
        "email-alert",
        "{ from <emailaddr> | level <level> | mailers <mailersect> | myhostname <hostname> | to <emailaddr> }",
        Places::ALL,
        "Sends mails about servers.",
        email_alert::alert,
    ),
    entry("enabled", "", Places::ALL, "Puts the proxy back into service.", |p, _, a| {
        a.no_more_than(0).map(|()| p.settings.disabled = false)
    }),
    entry(
        "error-log-format",
        "<string>",
        Places::ALL,
        "Chooses what logs say of connections that fail before a request.",
        language::format,
    ),
    entry(
        "errorfile",
        "<code> <file>",
        Places::ALL,
        "Replaces an error reply by a file.",
        http::errorfile,
    ),
    entry(
        "errorfiles",
        "<name> [<code> ...]",
        Places::ALL,
        "Takes error replies from an http-errors section.",
        http::errorfiles,
    ),
    entry(
        "errorloc",
        "<code> <url>",
        Places::ALL,
        "Replaces an error reply by a redirect.",
        http::errorloc,
    ),
    entry(
        "errorloc302",
        "<code> <url>",
        Places::ALL,
        "Replaces an error reply by a redirect.",
        http::errorloc,
    ),
    entry(
        "errorloc303",
        "<code> <url>",
        Places::ALL,
        "Replaces an error reply by a redirect.",
        http::errorloc,
    ),
    entry(
        "external-check",
        "command <command> | path <path>",
        Places::D_BACK,
        "The program that checks servers.",
        check::external_line,
    ),
    entry(
        "filter",
        "<name> [param*]",
        Places::SIDES,
        "Has payload pass through a filter.",
        filter::line,
    ),
    entry(
        "filter-sequence",
        "{ request | response } <filter>[,<filter>]*",
        Places::SIDES,
        "Sets which filters one direction passes, and in which order.",
        filter::sequence,
    ),
    entry(
        "force-persist",
        "{ if | unless } <condition>",
        Places::BACK,
        "Persistence holds for servers that are down.",
        language::persistence,
    ),
    entry(
        "fullconn",
        "<conns>",
        Places::D_BACK,
        "Load at which dynamic limits are reached.",
        |p, _, a| {
            let conns = limit(a)?;
            p.settings.back.settings.full_connections = Some(conns).filter(|conns| *conns > 0);
            Ok(())
        },
    ),
    entry(
        "hash-balance-factor",
        "<factor>",
        Places::D_BACK,
        "Bounds the load of a server that hashes choose.",
        balance::factor,
    ),
    entry(
        "hash-type",
        "<method> <function> <modifier>",
        Places::D_BACK,
        "How hashes choose servers.",
        balance::hash_type,
    ),
    entry(
        "http-after-response",
        "<action> <options...> [ { if | unless } <condition> ]",
        Places::RULES,
        "Acts on all responses.",
        language::http_rule,
    ),
    entry(
        "http-check",
        "connect [options...] | send [options...] | expect [options...] [!] <match> <pattern> | comment <text> | set-var(<name>) <expr> | set-var-fmt(<name>) <fmt> | unset-var(<name>) | disable-on-404 | send-state",
        Places::D_BACK,
        "Steps of the HTTP check.",
        check::http_step,
    ),
    entry(
        "http-error",
        "status <code> [content-type <type>] [<content>] [hdr <name> <fmt>]*",
        Places::ALL,
        "Replaces an error reply by a text.",
        http::http_error,
    ),
    entry(
        "http-request",
        "<action> [options...] [ { if | unless } <condition> ]",
        Places::RULES,
        "Acts on requests.",
        language::http_rule,
    ),
    entry(
        "http-response",
        "<action> <options...> [ { if | unless } <condition> ]",
        Places::RULES,
        "Acts on responses of servers.",
        language::http_rule,
    ),
    entry(
        "http-reuse",
        "{ never | safe | aggressive | always }",
        Places::D_BACK,
        "Sharing of idle server connections.",
        |p, _, a| http_reuse(a).map(|reuse| p.settings.back.settings.reuse = reuse),
    ),
    entry(
        "http-send-name-header",
        "<header>",
        Places::D_BACK,
        "Tells servers their names.",
        |p, _, a| {
            let name = a.need(1, "'http-send-name-header' requires a header string.")?;
            p.settings.back.settings.name_header = Some(name.to_ascii_lowercase());
            Ok(())
        },
    ),
    entry("id", "<value>", Places::SIDES, "Number of the proxy.", |p, _, a| {
        let value = values::id(a, "custom id has to be > 0.")?;
        a.no_more_than(1)?;
        if p.id.is_some() {
            let (word, name, place) = (p.word(), &p.name, &p.place);
            let message = format!(
                "{word} {name} reuses same custom id as {word} {name} (declared at {place})."
            );
            return Err(a.fault(0, message));
        }
        p.id = Some(At { value, place: a.place().clone() });
        Ok(())
    }),
    entry(
        "ignore-persist",
        "{ if | unless } <condition>",
        Places::BACK,
        "Persistence does not count.",
        language::persistence,
    ),
    entry(
        "load-server-state-from-file",
        "{ global | local | none }",
        Places::D_BACK,
        "Where the servers' last states are found.",
        |p, _, a| load_state(a).map(|from| p.settings.back.load_state = from),
    ),
    entry(
        "log",
        "global | <target> [len <length>] [format <format>] [sample <ranges>:<size>] <facility> [<level> [<minlevel>]]",
        Places::ALL,
        "Sends logs.",
        log::proxy,
    ),
    entry("log-format", "<string>", Places::ALL, "Chooses what logs say.", language::format),
    entry(
        "log-format-sd",
        "<string>",
        Places::ALL,
        "Adds structured data to logs.",
        language::format,
    ),
    entry("log-tag", "<string>", Places::ALL, "Sets the tag in the syslog header.", |p, _, a| {
        log_tag(a).map(|tag| p.settings.common.log_tag = Some(tag))
    }),
    entry(
        "max-keep-alive-queue",
        "<value>",
        Places::D_BACK,
        "Requests that may wait for a client's last server.",
        |p, _, a| {
            let expected = "'max-keep-alive-queue' expects an integer argument.";
            let limit = values::whole(a, 1).ok_or_else(|| a.fault(1, expected))?;
            p.settings.back.settings.keep_alive_queue = u32::try_from(limit).ok();
            a.ignores_behind(1);
            Ok(())
        },
    ),
    entry(
        "max-session-srv-conns",
        "<nb>",
        Places::D_FRONT,
        "Idle server connections of one client's own.",
        |p, _, a| {
            let expected = "'max-session-srv-conns' expects an integer argument.";
            // As in HAProxy, a negative number means no own connections.
            let limit = a.wrapped(1).ok_or_else(|| a.fault(1, expected))?;
            p.settings.front.settings.own_connections = u32::try_from(limit).unwrap_or(0);
            a.ignores_behind(1);
            Ok(())
        },
    ),
    entry(
        "maxconn",
        "<conns>",
        Places::D_FRONT,
        "Concurrent connections of the frontend.",
        |p, _, a| limit(a).map(|n| p.settings.front.settings.maxconn = Some(n).filter(|n| *n > 0)),
    ),
    entry(
        "mode",
        "{ tcp|http|spop }",
        Places::ALL,
        "Layer 4, layer 7, or agents of SPOE.",
        |p, _, a| {
            mode(a).map(|(mode, is_spop)| (p.settings.mode, p.settings.is_spop) = (mode, is_spop))
        },
    ),
    entry(
        "monitor",
        "fail { if | unless } <condition>",
        Places::FRONT,
        "Makes the monitored URI fail.",
        language::monitor,
    ),
    entry("monitor-uri", "<uri>", Places::D_FRONT, "Answers 200 to this URI.", |p, _, a| {
        text(a, "an URI.")
            .map(|uri| p.settings.front.settings.monitor_uri = Some(http::bytes(&uri)))
    }),
    entry("option", "<name> [param*]", Places::ALL, "Turns an option on.", option::parse),
    entry(
        "rate-limit",
        "sessions <rate>",
        Places::D_FRONT,
        "Bounds the sessions per second.",
        rate_limit,
    ),
    entry(
        "redirect",
        "location|prefix|scheme <loc> [code <code>] <option> [{if | unless} <condition>]",
        Places::SIDES,
        "Answers with a redirect.",
        language::redirect,
    ),
    entry(
        "persist",
        "rdp-cookie[(<name>)]",
        Places::D_BACK,
        "The server that an RDP cookie names.",
        balance::persist,
    ),
    entry(
        "quic-initial",
        "<action> [{if | unless} <condition>]",
        Places::NAMED.and(Places::FRONT),
        "Decides on clients of QUIC by their first packets.",
        language::quic_initial,
    ),
    entry(
        "retries",
        "<value>",
        Places::D_BACK,
        "Connection attempts after the first.",
        |p, _, a| {
            let number = a.wrapped(1);
            let message = "'retries' expects an integer argument (dispatch counts for one).";
            let number = number.ok_or_else(|| a.fault(1, message))?;
            // As in HAProxy, a negative number means 0.
            p.settings.back.settings.retries = u32::try_from(number).unwrap_or(0);
            a.no_more_than(1)
        },
    ),
    entry(
        "retry-on",
        "[list of keywords]",
        Places::D_BACK,
        "Failures after which a request is tried again.",
        http::retry_on,
    ),
    entry(
        "server",
        "<name> <address>[:[port]] [param*]",
        Places::BACK,
        "Declares a server.",
        server::server,
    ),
    entry(
        "server-state-file-name",
        "[ { use-backend-name | <file> } ]",
        Places::D_BACK,
        "The file with the last states of the servers.",
        |p, _, a| {
            let name = a.get(1).filter(|name| *name != "use-backend-name");
            p.settings.back.state_file = name.map(str::to_owned);
            a.no_more_than(1)
        },
    ),
    entry(
        "server-template",
        "<prefix> <num | range> <fqdn>[:<port>] [params*]",
        Places::BACK,
        "Adds servers that differ by a number.",
        server::template,
    ),
    entry(
        "source",
        "<addr> [usesrc ...] [interface <name>]",
        Places::D_BACK,
        "Where connections to servers come from.",
        link::source_line,
    ),
    entry("srvtcpka-cnt", "<count>", Places::D_BACK, "Probes of a silent server.", |p, _, a| {
        link::probes(a).map(|n| p.settings.back.keep_alive.count = n)
    }),
    entry(
        "srvtcpka-idle",
        "<timeout>",
        Places::D_BACK,
        "Silence before the first probe.",
        |p, _, a| link::probe_span(a).map(|n| p.settings.back.keep_alive.idle = Some(n)),
    ),
    entry("srvtcpka-intvl", "<timeout>", Places::D_BACK, "Time between probes.", |p, _, a| {
        link::probe_span(a).map(|n| p.settings.back.keep_alive.interval = Some(n))
    }),
    entry("stats", "<verb> [param*]", Places::ALL, "The statistics page.", stats::parse),
    entry(
        "stick",
        "{ on | match | store-request | store-response } <pattern> [table <table>] [{if | unless} <condition>]",
        Places::BACK,
        "Sends clients to the server that they had before.",
        language::stick,
    ),
    entry(
        "stick-table",
        "type <type> [len <length>] size <size> [expire <expire>] [nopurge] [peers <section> [recv-only] [write-to <table>] [aggregate sum|max|last]] [srvkey <srvkey>] [store <data_type>]*",
        Places::SIDES,
        "Declares the table of this section.",
        stick_table::parse,
    ),
    entry(
        "tcp-check",
        "connect [options...] | send <data> | send-lf <fmt> | send-binary <hex> | send-binary-lf <fmt> | expect [options...] [!] <match> <pattern> | comment <text> | set-var(<name>) <expr> | set-var-fmt(<name>) <fmt> | unset-var(<name>)",
        Places::D_BACK,
        "Steps of the TCP check.",
        check::tcp_step,
    ),
    entry(
        "tcp-request",
        "inspect-delay <timeout> | connection|session|content <action> [{if | unless} <condition>]",
        Places::RULES,
        "Acts on connections and their data.",
        language::tcp_request,
    ),
    entry(
        "tcp-response",
        "inspect-delay <timeout> | content <action> [{if | unless} <condition>]",
        Places::NAMED.and(Places::BACK),
        "Acts on data of servers.",
        language::tcp_response,
    ),
    entry("timeout", "<event> <time>", Places::ALL, "Sets a timeout.", timeout::parse),
    entry("transparent", "", Places::D_BACK, "The same as `option transparent`.", |p, _, a| {
        a.no_more_than(0).map(|()| p.settings.options.transparent = true)
    }),
    entry(
        "unique-id-format",
        "<string>",
        Places::ALL,
        "Makes an id for each request.",
        language::format,
    ),
    entry(
        "unique-id-header",
        "<name>",
        Places::D_FRONT,
        "Sends the id to servers.",
        language::unique_id_header,
    ),
    entry(
        "use-fcgi-app",
        "<name>",
        Places::ALL,
        "The FastCGI application of the servers with `proto fcgi`.",
        filter::use_fcgi_app,
    ),
    entry(
        "use-server",
        "<server> { if | unless } <condition>",
        Places::BACK,
        "Chooses a server.",
        language::use_server,
    ),
    entry(
        "use_backend",
        "<backend> [{if | unless} <condition>]",
        Places::FRONT,
        "Chooses a backend.",
        language::use_backend,
    ),
    entry("usesrc", "", Places::D_BACK, "Stands behind a source.", |_, _, a| {
        Err(a.fault(0, "'usesrc' only allowed after a 'source' statement."))
    }),
];

/// One line of a proxy or `defaults` section.
pub(crate) fn line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(0);
    if let Some(hint) = removed::keyword(name, args.text(1)) {
        return Err(args.fault(0, hint));
    }
    let Some(keyword) = Keyword::find(KEYWORDS, name) else {
        let unknown = format!("unknown keyword '{name}' in '{}' section", section_word(proxy));
        return Err(known::fault(args, 0, "proxy", name, unknown));
    };
    if allowed(proxy, cx, args, keyword.places, name)? {
        return (keyword.parse)(proxy, cx, args);
    }
    // As in HAProxy, HAProxy parses every line that it ignores, except this one.
    if name == "stick" {
        return Ok(());
    }
    judge(proxy, cx, args, keyword.parse)?;
    match name {
        "use-server" => without_servers(proxy, args),
        _ => Ok(()),
    }
}

/// A `use-server` line of a section that has no server: HAProxy ignores the line, and still looks
/// for its server.
fn without_servers(proxy: &DraftProxy, args: Args<'_>) -> Parsed {
    let server = args.text(1);
    if server.contains('%') {
        return Ok(());
    }
    let (word, name) = (proxy.word(), &proxy.name);
    let message = format!(
        "{word} '{name}' : unable to find server '{server}' referenced in a 'use-server' rule."
    );
    Err(args.fault(1, message))
}

/// Parses a line that has no effect in its section, to report its mistakes.
pub(super) fn judge(
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    parse: Fill<DraftProxy>,
) -> Parsed {
    let settings = proxy.settings.clone();
    let named = proxy.named.len();
    let rules = std::mem::take(&mut proxy.rules);
    let captures = std::mem::take(&mut proxy.captures);
    let cookie = proxy.captured_cookie.take();
    let said = std::mem::take(&mut cx.diagnostics);
    let (tables, mentions) = (std::mem::take(&mut cx.tables), std::mem::take(&mut cx.mentions));
    let parsed = parse(proxy, cx, args);
    cx.diagnostics = said;
    (cx.tables, cx.mentions) = (tables, mentions);
    (proxy.settings, proxy.rules, proxy.captures) = (settings, rules, captures);
    proxy.named.truncate(named);
    proxy.captured_cookie = cookie;
    for late in std::mem::take(&mut proxy.late) {
        cx.diagnostics.push(late);
    }
    parsed
}

/// The keyword of the section, for messages.
pub(super) fn section_word(proxy: &DraftProxy) -> &'static str {
    match proxy.word() {
        "proxy" => "listen",
        word => word,
    }
}

/// The message about a keyword whose side the proxy lacks; the last argument names the side.
type Refusal = fn(&DraftProxy, Args<'_>, &str) -> String;

/// Keywords that are refused in a proxy without their side, where other keywords are ignored with
/// a warning: these would be lost, not just useless. The messages are HAProxy's.
const REFUSED: &[(&str, Refusal)] = &[
    ("server", no_server),
    ("default-server", no_server),
    ("server-template", no_server),
    ("tcp-request connection", no_frontend),
    ("tcp-request session", no_frontend),
    ("tcp-response", |_, args, _| {
        let places = "'backend' sections or 'defaults' section with a name";
        format!("tcp-response {} is only allowed in {places}", args.text(1))
    }),
    ("retry-on", |_, _, _| "'retry-on' only available in backend or listen section".to_owned()),
    ("declare", |_, _, _| "'declare' only available in frontend or listen section".to_owned()),
];

fn no_server(_: &DraftProxy, args: Args<'_>, lack: &str) -> String {
    format!("'{}' not allowed because {lack}", args.text(0))
}

fn no_frontend(proxy: &DraftProxy, args: Args<'_>, _: &str) -> String {
    let (word, name) = (proxy.word(), &proxy.name);
    format!("tcp-request {} is not allowed because {word} {name} is not a frontend", args.text(1))
}

/// The keyword that a user may have meant, for the warning about one that is ignored.
const HINTS: &[(&str, &str)] = &[
    ("maxconn", " Maybe you want 'fullconn' instead ?"),
    ("fullconn", " Maybe you want 'maxconn' instead ?"),
];

/// Whether a keyword acts here: an error where it is forbidden, a warning where the proxy lacks the
/// side it needs. `shown` is how HAProxy calls the keyword in such messages.
pub(super) fn allowed(
    proxy: &DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    places: Places,
    shown: &str,
) -> Parsed<bool> {
    if proxy.kind == DraftKind::Defaults {
        return match (places.has(Places::DEFAULTS), places.has(Places::NAMED)) {
            (true, _) => Ok(true),
            (_, true) if !proxy.name.is_empty() => Ok(true),
            (_, true) => {
                let message = format!("'{shown}' not allowed in anonymous 'defaults' section.");
                Err(args.fault(0, message))
            }
            _ if shown == "filter" => {
                Err(args.fault(0, "filter is not allowed in a 'default' section."))
            }
            _ => Err(args.fault(0, format!("'{shown}' not allowed in 'defaults' section."))),
        };
    }
    let front = places.has(Places::FRONT) && proxy.has_frontend();
    let back = places.has(Places::BACK) && proxy.has_backend();
    if front || back {
        return Ok(true);
    }
    let side = if places.has(Places::BACK) { "backend" } else { "frontend" };
    let lack = format!("{} '{}' has no {side} capability.", proxy.word(), proxy.name);
    if let Some((_, message)) = REFUSED.iter().find(|(keyword, _)| *keyword == shown) {
        return Err(args.fault(0, message(proxy, args, &lack)));
    }
    let hint = HINTS.iter().find(|(keyword, _)| *keyword == shown).map_or("", |(_, hint)| hint);
    let message = format!("'{shown}' ignored because {lack}{hint}");
    let message = match shown.starts_with("clitcpka-") || shown.starts_with("srvtcpka-") {
        true => format!("{shown} will be ignored because {}", lack.trim_end_matches('.')),
        false => message,
    };
    cx.warn(args, 0, message);
    Ok(false)
}

/// One limit.
fn limit(args: Args<'_>) -> Parsed<u32> {
    args.no_more_than(1)?;
    limit_at(args, 1)
}

/// The mode, and whether the proxy is a backend for agents of SPOE, which carries bytes.
fn mode(args: Args<'_>) -> Parsed<(Mode, bool)> {
    let mode = match args.text(1) {
        "http" => (Mode::Http, false),
        "tcp" => (Mode::Tcp, false),
        "spop" => (Mode::Tcp, true),
        "health" => {
            return Err(args.fault(
                1,
                "'mode health' doesn't exist anymore. Please use 'http-request return status 200' instead.",
            ));
        }
        other => {
            let fault = args.fault(1, format!("unknown proxy mode '{other}'."));
            return Err(fault.suggest(crate::suggest::nearest(other, ["http", "tcp", "spop"])));
        }
    };
    args.no_more_than(1).map(|()| mode)
}

fn http_reuse(args: Args<'_>) -> Parsed<Reuse> {
    let reuse = match args.text(1) {
        "never" => Reuse::Never,
        "safe" => Reuse::Safe,
        "aggressive" => Reuse::Aggressive,
        "always" => Reuse::Always,
        _ => {
            let message = "'http-reuse' only supports 'never', 'safe', 'aggressive', 'always'.";
            return Err(args.fault(1, message));
        }
    };
    args.no_more_than(1).map(|()| reuse)
}

/// Whether `no` and `default` may precede this keyword.
pub(crate) fn takes_prefix(name: &str) -> bool {
    matches!(
        name,
        "option"
            | "log"
            | "busy-polling"
            | "set-dumpable"
            | "strict-limits"
            | "insecure-fork-wanted"
            | "numa-cpu-mapping"
    )
}

/// True when a flag must be turned on: no prefix in front.
pub(super) fn wanted(cx: &Cx<'_>) -> bool {
    cx.prefix == Prefix::None
}

/// `rate-limit sessions <rate>`
fn rate_limit(proxy: &mut DraftProxy, _: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.text(1) != "sessions" {
        let message = format!("'rate-limit' only supports 'sessions' (got '{}').", args.text(1));
        return Err(args.fault(1, message));
    }
    args.ignores_behind(2);
    let message = "'sessions' expects an integer argument.";
    values::whole(args, 2).ok_or_else(|| args.fault(2, message))?;
    limit_at(args, 2).map(|n| proxy.settings.front.settings.session_rate = n)
}

/// `load-server-state-from-file`; further words are ignored, as in HAProxy.
fn load_state(args: Args<'_>) -> Parsed<LoadState> {
    match args.text(1) {
        "global" => Ok(LoadState::Global),
        "local" => Ok(LoadState::Local),
        "none" => Ok(LoadState::None),
        other => {
            let message = format!(
                "'load-server-state-from-file' expects 'global', 'local' or 'none'. Got '{other}'"
            );
            Err(args.fault(1, message))
        }
    }
}
