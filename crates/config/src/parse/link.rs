//! How connections to servers are made: options of `server` lines (section 5.2), `source` and
//! keep-alive probes (section 4.2).
use super::values::{self, noted, seconds_at};
use crate::addr::{self, AddressError};
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::line::{Args, Parsed};
use crate::model::{Address, Announce, ConnectSource, Disguise, ServerPort};
use crate::value::{self, Unit};

/// `proxy-v2-options <option>[,<option>]*`
pub(super) fn proxy_v2_options(announce: &mut Announce, args: Args<'_>) -> Parsed {
    let list = args.text(1);
    let mut offset = 0;
    for name in list.split(',') {
        let flag = match name {
            "ssl" => &mut announce.ssl,
            "cert-cn" => &mut announce.cert_cn,
            "ssl-cipher" => &mut announce.ssl_cipher,
            "cert-sig" => &mut announce.cert_sig,
            "cert-key" => &mut announce.cert_key,
            "authority" => &mut announce.authority,
            "crc32c" => &mut announce.crc32c,
            "unique-id" => &mut announce.unique_id,
            _ => {
                let message = format!("'{name}' : proxy v2 option not implemented.");
                return Err(args.fault_at(1, offset, message));
            }
        };
        *flag = true;
        offset += name.len() + 1;
    }
    Ok(())
}

/// `source <addr>[:<port>[-<port>]]`
pub(super) fn source(cx: &Cx<'_>, args: Args<'_>) -> Parsed<ConnectSource> {
    let given = args.need(1, "'source' expects <addr>[:<port>[-<port>]], and optionally 'usesrc' <addr>, and 'interface' <name> as argument.")?;
    let told = |e: AddressError| args.fault(1, format!("'source {given}' : {e}"));
    let (ip, ports) = addr::source(&cx.address(given), cx.names).map_err(told)?;
    let address = ip.filter(|ip| !ip.is_unspecified());
    Ok(ConnectSource { address, ports, ..ConnectSource::default() })
}

/// `usesrc { <addr>[:<port>] | client | clientip | hdr_ip(<hdr>[,<occ>]) }` behind a source.
pub(super) fn usesrc(source: &mut ConnectSource, cx: &Cx<'_>, args: Args<'_>) -> Parsed {
    let given = args.need(
        1,
        "'usesrc' expects <addr>[:<port>], 'client', 'clientip', or 'hdr_ip(name,#)' as argument.",
    )?;
    source.disguise = match given {
        "client" => Disguise::Client,
        "clientip" => Disguise::ClientIp,
        _ => match given.strip_prefix("hdr_ip(").and_then(|rest| rest.strip_suffix(')')) {
            Some(header) => {
                let (name, occurrence) = header.split_once(',').unwrap_or((header, "-1"));
                let occurrence = occurrence.trim().parse().ok().filter(|n: &i32| *n != 0);
                let message = || format!("usesrc hdr_ip({header}) does not name a header");
                let occurrence = occurrence.filter(|_| !name.is_empty());
                let occurrence = occurrence.ok_or_else(|| args.fault(1, message()))?;
                Disguise::Header(name.trim().to_ascii_lowercase(), occurrence)
            }
            None => {
                let told = |e: AddressError| args.fault(1, format!("'usesrc {given}' : {e}"));
                let (ip, ports) = addr::source(&cx.address(given), cx.names).map_err(told)?;
                let message = format!("'usesrc {given}' : an address is expected");
                let ip = ip.ok_or_else(|| args.fault(1, message))?;
                Disguise::Address((ip, ports.map_or(0, |ports| ports.0)).into())
            }
        },
    };
    Ok(())
}

