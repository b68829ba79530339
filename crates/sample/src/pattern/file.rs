//! Pattern files and maps: one load per name and use, shared by all who name it. Never reads a file by itself.

use super::{Match, PatternSet};
use crate::cast::leading_int;
use crate::value::{Bytes, Type, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

type Reader<'r> = &'r dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// A map: keys of one match method, and a value of one type behind each.
#[derive(Debug)]
pub struct Map {
    /// The keys.
    pub keys: PatternSet,
    /// The values, by the number of their key.
    pub values: Vec<Value<'static>>,
}

/// A file's name, the method, whether case is ignored, whether only the first column counts.
type SetKey = (String, Match, bool, bool);

/// What was loaded so far, by name and use.
#[derive(Default)]
pub struct PatternFiles {
    texts: RefCell<HashMap<String, Arc<str>>>,
    sets: RefCell<HashMap<SetKey, Arc<PatternSet>>>,
    maps: RefCell<HashMap<(String, Match, Type), Arc<Map>>>,
}

impl PatternFiles {
    fn text(&self, name: &str, read: Reader<'_>) -> Result<Arc<str>, String> {
        if let Some(text) = self.texts.borrow().get(name) {
            return Ok(text.clone());
        }
        let bytes = read(Path::new(name))
            .map_err(|error| format!("failed to open pattern file <{name}> : {error}"))?;
        let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
        self.texts.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// The patterns of the file `name`, one per line; with `keyed`, only the first column counts
    /// (`-M`).
    pub fn set(
        &self,
        name: &str,
        method: Match,
        ignore_case: bool,
        keyed: bool,
        read: Reader<'_>,
    ) -> Result<Arc<PatternSet>, String> {
        let key = (name.to_owned(), method, ignore_case, keyed);
        if let Some(set) = self.sets.borrow().get(&key) {
            return Ok(set.clone());
        }
        let text = self.text(name, read)?;
        let rows: Vec<(usize, &str)> = rows(&text).collect();
        let patterns = rows.iter().map(|(_, row)| if keyed { columns(row).0 } else { *row });
        let set = PatternSet::new(method, ignore_case, patterns).map_err(|(number, message)| {
            format!("file '{name}', line {} : {message}", rows[number].0)
        })?;
        let set = Arc::new(set);
        self.sets.borrow_mut().insert(key, set.clone());
        Ok(set)
    }

    /// The map in the file `name`: a key, blanks and a value per line.
    pub fn map(
        &self,
        name: &str,
        method: Match,
        to: Type,
        read: Reader<'_>,
    ) -> Result<Arc<Map>, String> {
        let key = (name.to_owned(), method, to);
        if let Some(map) = self.maps.borrow().get(&key) {
            return Ok(map.clone());
        }
        let text = self.text(name, read)?;
        let rows: Vec<(usize, &str)> = rows(&text).collect();
        let place = |number: usize| format!("file '{name}', line {}", rows[number].0);
        let keys = PatternSet::new(method, false, rows.iter().map(|(_, row)| columns(row).0))
            .map_err(|(number, message)| format!("{} : {message}", place(number)))?;
        let mut values = Vec::with_capacity(rows.len());
        for (number, (_, row)) in rows.iter().enumerate() {
            let text = columns(row).1;
            let value = value(text, to)
                .ok_or_else(|| format!("{} : cannot parse value '{text}'", place(number)))?;
            values.push(value);
        }
        let map = Arc::new(Map { keys, values });
        self.maps.borrow_mut().insert(key, map.clone());
        Ok(map)
    }
}

/// The lines that hold something, with their numbers: comments begin with `#` in the first column.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let row = line.trim_start_matches([' ', '\t']);
        (!line.starts_with('#') && !row.is_empty()).then_some((number + 1, row))
    })
}

/// Key and value of a row.
fn columns(row: &str) -> (&str, &str) {
    match row.split_once([' ', '\t']) {
        Some((key, value)) => (key, value.trim_matches([' ', '\t'])),
        None => (row, ""),
    }
}

fn value(text: &str, to: Type) -> Option<Value<'static>> {
    match to {
        Type::Int => leading_int(text.as_bytes()).map(Value::Int),
        Type::Addr => text.parse::<std::net::IpAddr>().ok().map(Value::from),
        _ => Some(Value::Str(Bytes::Shared(text.as_bytes().into()))),
    }
}
