//! Address syntax of `bind`, `server`, `log` and `stats socket` (sections 4.2 and 11).
use crate::model::{Address, BindAddress, ServerAddress, ServerPort};
use crate::value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use stdx::leading_number;

mod error;
#[cfg(test)]
mod tests;

pub(crate) use error::AddressError;

/// Bytes that the kernel takes for the path of a unix socket.
const MAX_UNIX_PATH: usize = 107;

/// Turns host names into addresses; tests bring their own.
pub trait Resolver {
    /// The first address of `host`, an IPv4 one if there is any, of the given family if one is
    /// asked for.
    fn resolve(&self, host: &str, family: Family) -> Option<IpAddr>;
}

/// The address families of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Either.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// The resolver of the system; may block, at start only.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str, family: Family) -> Option<IpAddr> {
        let found: Vec<IpAddr> = (host, 0).to_socket_addrs().ok()?.map(|a| a.ip()).collect();
        let v4 = found.iter().find(|a| a.is_ipv4() && family != Family::V6);
        v4.or_else(|| found.iter().find(|a| a.is_ipv6() && family != Family::V4)).copied()
    }
}

/// The address family before the `@` (section 11.1).
enum Scheme {
    Inet(Family),
    Unix,
    Abstract,
    Fd,
    Pair,
    Unsupported(&'static str),
}

/// The socket type that a prefix asks for (section 11.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// `stream+`, `tcp@`, `uxst@` and their like.
    Stream,
    /// `dgram+`, `udp@`, `uxdg@` and their like.
    Datagram,
}

/// Cuts the prefix off: the socket type, if it names one, and the address family.
fn prefix(text: &str) -> (Option<SocketKind>, Scheme, &str) {
    use SocketKind::{Datagram, Stream};
    let plain = (None, Scheme::Inet(Family::Any), text);
    if text.starts_with('/') {
        return (None, Scheme::Unix, text);
    }
    let Some((prefix, rest)) = text.split_once('@') else { return plain };
    let (asked, family) = match prefix.split_once('+') {
        Some(("stream", family)) => (Some(Stream), family),
        Some(("dgram", family)) => (Some(Datagram), family),
        Some(_) => return plain,
        None => (None, prefix),
    };
    // Protocols (section 11.3) are families with a type of their own.
    let (own, scheme) = match family {
        "ip" => (None, Scheme::Inet(Family::Any)),
        "ipv4" => (None, Scheme::Inet(Family::V4)),
        "ipv6" => (None, Scheme::Inet(Family::V6)),
        "unix" => (None, Scheme::Unix),
        "abns" => (None, Scheme::Abstract),
        "fd" => (None, Scheme::Fd),
        "sockpair" => (None, Scheme::Pair),
        "tcp" => (Some(Stream), Scheme::Inet(Family::Any)),
        "tcp4" => (Some(Stream), Scheme::Inet(Family::V4)),
        "tcp6" => (Some(Stream), Scheme::Inet(Family::V6)),
        "uxst" => (Some(Stream), Scheme::Unix),
        "udp" => (Some(Datagram), Scheme::Inet(Family::Any)),
        "udp4" => (Some(Datagram), Scheme::Inet(Family::V4)),
        "udp6" => (Some(Datagram), Scheme::Inet(Family::V6)),
        "uxdg" => (Some(Datagram), Scheme::Unix),
        "quic" | "quic4" | "quic6" | "quicv4" | "quicv6" => (None, Scheme::Unsupported("quic@")),
        _ => return plain,
    };
    (own.or(asked), scheme, rest)
}

/// The family of an address for streams, and what follows its prefix.
fn stream_scheme(text: &str) -> Result<(Scheme, &str), AddressError> {
    match prefix(text) {
        (Some(SocketKind::Datagram), ..) => {
            Err(AddressError::Datagram { address: text.to_owned() })
        }
        (_, scheme, rest) => Ok((scheme, rest)),
    }
}

/// The same for datagrams.
fn datagram_scheme(text: &str) -> Result<(Scheme, &str), AddressError> {
    match prefix(text) {
        (Some(SocketKind::Stream), ..) => Err(AddressError::Stream { address: text.to_owned() }),
        (_, scheme, rest) => Ok((scheme, rest)),
    }
}

/// The socket type that an address asks for.
pub(crate) fn socket_kind(text: &str) -> Option<SocketKind> {
    prefix(text).0
}

