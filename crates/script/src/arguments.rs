//! Arguments of native functions, with the messages of the interpreter's own library.

use crate::error::ScriptError;
use mlua::{Lua, LuaString, MultiValue, Value};

/// A result, or an error that Lua raises in the script.
pub(crate) type NativeResult<T> = Result<T, ScriptError>;

/// The arguments of a call.
pub(crate) struct NativeArgs(Vec<Value>);

impl NativeArgs {
    pub(crate) fn new(values: MultiValue) -> NativeArgs {
        NativeArgs(values.into_vec())
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Value> {
        self.0.get(index)
    }

    /// The name of an argument's type.
    fn kind(&self, index: usize) -> &'static str {
        self.0.get(index).map_or("no value", Value::type_name)
    }

    /// The error of an argument of a wrong type.
    pub(crate) fn bad(&self, index: usize, function: &str, expected: &str) -> ScriptError {
        let (number, kind) = (index + 1, self.kind(index));
        let kind = if kind == "integer" { "number" } else { kind };
        let wrong = format!("{expected} expected, got {kind}");
        ScriptError::Argument(format!("bad argument #{number} to '{function}' ({wrong})"))
    }

    /// A string, or a number as its text.
    pub(crate) fn text(&self, lua: &Lua, index: usize, function: &str) -> NativeResult<LuaString> {
        match self.0.get(index) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value @ (Value::Integer(_) | Value::Number(_))) => {
                let text = lua.coerce_string(value.clone()).ok().flatten();
                text.ok_or_else(|| self.bad(index, function, "string"))
            }
            _ => Err(self.bad(index, function, "string")),
        }
    }

    /// A number without fraction; `None` where it is left out.
    pub(crate) fn integer(
        &self,
        lua: &Lua,
        index: usize,
        function: &str,
    ) -> NativeResult<Option<i64>> {
        match self.0.get(index) {
            None | Some(Value::Nil) => Ok(None),
            Some(value) => match lua.coerce_integer(value.clone()) {
                Ok(Some(number)) => Ok(Some(number)),
                _ if matches!(value, Value::Number(_)) => {
                    let (number, wrong) = (index + 1, "number has no integer representation");
                    let text = format!("bad argument #{number} to '{function}' ({wrong})");
                    Err(ScriptError::Argument(text))
                }
                _ => Err(self.bad(index, function, "number")),
            },
        }
    }
}
