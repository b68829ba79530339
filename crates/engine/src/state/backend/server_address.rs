//! The current address of a server: resolvers and commands change it while requests are under way.
//!
//! Readers take a snapshot without a lock; a change replaces it. Established connections keep their
//! address until the requests on them have ended; later connections go to the new address.
use arc_swap::ArcSwap;
use reactor::Address;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The address of a server, which may change.
#[derive(Debug)]
pub struct Location {
    place: ArcSwap<AddressSnapshot>,
    /// [`AddressSnapshot::moves`], for readers that only compare it.
    moves: AtomicU32,
}

/// A snapshot of the address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressSnapshot {
    /// The address that requests go to.
    pub address: Address,
    /// The address that is checked, if it is another one (`addr`).
    pub check_ip: Option<IpAddr>,
    /// The port that is checked, if it is another one (`port`).
    pub check_port: Option<u16>,
    /// The host name that the address is resolved from, if any.
    pub host: Option<Arc<str>>,
    /// Whether the address is known: a name may not have resolved yet.
    pub known: bool,
    /// How often the address has changed: connections made at an earlier count go to an earlier
    /// address.
    pub moves: u32,
}

impl Location {
    pub(crate) fn new(settings: &settings::Server) -> Self {
        let place = ArcSwap::from_pointee(AddressSnapshot {
            address: settings.address.clone(),
            check_ip: settings.checked_at.0.or(settings.check_ip),
            check_port: settings.checked_at.1.or(settings.check_port),
            host: settings.host.as_deref().map(Arc::from),
            known: !settings.balance.unresolved,
            moves: 0,
        });
        Self { place, moves: AtomicU32::new(0) }
    }

    /// The current snapshot.
    pub fn now(&self) -> Arc<AddressSnapshot> {
        self.place.load_full()
    }

    /// The number of changes of the address so far. For a moment this may differ from
    /// [`AddressSnapshot::moves`] of the current snapshot: a connection that is made then is used
    /// once.
    #[inline]
    pub(crate) fn moves(&self) -> u32 {
        self.moves.load(Relaxed)
    }

    /// Changes the snapshot; returns whether it differs.
    pub fn change(&self, change: impl Fn(&mut AddressSnapshot)) -> bool {
        let changed = |place: &Arc<AddressSnapshot>| {
            let mut next = AddressSnapshot::clone(place);
            change(&mut next);
            next.moves += u32::from(next.address != place.address);
            Arc::new(next)
        };
        let before = self.place.rcu(changed);
        let now = self.now();
        self.moves.fetch_max(now.moves, Relaxed);
        before != now
    }
}

impl AddressSnapshot {
    /// The address that checks connect to.
    pub fn check_address(&self) -> Address {
        let mut address = self.address.clone();
        if let Address::Inet(inet) = &mut address {
            self.check_ip.into_iter().for_each(|ip| inet.set_ip(ip));
            self.check_port.into_iter().for_each(|port| inet.set_port(port));
        }
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use balance::ServerSettings;

    #[test]
    fn checks_follow_a_server_unless_they_have_a_place_of_their_own() {
        let mut settings = settings::Server::new(
            ServerSettings::new(1, "s1"),
            Address::Inet("10.0.0.1:80".parse().unwrap()),
        );
        settings.check_port = Some(81);
        let location = Location::new(&settings);
        let checked = || location.now().check_address().to_string();
        assert_eq!(checked(), "10.0.0.1:81");
        let to = |text: &str| Address::Inet(text.parse().unwrap());
        assert!(location.change(|place| place.address = to("10.0.0.2:90")));
        assert!(!location.change(|place| place.address = to("10.0.0.2:90")), "it is there already");
        assert_eq!(checked(), "10.0.0.2:81");
        assert_eq!((location.moves(), location.now().moves), (1, 1));
        location.change(|place| place.check_ip = Some([10, 0, 0, 9].into()));
        assert_eq!(checked(), "10.0.0.9:81");
        assert_eq!(location.moves(), 1, "only checks have");
        assert_eq!(location.now().address, to("10.0.0.2:90"));
    }
}
