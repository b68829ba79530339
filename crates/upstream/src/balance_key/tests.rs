//! Hashes of requests, as measured with HAProxy 2.6.

use super::*;
use balance::{Algorithm, Balancer, HashMethod, PickRequest, ServerSettings};
use htx::Version;
use stdx::Prng;

mod keys;

fn request(method: &str, uri: &str, fields: &[(&str, &str)]) -> Head {
    let mut head = Head::default();
    head.set_request(method.as_bytes(), uri.as_bytes(), Version::Http11);
    fields.iter().for_each(|(name, value)| head.push(name.as_bytes(), value.as_bytes()));
    head
}

fn text(key: Option<&[u8]>) -> Option<String> {
    key.map(|key| String::from_utf8_lossy(key).into_owned())
}

#[test]
fn parts_of_the_uri() {
    let plain = UriKey::default();
    let len = UriKey { len: Some(8), ..plain };
    let depth = |depth| UriKey { depth: Some(depth), ..plain };
    let both = UriKey { len: Some(12), depth: Some(3), ..plain };
    let whole = UriKey { whole: true, ..plain };
    let path = UriKey { path_only: true, ..plain };
    let path_depth = UriKey { path_only: true, depth: Some(1), ..plain };
    for (key, uri, expected) in [
        (plain, "/a/b/c?q=1", "/a/b/c"),
        (plain, "http://h/a/b?x", "http://h/a/b"),
        (plain, "*", "*"),
        (len, "http://h/a/b?x", "http://h"),
        (len, "/?x", "/"),
        (depth(2), "/a/b/c?q=1", "/a/b"),
        (depth(2), "//a//b", "//a"),
        (depth(2), "/a/bb/ccc/ddd/eee?f/g", "/a/bb"),
        (depth(1), "http://h/a/b/c?d", "http:/"),
        (both, "//a//b", "//a/"),
        (both, "/a/bb/ccc/ddd/eee?f/g", "/a/bb/ccc"),
        (both, "/abcdefghijklmnop", "/abcdefghijk"),
        (whole, "/a/b/c?q=1", "/a/b/c?q=1"),
        (UriKey { depth: Some(2), ..whole }, "/a/b?c/d/e", "/a/b?c"),
        (UriKey { len: Some(8), ..whole }, "/a/b?c/d/e", "/a/b?c/d"),
        (path, "http://h/a/b?x", "/a/b"),
        (path, "http://h", ""),
        (path, "*", ""),
        (path, "/a/b", "/a/b"),
        (path_depth, "http://h/a/b/c?d", "/a"),
    ] {
        let head = request("GET", uri, &[]);
        assert_eq!(text(Some(cut(&key, &head))).unwrap(), expected, "{key:?} {uri}");
    }
}

#[test]
fn parameters_of_queries_and_bodies() {
    let key = |check_post| HashKey::UrlParam { name: b"k".to_vec(), check_post };
    let found = |check_post, method, uri, body: &str| {
        text(find(&key(check_post), &request(method, uri, &[]), body.as_bytes()))
    };
    for (uri, expected) in [
        ("/?k=v", Some("v")),
        ("/?a=1&k=v2&k=v3", Some("v2")),
        ("/?k=", Some("")),
        ("/?k=a%20b+c", Some("a%20b+c")),
        ("/?k=a/b?c&d", Some("a/b?c")),
        ("/?k", None),
        ("/?kk=1", None),
        ("/?K=v", None),
        ("/;k=v", None),
        ("/?x=1;k=v", None),
    ] {
        assert_eq!(found(false, "GET", uri, "").as_deref(), expected, "{uri}");
    }
    for (body, expected) in [
        ("k=v", Some("v")),
        ("a=1\n&k=v v", Some("v v")),
        ("k=v\r\n", Some("v\r\n")),
        ("?k=v", None),
        ("a=1\r\nk=v", None),
    ] {
        assert_eq!(found(true, "POST", "/p", body).as_deref(), expected, "{body}");
    }
    assert_eq!(found(true, "POST", "/?k=v2", "k=v").as_deref(), Some("v2"));
    assert_eq!(found(true, "PUT", "/", "k=v"), None);
    assert_eq!(found(false, "POST", "/", "k=v"), None);
}

