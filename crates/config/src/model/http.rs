//! Networks, and `http-errors` sections (sections 3.8 and 4.2).
use crate::diag::Place;
use settings::ErrorReply;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// An address and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// First address, with the host bits cleared.
    pub address: IpAddr,
    /// Length of the prefix.
    pub bits: u8,
}

impl Network {
    /// True when `address` is inside. Families never mix.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                self.bits == 0 || (a.to_bits() ^ b.to_bits()) >> (32 - u32::from(self.bits)) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                self.bits == 0 || (a.to_bits() ^ b.to_bits()) >> (128 - u32::from(self.bits)) == 0
            }
            _ => false,
        }
    }
}

/// An `http-errors` section (section 3.8).
#[derive(Clone, Debug)]
pub struct HttpErrors {
    /// Its name, unique.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// Its files by status.
    pub files: BTreeMap<u16, ErrorReply>,
}
