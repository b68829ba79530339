//! `show stat json` and `show info json`.

/// The schema of what is written here, in HAProxy's words, for tools that check against it.
pub const SCHEMA: &str = include_str!("schema.json");

use super::info::Item;
use super::{Row, Tags, Value};
use std::fmt::Write as _;
use stdx::json::quote;

/// An array of objects, each an array of values.
pub fn write(rows: &[Row], out: &mut String) {
    begin(out);
    let mut first = true;
    rows.iter().for_each(|row| object(row, std::mem::take(&mut first), out));
    end(out);
}

/// Begins the array of objects.
pub fn begin(out: &mut String) {
    out.push('[');
}

/// Ends the array of objects.
pub fn end(out: &mut String) {
    out.push_str("]\n");
}

/// Writes one object; `first`: no object precedes it.
pub fn object(row: &Row, first: bool, out: &mut String) {
    out.push_str(if first { "[" } else { ",[" });
    let mut comma = "";
    for (position, column, tags, value) in row.present_values() {
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{comma}{{\"objType\":\"{}\",\"proxyId\":{},\"id\":{},",
            row.kind.name(),
            row.proxy,
            row.id
        );
        field(position, column.name, tags, value, out);
        comma = ",";
    }
    out.push(']');
}

/// An array of values.
pub fn write_info(items: &[Item], out: &mut String) {
    out.push('[');
    for (number, item) in items.iter().enumerate() {
        out.push_str(if number == 0 { "{" } else { ",{" });
        field(item.position, item.name, item.tags, &item.value, out);
    }
    out.push_str("]\n");
}

fn field(position: usize, name: &str, tags: Tags, value: &Value, out: &mut String) {
    let _ = write!(out, "\"field\":{{\"pos\":{position},\"name\":\"{name}\"}},\"processNum\":1,");
    tagged(tags, value, out);
}

/// An array of values that belong neither to a proxy nor to the process.
pub(crate) fn plain(values: &[(&str, Tags, Value)], out: &mut String) {
    out.push('[');
    for (position, (name, tags, value)) in values.iter().enumerate() {
        out.push_str(if position == 0 { "{" } else { ",{" });
        let _ = write!(out, "\"field\":{{\"pos\":{position},\"name\":\"{name}\"}},");
        tagged(*tags, value, out);
    }
    out.push(']');
}

fn tagged(tags: Tags, value: &Value, out: &mut String) {
    let mut letters = tags.0.chars();
    let mut word = |words: &[(char, &'static str)]| {
        let letter = letters.next();
        words.iter().find(|it| Some(it.0) == letter).map_or("Unknown", |it| it.1)
    };
    let (origin, nature, scope) = (word(ORIGINS), word(NATURES), word(SCOPES));
    let _ = write!(
        out,
        "\"tags\":{{\"origin\":\"{origin}\",\"nature\":\"{nature}\",\"scope\":\"{scope}\"}},"
    );
    let _ = write!(out, "\"value\":{{\"type\":\"{}\",\"value\":", value.kind());
    match value {
        Value::Text(text) => quote(text, out),
        other => {
            let _ = write!(out, "{other}");
        }
    }
    out.push_str("}}");
}

const ORIGINS: &[(char, &str)] =
    &[('M', "Metric"), ('S', "Status"), ('K', "Key"), ('C', "Config"), ('P', "Product")];
const NATURES: &[(char, &str)] = &[
    ('A', "Age"),
    ('a', "Avg"),
    ('C', "Counter"),
    ('D', "Duration"),
    ('G', "Gauge"),
    ('L', "Limit"),
    ('M', "Max"),
    ('m', "Min"),
    ('N', "Name"),
    ('O', "Output"),
    ('R', "Rate"),
    ('T', "Time"),
];
const SCOPES: &[(char, &str)] =
    &[('C', "Cluster"), ('P', "Process"), ('S', "Service"), ('s', "System")];
