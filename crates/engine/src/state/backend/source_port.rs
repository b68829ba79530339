//! The source ports of a server's connections, taken in turn by all threads (`source`).

use settings::Ports;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of the next connection with a source port of a range.
#[derive(Debug, Default)]
pub struct SourcePort(AtomicU32);

impl SourcePort {
    /// The next port of the range, in turn.
    pub fn next(&self, ports: Ports) -> u16 {
        ports.at(self.0.fetch_add(1, Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_taken_in_turn() {
        let (next, ports) = (SourcePort::default(), Ports::new(65_535, 65_533));
        let taken: Vec<u16> = (0..4).map(|_| next.next(ports)).collect();
        assert_eq!(taken, [65_533, 65_534, 65_535, 65_533]);
    }
}
