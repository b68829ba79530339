//! How a key becomes a place among servers: the functions of `hash-type`, and addresses as numbers.
//! The values are part of the contract.

pub use stdx::hash::{avalanche, crc32, djb2, sdbm, wt6};

use std::net::IpAddr;

/// The hash input of `balance source`: an IPv4 address as it is, an IPv6 address folded to 32 bits
/// by exclusive or.
pub fn source(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            (bits >> 96) as u32 ^ (bits >> 64) as u32 ^ (bits >> 32) as u32 ^ bits as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_numbers() {
        assert_eq!(source("10.0.0.1".parse().unwrap()), 0x0a00_0001);
        assert_eq!(source("2001:db8::1".parse().unwrap()), 0x2001_0db9);
    }
}