/// The digits of an address that is an inherited descriptor.
pub(crate) fn inherited(text: &str) -> Option<&str> {
    match prefix(text) {
        (_, Scheme::Fd, digits) => Some(digits),
        _ => None,
    }
}

/// A port with a suffix that is ignored.
pub(crate) struct OddPort {
    /// Where the address ends that counts.
    pub(crate) end: usize,
    /// The warning.
    pub(crate) message: String,
}

/// Text behind the port of an IP address: HAProxy takes the digits that it begins with.
pub(crate) fn odd_port(text: &str) -> Option<OddPort> {
    let (_, kind, rest) = prefix(text);
    if !matches!(kind, Scheme::Inet(_) | Scheme::Unsupported(_)) || rest.parse::<Ipv6Addr>().is_ok()
    {
        return None;
    }
    let port = split_port(rest).1?;
    let (low, mut tail) = leading_number::split(port);
    if let Some(high) = tail.strip_prefix('-') {
        tail = leading_number::split(high).1;
    }
    // A range with two dashes is a mistake.
    if low.is_empty() || tail.is_empty() || tail.contains('-') {
        return None;
    }
    let read = &port[..port.len() - tail.len()];
    let message = format!("port '{port}' is read as {read}: what follows the digits is ignored");
    Some(OddPort { end: text.len() - tail.len(), message })
}

/// One `bind` address; a port range gives several.
pub(crate) fn bind(text: &str, names: &dyn Resolver) -> Result<Vec<BindAddress>, AddressError> {
    if text.is_empty() {
        return Err(AddressError::Empty { written: String::new() });
    }
    bind_at(text, stream_scheme(text)?, names)
}

/// The address of a listener of QUIC, without its prefix and with that of its family; `None` for
/// any other.
pub(crate) fn of_quic(text: &str) -> Option<String> {
    let (prefix, rest) = text.split_once('@')?;
    let family = match prefix {
        "quic" => "ip",
        "quic4" | "quicv4" => "ipv4",
        "quic6" | "quicv6" => "ipv6",
        _ => return None,
    };
    Some(format!("{family}@{rest}"))
}

/// One `dgram-bind` address; a port range gives several.
pub(crate) fn datagram_bind(
    text: &str,
    names: &dyn Resolver,
) -> Result<Vec<BindAddress>, AddressError> {
    bind_at(text, datagram_scheme(text)?, names)
}

fn bind_at(
    text: &str,
    (kind, rest): (Scheme, &str),
    names: &dyn Resolver,
) -> Result<Vec<BindAddress>, AddressError> {
    match kind {
        Scheme::Unix => Ok(vec![BindAddress::At(Address::Unix(unix_path(rest, text)?))]),
        Scheme::Abstract => Ok(vec![BindAddress::At(Address::Unix(abstract_name(rest, text)?))]),
        Scheme::Fd => Ok(vec![BindAddress::Inherited(descriptor(rest, text)?)]),
        Scheme::Pair => Ok(vec![BindAddress::At(Address::Pair(descriptor(rest, text)?))]),
        Scheme::Unsupported(_) => Err(AddressError::Quic { address: text.to_owned() }),
        Scheme::Inet(family) => {
            let (host, port) = split_port(rest);
            let port = port.filter(|port| !port.is_empty());
            let port =
                port.ok_or_else(|| AddressError::MissingPort { address: text.to_owned() })?;
            let (low, high) = port_range(port)?;
            let ip = host_ip(host, family, text, names)?;
            let at = |port| BindAddress::At(Address::Inet(SocketAddr::new(ip, port)));
            Ok((low..=high).map(at).collect())
        }
    }
}

/// A server's address, by name if need be.
pub(crate) fn server(text: &str, names: &dyn Resolver) -> Result<ServerAddress, AddressError> {
    resolved(server_place(text)?, text, names)
}

fn resolved(
    (mut place, name): (ServerAddress, Option<Family>),
    text: &str,
    names: &dyn Resolver,
) -> Result<ServerAddress, AddressError> {
    if let (Some(family), Address::Inet(address)) = (name, &mut place.address) {
        address.set_ip(host_ip(&place.host, family, text, names)?);
    }
    Ok(place)
}

/// A server's address. For a name, the IP address is unspecified, and the family that the prefix
/// asks for is returned.
pub(crate) fn server_place(text: &str) -> Result<(ServerAddress, Option<Family>), AddressError> {
    place_at(text, stream_scheme(text)?)
}

