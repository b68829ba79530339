//! `show tls-keys` and `set ssl tls-key` (management.txt 9.3).

use super::call::{Call, Reply};
use super::certificates::said;
use crate::settings::Level;
use std::fmt::Write as _;
use std::sync::Arc;
use tls::{KeyFlaw, TicketKeys};

/// The number and the keys that a command names: `#<id>`, or the file.
fn find(call: &Call<'_>, named: &str) -> Option<(usize, Arc<TicketKeys>)> {
    let mut all = call.settings.tls.ticket_keys().into_iter().enumerate();
    match named.strip_prefix('#').map(str::parse::<usize>) {
        Some(number) => all.find(|(own, _)| number == Ok(*own)),
        None => all.find(|(_, keys)| keys.name() == named),
    }
}

/// `show tls-keys [<id>|*]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let named = call.word(2);
    let all = call.settings.tls.ticket_keys().into_iter().enumerate();
    // Writing to a string cannot fail.
    let mut out = String::new();
    if named.is_empty() {
        out.push_str("# id (file)\n");
        for (number, keys) in all {
            let _ = writeln!(out, "{number} ({})", keys.name());
        }
        return Reply::Dump(out);
    }
    // HAProxy shows the secrets at every level, but with them recorded traffic can be decrypted.
    if call.state.level < Level::Admin {
        return Reply::error("Permission denied");
    }
    let shown: Vec<_> = match named {
        "*" => all.collect(),
        _ => match find(call, named) {
            Some(found) => vec![found],
            None => return Reply::error("'show tls-keys' unable to locate referenced filename"),
        },
    };
    out.push_str("# id secret\n");
    for (number, keys) in shown {
        let _ = writeln!(out, "# {number} ({})", keys.name());
        for (place, key) in keys.texts().iter().enumerate() {
            let _ = writeln!(out, "{number}.{place} {key}");
        }
    }
    Reply::Dump(out)
}

/// `set ssl tls-key <id> <key>`
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let (named, key) = (call.word(3), call.word(4));
    if named.is_empty() || key.is_empty() {
        return Reply::error(
            "'set ssl tls-key' expects a filename and the new TLS key in base64 encoding.",
        );
    }
    let Some((_, keys)) = find(call, named) else {
        return Reply::error("'set ssl tls-key' unable to locate referenced filename");
    };
    match keys.push(key) {
        Ok(()) => said("TLS ticket key updated!".to_owned()),
        Err(KeyFlaw::Encoding) => {
            Reply::error("'set ssl tls-key' received invalid base64 encoded TLS key.")
        }
        Err(KeyFlaw::Size) => Reply::error("'set ssl tls-key' received a key of wrong size."),
    }
}
