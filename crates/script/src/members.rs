//! Fetches and converters as methods: `txn.f:req_hdr("host")` is the expression `req.hdr(host)`.

use crate::convert;
use crate::error::ScriptError;
use mlua::{Lua, Result, Table, Value as LuaValue};
use sample::{Captures, Expr, Facts, ParseContext, Shared, Value, conv, fetch, word};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Expressions that a state keeps compiled; further ones are compiled at each call.
const KEEP: usize = 1024;

/// Compiled expressions, by their text.
#[derive(Default)]
pub(crate) struct Members(HashMap<String, Arc<Expr>>);

/// The name of the method for a keyword.
fn method(keyword: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    keyword.chars().map(plain).collect()
}

/// Adds the names of methods with their keywords.
pub(crate) fn add_names(lua: &Lua, native: &Table) -> Result<()> {
    let fetches = fetch::all().map(|it| it.name).filter(|name| !name.starts_with("lua."));
    let converters = conv::all().map(|it| it.name).filter(|name| !name.starts_with("lua."));
    let table = |names: &mut dyn Iterator<Item = &'static str>| {
        lua.create_table_from(names.map(|name| (method(name), name)))
    };
    native.set("fetches", table(&mut { fetches })?)?;
    native.set("converters", table(&mut { converters })?)
}

/// Appends an argument so that the parser of arguments takes it as it is.
fn quote(bytes: Vec<u8>, out: &mut String) {
    let text = word::from_bytes(bytes);
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            out.push_str("\"'\"");
        }
        out.push('\'');
        out.push_str(part);
        out.push('\'');
    }
}

/// The text of a call.
fn text(lua: &Lua, keyword: &str, args: &[LuaValue]) -> std::result::Result<String, ScriptError> {
    let mut text = keyword.to_owned();
    if args.is_empty() {
        return Ok(text);
    }
    text.push('(');
    for (index, arg) in args.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        match convert::bytes(lua, arg) {
            Some(bytes) => quote(bytes, &mut text),
            None if arg.is_nil() => {}
            None => {
                let (number, kind) = (index + 1, arg.type_name());
                let name = method(keyword);
                return Err(ScriptError::Argument(format!(
                    "bad argument #{number} to '{name}' (string expected, got {kind})"
                )));
            }
        }
    }
    text.push(')');
    Ok(text)
}

/// Parses where no file may be read.
fn parse(text: &str, name: &str) -> std::result::Result<Expr, ScriptError> {
    let files = |_: &std::path::Path| Err(io::ErrorKind::Unsupported.into());
    let shared = Shared::new(&files, &|_| None);
    let captures = Captures::default();
    let context = ParseContext::new(&shared, &captures);
    Expr::parse_word(text, &context).map_err(|error| {
        let (name, message) = (method(name), error.message);
        ScriptError::Argument(format!("bad argument #1 to '{name}' ({message})"))
    })
}

impl Members {
    fn compiled(
        &mut self,
        text: String,
        name: &str,
    ) -> std::result::Result<Arc<Expr>, ScriptError> {
        if let Some(known) = self.0.get(&text) {
            return Ok(known.clone());
        }
        let expr = Arc::new(parse(&text, name)?);
        if self.0.len() < KEEP {
            self.0.insert(text, expr.clone());
        }
        Ok(expr)
    }

    /// A fetch as a method.
    ///
    /// # Errors
    /// The arguments do not suit it.
    pub(crate) fn fetch(
        &mut self,
        lua: &Lua,
        facts: &dyn Facts,
        (keyword, args): (&str, &[LuaValue]),
        as_text: bool,
    ) -> std::result::Result<LuaValue, ScriptError> {
        let expr = self.compiled(text(lua, keyword, args)?, keyword)?;
        finish(lua, expr.eval(facts).ok(), as_text)
    }

    /// A converter as a method; the first argument is its input.
    ///
    /// # Errors
    /// The arguments do not suit it.
    pub(crate) fn convert(
        &mut self,
        lua: &Lua,
        facts: &dyn Facts,
        (keyword, args): (&str, &[LuaValue]),
        as_text: bool,
    ) -> std::result::Result<LuaValue, ScriptError> {
        let (input, args) = match args {
            [] => (Value::Bool(false), args),
            [input, args @ ..] => (convert::from_lua(input), args),
        };
        let mut chain = "str(),".to_owned();
        chain.push_str(&text(lua, keyword, args)?);
        let expr = self.compiled(chain, keyword)?;
        finish(lua, expr.apply(input, facts), as_text)
    }
}

fn finish(
    lua: &Lua,
    value: Option<Value<'_>>,
    as_text: bool,
) -> std::result::Result<LuaValue, ScriptError> {
    let made = match (as_text, value) {
        (true, value) => convert::to_text(lua, value),
        (false, None) => Ok(LuaValue::Nil),
        (false, Some(value)) => convert::to_lua(lua, value),
    };
    made.map_err(ScriptError::from)
}
