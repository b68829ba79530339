//! The keys and the hash types of the golden vectors.
//!
//! Shared with the test that measures a running program
//! (`crates/acceptance/tests/process/balancing.rs`).

/// `balance` lines, with their names in the table.
pub(crate) const ALGORITHMS: [(&str, &str); 12] = [
    ("uri", "uri"),
    ("uri-len", "uri len 8"),
    ("uri-depth", "uri depth 2"),
    ("uri-whole", "uri whole"),
    ("uri-path", "uri path-only"),
    ("url_param", "url_param k"),
    ("hdr", "hdr(k)"),
    ("domain", "hdr(host) use_domain_only"),
    ("hash", "hash req.hdr(k)"),
    ("hash-ip", "hash src"),
    ("source", "source"),
    (RDP, "rdp-cookie"),
];

/// The one that is about connections rather than requests.
pub(crate) const RDP: &str = "rdp-cookie";

/// `hash-type` lines.
pub(crate) const TYPES: [&str; 18] = [
    "map-based sdbm",
    "map-based sdbm avalanche",
    "map-based djb2",
    "map-based djb2 avalanche",
    "map-based crc32",
    "map-based crc32 avalanche",
    "map-based wt6",
    "map-based wt6 avalanche",
    "map-based",
    "consistent sdbm",
    "consistent sdbm avalanche",
    "consistent djb2",
    "consistent djb2 avalanche",
    "consistent crc32",
    "consistent crc32 avalanche",
    "consistent wt6",
    "consistent wt6 avalanche",
    "consistent",
];

/// Weights of the servers.
pub(crate) const WEIGHTS: [u32; 5] = [3, 2, 1, 7, 1];

/// One request.
pub(crate) struct Request {
    /// The target.
    pub(crate) uri: String,
    /// `host`.
    pub(crate) host: String,
    /// The field `k`.
    pub(crate) k: String,
    /// The address of the client.
    pub(crate) source: std::net::IpAddr,
}

impl Request {
    /// The cookie that a terminal server's client sends; not all of them do.
    pub(crate) fn cookie(&self) -> Option<&str> {
        self.uri.starts_with('/').then_some(&self.k)
    }
}

/// The same requests every time.
pub(crate) fn requests(count: usize) -> impl Iterator<Item = Request> {
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32
    };
    (0..count).map(move |n| {
        let mut some = || next() >> (next() % 24);
        let word = format!("{:x}", some());
        let query = if n % 3 == 0 { String::new() } else { format!("?a={n}&k={:x}", some()) };
        let authority = if n % 5 == 0 { "http://h.example" } else { "" };
        let depth = n % 4 + 1;
        let path: String = (0..depth).map(|_| format!("/{:x}", some())).collect();
        let source = match n % 2 {
            0 => std::net::Ipv4Addr::from_bits(next()).into(),
            _ => std::net::Ipv6Addr::new(0x2001, 0xdb8, next() as u16, 0, 0, 0, n as u16, 1).into(),
        };
        let host = match authority {
            "" => format!("w{}.d{word}.example", n % 7),
            _ => "h.example".to_owned(),
        };
        Request { uri: format!("{authority}{path}{query}"), host, k: word, source }
    })
}

/// The checksum of a sequence of servers, by their place; 0 stands for none.
pub(crate) fn checksum(servers: impl Iterator<Item = usize>) -> u64 {
    // FNV-1a.
    servers.fold(0xcbf2_9ce4_8422_2325, |hash, server| {
        (hash ^ server as u64).wrapping_mul(0x0100_0000_01b3)
    })
}