fn place_at(
    text: &str,
    (kind, rest): (Scheme, &str),
) -> Result<(ServerAddress, Option<Family>), AddressError> {
    match kind {
        Scheme::Unix => {
            let address = Address::Unix(unix_path(rest, text)?);
            let (port, host) = (ServerPort::Fixed(0), text.to_owned());
            Ok((ServerAddress { address, port, host }, None))
        }
        Scheme::Abstract => {
            let address = Address::Unix(abstract_name(rest, text)?);
            let (port, host) = (ServerPort::Fixed(0), text.to_owned());
            Ok((ServerAddress { address, port, host }, None))
        }
        Scheme::Pair => {
            let address = Address::Pair(descriptor(rest, text)?);
            let (port, host) = (ServerPort::Fixed(0), text.to_owned());
            Ok((ServerAddress { address, port, host }, None))
        }
        Scheme::Fd => Err(AddressError::NoDescriptor { address: text.to_owned() }),
        Scheme::Unsupported(what) => {
            Err(AddressError::NotImplemented { what, address: text.to_owned() })
        }
        Scheme::Inet(family) => {
            let (host, port) = split_port(rest);
            let port = server_port(port, text)?;
            let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
            let named = !host.is_empty() && host != "*" && bare.parse::<IpAddr>().is_err();
            let ip = match named {
                true if family == Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
                true => Ipv4Addr::UNSPECIFIED.into(),
                // No name is asked for.
                false => host_ip(host, family, text, &Nobody)?,
            };
            let fixed = if let ServerPort::Fixed(port) = port { port } else { 0 };
            let address = Address::Inet(SocketAddr::new(ip, fixed));
            let place = ServerAddress { address, port, host: host.to_owned() };
            Ok((place, named.then_some(family)))
        }
    }
}

/// Knows no name.
struct Nobody;

impl Resolver for Nobody {
    fn resolve(&self, _: &str, _: Family) -> Option<IpAddr> {
        None
    }
}

/// The address of a name server, and whether it is asked over streams.
pub(crate) fn nameserver(
    text: &str,
    names: &dyn Resolver,
) -> Result<(bool, SocketAddr), AddressError> {
    let (kind, scheme, rest) = prefix(text);
    let place = resolved(place_at(text, (scheme, rest))?, text, names)?;
    let address = inet(&place, text)?;
    Ok((kind == Some(SocketKind::Stream), address))
}

/// Where log lines go: an address with a port, `default` if none is given, or a path. Its socket
/// type is [`socket_kind`]'s to tell.
pub(crate) fn log_target(
    text: &str,
    default: u16,
    names: &dyn Resolver,
) -> Result<Address, AddressError> {
    let (_, kind, rest) = prefix(text);
    match kind {
        Scheme::Unix => Ok(Address::Unix(unix_path(rest, text)?)),
        Scheme::Abstract => Ok(Address::Unix(abstract_name(rest, text)?)),
        Scheme::Fd | Scheme::Pair => Err(AddressError::NoDescriptor { address: text.to_owned() }),
        Scheme::Unsupported(what) => {
            Err(AddressError::NotImplemented { what, address: text.to_owned() })
        }
        Scheme::Inet(family) => {
            let (host, port) = split_port(rest);
            let port = match port.filter(|p| !p.is_empty()) {
                None => default,
                Some(port) => single_port(port, text)?,
            };
            Ok(Address::Inet(SocketAddr::new(host_ip(host, family, text, names)?, port)))
        }
    }
}

/// An IP address with a port.
pub(crate) fn stream(text: &str, names: &dyn Resolver) -> Result<SocketAddr, AddressError> {
    inet(&server(text, names)?, text)
}

fn inet(at: &ServerAddress, text: &str) -> Result<SocketAddr, AddressError> {
    match (&at.address, at.port) {
        (Address::Inet(address), ServerPort::Fixed(_)) => Ok(*address),
        (Address::Inet(_), _) => Err(AddressError::MissingPort { address: text.to_owned() }),
        (Address::Unix(_) | Address::Pair(_), _) => {
            Err(AddressError::NoPath { address: text.to_owned() })
        }
    }
}

/// An address without port.
pub(crate) fn host(text: &str, names: &dyn Resolver) -> Result<IpAddr, AddressError> {
    match stream_scheme(text)? {
        (Scheme::Inet(family), rest) => host_ip(rest, family, text, names),
        _ => Err(AddressError::Host { host: text.to_owned(), address: text.to_owned() }),
    }
}

/// The descriptor number after `fd@`.
pub(crate) fn descriptor(digits: &str, text: &str) -> Result<i32, AddressError> {
    value::number(digits).ok_or_else(|| AddressError::Descriptor {
        digits: digits.to_owned(),
        address: text.to_owned(),
    })
}

