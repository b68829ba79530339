//! `server` and `default-server` lines (sections 4.2 and 5.2).
use super::http;
use super::link;
use super::tls;
use super::values::{self, limit_at, limit_or_zero, time_at};
use crate::addr::{self, AddressError};
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{DraftKind, DraftProxy, NamedServers};
use crate::keyword::{Fill, Keyword, word as entry};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{
    At, InitAddr, Layer, Mode, Network, OnError, Protocol, ResolveOptions, Server, ServerAddress,
    ServerOptions, Websocket,
};
use crate::value::Unit;
use std::sync::Arc;
use stdx::leading_number;

/// The options of one line, and the number that only servers may have.
pub(crate) struct Filling {
    pub(crate) options: ServerOptions,
    pub(crate) id: Option<u32>,
    /// Whether the section is in HTTP mode.
    pub(crate) http: bool,
}

impl Filling {
    /// No presets at all, as for servers outside of proxies.
    pub(crate) fn bare() -> Self {
        Self { options: ServerOptions::default(), id: None, http: false }
    }

    /// The presets of a section.
    fn of(proxy: &DraftProxy) -> Self {
        let options = proxy.settings.default_server.clone();
        Self { options, id: None, http: proxy.settings.mode == Mode::Http }
    }
}

type ServerOption = Keyword<Fill<Filling>>;

