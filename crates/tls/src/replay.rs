//! The replay check for ClientHellos with early data (RFC 8446 section 8.2), for a library that has
//! none of its own.
//!
//! Such a library refuses early data if the age of the ticket is off by more than a minute, so a
//! replay can arrive for up to two minutes.

use openssl::ssl::SslRef;
use std::collections::HashSet;
use std::mem;
use std::sync::{LazyLock, MutexGuard};
use stdx::Mutex;

/// How long messages are remembered at least: more seconds than they are good for.
const SPAN: u64 = 180;

/// The most messages that are remembered of one span.
const MOST: usize = 100_000;

/// Beyond that one in so many is accepted early, to learn the time from it.
const PROBED: usize = 64;

/// A prefix of a message's random bytes that is long enough to identify it.
type Name = [u8; 16];

/// The messages of this span and of the one before.
#[derive(Debug, Default)]
struct SeenMessages {
    since: u64,
    last: HashSet<Name>,
    before: HashSet<Name>,
    refused: usize,
}

impl SeenMessages {
    /// Notes a message of this second. `false`: it is a replay.
    fn note(&mut self, name: Name, now: u64) -> bool {
        let age = now.saturating_sub(self.since);
        if age >= SPAN {
            self.before = mem::take(&mut self.last);
            self.since = now;
        }
        if age >= 2 * SPAN {
            self.before.clear();
        }
        !self.before.contains(&name) && self.last.insert(name)
    }

    /// Whether another connection with early data may be accepted.
    fn has_room(&mut self) -> bool {
        self.refused = if self.last.len() < MOST { 0 } else { self.refused + 1 };
        self.refused.is_multiple_of(PROBED)
    }
}

/// The first messages that the process has seen: several lines may share ticket keys.
fn heard() -> MutexGuard<'static, SeenMessages> {
    static HEARD: LazyLock<Mutex<SeenMessages>> = LazyLock::new(Mutex::default);
    HEARD.lock()
}

/// Whether another client may send early data.
pub(crate) fn has_room() -> bool {
    ffi::TAKES_EARLY_ONCE || heard().has_room()
}

/// Whether the client whose early words the library has just taken has sent its first message for
/// the first time. The time is the library's own, which it judges tickets by.
pub(crate) fn is_new(ssl: &SslRef) -> bool {
    if ffi::TAKES_EARLY_ONCE {
        return true;
    }
    let random = ffi::client_random(ssl);
    // Libraries count seconds in different types.
    let seconds = ssl.session().map(|session| i128::from(session.time()));
    let now = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    match random.first_chunk().zip(now) {
        Some((name, now)) => heard().note(*name, now),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_accepted_once_within_their_lifetime() {
        for first in [1, 100, SPAN - 1] {
            let mut heard = SeenMessages::default();
            assert!(heard.note([0; 16], 5_000), "the span begins");
            let at = 5_000 + first;
            assert!(heard.note([1; 16], at));
            for later in [0, 1, 60, 121, 150, SPAN - 1] {
                assert!(!heard.note([1; 16], at + later), "{later} s later");
            }
            assert!(heard.note([1; 16], at + 3 * SPAN), "it is forgotten");
            assert!(!heard.note([1; 16], at), "a clock that is put back");
        }
    }

    #[test]
    fn there_are_so_many_and_no_more() {
        let mut heard = SeenMessages::default();
        for number in 0..MOST as u128 {
            assert!(heard.has_room());
            heard.note(number.to_be_bytes(), 9_000);
        }
        let more = (0..10 * PROBED).filter(|_| heard.has_room()).count();
        assert_eq!(more, 10);
        heard.note([7; 16], 9_000 + SPAN);
        assert!(heard.has_room());
    }
}