#[test]
fn headers_and_their_main_label() {
    let key = |domain_only| HashKey::Header { name: b"k".to_vec(), domain_only };
    let find = |domain_only, values: &[&str]| {
        let fields: Vec<_> = values.iter().map(|value| ("k", *value)).collect();
        text(find(&key(domain_only), &request("GET", "/", &fields), b""))
    };
    for (values, expected) in [
        (&["a, b"][..], Some("a")),
        (&["a", "b"], Some("a")),
        (&[" x y "], Some("x y")),
        (&["\"q,r\",s"], Some("\"q,r\"")),
        (&[""], None),
        (&[",b"], None),
        (&["", "c"], None),
        (&[], None),
    ] {
        assert_eq!(find(false, values).as_deref(), expected, "{values:?}");
    }
    for (host, expected) in [
        ("www.example.com", "example"),
        ("example.com:8080", "example"),
        ("example", "example"),
        ("localhost:80", "localhost:80"),
        ("a.b.c.example.co.uk", "co"),
        ("a.example.com.", "com"),
        (".com", ".com"),
        ("www..com", "www."),
        ("aa..bb..cc", "bb."),
        ("...", "."),
        ("..", "."),
        ("h,i.j.k", "h"),
    ] {
        assert_eq!(find(true, &[host]).as_deref(), Some(expected), "{host}");
    }
}

/// The server of each request, from 1.
fn chosen(algorithm: &str, kind: &str) -> Vec<usize> {
    let words: Vec<_> = kind.split(' ').collect();
    let method = match words[0] {
        "consistent" => HashMethod::Consistent,
        _ => HashMethod::MapBased,
    };
    let function = match words.get(1) {
        Some(&"djb2") => balance::hash::djb2,
        Some(&"crc32") => balance::hash::crc32,
        Some(&"wt6") => balance::hash::wt6,
        _ => balance::hash::sdbm,
    };
    let avalanche = words.len() == 3 || kind == "consistent";
    let key = key_of(algorithm);
    let hashing = Hashing { key, function, avalanche };
    let has_key = |it: &keys::Request| algorithm != keys::RDP || it.cookie().is_some();
    let settings = (1..)
        .zip(keys::WEIGHTS)
        .map(|(id, weight)| ServerSettings { weight, ..ServerSettings::new(id, id.to_string()) });
    let by_hash = Algorithm::Hash { method, balance_factor: 0 };
    let balancer = Balancer::new(by_hash, false, settings.collect(), 0);
    let random = Prng::new(1);
    let choose = |it: keys::Request| {
        let hash = hash_of(&hashing, &it).filter(|_| has_key(&it));
        let key = hash.map(|hash| mix(&hashing, hash));
        let wish = PickRequest { key, avoid: None, random: &random, now_ns: 0 };
        balancer.pick(&wish).expect("all servers are up").server().slot() + 1
    };
    keys::requests(10_000).map(choose).collect()
}

fn key_of(algorithm: &str) -> HashKey {
    let uri = UriKey::default();
    match algorithm {
        "uri" => HashKey::Uri(uri),
        "uri-len" => HashKey::Uri(UriKey { len: Some(8), ..uri }),
        "uri-depth" => HashKey::Uri(UriKey { depth: Some(2), ..uri }),
        "uri-whole" => HashKey::Uri(UriKey { whole: true, ..uri }),
        "uri-path" => HashKey::Uri(UriKey { path_only: true, ..uri }),
        "url_param" => HashKey::UrlParam { name: b"k".to_vec(), check_post: false },
        // The results of hash expressions.
        "hdr" | "hash" | keys::RDP => HashKey::Header { name: b"k".to_vec(), domain_only: false },
        "domain" => HashKey::Header { name: b"host".to_vec(), domain_only: true },
        "source" => HashKey::Source,
        other => panic!("{other} has no key"),
    }
}

fn hash_of(hashing: &Hashing, it: &keys::Request) -> Option<u32> {
    let head = request("GET", &it.uri, &[("host", &it.host), ("k", &it.k)]);
    match (&hashing.key, it.source) {
        (HashKey::Source, source) => Some(balance::hash::source(source)),
        (key, _) => find(key, &head, b"").map(hashing.function),
    }
}

#[test]
fn ten_thousand_keys_choose_the_servers_that_haproxy_chose() {
    let golden = include_str!("tests/golden.tsv");
    let mut wrong = Vec::new();
    for (algorithm, kind) in
        keys::ALGORITHMS.iter().flat_map(|(name, _)| keys::TYPES.map(|kind| (*name, kind)))
    {
        // The octets of the address, which an expression yields: left to the test of processes.
        if algorithm != "hash-ip" {
            let sum = keys::checksum(chosen(algorithm, kind).into_iter());
            let row = golden.lines().find(|row| row.starts_with(&format!("{algorithm}\t{kind}\t")));
            if row.is_none_or(|row| !row.ends_with(&format!("\t{sum:016x}"))) {
                wrong.push((algorithm, kind));
            }
        }
    }
    assert_eq!(wrong, []);
}
