//! Configuration text to a validated immutable model, with diagnostics. Never opens a socket and never runs anything.
#![forbid(unsafe_code)]
