//! Commands about caches.

use super::call::{Call, Reply};
use cache::{Cache, CacheKey, ClearWalk, ListedObject};
use std::fmt::Write;
use std::sync::Arc;

/// Objects that one piece of a listing shows.
const STEP: usize = 256;

/// `show cache`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let caches = call.shared().caches.clone();
    let (mut place, mut objects) = (ShardPlace::default(), Vec::new().into_iter());
    Reply::Pieces(Box::new(move |worker, out| {
        if objects.len() == 0 {
            let Some(cache) = caches.get(place.cache) else { return false };
            if place.shard == 0 {
                title(cache, out);
            }
            objects = cache.list(place.shard, worker.millis()).into_iter();
            place = place.behind(cache);
        }
        objects.by_ref().take(STEP).for_each(|object| line(&object, out));
        true
    }))
}

/// A shard of a cache.
#[derive(Clone, Copy, Default)]
struct ShardPlace {
    cache: usize,
    shard: usize,
}

impl ShardPlace {
    fn behind(self, cache: &Cache) -> Self {
        match self.shard + 1 < cache.shards() {
            true => Self { shard: self.shard + 1, ..self },
            false => Self { cache: self.cache + 1, shard: 0 },
        }
    }
}

fn title(cache: &Arc<Cache>, out: &mut String) {
    let address = Arc::as_ptr(cache);
    let (name, free) = (&cache.settings().name, cache.free_blocks());
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{address:p}: {name} (shctx:{address:p}, available blocks:{free})");
}

fn line(object: &ListedObject, out: &mut String) {
    let ListedObject { address, hash, vary, size, blocks, references, expires_in } = object;
    let _ = writeln!(
        out,
        "{address:#x} hash:{hash} vary:0x{vary:016x} size:{size} ({blocks} blocks), \
         refcount:{references}, expire:{expires_in}"
    );
}

/// `clear cache <cache> [key <url>|prefix <prefix>]`
pub(super) fn clear(call: &mut Call<'_>) -> Reply {
    const USAGE: &str = "Required arguments: <cache> [key <url>|prefix <prefix>]";
    if call.word(2).is_empty() {
        return Reply::error(USAGE);
    }
    let Some(cache) = call.shared().cache(call.word(2)).cloned() else {
        return Reply::error("No such cache");
    };
    let mut key = CacheKey::default();
    let is_url = key.set_url(call.word(4).as_bytes(), cache.sip_key());
    match (call.word(3), call.word(4)) {
        ("", _) => removal(cache, Vec::new()),
        ("key", _) if is_url => {
            cache.invalidate(&key);
            Reply::Done
        }
        ("key", _) => Reply::error("An absolute URL is expected"),
        ("prefix", "") => Reply::error("A prefix is expected"),
        ("prefix", prefix) => {
            let prefix = if is_url && has_path(prefix) { key.text() } else { prefix.as_bytes() };
            removal(cache, prefix.to_vec())
        }
        _ => Reply::error(USAGE),
    }
}

/// Whether a URL continues behind its host; only then the host is complete.
fn has_path(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}

/// Removes the objects whose URLs start so, in pieces.
fn removal(cache: Arc<Cache>, prefix: Vec<u8>) -> Reply {
    let mut walk = ClearWalk::default();
    Reply::Pieces(Box::new(move |_, _| cache.clear_some(&mut walk, &prefix).is_some()))
}
