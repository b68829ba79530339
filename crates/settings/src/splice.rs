//! Options and limits of splicing.

/// Options of a proxy for splicing through pipes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpliceOptions {
    /// `option splice-auto`: splices in either direction where that saves work.
    pub auto: bool,
    /// `option splice-request`: splices towards servers whenever possible.
    pub request: bool,
    /// `option splice-response`: splices towards clients whenever possible.
    pub response: bool,
}

/// Limits on the number and the size of pipes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PipeLimits {
    /// Pipes of the process (`maxpipes`); 0 with `nosplice`.
    pub pipes: u32,
    /// Bytes of each pipe (`tune.pipesize`); 0 for the system's choice.
    pub size: u32,
}
