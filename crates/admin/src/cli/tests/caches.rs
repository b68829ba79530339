//! `show cache` and `clear cache`.

use super::*;
use cache::response::{self, StoreRules};
use cache::{Cache, CacheKey, CacheSettings, Selecting, Storing};
use htx::{Head, Version};

fn settings(name: &str) -> CacheSettings {
    let rules = StoreRules {
        max_age: 60,
        max_object_size: 100_000,
        process_vary: false,
        stale_while_revalidate: 0,
        stale_if_error: 0,
        keep_for_validation: 0,
    };
    CacheSettings {
        name: name.into(),
        total_max_size: 16 << 20,
        max_secondary_entries: 2,
        ranges: false,
        coalesce: None,
        rules,
    }
}

fn bench() -> Bench {
    let mut process = testing::process();
    process.caches = ["c", "d"].map(settings).to_vec();
    let shared = proxy::build(process, testing::proxies(), Default::default(), 0);
    let worker = testing::worker(&shared);
    Bench { worker, settings: testing::settings(), shared, listener: Cell::new(-1) }
}

fn store(bench: &Bench, path: &str, size: usize) {
    let (cache, now) = (&bench.shared.caches[0], bench.worker.millis());
    let (mut request, mut head) = (Head::default(), Head::default());
    request.set_request(b"GET", path.as_bytes(), Version::Http11);
    request.push(b"host", b"h");
    head.set_response(Version::Http11, 200, b"OK");
    head.push(b"cache-control", b"max-age=30");
    let mut key = CacheKey::default();
    assert!(key.set(&request, b"http", cache.sip_key()));
    let selecting = Selecting::of(&request, cache.sip_key());
    let storable = response::judge(&head, &selecting, &cache.settings().rules, 0).unwrap();
    let mut storing = Storing::begin(cache, &key, &head, &storable, now).unwrap();
    storing.payload(&vec![b'x'; size]).unwrap();
    storing.finish(None, now).unwrap();
}

fn used(cache: &Cache) -> u32 {
    cache.blocks() - cache.free_blocks()
}

#[test]
fn caches_are_listed_with_their_objects() {
    let bench = bench();
    store(&bench, "/a", 10);
    store(&bench, "/b", 3_000);
    let said = bench.run_as(Level::Admin, "show cache");
    let lines: Vec<_> = said.lines().collect();
    let title = |cache: &Arc<Cache>, name: &str| {
        let (at, free) = (Arc::as_ptr(cache), cache.free_blocks());
        format!("{at:p}: {name} (shctx:{at:p}, available blocks:{free})")
    };
    let caches = &bench.shared.caches;
    assert_eq!((lines[0], lines[3]), (&*title(&caches[0], "c"), &*title(&caches[1], "d")));
    assert_eq!(used(&caches[0]), 5);
    for line in &lines[1..3] {
        assert!(line.starts_with("0x") && line.contains(" hash:"), "{line}");
        assert!(line.contains(" vary:0x0000000000000000 size:"), "{line}");
        assert!(line.ends_with(", refcount:0, expire:30"), "{line}");
    }
    assert_eq!(lines.iter().filter(|line| line.contains(" (1 blocks)")).count(), 1, "{said}");
    assert_eq!(lines.iter().filter(|line| line.contains(" (4 blocks)")).count(), 1, "{said}");
}

#[test]
fn all_objects_of_a_large_cache_are_listed_in_the_order_of_their_hashes() {
    let bench = bench();
    (0..2_000).for_each(|n| store(&bench, &format!("/{n}"), 1));
    let said = bench.run("show cache");
    let hash = |line: &str| line.split(" hash:").nth(1)?.split(' ').next()?.parse::<u32>().ok();
    let hashes: Vec<_> = said.lines().filter_map(hash).collect();
    assert_eq!(hashes.len(), 2_000);
    assert!(hashes.is_sorted());
}

#[test]
fn objects_are_removed_by_url_by_prefix_and_all() {
    let bench = bench();
    let stored = || bench.shared.caches[0].len();
    for path in ["/a/1", "/a/2", "/b/1", "/b/2", "/b?q"] {
        store(&bench, path, 10);
    }
    assert_eq!(bench.run("clear cache c key http://H:80/a/1"), "\n");
    assert_eq!(stored(), 4);
    assert_eq!(bench.run("clear cache c key http://h/none"), "\n");
    assert_eq!(bench.run("clear cache d"), "\n");
    assert_eq!(stored(), 4);
    assert_eq!(bench.run("clear cache c prefix HTTP://H/b/"), "\n");
    assert_eq!(stored(), 2);
    assert_eq!(bench.run("clear cache c prefix http://h.other/"), "\n");
    assert_eq!(stored(), 2);
    assert_eq!(bench.run("clear cache c"), "\n");
    assert_eq!((stored(), used(&bench.shared.caches[0])), (0, 0));
}

#[test]
fn mistakes_in_commands_about_caches_are_reported() {
    let bench = bench();
    store(&bench, "/a", 10);
    let usage = "Required arguments: <cache> [key <url>|prefix <prefix>]\n\n";
    for (line, answer) in [
        ("clear cache", usage),
        ("clear cache c all", usage),
        ("clear cache x", "No such cache\n\n"),
        ("clear cache c key", "An absolute URL is expected\n\n"),
        ("clear cache c key /a", "An absolute URL is expected\n\n"),
        ("clear cache c prefix", "A prefix is expected\n\n"),
    ] {
        assert_eq!(bench.run(line), answer, "{line}");
    }
    assert_eq!(bench.run_as(Level::User, "clear cache c"), "Permission denied\n\n");
    assert_eq!(bench.shared.caches[0].len(), 1);
}