/// All implemented options, alphabetical. Argument 0 is the option, 1 its value.
pub(crate) const OPTIONS: &[ServerOption] = &[
    entry("addr", "<ipv4|ipv6>", "Address to check.", |s, cx, a| {
        let given = a.need(1, "'addr' expects <ipv4|ipv6> as argument.")?;
        // A port may follow; `port` overrides it, before or behind this keyword.
        let whole = cx.address(given);
        let ip = whole.parse::<std::net::SocketAddr>().ok();
        if let Some(address) = ip {
            s.options.check.addr = Some(address.ip());
            let port = Some(address.port()).filter(|port| *port > 0);
            s.options.check.port = s.options.check.port.or(port);
            return Ok(());
        }
        let address = addr::host(&whole, cx.names);
        let told = |e| a.fault(1, format!("'addr' : {e}."));
        s.options.check.addr = Some(address.map_err(told)?);
        Ok(())
    }),
    entry("agent-addr", "<addr>", "Address of the agent.", |s, cx, a| {
        let given = a.need(1, "'agent-addr' expects an address as argument.")?;
        let told = |e| {
            a.fault(
                1,
                format!("parsing agent-addr failed. Check if '{given}' is correct address. ({e})"),
            )
        };
        s.options.check.agent.addr = Some(addr::host(given, cx.names).map_err(told)?);
        Ok(())
    }),
    entry("agent-check", "", "Asks an agent about the server.", |s, _, _| {
        s.options.check.agent.enabled = true;
        Ok(())
    }),
    entry("agent-inter", "<delay>", "Between questions to the agent.", |s, _, a| {
        delay(a).map(|t| s.options.check.agent.inter = t)
    }),
    entry("agent-port", "<port>", "Port of the agent.", |s, _, a| {
        port(a).map(|port| s.options.check.agent.port = port)
    }),
    entry("agent-send", "<string>", "What the agent is told.", |s, _, a| {
        let text = a.need(1, "'agent-send' expects a string as argument.")?;
        s.options.check.agent.send = sample::word::to_bytes(text).into();
        Ok(())
    }),
    entry("backup", "", "Used when no other server is.", |s, _, _| {
        s.options.backup = true;
        Ok(())
    }),
    entry("check", "", "Checks the server.", |s, _, _| {
        s.options.check.enabled = true;
        Ok(())
    }),
    entry("check-proto", "<name>", "Protocol of the checks.", |s, _, a| {
        s.options.check.protocol = Some(protocol(a)?);
        Ok(())
    }),
    entry("check-send-proxy", "", "Checks begin with a PROXY header.", |s, _, _| {
        s.options.check.send_proxy = true;
        Ok(())
    }),
    entry("check-via-socks4", "", "Checks go through the SOCKS4 proxy.", |s, _, _| {
        s.options.check.via_socks4 = true;
        Ok(())
    }),
    entry("cookie", "<value>", "Value in the persistence cookie.", |s, _, a| {
        s.options.cookie = Some(a.need(1, "'cookie' expects <value> as argument.")?.to_owned());
        Ok(())
    }),
    entry("disabled", "", "Starts in maintenance.", |s, _, _| {
        s.options.disabled = true;
        Ok(())
    }),
    entry("downinter", "<delay>", "Between checks when DOWN.", |s, _, a| {
        delay(a).map(|t| s.options.check.downinter = Some(t))
    }),
    entry("enabled", "", "Starts in service.", |s, _, _| {
        s.options.disabled = false;
        Ok(())
    }),
    entry("error-limit", "<count>", "Failures of traffic that are too many.", |s, _, a| {
        error_limit(a).map(|n| s.options.error_limit = n)
    }),
    entry("fall", "<count>", "Failed checks to go DOWN.", |s, _, a| {
        count(a).map(|n| s.options.check.fall = n)
    }),
    entry("fastinter", "<delay>", "Between checks while going UP or DOWN.", |s, _, a| {
        delay(a).map(|t| s.options.check.fastinter = Some(t))
    }),
    entry("id", "<value>", "Number of the server.", |s, _, a| {
        s.id = Some(values::id(a, "'id' : custom id has to be > 0")?);
        Ok(())
    }),
    entry(
        "init-addr",
        "{last | libc | none | <ip>},[...]*",
        "How the first address is found.",
        |s, _, a| init_addr(a).map(|methods| s.options.resolve.init = Some(methods)),
    ),
    entry("inter", "<delay>", "Between checks.", |s, _, a| {
        delay(a).map(|t| s.options.check.inter = t)
    }),
    entry("log-proto", "<logproto>", "How a ring sends its messages.", |_, cx, a| {
        octet_count(a)?;
        cx.warn(a, 0, "'log-proto' has no effect outside 'ring' sections");
        Ok(())
    }),
    entry("max-reuse", "<count>", "Times that a connection is used again.", |s, _, a| {
        let number = a.wrapped(1).ok_or_else(|| a.fault(1, "'max-reuse' must be >= -1"))?;
        s.options.max_reuse = number.max(-1);
        Ok(())
    }),
    entry("maxconn", "<maxconn>", "Concurrent requests.", |s, _, a| {
        limit_or_zero(a).map(|n| s.options.maxconn = n)
    }),
    entry("maxqueue", "<maxqueue>", "Requests that may wait for the server.", |s, _, a| {
        limit_or_zero(a).map(|n| s.options.maxqueue = n)
    }),
    entry("minconn", "<minconn>", "Concurrent requests while there is little to do.", |s, _, a| {
        limit_or_zero(a).map(|n| s.options.minconn = n)
    }),
    entry("namespace", "<name>", "Network namespace of the connections.", |s, cx, a| {
        let name = a.need(1, "'namespace' : expects <name> as argument")?;
        s.options.link.namespace = Some(name.to_owned());
        // The client's own address is known at run time.
        if name == "*" { Ok(()) } else { link::namespace(cx, a, name) }
    }),
    entry("no-agent-check", "", "Undoes `agent-check`.", |s, _, _| {
        s.options.check.agent.enabled = false;
        Ok(())
    }),
    entry("no-backup", "", "Undoes `backup`.", |s, _, _| {
        s.options.backup = false;
        Ok(())
    }),
    entry("no-check", "", "Undoes `check`.", |s, _, _| {
        s.options.check.enabled = false;
        Ok(())
    }),
    entry("no-check-send-proxy", "", "Undoes `check-send-proxy`.", |s, _, _| {
        s.options.check.send_proxy = false;
        Ok(())
    }),
    entry("no-send-proxy", "", "Undoes `send-proxy`.", |s, _, _| {
        s.options.link.announce.v1 = false;
        Ok(())
    }),
    entry("no-send-proxy-v2", "", "Undoes `send-proxy-v2`.", |s, _, _| {
        s.options.link.announce.v2 = false;
        Ok(())
    }),
    entry("no-send-proxy-v2-ssl", "", "Undoes `send-proxy-v2-ssl`.", |s, _, _| {
        let announce = &mut s.options.link.announce;
        (announce.v2, announce.ssl) = (false, false);
        Ok(())
    }),
    entry("no-send-proxy-v2-ssl-cn", "", "Undoes `send-proxy-v2-ssl-cn`.", |s, _, _| {
        let announce = &mut s.options.link.announce;
        (announce.v2, announce.ssl, announce.cert_cn) = (false, false, false);
        Ok(())
    }),
    entry("no-verifyhost", "", "Undoes `verifyhost`.", |s, _, _| {
        s.options.tls.verify_host = None;
        Ok(())
    }),
    entry("no-tfo", "", "Undoes `tfo`.", |s, _, _| {
        s.options.link.tfo = false;
        Ok(())
    }),
    entry("redir", "<prefix>", "Clients go there themselves.", |s, _, a| {
        s.options.redirect = Some(a.need(1, "'redir' expects <prefix> as argument.")?.into());
        Ok(())
    }),
    entry("non-stick", "", "Never stored in a stick table.", |s, _, _| {
        s.options.non_stick = true;
        Ok(())
    }),
    entry("observe", "<mode>", "What traffic tells of its health.", |s, _, a| {
        s.options.observe = observe(a, s.http)?;
        Ok(())
    }),
    entry("on-error", "<mode>", "What follows from too many failures.", |s, _, a| {
        on_error(a).map(|mode| s.options.on_error = mode)
    }),
    entry("on-marked-down", "<action>", "What follows when it goes DOWN.", |s, _, a| {
        the_one(a, "shutdown-sessions").map(|()| s.options.down_ends_sessions = true)
    }),
    entry("on-marked-up", "<action>", "What follows when it comes UP.", |s, _, a| {
        the_one(a, "shutdown-backup-sessions").map(|()| s.options.up_ends_backup_sessions = true)
    }),
    entry("pool-low-conn", "<max>", "Idle connections that stay with their thread.", |s, _, a| {
        limit_at(a, 1).map(|n| s.options.pool_low_conn = n)
    }),
    entry("pool-max-conn", "<max>", "Idle connections kept.", |s, _, a| {
        at_least_minus_one(a).map(|n| s.options.pool_max_conn = n)
    }),
    entry("pool-purge-delay", "<delay>", "Between purges of idle connections.", |s, _, a| {
        delay_or_zero(a).map(|t| s.options.pool_purge_delay = t)
    }),
    entry("port", "<port>", "Port to check.", |s, _, a| {
        port(a).map(|port| s.options.check.port = port)
    }),
    entry("proto", "<name>", "Protocol of the connections.", |s, _, a| {
        s.options.protocol = Some(protocol(a)?);
        Ok(())
    }),
    entry("proxy-v2-options", "<option>[,<option>]*", "What PROXY headers say.", |s, _, a| {
        link::proxy_v2_options(&mut s.options.link.announce, a)
    }),
    entry("resolve-net", "<network>[,<network[,...]]", "Networks that are better.", |s, _, a| {
        networks(a).map(|networks| s.options.resolve.networks = networks)
    }),
    entry("resolve-opts", "<option>,<option>,...", "How addresses are chosen.", |s, _, a| {
        resolve_options(a, &mut s.options.resolve)
    }),
    entry("resolve-prefer", "<family>", "The family that is better.", |s, _, a| {
        s.options.resolve.family = match a.text(1) {
            "ipv4" => dns::RecordType::V4,
            "ipv6" => dns::RecordType::V6,
            _ => {
                let message = "'resolve-prefer' expects either ipv4 or ipv6 as argument.";
                return Err(a.fault(1, message));
            }
        };
        Ok(())
    }),
    entry("resolvers", "<id>", "Who resolves its name while the process serves.", |s, _, a| {
        let name = a.need(1, "'resolvers' expects <id> as argument.")?.to_owned();
        s.options.resolve.resolvers = Some(At { value: name, place: a.place().clone() });
        Ok(())
    }),
    entry("rise", "<count>", "Passed checks to go UP.", |s, _, a| {
        count(a).map(|n| s.options.check.rise = n)
    }),
    entry("send-proxy", "", "Begins with a PROXY header.", |s, _, _| {
        s.options.link.announce.v1 = true;
        Ok(())
    }),
    entry("send-proxy-v2", "", "The same, version 2.", |s, _, _| {
        s.options.link.announce.v2 = true;
        Ok(())
    }),
    entry("send-proxy-v2-ssl", "", "The same, and TLS.", |s, _, _| {
        let announce = &mut s.options.link.announce;
        (announce.v2, announce.ssl) = (true, true);
        Ok(())
    }),
    entry("send-proxy-v2-ssl-cn", "", "The same, and the client's name.", |s, _, _| {
        let announce = &mut s.options.link.announce;
        (announce.v2, announce.ssl, announce.cert_cn) = (true, true, true);
        Ok(())
    }),
    entry("slowstart", "<start_time_in_ms>", "Time to reach the full weight.", |s, _, a| {
        delay_or_zero(a).map(|t| s.options.slowstart = t)
    }),
    entry("socks4", "<addr>:<port>", "Goes through a SOCKS4 proxy.", |s, cx, a| {
        let given = a.need(1, "'socks4' expects <addr>:<port> as argument.")?;
        let told = |e| a.fault(1, format!("'socks4 {given}' : {e}"));
        let at = addr::stream(&cx.address(given), cx.names).map_err(told)?;
        s.options.link.socks4 = Some(at);
        Ok(())
    }),
    entry("source", "<addr>[:<port>[-<port>]]", "Where connections come from.", |s, cx, a| {
        s.options.link.source = Some(link::source(cx, a)?);
        Ok(())
    }),
    entry("stick", "", "Undoes `non-stick`.", |s, _, _| {
        s.options.non_stick = false;
        Ok(())
    }),
    entry("tcp-ut", "<delay>", "Longest wait for acknowledgements.", |s, _, a| {
        link::tcp_ut(a).map(|ms| s.options.link.tcp_ut = ms)
    }),
    entry("tfo", "", "Sends data with the first packet.", |s, _, _| {
        s.options.link.tfo = true;
        Ok(())
    }),
    entry("track", "[<backend>/]<server>", "Follows the state of another server.", |s, _, a| {
        let given = a.need(1, "'track' expects [<proxy>/]<server> as argument.")?;
        s.options.track = Some(given.to_owned());
        Ok(())
    }),
    entry(
        "usesrc",
        "<addr> | client | clientip | hdr_ip(..)",
        "Whose address it is.",
        |s, cx, a| link::usesrc(link::behind(&mut s.options.link.source, a, "usesrc")?, cx, a),
    ),
    entry("weight", "<weight>", "Share of the load.", |s, _, a| {
        weight(a).map(|n| s.options.weight = n)
    }),
    entry("ws", "{ auto | h1 | h2 }", "Version of HTTP for websockets.", |s, _, a| {
        s.options.websocket = match a.text(1) {
            "auto" => Websocket::Auto,
            "h1" => Websocket::H1,
            "h2" => Websocket::H2,
            _ => return Err(a.fault(1, "'ws' has to be 'auto', 'h1' or 'h2'.")),
        };
        Ok(())
    }),
];

