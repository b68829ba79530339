//! The calls of the built-in tables to the process: one operation per name.

use crate::convert;
use crate::error::ScriptError;
use crate::host::{ChannelBytes, HeaderLines, Host, LocalReply};
use crate::members::Members;
use crate::operation_args::{Args, DONE, Outcome};
use crate::process_calls;
use crate::registry::{Environment, Once, Registered, Registry, ServiceMode};
use crate::surroundings;
use htx::Head;
use mlua::{Function, Lua, Table, Value as LuaValue};
use rules::edit::{self, RequestPart};
use rules::{Context, LogLevel};
use sample::args::SetVar;
use sample::regex::Regex;
use sample::vars::VarState;
use sample::{Expr, Facts, NoFacts, ParseContext, Side, VarName};

/// The surroundings of one turn of a script.
pub(crate) struct Bindings<'t> {
    pub(crate) host: &'t mut dyn Host,
    pub(crate) members: &'t mut Members,
    /// Where names are registered, while files are loaded.
    pub(crate) registry: Option<&'t mut Registry>,
    /// Where maps are loaded, while files are.
    pub(crate) maps: Option<&'t ParseContext<'t>>,
    /// The number of the run: objects of another one are refused.
    pub(crate) run: i64,
    /// The number of the state.
    pub(crate) state: u32,
}

/// Runs an operation. The first argument is its name, the second the number of the run that the
/// object belongs to, or 0 for what belongs to none.
pub(crate) fn call(lua: &Lua, turn: &mut Bindings<'_>, values: &[LuaValue]) -> Outcome {
    let [LuaValue::String(name), run, values @ ..] = values else {
        return Err(ScriptError::Argument("bad call".to_owned()));
    };
    let run = run.as_integer().unwrap_or(-1);
    if run != 0 && run != turn.run {
        return Err(ScriptError::refused("this object belongs to a transaction that has ended"));
    }
    let name = name.to_string_lossy();
    let args = Args { lua, values };
    match name.as_str() {
        "fetch" => member(turn, &args, false),
        "convert" => member(turn, &args, true),
        "get_var" | "set_var" | "unset_var" => variable(&name, turn, &args),
        "get_headers" => headers(turn, &args),
        "log" | "deflog" | "now" | "set_nice" | "wake_time" => general(&name, turn, &args),
        "get_priv" | "set_priv" => private(&name, turn, &args),
        "done" | "start_response" => answer(&name, turn, &args),
        "proxies" | "info" | "proxy" | "server" | "table" | "patterns" | "certificate"
        | "socket_new" => process_calls::call(&name, &args),
        "data_filter" | "message_end" => filter(&name, turn, &args),
        "get_stline" => start_line(turn, &args),
        "channel" | "channel_state" | "edit_channel" => channel(&name, turn, &args),
        "map_new" => map(turn, &args),
        "map_lookup" => look_up(turn, &args),
        _ if name.starts_with("register_") => register(&name, turn, &args),
        _ => edit(&name, turn, &args),
    }
}

fn facts<'t>(turn: &'t Bindings<'_>) -> &'t dyn Facts {
    turn.host.facts().unwrap_or(&NoFacts)
}

fn member(turn: &mut Bindings<'_>, args: &Args<'_>, converts: bool) -> Outcome {
    let keyword = args.text(0)?;
    let as_text = args.value(1).as_boolean().unwrap_or(false);
    let call = (keyword.as_str(), args.values.get(2..).unwrap_or_default());
    let facts = turn.host.facts().unwrap_or(&NoFacts);
    match converts {
        true => turn.members.convert(args.lua, facts, call, as_text),
        false => turn.members.fetch(args.lua, facts, call, as_text),
    }
}

fn variable(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let text = args.text(0)?;
    let Ok(variable) = VarName::parse(&text) else {
        return Ok(if name == "get_var" { LuaValue::Nil } else { LuaValue::Boolean(false) });
    };
    let facts = facts(turn);
    if name == "get_var" {
        let value = facts.var(&variable).map(|value| convert::to_lua(args.lua, value));
        return value.transpose().map(Option::unwrap_or_default).map_err(ScriptError::from);
    }
    if name == "unset_var" {
        facts.set_var(&variable, None);
        return DONE;
    }
    let only_known = args.value(2).as_boolean().unwrap_or(false);
    // Only variables of the process outlive the transaction: others may always be made.
    let unknown = variable.scope() == sample::Scope::Proc
        && facts.var_state(&variable) != VarState::Set
        && !variable.is_mentioned();
    if only_known && unknown {
        return Ok(LuaValue::Boolean(false));
    }
    let target = SetVar::parse([text.as_str()].into_iter()).map_err(ScriptError::refused)?;
    target.store(facts, &convert::from_lua(args.value(1)));
    DONE
}