/// `dispatch <address>:<port>`
pub(super) fn dispatch(cx: &Cx<'_>, args: Args<'_>) -> Parsed<Address> {
    let given = args.text(1);
    let told = |e: AddressError| args.fault(1, format!("'dispatch' : {e}"));
    let missing = "'' resolves to an empty address (environment variable missing?)";
    args.need(1, format!("'dispatch' : {missing}"))?;
    let at = addr::server(&cx.address(given), cx.names).map_err(told)?;
    args.no_more_than(1)?;
    match (at.address, at.port) {
        (address, ServerPort::Fixed(_)) => Ok(address),
        (_, ServerPort::FromClient(0)) => {
            Err(told(AddressError::MissingPort { address: given.to_owned() }))
        }
        _ => Err(told(AddressError::NoPortOffset { address: given.to_owned() })),
    }
}

/// The name of a namespace, the word behind the keyword, if there is one.
pub(crate) fn namespace(cx: &Cx<'_>, args: Args<'_>, name: &str) -> Parsed {
    match cx.files.has_namespace(name) {
        true => Ok(()),
        false => Err(args.fault(1, format!("Cannot open namespace '{name}'."))),
    }
}

/// The source behind `word`.
pub(crate) fn behind<'s>(
    source: &'s mut Option<ConnectSource>,
    args: Args<'_>,
    word: &str,
) -> Parsed<&'s mut ConnectSource> {
    let message = format!("'{word}' only allowed after a 'source' statement.");
    source.as_mut().ok_or_else(|| args.fault(0, message))
}

/// `interface <name>` behind a source.
pub(crate) fn interface(source: &mut ConnectSource, args: Args<'_>) -> Parsed {
    let name = args.need(1, "missing interface name.")?;
    if name.len() > 15 {
        return Err(args.fault(1, "'interface' : interface name too long (max 15)"));
    }
    source.interface = Some(name.to_owned());
    Ok(())
}

/// The whole `source` line of a proxy.
pub(super) fn source_line(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let mut source = source(cx, args)?;
    if source.ports.is_some_and(|(low, high)| low != high) {
        let given = args.text(1);
        let message = format!("'source {given}' : port range not permitted here in '{given}'");
        return Err(args.fault(1, message));
    }
    let mut n = 2;
    while let Some(word) = args.get(n) {
        match word {
            "usesrc" => usesrc(&mut source, cx, args.from(n))?,
            "interface" => interface(&mut source, args.from(n))?,
            _ => {
                let message = format!(
                    "'source' only supports optional keywords 'interface' and 'usesrc' (got '{word}')."
                );
                return Err(args.fault(n, message));
            }
        }
        n += 2;
    }
    proxy.settings.back.source = Some(source);
    Ok(())
}

/// `tcp-ut <delay>`, in milliseconds.
pub(super) fn tcp_ut(args: Args<'_>) -> Parsed<u32> {
    let given = args.need(1, "'tcp-ut' : missing TCP User Timeout value")?;
    let delay = noted(args, 1, value::time(given, Unit::Milliseconds)).ok();
    let message = "'tcp-ut' : expects a positive delay in milliseconds";
    delay.and_then(|t| u32::try_from(t).ok()).ok_or_else(|| args.fault(1, message))
}

/// A number of keep-alive probes; 0 and negative numbers leave it to the system.
pub(super) fn probes(args: Args<'_>) -> Parsed<Option<u32>> {
    let name = args.text(0);
    let given = args.need(1, format!("'{name}' expects an integer value."))?;
    args.ignores_behind(1);
    let Some(number) = values::whole(args, 1) else {
        let (digits, rest) = stdx::leading_number::split(given);
        let odd = rest.chars().next().unwrap_or(' ');
        let message = format!("'{name}' : unexpected character '{odd}' in integer value '{given}'");
        return Err(args.fault_at(1, digits.len(), message));
    };
    Ok(u32::try_from(number).ok().filter(|number| *number > 0))
}

/// A time between keep-alive probes, kept in seconds.
pub(super) fn probe_span(args: Args<'_>) -> Parsed<u32> {
    let name = args.text(0);
    args.ignores_behind(1);
    args.need(1, format!("'{name}' expects a time as argument."))?;
    Ok(seconds_at(args, 1, &format!("'{name}'"))?.max(1))
}
