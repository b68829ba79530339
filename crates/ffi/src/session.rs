//! Sessions of clients that are resumed with the server that gave them. Never shared between contexts.

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslSession, SslSessionCacheMode};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The session of one place, and the name that the server was asked by.
type Held = Option<(Vec<u8>, SslSession)>;

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
                    *lock(&home.place) = Some((home.name.clone(), session));
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
        let mut ssl = Ssl::new(&self.context)?;
        let Some(place) = self.places.get(place % self.places.len().max(1)) else {
            return Ok(ssl);
        };
        if let Some((_, session)) = lock(place).as_ref().filter(|(of, _)| of == name) {
            // SAFETY: sessions come here from the callback of `self.context` alone, and `ssl`
            // belongs to the same context.
            unsafe { ssl.set_session(session)? };
        }
        if let Some(index) = index() {
            ssl.set_ex_data(index, Home { place: place.clone(), name: name.to_vec() });
        }
        Ok(ssl)
    }
}

fn lock(place: &Mutex<Held>) -> MutexGuard<'_, Held> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
