//! The calls of the built-in tables to the process: proxies, servers, stick tables, maps, sockets.

use crate::convert;
use crate::error::ScriptError;
use crate::operation_args::{Args, DONE, Outcome};
use crate::process::{
    CheckCall, PatternCall, ProxyCall, ProxyEntry, ServerCall, ServerOf, TableCall, TableFilter,
};
use crate::surroundings::{self, process};
use mlua::{Lua, Table, Value as LuaValue};

/// Runs an operation.
pub(crate) fn call(name: &str, args: &Args<'_>) -> Outcome {
    match name {
        "proxies" => proxies(args),
        "info" => plain(args, process("get_info")?.info()),
        "proxy" => proxy(args),
        "server" => server(args),
        "table" => table(args),
        "patterns" => patterns(args),
        "certificate" => certificate(args),
        _ => socket(args),
    }
}

fn plain(args: &Args<'_>, value: crate::process::Plain) -> Outcome {
    convert::from_plain(args.lua, value).map_err(ScriptError::from)
}

/// All proxies, in order; nothing while there is no process.
fn proxies(args: &Args<'_>) -> Outcome {
    let Ok(process) = process("proxies") else { return Ok(LuaValue::Nil) };
    let list = || -> mlua::Result<Table> {
        let all = args.lua.create_table()?;
        for (index, entry) in process.proxies().into_iter().enumerate() {
            all.raw_set(index + 1, described(args.lua, index, entry)?)?;
        }
        Ok(all)
    };
    list().map(LuaValue::Table).map_err(ScriptError::from)
}

fn described(lua: &Lua, index: usize, entry: ProxyEntry) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("index", index)?;
    table.raw_set("name", entry.name)?;
    table.raw_set("uuid", entry.id.to_string())?;
    table.raw_set("capability", entry.capability)?;
    table.raw_set("mode", entry.mode)?;
    table.raw_set("listeners", entry.listeners)?;
    table.raw_set("has_table", entry.has_table)?;
    Ok(table)
}

fn index(args: &Args<'_>) -> Result<usize, ScriptError> {
    usize::try_from(args.int(0)).map_err(|_| ScriptError::Argument("this is no proxy".to_owned()))
}

fn proxy(args: &Args<'_>) -> Outcome {
    let (index, name) = (index(args)?, args.text(1)?);
    let listener = if name == "listener" { args.text(2)? } else { String::new() };
    let call = match name.as_str() {
        "get_stats" => ProxyCall::Stats,
        "listener" => ProxyCall::ListenerStats(&listener),
        "servers" => ProxyCall::Servers,
        "pause" => ProxyCall::Pause,
        "resume" => ProxyCall::Resume,
        "stop" => ProxyCall::Stop,
        _ => ProxyCall::ShutBackupSessions,
    };
    plain(args, process(&name)?.proxy(index, call)?)
}

