//! `nbthread`, `thread-groups`, `thread-group`, and sets of threads (section 3.1).
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::{Global, MAX_GROUPS, MAX_THREADS, PER_GROUP, ThreadSet};
use crate::value;

pub(super) fn nbthread(args: Args<'_>) -> Parsed<u16> {
    args.no_more_than(1)?;
    number(args, MAX_THREADS, "value")
}

pub(super) fn groups(args: Args<'_>) -> Parsed<u16> {
    args.no_more_than(1)?;
    number(args, MAX_GROUPS, "value")
}

/// `thread-group <group> [<thread-range>...]`: replaces an earlier one of the same number.
pub(super) fn group(global: &mut Global, args: Args<'_>) -> Parsed {
    let last = global.process.thread_groups;
    let group = number(args, last, "thread-group number")?;
    let mut set = ThreadSet::default();
    for n in 2..args.len() {
        let given = args.text(n);
        let (low, high) = given.split_once('-').unwrap_or((given, given));
        let valid = |n: &u16| (1..=MAX_THREADS).contains(n);
        let low = value::number::<u16>(low).filter(valid);
        let Some((low, high)) = low.zip(value::number::<u16>(high).filter(valid)) else {
            let message = format!(
                "'thread-group {group}' passed an unparsable or invalid thread number '{given}' (valid range is 1 to {MAX_THREADS})"
            );
            return Err(args.fault(n, message));
        };
        (low.min(high)..=low.max(high)).for_each(|thread| set.insert(thread - 1));
    }
    match set.is_empty() {
        true => global.process.thread_group.remove(&group),
        false => global.process.thread_group.insert(group, set),
    };
    Ok(())
}

/// The number at argument 1, from 1.
fn number(args: Args<'_>, most: u16, what: &str) -> Parsed<u16> {
    let (name, given) = (args.text(0), args.text(1));
    let number: Option<u32> = value::number(given).filter(|_| !given.is_empty());
    let message = format!("'{name}' passed a missing or unparsable integer value in '{given}'");
    let number = number.ok_or_else(|| args.fault(1, message))?;
    u16::try_from(number).ok().filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        let message = format!("'{name}' {what} must be between 1 and {most} (was {number})");
        args.fault(1, message)
    })
}

/// `process <process-set>[/<thread-set>]` of a bind line, which `thread` replaces.
pub(super) fn of_process(into: &mut ThreadSet, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let given = args.text(1);
    let (processes, threads) = match given.split_once('/') {
        Some((processes, threads)) => (processes, Some(threads)),
        None => (given, None),
    };
    let invalid = |error| args.fault(1, format!("'process' : {error}"));
    // Weir runs one process.
    value::numbers(processes, 1).map_err(invalid)?;
    let mut instead = String::new();
    if let Some(threads) = threads {
        let set = value::numbers(threads, PER_GROUP).map_err(invalid)?;
        if threads != "all" {
            set.into_iter().for_each(|thread| into.insert(thread - 1));
        }
        instead = format!(" Please use 'thread {threads}' instead.");
    }
    let message = format!(
        "'process {given}' on 'bind' lines is deprecated and will be removed in 2.7.{instead}"
    );
    cx.warn(args, 0, message);
    Ok(())
}

/// `thread [<thread-group>/]<thread-set>` of a bind line; repeated ones add up.
pub(super) fn of_bind(into: &mut ThreadSet, args: Args<'_>) -> Parsed {
    let given = args.need(1, "'thread' : missing value")?;
    let fault = |text: String| args.fault(1, format!("'{given}' {text}"));
    let (group, set) = match given.split_once('/') {
        None => (None, given),
        Some((group, set)) => {
            let invalid = || fault(format!(": '{given}' is not a valid number/range."));
            let group: u32 =
                value::number(group).filter(|_| !group.is_empty()).ok_or_else(invalid)?;
            if !(1..=u32::from(MAX_GROUPS)).contains(&group) {
                let text =
                    format!("thread-group number must be between 1 and {MAX_GROUPS} (was {group})");
                return Err(fault(text));
            }
            (Some(group as u16), set)
        }
    };
    if !into.is_empty() && into.group != group {
        return Err(fault("multiple thread-groups are not supported".to_owned()));
    }
    let most = if group.is_some() { PER_GROUP } else { MAX_THREADS };
    let threads = value::numbers(set, most).map_err(|error| fault(format!(": {error}")))?;
    into.group = group;
    threads.into_iter().for_each(|thread| into.insert(thread - 1));
    Ok(())
}
