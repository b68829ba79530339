//! `bind` lines and the options after their address (sections 4.2 and 5.1).
use super::values::{digits_at, number_at};
use super::{accounts, link, threads, tls};
use crate::addr;
use crate::context::Cx;
use crate::keyword::{Fill, Keyword, word as entry};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{Address, Bind, BindAddress, BindOptions, Global, Level};
use crate::model::{MAX_THREADS, Protocol, QuicCongestion, SeverityOutput, ThreadSet};

use std::borrow::Cow;
use std::sync::Arc;

type BindOption = Keyword<Fill<BindOptions>>;

/// All implemented options, alphabetical. Argument 0 is the option, 1 its value.
pub(crate) const OPTIONS: &[BindOption] = &[
    entry("accept-netscaler-cip", "<magic number>", "Expects NetScaler headers.", |o, _, a| {
        let given = a.need(1, "'accept-netscaler-cip' : missing value")?;
        let magic = a.leading(1).filter(|magic| *magic > 0);
        let message = format!("'accept-netscaler-cip' : invalid value {given}, must be > 0");
        o.accept_netscaler = Some(magic.ok_or_else(|| a.fault(1, message))?);
        Ok(())
    }),
    entry("accept-proxy", "", "Expects PROXY protocol headers.", |o, _, _| {
        o.accept_proxy = true;
        Ok(())
    }),
    entry("backlog", "<backlog>", "Length of the queue of the system.", |o, _, a| {
        number_at(a, 1, 0..=i32::MAX as u32).map(|n| o.backlog = n)
    }),
    entry("defer-accept", "", "Shows clients that have sent something.", |o, _, _| {
        o.defer_accept = true;
        Ok(())
    }),
    entry("expose-fd", "listeners", "Hands sockets over on reload.", |o, _, a| {
        if a.text(1) != "listeners" {
            return Err(a.fault(1, "'expose-fd' only supports 'listeners'"));
        }
        o.exposes_listeners = true;
        Ok(())
    }),
    entry("gid", "<gid>", "Group of the unix socket.", |o, _, a| {
        number_at(a, 1, 0..=u32::MAX).map(|id| o.access.gid = Some(id))
    }),
    entry("group", "<group>", "Group of the unix socket.", |o, cx, a| {
        accounts::group(cx, a).map(|id| o.access.gid = Some(id))
    }),
    entry("id", "<id>", "Number of the listener.", |o, _, a| {
        let id = digits_at(a, 1, 1..=i32::MAX as u32);
        let id = id.map_err(|_| a.fault(1, "'id' : custom id has to be > 0"))?;
        match o.id.replace(id) {
            None => Ok(()),
            Some(_) => Err(a.fault(1, format!("'id' : custom id {id} already used on this line"))),
        }
    }),
    entry("interface", "<interface>", "Device to bind to.", |o, _, a| {
        let name = a.need(1, "'interface' : missing interface name")?;
        if name.len() > 15 {
            return Err(a.fault(1, "'interface' : interface name too long (max 15)"));
        }
        o.interface = Some(name.to_owned());
        Ok(())
    }),
    entry("level", "<level>", "Rights of the runtime socket.", |o, _, a| {
        level(a).map(|level| o.level = level)
    }),
    entry("maxconn", "<maxconn>", "Concurrent connections of the listener.", |o, _, a| {
        a.need(1, "'maxconn' : missing value")?;
        number_at(a, 1, 0..=i32::MAX as u32).map(|n| o.maxconn = n)
    }),
    entry("mode", "<mode>", "Permissions of the unix socket.", |o, _, a| {
        mode(a).map(|mode| o.access.mode = Some(mode))
    }),
    entry("mss", "<maxseg>", "Largest segment of the connections.", |o, _, a| {
        a.need(1, "'mss' : missing MSS value")?;
        let size: Option<i32> =
            a.leading(1).filter(|n: &i32| (1..=65535).contains(&n.unsigned_abs()));
        let message = "'mss' : expects an MSS with and absolute value between 1 and 65535";
        o.mss = size.ok_or_else(|| a.fault(1, message))?;
        Ok(())
    }),
    entry("name", "<name>", "Name of the listener.", |o, _, a| {
        o.name = Some(a.need(1, "'name' : missing name")?.to_owned());
        Ok(())
    }),
    entry("namespace", "<name>", "Network namespace of the socket.", |o, cx, a| {
        let name = a.need(1, "'namespace' : missing namespace id")?;
        o.namespace = Some(name.to_owned());
        link::namespace(cx, a, name)
    }),
    entry("nice", "<nice>", "Priority of the connections.", |o, _, a| nice(a).map(|n| o.nice = n)),
    entry("process", "[<process-set>/]<thread-set>", "Threads that accept.", |o, cx, a| {
        threads::of_process(&mut o.threads, cx, a)
    }),
    entry("proto", "<name>", "Protocol of the connections.", |o, _, a| {
        let given = a.need(1, "'proto' : missing value")?;
        let known = Protocol::named(given);
        let unknown = || a.fault(1, format!("'proto' :  unknown MUX protocol '{given}'"));
        o.protocol = Some(known.ok_or_else(unknown)?);
        Ok(())
    }),
    entry("quic-cc-algo", "{ cubic | newreno | bbr }", "Congestion control of QUIC.", |o, _, a| {
        o.quic_congestion = match a.need(1, "'quic-cc-algo' : missing control algorithm")? {
            "cubic" => QuicCongestion::Cubic,
            "newreno" => QuicCongestion::NewReno,
            "bbr" => QuicCongestion::Bbr,
            other => {
                let message = format!("'quic-cc-algo' : unknown control algorithm '{other}'");
                return Err(a.fault(1, message));
            }
        };
        Ok(())
    }),
    entry("quic-force-retry", "", "QUIC clients validate their address first.", |o, _, _| {
        o.quic_force_retry = true;
        Ok(())
    }),
    entry(
        "quic-socket",
        "{ connection | listener }",
        "Sockets of QUIC connections.",
        |_, cx, a| {
            match a.need(1, "'quic-socket' : missing mode")? {
                "listener" => {}
                "connection" => {
                    let text = "'quic-socket connection' has no effect: connections share the \
                            sockets of their listener";
                    cx.warn(a, 1, text.to_owned());
                }
                other => return Err(a.fault(1, format!("'quic-socket' : unknown mode '{other}'"))),
            }
            Ok(())
        },
    ),
    entry("severity-output", "<format>", "How severities are shown.", |o, _, a| {
        severity_output(a).map(|output| o.severity_output = output)
    }),
    entry("shards", "<number> | by-thread", "Sockets that share the clients.", |o, _, a| {
        let given = a.need(1, "'shards' : missing value")?;
        let count = match given {
            "by-thread" => Some(0),
            _ => a.leading(1).filter(|n| (1..=MAX_THREADS).contains(n)),
        };
        let message = format!(
            "'shards' : invalid value {given}, allowed range is 1..{MAX_THREADS} or 'by-thread'"
        );
        o.shards = Some(count.ok_or_else(|| a.fault(1, message))?);
        Ok(())
    }),
    entry("tcp-ut", "<delay>", "Longest wait for acknowledgements.", |o, _, a| {
        link::tcp_ut(a).map(|ms| o.tcp_ut = ms)
    }),
    entry("tfo", "", "Clients may send data with their first packet.", |o, _, _| {
        o.tfo = true;
        Ok(())
    }),
    entry("thread", "[<thread-group>/]<thread-set>", "Threads that accept.", |o, _, a| {
        threads::of_bind(&mut o.threads, a)
    }),
    entry("transparent", "", "Takes addresses of others.", |o, _, _| {
        o.transparent = true;
        Ok(())
    }),
    entry("uid", "<uid>", "Owner of the unix socket.", |o, _, a| {
        number_at(a, 1, 0..=u32::MAX).map(|id| o.access.uid = Some(id))
    }),
    entry("user", "<user>", "Owner of the unix socket.", |o, cx, a| {
        accounts::user(cx, a).map(|id| o.access.uid = Some(id))
    }),
    entry("v4v6", "", "IPv6 sockets take IPv4 too.", |o, _, _| {
        o.v6only = Some(false);
        Ok(())
    }),
    entry("v6only", "", "IPv6 sockets take IPv6 only.", |o, _, _| {
        o.v6only = Some(true);
        Ok(())
    }),
];

