//! Commands that report the state of the process.

use super::call::{Call, Reply, Severity};
use super::resolvers;
use crate::settings::Level;
use crate::stats::{Filter, Listing, Look, States, info, json, typed};

pub(super) fn version(call: &mut Call<'_>) -> Reply {
    Reply::Message(Severity::Info, call.settings.version.clone())
}

/// `show startup-logs`: the messages about the configuration.
pub(super) fn startup_logs(call: &mut Call<'_>) -> Reply {
    Reply::Dump(call.settings.startup_logs.clone())
}

/// `show info [typed|json] [desc] [float]`.
pub(super) fn info(call: &mut Call<'_>) -> Reply {
    let has = |word: &str| call.words[2..].iter().any(|it| it == word);
    let items = info::all(call.worker, call.settings, has("float"));
    let mut out = String::new();
    match look(&call.words[2..]) {
        Look::Json => json::write_info(&items, &mut out),
        Look::Typed { describe } => typed::write_info(&items, describe, &mut out),
        Look::Csv => info::write(&items, has("desc"), &mut out),
    }
    Reply::Dump(out)
}

/// How figures are written: the last word about it counts.
fn look(words: &[String]) -> Look {
    let about = |word: &&String| matches!(word.as_str(), "json" | "typed");
    match words.iter().rev().find(about).map(String::as_str) {
        Some("json") => Look::Json,
        Some(_) => Look::Typed { describe: words.iter().any(|word| word == "desc") },
        None => Look::Csv,
    }
}

/// `show stat [domain <resolvers|proxy>] [{<iid>|<proxy>} <type> <sid>] [typed|json] [desc]
/// [up|no-maint]`.
pub(super) fn stat(call: &mut Call<'_>) -> Reply {
    let mut rest = &call.words[2..];
    let mut domain = "proxy";
    if rest.first().is_some_and(|word| word == "domain") {
        domain = rest.get(1).map_or("", String::as_str);
        rest = rest.get(2..).unwrap_or_default();
    }
    let has = |word: &str| rest.iter().any(|it| it == word);
    let look = look(rest);
    match domain {
        "proxy" => {}
        "resolvers" => return Reply::Dump(resolvers::statistics(call.shared(), look)),
        _ => return Reply::error("Invalid statistics domain."),
    }
    let legends = call.state.offered >= Level::Operator;
    let mut filter = Filter { legends, modules: true, ..Filter::default() };
    if has("up") {
        filter.states = States::Up;
    } else if has("no-maint") {
        filter.states = States::NoMaint;
    }
    if let Err(reply) = select(call, rest, &mut filter) {
        return reply;
    }
    let mut listing = Listing::new(filter, look);
    Reply::Pieces(Box::new(move |worker, out| listing.next(worker, out)))
}

/// The three words that select objects, if all three are there.
fn select(call: &Call<'_>, words: &[String], filter: &mut Filter) -> Result<(), Reply> {
    let [proxy, kinds, id, ..] = words else { return Ok(()) };
    let (Some(kinds), Some(id)) = (number(kinds), number(id)) else { return Ok(()) };
    let named = || call.shared().proxies.iter().find(|it| it.name() == proxy.as_str());
    filter.proxy = match (number(proxy), named()) {
        (_, Some(proxy)) => Some(proxy.settings.id),
        (Some(id), None) => u32::try_from(id).ok(),
        (None, None) => return Err(Reply::error("No such proxy.")),
    };
    filter.kinds = kinds as u32;
    filter.id = u32::try_from(id).ok();
    Ok(())
}

/// A number; -1 means all.
fn number(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// `show schema json`: what the JSON of `show info` and `show stat` looks like.
pub(super) fn schema(_: &mut Call<'_>) -> Reply {
    Reply::Dump(format!("{}\n", json::SCHEMA.trim_end()))
}
