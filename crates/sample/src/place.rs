//! The 22 places where an expression may be used, and sets of them.

/// One place of use, in the order of the validity strings of `haproxy -dKsmp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// `tcp-request connection` of a frontend.
    FeTcpConnection,
    /// `tcp-request session` of a frontend.
    FeTcpSession,
    /// `tcp-request content` of a frontend.
    FeTcpRequest,
    /// `http-request` of a frontend.
    FeHttpRequest,
    /// The request's body in a frontend.
    FeHttpRequestBody,
    /// `use_backend`.
    FeSwitching,
    /// `tcp-request content` of a backend.
    BeTcpRequest,
    /// `http-request` of a backend.
    BeHttpRequest,
    /// The request's body in a backend.
    BeHttpRequestBody,
    /// `use-server`, `balance`, `stick match`.
    BeServerChoice,
    /// Connecting to the server: `source`, `sni`.
    BeServerConnect,
    /// `tcp-response content` of a backend.
    BeTcpResponse,
    /// `http-response` of a backend.
    BeHttpResponse,
    /// The response's body in a backend.
    BeHttpResponseBody,
    /// `stick store-response`.
    BeStickStore,
    /// `tcp-response content` of a frontend.
    FeTcpResponse,
    /// `http-response` of a frontend.
    FeHttpResponse,
    /// The response's body in a frontend.
    FeHttpResponseBody,
    /// `log-format` and its kin.
    Log,
    /// `tcp-check` and `http-check` rules of a backend.
    BeCheck,
    /// Evaluated while the configuration is read.
    ConfigParser,
    /// Evaluated by a command on the runtime socket.
    CliParser,
}

const NAMES: [&str; 22] = [
    "frontend tcp-request connection rule",
    "frontend tcp-request session rule",
    "frontend tcp-request content rule",
    "frontend http-request header rule",
    "frontend http-request body rule",
    "frontend switching rule",
    "backend tcp-request content rule",
    "backend http-request header rule",
    "backend http-request body rule",
    "backend server selection rule",
    "server source selection",
    "backend tcp-response content rule",
    "backend http-response header rule",
    "backend http-response body rule",
    "backend stick-store rule",
    "frontend tcp-response content rule",
    "frontend http-response header rule",
    "frontend http-response body rule",
    "logs",
    "backend tcp-check rule",
    "configuration parser",
    "CLI parser",
];

/// A set of places: where a fetch is valid, or all the places in which a rule of a `listen` section
/// runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places(u32);

impl Places {
    /// No place.
    pub const NONE: Places = Places(0);
    /// Every place.
    pub const ALL: Places = Places((1 << 22) - 1);

    /// The set holding only `place`.
    pub const fn of(place: Place) -> Places {
        Places(1 << place as u8)
    }

    /// The set written as 22 letters, `Y` where valid: the form printed by `haproxy -dKsmp`.
    pub const fn parse(letters: &str) -> Places {
        let bytes = letters.as_bytes();
        assert!(bytes.len() == 22, "a validity string has 22 positions");
        let mut set = 0;
        let mut i = 0;
        while i < 22 {
            if bytes[i] == b'Y' {
                set |= 1 << i;
            }
            i += 1;
        }
        Places(set)
    }

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Places) -> Places {
        Places(self.0 | other.0)
    }

    /// Whether the sets share a place.
    pub const fn meets(self, other: Places) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether `place` is in the set.
    pub const fn holds(self, place: Place) -> bool {
        self.0 & (1 << place as u8) != 0
    }

    /// HAProxy's names of the 22 places, in order.
    pub const NAMES: [&str; 22] = NAMES;

    /// HAProxy's name for the first place of the set, for messages.
    pub fn name(self) -> &'static str {
        NAMES.get(self.0.trailing_zeros() as usize).copied().unwrap_or("nowhere")
    }

    /// The 22 letters of `haproxy -dKsmp`.
    pub fn letters(self) -> String {
        (0..22).map(|i| if self.0 >> i & 1 == 1 { 'Y' } else { '.' }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_round_trip() {
        let text = "..YYYYYYYYY.........Y.";
        let places = Places::parse(text);
        assert_eq!(places.letters(), text);
        assert!(places.holds(Place::FeHttpRequest) && !places.holds(Place::Log));
        assert_eq!(Places::of(Place::FeHttpRequest).name(), "frontend http-request header rule");
        assert!(Places::ALL.holds(Place::CliParser));
    }
}