/// Header lines by name; values count from 0.
fn headers(turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let facts = facts(turn);
    let head = match args.side(0) {
        Side::Request => facts.request(),
        Side::Response => facts.response(),
    };
    let Some(head) = head else { return Ok(LuaValue::Nil) };
    header_table(args.lua, head).map(LuaValue::Table).map_err(ScriptError::from)
}

/// A table of header lines by name in lower case; values count from 0.
pub(crate) fn header_table(lua: &Lua, head: &Head) -> mlua::Result<Table> {
    fields_table(lua, head.fields().map(|field| (field.name, field.value)))
}

/// The same of any fields.
pub(crate) fn fields_table<'f>(
    lua: &Lua,
    fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
) -> mlua::Result<Table> {
    let all = lua.create_table()?;
    for (name, value) in fields {
        let name = lua.create_string(name.to_ascii_lowercase())?;
        let value = lua.create_string(value)?;
        match all.raw_get::<Option<Table>>(&name)? {
            Some(values) => values.raw_set(values.raw_len() + 1, value)?,
            None => {
                let values = lua.create_table()?;
                values.raw_set(0, value)?;
                all.raw_set(name, values)?;
            }
        }
    }
    Ok(all)
}

fn general(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let lua = args.lua;
    match name {
        "log" => {
            let level = u8::try_from(args.int(0)).ok().filter(|level| *level < 8);
            let level =
                level.ok_or_else(|| ScriptError::Argument("invalid loglevel.".to_owned()))?;
            turn.host.log(Some(level), &args.bytes(1)?);
        }
        "deflog" => turn.host.log(None, &args.bytes(0)?),
        "wake_time" => {
            turn.host.wake_after(u64::try_from(args.int(0)).unwrap_or(0))?;
        }
        "set_nice" => {
            if let Some(here) = surroundings::here() {
                here.set_nice(args.int(0).clamp(-1024, 1024));
            }
        }
        _ => {
            let (secs, micros) = turn.host.wall();
            let table = lua.create_table_from([("sec", secs), ("usec", i64::from(micros))]);
            return table.map(LuaValue::Table).map_err(ScriptError::from);
        }
    }
    DONE
}

fn private(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let (lua, state) = (args.lua, turn.state);
    let kept = turn.host.private().ok_or_else(|| ScriptError::Unavailable(name.to_owned()))?;
    let found = kept.0.iter().position(|(of, _)| *of == state);
    if name == "get_priv" {
        let value = found.map(|at| lua.registry_value(&kept.0[at].1));
        return value.transpose().map(Option::unwrap_or_default).map_err(ScriptError::from);
    }
    let key = lua.create_registry_value(args.value(0).clone())?;
    match found {
        Some(at) => kept.0[at].1 = key,
        None => kept.0.push((state, key)),
    }
    DONE
}

/// Names and values that follow one another in a table.
fn lines(args: &Args<'_>, index: usize) -> Result<HeaderLines, ScriptError> {
    let Some(table) = args.value(index).as_table() else { return Ok(Vec::new()) };
    let mut lines = Vec::new();
    let values: Vec<LuaValue> = table.sequence_values().filter_map(Result::ok).collect();
    for pair in values.chunks_exact(2) {
        let part = |at: usize| convert::bytes(args.lua, &pair[at]).unwrap_or_default();
        edit::check_field(&part(0), &part(1)).map_err(ScriptError::refused)?;
        lines.push((part(0), part(1)));
    }
    Ok(lines)
}

fn answer(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    if args.values.is_empty() {
        return turn.host.done(None).map(|()| LuaValue::Boolean(true));
    }
    // A client waits for a final response after an interim one; that of a service is refused later.
    let ends = name == "done";
    let first = if ends { 200 } else { 100 };
    let status = u16::try_from(args.int(0)).ok().filter(|code| (first..=999).contains(code));
    let Some(status) = status else {
        if ends {
            // The script ends the transaction: the request does not continue for its mistake.
            turn.host.done(Some(LocalReply { status: 500, ..LocalReply::default() }))?;
        }
        return Err(ScriptError::Argument(format!("invalid status {}", args.int(0))));
    };
    let reply = LocalReply {
        status,
        reason: convert::bytes(args.lua, args.value(1)).filter(|reason| !reason.is_empty()),
        headers: lines(args, 2)?,
        body: convert::bytes(args.lua, args.value(3)).unwrap_or_default(),
    };
    let sent = match ends {
        true => turn.host.done(Some(reply)),
        false => turn.host.start_response(reply),
    };
    sent.map(|()| LuaValue::Boolean(true))
}

