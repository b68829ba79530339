//! `show stat typed` and `show info typed`: management.txt 9.2.

use super::info::Item;
use super::{Kind, Row};
use std::fmt::Write as _;

/// A line per value that is not empty; `describe` appends each field's description, quoted.
pub fn write(rows: &[Row], describe: bool, out: &mut String) {
    for row in rows {
        let letter = match row.kind {
            Kind::Frontend => 'F',
            Kind::Backend => 'B',
            Kind::Server => 'S',
            Kind::Listener => 'L',
        };
        for (position, column, tags, value) in row.present_values() {
            let (name, tags) = (column.name, tags.0);
            // Writing to a string cannot fail.
            let _ = write!(out, "{letter}.{}.{}.{position}.{name}.1:{tags}:", row.proxy, row.id);
            let _ = write!(out, "{}:{}", value.kind(), one_line(&value.to_string()));
            end(column.doc, describe, out);
        }
    }
}

/// A line per value of `show info`.
pub fn write_info(items: &[Item], describe: bool, out: &mut String) {
    for item in items {
        let (value, tags) = (&item.value, item.tags.0);
        let _ = write!(out, "{}.{}.1:{tags}:{}:{value}", item.position, item.name, value.kind());
        end(item.doc, describe, out);
    }
}

/// Ends a line, after the description if wanted.
pub(crate) fn end(doc: &str, describe: bool, out: &mut String) {
    if describe {
        let _ = write!(out, ":\"{doc}\"");
    }
    out.push('\n');
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
