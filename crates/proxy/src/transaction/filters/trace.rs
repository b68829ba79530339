//! `filter trace`: prints payload as it passes, and can let it pass in pieces drawn by chance
//! (configuration manual, section 9.1).

use engine::state::runtime::ProxyRef;
use engine::state::session::transaction::Transaction;
use sample::Side;
use settings::TraceFilter;
use std::fmt::Write as _;
use std::io::Write as _;
use transport::filters::{Offer, PayloadFilter, Taken};

/// Bytes of a line of a hexadecimal dump.
const DUMPED: usize = 16;

/// The payload of one direction under `filter trace`.
#[derive(Debug)]
pub(super) struct PayloadTrace {
    settings: TraceFilter,
    proxy: ProxyRef,
    side: Side,
    random: stdx::Prng,
    /// Payload bytes that have passed.
    offset: u64,
}

impl PayloadTrace {
    pub(super) fn new(
        tx: &Transaction,
        settings: &TraceFilter,
        proxy: &ProxyRef,
        side: Side,
    ) -> Self {
        let seed = tx.worker.thread.nanos() ^ (side as u64);
        let (settings, proxy) = (settings.clone(), proxy.clone());
        Self { settings, proxy, side, random: stdx::Prng::new(seed), offset: 0 }
    }

    /// The line that says how much passes, with a dump where that is asked for.
    fn describe(&self, offer: Offer<'_>, passes: usize) -> String {
        let channel = if self.side == Side::Request { "REQUEST" } else { "RESPONSE" };
        let source = format!("[{}/{}]", self.settings.name, self.proxy.settings.name);
        let mut text = format!(
            "{source:<21} payload: channel={channel} - offset={} - len={} - forward={passes}\n",
            self.offset,
            offer.payload.len(),
        );
        if self.settings.hexdump {
            dump(&offer.payload[..passes], &mut text);
        }
        text
    }
}

impl PayloadFilter for PayloadTrace {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        let all = offer.payload.len();
        let passes = match self.settings.random_forwarding && all > 0 {
            true => 1 + self.random.below(u32::try_from(all).unwrap_or(u32::MAX)) as usize,
            false => all,
        };
        if !self.settings.quiet && passes > 0 {
            // The manual has it print to the standard output.
            let _ = std::io::stdout().write_all(self.describe(offer, passes).as_bytes());
        }
        self.offset += passes as u64;
        Taken::Bytes(passes)
    }
}

/// Lines of 16 bytes in hexadecimal and as text.
fn dump(bytes: &[u8], out: &mut String) {
    for (number, line) in bytes.chunks(DUMPED).enumerate() {
        let _ = write!(out, "\t0x{:06x}: ", number * DUMPED);
        line.iter().for_each(|byte| {
            let _ = write!(out, "{byte:02x} ");
        });
        let printable = |byte: &u8| if (b' '..=b'~').contains(byte) { *byte as char } else { '.' };
        let text: String = line.iter().map(printable).collect();
        let _ = writeln!(out, "{:<1$}|{text}|", "", 3 * (DUMPED - line.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_dumped_in_lines_of_sixteen_bytes() {
        let mut text = String::new();
        dump(b"GET / HTTP/1.1\r\n!", &mut text);
        let expected = "\t0x000000: 47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a |GET / HTTP/1.1..|\n\
            \t0x000010: 21                                              |!|\n";
        assert_eq!(text, expected);
    }
}
