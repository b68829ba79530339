//! First addresses of servers given by name (section 5.2 `init-addr`); none is looked up after an alert.
use crate::addr::Family;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{DraftProxy, NamedServers, UnknownAddress};
use crate::model::{Address, InitAddr, ResolveOptions};
use std::net::IpAddr;

/// Looks all names up, unless something is wrong already.
pub(super) fn resolve(proxies: &mut [DraftProxy], cx: &mut Cx<'_>) {
    if cx.diagnostics.failed() {
        return;
    }
    for proxy in proxies {
        for named in std::mem::take(&mut proxy.named) {
            look_up(proxy, named, cx);
        }
    }
}

fn look_up(proxy: &mut DraftProxy, named: NamedServers, cx: &mut Cx<'_>) {
    let NamedServers { servers: range, family, context } = named;
    let Some(servers) = proxy.settings.back.servers.get_mut(range.clone()) else { return };
    let Some(server) = servers.first() else { return };
    let host = server.address.host.as_str();
    let first = initial(cx, (host, family), &server.options.resolve, &context.message);
    for server in servers {
        (server.unresolved, server.last_address) = (first.ip.is_none(), first.last);
        if let (Some(ip), Address::Inet(socket)) = (first.ip, &mut server.address.address) {
            socket.set_ip(ip);
        }
    }
    let Some((severity, message)) = first.said else { return };
    let mut diagnostic = context;
    (diagnostic.severity, diagnostic.message) = (severity, message);
    match severity {
        // Of a section out of service it does not count.
        Severity::Alert if !first.last && proxy.settings.disabled => {}
        Severity::Alert if !first.last => cx.diagnostics.push(diagnostic),
        _ => proxy.unknown_addresses.push(UnknownAddress { servers: range, diagnostic }),
    }
}

/// The result of the look-up of a server's first address.
struct First {
    /// The address; `None` if the server starts without one.
    ip: Option<IpAddr>,
    /// Whether the address of a state file takes precedence.
    last: bool,
    /// The message about it.
    said: Option<(Severity, String)>,
}

/// The first address of a server that is given by name (`init-addr`).
fn initial(
    cx: &Cx<'_>,
    (host, family): (&str, Family),
    options: &ResolveOptions,
    context: &str,
) -> First {
    let resolved = options.resolvers.is_some();
    let service = resolved && host.starts_with('_');
    let usual: &[InitAddr] = match resolved {
        true => &[InitAddr::Last, InitAddr::Libc, InitAddr::None],
        false => &[InitAddr::Last, InitAddr::Libc],
    };
    let (mut tried, mut last) = (false, service);
    for method in options.init.as_deref().unwrap_or(usual) {
        match method {
            InitAddr::Last => last = true,
            InitAddr::Libc if host.starts_with('_') => {}
            InitAddr::Libc => match cx.names.resolve(host, family) {
                Some(ip) => return First { ip: Some(ip), last, said: None },
                None => tried = true,
            },
            InitAddr::Ip(ip) => {
                let text = format!(
                    "{context} : could not resolve address '{host}', falling back to configured address."
                );
                let said = tried.then_some((Severity::Warning, text));
                return First { ip: Some(*ip), last, said };
            }
            InitAddr::None => {
                let text =
                    format!("{context} : could not resolve address '{host}', disabling server.");
                let said = tried.then_some((Severity::Warning, text));
                return First { ip: None, last, said };
            }
        }
    }
    if service {
        return First { ip: None, last, said: None };
    }
    let message = match tried {
        true => format!("{context} : could not resolve address '{host}'."),
        false => format!("{context} : no method found to resolve address '{host}'."),
    };
    First { ip: None, last, said: Some((Severity::Alert, message)) }
}