/// A `server` line.
pub(crate) fn server(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'server' expects <name> and <addr>[:<port>] as arguments.";
    let name = args.need(1, expected)?;
    args.need(2, expected)?;
    define(proxy, cx, args, &[name.to_owned()], 2)
}

/// A `server-template` line: as many servers as its range has numbers.
pub(super) fn template(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'server-template' expects <prefix> <nb | range> <addr>[:<port>] as arguments.";
    let prefix = args.need(1, expected)?;
    let given = args.need(2, expected)?;
    args.need(3, expected)?;
    let number = |text: &str| leading_number::number(text).filter(|_| !text.is_empty());
    let (low, high) = match given.split_once('-') {
        Some((low, high)) => (number(low), number(high)),
        None => (Some((1, None)), number(given)),
    };
    let odd = [&low, &high].into_iter().flatten().filter_map(|(_, odd)| odd.as_deref());
    odd.for_each(|odd| args.note(2, format!("'{}' : {odd}", args.text(0))));
    let (low, high) = (low.map(|(number, _)| number), high.map(|(number, _)| number));
    let range = low.zip(high).filter(|(low, high)| low <= high && *high > 0 && high - low < MOST);
    let wrong = || args.fault(2, format!("Wrong server-template number or range arg '{given}'."));
    let (low, high): (u32, u32) = range.ok_or_else(wrong)?;
    let names: Vec<String> = (low..=high).map(|number| format!("{prefix}{number}")).collect();
    define(proxy, cx, args, &names, 3)
}

