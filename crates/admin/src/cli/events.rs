//! `show events`: the events in the rings, and later ones (management.txt 9.3).

use super::call::{Call, Reply};
use engine::state::ring::Ring;
use std::fmt::Write as _;
use std::sync::Arc;

/// The part of a ring that is read.
pub(super) struct Follow {
    pub(super) ring: Arc<Ring>,
    /// Follows the ring until the client sends something.
    pub(super) waits: bool,
    /// Only events from now on.
    pub(super) fresh: bool,
}

/// Sinks that are no rings, with their descriptions.
pub(super) const STREAMS: [(&str, &str); 2] =
    [("stdout", "standard output (fd#1)"), ("stderr", "standard output (fd#2)")];

/// `show events [<sink>] [-w] [-n]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let name = call.word(2);
    if name.is_empty() {
        return list(call);
    }
    if STREAMS.iter().any(|(stream, _)| *stream == name) {
        return Reply::Dump("Nothing to report for this sink".to_owned());
    }
    let Some(ring) = call.shared().rings.iter().find(|ring| ring.settings.name == name) else {
        return Reply::Dump("No such event sink".to_owned());
    };
    let (mut waits, mut fresh) = (false, false);
    for option in &call.words[3..] {
        let Some(letters) = option.strip_prefix('-') else {
            return Reply::Dump("unknown option".to_owned());
        };
        for letter in letters.chars() {
            match letter {
                'w' => waits = true,
                'n' => fresh = true,
                _ => return Reply::Dump("unknown option".to_owned()),
            }
        }
    }
    Reply::Follow(Follow { ring: ring.clone(), waits, fresh })
}

fn list(call: &Call<'_>) -> Reply {
    let mut out =
        "Supported events sinks are listed below. Add -w(wait), -n(new). Any key to stop\n"
            .to_owned();
    for (name, about) in STREAMS {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "    {name:<10} : type=fd, 0 dropped, {about}");
    }
    for ring in &call.shared().rings {
        let settings = &ring.settings;
        let _ = writeln!(
            out,
            "    {:<10} : type=buffer, {} dropped, {}",
            settings.name,
            ring.dropped(),
            settings.description
        );
    }
    Reply::Dump(out)
}
