//! Idle server connections that belong to one client, because nobody else may use them.

use crate::state::backend::server_connection::ServerConn;
use crate::state::thread_handle::ServerRef;
use std::rc::Rc;

/// The connections, oldest first. One that has none takes a word, and no memory besides.
#[derive(Default)]
#[expect(clippy::box_collection, reason = "clients are many, and few have any")]
pub struct Own(Option<Box<Vec<Box<ServerConn>>>>);

impl Own {
    /// Lays a connection down, unless it is of no use any more. Of more than `limit` of them the
    /// oldest is closed (`max-session-srv-conns`).
    pub(crate) fn put(&mut self, connection: Box<ServerConn>, limit: u32) {
        if connection.is_spoilt() {
            return;
        }
        let list = self.0.get_or_insert_default();
        list.push(connection);
        let surplus = list.len().saturating_sub(limit as usize);
        list.drain(..surplus);
    }

    /// Takes the newest connection to this server that began in this way and still stands.
    pub(crate) fn take(&mut self, server: &ServerRef, key: u64) -> Option<Box<ServerConn>> {
        let list = self.0.as_mut()?;
        let fits = |it: &ServerConn| Rc::ptr_eq(it.server(), server) && it.key() == key;
        while let Some(place) = list.iter().rposition(|it| fits(it)) {
            let connection = list.remove(place);
            if !connection.is_stale() {
                return Some(connection);
            }
        }
        None
    }
}
