//! Options and limits of splicing.

/// What a proxy says about pipes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpliceOptions {
    /// `option splice-auto`: in either direction, where it pays.
    pub auto: bool,
    /// `option splice-request`: towards servers, whenever possible.
    pub request: bool,
    /// `option splice-response`: towards clients, whenever possible.
    pub response: bool,
}

/// Bounds on pipes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PipeLimits {
    /// How many there may be (`maxpipes`); 0 with `nosplice`.
    pub pipes: u32,
    /// Bytes of each (`tune.pipesize`); 0 for the system's choice.
    pub size: u32,
}
