//! Stick tables by number, and the rules that name them.
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::model::At;
use sample::{TableMention, TableUse, tables};
use std::collections::HashSet;
use std::sync::Arc;
use table::{DataType, Settings};

/// All tables in the order of their sections, every mention resolved. An unknown name is an alert,
/// and so are keys of the wrong type, except in sections that are out of service.
pub(super) fn collect(
    declared: Vec<At<Settings>>,
    (retired, peers): (&HashSet<Arc<str>>, &HashSet<Arc<str>>),
    cx: &mut Cx<'_>,
) -> Vec<Settings> {
    let mut found: Vec<(Settings, Place)> = Vec::new();
    for table in declared {
        if let Some((_, first)) = found.iter().find(|(it, _)| it.name == table.value.name) {
            let name = &table.value.name;
            let message =
                format!("stick-table name '{name}' conflicts with table declared at {first}.");
            cx.about(Severity::Alert, &table.place, message);
        }
        if let Some(name) = table.value.peers.as_ref().filter(|name| !peers.contains(*name)) {
            let proxy = &table.value.name;
            let message = format!("Proxy '{proxy}': unable to find sync peers '{name}'.");
            cx.about(Severity::Alert, &table.place, message);
        }
        found.push((table.value, table.place));
    }
    for (table, place) in &found {
        let faults = [wrong_target(table, &found), hidden_copy(table, &found)];
        faults.into_iter().flatten().for_each(|message| cx.about(Severity::Alert, place, message));
    }
    let mut settings: Vec<Settings> = found.into_iter().map(|(settings, _)| settings).collect();
    for mention in cx.tables.take() {
        if retired.contains(&*mention.proxy) {
            continue;
        }
        resolve(&mention, &mut settings, cx);
    }
    settings
}

/// The reason why tags and servers cannot be written to the table that `write-to` names.
fn wrong_target(table: &Settings, all: &[(Settings, Place)]) -> Option<String> {
    let (name, target) = (&table.name, table.write_to.as_ref()?);
    let Some((found, _)) = all.iter().find(|(other, _)| other.name == *target) else {
        return Some(format!(
            "stick-table '{name}': unable to find table '{target}' referenced by write-to."
        ));
    };
    if found.name == *name {
        return Some(format!("stick-table '{name}': 'write-to' cannot name the table itself."));
    }
    let message = format!(
        "stick-table '{name}': 'write-to' table '{target}' has keys of another type or length."
    );
    (found.kind != table.kind).then_some(message)
}

/// The reason why a table would be confused with the copy that a table with `aggregate` keeps for a
/// peer.
fn hidden_copy(table: &Settings, all: &[(Settings, Place)]) -> Option<String> {
    let is_it = |(other, _): &&(Settings, Place)| {
        other.aggregate.is_some()
            && other.peers == table.peers
            && table.name.strip_prefix(&*other.name).is_some_and(|rest| rest.starts_with('@'))
    };
    let (other, _) = all.iter().find(is_it)?;
    let (name, other) = (&table.name, &other.name);
    Some(format!(
        "stick-table '{name}' has the name of a copy that stick-table '{other}' keeps ('aggregate')."
    ))
}

fn resolve(mention: &TableMention, all: &mut [Settings], cx: &mut Cx<'_>) {
    let (name, proxy) = (mention.table.name(), &mention.proxy);
    let Some(number) = all.iter().position(|table| *table.name == *name) else {
        let message = match &mention.usage {
            TableUse::Argument { number, keyword } => format!(
                "unable to find table '{name}' referenced in arg {number} of {keyword} in proxy '{proxy}'."
            ),
            TableUse::Track(slot, _) => format!(
                "Proxy '{proxy}': unable to find table '{name}' referenced by track-sc{slot}."
            ),
            TableUse::Bandwidth(filter, ..) => format!(
                "Proxy {proxy} : unable to find table '{name}' referenced by bwlim filter '{filter}'"
            ),
            TableUse::Match(_) => format!("Proxy '{proxy}': unable to find stick-table '{name}'."),
            TableUse::Store(_) => format!("Proxy '{proxy}': unable to find store table '{name}'."),
        };
        let mut alert = Diagnostic::about(Severity::Alert, &place(mention), message);
        alert.suggestion = crate::suggest::nearest(name, all.iter().map(|table| &*table.name));
        // A format of `defaults` is compiled for each proxy; one alert is enough.
        if !cx.diagnostics.iter().any(|told| *told == alert) {
            cx.diagnostics.push(alert);
        }
        return;
    };
    let table = &mut all[number];
    let wrong = match &mention.usage {
        TableUse::Track(slot, key) if !tables::fits(*key, table.kind) => Some(format!(
            "Proxy '{proxy}': stick-table '{name}' uses a type incompatible with the 'track-sc{slot}' rule."
        )),
        TableUse::Bandwidth(filter, key, data) => {
            let wrong = match (tables::fits(*key, table.kind), table.stores(*data)) {
                (false, _) => Some(("type incompatible with the key of", String::new())),
                (_, false) => {
                    let what = format!(". It must be '{}'", data.name());
                    Some(("data type incompatible with", what))
                }
                _ => None,
            };
            wrong.map(|(what, more)| {
                format!("Proxy {proxy} : stick-table '{name}' uses a {what} bwlim filter '{filter}'{more}")
            })
        }
        TableUse::Match(key) | TableUse::Store(key) if !tables::fits(*key, table.kind) => {
            Some(format!(
                "Proxy '{proxy}': type of pattern not usable with type of stick-table '{name}'."
            ))
        }
        TableUse::Match(_) | TableUse::Store(_) => {
            table.add(DataType::ServerId, 1, 0);
            table.add(DataType::ServerKey, 1, 0);
            None
        }
        _ => None,
    };
    if let Some(message) = wrong {
        cx.about(Severity::Alert, &place(mention), message);
    }
    mention.table.resolve(number);
}

fn place(mention: &TableMention) -> Place {
    Place { file: Arc::clone(&mention.file), line: mention.line }
}
