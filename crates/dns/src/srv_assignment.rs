//! Assignment of SRV records to servers.

use crate::message::SrvRecord;
use std::collections::HashMap;

/// Host and port of the record that a server has; `None` for a free server.
pub type AssignedRecord = Option<(Box<str>, u16)>;

/// Changes to servers, by their index in the list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assignment<'a> {
    /// Servers whose record has disappeared.
    pub lost: Vec<usize>,
    /// Servers whose record is still there, possibly with another weight.
    pub kept: Vec<(usize, &'a SrvRecord)>,
    /// Servers that get a new record.
    pub gained: Vec<(usize, &'a SrvRecord)>,
}

/// Keeps servers whose record is still there, and assigns the remaining records to free servers in
/// order.
pub fn assign<'a>(services: &[&'a SrvRecord], seats: &[AssignedRecord]) -> Assignment<'a> {
    // A record may occur twice: pushed in reverse, so that `pop` takes the first occurrence.
    let mut places: HashMap<(&str, u16), Vec<usize>> = HashMap::new();
    for (at, service) in services.iter().enumerate().rev() {
        places.entry((&service.target, service.port)).or_default().push(at);
    }
    let mut plan = Assignment::default();
    let mut given = vec![false; services.len()];
    let mut free = Vec::new();
    for (place, seat) in seats.iter().enumerate() {
        let own = seat.as_ref().and_then(|(host, port)| places.get_mut(&(&**host, *port))?.pop());
        match own {
            Some(at) => {
                given[at] = true;
                plan.kept.push((place, services[at]));
            }
            None => free.push(place),
        }
    }
    let new = (0..services.len()).filter(|at| !given[*at]).map(|at| services[at]);
    plan.gained = free.iter().copied().zip(new).collect();
    let left = free.into_iter().skip(plan.gained.len());
    plan.lost = left.filter(|place| seats[*place].is_some()).collect();
    plan
}

/// The weight of a server for the weight of a record: 0..=65535 becomes 0..=256.
pub fn weight(record: u16) -> u32 {
    u32::from(record).div_ceil(256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(host: &str, port: u16) -> SrvRecord {
        SrvRecord { target: host.into(), port, weight: 1, address: None }
    }

    fn seat(host: &str, port: u16) -> AssignedRecord {
        Some((host.into(), port))
    }

    #[test]
    fn servers_keep_their_records() {
        let all = [service("a", 1), service("b", 2), service("b", 3)];
        let (a, b, c) = (&all[0], &all[1], &all[2]);
        let plan = assign(&[a, b], &[None, None, None]);
        assert_eq!(plan.gained, [(0, a), (1, b)]);
        let plan = assign(&[c, b], &[seat("a", 1), seat("b", 2), None]);
        assert_eq!(plan.kept, [(1, b)]);
        assert_eq!((plan.gained, plan.lost), (vec![(0, c)], vec![]));
        let plan = assign(&[b], &[seat("a", 1), seat("b", 2), None]);
        assert_eq!((plan.lost, plan.kept, plan.gained), (vec![0], vec![(1, b)], vec![]));
        let plan = assign(&[a, a], &[seat("a", 1), None]);
        assert_eq!(plan.kept.len() + plan.gained.len(), 2, "a record may be there twice");
    }

    #[test]
    fn weights_as_measured() {
        let pairs = [(0, 0), (1, 1), (255, 1), (256, 1), (512, 2), (1_000, 4), (32_768, 128)];
        for (record, expected) in pairs {
            assert_eq!(weight(record), expected);
        }
        assert_eq!(weight(u16::MAX), 256);
    }
}
