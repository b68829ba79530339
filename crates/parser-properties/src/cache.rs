//! Properties of the cache: decisions about any messages, and any sequence of operations on a store.

use cache::conditional::{Validators, is_not_modified};
use cache::range::RangeAnswer;
use cache::request::{self, FreshnessDemand};
use cache::response::{self, StoreRules};
use cache::{Cache, CacheKey, CacheSettings, Hit, Lookup, Selecting, Storing, range, validation};
use htx::list::items;
use htx::{Head, HeaderId, Version};
use std::collections::HashMap;
use std::sync::Arc;

const RULES: StoreRules = StoreRules {
    max_age: 60,
    max_object_size: 20_000,
    process_vary: true,
    stale_while_revalidate: 30,
    stale_if_error: 40,
    keep_for_validation: 50,
};
const NOW: i64 = 1_795_000_000;
const ANY: FreshnessDemand = FreshnessDemand { max_age: None, min_fresh: 0 };

fn store_of(total_max_size: u64) -> Arc<Cache> {
    let name = "c".to_owned();
    let settings = CacheSettings {
        name,
        total_max_size,
        max_secondary_entries: 3,
        ranges: false,
        coalesce: None,
        rules: RULES,
    };
    Cache::new(settings, 1, [1, 2]).expect("memory for a small cache")
}

/// A message of lines `name: value`, of which those without a valid name are left out.
fn fill(head: &mut Head, text: &[u8]) {
    for line in text.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (name, value) = (&line[..colon], htx::list::trim(&line[colon + 1..]));
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\0');
        if !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_text) {
            head.push(name, value);
        }
    }
}

/// Judges a request and a response; an empty line is between their fields. What may be stored is
/// stored, and found by the same request.
pub fn decisions(data: &[u8]) {
    let split = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let (mut request, mut response) = (Head::default(), Head::default());
    request.set_request(b"GET", b"/k", Version::Http11);
    response.set_response(Version::Http11, 200, b"OK");
    fill(&mut request, &data[..split]);
    fill(&mut response, &data[split..]);
    let cache = store_of(1 << 20);
    let selecting = Selecting::of(&request, cache.sip_key());
    let verdict = request::judge(&request);
    if let (Err(_), Ok(())) = (verdict.lookup, verdict.store) {
        let refresh = ["cache-control", "pragma"].map(|name| request.get(name.as_bytes()));
        assert!(refresh.iter().any(Option::is_some), "only a directive asks for a new response");
    }
    let etag = response.first(HeaderId::ETag).map(|field| field.value);
    ranges(&request, etag);
    let key = key(&cache, &request);
    let Ok(storable) = response::judge(&response, &selecting, &RULES, NOW) else { return };
    let lifetime = storable.lifetime;
    assert!((1..=RULES.max_age).contains(&lifetime.fresh));
    assert!(lifetime.while_revalidate <= RULES.stale_while_revalidate);
    assert!(lifetime.if_error <= RULES.stale_if_error);
    assert!(storable.variant.is_selected_by(&selecting), "the request selects its own response");
    let controls = response.by_id(HeaderId::CacheControl).flat_map(|field| items(field.value));
    let forbids = |item: &[u8]| {
        [&b"no-store"[..], b"private", b"no-cache"].iter().any(|no| no.eq_ignore_ascii_case(item))
    };
    assert!(!controls.into_iter().any(forbids));
    if let Some(key) = key {
        exchange(&cache, &key, &selecting, &response, &storable);
    }
}

fn ranges(request: &Head, etag: Option<&[u8]>) {
    let stored = Validators { etag, modified: NOW };
    let _ = is_not_modified(request, &stored, NOW);
    for len in [0, 1, 1000] {
        if let RangeAnswer::Part { first, last } = range::answer(request, len, &stored, NOW) {
            assert!(first <= last && last < len);
        }
    }
}

/// The key of a request, which as a target of its own has the same key.
fn key(cache: &Cache, request: &Head) -> Option<CacheKey> {
    let (mut key, mut again) = (CacheKey::default(), CacheKey::default());
    if !key.set(request, b"http", cache.sip_key()) {
        return None;
    }
    let mut absolute = Head::default();
    absolute.set_request(b"GET", key.text(), Version::Http11);
    // Codecs refuse a request with another host.
    let valid = request.authority().is_some_and(htx::authority::is_host);
    if valid {
        assert!(again.set(&absolute, b"https", cache.sip_key()));
        assert_eq!(key, again);
    }
    Some(key)
}

/// Stores a response and finds it again, with the fields that are kept.
fn exchange(
    cache: &Arc<Cache>,
    key: &CacheKey,
    selecting: &Selecting,
    response: &Head,
    storable: &response::Storable,
) {
    let Ok(mut storing) = Storing::begin(cache, key, response, storable, 1000) else { return };
    let body = vec![7; storable.declared_len.unwrap_or(3000) as usize];
    if storing.payload(&body).is_err() || storing.finish(None, 1000).is_err() {
        assert_eq!(cache.free_blocks(), cache.blocks());
        return;
    }
    let Lookup::Fresh(hit) = cache.lookup(key, selecting, &ANY, 1000) else {
        panic!("a response that was just stored is fresh")
    };
    let (mut head, mut scratch) = (Head::default(), Vec::new());
    hit.write_head(&mut head, &mut scratch);
    let kept = response.fields().filter(|field| response::is_kept(response, field));
    let age = storable.lifetime.age.to_string();
    let mut expected: Vec<_> = kept.map(|field| (field.name, field.value)).collect();
    expected.push((b"age", age.as_bytes()));
    let found: Vec<_> = head.fields().map(|field| (field.name, field.value)).collect();
    assert_eq!(found, expected);
    assert_eq!(hit.pieces().collect::<Vec<_>>().concat(), body);
    let mut updated = head.clone();
    validation::freshen(&mut updated, response);
}