/// The kind of section that a line is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A proxy.
    Proxy,
    /// The runtime API.
    Runtime,
    /// A `log-forward` section.
    Logs,
    /// The same, with datagrams.
    Datagrams,
    /// A `peers` section.
    Peers,
}

/// The listeners of one line: argument 1 is the list of addresses, options follow.
pub(crate) fn lines(into: &mut Vec<Bind>, cx: &mut Cx<'_>, args: Args<'_>, by: Use) -> Parsed {
    preset_lines(into, None, cx, args, by)
}

/// The same with presets for the options.
pub(crate) fn preset_lines(
    into: &mut Vec<Bind>,
    presets: Option<BindOptions>,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    by: Use,
) -> Parsed {
    let list = args.need(
        1,
        "'bind' expects {<path>|[addr1]:port1[-end1]}{,[addr]:port[-end]}... as arguments.",
    )?;
    let written = list;
    let list = &*cx.expanded(written);
    // An empty item behind the last comma is accepted, as in HAProxy.
    let list = list.strip_suffix(',').filter(|list| !list.is_empty()).unwrap_or(list);
    let expanded = !written.starts_with(list);
    let who = match by {
        Use::Runtime => "'stats socket'",
        Use::Proxy | Use::Logs | Use::Peers => "'bind'",
        Use::Datagrams => "'dgram-bind'",
    };
    let mut found = Vec::new();
    let mut offset = 0;
    for text in list.split(',') {
        let sound = cx.sound(Cow::Borrowed(text));
        let read = if by == Use::Datagrams { addr::datagram_bind } else { addr::bind };
        let quic = addr::of_quic(&sound).filter(|_| by == Use::Proxy);
        let is_quic = quic.is_some();
        let addresses = read(quic.as_deref().unwrap_or(&sound), cx.names).map_err(|e| {
            args.fault_at(1, if expanded { 0 } else { offset }, format!("{who} : {e}"))
        })?;
        let written = Arc::<str>::from(&*sound);
        found.extend(addresses.into_iter().map(|address| (address, written.clone(), is_quic)));
        offset += text.len() + 1;
    }
    let context = match by {
        Use::Runtime => who.to_owned(),
        Use::Proxy | Use::Logs | Use::Datagrams | Use::Peers => {
            format!("'{} {list}'", args.text(0))
        }
    };
    let options = Arc::new(options(presets, 2, cx, args, &context)?);
    let own = |address: &BindAddress| matches!(address, BindAddress::At(Address::Inet(_)));
    if options.shards.is_some_and(|count| count != 1) && !found.iter().all(|(it, ..)| own(it)) {
        let text = "'shards' has no effect on unix and inherited sockets: there is one of each";
        cx.warn(args, 1, format!("{context} : {text}"));
    }
    if by != Use::Proxy {
        unlike_proxies(&options, cx, args, by).map_err(|f| f.within(&context))?;
    }
    if by != Use::Runtime && options.exposes_listeners {
        let text = "'expose-fd listeners' has no effect here: only a runtime socket can do it";
        cx.warn(args, 1, format!("{context} : {text}"));
    }
    if found.iter().any(|(.., is_quic)| *is_quic) {
        quic_options(&options, args).map_err(|f| f.within(&context))?;
    }
    for (address, written, is_quic) in found {
        let id = options.id.unwrap_or(0);
        let (place, options) = (args.place().clone(), Arc::clone(&options));
        into.push(Bind { address, written, id, place, options, is_quic, tls: None });
    }
    Ok(())
}

