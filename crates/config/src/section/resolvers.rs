//! `resolvers` sections (section 5.3.2).
use super::{Lines, PLAIN, ReadLine, SectionKind, first_name, own};
use crate::addr;
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::Draft;
use crate::keyword::Keyword;
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::{NameServer, Resolvers, ServerOptions, constant};
use crate::parse::server::{Filling, OPTIONS};
use crate::parse::values::time_at;
use crate::parse::{link, tls};
use crate::validate::tls::name_servers;
use crate::value::{self, Unit};
use std::net::{IpAddr, SocketAddr};

pub(super) const KIND: SectionKind = SectionKind {
    name: "resolvers",
    doc: "Name servers, and how they are asked.",
    open,
    title: |draft, index| &draft.resolvers[index].name,
    lines: Lines::Own(KEYWORDS),
    removed: &[(
        "resolution_pool_size",
        "'resolution_pool_size' directive is not supported anymore (it never appeared in a stable release).",
    )],
    tls: |draft, context, cx| {
        draft.resolvers.iter_mut().for_each(|section| name_servers(section, context, cx));
    },
    complete,
    build: |draft, model| model.resolvers = std::mem::take(&mut draft.resolvers),
    ..PLAIN
};

const KEYWORDS: &[Keyword<ReadLine>] = &[
    own("accepted_payload_size", "<nb>", "The longest answer, in bytes.", |d, at, _, a| {
        payload(&mut d.resolvers[at], a)
    }),
    own("hold", "<status> <period>", "How long an answer is kept.", |d, at, _, a| {
        hold(&mut d.resolvers[at], a)
    }),
    own("honor-ttl", "", "Keeps answers no longer than they say.", |d, at, _, a| {
        d.resolvers[at].dns.honours_ttl = true;
        a.ignores_behind(0);
        Ok(())
    }),
    own("nameserver", "<name> <address>[:port] [param*]", "A name server.", |d, at, cx, a| {
        nameserver(&mut d.resolvers[at], cx, a)
    }),
    own("parse-resolv-conf", "", "Takes the name servers of the system.", |d, at, cx, a| {
        system_servers(&mut d.resolvers[at], cx, a)
    }),
    own("resolve_retries", "<nb>", "How often a question is repeated.", |d, at, _, a| {
        retries(&mut d.resolvers[at], a)
    }),
    own("timeout", "{ resolve | retry } <time>", "Times between questions.", |d, at, _, a| {
        timeout(&mut d.resolvers[at], a)
    }),
];

/// Where the system keeps its name servers.
const SYSTEM: &str = "/etc/resolv.conf";

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let name = first_name(cx, args, "resolvers");
    if let Some(first) = draft.resolvers.iter().find(|first| *first.name == *name) {
        let message = format!(
            "resolvers '{name}' has same name as another resolvers (declared at {}).",
            first.place
        );
        cx.alert(args, args.fault(1, message));
    }
    let (place, dns) = (args.place().clone(), dns::Settings::default());
    draft.resolvers.push(Resolvers { name: name.into(), place, nameservers: Vec::new(), dns });
    draft.resolvers.len() - 1
}

/// `parse-resolv-conf`
fn system_servers(section: &mut Resolvers, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    args.ignores_behind(0);
    let found =
        of_system(cx, args).ok_or_else(|| args.fault(0, format!("failed to open {SYSTEM}.")))?;
    for nameserver in found {
        match section.nameservers.iter().any(|known| known.name == nameserver.name) {
            true => args.note(0, format!("name server '{}' is known already", nameserver.name)),
            false => section.nameservers.push(nameserver),
        }
    }
    Ok(())
}

/// `resolve_retries <nb>`
fn retries(section: &mut Resolvers, args: Args<'_>) -> Parsed {
    args.need(1, "'resolve_retries' expects <nb> as argument.")?;
    let number = args.leading(1).filter(|count| *count <= 1_000);
    let message = "'resolve_retries' expects an integer from 0 to 1000.";
    section.dns.retries = number.ok_or_else(|| args.fault(1, message))?;
    args.ignores_behind(1);
    Ok(())
}

/// Warns of sections without name servers, and adds one called `default` that the system's settings
/// make.
fn complete(draft: &mut Draft, cx: &mut Cx<'_>) {
    let sections = &mut draft.resolvers;
    // A wrong line may be the one that defines a name server.
    let whole = !cx.diagnostics.failed();
    for section in sections.iter().filter(|section| whole && section.nameservers.is_empty()) {
        let message = format!(
            "resolvers '{}' [{}] has no nameservers configured!",
            section.name, section.place
        );
        cx.diagnostics.push(Diagnostic::general(Severity::Warning, message));
    }
    if sections.iter().all(|section| &*section.name != "default")
        && let Ok(text) = cx.read(SYSTEM, "")
    {
        let place = Place { file: SYSTEM.into(), line: 0 };
        let nameservers = parse_system(&String::from_utf8_lossy(&text), &place);
        if !nameservers.is_empty() {
            let dns = dns::Settings::default();
            sections.push(Resolvers { name: "default".into(), place, nameservers, dns });
        }
    }
}

/// `accepted_payload_size <nb>`
fn payload(section: &mut Resolvers, args: Args<'_>) -> Parsed {
    let given = args.need(1, "'accepted_payload_size' expects <nb> as argument.")?;
    let number: Option<u16> = value::number(given).filter(|size| *size >= 12);
    let message =
        format!("'accepted_payload_size' must be between 12 and 65535 inclusive (was {given}).");
    section.dns.payload = number.ok_or_else(|| args.fault(1, message))?;
    args.ignores_behind(1);
    Ok(())
}

