//! Tests of the store: bounds, eviction, pins, secondary keys, concurrency.

use crate::request::{self, FreshnessDemand};
use crate::response::{self, StoreRefusal, StoreRules};
use crate::store::BLOCK;
use crate::*;
use htx::{Fields, Head, Version};
use std::sync::Arc;
use stdx::Prng;

const RULES: StoreRules = StoreRules {
    max_age: 60,
    max_object_size: 100_000,
    process_vary: true,
    stale_while_revalidate: 10,
    stale_if_error: 20,
    keep_for_validation: 0,
};

const ANY: FreshnessDemand = FreshnessDemand { max_age: None, min_fresh: 0 };

fn settings(total_max_size: u64) -> CacheSettings {
    CacheSettings {
        name: "c".into(),
        total_max_size,
        max_secondary_entries: 2,
        ranges: false,
        coalesce: None,
        rules: RULES,
    }
}

fn cache(total_max_size: u64) -> Arc<Cache> {
    Cache::new(settings(total_max_size), 1, [1, 2]).expect("memory")
}

fn request(path: &str, lines: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_request(b"GET", path.as_bytes(), Version::Http11);
    head.push(b"host", b"h");
    lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
    head
}

fn response(lines: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, 200, b"OK");
    lines.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
    head
}

fn key(cache: &Cache, path: &str) -> CacheKey {
    let mut key = CacheKey::default();
    assert!(key.set(&request(path, &[]), b"http", cache.sip_key()));
    key
}

fn selecting(cache: &Cache, lines: &[(&str, &str)]) -> Selecting {
    Selecting::of(&request("/", lines), cache.sip_key())
}

fn begin(cache: &Arc<Cache>, path: &str, head: &Head, now: u64) -> Result<Storing, StoreFault> {
    begin_for(cache, path, head, &[], now)
}

fn begin_for(
    cache: &Arc<Cache>,
    path: &str,
    head: &Head,
    lines: &[(&str, &str)],
    now: u64,
) -> Result<Storing, StoreFault> {
    let storable = response::judge(head, &selecting(cache, lines), &cache.settings().rules, 0);
    Storing::begin(cache, &key(cache, path), head, &storable.expect("it is storable"), now)
}

/// Stores a response that is fresh for 60 seconds.
fn store(cache: &Arc<Cache>, path: &str, body: &[u8], now: u64) -> Result<(), StoreFault> {
    let mut storing = begin(cache, path, &response(&[("cache-control", "max-age=60")]), now)?;
    storing.payload(body)?;
    storing.finish(None, now)
}

fn find(cache: &Cache, path: &str, now: u64) -> Lookup {
    cache.lookup(&key(cache, path), &selecting(cache, &[]), &ANY, now)
}

fn hit(cache: &Cache, path: &str, now: u64) -> Option<Hit> {
    match find(cache, path, now) {
        Lookup::Fresh(hit) => Some(hit),
        _ => None,
    }
}

fn body(hit: &Hit) -> Vec<u8> {
    hit.pieces().collect::<Vec<_>>().concat()
}

fn lines(head: &Fields) -> Vec<String> {
    let text = |f: htx::FieldRef<'_>| {
        format!("{}: {}", String::from_utf8_lossy(f.name), String::from_utf8_lossy(f.value))
    };
    head.iter().map(text).collect()
}

