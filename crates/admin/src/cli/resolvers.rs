//! `show resolvers`: counters of name servers.

use super::call::{Call, Reply};
use crate::stats::{Look, Tags, Value, json, typed};
use engine::state::resolver::{Counters, Resolver};
use engine::state::runtime::Shared;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter: its name in the statistics, and its description.
struct CounterColumn {
    name: &'static str,
    doc: &'static str,
    of: fn(&Counters) -> &AtomicU64,
}

const fn column(
    name: &'static str,
    doc: &'static str,
    of: fn(&Counters) -> &AtomicU64,
) -> CounterColumn {
    CounterColumn { name, doc, of }
}

/// In the order of the answers.
const COLUMNS: &[CounterColumn] = &[
    column("sent", "Sent", |it| &it.sent),
    column("send_error", "Send error", |it| &it.send_error),
    column("valid", "Valid", |it| &it.valid),
    column("update", "Update", |it| &it.update),
    column("cname", "CNAME", |it| &it.cname),
    column("cname_error", "CNAME error", |it| &it.cname_error),
    column("any_err", "Any errors", |it| &it.any_err),
    column("nx", "NX", |it| &it.nx),
    column("timeout", "Timeout", |it| &it.timeout),
    column("refused", "Refused", |it| &it.refused),
    column("other", "Other", |it| &it.other),
    column("invalid", "Invalid", |it| &it.invalid),
    column("too_big", "Too big", |it| &it.too_big),
    column("truncated", "Truncated", |it| &it.truncated),
    column("outdated", "Outdated", |it| &it.outdated),
];

/// Of configuration, of measurement; both change at any time and are the process's.
const NAMED: Tags = Tags("CGP");
const COUNTED: Tags = Tags("MGP");

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

/// `show stat domain resolvers [typed|json] [desc]`: a row per name server.
pub(super) fn statistics(shared: &Shared, look: Look) -> String {
    let rows: Vec<String> = shared
        .resolvers
        .iter()
        .flat_map(|it| it.settings.nameservers.iter().zip(&it.counters).map(move |of| (it, of)))
        .map(|(resolver, (nameserver, counters))| {
            row(&cells(&nameserver.name, &resolver.settings.name, counters), look)
        })
        .collect();
    let names = || ["id", "pid"].into_iter().chain(COLUMNS.iter().map(|column| column.name));
    match look {
        Look::Csv => format!("# {},\n{}", names().collect::<Vec<_>>().join(","), rows.concat()),
        Look::Typed { .. } => rows.concat(),
        Look::Json => format!("[{}]\n", rows.join(",")),
    }
}

/// A value, its name and its description.
type NamedValue = (&'static str, &'static str, Value);

fn cells(nameserver: &str, section: &str, counters: &Counters) -> Vec<NamedValue> {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut cells = vec![("id", "ID", text(nameserver)), ("pid", "Parent ID", text(section))];
    let count = |it: &CounterColumn| (it.name, it.doc, Value::U64((it.of)(counters).load(Relaxed)));
    cells.extend(COLUMNS.iter().map(count));
    cells
}

fn row(cells: &[NamedValue], look: Look) -> String {
    let mut out = String::new();
    let tags = |place| if place < 2 { NAMED } else { COUNTED };
    match look {
        Look::Csv => {
            cells.iter().for_each(|(.., value)| out.push_str(&format!("{value},")));
            out.push('\n');
        }
        Look::Typed { describe } => {
            for (place, (name, doc, value)) in cells.iter().enumerate() {
                let (tags, kind) = (tags(place).0, value.kind());
                out.push_str(&format!("N.{place}.{name}:{tags}:{kind}:{value}"));
                typed::end(doc, describe, &mut out);
            }
        }
        Look::Json => {
            let tagged = |(place, (name, _, value)): (usize, &NamedValue)| {
                (*name, tags(place), value.clone())
            };
            let all: Vec<_> = cells.iter().enumerate().map(tagged).collect();
            json::plain(&all, &mut out);
        }
    }
    out
}

/// Every counter of a name server, with its name.
pub(crate) fn counts(counters: &Counters) -> impl Iterator<Item = (&'static str, u64)> {
    COLUMNS.iter().map(|column| (column.name, (column.of)(counters).load(Relaxed)))
}

fn section(resolver: &Resolver, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "Resolvers section {}", resolver.settings.name);
    for (nameserver, counters) in resolver.settings.nameservers.iter().zip(&resolver.counters) {
        let _ = writeln!(out, " nameserver {}:", nameserver.name);
        for column in COLUMNS {
            let name = if column.name == "send_error" { "snd_error" } else { column.name };
            let label = format!("{name}:");
            let _ = writeln!(out, "  {label:12} {}", (column.of)(counters).load(Relaxed));
        }
    }
}
