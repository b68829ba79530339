//! The notice of a process in the foreground when it begins to serve: its addresses, and a command
//! to try. Absent in quiet mode and in the background.

use admin::CliSocket;
use engine::state::runtime::{Proxy, ProxySection};
use reactor::Address;
use settings::{Bind, Mode};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The most listeners named; the others are counted.
const NAMED: usize = 20;

/// One line per listener.
pub(super) fn text(proxies: &[ProxySection], runtime: &admin::Settings, pid: u32) -> String {
    let mut lines: Vec<String> = Vec::new();
    for proxy in proxies.iter().filter(|proxy| !proxy.settings.disabled) {
        let binds = proxy.front.iter().flat_map(|front| &front.settings.binds);
        lines.extend(binds.map(|bind| listener(proxy, bind)));
    }
    let more = lines.len().saturating_sub(NAMED);
    lines.truncate(NAMED);
    if more > 0 {
        lines.push(format!("{more} more listeners."));
    }
    lines.extend(runtime.sockets.iter().filter_map(console));
    lines.iter().map(|line| format!("[NOTICE]   ({pid}) : {line}\n")).collect()
}

fn listener(proxy: &Proxy, bind: &Bind) -> String {
    let name = proxy.name();
    let address = match &bind.address {
        Address::Inet(address) => *address,
        Address::Pair(_) => return format!("Frontend {name} listens on {}.", bind.address),
        Address::Unix(path) if !path.as_os_str().as_encoded_bytes().starts_with(b"\0") => {
            return format!("Frontend {name} listens on {}.", path.display());
        }
        Address::Unix(_) => return format!("Frontend {name} listens on {}.", bind.address),
    };
    let listens = format!("Frontend {name} listens on {address}");
    let reached = reached(address);
    let (scheme, flags) =
        if bind.preamble.tls.is_some() { ("https", "-ik") } else { ("http", "-i") };
    match &proxy.settings.stats {
        _ if proxy.settings.mode != Mode::Http => format!("{listens}."),
        Some(page) => {
            let (uri, charts) = (&page.uri, page.uri.trim_end_matches('/'));
            format!(
                "{listens}, statistics: {scheme}://{reached}{uri}, charts: {scheme}://{reached}{charts}/ui"
            )
        }
        None => format!("{listens}, try: curl {flags} {scheme}://{reached}/"),
    }
}

/// An address that a client on this machine can use: loopback for a wildcard address.
fn reached(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

fn console(socket: &CliSocket) -> Option<String> {
    let path = socket.address.strip_prefix("unix@")?;
    if socket.preamble.any() {
        return Some(format!("Runtime socket {path}."));
    }
    Some(format!("Runtime socket {path}, try: echo 'show why' | socat {path} -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_is_reached_locally() {
        let at = |text: &str| reached(text.parse().expect("an address")).to_string();
        assert_eq!(at("0.0.0.0:80"), "127.0.0.1:80");
        assert_eq!(at("[::]:80"), "[::1]:80");
        assert_eq!(at("192.0.2.1:80"), "192.0.2.1:80");
    }
}
