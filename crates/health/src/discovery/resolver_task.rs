//! The task of a `resolvers` section: asks for names that are due, reads answers of name servers,
//! answers waiting requests.

use super::nameserver::{Inbox, NameServer};
use crate::discovery::query_table::{Search, Searches};
use crate::discovery::server_binding;
use crate::discovery::server_binding::{BindingChange, NamedServer, Room, UsedAddresses};
use dns::{Candidates, Event, Record, RecordType, Reply, Resolution, ResolveError, SrvRecord};
use engine::state::resolver::{Counters, Resolver, ResolverOrder, count};
use engine::state::session::lookup::NameQuery;
use engine::state::worker::Worker;
use reactor::{TaskId, Tick, Wake};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a datagram.
const DATAGRAM: usize = 65_535;

struct ResolverTask {
    worker: Rc<Worker>,
    resolver: usize,
    nameservers: Vec<NameServer>,
    inbox: Inbox,
    task: TaskId,
    searches: Searches,
}

/// Runs for as long as the thread does.
pub(super) async fn run(worker: Rc<Worker>, resolver: usize) {
    let scheduler = worker.thread.scheduler();
    let settings = &worker.shared.resolvers[resolver].settings;
    let nameservers = settings.nameservers.iter().map(|it| NameServer::new(&worker, it));
    let mut keeper = ResolverTask {
        nameservers: nameservers.collect(),
        inbox: Inbox::default(),
        task: scheduler.current(),
        searches: Searches::new(settings.dns),
        worker: worker.clone(),
        resolver,
    };
    keeper.welcome();
    let mut buffer = vec![0; DATAGRAM];
    loop {
        keeper.obey();
        keeper.send_queries();
        keeper.receive_answers(&mut buffer);
        keeper.searches.forget(keeper.now());
        scheduler.wait(keeper.deadline()).await;
    }
}

impl ResolverTask {
    fn resolver(&self) -> &Resolver {
        &self.worker.shared.resolvers[self.resolver]
    }

    fn counters(&self, nameserver: usize) -> &Counters {
        &self.resolver().counters[nameserver]
    }

    fn settings(&self) -> dns::Settings {
        self.resolver().settings.dns
    }

    fn now(&self) -> u64 {
        self.worker.millis()
    }

    /// Takes in the servers that the configuration names.
    fn welcome(&mut self) {
        let shared = self.worker.shared.clone();
        for back in shared.backends().filter(|back| !back.proxy.settings.disabled) {
            for (slot, server) in back.servers.iter().enumerate() {
                let own = server.settings.resolve.as_ref();
                if let Some(resolve) =
                    own.filter(|it| it.resolvers == self.resolver && !it.name.is_empty())
                {
                    let guest = NamedServer { backend: back.proxy.index, slot };
                    let now = self.now();
                    self.searches.take_in(guest, &resolve.name, resolve.kind(), now);
                }
            }
        }
    }

    /// Carries out the orders of other tasks.
    fn obey(&mut self) {
        for order in self.resolver().take_orders() {
            match order {
                ResolverOrder::Ask(ask) => self.answer_later(ask),
                ResolverOrder::Hurry(backend, slot) => {
                    self.searches.hurry(NamedServer { backend, slot }, self.worker.millis());
                }
                ResolverOrder::Rename(backend, slot, name) => {
                    let guest = NamedServer { backend, slot };
                    self.searches.remove(guest);
                    if let Some(room) = Room::of(&self.worker, guest) {
                        server_binding::rename(&self.worker, &room, &name);
                    }
                    self.follow(guest, &name);
                }
            }
        }
    }

    /// Finds a server by the name of a host.
    fn follow(&mut self, guest: NamedServer, name: &str) {
        let room = Room::of(&self.worker, guest);
        if let Some(family) = room.and_then(|room| room.resolve().map(|it| it.family)) {
            self.searches.take_in(guest, name, family, self.worker.millis());
        }
    }

    /// Answers from memory, or when the name server has.
    fn answer_later(&mut self, ask: Arc<NameQuery>) {
        let (now, settings) = (self.now(), self.settings());
        let (name, family) = (ask.name.to_ascii_lowercase(), ask.family);
        let Some(place) = self.searches.admit(&name, family, now) else {
            return ask.answer_with(None);
        };
        let resolution = &self.searches[place].resolution;
        if resolution.is_fresh(now, &settings) {
            return ask.answer_with(best(resolution, family));
        }
        self.searches.change(place, |search| {
            search.asks.push(ask);
            search.resolution.resolve_now(now);
        });
    }

