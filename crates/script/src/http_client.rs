//! Requests of scripts to servers (`core.httpclient`): what a script asks for, and its answer.

use crate::host::HeaderLines;
use crate::operations;
use mlua::{Lua, Table, Value as LuaValue};

/// A request of a script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientRequest {
    /// The method.
    pub method: Vec<u8>,
    /// The URL.
    pub url: Vec<u8>,
    /// Names and values of header fields.
    pub headers: HeaderLines,
    /// The body.
    pub body: Vec<u8>,
    /// The address to send it to, in place of that of the URL.
    pub to: Option<String>,
    /// Milliseconds that the server may be silent.
    pub timeout: Option<u32>,
}

/// The response to a request of a script.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientResponse {
    /// The status.
    pub status: u16,
    /// The reason.
    pub reason: Vec<u8>,
    /// Names and values of header fields.
    pub headers: HeaderLines,
    /// The body.
    pub body: Vec<u8>,
}

impl ClientRequest {
    /// The request with these arguments: method, URL, header lines, body, address, time.
    pub(crate) fn new(values: &[LuaValue]) -> ClientRequest {
        let bytes = |at: usize| match values.get(at) {
            Some(LuaValue::String(text)) => text.as_bytes().to_vec(),
            _ => Vec::new(),
        };
        let to = values.get(4).and_then(LuaValue::as_string);
        let timeout = match values.get(5) {
            Some(LuaValue::Integer(span)) => Some(*span as f64),
            Some(LuaValue::Number(span)) => Some(*span),
            _ => None,
        };
        ClientRequest {
            method: bytes(0),
            url: bytes(1),
            headers: values.get(2).and_then(LuaValue::as_table).map(lines).unwrap_or_default(),
            body: bytes(3),
            to: to.map(|text| text.to_string_lossy()),
            timeout: timeout.map(|span| span.clamp(0.0, f64::from(u32::MAX)) as u32),
        }
    }
}

/// Names and values that follow one another in a table of texts.
fn lines(table: &Table) -> HeaderLines {
    let texts: Vec<LuaValue> = table.sequence_values().filter_map(Result::ok).collect();
    let bytes = |text: &LuaValue| text.as_string().map(|text| text.as_bytes().to_vec());
    let pair = |pair: &[LuaValue]| Some((bytes(&pair[0])?, bytes(&pair[1])?));
    texts.chunks_exact(2).filter_map(pair).collect()
}

impl ClientResponse {
    /// The table that the script gets.
    pub(crate) fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("status", self.status)?;
        table.raw_set("reason", lua.create_string(&self.reason)?)?;
        let fields = self.headers.iter().map(|(name, value)| (&name[..], &value[..]));
        table.raw_set("headers", operations::fields_table(lua, fields)?)?;
        table.raw_set("body", lua.create_string(&self.body)?)?;
        Ok(table)
    }
}