/// The direction of a channel.
fn direction(args: &Args<'_>) -> Side {
    match args.value(0).as_boolean() {
        Some(true) => Side::Response,
        _ => Side::Request,
    }
}

/// Calls of a filter: it asks for the payload of a message, or changes where the message ends.
fn filter(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let (side, on) = (direction(args), args.value(1).as_boolean().unwrap_or(false));
    match name {
        "data_filter" => turn.host.data_filter(side, on)?,
        _ => turn.host.end_message(side, on)?,
    }
    DONE
}

/// The first line of a message.
fn start_line(turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let side = args.side(0);
    let facts = facts(turn);
    let head = if side == Side::Request { facts.request() } else { facts.response() };
    let Some(head) = head else { return Ok(LuaValue::Nil) };
    let text = |bytes: &[u8]| args.lua.create_string(bytes);
    let made = || -> mlua::Result<Table> {
        let table = args.lua.create_table()?;
        table.raw_set("version", text(head.version().token().as_bytes())?)?;
        if side == Side::Request {
            table.raw_set("method", text(head.method())?)?;
            table.raw_set("uri", text(head.uri())?)?;
        } else {
            table.raw_set("code", head.status())?;
            table.raw_set("reason", text(head.reason())?)?;
        }
        Ok(table)
    };
    made().map(LuaValue::Table).map_err(ScriptError::from)
}

/// The bytes of a direction of a session.
fn channel(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let lua = args.lua;
    let side = direction(args);
    let table = || lua.create_table().map_err(ScriptError::from);
    match name {
        "channel_state" => {
            let (state, table) = (turn.host.channel_state(side)?, table()?);
            table.raw_set("input", state.input)?;
            table.raw_set("output", state.output)?;
            table.raw_set("full", state.room == 0)?;
            table.raw_set("open", state.open)?;
            table.raw_set("last", state.last)?;
            Ok(LuaValue::Table(table))
        }
        "channel" => {
            let (found, state) = (turn.host.channel(side)?, turn.host.channel_state(side)?);
            let table = table()?;
            let bytes = lua.create_string(&found.bytes)?;
            table.raw_set("bytes", bytes)?;
            table.raw_set("passed", found.passed)?;
            table.raw_set("room", state.room)?;
            Ok(LuaValue::Table(table))
        }
        _ => {
            let passed = usize::try_from(args.int(2)).unwrap_or(0);
            turn.host.edit_channel(side, ChannelBytes { bytes: args.bytes(1)?, passed })?;
            DONE
        }
    }
}

/// The endings of converters of maps, by the number of the method.
const KINDS: [&str; 14] = [
    "found", "bool", "int", "ip", "bin", "len", "str", "beg", "sub", "dir", "dom", "end", "reg",
    "regm",
];

fn map(turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let context =
        turn.maps.ok_or_else(|| ScriptError::refused("'new': map: cannot load map at runtime."))?;
    let kind = usize::try_from(args.int(1)).ok().and_then(|kind| KINDS.get(kind));
    let kind = kind.ok_or_else(|| {
        ScriptError::Argument("bad argument #2 to 'new' (unknown method)".to_owned())
    })?;
    let file = args.text(0)?;
    let quoted = file.replace('\'', "'\"'\"'");
    let expr = Expr::parse_word(&format!("str(),map_{kind}('{quoted}')"), context)
        .map_err(|error| ScriptError::Argument(format!("'new': {}", error.message)))?;
    let made = args.lua.create_any_userdata(expr);
    made.map(LuaValue::UserData).map_err(ScriptError::from)
}

fn look_up(turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let map = args.value(0).as_userdata().and_then(|data| data.borrow::<Expr>().ok());
    let map = map.ok_or_else(|| ScriptError::Argument("this is no map".to_owned()))?;
    let found = map.apply(convert::from_lua(args.value(1)), facts(turn));
    let made = match args.value(2).as_boolean() {
        Some(true) => convert::to_text(args.lua, found),
        _ => found.map_or(Ok(LuaValue::Nil), |value| convert::to_lua(args.lua, value)),
    };
    made.map_err(ScriptError::from)
}