/// Reports options that a listener of QUIC lacks or cannot have.
fn quic_options(options: &BindOptions, args: Args<'_>) -> Parsed {
    let at = |word| (2..args.len()).find(|n| args.text(*n) == word).unwrap_or(1);
    if !options.tls.enabled {
        return Err(args.fault(1, "QUIC needs 'ssl'"));
    }
    if !::tls::HAS_QUIC {
        return Err(args.fault(1, "QUIC is not available with the TLS library of this build"));
    }
    let alpn = options.tls.settings.options.alpn.as_deref();
    if !alpn.is_some_and(|names| names.windows(3).any(|name| name == b"\x02h3")) {
        return Err(args.fault(1, "QUIC needs 'alpn h3'"));
    }
    let given = [
        ("accept-proxy", options.accept_proxy),
        ("accept-netscaler-cip", options.accept_netscaler.is_some()),
        ("defer-accept", options.defer_accept),
        ("mss", options.mss != 0),
        ("proto", options.protocol.is_some()),
        ("tcp-ut", options.tcp_ut != 0),
        ("tfo", options.tfo),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((word, _)) => Err(args.fault(at(word), format!("'{word}' is not usable with QUIC"))),
        None => Ok(()),
    }
}

/// Reports options that have no effect or no meaning on a line outside of proxies: those for
/// proxies alone, those for connections alone, and those that exclude each other.
fn unlike_proxies(options: &BindOptions, cx: &mut Cx<'_>, args: Args<'_>, by: Use) -> Parsed {
    let at = |word| (2..args.len()).find(|n| args.text(*n) == word).unwrap_or(1);
    if let Some(protocol) = options.protocol.filter(|it| *it != Protocol::None) {
        let text = format!("MUX protocol '{}' is not usable here", protocol.name());
        return Err(args.fault(at("proto"), text));
    }
    if by == Use::Runtime && options.exposes_listeners && options.tls.enabled {
        let text = "'expose-fd listeners' and 'ssl' exclude each other: \
                    sockets are handed over in the clear";
        return Err(args.fault(at("expose-fd"), text));
    }
    let mut unheard = |words: &[(&str, bool)], reason| {
        for (word, _) in words.iter().filter(|(_, given)| *given) {
            cx.warn(args, 1, format!("'{word}' has no effect here: {reason}"));
        }
    };
    let shards = options.shards.is_some_and(|count| count != 1);
    let threads = options.threads != ThreadSet::default();
    unheard(
        &[("nice", options.nice != 0), ("shards", shards), ("thread", threads)],
        "only the listeners of a proxy have it",
    );
    if by == Use::Datagrams {
        let words = [
            ("accept-proxy", options.accept_proxy),
            ("accept-netscaler-cip", options.accept_netscaler.is_some()),
            ("maxconn", options.maxconn > 0),
            ("ssl", options.tls.enabled),
        ];
        unheard(&words, "datagrams have no connection");
    }
    Ok(())
}

