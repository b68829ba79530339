//! The time at which client connections end in a soft stop (`close-spread-time`).

/// When client connections that are kept alive end in a soft stop (`close-spread-time`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CloseSpread {
    /// As soon as they wait for the next request.
    #[default]
    AtOnce,
    /// At a random time within these milliseconds.
    Over(u64),
    /// When a timeout or the client closes them.
    Never,
}
