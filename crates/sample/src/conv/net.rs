//! Converters of addresses and of proxy names.

use super::{Converter, conv};
use crate::args::{Arg, Args};
use crate::facts::{Count, Facts, ServerCount};
use crate::value::{Type, Value};
use std::net::{Ipv4Addr, Ipv6Addr};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("ipmask", "IPv4 mask[,IPv6 mask]", (Type::Addr, Type::Ipv4), "The network part of an address.", ipmask),
    conv("nbsrv", "", (Type::Str, Type::Int), "Usable servers of the backend of that name.", nbsrv),
    conv("srv_queue", "", (Type::Str, Type::Int), "Requests queued for the server of that name, [backend/]server.", srv_queue),
];

fn ipmask<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    // An IPv4 address in the clothes of IPv6 takes the mask for IPv4.
    let value = match value {
        Value::Ipv6(address) => address.to_ipv4_mapped().map_or(value, Value::Ipv4),
        _ => value,
    };
    match (value, args.get(0), args.get(1)) {
        (Value::Ipv4(address), Arg::V4(mask), _) => {
            Some(Value::Ipv4(Ipv4Addr::from(u32::from(address) & u32::from(*mask))))
        }
        (Value::Ipv6(address), _, Arg::V6(mask)) => {
            Some(Value::Ipv6(Ipv6Addr::from(u128::from(address) & u128::from(*mask))))
        }
        // Without a mask for IPv6 such addresses fail to convert (manual).
        _ => None,
    }
}

fn nbsrv<'e>(_: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let name = value.to_str()?;
    let name = std::str::from_utf8(&name).ok()?;
    facts.count(Count::UsableServers, Some(name)).map(Value::Int)
}

fn srv_queue<'e>(_: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let name = value.to_str()?;
    let name = std::str::from_utf8(&name).ok()?;
    let (backend, server) = match name.split_once('/') {
        Some((backend, server)) => (Some(backend), server),
        None => (None, name),
    };
    facts.server_count(ServerCount::Queue, backend, server).map(Value::Int)
}
