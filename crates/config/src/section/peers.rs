//! `peers` sections (section 3.5).
use super::{
    Finished, Lines, PLAIN, ReadLine, SectionKind, check_chars, check_unique, odd_char, only_name,
    own,
};
use crate::addr;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{Draft, DraftPeers};
use crate::keyword::Keyword;
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{Address, At, Bind, BindOptions, Peer, Peers, ServerOptions, ServerPort};
use crate::parse::server::Filling;
use crate::parse::{bind, log, server, stick_table, tls};
use crate::validate::tls::{TlsContext, listeners, peers as connectors};
use crate::validate::{logs, number};
use std::sync::Arc;

pub(super) const KIND: SectionKind = SectionKind {
    name: "peers",
    doc: "Processes that share stick tables.",
    open,
    title: |draft, index| &draft.peers[index].section.name,
    lines: Lines::Own(KEYWORDS),
    tls: certificates,
    complete,
    finish,
    build: |draft, model| {
        model.peers = draft.peers.drain(..).map(|draft| draft.section).collect();
    },
    listens: |model| model.peers.iter().any(|it| !it.disabled && it.bind.is_some()),
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("bind", "<addr> [param*]", "Listens for the other peers.", |d, at, cx, a| {
        listen(&mut d.peers[at], cx, a)
    }),
    own("default-bind", "[param*]", "Presets for the listener.", |d, at, cx, a| {
        let presets = d.peers[at].bind_options.clone();
        let context = format!("'default-bind {}' in section 'peers'", a.text(1));
        let options = bind::options(presets, 1, cx, a, &context)?;
        d.peers[at].bind_options = Some(options);
        Ok(())
    }),
    own("default-server", "[param*]", "Presets for the peers after it.", |d, at, cx, a| {
        let presets = (d.peers[at].default_server.clone(), d.peers[at].default_shard);
        let (options, shard) = options(presets, 1, cx, a, "'default-server'")?;
        (d.peers[at].default_server, d.peers[at].default_shard) = (options, shard);
        Ok(())
    }),
    own("disabled", "", "Does not share the tables.", |d, at, _, _| {
        d.peers[at].section.disabled = true;
        Ok(())
    }),
    own("enabled", "", "Undoes `disabled`.", |d, at, _, _| {
        d.peers[at].section.disabled = false;
        Ok(())
    }),
    own("log", "global | <address> ...", "Where log lines go.", |d, at, cx, a| {
        log::section(&mut d.peers[at].logs, cx, a)
    }),
    own("peer", "<name> [<addr>:<port>] [param*]", "A process of the group.", |d, at, cx, a| {
        peer(&mut d.peers[at], cx, a)
    }),
    own("server", "<name> [<addr>:<port>] [param*]", "The same as `peer`.", |d, at, cx, a| {
        peer(&mut d.peers[at], cx, a)
    }),
    own("shards", "<number>", "Parts of the keys, of which a peer may get one.", |d, at, _, a| {
        let number = a.text(1).parse().ok().filter(|number| *number > 0);
        let message = "'shards' expects a number of peers, from 1 on";
        d.peers[at].section.shards = number.ok_or_else(|| a.fault(1, message))?;
        a.no_more_than(1)
    }),
    own("table", "<name> type <type> size <size> ...", "A table to share.", |d, at, cx, a| {
        table(&mut d.peers[at], cx, a)
    }),
];

/// Options of a server that peers support besides those of TLS.
const PROXY_PROTOCOL: &[&str] = &[
    "no-send-proxy",
    "no-send-proxy-v2",
    "no-send-proxy-v2-ssl",
    "no-send-proxy-v2-ssl-cn",
    "proxy-v2-options",
    "send-proxy",
    "send-proxy-v2",
    "send-proxy-v2-ssl",
    "send-proxy-v2-ssl-cn",
];

/// The parameter of a peer that names the part of the keys that it gets.
const SHARD: &str = "shard";

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    cx.has_peers = true;
    let name = only_name(cx, args, "missing name for peers section.");
    check_chars(cx, args, "peers", name);
    let mut known = draft.peers.iter().map(|first| &first.section);
    let first = known.find(|first| *first.name == *name).map(|first| &first.place);
    check_unique(cx, args, ("peers", name), first);
    let section = Peers {
        name: name.into(),
        place: args.place().clone(),
        disabled: false,
        local: cx.local_peer.as_str().into(),
        bind: None,
        shards: 0,
        peers: Vec::new(),
        logs: Vec::new(),
    };
    draft.peers.push(DraftPeers {
        section,
        binds: Vec::new(),
        bind_options: None,
        default_server: ServerOptions::default(),
        default_shard: None,
        logs: Vec::new(),
        tables: Vec::new(),
    });
    draft.peers.len() - 1
}

