//! The progress of teaching a peer the changes of one table, across its connections.
//!
//! Changes are read in rounds. The last update of a round carries the place up to which changes
//! were read; the acknowledgement of that update, or of a later one, confirms the place. A new
//! connection continues behind the confirmed place. Two rounds are remembered at most: the oldest
//! one that is not confirmed, and the newest.

use table::{ChangeReader, Table};

/// A round that has been sent.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Its last update.
    update: u32,
    /// The place up to which changes were read.
    change: u64,
}

/// The progress with one table.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Nothing if the table has too many readers, or is the copy of another node: then changes are
    /// not taught to this peer.
    pub(crate) reader: Option<ChangeReader>,
    /// All changes up to this one are known to the peer.
    pub(crate) confirmed: u64,
    /// The number of the last update on this connection.
    pub(crate) sent: u32,
    /// The number of the last update that was acknowledged on this connection.
    pub(crate) acked: u32,
    /// The last change of the table when this connection began.
    pub(crate) begun: u64,
    oldest: Option<Round>,
    newest: Option<Round>,
}

impl Progress {
    pub(crate) fn new(table: &Table) -> Progress {
        Progress {
            reader: if table.is_copy() { None } else { table.subscribe() },
            confirmed: 0,
            sent: 0,
            acked: 0,
            begun: 0,
            oldest: None,
            newest: None,
        }
    }

    /// Begins a connection: what was not confirmed is sent again.
    pub(crate) fn restart(&mut self, table: &Table) {
        (self.sent, self.acked, self.oldest, self.newest) = (0, 0, None, None);
        self.begun = table.last_change();
        if let Some(reader) = &mut self.reader {
            table.rewind(reader, self.confirmed);
        }
    }

    /// The number of changes to send when a connection begins; several of one entry are one.
    pub(crate) fn backlog(&self, table: &Table) -> u64 {
        let changes = table.last_change().saturating_sub(self.confirmed);
        if self.reader.is_some() { changes.min(table.used().into()) } else { 0 }
    }

    /// Notes that everything up to a change was sent.
    pub(crate) fn finish_round(&mut self, change: u64) {
        if self.acked == self.sent {
            self.confirmed = change;
            return;
        }
        let round = Round { update: self.sent, change };
        match self.oldest {
            None => self.oldest = Some(round),
            Some(_) => self.newest = Some(round),
        }
    }

    /// Notes an acknowledgement; one of an update that was not sent has no effect.
    pub(crate) fn acknowledge(&mut self, update: u32) {
        let ahead = |of: u32| (update.wrapping_sub(of) as i32) >= 0;
        if !ahead(self.acked) || (update != self.sent && ahead(self.sent)) {
            return;
        }
        self.acked = update;
        while let Some(round) = self.oldest.filter(|round| ahead(round.update)) {
            self.confirmed = round.change;
            self.oldest = self.newest.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use table::{KeyKind, Settings};

    #[test]
    fn acknowledgements_confirm_rounds() {
        let table = Table::new(Settings::new("t", KeyKind::Integer, 10), 0);
        let mut progress = Progress::new(&table);
        progress.finish_round(5);
        assert_eq!(progress.confirmed, 5, "nothing had to be sent");
        progress.sent = 10;
        progress.finish_round(20);
        progress.sent = 15;
        progress.finish_round(30);
        progress.sent = 18;
        progress.finish_round(40);
        progress.acknowledge(9);
        assert_eq!(progress.confirmed, 5);
        progress.acknowledge(19);
        assert_eq!(progress.confirmed, 5, "it was not sent");
        progress.acknowledge(12);
        assert_eq!(progress.confirmed, 20);
        progress.acknowledge(18);
        assert_eq!(progress.confirmed, 40);
        progress.acknowledge(3);
        assert_eq!((progress.acked, progress.confirmed), (18, 40), "it is an old one");
    }

    #[test]
    fn numbers_of_updates_wrap() {
        let table = Table::new(Settings::new("t", KeyKind::Integer, 10), 0);
        let mut progress = Progress::new(&table);
        (progress.sent, progress.acked) = (u32::MAX, u32::MAX - 1);
        progress.finish_round(5);
        progress.sent = 1;
        progress.finish_round(6);
        progress.acknowledge(0);
        assert_eq!(progress.confirmed, 5);
        progress.acknowledge(1);
        assert_eq!(progress.confirmed, 6);
    }
}
