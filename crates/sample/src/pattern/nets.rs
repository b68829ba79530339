//! Networks by prefix length: a look-up asks once per length in use, longest first.

use super::error::PatternError;
use crate::value::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Networks of one mask with the numbers of their patterns, sorted.
type NetGroup<T> = (T, Vec<(T, u32)>);

/// IPv4 and IPv6 networks.
#[derive(Debug, Default)]
pub(super) struct Nets {
    v4: Vec<NetGroup<u32>>,
    v6: Vec<NetGroup<u128>>,
}

/// Bits added to the length of an IPv4 mask for comparison with IPv6 addresses.
const MAPPED: u32 = 96;

impl Nets {
    /// Adds `address[/mask]`.
    pub(super) fn push(&mut self, pattern: &str, number: u32) -> Result<(), PatternError> {
        let invalid = || PatternError::Network(pattern.to_owned());
        let (address, mask) = match pattern.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (pattern, None),
        };
        if let Ok(address) = address.parse::<Ipv6Addr>() {
            let mask = match mask {
                None => u128::MAX,
                Some(mask) => mask6(mask).ok_or_else(invalid)?,
            };
            add(&mut self.v6, mask, u128::from(address) & mask, number);
            return Ok(());
        }
        let address = abbreviated_v4(address).ok_or_else(invalid)?;
        let mask = match mask {
            None => u32::MAX,
            Some(mask) => mask4(mask).ok_or_else(invalid)?,
        };
        add(&mut self.v4, mask, u32::from(address) & mask, number);
        Ok(())
    }

    /// Sorts the groups for the binary search of [`Nets::find`].
    pub(super) fn finish(&mut self) {
        self.v4.sort_by_key(|(mask, _)| std::cmp::Reverse(*mask));
        self.v6.sort_by_key(|(mask, _)| std::cmp::Reverse(*mask));
        self.v4.iter_mut().for_each(|(_, nets)| nets.sort_unstable());
        self.v6.iter_mut().for_each(|(_, nets)| nets.sort_unstable());
    }

    /// The length and the number of the longest network around `address` that is `alive`.
    pub(super) fn find(
        &self,
        address: IpAddr,
        alive: &dyn Fn(u32) -> bool,
    ) -> Option<(usize, u32)> {
        match address {
            IpAddr::V4(v4) => self.find4(v4, alive).or_else(|| {
                if self.v6.is_empty() { None } else { self.find6(v4.to_ipv6_mapped(), alive) }
            }),
            IpAddr::V6(v6) => self.find6(v6, alive).or_else(|| {
                if self.v4.is_empty() {
                    return None;
                }
                self.find4(Value::Ipv6(v6).to_ipv4()?, alive)
            }),
        }
    }

    fn find4(&self, address: Ipv4Addr, alive: &dyn Fn(u32) -> bool) -> Option<(usize, u32)> {
        let address = u32::from(address);
        self.v4.iter().find_map(|(mask, nets)| {
            let number = lookup(nets, address & mask, alive)?;
            Some(((MAPPED + mask.leading_ones()) as usize, number))
        })
    }

    fn find6(&self, address: Ipv6Addr, alive: &dyn Fn(u32) -> bool) -> Option<(usize, u32)> {
        let address = u128::from(address);
        self.v6.iter().find_map(|(mask, nets)| {
            let number = lookup(nets, address & mask, alive)?;
            Some((mask.leading_ones() as usize, number))
        })
    }
}

fn add<T: PartialEq>(groups: &mut Vec<NetGroup<T>>, mask: T, net: T, number: u32) {
    match groups.iter_mut().find(|(found, _)| *found == mask) {
        Some((_, nets)) => nets.push((net, number)),
        None => groups.push((mask, vec![(net, number)])),
    }
}

fn lookup<T: Ord + Copy>(nets: &[(T, u32)], net: T, alive: &dyn Fn(u32) -> bool) -> Option<u32> {
    let at = nets.partition_point(|(found, _)| *found < net);
    let same = nets[at..].iter().take_while(|(found, _)| *found == net);
    same.map(|(_, number)| *number).find(|number| alive(*number))
}

/// `10.1.2.3`, or less: the last number fills the octets that are missing, so that `10.12` stands
/// for `10.0.0.12`, unlike in RFC 4632 (section 7.1.6). Numbers that begin with 0 are octal.
fn abbreviated_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let mut address = number(last)?;
    if u64::from(address) >= 1 << (32 - 8 * first.len()) {
        return None;
    }
    for (i, part) in first.iter().enumerate() {
        let octet = number(part).filter(|octet| *octet < 256)?;
        address |= octet << (24 - 8 * i);
    }
    Some(Ipv4Addr::from(address))
}

fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let radix = if text.len() > 1 && text.starts_with('0') { 8 } else { 10 };
    digits.then(|| u32::from_str_radix(text, radix).ok()).flatten()
}

fn mask4(text: &str) -> Option<u32> {
    if let Ok(bits) = text.parse::<u32>() {
        return Some(u32::MAX.checked_shl(32u32.checked_sub(bits)?).unwrap_or(0));
    }
    text.parse::<Ipv4Addr>().ok().map(u32::from)
}

fn mask6(text: &str) -> Option<u128> {
    if let Ok(bits) = text.parse::<u32>() {
        return Some(u128::MAX.checked_shl(128u32.checked_sub(bits)?).unwrap_or(0));
    }
    text.parse::<Ipv6Addr>().ok().map(u128::from)
}