#[test]
fn a_hit_has_head_content_trailers_and_age_of_the_stored_response() {
    let cache = cache(1 << 20);
    let head = response(&[
        ("cache-control", "max-age=60"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("age", "7"),
        ("transfer-encoding", "chunked"),
        ("etag", "\"e\""),
        ("last-modified", "Thu, 01 Jan 1970 00:00:09 GMT"),
    ]);
    let mut storing = begin(&cache, "/a", &head, 1000).expect("room");
    storing.payload(b"hello ").expect("room");
    storing.payload(&[b'x'; 3000]).expect("room");
    let mut trailers = Fields::default();
    trailers.push(b"x-trailer", b"t");
    storing.finish(Some(&trailers), 1500).expect("it is whole");

    let hit = hit(&cache, "/a", 3500).expect("it is fresh");
    let (mut found, mut scratch) = (Head::default(), Vec::new());
    hit.write_head(&mut found, &mut scratch);
    assert_eq!((found.status(), found.reason()), (200, &b"OK"[..]));
    let expected = [
        "cache-control: max-age=60",
        "etag: \"e\"",
        "last-modified: Thu, 01 Jan 1970 00:00:09 GMT",
        "age: 9",
    ];
    assert_eq!(lines(found.as_fields()), expected);
    assert_eq!(body(&hit), [b"hello ", &[b'x'; 3000][..]].concat());
    assert!(hit.is_chunked() && hit.has_trailers());
    assert_eq!((hit.content_len(), hit.age()), (3006, 9));
    let mut found = Fields::default();
    hit.write_trailers(&mut found, &mut scratch);
    assert_eq!(lines(&found), ["x-trailer: t"]);
    let validators = hit.validators(&mut scratch);
    assert_eq!((validators.etag, validators.modified), (Some(&b"\"e\""[..]), 9));
}

#[test]
fn heads_and_keys_that_cross_blocks_are_whole() {
    let cache = cache(1 << 20);
    let (long, path) = ("v".repeat(2500), format!("/{}", "p".repeat(3000)));
    let head = response(&[("cache-control", "max-age=60"), ("x-long", &long), ("etag", "\"e\"")]);
    begin(&cache, &path, &head, 0).expect("room").finish(None, 0).expect("it is whole");
    let hit = hit(&cache, &path, 0).expect("it is fresh");
    let (mut found, mut scratch) = (Head::default(), Vec::new());
    hit.write_head(&mut found, &mut scratch);
    assert_eq!(found.get(b"x-long"), Some(long.as_bytes()));
    assert_eq!(hit.validators(&mut scratch).etag, Some(&b"\"e\""[..]));
    let other = format!("/{}q", "p".repeat(2999));
    assert!(matches!(find(&cache, &other, 0), Lookup::Miss), "keys are compared to their ends");
}

#[test]
fn an_object_is_invisible_until_it_is_whole() {
    let cache = cache(1 << 20);
    let head = response(&[("cache-control", "max-age=60"), ("content-length", "5")]);
    let free = cache.free_blocks();
    let mut storing = begin(&cache, "/a", &head, 0).expect("room");
    storing.payload(b"hel").expect("room");
    assert!(hit(&cache, "/a", 0).is_none());
    assert!(matches!(begin(&cache, "/a", &head, 0), Err(StoreFault::Busy)));
    drop(storing);
    assert!(hit(&cache, "/a", 0).is_none());
    assert_eq!((cache.free_blocks(), cache.len()), (free, 0), "nothing is left of it");

    let mut short = begin(&cache, "/a", &head, 0).expect("the key is free again");
    short.payload(b"hel").expect("room");
    assert_eq!(short.finish(None, 0), Err(StoreFault::WrongLength));
    let mut long = begin(&cache, "/a", &head, 0).expect("the key is free again");
    assert_eq!(long.payload(b"hello!"), Err(StoreFault::WrongLength));
    assert_eq!(long.payload(b""), Err(StoreFault::WrongLength), "a fault is for good");
    assert_eq!(long.finish(None, 0), Err(StoreFault::WrongLength));
    assert_eq!((cache.free_blocks(), cache.len()), (free, 0));
}

#[test]
fn an_object_that_outgrows_its_limit_is_given_up_and_frees_its_blocks() {
    let cache = cache(1 << 20);
    let head = response(&[("cache-control", "max-age=60")]);
    let free = cache.free_blocks();
    let mut storing = begin(&cache, "/a", &head, 0).expect("room");
    let limit = RULES.max_object_size as usize;
    storing.payload(&vec![0; limit - 100]).expect("room");
    assert_eq!(storing.payload(&[0; 100]), Err(StoreFault::TooLarge), "the head counts too");
    assert_eq!(cache.free_blocks(), free);
    assert_eq!(storing.finish(None, 0), Err(StoreFault::TooLarge));
    let huge = response(&[("cache-control", "max-age=60"), ("x", &"x".repeat(limit))]);
    assert_eq!(begin(&cache, "/b", &huge, 0).err(), Some(StoreFault::TooLarge));
    let mut trailers = Fields::default();
    trailers.push(b"x", &vec![b'x'; limit]);
    let storing = begin(&cache, "/c", &head, 0).expect("room");
    assert_eq!(storing.finish(Some(&trailers), 0), Err(StoreFault::TooLarge));
    assert_eq!((cache.free_blocks(), cache.len()), (free, 0));
}

#[test]
fn keys_with_equal_hashes_are_told_apart() {
    let cache = cache(1 << 20);
    let head = response(&[("cache-control", "max-age=60")]);
    let storable = response::judge(&head, &selecting(&cache, &[]), &RULES, 0).expect("storable");
    let texts: [&[u8]; 4] = [b"http://h/a", b"http://h/ab", b"http://h/b", b"http://h/"];
    for text in &texts[..3] {
        let key = CacheKey::of(text, 7);
        let mut storing = Storing::begin(&cache, &key, &head, &storable, 0).expect("room");
        storing.payload(text).expect("room");
        storing.finish(None, 0).expect("it is whole");
    }
    let found = |text: &[u8]| match cache.lookup(
        &CacheKey::of(text, 7),
        &selecting(&cache, &[]),
        &ANY,
        0,
    ) {
        Lookup::Fresh(hit) => Some(body(&hit)),
        _ => None,
    };
    for text in &texts[..3] {
        assert_eq!(found(text).as_deref(), Some(*text));
    }
    assert_eq!(found(texts[3]), None);
    cache.invalidate(&CacheKey::of(texts[0], 7));
    assert_eq!((found(texts[0]), cache.len()), (None, 2), "the others stay");
}

#[test]
fn objects_expire() {
    let cache = cache(1 << 20);
    store(&cache, "/a", b"x", 0).expect("room");
    assert!(hit(&cache, "/a", 59_999).is_some());
    assert!(matches!(find(&cache, "/a", 60_000), Lookup::Miss));
    assert_eq!(cache.len(), 0, "an expired object gives way when it is found");
}

/// RFC 9111 sections 4.2.4 and 5.2.1; RFC 5861.
#[test]
fn a_request_gets_what_is_as_fresh_as_it_demands() {
    let cache = cache(1 << 20);
    let head =
        response(&[("cache-control", "max-age=30, stale-while-revalidate=5, stale-if-error=99")]);
    begin(&cache, "/a", &head, 0).expect("room").finish(None, 0).expect("it is whole");
    let look = |max_age, min_fresh, now| {
        let demand = FreshnessDemand { max_age, min_fresh };
        cache.lookup(&key(&cache, "/a"), &selecting(&cache, &[]), &demand, now)
    };
    for (max_age, min_fresh, now, fresh) in [
        (None, 0, 29_999, true),
        (None, 0, 30_000, false),
        (Some(10), 0, 10_999, true),
        (Some(10), 0, 11_000, false),
        (None, 10, 19_999, true),
        (None, 10, 20_000, false),
        (None, u32::MAX, 0, false),
    ] {
        let found = matches!(look(max_age, min_fresh, now), Lookup::Fresh(_));
        assert_eq!(found, fresh, "{max_age:?} {min_fresh} {now}");
    }
    let stale = |now| match look(None, 0, now) {
        Lookup::Stale(hit) => Some((hit.may_serve_while_revalidating(), hit.may_serve_on_error())),
        _ => None,
    };
    assert_eq!(stale(30_000), Some((true, true)));
    assert_eq!(stale(35_000), Some((false, true)));
    assert_eq!(stale(49_999), Some((false, true)), "the section bounds it");
    assert_eq!(stale(50_000), None);
}

#[test]
fn a_response_older_than_a_request_demands_is_served_on_error_if_that_is_allowed() {
    let cache = cache(1 << 20);
    for (path, control, allowed) in
        [("/a", "max-age=60", false), ("/b", "max-age=60, stale-if-error=5", true)]
    {
        let head = response(&[("cache-control", control)]);
        begin(&cache, path, &head, 0).expect("room").finish(None, 0).expect("it is whole");
        let demand = FreshnessDemand { max_age: Some(1), min_fresh: 0 };
        let found = cache.lookup(&key(&cache, path), &selecting(&cache, &[]), &demand, 5000);
        let Lookup::Stale(hit) = found else { panic!("it is older than that") };
        assert_eq!(
            (hit.may_serve_while_revalidating(), hit.may_serve_on_error()),
            (false, allowed)
        );
    }
}

#[test]
fn a_new_response_takes_the_place_of_the_old_one() {
    let cache = cache(1 << 20);
    store(&cache, "/a", b"old", 0).expect("room");
    let old = hit(&cache, "/a", 0).expect("it is fresh");
    store(&cache, "/a", b"new", 0).expect("room");
    assert_eq!(body(&hit(&cache, "/a", 0).expect("it is fresh")), b"new");
    assert_eq!(body(&old), b"old", "a response that is being served stays as it was");
    assert_eq!(cache.len(), 1);
}

/// RFC 9111 section 4.4.
#[test]
fn invalidation_removes_one_key_and_what_is_being_stored_for_it() {
    let cache = cache(1 << 20);
    store(&cache, "/a", b"a", 0).expect("room");
    store(&cache, "/ab", b"b", 0).expect("room");
    let head = response(&[("cache-control", "max-age=60")]);
    let storing = begin(&cache, "/a", &head, 0).expect("room");
    let other = begin(&cache, "/c", &head, 0).expect("room");
    cache.invalidate(&key(&cache, "/a"));
    assert!(hit(&cache, "/a", 0).is_none() && hit(&cache, "/ab", 0).is_some());
    assert_eq!(storing.finish(None, 0), Err(StoreFault::Outdated));
    assert!(hit(&cache, "/a", 0).is_none());
    other.finish(None, 0).expect("another key");
    cache.invalidate(&key(&cache, "/never"));
    assert_eq!(cache.len(), 2);
}

#[test]
fn clearing_removes_all_or_those_with_a_prefix() {
    let cache = cache(4 << 20);
    for number in 0..600 {
        store(&cache, &format!("/a{number}"), b"x", 0).expect("room");
    }
    store(&cache, "/b", b"x", 0).expect("room");
    assert_eq!(cache.clear(b"http://h/a1"), 111);
    assert_eq!(cache.clear(b"http://other/"), 0);
    let head = response(&[("cache-control", "max-age=60")]);
    let storing = begin(&cache, "/c", &head, 0).expect("room");
    assert_eq!(cache.clear(b""), 490);
    assert_eq!(storing.finish(None, 0), Err(StoreFault::Outdated));
    assert_eq!((cache.len(), cache.free_blocks()), (0, cache.blocks()));
}

/// RFC 9111 section 4.1.
#[test]
fn entries_with_secondary_keys_stand_side_by_side_up_to_a_number() {
    let cache = cache(1 << 20);
    let store_as = |encoding: &str, now| {
        let head = response(&[
            ("cache-control", "max-age=60"),
            ("vary", "accept-encoding"),
            ("content-encoding", encoding),
        ]);
        let mut storing = begin_for(&cache, "/a", &head, &[("accept-encoding", encoding)], now)?;
        storing.payload(encoding.as_bytes())?;
        storing.finish(None, now)
    };
    let found = |accept: &str, now| {
        let request = selecting(&cache, &[("accept-encoding", accept)]);
        match cache.lookup(&key(&cache, "/a"), &request, &ANY, now) {
            Lookup::Fresh(hit) => Some(String::from_utf8_lossy(&body(&hit)).into_owned()),
            _ => None,
        }
    };
    store_as("gzip", 0).expect("room");
    assert_eq!(found("br", 0), None);
    store_as("br", 10_000).expect("room");
    assert_eq!(found("gzip", 10_000).as_deref(), Some("gzip"));
    assert_eq!(found("br", 10_000).as_deref(), Some("br"));
    assert_eq!(found("br, gzip", 10_000).as_deref(), Some("br"), "the newest that fits");
    assert_eq!(store_as("deflate", 10_000), Err(StoreFault::Crowded));
    store_as("gzip", 20_000).expect("it takes the place of its like");
    store_as("zstd", 70_000).expect("the other one has expired");
    assert_eq!(cache.len(), 2);
    store(&cache, "/a", b"for all", 70_000).expect("room");
    assert_eq!(found("gzip", 70_000).as_deref(), Some("for all"));
    assert_eq!(cache.len(), 1, "without a secondary key it takes the place of all");
}

#[test]
fn memory_never_exceeds_its_bound() {
    for total in [1 << 20, 4 << 20, 64 << 20] {
        let cache = Cache::new(settings(total), 8, [1, 2]).expect("memory");
        assert!(cache.memory() <= total && cache.memory() > total * 99 / 100, "{total}");
    }
    assert!(Cache::new(settings(1000), 1, [1, 2]).is_none(), "no block fits");
}

#[test]
fn least_recently_used_objects_give_way() {
    let cache = cache(1 << 20);
    let room = cache.blocks() as usize;
    for number in 0..room {
        store(&cache, &format!("/{number}"), b"x", 100 * number as u64 / room as u64)
            .expect("room");
    }
    assert_eq!((cache.len(), cache.free_blocks()), (room, 0));
    assert!(hit(&cache, "/0", 1000).is_some(), "it becomes the last one to go");
    store(&cache, "/new", &[0; 3000], 1000).expect("objects give way");
    assert!(hit(&cache, "/0", 1000).is_some() && hit(&cache, "/1", 1000).is_none());
    assert!(hit(&cache, "/new", 1000).is_some());
    assert_eq!(cache.counters().evicted as usize, room - (cache.len() - 1));
}

#[test]
fn a_cache_full_of_objects_that_are_being_served_stores_nothing() {
    let cache = cache(1 << 20);
    let mut pinned = Vec::new();
    for number in 0.. {
        if store(&cache, &format!("/{number}"), &[7; 50_000], 0).is_err() {
            break;
        }
        pinned.push(hit(&cache, &format!("/{number}"), 0).expect("it is fresh"));
    }
    let held = pinned.len();
    assert!(held > 15, "{held}");
    assert_eq!(store(&cache, "/new", &[8; 50_000], 0), Err(StoreFault::Full));
    assert!(pinned.iter().all(|hit| body(hit) == [7; 50_000]), "none is overwritten");
    assert_eq!(cache.len(), held);
    pinned.pop();
    store(&cache, "/new", &[8; 50_000], 0).expect("one may go");
    drop(pinned);
    cache.clear(b"");
    assert_eq!(cache.free_blocks(), cache.blocks());
}

#[test]
fn objects_that_are_being_served_are_passed_over_for_others() {
    let cache = cache(1 << 20);
    let mut pinned = Vec::new();
    for number in 0..100 {
        store(&cache, &format!("/{number}"), b"x", 0).expect("room");
        pinned.push(hit(&cache, &format!("/{number}"), 0).expect("it is fresh"));
    }
    while cache.free_blocks() > 0 {
        store(&cache, &format!("/{}", cache.len()), b"x", 0).expect("room");
    }
    store(&cache, "/new", &[0; 3000], 0).expect("those that are not served give way");
    assert!((0..100).all(|number| hit(&cache, &format!("/{number}"), 0).is_some()));
}

#[test]
fn an_evicted_object_stays_with_those_it_is_served_to() {
    let cache = cache(1 << 20);
    store(&cache, "/a", &[7; 5000], 0).expect("room");
    let mut served = hit(&cache, "/a", 0).expect("it is fresh");
    served.consume(1000);
    cache.clear(b"");
    let used = cache.blocks() - cache.free_blocks();
    assert_eq!((used, served.left()), (6, 4000), "its blocks are kept");
    assert_eq!(body(&served), [7; 4000]);
    drop(served);
    assert_eq!(cache.free_blocks(), cache.blocks());
}

#[test]
fn a_part_is_lent_in_pieces_of_blocks() {
    let cache = cache(1 << 20);
    let content: Vec<u8> = (0..5000u32).map(|n| n as u8).collect();
    store(&cache, "/a", &content, 0).expect("room");
    let mut hit = hit(&cache, "/a", 0).expect("it is fresh");
    hit.select(100..4100);
    let mut sent = Vec::new();
    while hit.left() > 0 {
        let mut slices = [std::io::IoSlice::new(b""); 2];
        let count = hit.lend(&mut slices);
        slices[..count].iter().for_each(|slice| sent.extend_from_slice(slice));
        let len = slices[..count].iter().map(|slice| slice.len()).sum();
        hit.consume(len);
    }
    assert_eq!(sent, content[100..4100]);
    hit.select(4999..u64::MAX);
    assert_eq!(body(&hit), content[4999..]);
    hit.select(5000..5001);
    assert_eq!(hit.left(), 0);
}

/// RFC 9111 section 4.3.4.
#[test]
fn a_validated_response_is_fresh_again_with_its_content() {
    let rules = StoreRules { keep_for_validation: 100, ..RULES };
    let settings = CacheSettings { rules, ..settings(1 << 20) };
    let cache = Cache::new(settings, 1, [1, 2]).expect("memory");
    let head = response(&[("cache-control", "max-age=5"), ("etag", "\"e\"")]);
    let mut storing = begin(&cache, "/a", &head, 0).expect("room");
    storing.payload(&[7; 3000]).expect("room");
    storing.finish(None, 0).expect("it is whole");
    let Lookup::Stale(stale) = find(&cache, "/a", 6000) else { panic!("it is stale") };
    let (mut updated, mut scratch) = (Head::default(), Vec::new());
    stale.write_head(&mut updated, &mut scratch);
    let mut answer = Head::default();
    answer.set_response(Version::Http11, 304, b"Not Modified");
    answer.push(b"cache-control", b"max-age=9");
    validation::freshen(&mut updated, &answer);
    let mut storing = begin(&cache, "/a", &updated, 6000).expect("room");
    storing.frame_as(&stale);
    stale.all_pieces().for_each(|piece| storing.payload(piece).expect("room"));
    storing.finish(None, 6000).expect("it is whole");
    let hit = hit(&cache, "/a", 14_999).expect("it is fresh again");
    assert_eq!((body(&hit), hit.age()), (vec![7; 3000], 8));
}

#[test]
fn listings_show_what_can_be_used() {
    let cache = cache(1 << 20);
    store(&cache, "/a", &[0; 2000], 0).expect("room");
    let served = hit(&cache, "/a", 0).expect("it is fresh");
    store(&cache, "/b", b"", 30_000).expect("room");
    let list = |now| (0..cache.shards()).flat_map(|shard| cache.list(shard, now)).collect();
    let listed: Vec<ListedObject> = list(30_001);
    assert!(listed.windows(2).all(|pair| pair[0].hash <= pair[1].hash));
    let a = listed.iter().find(|object| object.size > 2000).expect("both are listed");
    assert_eq!((a.blocks, a.references, a.expires_in, a.vary), (3, 1, 30, 0));
    drop(served);
    let later: Vec<ListedObject> = list(60_000);
    assert_eq!(later.len(), 1, "the first one has expired");
    assert!(cache.list(cache.shards(), 0).is_empty());
    let counters = cache.counters();
    assert_eq!((counters.lookups, counters.hits, counters.stored), (1, 1, 2));
}

#[test]
fn verdicts_and_store_agree_on_a_whole_exchange() {
    let cache = cache(1 << 20);
    let get = request("/a", &[]);
    let verdict = request::judge(&get);
    assert!(verdict.store.is_ok());
    let refused = response(&[("cache-control", "private, max-age=5")]);
    let judged = response::judge(&refused, &selecting(&cache, &[]), &RULES, 0);
    assert_eq!(judged, Err(StoreRefusal::Private));
    let demand = verdict.lookup.expect("it may be answered");
    let found = cache.lookup(&key(&cache, "/a"), &selecting(&cache, &[]), &demand, 0);
    assert!(matches!(found, Lookup::Miss));
}

#[test]
fn the_hit_ratio_on_a_zipf_trace_is_that_of_exact_lru() {
    let cache = Cache::new(settings(4 << 20), 8, [1, 2]).expect("memory");
    assert!(cache.shards() > 1, "the order of use is kept by shard");
    let room = cache.blocks() as usize;
    let random = Prng::new(7);
    let (mut exact, mut exact_hits, mut hits) = (ExactLru::default(), 0, 0);
    let (rounds, keys) = (60_000u64, 16_000f64);
    for now in 0..rounds {
        let rank = keys.powf(random.below(1 << 30) as f64 / f64::from(1 << 30)) as u64;
        exact_hits += u32::from(exact.use_of(rank, room));
        let path = format!("/{rank}");
        let millis = now / 2;
        match hit(&cache, &path, millis) {
            Some(_) => hits += 1,
            None => store(&cache, &path, b"x", millis).expect("room"),
        }
    }
    let gap = (f64::from(exact_hits) - f64::from(hits)).abs() / rounds as f64;
    assert!(gap < 0.02, "{exact_hits} {hits} of {rounds}");
}

#[derive(Default)]
struct ExactLru {
    by_key: std::collections::HashMap<u64, u64>,
    by_age: std::collections::BTreeMap<u64, u64>,
    now: u64,
}

impl ExactLru {
    fn use_of(&mut self, key: u64, room: usize) -> bool {
        self.now += 1;
        let before = self.by_key.insert(key, self.now);
        if let Some(before) = before {
            self.by_age.remove(&before);
        }
        self.by_age.insert(self.now, key);
        if self.by_key.len() > room
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_key.remove(&oldest);
        }
        before.is_some()
    }
}