    /// Asks for names that are due.
    fn send_queries(&mut self) {
        let now = self.now();
        for place in self.searches.due(now) {
            let search = &self.searches[place];
            if !search.is_wanted() {
                continue;
            }
            if search.resolution.asking().is_some() {
                self.count_silence();
            }
            let (id, servers, settings) = self.question();
            let on_time = |it: &mut Search| it.resolution.on_timer(now, id, servers, &settings);
            let event = self.searches.change(place, on_time);
            self.follow_up(place, event, None);
        }
    }

    fn count_silence(&self) {
        self.resolver().counters.iter().for_each(|counters| count(&counters.timeout));
    }

    /// The next question's number, which is hard to guess, the number of name servers, and the
    /// settings.
    fn question(&self) -> (u16, usize, dns::Settings) {
        let id = self.searches.number(self.worker.thread.kernel().seed() as u16);
        (id, self.nameservers.len(), self.settings())
    }

    /// Reads the answers that have arrived.
    fn receive_answers(&mut self, buffer: &mut [u8]) {
        let mut heard: Vec<(usize, Vec<u8>)> = Vec::new();
        for (place, nameserver) in self.nameservers.iter_mut().enumerate() {
            let counters = &self.worker.shared.resolvers[self.resolver].counters[place];
            let more =
                nameserver.receive(buffer, counters, |bytes| heard.push((place, bytes.into())));
            if more {
                self.worker.thread.mailbox().wake(self.task, Wake::OTHER);
            }
        }
        for (nameserver, bytes) in heard {
            self.read(nameserver, &bytes, false);
        }
        let streams = std::mem::take(&mut *self.inbox.borrow_mut());
        for (nameserver, id, answer) in streams {
            match answer {
                Some(bytes) => self.read(nameserver, &bytes, true),
                None => self.learn(nameserver, id, Reply::Failed(ResolveError::Other)),
            }
        }
    }

    /// A message of a name server.
    fn read(&mut self, nameserver: usize, bytes: &[u8], stream: bool) {
        let counters = self.counters(nameserver);
        let Some(id) = dns::message::id(bytes) else { return count(&counters.invalid) };
        let Some(place) = self.searches.by_question(id) else { return count(&counters.outdated) };
        if !stream && bytes.len() > usize::from(self.settings().payload) {
            count(&counters.too_big);
            return self.learn(nameserver, id, Reply::Malformed);
        }
        match self.searches[place].resolution.read(bytes) {
            // The answer did not fit into a datagram: the question is asked again over a stream.
            Reply::Truncated if !stream => {
                count(&counters.truncated);
                self.ask_by_stream(place, nameserver);
            }
            Reply::Truncated => self.learn(nameserver, id, Reply::Malformed),
            reply => self.learn(nameserver, id, reply),
        }
    }

    fn ask_by_stream(&self, place: usize, nameserver: usize) {
        let settings = self.settings();
        if let Some(question) = self.searches[place].resolution.question(&settings) {
            let span = u32::try_from(settings.retry).unwrap_or(u32::MAX);
            let to = (self.inbox.clone(), self.task);
            self.nameservers[nameserver].query_by_stream(question, span, nameserver, to);
        }
    }

    /// Takes a reply to the question with this number into account.
    fn learn(&mut self, nameserver: usize, id: u16, reply: Reply) {
        let counters = self.counters(nameserver);
        count(match &reply {
            Reply::Answer(_) => &counters.valid,
            Reply::Failed(ResolveError::NoSuchName) => &counters.nx,
            Reply::Failed(ResolveError::Refused) => &counters.refused,
            Reply::Failed(ResolveError::Empty) => &counters.any_err,
            Reply::Failed(ResolveError::Alias) => &counters.cname_error,
            Reply::Failed(ResolveError::Timeout) => &counters.timeout,
            Reply::Failed(ResolveError::Other) => &counters.other,
            Reply::Malformed | Reply::Truncated | Reply::Foreign => &counters.invalid,
        });
        let Some(place) = self.searches.by_question(id) else { return };
        let (next, servers, settings) = self.question();
        let now = self.now();
        let event = self.searches.change(place, |search| {
            search.resolution.on_reply(reply, now, next, servers, &settings)
        });
        self.follow_up(place, event, Some(nameserver));
    }

    /// Carries out an event of a name's machine.
    fn follow_up(&mut self, place: usize, event: Event, nameserver: Option<usize>) {
        match event {
            Event::Nothing => {}
            Event::Ask => self.send(place),
            Event::Answered => self.answered(place, nameserver),
            Event::Failed(failure) => self.failed(place, failure),
        }
    }

