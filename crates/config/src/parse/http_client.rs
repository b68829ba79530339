//! `httpclient.*` of `global` (section 3.1).
use super::values::{integer, on_off, text, time};
use crate::line::{Args, Parsed};
use crate::model::{At, Global};

/// The most attempts after the first one.
const MAX_RETRIES: u32 = 1_000;

/// `httpclient.resolvers.disabled`
pub(super) fn no_resolvers(g: &mut Global, args: Args<'_>) -> Parsed {
    on_off(args).map(|off| g.http_client.resolves_nothing = off)
}

/// `httpclient.resolvers.id`
pub(super) fn resolvers(g: &mut Global, args: Args<'_>) -> Parsed {
    let value = text(args, "the name of a resolvers section.")?;
    g.http_client.resolvers = Some(At { value, place: args.place().clone() });
    Ok(())
}

/// `httpclient.resolvers.prefer`
pub(super) fn prefer(g: &mut Global, args: Args<'_>) -> Parsed {
    args.no_more_than(1)?;
    g.http_client.prefers_ipv4 = match args.text(1) {
        "ipv4" => true,
        "ipv6" => false,
        _ => {
            let message = "'httpclient.resolvers.prefer' expects 'ipv4' or 'ipv6' as argument.";
            return Err(args.fault(1, message));
        }
    };
    Ok(())
}

/// `httpclient.retries`
pub(super) fn retries(g: &mut Global, args: Args<'_>) -> Parsed {
    integer(args, 0..=MAX_RETRIES).map(|count| g.http_client.retries = Some(count))
}

/// `httpclient.ssl.ca-file`
pub(super) fn ca_file(g: &mut Global, args: Args<'_>) -> Parsed {
    let value = text(args, "the path of a file or directory, or '@system-ca'.")?;
    g.http_client.ca_file = Some(At { value, place: args.place().clone() });
    Ok(())
}

/// `httpclient.ssl.verify`
pub(super) fn verify(g: &mut Global, args: Args<'_>) -> Parsed {
    args.no_more_than(1)?;
    g.http_client.trusts_servers = match args.text(1) {
        "none" => true,
        "required" => false,
        _ => {
            let message = "'httpclient.ssl.verify' expects 'none' or 'required' as argument.";
            return Err(args.fault(1, message));
        }
    };
    Ok(())
}

/// `httpclient.timeout.connect`
pub(super) fn timeout(g: &mut Global, args: Args<'_>) -> Parsed {
    let span = time(args, "argument to <httpclient.timeout.connect>.")?;
    g.http_client.timeout_connect = Some(span);
    Ok(())
}
