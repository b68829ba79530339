//! `setenv`, `presetenv`, `unsetenv`, `resetenv`, `localpeer` (section 3.1): effective from the next line on.
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::Global;

pub(super) fn set(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let (name, value) = pair(args)?;
    cx.env.set(name, value);
    Ok(())
}

pub(super) fn preset(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let (name, value) = pair(args)?;
    cx.env.preset(name, value);
    Ok(())
}

pub(super) fn unset(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.need(1, "'unsetenv' expects at least one variable name.")?;
    args.texts(1).into_iter().for_each(|name| cx.env.unset(name));
    Ok(())
}

pub(super) fn reset(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    cx.env.keep_only(&args.texts(1));
    Ok(())
}

/// `localpeer <name>`: the name among peers, in the environment too.
pub(super) fn local_peer(_: &mut Global, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.need(1, "'localpeer' expects a name as an argument.")?;
    args.no_more_than(1)?;
    if cx.local_peer_fixed {
        let message =
            "'localpeer' ignored since it is already set by using the '-L' command line argument.";
        cx.warn(args, 0, message);
    } else if cx.has_peers {
        cx.warn(args, 0, "'localpeer' ignored since it is used after 'peers' section.");
    } else {
        cx.env.set("HAPROXY_LOCALPEER", name);
        name.clone_into(&mut cx.local_peer);
    }
    Ok(())
}

/// A name and a value. As in HAProxy, an empty value is none: it may be that of an unset variable.
fn pair(args: Args<'_>) -> Parsed<(&str, &str)> {
    let message = format!("'{}' expects a name and a value.", args.text(0));
    let name = args.need(1, message.clone())?;
    let value = args.need(2, message)?;
    if name.contains('=') {
        // No variable can have such a name.
        let keyword = args.text(0);
        let message = format!("'{keyword}' failed on variable '{name}' : Invalid argument.");
        return Err(args.fault(1, message));
    }
    args.ignores_behind(2);
    Ok((name, value))
}
