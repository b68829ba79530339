//! The values by which the persistence cookie names servers.

use crate::state::runtime::{Backend, Server};
use reactor::Address;
use std::borrow::Cow;
use std::net::IpAddr;

/// The value of the persistence cookie that names a server, if there is one (manual, `cookie`).
pub fn value(back: &Backend, server: &Server) -> Option<Vec<u8>> {
    value_of(server, back.dynamic_cookie.key().as_deref()).map(Cow::into_owned)
}

/// A server's value in the cookie: its own, or one computed from its address with a key.
pub fn value_of<'a>(server: &'a Server, key: Option<&str>) -> Option<Cow<'a, [u8]>> {
    if let Some(value) = &server.settings.cookie {
        return Some(Cow::Borrowed(value));
    }
    let key = key?;
    let Address::Inet(address) = &server.location.now().address else { return None };
    let mut text = key.as_bytes().to_vec();
    match address.ip() {
        IpAddr::V4(ip) => text.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => text.extend_from_slice(&ip.octets()),
    }
    text.extend_from_slice(&u32::from(address.port()).to_be_bytes());
    Some(Cow::Owned(format!("{:016x}", sample::hash::xxh64(&text, 0)).into_bytes()))
}