/// Methods of servers without arguments.
const SERVER_CALLS: &[(&str, ServerCall<'static>)] = &[
    ("number", ServerCall::Number),
    ("get_stats", ServerCall::Stats),
    ("is_draining", ServerCall::IsDraining),
    ("get_weight", ServerCall::Weight),
    ("get_maxconn", ServerCall::Maxconn),
    ("get_addr", ServerCall::Address),
    ("shut_sess", ServerCall::ShutSessions),
    ("set_drain", ServerCall::Drain),
    ("set_maint", ServerCall::Maintain),
    ("set_ready", ServerCall::Ready),
    ("check_enable", ServerCall::Check(CheckCall::Enable)),
    ("check_disable", ServerCall::Check(CheckCall::Disable)),
    ("check_force_up", ServerCall::Check(CheckCall::Up)),
    ("check_force_nolb", ServerCall::Check(CheckCall::Stopping)),
    ("check_force_down", ServerCall::Check(CheckCall::Down)),
    ("agent_enable", ServerCall::Agent(CheckCall::Enable)),
    ("agent_disable", ServerCall::Agent(CheckCall::Disable)),
    ("agent_force_up", ServerCall::Agent(CheckCall::Up)),
    ("agent_force_down", ServerCall::Agent(CheckCall::Down)),
];

fn server(args: &Args<'_>) -> Outcome {
    let (proxy, server, name) = (index(args)?, args.text(1)?, args.text(2)?);
    let plainly = SERVER_CALLS.iter().find(|(known, _)| *known == name);
    let (mut first, mut second) = (String::new(), String::new());
    if plainly.is_none() {
        first = args.text(3)?;
        second = if args.value(4).is_nil() { second } else { args.text(4)? };
    }
    let call = match (plainly, name.as_str()) {
        (Some((_, call)), _) => *call,
        (None, "set_weight") => ServerCall::SetWeight(&first),
        (None, "set_maxconn") => ServerCall::SetMaxconn(&first),
        _ => ServerCall::SetAddress(&first, &second),
    };
    plain(args, process(&name)?.server(ServerOf { proxy, name: &server }, call)?)
}

fn table(args: &Args<'_>) -> Outcome {
    let (index, name) = (index(args)?, args.text(1)?);
    let place = |at: usize| usize::try_from(args.int(at)).unwrap_or(0);
    let call = match name.as_str() {
        "exists" => TableCall::Exists,
        "info" => TableCall::Info,
        "lookup" => TableCall::Lookup(args.bytes(2)?),
        _ => TableCall::Dump(filters(args)?, (place(3), place(4))),
    };
    plain(args, process(&name)?.table(index, &call)?)
}

/// The filters of `StickTable:dump`, as triplets that the built-in code has looked at.
fn filters(args: &Args<'_>) -> Result<Vec<TableFilter>, ScriptError> {
    let Some(list) = args.value(2).as_table() else { return Ok(Vec::new()) };
    let read = |filter: mlua::Result<Table>| -> mlua::Result<TableFilter> {
        let filter = filter?;
        Ok((filter.raw_get(1)?, filter.raw_get(2)?, filter.raw_get(3)?))
    };
    let filters: mlua::Result<Vec<_>> = list.sequence_values::<Table>().map(read).collect();
    filters.map_err(ScriptError::from)
}

fn patterns(args: &Args<'_>) -> Outcome {
    let (name, file, first) = (args.text(0)?, args.text(1)?, args.bytes(2)?);
    let second = if name == "set_map" { args.bytes(3)? } else { Vec::new() };
    let change = match name.as_str() {
        "set_map" => PatternCall::SetMap(&first, &second),
        "del_map" => PatternCall::DelMap(&first),
        "add_acl" => PatternCall::AddAcl(&first),
        _ => PatternCall::DelAcl(&first),
    };
    let kind = if name == "set_map" { "map" } else { "acl" };
    match process(&name)?.patterns(&file, change) {
        Some(Ok(())) => DONE,
        Some(Err(error)) => Err(ScriptError::refused(format!("'{name}': {error}"))),
        None => Err(ScriptError::refused(format!("'{name}': unknown {kind} file '{file}'"))),
    }
}

fn certificate(args: &Args<'_>) -> Outcome {
    let file = args.text(0)?;
    let mut parts = Vec::new();
    for pair in args.value(1).as_table().iter().flat_map(|table| table.pairs::<String, LuaValue>())
    {
        let (kind, content) = pair?;
        if let Some(content) = convert::bytes(args.lua, &content).filter(|_| kind != "filename") {
            parts.push((kind, content));
        }
    }
    process("set")?.certificate(&file, &parts).map(|()| LuaValue::Nil)
}

fn socket(args: &Args<'_>) -> Outcome {
    let here =
        surroundings::here().ok_or_else(|| ScriptError::refused("socket: uninitialized pools."))?;
    let made = args.lua.create_any_userdata(here.open_socket()?);
    // Forgotten sockets are descriptors, which say nothing to a collector that counts bytes.
    let _ = args.lua.gc_step();
    made.map(LuaValue::UserData).map_err(ScriptError::from)
}