    /// Sends the question of a name to every name server.
    fn send(&mut self, place: usize) {
        let settings = self.settings();
        let Some(question) = self.searches[place].resolution.question(&settings) else { return };
        for nameserver in 0..self.nameservers.len() {
            if self.nameservers[nameserver].streams() {
                count(&self.counters(nameserver).sent);
                self.ask_by_stream(place, nameserver);
            } else {
                let counters = &self.worker.shared.resolvers[self.resolver].counters[nameserver];
                self.nameservers[nameserver].send(&question, counters);
            }
        }
    }

    fn answered(&mut self, place: usize, nameserver: Option<usize>) {
        let asks = self.searches.change(place, |search| std::mem::take(&mut search.asks));
        let search = &self.searches[place];
        let kind = search.resolution.preferred();
        asks.iter().for_each(|ask| ask.answer_with(best(&search.resolution, kind)));
        let guests = search.guests.clone();
        if kind == RecordType::Service {
            return self.share_out(place, &guests);
        }
        let choices = addresses(&self.searches[place].resolution);
        let settings = &self.resolver().settings;
        let by = nameserver.and_then(|it| settings.nameservers.get(it));
        let by = by.map(|it| format!("{}/{}", settings.name, it.name));
        let mut by = by.as_deref().unwrap_or("DNS cache");
        let of = |guest: &NamedServer| Room::of(&self.worker, *guest);
        let rooms: Vec<Room> = guests.iter().filter_map(of).collect();
        let mut taken = UsedAddresses::of(&rooms);
        let mut moved = false;
        for room in &rooms {
            moved |= server_binding::assign_address(&self.worker, room, &choices, &mut taken, by);
            // The log of the first server names the name server, that of the others the cache.
            by = "DNS cache";
        }
        if let Some(nameserver) = nameserver.filter(|_| moved) {
            count(&self.counters(nameserver).update);
        }
    }

    /// Assigns the records of a service to the servers of each backend that belong to it.
    fn share_out(&mut self, place: usize, guests: &[NamedServer]) {
        let records = self.searches[place].resolution.records();
        let services: Vec<SrvRecord> = records
            .filter_map(|record| match record {
                Record::Service(service) => Some(service.clone()),
                Record::Address(_) => None,
            })
            .collect();
        let services: Vec<&SrvRecord> = services.iter().collect();
        // Servers are added backend by backend, and are not removed.
        for own in guests.chunk_by(|one, next| one.backend == next.backend) {
            for errand in server_binding::serve(&self.worker, own, &services) {
                match errand {
                    BindingChange::Leave(guest) => self.searches.remove(guest),
                    BindingChange::Follow(guest, host) => self.follow(guest, &host),
                }
            }
        }
    }

    fn failed(&mut self, place: usize, failure: ResolveError) {
        let (now, settings) = (self.now(), self.settings());
        let asks = self.searches.change(place, |search| std::mem::take(&mut search.asks));
        asks.iter().for_each(|ask| ask.answer_with(None));
        let search = &self.searches[place];
        if search.resolution.holds(failure, now, &settings) {
            return;
        }
        let service = search.resolution.preferred() == RecordType::Service;
        let guests = search.guests.clone();
        for guest in guests {
            if service {
                self.searches.remove(guest);
            }
            if let Some(room) = Room::of(&self.worker, guest) {
                server_binding::move_out(&self.worker, &room, server_binding::words(failure));
            }
        }
    }

    /// The next wake-up: for a name, or for a stream that has rested.
    fn deadline(&self) -> Option<Tick> {
        let ahead = self
            .searches
            .next()
            .map(|due| due.saturating_sub(self.now()).min(Tick::MAX_SPAN_MS.into()));
        let due = ahead.map(|ahead| self.worker.thread.tick().plus_ms(ahead as u32));
        let tidy = self.nameservers.iter().filter_map(NameServer::tidy);
        tidy.fold(due, |due, tidy| Tick::earlier(due, Some(tidy)))
    }
}

/// The address for a request: of its preferred family, if there is one.
fn best(resolution: &Resolution, family: RecordType) -> Option<std::net::IpAddr> {
    let wish = dns::address_choice::AddressPreference {
        family,
        networks: &[],
        current: None,
        shares: true,
    };
    addresses(resolution).best(&wish, |_| false)
}

/// The addresses of a name.
fn addresses(resolution: &Resolution) -> Candidates {
    let address = |record: &Record| match record {
        Record::Address(address) => Some(*address),
        Record::Service(_) => None,
    };
    resolution.records().filter_map(address).collect()
}
