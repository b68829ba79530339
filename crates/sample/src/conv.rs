//! The table of converters: one entry per keyword.

pub mod arith;
pub mod crypt;
pub mod debug;
pub mod digest;
pub mod encode;
pub mod fix;
pub mod hashing;
pub mod json;
pub mod json_query;
pub mod language;
pub mod map;
pub mod mqtt;
pub mod net;
pub mod protobuf;
pub mod table;
pub mod text;
pub mod time;
pub mod url;
pub mod variable;

use crate::args::{Args, PrepareFn};
use crate::facts::Facts;
use crate::value::{Type, Value};
use crate::{error, known_keywords, script};

/// Converts a value that already has the type the converter asks for; nothing makes the expression
/// undefined.
pub type ConvertFn = for<'e> fn(&'e Args, Value<'e>, &'e dyn Facts) -> Option<Value<'e>>;

/// One converter.
#[derive(Debug)]
pub struct Converter {
    /// Keyword.
    pub name: &'static str,
    /// Arguments, as keyword listings print them.
    pub args: &'static str,
    /// Type that the input is cast to first.
    pub from: Type,
    /// Type of the output; [`Type::Any`] passes the input's on.
    pub to: Type,
    /// One line for help and the reference page.
    pub doc: &'static str,
    /// Final checks of the arguments.
    pub prepare: Option<PrepareFn>,
    /// The conversion.
    pub eval: ConvertFn,
    /// Whether the output depends on the input and the arguments alone.
    pub(crate) input_only: bool,
}

const fn conv(
    name: &'static str,
    args: &'static str,
    types: (Type, Type),
    doc: &'static str,
    eval: ConvertFn,
) -> Converter {
    Converter {
        name,
        args,
        from: types.0,
        to: types.1,
        doc,
        prepare: None,
        eval,
        input_only: false,
    }
}

impl Converter {
    const fn input_only(mut self) -> Converter {
        self.input_only = true;
        self
    }

    const fn prepare(mut self, prepare: PrepareFn) -> Converter {
        self.prepare = Some(prepare);
        self
    }
}

/// The entry that represents the converters of scripts.
pub(crate) const fn of_scripts(eval: ConvertFn) -> Converter {
    const DOC: &str = "Calls a function that a script has registered.";
    conv("lua.", "[<arg>...]", (Type::Str, Type::Str), DOC, eval)
}

/// Every table; names are unique over all.
const TABLES: &[&[Converter]] = &[
    arith::TABLE,
    text::TABLE,
    encode::TABLE,
    url::TABLE,
    hashing::TABLE,
    json::TABLE,
    json_query::TABLE,
    digest::TABLE,
    crypt::TABLE,
    language::TABLE,
    fix::TABLE,
    mqtt::TABLE,
    protobuf::TABLE,
    net::TABLE,
    time::TABLE,
    variable::TABLE,
    debug::TABLE,
    map::TABLE,
    table::TABLE,
];

/// All the converters that work.
pub fn all() -> impl Iterator<Item = &'static Converter> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The converter called `name`.
pub fn find(name: &str) -> Option<&'static Converter> {
    all().find(|converter| converter.name == name)
}

/// The message about a converter that [`find`] does not know.
pub(crate) fn unknown(name: &str) -> String {
    if name.starts_with(script::PREFIX) {
        return format!("unknown converter '{name}': no script has registered it");
    }
    if known_keywords::converters().any(|known| known == name) {
        return format!(
            "converter '{name}' is not implemented yet{}",
            known_keywords::reason(name)
        );
    }
    let hint = error::hint(name, all().map(|conv| conv.name).chain(known_keywords::converters()));
    format!("unknown converter '{name}'{hint}")
}

#[cfg(test)]
mod tests;