/// Cuts at the last colon. `[::1]:80` loses its brackets; `::1` is not an address without port.
fn split_port(text: &str) -> (&str, Option<&str>) {
    if let Some((host, tail)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        return (host, tail.strip_prefix(':'));
    }
    match text.rsplit_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    }
}

fn host_ip(
    host: &str,
    family: Family,
    text: &str,
    names: &dyn Resolver,
) -> Result<IpAddr, AddressError> {
    if host.is_empty() || host == "*" {
        return Ok(match family {
            Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        });
    }
    let wanted = |ip: &IpAddr| match family {
        Family::Any => true,
        Family::V4 => ip.is_ipv4(),
        Family::V6 => ip.is_ipv6(),
    };
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let numeric = bare.parse::<IpAddr>().ok();
    let found = match numeric {
        Some(ip) => Some(ip).filter(wanted),
        None => names.resolve(host, family).filter(wanted),
    };
    found.ok_or_else(|| AddressError::Host { host: host.to_owned(), address: text.to_owned() })
}

fn port_range(text: &str) -> Result<(u16, u16), AddressError> {
    let Some((low, high)) = text.split_once('-') else {
        let port = port_number(text)?;
        return Ok((port, port));
    };
    match (port_number(low), port_number(high)) {
        (Ok(low), Ok(high)) if low <= high => Ok((low, high)),
        _ => Err(AddressError::PortRange { range: text.to_owned() }),
    }
}

fn port_number(text: &str) -> Result<u16, AddressError> {
    value::number(text)
        .filter(|p| *p > 0)
        .ok_or_else(|| AddressError::Port { port: text.to_owned() })
}

fn single_port(port: &str, text: &str) -> Result<u16, AddressError> {
    if port.contains('-') {
        return Err(AddressError::NoPortRange { address: text.to_owned() });
    }
    match port.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        Some((_, character)) => Err(AddressError::PortCharacter {
            character,
            port: port.to_owned(),
            address: text.to_owned(),
        }),
        None => port_number(port),
    }
}

fn server_port(port: Option<&str>, text: &str) -> Result<ServerPort, AddressError> {
    let Some(port) = port.filter(|p| !p.is_empty()) else { return Ok(ServerPort::FromClient(0)) };
    let offset = |digits: &str, sign: i32| {
        let number: Option<u16> = value::number(digits);
        let message =
            || AddressError::PortOffset { port: port.to_owned(), address: text.to_owned() };
        number.map(|n| ServerPort::FromClient(sign * i32::from(n))).ok_or_else(message)
    };
    match port.as_bytes()[0] {
        b'+' => offset(&port[1..], 1),
        b'-' => offset(&port[1..], -1),
        _ if port == "0" => Ok(ServerPort::FromClient(0)),
        _ => single_port(port, text).map(ServerPort::Fixed),
    }
}

/// A source address, and the first and last of its ports; either may be left out.
pub(crate) type Origin = (Option<IpAddr>, Option<(u16, u16)>);

/// Parses the source address of connections.
pub(crate) fn source(text: &str, names: &dyn Resolver) -> Result<Origin, AddressError> {
    let (Scheme::Inet(family), rest) = stream_scheme(text)? else {
        return Err(AddressError::Family { address: text.to_owned() });
    };
    // More than one colon without brackets is an IPv6 address alone.
    let bare = rest.parse::<Ipv6Addr>().is_ok();
    let (host, port) = if bare { (rest, None) } else { split_port(rest) };
    let ports = port.filter(|it| !it.is_empty() && *it != "0").map(port_range).transpose()?;
    let ip = match host {
        "" | "*" => None,
        _ => Some(host_ip(host, family, text, names)?),
    };
    Ok((ip, ports))
}

/// A name in the abstract namespace: a path behind a NUL.
fn abstract_name(name: &str, text: &str) -> Result<PathBuf, AddressError> {
    if name.is_empty() {
        return Err(AddressError::MissingName { address: text.to_owned() });
    }
    unix_path(&format!("\0{name}"), text)
}

fn unix_path(path: &str, text: &str) -> Result<PathBuf, AddressError> {
    if path.is_empty() {
        return Err(AddressError::MissingPath { address: text.to_owned() });
    }
    if path.len() > MAX_UNIX_PATH {
        return Err(AddressError::LongPath { path: path.to_owned() });
    }
    Ok(PathBuf::from(path))
}