/// The most servers of one template.
const MOST: u32 = 1 << 16;

/// Servers with these names; their address is argument `at`, their options follow.
fn define(
    proxy: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    names: &[String],
    at: usize,
) -> Parsed {
    let name = sound_name(args)?;
    let context = format!("'{} {}/{name}'", args.text(0), proxy.name);
    for name in names {
        refuse_double(proxy, cx, args, name);
    }
    let given = cx.address(args.text(at));
    let (address, named) =
        place(args.text(at), &given, name).map_err(|e| args.fault(at, e).within(&context))?;
    let filling = Filling::of(proxy);
    let Filling { mut options, id, .. } = options(filling, cx, args, at + 1, &context)?;
    options.tls.presets = Some(cx.tls_presets.clone());
    tls::understand(&mut options, proxy, cx, args).map_err(|f| f.within(&context))?;
    let agent = &options.check.agent;
    if agent.enabled && agent.port.is_none() && options.check.port.is_none() {
        let message = "using 'agent-check' requires 'agent-port' to be set";
        return Err(args.fault(1, message).within(&context));
    }
    let host = named.map(|_| address.host.clone());
    if let Some(family) = named {
        let from = proxy.settings.back.servers.len();
        let servers = from..from + names.len();
        let context = args.diagnostic(Severity::Alert, args.fault(at, context));
        proxy.named.push(NamedServers { servers, family, context });
    }
    for (at, name) in names.iter().enumerate() {
        let name: Arc<str> = name.as_str().into();
        // In a template, only the first server has the number.
        let id = id.filter(|_| at == 0);
        proxy.server_names.entry(Arc::clone(&name)).or_insert(proxy.settings.back.servers.len());
        proxy.settings.back.servers.push(Server {
            name,
            id: id.unwrap_or(0),
            forced_id: false,
            tracked: None,
            referenced: false,
            tls: None,
            address: address.clone(),
            place: args.place().clone(),
            host: host.clone(),
            unresolved: host.is_some(),
            resolve: None,
            options: options.clone(),
            last_address: false,
            restored: None,
            serves_as: None,
            checked_at: (None, None),
            checks_off: false,
            agent_off: false,
        });
    }
    Ok(())
}

