//! Peers that scenarios need beside a web server: each turns input into answers, and does no I/O.

pub mod fcgi;
pub mod spop;

/// Answers the complete units at the start of the input; returns how many bytes those had, or
/// nothing when the connection is to be closed.
pub type Answer = fn(input: &[u8], out: &mut Vec<u8>) -> Option<usize>;

/// The peer of this name.
pub fn find(name: &str) -> Option<Answer> {
    match name {
        "fcgi" => Some(fcgi::answer),
        "spop" => Some(spop::answer),
        _ => None,
    }
}