/// The options of a line from argument `n` on.
pub(crate) fn options(
    presets: Option<BindOptions>,
    mut n: usize,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    context: &str,
) -> Parsed<BindOptions> {
    let mut options = presets.unwrap_or_else(|| {
        let (access, unix_prefix) = cx.unix_presets.clone();
        BindOptions { access, unix_prefix, ..BindOptions::default() }
    });
    options.tls.presets = Some(cx.tls_presets.clone());
    while let Some(name) = args.get(n) {
        let Some(keyword) = find(name) else {
            let unknown = format!("unknown keyword '{name}'");
            return Err(known::fault(args, n, "bind", name, unknown).within(context));
        };
        (keyword.parse)(&mut options, cx, args.from(n)).map_err(|f| f.within(context))?;
        n += 1 + keyword.takes();
    }
    Ok(options)
}

/// The entry of a word.
pub(crate) fn find(name: &str) -> Option<&'static BindOption> {
    Keyword::find(OPTIONS, name).or_else(|| Keyword::find(tls::BIND, name))
}

fn level(args: Args<'_>) -> Parsed<Level> {
    match args.text(1) {
        "user" => Ok(Level::User),
        "operator" => Ok(Level::Operator),
        "admin" => Ok(Level::Admin),
        other => Err(args.fault(
            1,
            format!("'level' only supports 'user', 'operator', and 'admin' (got '{other}')"),
        )),
    }
}

fn severity_output(args: Args<'_>) -> Parsed<SeverityOutput> {
    match args.text(1) {
        "none" => Ok(SeverityOutput::None),
        "number" => Ok(SeverityOutput::Number),
        "string" => Ok(SeverityOutput::String),
        other => Err(args.fault(
            1,
            format!(
                "'severity-output' only supports 'none', 'number', and 'string' (got '{other}')"
            ),
        )),
    }
}

fn mode(args: Args<'_>) -> Parsed<u32> {
    let given = args.text(1);
    let octal = given.bytes().all(|b| b.is_ascii_digit()).then(|| u32::from_str_radix(given, 8));
    octal.and_then(Result::ok).filter(|mode| *mode <= 0o7777).ok_or_else(|| {
        let message =
            format!("'mode' : missing or invalid mode '{given}' (octal integer expected)");
        args.fault(1, message)
    })
}

fn nice(args: Args<'_>) -> Parsed<i16> {
    let given = args.need(1, "'nice' : missing value")?;
    let value: Option<i64> = args.leading(1);
    let range = -1024..=1024;
    value.filter(|nice| range.contains(nice)).map(|nice| nice as i16).ok_or_else(|| {
        let message = format!("'nice' : invalid value {given}, allowed range is -1024..1024");
        args.fault(1, message)
    })
}

/// `unix-bind` of `global`: the same words as on `bind` lines, and a prefix for paths.
pub(super) fn unix_defaults(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let mut n = 1;
    while let Some(word) = args.get(n) {
        let from = args.from(n);
        match word {
            "prefix" => {
                let prefix = from.need(1, "'unix-bind prefix' expects a path as argument.")?;
                cx.unix_presets.1 = Some(prefix.into());
            }
            "mode" => cx.unix_presets.0.mode = Some(mode(from)?),
            "user" => cx.unix_presets.0.uid = Some(accounts::user(cx, from)?),
            "uid" => cx.unix_presets.0.uid = Some(number_at(from, 1, 0..=u32::MAX)?),
            "group" => cx.unix_presets.0.gid = Some(accounts::group(cx, from)?),
            "gid" => cx.unix_presets.0.gid = Some(number_at(from, 1, 0..=u32::MAX)?),
            _ => {
                let message = "'unix-bind' only supports the 'prefix', 'mode', 'user', 'group', 'uid' and 'gid' options.";
                return Err(args.fault(n, message));
            }
        }
        n += 2;
    }
    Ok(())
}
