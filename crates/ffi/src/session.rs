//! Sessions of clients that are resumed with the server that gave them.

use crate::flavour;
use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslSession, SslSessionCacheMode};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The session of one place.
struct Ticket {
    /// The host name that was requested.
    name: Vec<u8>,
    session: SslSession,
    /// No early data has been sent with it: a server may accept that once only (RFC 8446 section
    /// 8).
    unsaid: bool,
}

type Held = Option<Ticket>;

/// Where new sessions of a connection go, and the name that they are for.
struct Home {
    place: Arc<Mutex<Held>>,
    name: Vec<u8>,
}

fn index() -> Option<Index<Ssl, Home>> {
    static INDEX: OnceLock<Option<Index<Ssl, Home>>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
}

/// A context of clients that remembers the last session of each place.
pub struct Resumer {
    context: SslContext,
    places: Vec<Arc<Mutex<Held>>>,
}

impl std::fmt::Debug for Resumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resumer").field("places", &self.places.len()).finish_non_exhaustive()
    }
}

impl Resumer {
    /// A context with so many places, one for each thread; without any, nothing is resumed.
    pub fn new(mut context: SslContextBuilder, places: usize) -> Self {
        if places > 0 {
            let mode = SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL;
            context.set_session_cache_mode(mode);
            context.set_new_session_callback(|ssl, session| {
                if let Some(home) = index().and_then(|index| ssl.ex_data(index)) {
                    let name = home.name.clone();
                    *lock(&home.place) = Some(Ticket { name, session, unsaid: true });
                }
            });
        }
        let places = (0..places).map(|_| Arc::default()).collect();
        Self { context: context.build(), places }
    }

    /// A session that has not begun: the one before it at this place is resumed, if it was for the
    /// same name.
    ///
    /// # Errors
    /// No memory.
    pub fn begin(&self, place: usize, name: &[u8]) -> Result<Ssl, ErrorStack> {
        // A server may forget a session that it has resumed.
        let used = |ticket: &mut Ticket| {
            ticket.unsaid = false;
            0
        };
        self.begin_with(place, name, used).map(|(ssl, _)| ssl)
    }

    /// As [`Resumer::begin`], but with early data: also returns how many bytes the server takes, if
    /// `suits` accepts the protocol of the session. Each session carries early data once, until its
    /// ticket expires; `now` is in seconds since 1970.
    ///
    /// # Errors
    /// As there.
    pub fn begin_early(
        &self,
        place: usize,
        name: &[u8],
        now: u64,
        suits: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<(Ssl, usize), ErrorStack> {
        self.begin_with(place, name, |ticket| {
            let (room, protocol) = flavour::early_terms(&ticket.session, now);
            let usable = ticket.unsaid && room > 0 && suits(protocol.as_deref());
            if usable {
                ticket.unsaid = false;
                room
            } else {
                0
            }
        })
    }

    fn begin_with(
        &self,
        place: usize,
        name: &[u8],
        look: impl FnOnce(&mut Ticket) -> usize,
    ) -> Result<(Ssl, usize), ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        let mut found = 0;
        let Some(place) = self.places.get(place % self.places.len().max(1)) else {
            return Ok((ssl, found));
        };
        if let Some(ticket) = lock(place).as_mut().filter(|ticket| ticket.name == name) {
            // SAFETY: sessions come here from the callback of `self.context` alone, and `ssl`
            // belongs to the same context.
            unsafe { ssl.set_session(&ticket.session)? };
            found = look(ticket);
        }
        if let Some(index) = index() {
            ssl.set_ex_data(index, Home { place: place.clone(), name: name.to_vec() });
        }
        Ok((ssl, found))
    }
}

fn lock(place: &Mutex<Held>) -> MutexGuard<'_, Held> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
