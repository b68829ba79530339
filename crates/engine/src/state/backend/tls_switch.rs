//! The switch of TLS to a server (`set server ssl`).

use std::sync::atomic::{AtomicI8, Ordering::Relaxed};

/// The state of a server that has been without TLS from the start.
const NEVER: i8 = -1;

/// Whether the connections to a server that are made from now on use TLS.
#[derive(Debug)]
pub struct TlsSwitch(AtomicI8);

impl TlsSwitch {
    /// The switch of a server with these settings.
    pub(crate) fn new(settings: &settings::Server) -> Self {
        let without = if settings.refuses_tls { NEVER } else { 0 };
        let state = match &settings.link.encryption {
            Some(_) if settings.encrypts => 1,
            Some(_) => NEVER,
            None => without,
        };
        Self(AtomicI8::new(state))
    }

    /// Turns TLS on or off.
    pub fn turn(&self, on: bool) {
        self.0.store(i8::from(on), Relaxed);
    }

    /// Begins anew, as these settings say.
    pub(crate) fn reset(&self, settings: &settings::Server) {
        self.0.store(Self::new(settings).number(), Relaxed);
    }

    /// Whether TLS is on.
    pub fn is_on(&self) -> bool {
        self.number() > 0
    }

    /// State as `show servers state` prints it: 1 for on, 0 for off, -1 for off from the start or
    /// forever.
    pub fn number(&self) -> i8 {
        self.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use balance::ServerSettings;
    use settings::{Link, Server};
    use stdx::socket::Address;

    #[test]
    fn servers_without_tls_settings_tell_whether_tls_is_forbidden() {
        let server = |refuses_tls| {
            let plain = Server::new(ServerSettings::new(1, "s"), Address::Pair(0));
            Server { refuses_tls, link: Link::default(), ..plain }
        };
        assert_eq!(TlsSwitch::new(&server(false)).number(), 0);
        let switch = TlsSwitch::new(&server(true));
        assert_eq!((switch.number(), switch.is_on()), (-1, false));
        switch.turn(true);
        assert!(switch.is_on());
        switch.reset(&server(true));
        assert_eq!(switch.number(), -1);
    }
}
