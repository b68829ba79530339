//! Changes of servers and frontends that scripts ask for: the runtime commands of the same effect.

use super::call::{Call, Reply, SessionState};
use super::table;
use crate::settings::{CliSocket, Level, Settings};
use engine::state::worker::Worker;
use std::rc::Rc;

/// Runs a command in the name of a script. Returns the text of its message, if any.
pub(crate) fn run(worker: &Rc<Worker>, settings: &Settings, words: &[&str]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let socket = CliSocket { level: Level::Admin, ..CliSocket::default() };
    let mut state = SessionState { origin: "Lua script", ..SessionState::new(&socket, settings) };
    let mut call = Call { worker, settings, state: &mut state, words: &words, payload: None };
    match table::run(&mut call) {
        Reply::Message(_, text) | Reply::Bare(_, text) => Some(text),
        _ => None,
    }
}
