//! Numbers of proxies, servers and listeners: those of lines must differ, the others are the next free ones.
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::{Draft, DraftProxy};
use crate::model::At;
use std::collections::{HashMap, HashSet};

/// Explicit numbers must differ; the others take the next free one in order.
pub(super) fn number_proxies(draft: &mut Draft, cx: &mut Cx<'_>) {
    let mut first: HashMap<u32, usize> = HashMap::new();
    for index in 0..draft.proxies.len() {
        let Some(id) = draft.proxies[index].id.clone() else { continue };
        if let Some(other) = first.get(&id.value) {
            let (one, other) = (&draft.proxies[index], &draft.proxies[*other]);
            let message = format!(
                "{} {} reuses same custom id as {} {} (declared at {}).",
                one.word(),
                one.name,
                other.word(),
                other.name,
                other.place
            );
            cx.about(Severity::Alert, &id.place, message);
        }
        first.entry(id.value).or_insert(index);
    }
    let before_stats = draft.before_stats;
    let mut numbers = ProxyNumbers { next: 1, taken: first.into_keys().collect() };
    for (index, proxy) in draft.proxies.iter_mut().enumerate() {
        if before_stats == Some(index) {
            // Its number may be that of another proxy: this one does not look for a free one.
            numbers.take(false);
        }
        proxy.forced_id = proxy.id.is_some();
        let free = numbers.take(proxy.id.is_none());
        if proxy.id.is_none() {
            proxy.id = Some(At { value: free, place: proxy.place.clone() });
        }
    }
}

/// Automatic numbers of proxies, as HAProxy gives them: those with an explicit one count too, and
/// so does the hidden proxy that the first `stats` line of `global` makes.
struct ProxyNumbers {
    next: u32,
    taken: HashSet<u32>,
}

impl ProxyNumbers {
    /// The number of the next proxy, if it has none of its own.
    fn take(&mut self, automatic: bool) -> u32 {
        while automatic && self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}

/// Zeros become the next free number, in order.
pub(crate) fn number<'a>(ids: impl Iterator<Item = &'a mut u32>) {
    let mut ids: Vec<&mut u32> = ids.collect();
    let taken: HashSet<u32> = ids.iter().map(|id| **id).collect();
    let mut next = 1;
    for id in &mut ids {
        if **id == 0 {
            while taken.contains(&next) {
                next += 1;
            }
            **id = next;
        }
        // A proxy with a number of its own (`id`) uses up an automatic number, too.
        next += 1;
    }
}

pub(super) fn duplicate_ids(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let mut first = HashMap::new();
    for server in draft.settings.back.servers.iter().filter(|server| server.id > 0) {
        if let Some((place, name)) = first.get(&server.id) {
            let message = format!(
                "'server {}/{}' : 'id' : custom id {} already used at {place} ('server {name}').",
                draft.name, server.name, server.id
            );
            cx.about(Severity::Alert, &server.place, message);
        }
        first.entry(server.id).or_insert((&server.place, &server.name));
    }
    let mut lines = HashMap::new();
    for bind in draft.settings.front.binds.iter().filter(|bind| bind.id > 0) {
        let first = lines.entry(bind.id).or_insert(&bind.written);
        if !std::ptr::eq(*first, &bind.written) {
            let message = format!(
                "'bind {}' : 'id' : custom id {} already used ('bind {first}').",
                bind.written, bind.id
            );
            cx.about(Severity::Alert, &bind.place, message);
        }
    }
}