/// `bind <addr> [param*]`
fn listen(draft: &mut DraftPeers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if draft.section.local_peer().is_some_and(|local| local.address.is_some()) {
        return Err(args.fault(0, "mixing \"peer\" and \"bind\" line is forbidden"));
    }
    one_listener(draft, args)?;
    let presets = draft.bind_options.clone();
    bind::preset_lines(&mut draft.binds, presets, cx, args, bind::Use::Peers)?;
    match draft.binds.len() {
        1 => Ok(()),
        _ => Err(args.fault(1, "'bind' : a peers section has one listener")),
    }
}

fn one_listener(draft: &DraftPeers, args: Args<'_>) -> Parsed {
    match draft.binds.first() {
        None => Ok(()),
        Some(first) => {
            let message = format!(
                "One listener per \"peers\" section is authorized but another is already configured at [{}:{}].",
                first.place.file, first.place.line
            );
            Err(args.fault(0, message))
        }
    }
}

/// `peer <name> [<addr>:<port>] [param*]`; the local peer listens at its address.
fn peer(draft: &mut DraftPeers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let Some(name) = args.get(1) else {
        cx.warn(args, 0, format!("'{}' without a name has no effect.", args.text(0)));
        return Ok(());
    };
    if let Some((at, c)) = odd_char(name) {
        let message = format!("character '{c}' is not permitted in peer name '{name}'.");
        return Err(args.fault_at(1, at, message));
    }
    let section = &draft.section;
    let (context, is_local) =
        (format!("'{} {}/{name}'", args.text(0), section.name), *section.local == *name);
    if let Some(first) = section.peers.iter().find(|first| *first.name == *name) {
        let place = &first.place;
        if is_local {
            let message = format!(
                "'{} {name}' : local peer name already referenced at {}:{}.",
                args.text(0),
                place.file,
                place.line
            );
            return Err(args.fault(1, message));
        }
        let message =
            format!("{context} : peer already declared at {place}: this line has no effect.");
        cx.warn(args, 1, message);
        return Ok(());
    }
    let has_address = args.get(2).is_some_and(is_address);
    let address = if has_address { address(cx, args, &context)? } else { None };
    let first = if has_address { 3 } else { 2 };
    let presets = (draft.default_server.clone(), draft.default_shard);
    let (options, shard) = options(presets, first, cx, args, &context)?;
    match (is_local, has_address) {
        (true, true) if !draft.binds.is_empty() => {
            return Err(args.fault(0, "mixing \"peer\" and \"bind\" line is forbidden"));
        }
        (true, true) => own_listener(draft, cx, args)?,
        (true, false) | (false, _) => {}
    }
    if !is_local && address.is_none() {
        let message = format!("{context} : without address and port, only the peer can connect.");
        cx.warn(args, 1, message);
    }
    let (name, place) = (name.into(), args.place().clone());
    draft.section.peers.push(Peer { name, address, shard, options, tls: None, place });
    Ok(())
}

/// Whether a word is an address rather than the first option.
fn is_address(word: &str) -> bool {
    word != SHARD && server::find(word).is_none()
}

/// The address that follows the name, if it has a port.
fn address(cx: &mut Cx<'_>, args: Args<'_>, context: &str) -> Parsed<Option<Address>> {
    let given = cx.address(args.text(2));
    let place =
        addr::server(&given, cx.names).map_err(|error| args.fault(2, error).within(context))?;
    Ok(match (place.address, place.port) {
        (Address::Inet(_), ServerPort::Fixed(0) | ServerPort::FromClient(_)) => None,
        (address, _) => Some(address),
    })
}

/// The address of the local peer is a listener with the presets of `default-bind`.
fn own_listener(draft: &mut DraftPeers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let given = cx.address(args.text(2)).into_owned();
    let found = addr::bind(&given, cx.names).map_err(|error| args.fault(2, error))?;
    let options = match draft.bind_options.clone() {
        Some(options) => options,
        None => bind::options(None, args.len(), cx, args, "")?,
    };
    let options = Arc::new(options);
    for address in found {
        let (written, place) = (given.as_str().into(), args.place().clone());
        draft.binds.push(Bind {
            address,
            written,
            id: options.id.unwrap_or(0),
            place,
            options: options.clone(),
            is_quic: false,
            tls: None,
        });
    }
    match draft.binds.len() {
        1 => Ok(()),
        _ => Err(args.fault(2, "a peers section has one listener")),
    }
}

