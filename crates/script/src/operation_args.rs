//! Arguments and result of an operation of the built-in tables.

use crate::convert;
use crate::error::ScriptError;
use mlua::{Lua, Value as LuaValue};
use sample::Side;

/// A value for the script, or the error that Lua raises in it.
pub(crate) type Outcome = Result<LuaValue, ScriptError>;

/// The arguments of a call.
pub(crate) struct Args<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) values: &'a [LuaValue],
}

impl<'a> Args<'a> {
    pub(crate) fn value(&self, index: usize) -> &'a LuaValue {
        self.values.get(index).unwrap_or(&LuaValue::Nil)
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<Vec<u8>, ScriptError> {
        convert::bytes(self.lua, self.value(index)).ok_or_else(|| {
            let kind = self.value(index).type_name();
            let text = format!("bad argument #{} (string expected, got {kind})", index + 1);
            ScriptError::Argument(text)
        })
    }

    pub(crate) fn text(&self, index: usize) -> Result<String, ScriptError> {
        String::from_utf8(self.bytes(index)?)
            .map_err(|_| ScriptError::Argument("text expected".to_owned()))
    }

    pub(crate) fn int(&self, index: usize) -> i64 {
        self.value(index).as_integer().unwrap_or(0)
    }

    pub(crate) fn side(&self, index: usize) -> Side {
        if self.int(index) == 1 { Side::Response } else { Side::Request }
    }
}

pub(crate) const DONE: Outcome = Ok(LuaValue::Boolean(true));