fn register(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let late =
        || ScriptError::refused(format!("'{name}' is only possible while the file is loaded"));
    let registry = turn.registry.as_deref_mut().ok_or_else(late)?;
    let function = |index: usize| -> Result<Function, ScriptError> {
        let found = args.value(index).as_function().cloned();
        found.ok_or_else(|| ScriptError::Argument("function expected".to_owned()))
    };
    match name {
        "register_fetch" => registry.add(args.text(0)?, Registered::Fetch, function(1)?),
        "register_converter" => registry.add(args.text(0)?, Registered::Converter, function(1)?),
        "register_service" => {
            let mode = if args.text(1)? == "tcp" { ServiceMode::Tcp } else { ServiceMode::Http };
            registry.add(args.text(0)?, Registered::Service(mode), function(2)?);
        }
        "register_action" => {
            let names = texts(args, 1);
            let count = usize::try_from(args.int(3)).unwrap_or(0);
            for environment in names.iter().filter_map(|name| Environment::named(name)) {
                let what = Registered::Action(environment, count);
                registry.add(args.text(0)?, what, function(2)?);
            }
        }
        "register_cli" => {
            let (words, usage) = (texts(args, 0), args.text(1)?);
            if words.is_empty() {
                return Err(ScriptError::Argument(
                    "register_cli: the command has no words".to_owned(),
                ));
            }
            registry.add(words.join(" "), Registered::Command(usage), function(2)?);
        }
        "register_filter" => {
            let class = args.value(1).as_table();
            let class = class.ok_or_else(|| ScriptError::Argument("table expected".to_owned()))?;
            registry.classes.insert(args.text(0)?, class.clone());
            registry.add(args.text(0)?, Registered::Filter, function(2)?);
        }
        "register_init" => registry.inits.push(function(0)?),
        _ => {
            let args_of_task = args.values.get(1..).unwrap_or_default().to_vec();
            registry.tasks.push(Once { run: function(0)?, args: args_of_task });
        }
    }
    DONE
}

fn texts(args: &Args<'_>, index: usize) -> Vec<String> {
    let table = args.value(index).as_table();
    table.map_or_else(Vec::new, |table| {
        table.sequence_values::<String>().filter_map(Result::ok).collect()
    })
}

/// Changes of a message, or of how its transaction is treated.
fn edit(name: &str, turn: &mut Bindings<'_>, args: &Args<'_>) -> Outcome {
    let cx = turn.host.context().ok_or_else(|| ScriptError::Unavailable(name.to_owned()))?;
    let number = args.int(0);
    match name {
        "set_loglevel" => cx.set_log_level(LogLevel::Severity(u8::try_from(number).unwrap_or(7))),
        "set_tos" => cx.set_tos(number as u8),
        "set_mark" => cx.set_mark(number as u32),
        "set_priority_class" => cx.set_priority_class(number.clamp(-2047, 2047) as i16),
        "set_priority_offset" => cx.set_priority_offset(number.clamp(-524_287, 524_287) as i32),
        "set_status" => {
            let status = u16::try_from(number)
                .map_err(|_| ScriptError::Argument("invalid status".to_owned()))?;
            let reason = convert::bytes(args.lua, args.value(1));
            edit::set_status(status, reason.as_deref(), cx).map_err(ScriptError::refused)?;
        }
        "set_method" => return part(RequestPart::Method, cx, args),
        "set_path" => return part(RequestPart::Path, cx, args),
        "set_query" => return part(RequestPart::Query, cx, args),
        "set_uri" => return part(RequestPart::Uri, cx, args),
        _ => return header(name, cx, args),
    }
    DONE
}

fn part(part: RequestPart, cx: &mut dyn Context, args: &Args<'_>) -> Outcome {
    edit::set_part(part, &args.bytes(0)?, cx).map(LuaValue::Boolean).map_err(ScriptError::refused)
}

fn header(name: &str, cx: &mut dyn Context, args: &Args<'_>) -> Outcome {
    let (side, field) = (args.side(0), args.bytes(1)?);
    let regex = || {
        Regex::from_bytes(&args.bytes(2)?, false).map_err(|_| {
            ScriptError::Argument(format!("bad argument #2 to 'req_{name}' (invalid regex)"))
        })
    };
    let edited = match name {
        "add_header" => edit::write_header(side, &field, &args.bytes(2)?, false, cx),
        "set_header" => edit::write_header(side, &field, &args.bytes(2)?, true, cx),
        "del_header" => {
            edit::remove_header(side, &field, cx);
            return DONE;
        }
        "rep_header" => edit::replace_header(side, &field, (&regex()?, &args.bytes(3)?), cx),
        "rep_value" => edit::replace_value(side, &field, (&regex()?, &args.bytes(3)?), cx),
        _ => {
            return Err(ScriptError::refused(format!("'{name}' is not implemented yet")));
        }
    };
    edited.map_err(ScriptError::refused).and(DONE)
}