/// A response that is being stored, with what was written so far.
struct Open {
    number: u8,
    storing: Storing,
    body: Vec<u8>,
    /// Whether its key was invalidated meanwhile.
    outdated: bool,
}

/// The store and what is expected of it.
struct Trial {
    cache: Arc<Cache>,
    now: u64,
    /// By key: the content that was published last and the time at which it expires.
    published: HashMap<u8, (Vec<u8>, u64)>,
    open: Vec<Open>,
    served: Vec<(Hit, Vec<u8>)>,
}

/// Keys that trials use.
const KEYS: u8 = 16;
/// Seconds for which responses of trials are fresh.
const FRESH: u64 = 20;

impl Trial {
    fn key(&self, number: u8) -> CacheKey {
        let mut head = Head::default();
        let path = format!("/{}", "x".repeat(usize::from(number) * 100));
        head.set_request(b"GET", path.as_bytes(), Version::Http11);
        head.push(b"host", b"h");
        let mut key = CacheKey::default();
        assert!(key.set(&head, b"http", self.cache.sip_key()));
        key
    }

    fn selecting(&self) -> Selecting {
        Selecting::of(&Head::default(), self.cache.sip_key())
    }

    fn begin(&mut self, number: u8) {
        let mut head = Head::default();
        head.set_response(Version::Http11, 200, b"OK");
        head.push(b"cache-control", format!("max-age={FRESH}").as_bytes());
        let storable = response::judge(&head, &self.selecting(), &RULES, NOW);
        let storable = storable.expect("it has a lifetime");
        let busy = self.open.iter().any(|open| open.number == number);
        match Storing::begin(&self.cache, &self.key(number), &head, &storable, self.now) {
            Ok(storing) => {
                assert!(!busy, "one response per key is stored at a time");
                self.open.push(Open { number, storing, body: Vec::new(), outdated: false });
            }
            Err(fault) => assert!(busy || fault == cache::StoreFault::Full),
        }
    }

    fn write(&mut self, which: u8, len: usize) {
        let count = self.open.len().max(1);
        let Some(open) = self.open.get_mut(usize::from(which) % count) else { return };
        let fill = self.now as u8 ^ open.number;
        match open.storing.payload(&vec![fill; len]) {
            Ok(()) => open.body.resize(open.body.len() + len, fill),
            Err(_) => drop(self.open.swap_remove(usize::from(which) % count)),
        }
    }

    fn finish(&mut self, which: u8) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.swap_remove(usize::from(which) % self.open.len());
        let begun = open.storing.received_at();
        if open.storing.finish(None, self.now).is_ok() {
            assert!(!open.outdated, "an outdated response is not published");
            self.published.insert(open.number, (open.body, begun + FRESH * 1000));
        }
    }

    fn look(&mut self, number: u8) {
        let found = self.cache.lookup(&self.key(number), &self.selecting(), &ANY, self.now);
        if let Lookup::Fresh(hit) = found {
            let expected = self.published.get(&number).expect("only published objects are found");
            assert!(self.now < expected.1, "an expired object is not fresh");
            self.served.push((hit, expected.0.clone()));
        }
    }

    fn invalidate(&mut self, number: Option<u8>) {
        match number {
            Some(number) => self.cache.invalidate(&self.key(number)),
            None => drop(self.cache.clear(b"")),
        }
        let is_meant = |other: u8| number.is_none_or(|number| number == other);
        self.published.retain(|other, _| !is_meant(*other));
        self.open.iter_mut().for_each(|open| open.outdated |= is_meant(open.number));
    }

    fn check(&self) {
        for (hit, expected) in &self.served {
            assert_eq!(hit.left(), expected.len());
            let mut rest = &expected[..];
            for piece in hit.pieces() {
                let (now, later) = rest.split_at(piece.len());
                assert!(piece == now, "an object that is being served was overwritten");
                rest = later;
            }
        }
        assert!(self.cache.free_blocks() <= self.cache.blocks());
        assert!(self.cache.memory() <= self.cache.settings().total_max_size);
    }
}

/// Any sequence of operations, two bytes each: objects are found only when they are whole, with
/// their own content, as long as they are fresh and not invalidated; and no block is lost.
pub fn storage(data: &[u8]) {
    let mut trial = Trial {
        cache: store_of(100_000),
        now: 0,
        published: HashMap::new(),
        open: Vec::new(),
        served: Vec::new(),
    };
    for pair in data.chunks_exact(2).take(400) {
        let [what, which] = *pair else { continue };
        match what % 8 {
            0 => trial.begin(which % KEYS),
            1 => trial.write(which, usize::from(what) * 40),
            2 => trial.finish(which),
            3 | 7 => trial.look(which % KEYS),
            4 if which < 8 => trial.invalidate(None),
            4 => trial.invalidate(Some(which % KEYS)),
            5 => trial.now += u64::from(which) * 20,
            6 if which % 2 == 0 && !trial.open.is_empty() => {
                drop(trial.open.swap_remove(usize::from(which) % trial.open.len()));
            }
            6 if !trial.served.is_empty() => {
                drop(trial.served.swap_remove(usize::from(which) % trial.served.len()));
            }
            _ => {}
        }
        trial.check();
    }
    trial.open.clear();
    trial.served.clear();
    trial.cache.clear(b"");
    assert_eq!(trial.cache.free_blocks(), trial.cache.blocks(), "no block is lost");
}
