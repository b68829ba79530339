//! `set anon` and `show anon`: whether a session sees names as hashes (management.txt 9.3).

use super::call::{Call, Reply, Severity};
use crate::settings::Level;
use engine::state::records::anon::Anon;
use std::sync::atomic::Ordering::Relaxed;

/// `set anon on [<key>]`, `set anon off`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let key = match (call.word(2), call.word(3)) {
        ("off", _) => None,
        ("on", "") => Some(usual_key(call)),
        ("on", text) => match text.parse() {
            Ok(key) => Some(key),
            Err(_) => return Reply::error("Expects a key between 0 and 4294967295."),
        },
        _ => {
            let text = "'set anon' only supports :\n   - 'on' [key] to enable the anonymized mode\n   \
                        - 'off' to disable the anonymized mode";
            return Reply::error(text);
        }
    };
    call.state.anon = Anon::new(key);
    Reply::Done
}

/// The key of sessions without a key of their own; it is drawn at random if there is none.
fn usual_key(call: &Call<'_>) -> u32 {
    match call.settings.anon_key.load(Relaxed) {
        0 => (call.worker.thread.kernel().seed() as u32).max(1),
        key => key,
    }
}

/// `set anon global-key <key>`
pub(super) fn set_global(call: &mut Call<'_>) -> Reply {
    if call.state.level < Level::Admin {
        return Reply::error("Permission denied");
    }
    match call.word(3).parse() {
        Ok(key) => {
            call.settings.anon_key.store(key, Relaxed);
            Reply::Done
        }
        Err(_) => Reply::error("Expects a key between 0 and 4294967295."),
    }
}

/// `show anon`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let text = match call.state.anon.key() {
        Some(key) => format!("Anonymized mode enabled\nKey : {key}"),
        None => "Anonymized mode disabled".to_owned(),
    };
    Reply::Message(Severity::Info, text)
}