#[test]
fn threads_store_serve_and_clear_without_mixing_objects() {
    let cache = Cache::new(settings(1 << 20), 4, [1, 2]).expect("memory");
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    let run = |seed: u64| {
        let cache = cache.clone();
        move || {
            let random = Prng::new(seed);
            let mut held = Vec::new();
            for now in 0..rounds {
                let number = random.below(40) as u8;
                let path = format!("/{number}");
                match random.below(10) {
                    0 => drop(begin(&cache, &path, &response(&[("etag", "\"e\"")]), now)),
                    1 => cache.invalidate(&key(&cache, &path)),
                    2 if number == 0 => drop(cache.clear(b"http://h/1")),
                    3 => held.clear(),
                    _ => match hit(&cache, &path, now) {
                        Some(hit) => held.push((number, hit)),
                        None => drop(store(&cache, &path, &vec![number; 30_000], now)),
                    },
                }
                held.truncate(8);
                let same = |(number, hit): &(u8, Hit)| {
                    let expected = [*number; BLOCK];
                    hit.left() == 30_000 && hit.pieces().all(|p| p == &expected[..p.len()])
                };
                assert!(held.iter().all(same), "an object was overwritten");
            }
        }
    };
    let threads: Vec<_> = (0..4).map(|seed| std::thread::spawn(run(seed))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    cache.clear(b"");
    assert_eq!(cache.free_blocks(), cache.blocks(), "no block is lost");
}
