//! Wakes a queued request when a server has a free slot.
//!
//! A request that frees a connection slot calls a waiter ([`Backend::offer`]). A called waiter
//! without use for the slot passes the call on. The queue remembers a slot for which no waiter was
//! left to call; it is offered again when a called waiter leaves the queue ([`Backend::let_in`],
//! [`Backend::let_all_in`]), so that waiters that have joined behind get it.
//!
//! A freed slot and a joining request must not miss each other. The request that frees the slot
//! changes the served requests, then reads the length of the queue, both in sequentially consistent
//! order, which costs nothing on x86. The joining request is counted, fences, then looks for a
//! slot. Limits and states change rarely: there, a fence separates the two steps.

use crate::state::backend::queue::{Queue, call_either};
use crate::state::runtime::Backend;
use std::sync::atomic::{Ordering::SeqCst, fence};

impl Backend {
    /// Calls the first request that waits for this server or, if the server takes part in
    /// balancing, for any server. `false` when no waiter is left to call.
    pub fn offer(&self, slot: usize) -> bool {
        let own = &self.servers[slot].queue;
        if own.is_deserted() && self.queue.is_deserted() {
            return false;
        }
        // The state of the server is read after its served requests were changed.
        fence(SeqCst);
        call_either(own, self.queue_for(slot), slot)
    }

    /// Calls as many waiters as a server has free connection slots; returns how many.
    pub fn let_in(&self, slot: usize) -> u32 {
        fence(SeqCst);
        self.call_up_to(self.room(slot), slot)
    }

    /// The same for all servers that take part in balancing, for requests that wait for any server.
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

    /// The queue of requests that wait for any server, if they may use this one.
    fn queue_for(&self, slot: usize) -> Option<&Queue> {
        self.balancer.takes_part(slot).then_some(&self.queue)
    }
}
