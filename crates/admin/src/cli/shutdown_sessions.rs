//! `shutdown session` and `shutdown sessions server` (management.txt 9.3).

use super::call::{Call, Later, Reply};
use engine::state::session::stream_list::StreamSet;

/// `shutdown session <id>`, with the number that `show sess` lists first.
pub(super) fn one(call: &mut Call<'_>) -> Reply {
    let digits = call.word(2).strip_prefix("0x").unwrap_or(call.word(2));
    match u64::from_str_radix(digits, 16) {
        Ok(number) if number > 0 => Reply::Later(Later::End(StreamSet::Number(number))),
        _ => Reply::error("Session pointer expected (use 'show sess')."),
    }
}

/// The message for the number of streams that were ended.
pub(super) fn message(which: StreamSet, ended: usize) -> String {
    match (which, ended) {
        (StreamSet::Number(_), 0) => "No such session (use 'show sess').\n".to_owned(),
        _ => String::new(),
    }
}

/// `shutdown sessions server <bk>/<srv>`; a session that begins after the answer is not meant.
pub(super) fn of_server(call: &mut Call<'_>) -> Reply {
    match call.target(3) {
        Ok(target) => {
            let which = StreamSet::Server(target.back.proxy.index, target.slot);
            Reply::Later(Later::End(which))
        }
        Err(reply) => reply,
    }
}
