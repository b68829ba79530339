//! Conversion between samples and Lua's values.

use crate::process::Plain;
use mlua::{Lua, Result, Value as LuaValue};
use sample::{Type, Value};

/// A sample as a script gets it: booleans are numbers, addresses are text.
pub(crate) fn to_lua(lua: &Lua, value: Value<'_>) -> Result<LuaValue> {
    Ok(match value {
        Value::Bool(on) => LuaValue::Integer(on.into()),
        Value::Int(number) => LuaValue::Integer(number),
        Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes) => {
            LuaValue::String(lua.create_string(&*bytes)?)
        }
        address => to_text(lua, Some(address))?,
    })
}

/// A sample as text; an empty text if there is no sample.
pub(crate) fn to_text(lua: &Lua, value: Option<Value<'_>>) -> Result<LuaValue> {
    let bytes = value.and_then(|value| value.cast(Type::Str)?.to_str());
    Ok(LuaValue::String(lua.create_string(bytes.as_deref().unwrap_or_default())?))
}

/// The sample that a script returns. A table, a function and the like are false; a number with a
/// fraction is 0.
pub(crate) fn from_lua(value: &LuaValue) -> Value<'static> {
    match value {
        LuaValue::Boolean(on) => Value::Bool(*on),
        LuaValue::Integer(number) => Value::Int(*number),
        LuaValue::Number(number) if number.fract() == 0.0 => Value::Int(*number as i64),
        LuaValue::Number(_) => Value::Int(0),
        LuaValue::String(text) => Value::Str(text.as_bytes().to_vec().into()),
        _ => Value::Bool(false),
    }
}

/// The bytes of a text or a number.
pub(crate) fn bytes(lua: &Lua, value: &LuaValue) -> Option<Vec<u8>> {
    match value {
        LuaValue::String(text) => Some(text.as_bytes().to_vec()),
        LuaValue::Integer(_) | LuaValue::Number(_) => {
            Some(lua.coerce_string(value.clone()).ok()??.as_bytes().to_vec())
        }
        LuaValue::Boolean(on) => Some(on.to_string().into_bytes()),
        _ => None,
    }
}

/// A value of the process as a script gets it.
pub(crate) fn from_plain(lua: &Lua, value: Plain) -> Result<LuaValue> {
    Ok(match value {
        Plain::Nil => LuaValue::Nil,
        Plain::Bool(on) => LuaValue::Boolean(on),
        Plain::Int(number) => LuaValue::Integer(number),
        Plain::Float(number) => LuaValue::Number(number),
        Plain::Text(text) => LuaValue::String(lua.create_string(text)?),
        Plain::Map(fields) => {
            let table = lua.create_table()?;
            for (name, value) in fields {
                table.raw_set(lua.create_string(name)?, from_plain(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
        Plain::List(values) => {
            let table = lua.create_table()?;
            for (index, value) in values.into_iter().enumerate() {
                table.raw_set(index + 1, from_plain(lua, value)?)?;
            }
            LuaValue::Table(table)
        }
    })
}
