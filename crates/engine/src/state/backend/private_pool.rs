//! Idle server connections of one client alone.

use crate::state::backend::server_connection::ServerConn;
use crate::state::thread_handle::ServerRef;
use std::rc::Rc;

/// The connections, oldest first. An empty pool takes one word.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "clients are many, and few have any")]
pub struct PrivatePool(Option<Box<Vec<Box<ServerConn>>>>);

impl PrivatePool {
    /// Adds a connection, unless it is spoilt. Beyond `limit` connections the oldest are closed
    /// (`max-session-srv-conns`).
    pub(crate) fn put(&mut self, connection: Box<ServerConn>, limit: u32) {
        if connection.is_spoilt() {
            return;
        }
        let list = self.0.get_or_insert_default();
        list.push(connection);
        let surplus = list.len().saturating_sub(limit as usize);
        list.drain(..surplus);
    }

    /// Takes the newest open connection to this server that has this key.
    pub(crate) fn take(&mut self, server: &ServerRef, key: u64) -> Option<Box<ServerConn>> {
        let list = self.0.as_mut()?;
        let fits = |it: &ServerConn| {
            it.server().is_some_and(|own| Rc::ptr_eq(own, server)) && it.key() == key
        };
        while let Some(place) = list.iter().rposition(|it| fits(it)) {
            let connection = list.remove(place);
            if !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }
}
