//! Which of several addresses a server takes. Pure.

use crate::message::Kind;
use std::net::IpAddr;

/// What a server would like.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The family that is better (`resolve-prefer`).
    pub family: Kind,
    /// Networks that are better than others: address and prefix length (`resolve-net`).
    pub networks: &'a [(IpAddr, u8)],
    /// The address that it has, which is better than an equal one.
    pub current: Option<IpAddr>,
    /// Whether it may have an address that another one has (`allow-dup-ip`).
    pub shares: bool,
}

/// The best of the addresses, none that is `taken` unless those may be shared.
pub fn choose(
    addresses: impl Iterator<Item = IpAddr>,
    wish: &Wish<'_>,
    taken: impl Fn(IpAddr) -> bool,
) -> Option<IpAddr> {
    let score = |address: IpAddr| {
        let near = wish.networks.iter().any(|network| contains(*network, address));
        let free = !taken(address);
        let grade = u8::from(near) << 3
            | u8::from(wish.family.has(address)) << 2
            | u8::from(free) << 1
            | u8::from(wish.current == Some(address));
        (free || wish.shares).then_some((grade, address))
    };
    // The first of equal ones, as the name server has put them in order.
    let better = |best: (u8, IpAddr), next: (u8, IpAddr)| if next.0 > best.0 { next } else { best };
    addresses.filter_map(score).reduce(better).map(|(_, address)| address)
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

    fn pick(addresses: &[&str], wish: &Wish<'_>, taken: &[&str]) -> Option<String> {
        let taken: Vec<IpAddr> = taken.iter().map(|text| ip(text)).collect();
        let addresses = addresses.iter().map(|text| ip(text));
        choose(addresses, wish, |it| taken.contains(&it)).map(|it| it.to_string())
    }

    const PLAIN: Wish<'_> = Wish { family: Kind::V4, networks: &[], current: None, shares: false };

    #[test]
    fn an_address_of_its_own_before_a_shared_one() {
        let two = &["10.0.0.1", "10.0.0.2"];
        assert_eq!(pick(two, &PLAIN, &[]).as_deref(), Some("10.0.0.1"));
        assert_eq!(pick(two, &PLAIN, &["10.0.0.1"]).as_deref(), Some("10.0.0.2"));
        assert_eq!(pick(&["10.0.0.1"], &PLAIN, &["10.0.0.1"]), None);
        let sharing = Wish { shares: true, ..PLAIN };
        assert_eq!(pick(&["10.0.0.1"], &sharing, &["10.0.0.1"]).as_deref(), Some("10.0.0.1"));
        assert_eq!(pick(two, &sharing, &["10.0.0.1"]).as_deref(), Some("10.0.0.2"));
        assert_eq!(pick(&[], &sharing, &[]), None);
    }

    #[test]
    fn what_it_has_stays_unless_there_is_better() {
        let wish = Wish { current: Some(ip("10.0.0.2")), ..PLAIN };
        assert_eq!(pick(&["10.0.0.1", "10.0.0.2"], &wish, &[]).as_deref(), Some("10.0.0.2"));
        let networks = [(ip("10.0.0.0"), 31)];
        let near = Wish { networks: &networks, ..wish };
        assert_eq!(pick(&["10.0.0.1", "10.0.0.2"], &near, &[]).as_deref(), Some("10.0.0.1"));
    }

    #[test]
    fn networks_before_families() {
        let networks = [(ip("2001:db8::"), 32), (ip("0.0.0.0"), 0)];
        let wish = Wish { networks: &networks[..1], ..PLAIN };
        assert_eq!(pick(&["10.0.0.1", "2001:db8::1"], &wish, &[]).as_deref(), Some("2001:db8::1"));
        assert_eq!(pick(&["::1", "10.0.0.1"], &wish, &[]).as_deref(), Some("10.0.0.1"));
        let all = Wish { networks: &networks[1..], family: Kind::V6, ..PLAIN };
        assert_eq!(pick(&["::1", "10.0.0.1"], &all, &[]).as_deref(), Some("10.0.0.1"));
    }
}