/// The name behind the keyword.
fn sound_name(args: Args<'_>) -> Parsed<&str> {
    let name = args.text(1);
    match name.char_indices().find(|(_, c)| !crate::value::is_name_char(*c)) {
        None => Ok(name),
        Some((at, c)) => {
            let message = format!("character '{c}' is not permitted in server name '{name}'.");
            Err(args.fault_at(1, at, message))
        }
    }
}

fn refuse_double(proxy: &DraftProxy, cx: &mut Cx<'_>, args: Args<'_>, name: &str) {
    if let Some(first) = proxy.server_names.get(name) {
        let line = proxy.settings.back.servers[*first].place.line;
        let message = format!(
            "{} '{}', another server named '{name}' was already defined at line {line}, please use distinct names.",
            proxy.word(),
            proxy.name
        );
        cx.alert(args, args.fault(1, message));
    }
}

/// The place of a server: what is `written`, with variables `given` their values.
fn place(
    written: &str,
    given: &str,
    name: &str,
) -> Result<(ServerAddress, Option<addr::Family>), AddressError> {
    if given.is_empty() {
        return Err(AddressError::Empty { written: written.to_owned() });
    }
    let (address, named) = addr::server_place(given)?;
    // Whether a name can be resolved does not depend on the resolver.
    let hollow = address.host.starts_with('.') || address.host.contains("..");
    if named.is_some() && hollow {
        return Err(AddressError::Unresolvable { server: name.to_owned() });
    }
    Ok((address, named))
}

