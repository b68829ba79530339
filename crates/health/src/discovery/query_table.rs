//! The names that a keeper resolves: found by name, by question, by server and by the time when
//! they need attention.

use crate::discovery::server_binding::NamedServer;
use dns::{RecordType, Resolution, Settings};
use engine::state::session::lookup::NameQuery;
use std::collections::{BTreeSet, HashMap};
use std::ops::Index;
use std::sync::Arc;

/// Names that only requests have asked for: beyond so many, further ones are not resolved.
const MAX_NAMES: usize = 10_000;

/// A name, with the servers that use it and the requests that wait for it.
pub(super) struct Search {
    pub(super) resolution: Resolution,
    pub(super) guests: Vec<NamedServer>,
    pub(super) asks: Vec<Arc<NameQuery>>,
}

impl Search {
    /// Whether a server uses the name or a request waits for it.
    pub(super) fn is_wanted(&self) -> bool {
        !self.guests.is_empty() || !self.asks.is_empty()
    }

    /// When the name needs attention. An unused name only waits to be dropped.
    fn wake_at(&self, settings: &Settings) -> u64 {
        match self.is_wanted() {
            true => self.resolution.due(),
            false => self.resolution.fresh_until(settings),
        }
    }
}

/// All names of a section. Each has a fixed place.
pub(super) struct Searches {
    settings: Settings,
    all: Vec<Option<Search>>,
    free: Vec<usize>,
    names: HashMap<Box<str>, Vec<(RecordType, usize)>>,
    questions: HashMap<u16, usize>,
    /// The services of servers, and the hosts that give them addresses.
    services: HashMap<NamedServer, usize>,
    hosts: HashMap<NamedServer, usize>,
    due: BTreeSet<(u64, usize)>,
}

impl Searches {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            all: Vec::new(),
            free: Vec::new(),
            names: HashMap::new(),
            questions: HashMap::new(),
            services: HashMap::new(),
            hosts: HashMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// The index of a name, if it is in the table.
    fn find(&self, name: &str, kind: RecordType) -> Option<usize> {
        self.names.get(name)?.iter().find(|(known, _)| *known == kind).map(|(_, place)| *place)
    }

    /// The place of a name, which is new if need be.
    fn open(&mut self, name: &str, kind: RecordType, now: u64) -> usize {
        if let Some(place) = self.find(name, kind) {
            return place;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        let resolution = Resolution::new(name, kind, now);
        let search = Search { resolution, guests: Vec::new(), asks: Vec::new() };
        self.due.insert((search.wake_at(&self.settings), place));
        self.all[place] = Some(search);
        self.names.entry(name.into()).or_default().push((kind, place));
        place
    }

    /// The place of a name for a request; `None` if it is new and there are too many.
    pub(super) fn admit(&mut self, name: &str, kind: RecordType, now: u64) -> Option<usize> {
        let known = self.find(name, kind);
        let room = self.all.len() - self.free.len() < MAX_NAMES;
        known.or_else(|| room.then(|| self.open(name, kind, now)))
    }

    /// Has a server use a name, which is asked for at once unless the server uses it already.
    pub(super) fn take_in(&mut self, guest: NamedServer, name: &str, kind: RecordType, now: u64) {
        let place = self.open(name, kind, now);
        let stands = if kind == RecordType::Service { &mut self.services } else { &mut self.hosts };
        let before = stands.insert(guest, place);
        // The records of a service name the hosts of its servers again and again.
        if before == Some(place) {
            return;
        }
        if let Some(before) = before {
            self.change(before, |search| search.guests.retain(|it| *it != guest));
        }
        self.change(place, |search| {
            search.guests.push(guest);
            search.resolution.resolve_now(now);
        });
    }

    /// Ends the use of a host name by a server, which may still belong to a service.
    pub(super) fn remove(&mut self, guest: NamedServer) {
        if let Some(place) = self.hosts.remove(&guest) {
            self.change(place, |search| search.guests.retain(|it| *it != guest));
        }
    }

    /// Asks at once for the names that a server uses.
    pub(super) fn hurry(&mut self, guest: NamedServer, now: u64) {
        let places = [self.services.get(&guest), self.hosts.get(&guest)].map(|it| it.copied());
        for place in places.into_iter().flatten() {
            self.change(place, |search| search.resolution.resolve_now(now));
        }
    }

    /// Changes a name, and the indexes by its question and its time with it. All changes go through
    /// here.
    pub(super) fn change<T>(&mut self, place: usize, work: impl FnOnce(&mut Search) -> T) -> T {
        let search = self.all[place].as_mut().expect("a place is given to who holds a search");
        let before = (search.resolution.asking(), search.wake_at(&self.settings));
        let done = work(search);
        let after = (search.resolution.asking(), search.wake_at(&self.settings));
        if before.0 != after.0 {
            self.let_number_go(before.0, place);
            after.0.map(|id| self.questions.insert(id, place));
        }
        if before.1 != after.1 {
            self.due.remove(&(before.1, place));
            self.due.insert((after.1, place));
        }
        done
    }

    /// The name with an open query of this number.
    pub(super) fn by_question(&self, id: u16) -> Option<usize> {
        self.questions.get(&id).copied()
    }

    /// A number for a question, from this one on. There are at most 65,536 numbers: when all are in
    /// use, the name that had this number loses its answer, and sends another query.
    pub(super) fn number(&self, first: u16) -> u16 {
        let mut numbers = (0..=u16::MAX).map(|step| first.wrapping_add(step));
        numbers.find(|id| !self.questions.contains_key(id)).unwrap_or(first)
    }

    /// Frees the number of a question, unless it is another question's already.
    fn let_number_go(&mut self, id: Option<u16>, place: usize) {
        if let Some(id) = id.filter(|id| self.questions.get(id) == Some(&place)) {
            self.questions.remove(&id);
        }
    }

    /// Names that need attention, the longest due first.
    pub(super) fn due(&self, now: u64) -> Vec<usize> {
        self.due.range(..=(now, usize::MAX)).map(|(_, place)| *place).collect()
    }

    /// When the next one needs attention.
    pub(super) fn next(&self) -> Option<u64> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Drops names that no server uses and no request waits for, once their answers are out of
    /// date.
    pub(super) fn forget(&mut self, now: u64) {
        for place in self.due(now) {
            if !self[place].is_wanted() {
                self.close(place);
            }
        }
    }

    fn close(&mut self, place: usize) {
        let Some(search) = self.all[place].take() else { return };
        self.free.push(place);
        self.due.remove(&(search.wake_at(&self.settings), place));
        self.let_number_go(search.resolution.asking(), place);
        let name = search.resolution.name();
        if let Some(kinds) = self.names.get_mut(name) {
            kinds.retain(|(_, known)| *known != place);
            if kinds.is_empty() {
                self.names.remove(name);
            }
        }
    }
}

impl Index<usize> for Searches {
    type Output = Search;

