//! The anonymized mode: names and addresses as hashes, so that dumps can be shown to others (management.txt 9.3
//! `set anon`). Never reversible: 24 bits are left of each.

use super::call::{Call, Reply, Severity};
use crate::settings::Level;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

/// The key of a session; none while names are shown as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Anon(Option<u32>);

impl Anon {
    #[cfg(test)]
    pub(super) fn new(key: u32) -> Self {
        Self(Some(key))
    }

    /// A name, or what is shown for it. `-` and nothing stand for themselves.
    pub(super) fn word<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.0 {
            Some(key) if !matches!(text, "" | "-") => {
                Cow::Owned(format!("{:06x}", digest(key, text.as_bytes())))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// An address with its port, which stays.
    pub(super) fn address(&self, address: SocketAddr) -> String {
        match self.0 {
            None => address.to_string(),
            Some(_) => format!("{}:{}", self.ip(address.ip()), address.port()),
        }
    }

    /// An address without a port.
    pub(super) fn ip(&self, ip: IpAddr) -> String {
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

/// `set anon on [<key>]`, `set anon off`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let key = match (call.word(2), call.word(3)) {
        ("off", _) => None,
        ("on", "") => Some(usual_key(call)),
        ("on", text) => match text.parse() {
            Ok(key) => Some(key),
            Err(_) => return Reply::error("Expects a key between 0 and 4294967295."),
        },
        _ => {
            let text = "'set anon' only supports :\n   - 'on' [key] to enable the anonymized mode\n   \
                        - 'off' to disable the anonymized mode";
            return Reply::error(text);
        }
    };
    call.state.anon = Anon(key);
    Reply::Done
}

/// The key of all sessions that do not bring one; one is made up where there is none.
fn usual_key(call: &Call<'_>) -> u32 {
    match call.settings.anon_key.load(Relaxed) {
        0 => (call.worker.thread.kernel().seed() as u32).max(1),
        key => key,
    }
}

/// `set anon global-key <key>`
pub(super) fn set_global(call: &mut Call<'_>) -> Reply {
    if call.state.level < Level::Admin {
        return Reply::error("Permission denied");
    }
    match call.word(3).parse() {
        Ok(key) => {
            call.settings.anon_key.store(key, Relaxed);
            Reply::Done
        }
        Err(_) => Reply::error("Expects a key between 0 and 4294967295."),
    }
}

/// `show anon`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let text = match call.state.anon.0 {
        Some(key) => format!("Anonymized mode enabled\nKey : {key}"),
        None => "Anonymized mode disabled".to_owned(),
    };
    Reply::Message(Severity::Info, text)
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
