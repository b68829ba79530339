//! The secrets of sessions, kept to decrypt recorded traffic (`tune.ssl.keylog`).

use crate::handover::Handover;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContextBuilder, SslRef};
use std::sync::OnceLock;
use stdx::Mutex;

/// The secrets of one session, by the labels of the format `SSLKEYLOGFILE`.
#[derive(Default)]
pub(crate) struct KeyLog(Mutex<Vec<(Box<str>, Box<str>)>>);

/// The most that are kept; a session has seven.
const MOST: usize = 16;

impl std::fmt::Debug for KeyLog {
    /// Without them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl KeyLog {
    /// The index of the session's data.
    pub(crate) fn index() -> Option<Index<Ssl, Self>> {
        static INDEX: OnceLock<Option<Index<Ssl, KeyLog>>> = OnceLock::new();
        *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
    }

    fn of(ssl: &SslRef) -> Option<&Self> {
        ssl.ex_data(Self::index()?)
    }

    /// The secret of this label in hexadecimal digits.
    pub(crate) fn find(ssl: &SslRef, label: &str) -> Option<Box<str>> {
        Self::of(ssl)?.secret(label)
    }

    /// Takes the secrets of a session that has its own.
    pub(crate) fn take(ssl: &SslRef) -> Option<Self> {
        let kept = std::mem::take(&mut *Self::of(ssl)?.0.lock());
        Some(Self(Mutex::new(kept)))
    }

    /// The secret of this label in hexadecimal digits.
    pub(crate) fn secret(&self, label: &str) -> Option<Box<str>> {
        let kept = self.0.lock();
        kept.iter().find(|(known, _)| **known == *label).map(|(_, secret)| secret.clone())
    }

    /// Makes sessions that go on with this context keep them, and their record layers get them.
    pub(crate) fn watch(context: &mut SslContextBuilder) {
        context.set_keylog_callback(|ssl, line| {
            let mut words = line.split(' ');
            let (label, secret) = (words.next(), words.nth(1));
            let Some((label, secret)) = label.zip(secret) else { return };
            Handover::note_secret(ssl, label, secret);
            if let Some(kept) = Self::of(ssl) {
                let mut kept = kept.0.lock();
                if kept.len() < MOST {
                    kept.push((label.into(), secret.into()));
                }
            }
        });
    }
}
