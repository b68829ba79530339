//! The functions of the built-in tables that need nothing of the process: addresses, dates, regular
//! expressions, stack traces.

use crate::{dates, fault, surroundings};
use mlua::{AnyUserData, Function, Lua, LuaString, Result, Table, Value, Variadic};
use sample::regex::Regex;
use std::net::IpAddr;

/// An address with the bits that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits =
            bits.map_or(Some(most), |bits| bits.parse().ok()).filter(|bits| *bits <= most)?;
        Some(Network { address, bits })
    }

    /// Whether the bits that count in both are the same.
    fn matches(self, other: Network) -> bool {
        let bits = u32::from(self.bits.min(other.bits));
        match (self.address, other.address) {
            (IpAddr::V4(one), IpAddr::V4(two)) => {
                bits == 0 || (one.to_bits() ^ two.to_bits()) >> (32 - bits) == 0
            }
            (IpAddr::V6(one), IpAddr::V6(two)) => {
                bits == 0 || (one.to_bits() ^ two.to_bits()) >> (128 - bits) == 0
            }
            _ => false,
        }
    }
}

/// Adds the functions to the table that the built-in code takes them from.
pub(crate) fn add(lua: &Lua, native: &Table) -> Result<()> {
    addresses(lua, native)?;
    expressions(lua, native)?;
    traces(lua, native)?;
    let write = |_: &Lua, (number, text): (i32, LuaString)| {
        surroundings::write(number, &text.as_bytes());
        Ok(())
    };
    native.set("write", lua.create_function(write)?)?;
    let date = |read: fn(&str) -> Option<i64>| -> Result<Function> {
        lua.create_function(move |_, text: LuaString| Ok(read(&text.to_string_lossy())))
    };
    let reason = |_: &Lua, status: i64| Ok(u16::try_from(status).map_or("", htx::start::reason));
    native.set("reason", lua.create_function(reason)?)?;
    native.set("http_date", date(dates::http)?)?;
    native.set("imf_date", date(dates::imf)?)?;
    native.set("rfc850_date", date(dates::rfc850)?)?;
    native.set("asctime_date", date(dates::asctime)?)
}

fn addresses(lua: &Lua, native: &Table) -> Result<()> {
    let parse = lua.create_function(|lua, text: LuaString| {
        let network = Network::parse(&text.to_string_lossy());
        network.map(|network| lua.create_any_userdata(network)).transpose()
    })?;
    // Other values than those of `parse_addr` never match.
    let network = |value: &Value| value.as_userdata()?.borrow::<Network>().ok().map(|it| *it);
    let matches = lua.create_function(move |_, (one, two): (Value, Value)| {
        Ok(network(&one).zip(network(&two)).is_some_and(|(one, two)| one.matches(two)))
    })?;
    native.set("parse_addr", parse)?;
    native.set("match_addr", matches)
}

fn expressions(lua: &Lua, native: &Table) -> Result<()> {
    let new =
        lua.create_function(
            |lua, (pattern, sensitive): (LuaString, bool)| match Regex::from_bytes(
                &pattern.as_bytes(),
                !sensitive,
            ) {
                Ok(regex) => Ok((Some(lua.create_any_userdata(regex)?), None)),
                Err(error) => Ok((None, Some(error.to_string()))),
            },
        )?;
    let exec = lua.create_function(|_, (regex, text): (AnyUserData, LuaString)| {
        Ok(regex.borrow::<Regex>()?.is_match(&text.as_bytes()))
    })?;
    let groups = lua.create_function(|lua, (regex, text): (AnyUserData, LuaString)| {
        let text = text.as_bytes();
        let Some(groups) = regex.borrow::<Regex>()?.spans(&text) else { return Ok(None) };
        let found = lua.create_table()?;
        for (index, span) in groups.into_iter().enumerate() {
            let part = span.map_or(&b""[..], |(from, to)| &text[from..to]);
            found.raw_set(index + 1, lua.create_string(part)?)?;
        }
        Ok(Some(found))
    })?;
    native.set("regex_new", new)?;
    native.set("regex_exec", exec)?;
    native.set("regex_match", groups)
}

fn traces(lua: &Lua, native: &Table) -> Result<()> {
    let traceback = lua.create_function(|lua, args: Variadic<Value>| {
        let message = match args.first() {
            None | Some(Value::Nil) => None,
            Some(value) => Some(fault::message(lua, value)),
        };
        lua.traceback(message.as_deref(), 1)
    })?;
    let info = lua.create_function(|lua, args: Variadic<Value>| {
        let Some(Value::Integer(level)) = args.first() else { return Ok(None) };
        let found = lua.create_table()?;
        let level = usize::try_from(*level).unwrap_or(usize::MAX);
        let filled = lua.inspect_stack(level, |debug| -> Result<()> {
            let (source, names) = (debug.source(), debug.names());
            found.set("short_src", source.short_src.unwrap_or_default().into_owned())?;
            found.set("source", source.source.unwrap_or_default().into_owned())?;
            found.set("linedefined", source.line_defined)?;
            found.set("what", source.what)?;
            found.set("currentline", debug.current_line().map_or(-1, |line| line as i64))?;
            found.set("name", names.name.map(std::borrow::Cow::into_owned))
        });
        Ok(filled.transpose()?.map(|()| found))
    })?;
    native.set("traceback", traceback)?;
    native.set("getinfo", info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_match_by_the_bits_that_count_in_both() {
        let matches = |one, two| {
            let (one, two) = (Network::parse(one), Network::parse(two));
            one.expect("valid").matches(two.expect("valid"))
        };
        assert!(matches("1.2.3.4", "1.2.3.0/24") && matches("1.2.3.0/24", "1.2.3.9"));
        assert!(!matches("1.2.3.0/24", "1.2.4.4") && !matches("::1", "1.2.4.4"));
        assert!(matches("0.0.0.0/0", "9.9.9.9") && matches("fe80::1", "fe80::/10"));
        assert_eq!(Network::parse("1.2.3.4/33"), None);
    }
}