/// A `default-server` line: presets for the servers after it.
pub(super) fn default(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if args.get(1).is_none() {
        args.note(0, "'default-server' without parameters presets nothing".to_owned());
        return Ok(());
    }
    let filling = Filling::of(proxy);
    let context = match proxy.kind {
        DraftKind::Defaults => "'default-server'".to_owned(),
        DraftKind::Proxy(_) => format!("'default-server' of {} '{}'", proxy.word(), proxy.name),
    };
    let filling = options(filling, cx, args, 1, &context)?;
    if filling.id.is_some() {
        // HAProxy calls it an alert, and runs.
        let (word, _) = args.find(1, "id");
        cx.warn(args, word, "'id' option is not accepted in default-server sections: ignored");
    }
    let mut options = filling.options;
    tls::understand(&mut options, proxy, cx, args).map_err(|f| f.within(&context))?;
    proxy.settings.default_server = options;
    Ok(())
}

fn options(
    mut filling: Filling,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    first: usize,
    context: &str,
) -> Parsed<Filling> {
    let mut n = first;
    while let Some(name) = args.get(n) {
        // A part of `source` that may be separated from it.
        if name == "interface" && filling.options.link.source.is_some() {
            let source = link::behind(&mut filling.options.link.source, args.from(n), name)?;
            link::interface(source, args.from(n)).map_err(|f| f.within(context))?;
            n += 2;
            continue;
        }
        let Some(keyword) = find(name) else {
            let unknown = format!("unknown keyword '{name}'");
            return Err(known::fault(args, n, "server", name, unknown).within(context));
        };
        (keyword.parse)(&mut filling, cx, args.from(n)).map_err(|f| f.within(context))?;
        n += 1 + keyword.takes();
    }
    Ok(filling)
}

/// The entry of a word.
pub(crate) fn find(name: &str) -> Option<&'static ServerOption> {
    Keyword::find(OPTIONS, name).or_else(|| Keyword::find(tls::SERVER, name))
}

/// The lowest 16 bits of a number, as HAProxy keeps a port; none for 0.
fn port(args: Args<'_>) -> Parsed<Option<u16>> {
    let name = args.text(0);
    let number = args.wrapped(1);
    let number =
        number.ok_or_else(|| args.fault(1, format!("'{name}' expects an integer argument.")))?;
    let port = number as u16;
    if i32::from(port) != number {
        args.note(1, format!("'{name}' : '{}' is no port and is read as {port}", args.text(1)));
    }
    Ok(Some(port).filter(|port| *port > 0))
}

fn delay(args: Args<'_>) -> Parsed<u64> {
    match delay_or_zero(args)? {
        0 => Err(args.fault(1, format!("invalid value 0 for argument '{}'.", args.text(0)))),
        t => Ok(t),
    }
}

fn delay_or_zero(args: Args<'_>) -> Parsed<u64> {
    let name = args.text(0);
    args.need(1, format!("'{name}' expects a delay as argument."))?;
    time_at(args, 1, Unit::Milliseconds, &format!("'{name}' argument of server."))
}

/// `proto`, `check-proto`
fn protocol(args: Args<'_>) -> Parsed<Protocol> {
    let name = args.text(0);
    let given = args.need(1, format!("'{name}' : missing value."))?;
    let unknown = || args.fault(1, format!("'{name}' :  unknown MUX protocol '{given}'."));
    Protocol::named(given).ok_or_else(unknown)
}

fn count(args: Args<'_>) -> Parsed<u32> {
    let name = args.text(0);
    let number = args.wrapped(1).filter(|n| (1..=1 << 20).contains(n));
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| args.fault(1, format!("'{name}' has to be > 0.")))
}

fn error_limit(args: Args<'_>) -> Parsed<u32> {
    args.need(1, "'error-limit' expects an integer argument.")?;
    let number = args.leading(1).filter(|n| (1..=1 << 20).contains(n));
    number.ok_or_else(|| args.fault(1, "error-limit has to be > 0."))
}

