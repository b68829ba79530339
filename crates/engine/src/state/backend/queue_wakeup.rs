//! Wakes a queued request when a server has a free slot.
//!
//! Whoever gives a place up calls one who waits ([`Back::offer`]). Who is called and has no use for
//! the place passes the call on. A place for which nobody was left to be called is remembered by
//! the queue, and offered again when one of those who were called leaves it ([`Back::let_in`],
//! [`Back::let_all_in`]), so that it comes to those who have joined behind them.
//!
//! A place that is given up and a request that joins must not miss each other. Who gives it up
//! changes the served requests, then looks whether anybody waits, both in sequentially consistent
//! order, which costs nothing on x86; who joins is counted, fences, then looks for a place. Limits
//! and states change rarely: there, a fence stands in between.

use crate::state::backend::queue::{Queue, call_either};
use crate::state::runtime::Back;
use std::sync::atomic::{Ordering::SeqCst, fence};

impl Back {
    /// A place on a server is free: who goes first of those who wait for it or, if it takes part in
    /// balancing, for any is called. `false` when nobody is left to be called.
    pub fn offer(&self, slot: usize) -> bool {
        let own = &self.servers[slot].queue;
        if own.is_deserted() && self.queue.is_deserted() {
            return false;
        }
        // The state of the server is read after its served requests were changed.
        fence(SeqCst);
        call_either(own, self.queue_for(slot), slot)
    }

    /// Calls as many as a server has free places; returns how many.
    pub fn let_in(&self, slot: usize) -> u32 {
        fence(SeqCst);
        self.call_up_to(self.room(slot), slot)
    }

    /// The same for all servers that take part, for those who wait for any.
    pub fn let_all_in(&self) {
        fence(SeqCst);
        if self.queue.is_deserted() {
            return;
        }
        for slot in self.servers.iter().map(|server| server.state.slot()) {
            let room = self.room(slot);
            if self.queue_for(slot).is_some() && self.call_up_to(room, slot) < room {
                return;
            }
        }
    }

    fn call_up_to(&self, room: u32, slot: usize) -> u32 {
        let mut called = 0;
        while called < room && self.offer(slot) {
            called += 1;
        }
        called
    }

    fn room(&self, slot: usize) -> u32 {
        let load = self.servers[slot].state.load();
        match load.maxconn() {
            0 => u32::MAX,
            limit => limit.saturating_sub(load.served()),
        }
    }

    /// The queue of those who wait for any server, if they may have this one.
    fn queue_for(&self, slot: usize) -> Option<&Queue> {
        self.balancer.takes_part(slot).then_some(&self.queue)
    }
}
