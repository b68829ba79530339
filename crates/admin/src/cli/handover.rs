//! `_getsocks`: the listening sockets go to a process that takes over (management.txt 3, `-x`).
//!
//! The answer is made of messages, each with some sockets as ancillary data and one line per socket
//! that names it; after the last one the connection closes. HAProxy's own format is not documented;
//! both sides of this one are Weir.

use super::call::{Call, Reply};
use crate::channel::Channel;
use crate::settings::{ListeningSocket, Settings};
use engine::state::runtime::Frontend;
use engine::state::worker::Worker;
use std::io;
use std::sync::Arc;

/// Sockets in one message.
const TOGETHER: usize = 32;

/// `_getsocks`
pub(super) fn send_sockets(call: &mut Call<'_>) -> Reply {
    match call.state.exposes {
        true => Reply::HandOver,
        false => Reply::error("This socket does not hand over listeners ('expose-fd listeners')."),
    }
}

/// Sends what this process listens on.
pub(super) async fn run(worker: &Worker, settings: &Settings, channel: &Channel) -> io::Result<()> {
    let listens = |handed: &&ListeningSocket| !is_shut(worker, handed);
    let all: Vec<&ListeningSocket> = settings.handed.iter().filter(listens).collect();
    for part in all.chunks(TOGETHER) {
        let names: String = part.iter().map(|it| format!("{}\n", it.name)).collect();
        let handles: Vec<_> = part.iter().map(|it| it.handle).collect();
        channel.hand_over(names.as_bytes(), &handles).await?;
    }
    Ok(())
}

/// Whether the socket has been closed, by the soft stop or together with its frontend.
fn is_shut(worker: &Worker, handed: &ListeningSocket) -> bool {
    let belongs = |front: &&Arc<Frontend>| {
        let mut sockets = front.listeners.iter().filter_map(|listener| listener.sockets.as_ref());
        sockets.any(|sockets| sockets.all().any(|handle| handle == handed.handle))
    };
    let front = || worker.shared.frontends().find(belongs);
    worker.shared.is_stopping() || front().is_some_and(|front| front.is_shut())
}
