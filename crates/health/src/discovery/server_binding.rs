//! Changes that an answer makes to the servers with that name: addresses, maintenance, weights.

use crate::servers::events;
use balance::Admin;
use dns::srv_assignment::{self, AssignedRecord};
use dns::{Candidates, ResolveError, ResolveSettings, SrvRecord};
use engine::state::backend::server_address::AddressSnapshot;
use engine::state::runtime::{Backend, Server};
use engine::state::worker::Worker;
use observability::logging::log;
use reactor::Address;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A server that gets its address from a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct NamedServer {
    pub(super) backend: usize,
    pub(super) slot: usize,
}

/// A server with all that belongs to it.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) back: Arc<Backend>,
    pub(super) slot: usize,
}

impl Room {
    pub(super) fn of(worker: &Worker, guest: NamedServer) -> Option<Self> {
        let back = worker.shared.backend_at(guest.backend)?.clone();
        let room = Self { back, slot: guest.slot };
        room.resolve().is_some().then_some(room)
    }

    pub(super) fn server(&self) -> Option<&Server> {
        self.back.servers.get(self.slot)
    }

    pub(super) fn resolve(&self) -> Option<&ResolveSettings> {
        self.server()?.settings.resolve.as_deref()
    }

    /// The server's current address, if any.
    pub(super) fn address(&self) -> Option<IpAddr> {
        let place = self.server()?.location.now();
        place.address.inet().filter(|_| place.known).map(|address| address.ip())
    }

    /// The server's backend and address; `None` while it is in maintenance because it has no
    /// address.
    fn place(&self) -> Option<(usize, IpAddr)> {
        let resting = self.server()?.state.state().1.any(Admin::RESOLUTION_MAINT);
        self.address().filter(|_| !resting).map(|address| (self.back.proxy.index, address))
    }
}

/// The addresses of the servers that use one name, by backend.
#[derive(Default)]
pub(super) struct UsedAddresses(HashMap<(usize, IpAddr), usize>);

impl UsedAddresses {
    pub(super) fn of(rooms: &[Room]) -> Self {
        let mut taken = Self::default();
        rooms.iter().for_each(|room| taken.add(room));
        taken
    }

    fn add(&mut self, room: &Room) {
        if let Some(place) = room.place() {
            *self.0.entry(place).or_default() += 1;
        }
    }

    fn remove(&mut self, room: &Room) {
        if let Some(count) = room.place().and_then(|place| self.0.get_mut(&place)) {
            *count = count.saturating_sub(1);
        }
    }

    fn contains(&self, room: &Room, address: IpAddr) -> bool {
        self.0.get(&(room.back.proxy.index, address)).is_some_and(|count| *count > 0)
    }
}

/// Gives a server the best of the current addresses of its name; returns whether its address
/// changed. `taken` has the addresses of all servers with the same name; `by` is the source of the
/// answer, for the log.
pub(super) fn assign_address(
    worker: &Worker,
    room: &Room,
    choices: &Candidates,
    taken: &mut UsedAddresses,
    by: &str,
) -> bool {
    let Some(resolve) = room.resolve() else { return false };
    taken.remove(room);
    let best = choices.best(&resolve.preference(room.address()), |it| taken.contains(room, it));
    let moved = best.is_some_and(|address| move_in(worker, room, address, by));
    if best.is_none() {
        move_out(worker, room, "No IP for server ");
    }
    taken.add(room);
    moved
}

/// Gives a server an address, and lets it serve if only that was missing.
fn move_in(worker: &Worker, room: &Room, ip: IpAddr, by: &str) -> bool {
    let before = room.address();
    let moved = before != Some(ip);
    if moved {
        let change = |place: &mut AddressSnapshot| {
            place.known = true;
            if let Address::Inet(address) = &mut place.address {
                address.set_ip(ip);
            }
        };
        events::relocate(worker, &room.back, room.slot, change);
        let name = room.server().map(|server| server.state.name());
        let name = name.as_deref().unwrap_or_default();
        let from = before.map_or_else(|| "(none)".to_owned(), |ip| ip.to_string());
        let proxy = room.back.proxy.name();
        let text = format!("{proxy}/{name} changed its IP from {from} to {ip} by {by}.");
        events::announce(worker, &room.back, log::level::NOTICE, &text);
    }
    let service = room.resolve().is_some_and(|resolve| resolve.service);
    let told = by == ADDITIONAL && service;
    events::resolves(worker, &room.back, room.slot, !told);
    moved
}

