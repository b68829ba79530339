//! The anonymized mode: names and addresses as hashes, so that dumps and traces can be shown to
//! others (management.txt 9.3 `set anon`).

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, SocketAddr};

/// The key that names are hashed with; none while they are shown as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Anon(Option<u32>);

impl Anon {
    /// Hides names with this key, or none.
    pub fn new(key: Option<u32>) -> Self {
        Self(key)
    }

    /// The key, if names are hidden.
    pub fn key(self) -> Option<u32> {
        self.0
    }

    /// A name, or its hash. `-` and the empty name are shown as they are.
    pub fn word<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.0 {
            Some(key) if !matches!(text, "" | "-") => {
                Cow::Owned(format!("{:06x}", digest(key, text.as_bytes())))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Bytes of a peer with unprintable ones escaped, or their hash.
    pub fn bytes(&self, bytes: &[u8]) -> String {
        match self.0 {
            Some(key) if !bytes.is_empty() => format!("{:06x}", digest(key, bytes)),
            _ => bytes.escape_ascii().to_string(),
        }
    }

    /// An address with its port, which stays.
    pub fn address(&self, address: SocketAddr) -> String {
        match self.0 {
            None => address.to_string(),
            Some(_) => format!("{}:{}", self.ip(address.ip()), address.port()),
        }
    }

    /// An address without a port.
    pub fn ip(&self, ip: IpAddr) -> String {
        match (self.0, ip) {
            (None, _) => ip.to_string(),
            (Some(key), IpAddr::V4(ip)) => format!("IPV4({:06x})", digest(key, &ip.octets())),
            (Some(key), IpAddr::V6(ip)) => format!("IPV6({:06x})", digest(key, &ip.octets())),
        }
    }
}

fn digest(key: u32, bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, bytes).hash(&mut hasher);
    hasher.finish() & 0xff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_apart_and_secret() {
        let (off, one, two) = (Anon(None), Anon(Some(1)), Anon(Some(2)));
        assert_eq!(off.word("name"), "name");
        assert_eq!(one.word("name"), one.word("name"));
        assert_ne!(one.word("name"), one.word("other"));
        assert_ne!(one.word("name"), two.word("name"));
        assert_eq!((one.word("name").len(), &*one.word("-"), &*one.word("")), (6, "-", ""));
        let ip = "10.1.2.3".parse().unwrap();
        assert_eq!(off.ip(ip), "10.1.2.3");
        let shown = one.ip(ip);
        assert!(shown.starts_with("IPV4(") && shown.ends_with(')'), "{shown}");
        assert!(!shown.contains("10.1"));
    }
}