fn observe(args: Args<'_>, http: bool) -> Parsed<Option<Layer>> {
    match args.need(1, "'observe' expects <mode> as argument.")? {
        "none" => Ok(None),
        "layer4" => Ok(Some(Layer::Four)),
        "layer7" if http => Ok(Some(Layer::Seven)),
        // HAProxy calls it an alert, and runs.
        "layer7" => {
            args.note(1, "'layer7' can only be used in http proxies: ignored".to_owned());
            Ok(None)
        }
        other => {
            let message =
                format!("'observe' expects one of 'none', 'layer4', 'layer7' but got '{other}'.");
            Err(args.fault(1, message))
        }
    }
}

fn on_error(args: Args<'_>) -> Parsed<OnError> {
    match args.text(1) {
        "fastinter" => Ok(OnError::FastInter),
        "fail-check" => Ok(OnError::FailCheck),
        "sudden-death" => Ok(OnError::SuddenDeath),
        "mark-down" => Ok(OnError::MarkDown),
        other => {
            let message = format!(
                "'on-error' expects one of 'fastinter', 'fail-check', 'sudden-death' or 'mark-down' but got '{other}'."
            );
            Err(args.fault(1, message))
        }
    }
}

/// The only valid word of the option.
fn the_one(args: Args<'_>, word: &str) -> Parsed {
    match args.text(1) {
        given if given == word => Ok(()),
        other => {
            let message = format!("'{}' expects '{word}' but got '{other}'.", args.text(0));
            Err(args.fault(1, message))
        }
    }
}

fn weight(args: Args<'_>) -> Parsed<u32> {
    let given = args.text(1);
    if given.is_empty() {
        return limit_or_zero(args);
    }
    let number = args.wrapped(1).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 256);
    let message = format!("weight of server is not within 0 and 256 ({given}).");
    number.ok_or_else(|| args.fault(1, message))
}

fn at_least_minus_one(args: Args<'_>) -> Parsed<i32> {
    let name = args.text(0);
    let number: Option<i32> = args.leading(1).filter(|n| *n >= -1);
    number.ok_or_else(|| args.fault(1, format!("'{name}' must be >= -1")))
}

fn init_addr(args: Args<'_>) -> Parsed<Vec<InitAddr>> {
    let given = args.need(1, "'init-addr' expects a comma-delimited list of methods.")?;
    let method = |word: &str| {
        match word {
        "last" => Ok(InitAddr::Last),
        "libc" => Ok(InitAddr::Libc),
        "none" => Ok(InitAddr::None),
        other => other.parse().map(InitAddr::Ip).map_err(|_| {
            let message = format!(
                "'init-addr' : unknown init-addr method '{other}', supported methods are 'libc', 'last', 'none'."
            );
            args.fault(1, message)
        }),
    }
    };
    given.split(',').filter(|word| !word.is_empty()).map(method).collect()
}

fn networks(args: Args<'_>) -> Parsed<Vec<Network>> {
    let given = args.need(1, "'resolve-net' expects a list of networks.")?;
    let wrong = |text: &str| args.fault(1, format!("'resolve-net' invalid network '{text}'."));
    given.split(',').map(|text| http::network(text).ok_or_else(|| wrong(text))).collect()
}

fn resolve_options(args: Args<'_>, to: &mut ResolveOptions) -> Parsed {
    let given = args.need(1, "'resolve-opts' expects a comma-delimited list of options.")?;
    for option in given.split(',').filter(|word| !word.is_empty()) {
        match option {
            "allow-dup-ip" => to.shares = true,
            "prevent-dup-ip" => to.shares = false,
            "ignore-weight" => to.keeps_weight = true,
            other => {
                let message = format!(
                    "'resolve-opts' : unknown resolve-opts option '{other}', supported methods are 'allow-dup-ip', 'ignore-weight', and 'prevent-dup-ip'."
                );
                return Err(args.fault(1, message));
            }
        }
    }
    Ok(())
}

/// `log-proto { legacy | octet-count }`: whether messages go behind their length.
pub(crate) fn octet_count(args: Args<'_>) -> Parsed<bool> {
    match args.text(1) {
        "legacy" => Ok(false),
        "octet-count" => Ok(true),
        other => Err(args.fault(
            1,
            format!("'log-proto' expects one of 'legacy' or 'octet-count' but got '{other}'."),
        )),
    }
}
