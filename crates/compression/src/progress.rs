//! The arguments and the result of one call of an encoder.

/// The end of the output that a caller asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// None: the encoder may keep input until more comes.
    None,
    /// All input so far can be decoded from the output so far.
    Sync,
    /// The body is complete.
    Finish,
}

/// Effect of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Bytes of input that are consumed; offer the rest again.
    pub consumed: usize,
    /// Bytes of output.
    pub produced: usize,
    /// All input is consumed and the flush that was asked for is complete.
    pub done: bool,
}

/// An encoder cannot be made or has failed; the fault is ours or the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// `identity` encodes nothing.
    Identity,
    /// The encoder's state does not fit in memory.
    Memory,
    /// The library reports a fault in its use.
    Library,
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Identity => "the algorithm identity has no encoder",
            Self::Memory => "no memory for the encoder",
            Self::Library => "the encoder has failed",
        })
    }
}

impl std::error::Error for EncodeError {}