/// `hold <status> <period>`
fn hold(section: &mut Resolvers, args: Args<'_>) -> Parsed {
    let expected = "'hold' expects an <event> and a <time> as arguments.\n<event> can be either 'valid', 'nx', 'refused', 'timeout', or 'other'";
    let event = args.need(1, expected)?;
    args.need(2, expected)?;
    let hold = &mut section.dns.hold;
    let to = match event {
        "nx" => &mut hold.nx,
        "obsolete" => &mut hold.obsolete,
        "other" => &mut hold.other,
        "refused" => &mut hold.refused,
        "timeout" => &mut hold.timeout,
        "valid" => &mut hold.valid,
        other => {
            let message = format!(
                "'hold' unknown <event>: '{other}', expects either 'nx', 'timeout', 'valid', 'obsolete' or 'other'."
            );
            return Err(args.fault(1, message));
        }
    };
    *to = time_at(args, 2, Unit::Milliseconds, "argument to <hold>.")?;
    args.ignores_behind(2);
    Ok(())
}

/// `timeout { resolve | retry } <time>`
fn timeout(section: &mut Resolvers, args: Args<'_>) -> Parsed {
    let expected = "'timeout' expects 'retry' or 'resolve' and <time> as arguments";
    let event = args.need(1, format!("{expected}."))?;
    let to = match event {
        "resolve" => &mut section.dns.resolve,
        "retry" => &mut section.dns.retry,
        other => return Err(args.fault(1, format!("{expected} got '{other}'."))),
    };
    args.need(2, format!("'timeout {event}' expects <time> as argument."))?;
    *to = time_at(args, 2, Unit::Milliseconds, &format!("argument to <timeout {event}>."))?;
    args.ignores_behind(2);
    Ok(())
}

/// `nameserver <name> <address>[:port] [param*]`
fn nameserver(section: &mut Resolvers, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let expected = "'nameserver' expects <name> and <addr>[:<port>] as arguments.";
    let name = args.need(1, expected)?;
    let given = cx.address(args.need(2, expected)?);
    let context = format!("'nameserver {name}'");
    let (stream, address) = addr::nameserver(&given, cx.names)
        .map_err(|error| args.fault(2, error).within(&context))?;
    let options = match args.get(3) {
        None => None,
        Some(_) if stream => {
            Some(Box::new(parameters(cx, args).map_err(|fault| fault.within(&context))?))
        }
        Some(_) => {
            let why = "parameters have no effect on a name server that is asked over UDP";
            cx.warn(args, 3, format!("{context} : {why}"));
            None
        }
    };
    let (name, place) = (name.to_owned(), args.place().clone());
    add(section, args, NameServer { name, address, stream, options, tls: None, place })
}

/// Parameters of connections, from the third argument on.
fn parameters(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed<ServerOptions> {
    let mut filling = Filling::bare();
    filling.options.tls.presets = Some(cx.tls_presets.clone());
    let mut n = 3;
    while let Some(option) = args.get(n) {
        if option == "interface" && filling.options.link.source.is_some() {
            let source = link::behind(&mut filling.options.link.source, args.from(n), option)?;
            link::interface(source, args.from(n))?;
            n += 2;
            continue;
        }
        let of_link = matches!(option, "maxconn" | "source");
        let Some(keyword) = Keyword::find(if of_link { OPTIONS } else { tls::SERVER }, option)
        else {
            let unknown = format!("unknown keyword '{option}'");
            return Err(known::fault(args, n, "server", option, unknown));
        };
        (keyword.parse)(&mut filling, cx, args.from(n))?;
        if option == "sni" && constant(args.text(n + 1)).is_none() {
            return Err(args.fault(n + 1, "'sni' : nothing but 'str(<name>)' is known here"));
        }
        n += 1 + keyword.takes();
    }
    let source = filling.options.link.source.as_ref();
    if source.is_some_and(|source| source.ports.is_some()) {
        return Err(args.fault(3, "'source' : nothing but an address is known here"));
    }
    Ok(filling.options)
}

fn add(section: &mut Resolvers, args: Args<'_>, nameserver: NameServer) -> Parsed {
    if let Some(first) = section.nameservers.iter().find(|it| it.name == nameserver.name) {
        let message = format!(
            "nameserver '{}' has same name as another nameserver (declared at {}).",
            first.name, first.place
        );
        return Err(args.fault(1, message));
    }
    section.nameservers.push(nameserver);
    Ok(())
}

/// The name servers of the system; `None` if it does not say any.
fn of_system(cx: &Cx<'_>, args: Args<'_>) -> Option<Vec<NameServer>> {
    let text = cx.read(SYSTEM, "").ok()?;
    Some(parse_system(&String::from_utf8_lossy(&text), args.place()))
}

/// Name servers in a file like /etc/resolv.conf (resolv.conf(5)).
pub(crate) fn parse_system(text: &str, place: &Place) -> Vec<NameServer> {
    let nameserver = |text: &str| {
        // A link-local address may name its interface behind a percent sign.
        let ip: IpAddr = text.split('%').next()?.parse().ok()?;
        let address = SocketAddr::new(ip, 53);
        Some(NameServer {
            name: text.to_owned(),
            address,
            stream: false,
            options: None,
            tls: None,
            place: place.clone(),
        })
    };
    let mut found: Vec<NameServer> = text.lines().filter_map(word).filter_map(nameserver).collect();
    found.dedup_by(|one, other| one.name == other.name);
    found
}

/// The word behind `nameserver`, if that is what a line of the system's file is about.
fn word(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.next().filter(|word| *word == "nameserver").and_then(|_| words.next())
}
