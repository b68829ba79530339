//! `show resolvers`: what name servers have said. Never asks one.

use super::call::{Call, Reply};
use proxy::Shared;
use proxy::resolver::{Counters, Resolver};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Names and counters, in the order of the answer.
type Column = (&'static str, fn(&Counters) -> &AtomicU64);

const COLUMNS: &[Column] = &[
    ("sent", |it| &it.sent),
    ("snd_error", |it| &it.send_error),
    ("valid", |it| &it.valid),
    ("update", |it| &it.update),
    ("cname", |it| &it.cname),
    ("cname_error", |it| &it.cname_error),
    ("any_err", |it| &it.any_err),
    ("nx", |it| &it.nx),
    ("timeout", |it| &it.timeout),
    ("refused", |it| &it.refused),
    ("other", |it| &it.other),
    ("invalid", |it| &it.invalid),
    ("too_big", |it| &it.too_big),
    ("truncated", |it| &it.truncated),
    ("outdated", |it| &it.outdated),
];

/// `show resolvers [<id>]`
pub(super) fn show(call: &mut Call<'_>) -> Reply {
    let (wanted, all) = (call.word(2), &call.shared().resolvers);
    let named = |it: &&Resolver| wanted.is_empty() || it.settings.name == wanted;
    let mut out = String::new();
    for resolver in all.iter().filter(named) {
        section(resolver, &mut out);
    }
    match out.is_empty() {
        false => Reply::Dump(out),
        true if wanted.is_empty() => Reply::error("No resolvers found"),
        true => Reply::error("Can't find that resolvers section"),
    }
}

/// `show stat domain resolvers`: a row per name server.
pub(super) fn csv(shared: &Shared) -> String {
    let mut out = "# id,pid,".to_owned();
    for (name, _) in COLUMNS {
        out.push_str(if *name == "snd_error" { "send_error" } else { name });
        out.push(',');
    }
    out.push('\n');
    for resolver in &shared.resolvers {
        let settings = &resolver.settings;
        for (nameserver, counters) in settings.nameservers.iter().zip(&resolver.counters) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{},{},", nameserver.name, settings.name);
            for (_, counter) in COLUMNS {
                let _ = write!(out, "{},", counter(counters).load(Relaxed));
            }
            out.push('\n');
        }
    }
    out
}

fn section(resolver: &Resolver, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "Resolvers section {}", resolver.settings.name);
    for (nameserver, counters) in resolver.settings.nameservers.iter().zip(&resolver.counters) {
        let _ = writeln!(out, " nameserver {}:", nameserver.name);
        for (name, counter) in COLUMNS {
            let label = format!("{name}:");
            let _ = writeln!(out, "  {label:12} {}", counter(counters).load(Relaxed));
        }
    }
}