/// Options of a line, from the word `first` on, and its `shard`. Only options of TLS and of
/// the PROXY protocol have an effect.
fn options(
    (presets, mut shard): (ServerOptions, Option<u32>),
    first: usize,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    context: &str,
) -> Parsed<(ServerOptions, Option<u32>)> {
    let mut filling = Filling { options: presets, ..Filling::bare() };
    filling.options.tls.presets = Some(cx.tls_presets.clone());
    let mut n = first;
    while let Some(word) = args.get(n) {
        if word == SHARD {
            let given = args.text(n + 1).parse::<u32>();
            let number = given.map_err(|_| args.fault(n + 1, "'shard' expects a number"));
            shard = Some(number.map_err(|fault| fault.within(context))?).filter(|it| *it > 0);
            n += 2;
            continue;
        }
        let Some(keyword) = server::find(word) else {
            let unknown = format!("unknown keyword '{word}'");
            return Err(known::fault(args, n, "server", word, unknown).within(context));
        };
        (keyword.parse)(&mut filling, cx, args.from(n)).map_err(|fault| fault.within(context))?;
        if Keyword::find(tls::SERVER, word).is_none() && !PROXY_PROTOCOL.contains(&word) {
            cx.warn(args, n, format!("{context} : '{word}' is ignored for peers."));
        }
        if word == "sni" && crate::model::constant(args.text(n + 1)).is_none() {
            let message = "'sni' : nothing but 'str(<name>)' is known here";
            return Err(args.fault(n + 1, message).within(context));
        }
        n += 1 + keyword.takes();
    }
    Ok((filling.options, shard))
}

/// `table <name> type <type> size <size> ...`; rules name it with the section before it.
fn table(draft: &mut DraftPeers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let section = draft.section.name.clone();
    let name = format!("{section}/{}", args.text(1));
    let mut settings = stick_table::read(name.into(), "table", 2, cx, args)?;
    settings.peers = Some(section);
    draft.tables.push(At { value: settings, place: args.place().clone() });
    Ok(())
}

fn certificates(draft: &mut Draft, context: &TlsContext, cx: &mut Cx<'_>) {
    for draft in &mut draft.peers {
        let owner = format!("Peers section '{}'", draft.section.name);
        listeners(&mut draft.binds, &owner, context, cx);
        connectors(&mut draft.section, context, cx);
    }
}

/// Takes sections out of service that no peer line names this process in.
fn complete(draft: &mut Draft, cx: &mut Cx<'_>) {
    for draft in &mut draft.peers {
        let section = &mut draft.section;
        section.bind = draft.binds.first().cloned();
        let Some(local) = section.local_peer() else {
            let message = format!(
                "Removing incomplete section 'peers {}' (no peer named '{}').",
                section.name, section.local
            );
            cx.about(Severity::Warning, &section.place.clone(), message);
            section.disabled = true;
            continue;
        };
        for peer in &section.peers {
            if let Some(shard) = peer.shard.filter(|shard| *shard > section.shards) {
                let message = format!(
                    "Peers section '{}': 'shard {shard}' of peer '{}' is ignored: it is greater than 'shards'.",
                    section.name, peer.name
                );
                cx.about(Severity::Warning, &peer.place, message);
            }
        }
        warn_of_encryption(section.bind.as_ref().map(|bind| &*bind.options), local, section, cx);
    }
}

/// The process teaches its successor over its own listener, which must be reached as it listens.
fn warn_of_encryption(listens: Option<&BindOptions>, local: &Peer, of: &Peers, cx: &mut Cx<'_>) {
    let Some(listens) = listens else { return };
    let words = match (listens.tls.enabled, local.options.tls.enabled) {
        (true, false) => "a SSL listener and a non-SSL server",
        (false, true) => "a non-SSL listener and a SSL server",
        (true, true) | (false, false) => return,
    };
    let message = format!(
        "Peers section '{}': local peer have {words} configured at line {}:{}.",
        of.name, local.place.file, local.place.line
    );
    cx.about(Severity::Warning, &local.place, message);
}

/// Sets the log targets that hold for each section, and the numbers of the listeners.
fn finish(draft: &mut Draft, _: &Finished<'_>, _: &mut Cx<'_>) {
    for peers in &mut draft.peers {
        peers.section.logs = logs(std::mem::take(&mut peers.logs), &draft.global.logs);
        number(peers.section.bind.iter_mut().map(|bind| &mut bind.id));
    }
}
