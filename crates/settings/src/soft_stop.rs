//! The time at which client connections end in a soft stop (`close-spread-time`).

/// When client connections that are kept alive end in a soft stop (`close-spread-time`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CloseSpread {
    /// As soon as they are between two requests.
    #[default]
    AtOnce,
    /// Some time within so many milliseconds.
    Over(u64),
    /// When their timeouts or their clients end them.
    Never,
}