/// Removes a server's address, and puts the server into maintenance until it has one again.
pub(super) fn move_out(worker: &Worker, room: &Room, why: &str) {
    events::resolves_not(worker, &room.back, room.slot, why);
    let change = |place: &mut AddressSnapshot| {
        place.known = false;
        if let Address::Inet(address) = &mut place.address {
            address.set_ip(Ipv4Addr::UNSPECIFIED.into());
        }
    };
    events::relocate(worker, &room.back, room.slot, change);
}

/// The manual's words for a failure (management manual, `srv_admin_state`, and the log).
pub(super) fn words(failure: ResolveError) -> &'static str {
    match failure {
        ResolveError::NoSuchName => "DNS NX status",
        ResolveError::Refused => "DNS refused status",
        ResolveError::Timeout => "DNS timeout status",
        ResolveError::Empty | ResolveError::Alias | ResolveError::Other => "unspecified DNS error",
    }
}

/// The log's words for the source of an address that a SRV answer contained.
const ADDITIONAL: &str = "DNS additional record";

/// A server that has to be found by the name of a host from now on, or not any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BindingChange {
    Follow(NamedServer, Box<str>),
    Leave(NamedServer),
}

/// Hands the records of a service out to the servers of a backend that stand for it.
pub(super) fn serve(
    worker: &Worker,
    guests: &[NamedServer],
    services: &[&SrvRecord],
) -> Vec<BindingChange> {
    let rooms: Vec<(NamedServer, Room)> =
        guests.iter().filter_map(|it| Some((*it, Room::of(worker, *it)?))).collect();
    let seat = |(_, room): &(NamedServer, Room)| -> AssignedRecord {
        let place = room.server()?.location.now();
        Some((place.host.as_deref()?.into(), place.address.inet()?.port()))
    };
    let seats: Vec<AssignedRecord> = rooms.iter().map(seat).collect();
    let plan = srv_assignment::assign(services, &seats);
    let mut errands = Vec::new();
    for place in plan.lost {
        let (guest, room) = &rooms[place];
        errands.push(BindingChange::Leave(*guest));
        vacate(worker, room);
    }
    for (place, service) in plan.kept {
        let (guest, room) = &rooms[place];
        weigh(worker, room, service);
        errands.push(settle_in(worker, *guest, room, service));
    }
    for (place, service) in plan.gained {
        let (guest, room) = &rooms[place];
        errands.push(BindingChange::Leave(*guest));
        if room.address().is_some() {
            // The address so far belongs to another record.
            vacate(worker, room);
        }
        occupy(worker, room, service);
        errands.push(settle_in(worker, *guest, room, service));
    }
    errands
}

/// A server with a record gets the address that came along with it, or else that of the record's
/// host: also a server that has kept its record, since its host may have been dropped with the
/// service, or restored from a previous process.
fn settle_in(
    worker: &Worker,
    guest: NamedServer,
    room: &Room,
    service: &SrvRecord,
) -> BindingChange {
    match service.address {
        Some(address) => {
            move_in(worker, room, address, ADDITIONAL);
            BindingChange::Leave(guest)
        }
        None => BindingChange::Follow(guest, service.target.clone()),
    }
}

/// Removes address and port from a server whose SRV record has disappeared.
fn vacate(worker: &Worker, room: &Room) {
    move_out(worker, room, "entry removed from SRV record");
    events::relocate(worker, &room.back, room.slot, |place| {
        place.host = None;
        if let Address::Inet(address) = &mut place.address {
            address.set_port(0);
        }
    });
}

/// Gives a server a record: its host, port and weight.
fn occupy(worker: &Worker, room: &Room, service: &SrvRecord) {
    events::relocate(worker, &room.back, room.slot, |place| {
        place.host = Some((&*service.target).into());
        if let Address::Inet(address) = &mut place.address {
            address.set_port(service.port);
        }
    });
    let set = Admin::FQDN_CHANGED;
    room.back.balancer.set_admin(room.slot, set, Admin::default(), worker.millis());
    weigh(worker, room, service);
}

/// A server has another name from now on; its address stays until that resolves. A first name is
/// no change that a state file reports, as with HAProxy.
pub(super) fn rename(worker: &Worker, room: &Room, name: &str) {
    let first = room.server().is_some_and(|server| server.location.now().host.is_none());
    events::relocate(worker, &room.back, room.slot, |place| place.host = Some(name.into()));
    if !first {
        let set = Admin::FQDN_CHANGED;
        room.back.balancer.set_admin(room.slot, set, Admin::default(), worker.millis());
    }
}

fn weigh(worker: &Worker, room: &Room, service: &SrvRecord) {
    let keeps = room.resolve().is_some_and(|resolve| resolve.keeps_weight);
    let weight = srv_assignment::weight(service.weight);
    let now = room.server().map(|server| server.state.user_weight());
    if !keeps && now != Some(weight) {
        events::set_weight(worker, &room.back, room.slot, weight);
    }
}
