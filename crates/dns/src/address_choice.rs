//! Choice of a server's address among those of its name.

use crate::message::RecordType;
use std::collections::HashSet;
use std::net::IpAddr;

/// How a server's name is resolved (`resolvers`, `resolve-*`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolveSettings {
    /// Index of the `resolvers` section.
    pub resolvers: usize,
    /// The name, in lower case.
    pub name: String,
    /// Whether the name is that of a service (SRV).
    pub service: bool,
    /// Preferred address family (`resolve-prefer`).
    pub family: RecordType,
    /// Preferred networks: address and prefix length (`resolve-net`).
    pub networks: Vec<(IpAddr, u8)>,
    /// Whether servers may share an address (`resolve-opts allow-dup-ip`).
    pub shares: bool,
    /// Whether the weights of SRV records are ignored (`resolve-opts ignore-weight`).
    pub keeps_weight: bool,
}

impl ResolveSettings {
    /// The record type of the first query.
    pub fn kind(&self) -> RecordType {
        if self.service { RecordType::Service } else { self.family }
    }

    /// The preferences of a server that has this address now.
    pub fn preference(&self, current: Option<IpAddr>) -> AddressPreference<'_> {
        AddressPreference {
            family: self.family,
            networks: &self.networks,
            current,
            shares: self.shares,
        }
    }
}

/// Preferences of a server.
#[derive(Clone, Copy, Debug)]
pub struct AddressPreference<'a> {
    /// Preferred address family (`resolve-prefer`).
    pub family: RecordType,
    /// Preferred networks: address and prefix length (`resolve-net`).
    pub networks: &'a [(IpAddr, u8)],
    /// The server's current address, which is preferred to equally good ones.
    pub current: Option<IpAddr>,
    /// Whether it may share an address with another server (`allow-dup-ip`).
    pub shares: bool,
}

/// The addresses of a name, in the order of the answer.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    order: Vec<IpAddr>,
    known: HashSet<IpAddr>,
}

impl FromIterator<IpAddr> for Candidates {
    fn from_iter<I: IntoIterator<Item = IpAddr>>(addresses: I) -> Self {
        let order: Vec<IpAddr> = addresses.into_iter().collect();
        Self { known: order.iter().copied().collect(), order }
    }
}

impl Candidates {
    /// The best address; a `taken` one only if addresses may be shared; the first of equal ones.
    /// The others are not examined if the present address has the best possible grade.
    pub fn best(
        &self,
        wish: &AddressPreference<'_>,
        taken: impl Fn(IpAddr) -> bool,
    ) -> Option<IpAddr> {
        let graded = |address: IpAddr| {
            let free = !taken(address);
            (free || wish.shares).then(|| (wish.grade(address, free), address))
        };
        let current = wish.current.filter(|address| self.known.contains(address)).and_then(graded);
        let mut best = current;
        let most = wish.most(current.is_some());
        for address in &self.order {
            if best.is_some_and(|(grade, _)| grade >= most) {
                break;
            }
            if let Some(next) = graded(*address)
                && best.is_none_or(|best| next.0 > best.0)
            {
                best = Some(next);
            }
        }
        best.map(|(_, address)| address)
    }
}

impl AddressPreference<'_> {
    /// Grade of an address: preferred network, then family, then free, then present address.
    fn grade(&self, address: IpAddr, free: bool) -> u8 {
        let near = self.networks.iter().any(|network| contains(*network, address));
        u8::from(near) << 3
            | u8::from(self.family.has(address)) << 2
            | u8::from(free) << 1
            | u8::from(self.current == Some(address))
    }

    /// The best possible grade.
    fn most(&self, may_stay: bool) -> u8 {
        u8::from(!self.networks.is_empty()) << 3 | 0b110 | u8::from(may_stay)
    }
}

fn contains((network, bits): (IpAddr, u8), address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let differs = u32::from(network) ^ u32::from(address);
            differs.checked_shr(32 - u32::from(bits.min(32))).unwrap_or(0) == 0
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let differs = u128::from(network) ^ u128::from(address);
            differs.checked_shr(128 - u32::from(bits.min(128))).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn pick(addresses: &[&str], wish: &AddressPreference<'_>, taken: &[&str]) -> Option<String> {
        let taken: Vec<IpAddr> = taken.iter().map(|text| ip(text)).collect();
        let choices: Candidates = addresses.iter().map(|text| ip(text)).collect();
        choices.best(wish, |it| taken.contains(&it)).map(|it| it.to_string())
    }

    const PLAIN: AddressPreference<'_> =
        AddressPreference { family: RecordType::V4, networks: &[], current: None, shares: false };

    #[test]
    fn a_free_address_is_preferred_to_a_shared_one() {
        let two = &["10.0.0.1", "10.0.0.2"];
        assert_eq!(pick(two, &PLAIN, &[]).as_deref(), Some("10.0.0.1"));
        assert_eq!(pick(two, &PLAIN, &["10.0.0.1"]).as_deref(), Some("10.0.0.2"));
        assert_eq!(pick(&["10.0.0.1"], &PLAIN, &["10.0.0.1"]), None);
        let sharing = AddressPreference { shares: true, ..PLAIN };
        assert_eq!(pick(&["10.0.0.1"], &sharing, &["10.0.0.1"]).as_deref(), Some("10.0.0.1"));
        assert_eq!(pick(two, &sharing, &["10.0.0.1"]).as_deref(), Some("10.0.0.2"));
        assert_eq!(pick(&[], &sharing, &[]), None);
    }

    #[test]
    fn the_present_address_is_kept_unless_another_is_better() {
        let wish = AddressPreference { current: Some(ip("10.0.0.2")), ..PLAIN };
        assert_eq!(pick(&["10.0.0.1", "10.0.0.2"], &wish, &[]).as_deref(), Some("10.0.0.2"));
        let networks = [(ip("10.0.0.0"), 31)];
        let near = AddressPreference { networks: &networks, ..wish };
        assert_eq!(pick(&["10.0.0.1", "10.0.0.2"], &near, &[]).as_deref(), Some("10.0.0.1"));
    }

    #[test]
    fn the_best_present_address_costs_no_search() {
        let looked = std::cell::Cell::new(0);
        let choices: Candidates = (1..=200).map(|n| IpAddr::from([10, 0, 0, n])).collect();
        let taken = |_| {
            looked.set(looked.get() + 1);
            false
        };
        let wish = AddressPreference { current: Some(ip("10.0.0.200")), ..PLAIN };
        assert_eq!(choices.best(&wish, taken), wish.current);
        assert_eq!(looked.get(), 1);
        assert_eq!(choices.best(&PLAIN, taken), Some(ip("10.0.0.1")));
        assert_eq!(looked.get(), 2);
        let gone = AddressPreference { current: Some(ip("10.0.0.201")), ..PLAIN };
        assert_eq!(choices.best(&gone, taken), Some(ip("10.0.0.1")));
    }

    #[test]
    fn networks_before_families() {
        let networks = [(ip("2001:db8::"), 32), (ip("0.0.0.0"), 0)];
        let wish = AddressPreference { networks: &networks[..1], ..PLAIN };
        assert_eq!(pick(&["10.0.0.1", "2001:db8::1"], &wish, &[]).as_deref(), Some("2001:db8::1"));
        assert_eq!(pick(&["::1", "10.0.0.1"], &wish, &[]).as_deref(), Some("10.0.0.1"));
        let all = AddressPreference { networks: &networks[1..], family: RecordType::V6, ..PLAIN };
        assert_eq!(pick(&["::1", "10.0.0.1"], &all, &[]).as_deref(), Some("10.0.0.1"));
    }
}