    fn index(&self, place: usize) -> &Search {
        self.all[place].as_ref().expect("a place is given to who holds a search")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dns::Event;

    fn searches() -> Searches {
        Searches::new(Settings::default())
    }

    #[test]
    fn any_number_of_names_is_resolved_within_memory() {
        let mut all = searches();
        for n in 0..MAX_NAMES {
            assert!(all.admit(&format!("n{n}.test"), RecordType::V4, 5).is_some());
        }
        assert_eq!(all.admit("other.test", RecordType::V4, 5), None);
        assert_eq!(all.admit("n7.test", RecordType::V6, 5), None, "that is another question");
        assert!(all.admit("n7.test", RecordType::V4, 5).is_some());
        // The configuration's are resolved all the same.
        all.take_in(NamedServer { backend: 0, slot: 0 }, "own.test", RecordType::V4, 5);
        all.forget(5);
        assert_eq!(all.names.len(), 1, "nobody has waited for the others");
        assert!(all.admit("other.test", RecordType::V4, 5).is_some());
    }

    #[test]
    fn a_name_is_found_by_its_question_and_by_its_time() {
        let (mut all, settings) = (searches(), Settings::default());
        let (one, two) = (NamedServer { backend: 0, slot: 0 }, NamedServer { backend: 0, slot: 1 });
        all.take_in(one, "a.test", RecordType::V4, 5);
        all.take_in(two, "b.test", RecordType::V4, 7);
        assert_eq!((all.due(6).len(), all.due(7).len(), all.next()), (1, 2, Some(5)));
        let a = all.due(6)[0];
        let event = all.change(a, |it| it.resolution.on_timer(6, 77, 1, &settings));
        assert_eq!((event, all.by_question(77)), (Event::Ask, Some(a)));
        assert_eq!((all.due(6), all.next()), (vec![], Some(7)), "it waits for an answer");
        all.remove(one);
        all.forget(6);
        assert_eq!((all.by_question(77), all.names.len()), (None, 1));
    }

    #[test]
    fn there_is_a_number_though_all_are_in_use() {
        let mut all = searches();
        all.questions.extend((0..u16::MAX).map(|id| (id, 9)));
        assert_eq!(all.number(7), u16::MAX, "the one that is left");
        all.questions.insert(u16::MAX, 9);
        assert_eq!(all.number(7), 7);
        all.let_number_go(Some(7), 8);
        assert_eq!(all.by_question(7), Some(9), "it is another's");
        all.let_number_go(Some(7), 9);
        assert_eq!((all.by_question(7), all.number(5)), (None, 7));
    }

    #[test]
    fn a_server_is_found_by_one_host_at_a_time() {
        let (mut all, guest) = (searches(), NamedServer { backend: 0, slot: 0 });
        all.take_in(guest, "_h._tcp.test", RecordType::Service, 5);
        all.take_in(guest, "a.test", RecordType::V4, 5);
        all.take_in(guest, "a.test", RecordType::V4, 5);
        let a = all.find("a.test", RecordType::V4).expect("it is wanted");
        assert_eq!(all[a].guests, [guest]);
        all.take_in(guest, "b.test", RecordType::V4, 5);
        assert!(all[a].guests.is_empty());
        all.remove(guest);
        let service = all.find("_h._tcp.test", RecordType::Service).expect("it is wanted");
        assert_eq!(all[service].guests, [guest], "it still stands for that");
    }
}
