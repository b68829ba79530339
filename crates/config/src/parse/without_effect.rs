//! Keywords about HAProxy's own machinery that have no effect here; a warning says so where a
//! configuration could depend on it.
use super::values::{integer, on_off, time};
use crate::context::{Cx, Prefix};
use crate::line::{Args, Parsed};

/// Warns that the keyword has no effect, and why.
pub(super) fn idle(cx: &mut Cx<'_>, args: Args<'_>, why: &str) {
    let message = format!("'{}' has no effect: {why}", args.text(0));
    cx.warn(args, 0, message);
}

/// `noepoll`
pub(super) fn no_epoll(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(0)?;
    idle(cx, args, "epoll is the only poller there is");
    Ok(())
}

/// `nogetaddrinfo`
pub(super) fn no_getaddrinfo(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.no_more_than(0)?;
    idle(cx, args, "names are resolved by getaddrinfo() only");
    Ok(())
}

/// `numa-cpu-mapping`; without it nothing is mapped either.
pub(super) fn numa(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    args.ignores_behind(0);
    if cx.prefix == Prefix::None {
        idle(cx, args, "threads are bound by 'cpu-map' only");
    }
    Ok(())
}

/// `option http-no-delay`; without it nothing is delayed either.
pub(super) fn no_delay(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if cx.prefix == Prefix::None {
        idle(cx, args, "nothing is ever delayed");
    }
    Ok(())
}

/// `tune.fd.edge-triggered on|off`
pub(super) fn edge_triggered(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if !cx.experimental {
        return Err(args.fault(
            0,
            "'tune.fd.edge-triggered' directive is experimental, must be allowed via a global 'expose-experimental-directives'",
        ));
    }
    if !on_off(args)? {
        idle(cx, args, "descriptors are always polled edge-triggered");
    }
    Ok(())
}

/// `tune.fail-alloc <percent>`
pub(super) fn fail_alloc(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if integer(args, 0..=100)? > 0 {
        idle(cx, args, "allocations are not made to fail");
    }
    Ok(())
}

/// `tune.idletimer <time>`
pub(super) fn idle_timer(args: Args<'_>) -> Parsed<u32> {
    let range = "'tune.idletimer' expects a timer value between 0 and 65535 ms.";
    args.need(1, range)?;
    match time(args, "argument to <tune.idletimer>.")? {
        pause @ ..=65_535 => Ok(pause as u32),
        _ => Err(args.fault(1, range)),
    }
}

/// `tune.recv_enough <bytes>`
pub(super) fn recv_enough(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    integer(args, 0..=i32::MAX as u32)?;
    idle(cx, args, "a socket is read until it has nothing more");
    Ok(())
}

/// `tune.pattern.cache-size <number>`
pub(super) fn pattern_cache(cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    if integer(args, 0..=i32::MAX as u32)? > 0 {
        idle(cx, args, "look-ups of patterns need no cache");
    }
    Ok(())
}
