//! `lua-load`, `lua-load-per-thread`, `lua-prepend-path` and `tune.lua.*` of `global` (section 3.1).
use super::values::{digits_at, time};
use crate::addr::Family;
use crate::context::{Cx, Scripts};
use crate::line::{Args, Fault, Parsed};
use crate::model::Global;
use sample::{Captures, ParseContext, Place, Places, Shared};
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

/// The most megabytes that a state may be limited to.
const MEGABYTES: u32 = 1 << 20;

fn scripts<'a>(cx: &Cx<'a>, args: Args<'_>) -> Result<&'a dyn Scripts, Fault> {
    cx.scripts.ok_or_else(|| args.fault(0, "scripts cannot be loaded here"))
}

/// `lua-load`, `lua-load-per-thread`
pub(super) fn load(g: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let per_thread = args.text(0) == "lua-load-per-thread";
    let name = args.need(1, format!("'{}' expects a file name as parameter.", args.text(0)))?;
    g.lua.loads = true;
    if cx.listing.is_some() {
        return Ok(());
    }
    let scripts = scripts(cx, args)?;
    let from = &args.place().file;
    let text = cx.read(name, from).map_err(|error| {
        let words = words(&error);
        args.fault(1, format!("error in Lua file '{name}': cannot open {name}: {words}"))
    })?;
    let rest = args.all_texts(2);
    let patterns = std::mem::take(&mut cx.patterns);
    let seen: &Cx<'_> = cx;
    let files = |path: &Path| seen.read(&path.to_string_lossy(), from);
    let env = |name: &str| seen.env.get(name).map(str::to_owned);
    let names = |name: &str| seen.names.resolve(name, Family::Any);
    let shared = Shared { names: &names, patterns, ..Shared::new(&files, &env) };
    let captures = Captures::default();
    let places = Places::of(Place::ConfigParser);
    let (file, line) = (from.clone(), args.place().line);
    let parser = ParseContext { places, file, line, ..ParseContext::new(&shared, &captures) };
    let loaded = scripts.load((name, &text), &rest, per_thread, &parser);
    cx.patterns = shared.patterns;
    loaded.map_err(|message| args.fault(1, message))
}

/// The system's words for an error, without its number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// `lua-prepend-path`
pub(super) fn prepend_path(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(2)?;
    let path = args.need(1, "'lua-prepend-path' expects to receive a path.")?;
    let variable = args.get(2).unwrap_or("path");
    if variable != "path" && variable != "cpath" {
        let message =
            format!("'lua-prepend-path' to be one of 'path' or 'cpath', got '{variable}'");
        return Err(args.fault(2, message));
    }
    if variable == "cpath" {
        let text = "'lua-prepend-path ... cpath' changes 'package.cpath' only: modules in C are \
                    not loaded";
        cx.warn(args, 2, text.to_owned());
    }
    if cx.listing.is_some() {
        return Ok(());
    }
    scripts(cx, args)?.prepend_path(path, variable).map_err(|message| args.fault(1, message))
}

/// The only argument, of nothing but digits.
fn digits(args: Args<'_>, range: RangeInclusive<u32>) -> Parsed<u32> {
    args.ignores_behind(1);
    digits_at(args, 1, range)
}

/// `tune.lua.forced-yield`
pub(super) fn forced_yield(g: &mut Global, args: Args<'_>) -> Parsed {
    digits(args, 0..=i32::MAX as u32).map(|n| g.lua.forced_yield = Some(n))
}

/// `tune.lua.maxmem`
pub(super) fn max_memory(g: &mut Global, args: Args<'_>) -> Parsed {
    digits(args, 0..=MEGABYTES).map(|n| g.lua.max_memory = Some(n))
}

/// `tune.lua.burst-timeout`, `tune.lua.session-timeout`, `tune.lua.service-timeout`,
/// `tune.lua.task-timeout`
pub(super) fn timeout(g: &mut Global, args: Args<'_>) -> Parsed {
    let span = time(args, "expects a time value as parameter.")?;
    match args.text(0) {
        "tune.lua.burst-timeout" => g.lua.burst_timeout = Some(span),
        "tune.lua.session-timeout" => g.lua.session_timeout = Some(span),
        "tune.lua.service-timeout" => g.lua.service_timeout = Some(span),
        _ => g.lua.task_timeout = Some(span),
    }
    Ok(())
}
