//! `show stat` as CSV: management.txt 9.1.

use super::field::COLUMNS;
use super::{Row, Value, modules};
use std::fmt::Write as _;

/// The header, then a line per row. A `-` closes the fixed columns; those of modules follow it.
pub fn write(rows: &[Row], out: &mut String) {
    header(out);
    lines(rows, out);
}

/// The names of the columns.
pub fn header(out: &mut String) {
    out.push_str("# ");
    for column in &COLUMNS {
        out.push_str(column.name);
        out.push(',');
    }
    out.push_str("-,");
    for column in modules::columns() {
        out.push_str(column.name);
        out.push(',');
    }
    out.push('\n');
}

/// A line per row.
pub fn lines(rows: &[Row], out: &mut String) {
    for row in rows {
        for value in row.values() {
            cell(value, out);
            out.push(',');
        }
        out.push_str("-,");
        for at in 0..modules::columns().count() {
            cell(row.modules().get(at).unwrap_or(&Value::Empty), out);
            out.push(',');
        }
        out.push('\n');
    }
}

/// A value; texts that would be ambiguous are quoted, and quotes in them doubled.
fn cell(value: &Value, out: &mut String) {
    let Value::Text(text) = value else {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
        return;
    };
    if !text.contains([',', '"', '\n', '\r']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\"\""),
            '\n' | '\r' => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
}
